"""Which tile each address is on."""

"""What is compiled before a device can run: codelets and the host program, each once."""

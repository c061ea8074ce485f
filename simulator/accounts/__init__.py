"""What runs took, as the data of reports."""

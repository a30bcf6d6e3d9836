"""What of a prompt is machine-made, an acknowledgement, a query."""

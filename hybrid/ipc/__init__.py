"""The connection between a hook process and the service: wire, start. Standard library only."""

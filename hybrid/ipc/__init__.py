"""The connection between a hook process and the service: endpoint, wire, start. Standard library only."""

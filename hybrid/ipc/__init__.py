"""How a hook process and the service talk: where it listens, the wire, how it is started. Standard library only."""

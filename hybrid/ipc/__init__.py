"""How a hook process and the service talk: where the service listens, the wire, and how it is started. Standard library only."""

"""What the service answers to tools of agents and to the page: named operations with typed arguments and results."""

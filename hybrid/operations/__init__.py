"""Named operations with typed arguments and results; the service does them for tools of agents and for the page."""

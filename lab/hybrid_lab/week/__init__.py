"""A simulated week of sessions while hooks and the service are killed."""

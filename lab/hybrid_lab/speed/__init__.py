"""Times and sizes, each beside something timed in the same run."""

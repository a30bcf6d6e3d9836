"""What the owner can see afterwards: the event log, the counters of a repository, its hot topics, its health."""

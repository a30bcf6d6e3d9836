"""The traces of decisions that the owner can see: event log, health, marks, counters of a project, its hot topics."""

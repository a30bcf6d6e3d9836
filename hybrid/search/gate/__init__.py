"""When to speak: the statistic that compares a prompt with a corpus, its calibration, and the verdict."""

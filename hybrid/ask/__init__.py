"""Look-ups by hand: a search over all kinds, and the memory; with the JSON that `--json` prints."""

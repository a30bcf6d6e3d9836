"""Judged prompts through the whole decision of the hook."""

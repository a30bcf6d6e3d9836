"""Prompts judged by the lessons and lore that fit them."""

"""Measures how good, how quiet and how fast the product is, on judged queries and prompts that the caller brings."""

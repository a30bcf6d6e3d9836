"""The share of definitions that is found in real trees."""

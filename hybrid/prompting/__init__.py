"""Prompts: cleaning, the rules that keep silent, and the query that is searched for."""

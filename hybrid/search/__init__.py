"""Searches one index: two legs, their fusion, the evidence that ranks, and the gate that decides to speak."""

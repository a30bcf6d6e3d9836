"""Searches one index: two legs, their fusion, the evidence that ranks, and the gate: is anything close enough?"""

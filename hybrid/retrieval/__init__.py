"""What happens between the two legs and the injection: fusion, gate, floor, packing; plain arithmetic over rankings."""

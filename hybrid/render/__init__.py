"""The one frame in which records reach an agent: its marks, its entries, its three formats."""

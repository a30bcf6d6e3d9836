"""One module for each measure that `hybrid eval` offers; entry points name them."""

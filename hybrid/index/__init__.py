"""The index on disk: the catalog (truth), segments and snapshots (made from it), and the two searches over them."""

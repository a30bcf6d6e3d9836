"""The knowledge of a project, open for use: how files, lessons, lore and memory are taken in and given out."""

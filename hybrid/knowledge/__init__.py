"""What a project knows, open for use: files, lessons, lore, memory; how each is taken in and given out."""

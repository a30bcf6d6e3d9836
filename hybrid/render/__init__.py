"""The one frame in which records reach an agent (its marks, entries, three formats), and how numbers are shown."""

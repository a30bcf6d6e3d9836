"""From one event of an agent to the text that it gets: decide, select, pack, note."""

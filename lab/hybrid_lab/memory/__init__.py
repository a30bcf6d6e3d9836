"""Questions about recorded sessions, and what the memory finds."""

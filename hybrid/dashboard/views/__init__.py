"""The views of the page, a module for each source of what they show."""

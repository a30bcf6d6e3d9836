"""The page in a browser: a process of its own that shows what hybrid did and knows; `hybrid dashboard` starts it."""

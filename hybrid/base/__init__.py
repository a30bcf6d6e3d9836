"""What every part may use and what knows no part: errors, files, digests, SQLite, arrays, tokens."""

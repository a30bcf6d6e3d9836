"""Tools that every part may use and that know no part: errors, files, digests, SQLite, arrays, tokens."""

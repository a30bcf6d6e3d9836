"""Search at ten thousand, a hundred thousand and a million chunks, beside the code before and other engines."""

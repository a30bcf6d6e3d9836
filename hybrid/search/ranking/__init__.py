"""Orders the files that a search shows: by named pieces of evidence, added up."""

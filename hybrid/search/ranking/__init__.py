"""In which order files are shown: named pieces of evidence, added up."""

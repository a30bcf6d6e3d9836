"""Measures the records that come with a file which a session reads or edits: on recorded and on made-up sessions."""

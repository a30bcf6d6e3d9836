"""Writes our hooks into the settings of coding agents, takes them out again, and finds what is registered there.

`jsonc` changes a settings text without touching what is not ours, `clients` knows each agent's files and forms, `merge`
puts the two together, `files` keeps a record and a backup, `changes` does it to files; `found` and `foreign` look for
hooks of ours and of other systems.
"""

"""Writes our hooks into the settings of coding agents, takes them out again, and finds what is registered there.

`jsonc` changes a settings text without touching what is not ours, `clients` knows each agent's files and forms, `merge`
puts the two together, `changes` does it to files and keeps a record and a backup; `found` looks for hooks of ours and
of other systems.
"""

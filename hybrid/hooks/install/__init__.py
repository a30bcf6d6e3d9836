"""Writes our hooks into the settings of coding agents, takes them out again, and finds what is registered there.

`jsonc` and `edit` change a settings text without touching what is not ours, `clients` knows each agent's files and
forms, `merge` puts the two together, `records` keeps the original, `install` and `uninstall` do it to files, `found`
only looks.
"""

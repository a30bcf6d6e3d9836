"""The team's index: files of a shared branch in a store for many people, searched together with the tree here."""

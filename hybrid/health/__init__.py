"""The state of everything: `hybrid status` and the checks of `hybrid doctor`; reads, and changes nothing."""

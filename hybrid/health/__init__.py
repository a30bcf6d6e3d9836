"""How everything is: `hybrid status` and the checks of `hybrid doctor`; reads, and changes nothing."""

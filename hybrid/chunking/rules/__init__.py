"""What counts as a definition, language by language, as tree-sitter queries; `table` is the entry.

A query holds one pattern a line (an indented line continues it), so that a pattern which a grammar does not know can
be left out alone.
Capture names are the kinds of `types.Definition`, and:

    opaque      a function without a name: values inside it are locals
    body        a container without a name: values inside it are members
    outer       something whose lines before its last child belong to that child (`template <…>`)
    wrapper     a macro call that may only enclose definitions
    attribute   a decorator or annotation
    comment     a comment or docstring
    macro_value a macro that stands for a value
    join        a clause of a definition that may have more clauses
    _…          only for predicates
"""

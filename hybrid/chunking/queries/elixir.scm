(call target: (identifier) @_m (#eq? @_m "defmodule")) @module
(call target: (identifier) @_p (#eq? @_p "defprotocol")) @protocol
(call target: (identifier) @_i (#eq? @_i "defimpl")) @impl
(call target: (identifier) @_f (#any-of? @_f "def" "defp" "defdelegate" "defn" "defnp")) @function
(call target: (identifier) @_c (#any-of? @_c "defmacro" "defmacrop" "defguard" "defguardp")) @macro
(call target: (identifier) @_s (#any-of? @_s "defstruct" "defexception")) @struct
(do_block (unary_operator operand: (call target: (identifier) @_t
  (#any-of? @_t "type" "typep" "opaque" "callback" "macrocallback"))) @type)
(do_block (unary_operator operator: "@" operand: (call (arguments))) @constant)
(unary_operator operator: "@" operand: (call target: (identifier) @_a
  (#any-of? @_a "doc" "typedoc" "spec" "impl" "deprecated" "since" "tag"))) @attribute
(unary_operator operator: "@" operand: (call target: (identifier) @_o
  (#any-of? @_o "doc" "moduledoc" "typedoc"))) @comment
(call target: (identifier) @_q (do_block) (#any-of? @_q "test" "describe" "quote" "setup")) @opaque
(anonymous_function) @opaque
(comment) @comment

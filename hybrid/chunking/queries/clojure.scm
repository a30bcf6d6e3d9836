(source (list_lit . (sym_lit) @_d . [(sym_lit) (meta_lit)] (#match? @_d "^(defn-?|defmulti|defmethod)$")) @function)
(source (list_lit . (sym_lit) @_m (#eq? @_m "defmacro")) @macro)
(source (list_lit . (sym_lit) @_v (#match? @_v "^(def|defonce)$")) @constant)
(source (list_lit . (sym_lit) @_t (#match? @_t "^(defprotocol|defrecord|deftype)$")) @type)
(source (list_lit . (sym_lit) @_n (#eq? @_n "ns")) @module)
(comment) @comment

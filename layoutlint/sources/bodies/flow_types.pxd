cimport cython

from layoutlint.readers.clang.native cimport Node as CNode
from layoutlint.sources.bodies cimport c_syntax as syntax


cdef class FlowTypes:
    cdef public object _facts, _function, _parameters, _layouts, _identities, _declared, _pointers
    cdef public object _functions, _callees, _noted, _types, _pointees, _elements, _records
    cdef public object _structs_behind, _keeping, _spellings, _leading, _leading_types, _variable_slots
    cdef public object _field_slots, _with_body, _parameter_lists, flows, _lib, _names, _subject, _word
    cdef public object offset_slots, _asm, _numbers, _loops, _values, _unions, _truths, _is_copied
    cdef public object _is_computed, _is_hint, first_offset_slots, _depth, is_cut, _cursor, _body
    cpdef identity(self, object declaration)
    cpdef declarations(self, object place)
    cpdef str spelling(self, object declaration)
    cpdef note_slot(self, object declaration)
    cpdef note_functions(self)
    cpdef definition(self, object identity)
    cpdef str function_key(self, object function)
    @cython.locals(node=CNode)
    cpdef digest(self, CNode tree)
    cpdef fields_in(self, CNode values)
    cpdef bint leads_to_subject(self, object declaration)
    cpdef _type(self, CNode node)
    @cython.locals(first=CNode, is_turned=bint, second=CNode)
    cpdef _base_and_index(self, CNode node)
    cpdef _pointee(self, object type_)
    cpdef str _record(self, object type_)
    cpdef str _name_record(self, object type_)
    cpdef _note_layout(self, str name, object record)
    cpdef str _struct_of(self, CNode node)
    cpdef str _struct_behind(self, object type_)
    cpdef bint _keeps_address(self, object type_)
    cpdef bint _can_keep_address(self, object type_)
    cpdef str _spell(self, object type_)
    cpdef bint _is_untyped(self, object type_)
    cpdef _as_scalars(self, object addresses)
    cpdef bint _is_of_scalars(self, object type_)
    cpdef _parameter_types(self, CNode callee)
    cpdef _variable_slot(self, object declaration)
    cpdef _find_variable_slot(self, object declaration)
    cpdef _declare_slot(self, object slot, object declaration)
    cpdef _field_slot(self, object declaration)
    cpdef _find_field_slot(self, object declaration)
    cpdef _words(self, object slot)
    cpdef _place(self, CNode node)
    cpdef CNode _callee(self, CNode node)
    cpdef bint _has_body(self, CNode target)
    cpdef _text_size(self, CNode node)
    cpdef bint _is_bytes(self, CNode node)
    cpdef bint _is_byte(self, CNode node)

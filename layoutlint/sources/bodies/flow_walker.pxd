cimport cython

from layoutlint.readers.clang.native cimport Node as CNode
from layoutlint.sources.bodies cimport c_syntax as syntax
from layoutlint.sources.bodies.flow_declarations cimport DeclarationWalker


cdef class FlowWalker(DeclarationWalker):
    @cython.locals(node=CNode)
    cpdef function(self, object cursor, CNode tree, bint names_subject)
    cpdef _walk(self, CNode node)
    @cython.locals(child=CNode)
    cpdef _walk_node(self, CNode node)
    @cython.locals(function=CNode)
    cpdef _move(self, object slot, CNode value, object type_)
    cpdef _value(self, CNode node)
    cpdef _walk_value(self, CNode node)
    @cython.locals(child=CNode)
    cpdef _branch(self, CNode node, object children)
    @cython.locals(child=CNode, is_logical=bint)
    cpdef _note_end_of_loop(self, CNode condition)
    @cython.locals(inner=CNode)
    cpdef _base_address(self, CNode element)
    @cython.locals(is_kept=bint)
    cpdef _pointer_terms(self, object type_, object slot)
    cpdef _make(self, CNode node, object addresses)
    @cython.locals(inner=CNode)
    cpdef _array_address(self, CNode node)
    cpdef _access(self, CNode node, object addresses, object type_)
    @cython.locals(limit=CNode, moved=CNode)
    cpdef _access_in_loop(self, CNode node)
    cpdef _bits(self, CNode node, object sides, object number, object operator)
    @cython.locals(is_struct=bint)
    cpdef _mask(self, object address)
    @cython.locals(around=bint)
    cpdef _assign(self, CNode left, CNode right)
    cpdef _note_end(self, CNode element)
    @cython.locals(index=CNode)
    cpdef _note_element(self, CNode left)
    cpdef _slot(self, CNode node)
    cpdef _element_slot(self, CNode base)
    @cython.locals(function=CNode)
    cpdef _convert(self, CNode node, CNode inner)
    cpdef _convert_pointer(self, CNode node, object addresses)

cimport cython

from layoutlint.readers.clang.native cimport Node as CNode
from layoutlint.sources.bodies cimport c_syntax as syntax


cdef class UnionUses:
    cdef public object _flows, _embeds, _behind, _noted, _lib, _facts, _names, _subject
    @cython.locals(each=CNode)
    cpdef visit(self, CNode node, object flows)
    @cython.locals(each=CNode, is_decay=bint)
    cpdef _parts_with_modes(self, CNode node, object mode)
    @cython.locals(each=CNode)
    cpdef _note_conversion(self, CNode node, CNode inner)
    cpdef str _union_behind(self, CNode node)
    cpdef str _find_union(self, CNode node)
    cpdef _mode_of_base(self, CNode base, object mode)
    cpdef bint _is_array(self, CNode node)
    cpdef _note_first(self, CNode values)
    cpdef _note(self, CNode node, object mode)
    @cython.locals(is_subject=bint)
    cpdef _note_field(self, object field, object mode, CNode at)
    @cython.locals(is_subject=bint)
    cpdef _note_members(self, object union, str place)
    cpdef bint _is_around_subject(self, object union)

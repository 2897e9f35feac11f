cimport cython

from layoutlint.readers.clang.native cimport Node as CNode
from layoutlint.sources.bodies cimport c_syntax as syntax


cdef class InitialValues:
    cdef public object _parts, runs, _lib, _facts, _subject
    cpdef take_runs(self)
    cpdef _level(self, object type_, bint is_own=*)
    cpdef _parts_of(self, object record)
    cpdef bint _is_named(self, object part)
    @cython.locals(has_part=bint)
    cpdef _part(self, object level)
    cpdef _target(self, object level)
    cpdef _advance(self, object levels)
    @cython.locals(step=CNode)
    cpdef _designate(self, object levels, CNode value)
    cpdef _find_part(self, object parts, object wanted)
    cpdef bint _is_nameless(self, object part)
    cpdef bint _is_array(self, object level)
    cpdef _sub_level(self, object level)
    cpdef _enter(self, object levels, CNode value, object fresh)
    @cython.locals(inner=CNode)
    cpdef bint _is_whole(self, CNode value, object target)
    cpdef bint _is_aggregate(self, object type_)
    cpdef _type(self, CNode node)
    @cython.locals(node=CNode)
    cpdef _extend(self, object level, CNode value)
    @cython.locals(node=CNode)
    cpdef _end_run(self, object level)
    cpdef _close(self, object levels)
    cpdef str _name_at_end(self, object part, object end)

cimport cython

from layoutlint.readers.clang.native cimport Node as CNode
from layoutlint.sources.bodies cimport c_syntax as syntax


cdef class Numbers:
    cdef public object _initial, _nodes, _changed, _largest, _limits, _limits_around, _turns, has_jumps
    cdef public object _lib, _facts
    @cython.locals(changed=CNode, initial=CNode, node=CNode)
    cpdef _scan(self, CNode body)
    @cython.locals(is_changed=bint)
    cpdef CNode _changed_operand(self, CNode node)
    cpdef _operator(self, CNode node)
    @cython.locals(is_variable=bint)
    cpdef _variable(self, CNode node)
    cpdef CNode resolve(self, CNode node)
    cpdef constant(self, CNode node)
    cpdef CNode limit(self, CNode node)
    @cython.locals(is_parameter=bint)
    cpdef CNode parameter(self, CNode node)
    cpdef turns(self)
    @cython.locals(is_parameter=bint)
    cpdef _count(self, CNode condition, object first)
    @cython.locals(condition=CNode, is_loop=bint)
    cpdef enter(self, CNode statement)
    @cython.locals(left=CNode, right=CNode)
    cpdef _note_limit(self, CNode condition, bint is_loop)
    cpdef leave(self, object around, bint is_loop)
    @cython.locals(child=CNode)
    cpdef _first_values(self, CNode loop)
    cpdef bint _is_decrement(self, CNode node)

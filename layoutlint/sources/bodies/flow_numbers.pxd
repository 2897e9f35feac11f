cimport cython

from layoutlint.readers.clang.native cimport Node as CNode
from layoutlint.sources.bodies cimport c_syntax as syntax
from layoutlint.sources.bodies.flow_types cimport FlowTypes


cdef class FlowNumbers(FlowTypes):
    cpdef _number(self, CNode node)
    cpdef _literal(self, CNode node)
    @cython.locals(one=CNode, other=CNode)
    cpdef _note_size_compared(self, CNode comparison)
    @cython.locals(is_variable=bint, target=CNode)
    cpdef _number_slot(self, CNode node)
    cpdef _offsets_in(self, object terms)
    cpdef _step(self, CNode node, CNode number, bint is_negative)
    cpdef _increment(self, CNode node)
    cpdef _size_behind(self, CNode node)
    cpdef _member_of_offset(self, CNode number)
    @cython.locals(each=CNode)
    cpdef bint _is_in_container(self, CNode number)
    @cython.locals(each=CNode, inner=CNode, is_address=bint)
    cpdef _steps_of_offset(self, CNode number)
    @cython.locals(is_cast=bint, is_sum=bint, node=CNode)
    cpdef bint _is_by_offset(self, CNode dereference)
    @cython.locals(step=CNode)
    cpdef _first_own_name(self, object steps)
    @cython.locals(node=CNode)
    cpdef _steps_from_null(self, CNode address)
    cpdef bint _is_hardware(self, CNode node)

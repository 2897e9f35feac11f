cimport cython

from layoutlint.readers.clang.native cimport Node as CNode
from layoutlint.sources.bodies cimport c_syntax as syntax
from layoutlint.sources.bodies.text_calls cimport TextCalls


cdef class LibraryCalls(TextCalls):
    cpdef _slot(self, CNode node)
    cpdef _give(self, str key, object number, object type_, object given, CNode at)
    cpdef _kept_addresses(self, CNode node, str name, object arguments, object values)
    cpdef _keyed_addresses(self, CNode node, str name, object arguments, object values)
    cpdef _kept_slot(self, CNode node)
    @cython.locals(target=CNode)
    cpdef _give_first(self, CNode function, object address)
    cpdef _access_elsewhere(self, CNode node, CNode target, object position, object addresses)
    @cython.locals(parameter=CNode)
    cpdef _count_bytes(self, CNode number, object addresses, bint is_index=*)
    cpdef _count_recursion(self, str name, object arguments, object values)
    @cython.locals(left=CNode, parameter=CNode, right=CNode)
    cpdef _counted_down(self, CNode argument)

cimport cython

from layoutlint.readers.clang.native cimport Node as CNode
from layoutlint.sources.bodies cimport c_syntax as syntax
from layoutlint.sources.bodies.flow_numbers cimport FlowNumbers


cdef class TextCalls(FlowNumbers):
    cpdef _note_texts(self, CNode node, str plain, object arguments, object values)
    cpdef _note_given_texts(self, CNode node, str function, object position, object values)
    cpdef _note_text(self, CNode node, object values, str kind, object size)
    cpdef _note_printed(self, CNode node, str plain, object arguments, object values)
    cpdef _limit_of(self, object match, object arguments, object given)
    cpdef _note_scanned(self, CNode node, object arguments, object values)
    cpdef _scanned_size(self, str length, str kind)
    cpdef _literal_text(self, CNode node)

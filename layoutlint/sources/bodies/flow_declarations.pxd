cimport cython

from layoutlint.readers.clang.native cimport Node as CNode
from layoutlint.sources.bodies cimport c_syntax as syntax
from layoutlint.sources.bodies.flow_calls cimport CallWalker


cdef class DeclarationWalker(CallWalker):
    cpdef pass_over(self, object cursor)
    cpdef note_definition(self, object function)
    cpdef _receive(self, CNode parameter, object number)
    @cython.locals(tree=CNode)
    cpdef variable(self, object cursor)
    @cython.locals(is_words=bint)
    cpdef _name_object(self, CNode variable)
    @cython.locals(initial=CNode, is_words=bint)
    cpdef _declare(self, CNode variable)
    cpdef _words_address(self, CNode node, object type_)
    cpdef _literal_words(self, CNode literal)
    cpdef _note_cleanup(self, CNode variable, object type_)
    cpdef _note_full_text(self, object placed)

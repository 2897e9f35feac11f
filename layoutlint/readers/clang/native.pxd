# For the compiled modules that walk trees: they use a node's kind and children as what they are in C.

cdef struct CXCursor:
    int kind
    int xdata
    const void *data[3]

cdef struct CXType:
    int kind
    void *data[2]


cdef class Node:
    cdef readonly int kind
    cdef readonly object children
    cdef CXCursor _raw
    cdef int _type_kind
    cdef size_t _type

    cdef void find_type(self) noexcept

# The types of the loop that goes over all entries; see relocation.py.

cimport cython


@cython.locals(
    size=cython.ulonglong,
    symbols=cython.ulonglong,
    kinds=cython.ulonglong,
    step=cython.Py_ssize_t,
    number=cython.Py_ssize_t,
    position=cython.Py_ssize_t,
    offset=cython.ulonglong,
    symbol=cython.ulonglong,
    kind=cython.ulonglong,
    recipe=cython.uint,
    width=cython.uint,
    value=cython.ulonglong,
    old_value=cython.ulonglong,
    byte=cython.ulonglong,
    index=cython.uint,
)
cpdef Py_ssize_t carry_out(
    unsigned char[::1] data,
    const unsigned long long[::1] words,
    const unsigned long long[::1] values,
    const unsigned char[::1] recipes,
    int shift,
    unsigned long long mask,
    bint has_addends,
    bint little_endian,
) except -2

cdef unsigned int _ADD
cdef unsigned int _SUB

cimport cython

from layoutlint.readers.dwarf.format.abbreviations cimport Plan
from layoutlint.readers.dwarf.format.abbreviation_tables cimport Table
from layoutlint.readers.dwarf.format.unit cimport Unit

cdef int _OTHER, _AGGREGATE, _IMPORT, _STRUCT
cdef unsigned long long _BUCKETS


@cython.final
cdef class Names:
    cdef public frozenset _places, _texts
    cdef public bytearray _marks, _starts
    cdef Py_ssize_t _longest

    cdef bint has_place(self, unsigned long long place) except -1
    cdef bint has_text(self, Unit unit, Py_ssize_t position) except -1
    cpdef bint has_name(self, Unit unit, Plan plan, Py_ssize_t position) except -1


@cython.final
cdef class Positions:
    cdef long long[::1] places
    cdef Py_ssize_t count
    cdef public bint has_typedefs

    cdef void add(self, Py_ssize_t position) except *
    cpdef void clear(self) except *
    @cython.locals(index=Py_ssize_t)
    cpdef list to_list(self)


@cython.locals(octets="const unsigned char[::1]", end=Py_ssize_t, position=Py_ssize_t, marks=bytearray, mark=cython.int)
cpdef set find_strings(object octets, frozenset texts)

@cython.locals(start=Py_ssize_t, index=Py_ssize_t)
cdef bint _ends_with(const unsigned char[::1] octets, Py_ssize_t end, bytes text) except -1

cdef int _mark(unsigned int first, unsigned int second, unsigned int third) noexcept

@cython.locals(
    octets="const unsigned char[::1]", table=Table, plans=list, plan_count=Py_ssize_t, end=Py_ssize_t, depth=Py_ssize_t,
    start=Py_ssize_t, code="unsigned long long", plan=Plan, looks_inside=bint,
)
cpdef list walk(Unit unit, Py_ssize_t position, Names wanted, Positions others=*, Positions hidden=*)

@cython.locals(
    octets="const unsigned char[::1]", end=Py_ssize_t, start=Py_ssize_t, code="unsigned long long",
    plan=Plan,
)
cpdef list find_signature_entries(Unit unit, Py_ssize_t position)

@cython.locals(octets="const unsigned char[::1]", end=Py_ssize_t, start=Py_ssize_t, plan=Plan, is_type=bint)
cpdef list find_types(Unit unit, Py_ssize_t position, Names wanted, Positions every=*)

@cython.locals(is_local=bint, local=list)
cdef Py_ssize_t _collect_local(Unit unit, Plan plan, Py_ssize_t start, Py_ssize_t position, Names wanted, Positions hidden) except -1

cdef void _collect(Unit unit, Table table, Plan plan, Py_ssize_t start, Py_ssize_t position, Names wanted, list hits, Positions others, Positions hidden) except *

@cython.locals(place="unsigned long long")
cdef bint _is_named(Unit unit, Plan plan, Py_ssize_t position, Names names) except -1

@cython.locals(place="unsigned long long", code="unsigned long long", target=Plan)
cdef bint _may_name(Unit unit, Table table, Py_ssize_t position, Py_ssize_t at) except -1

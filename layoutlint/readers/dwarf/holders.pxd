cimport cython

from layoutlint.readers.dwarf.format.abbreviations cimport Plan
from layoutlint.readers.dwarf.format.type_recipe cimport Recipe
from layoutlint.readers.dwarf.scan cimport Names, Positions
from layoutlint.readers.dwarf.format.unit cimport Unit

cdef int _DEEPEST, _OTHER, _REFER, _UNKNOWN, _NO, _YES, _MAYBE, _BASES, _LAST
cdef int _NO_TYPE, _LEAF, _STRUCT
cdef long long _UNION, _TYPEDEF, _ARRAY, _MEMBER, _BASE_CLASS, _VARIANTS, _VARIANT
cdef Py_ssize_t _NOWHERE


@cython.final
cdef class Holders:
    cdef list _plans
    cdef unsigned char[::1] _answers
    cdef int _base

    @cython.locals(position=Py_ssize_t, plan=Plan)
    cpdef list find_named(self, Unit unit, list positions, Names names)
    @cython.locals(position=Py_ssize_t, index=Py_ssize_t)
    cpdef list find_holders(self, Unit unit, list targets, Positions others)
    @cython.locals(position=Py_ssize_t)
    cpdef list find_contained(self, Unit unit, list positions)
    @cython.locals(size=Py_ssize_t)
    cdef void _begin(self, Unit unit) except *
    @cython.locals(position=Py_ssize_t, plan=Plan)
    cdef void _mark(self, Unit unit, list targets) except *
    @cython.locals(answer=int, plan=Plan)
    cdef int _holds(self, Unit unit, Py_ssize_t position, int depth) except -1
    @cython.locals(code=Py_ssize_t, plan=Plan, is_inside=bint)
    cdef Plan _plan(self, Unit unit, Py_ssize_t position)
    @cython.locals(target=Py_ssize_t)
    cdef bint _marks_struct(self, Unit unit, Plan plan, Py_ssize_t position) except -1
    @cython.locals(target=Py_ssize_t)
    cdef int _examine(self, Unit unit, Plan plan, Py_ssize_t position, int depth) except -1
    @cython.locals(
        answer=int, member_answer=int, member=Plan, start=Py_ssize_t, code=Py_ssize_t, plans=list, plan_count=Py_ssize_t,
        inner=Py_ssize_t,
    )
    cdef int _any_member_holds(self, Unit unit, Plan plan, Py_ssize_t position, int depth) except -1
    @cython.locals(
        code="unsigned char", first=Py_ssize_t, span=Py_ssize_t, head=Py_ssize_t, has_text=bint, answer=int,
        target=Py_ssize_t, target_code=Py_ssize_t, plan=Plan, plans=list, plan_count=Py_ssize_t,
    )
    cdef int _any_holds_in_run(self, Unit unit, Plan member, Py_ssize_t position, int depth) except -1
    @cython.locals(plan=Plan, member=Plan, start=Py_ssize_t, target=Py_ssize_t)
    cdef void _collect(self, Unit unit, Py_ssize_t position, list contained, int depth) except *


@cython.locals(recipe=Recipe, step=Py_ssize_t, width=Py_ssize_t)
cdef Py_ssize_t _target(Unit unit, Plan plan, Py_ssize_t position) except? -2

cdef Py_ssize_t _locate(Unit unit, unsigned long long value, Py_ssize_t position) except? -2

@cython.locals(value="unsigned long long")
cdef inline unsigned long long _read_u32(const unsigned char[::1] octets, Py_ssize_t position) except? 0xFFFFFFFFFFFFFFFF

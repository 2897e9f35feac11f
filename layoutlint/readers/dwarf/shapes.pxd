cimport cython

from layoutlint.readers.dwarf.abbrev cimport Plan
from layoutlint.readers.dwarf.interning cimport Memo, Words
from layoutlint.readers.dwarf.lines cimport Files, Name
from layoutlint.readers.dwarf.recipe cimport Recipe
from layoutlint.readers.dwarf.unit cimport Unit

cdef Py_ssize_t _SHORT
cdef int _DEEPEST, _DROP, _NUMBER, _SIGNED, _REFER, _FILE, _PLACE, _INDEX, _TEXT, _ELSEWHERE
cdef unsigned long long _IS_TEXT, _IS_SHORT, _IS_NAME, _IS_SPELLED, _UNKNOWN, _PLACES, _FILES, _NUMBERS


@cython.final
cdef class Shapes:
    cdef Words _numbers
    cdef Memo _known
    cdef dict _texts, _numbered, _paths
    cdef Files _table
    cdef set _seen
    cdef object _main, _home, _unit
    cdef list _plans
    cdef unsigned long long[::1] _words
    cdef unsigned long long[::1] _files
    cdef Py_ssize_t _top
    cdef unsigned long long _folder, _turn
    cdef bint _has_crossed

    cpdef list new_among(self, Unit unit, list positions)
    cpdef unsigned long long of(self, Unit unit, Py_ssize_t position) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(
        key="unsigned long long", plan=Plan, recipe=Recipe, start=Py_ssize_t, behind=Py_ssize_t,
        number="unsigned long long",
    )
    cdef unsigned long long _whole(self, Unit unit, Py_ssize_t position, int depth) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(
        key="unsigned long long", plan=Plan, recipe=Recipe, start=Py_ssize_t, behind=Py_ssize_t,
        number="unsigned long long",
    )
    cdef unsigned long long _spelled(self, Unit unit, Py_ssize_t position, int depth) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(plan=Plan, recipe=Recipe)
    cdef Plan _enter(self, Unit unit, Py_ssize_t position, int depth)
    @cython.locals(
        recipe=Recipe, start=Py_ssize_t, step=Py_ssize_t, action=int, width=Py_ssize_t, word="unsigned long long",
        known="unsigned long long",
    )
    cdef Py_ssize_t _attributes(self, Unit unit, Plan plan, Py_ssize_t position, int depth) except -1
    @cython.locals(index=Py_ssize_t)
    cdef void _constants(self, Recipe recipe, Py_ssize_t start) except *
    @cython.locals(recipe=Recipe, step=Py_ssize_t, width=Py_ssize_t)
    cdef void _references(self, Unit unit, Plan plan, Py_ssize_t position, int depth) except *
    @cython.locals(recipe=Recipe, step=Py_ssize_t, width=Py_ssize_t, word="unsigned long long", start=Py_ssize_t)
    cdef unsigned long long _named(self, Unit unit, Plan plan, Py_ssize_t position) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(action=int, width=Py_ssize_t, end=Py_ssize_t, value="unsigned long long")
    cdef unsigned long long _word(
        self, Unit unit, Recipe recipe, Py_ssize_t step, Py_ssize_t position, bint is_whole, int depth
    ) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(target="unsigned long long")
    cdef unsigned long long _referred(
        self, Unit unit, long form, unsigned long long value, Py_ssize_t position, bint is_whole, int depth
    ) except? 0xFFFFFFFFFFFFFFFF
    cdef unsigned long long _within(
        self, Unit unit, unsigned long long value, Py_ssize_t position, int depth
    ) except? 0xFFFFFFFFFFFFFFFF
    cdef void _cross(self) except *
    @cython.locals(
        octets="const unsigned char[::1]", plans=list, code=Py_ssize_t, is_quick=bint, plan=Plan, recipe=Recipe, behind=Py_ssize_t,
    )
    cdef void _children(self, Unit unit, Py_ssize_t position, int depth) except *
    @cython.locals(
        behind=Py_ssize_t, start=Py_ssize_t, step=Py_ssize_t, place=Py_ssize_t, width=Py_ssize_t,
        word="unsigned long long", known="unsigned long long",
    )
    cdef Py_ssize_t _quick(
        self, Unit unit, const unsigned char[::1] octets, Recipe recipe, Py_ssize_t position, int depth
    ) except -1
    @cython.locals(place=Py_ssize_t, known=Py_ssize_t)
    cdef unsigned long long _path(self, Unit unit, unsigned long long number) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(files=Files, start=Py_ssize_t)
    cdef Py_ssize_t _file(self, Unit unit, unsigned long long number) except -1
    cdef void _put_name(self, Files files, Name name) except *
    cdef unsigned long long _place(self, Unit unit, unsigned long long place) except? 0xFFFFFFFFFFFFFFFF
    cdef unsigned long long _inside(
        self, Unit unit, Py_ssize_t position, Py_ssize_t end
    ) except? 0xFFFFFFFFFFFFFFFF
    cdef unsigned long long _text(self, bytes text) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(end=Py_ssize_t)
    cdef unsigned long long _number(self, Py_ssize_t start) except? 0xFFFFFFFFFFFFFFFF
    cdef void _put(self, unsigned long long word) except *
    cdef void _grow(self, Py_ssize_t count) except *

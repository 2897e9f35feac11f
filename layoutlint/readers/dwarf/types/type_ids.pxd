cimport cython

from layoutlint.readers.dwarf.format.abbreviations cimport Plan
from layoutlint.readers.dwarf.format.word_tables cimport Memo, Words
from layoutlint.readers.dwarf.types.file_ids cimport Paths
from layoutlint.readers.dwarf.format.type_recipe cimport Recipe
from layoutlint.readers.dwarf.types.string_ids cimport Texts
from layoutlint.readers.dwarf.types.spelling cimport is_function
from layoutlint.readers.dwarf.format.unit cimport Unit

cdef int _DEEPEST, _DROP, _SIGNED, _REFER, _FILE, _PLACE, _INDEX, _TEXT, _ELSEWHERE
cdef unsigned long long _IS_NAME, _IS_SPELLED, _UNKNOWN
cdef unsigned long long _IS_MEMBER, _HAS_TEXT, _FAR, _HALF, _TEXTS, _IS_POINTER, _SPELLINGS, _SIZES, _NAMED, _CALLS
cdef long long _FUNCTION
cdef int _DERIVED
cdef int _SPELLING_BITS, _MORE, _START


@cython.final
cdef class Shapes:
    cdef Words _numbers
    cdef Memo _memo
    cdef Paths _paths
    cdef Texts _texts
    cdef bytearray _seen
    cdef set _seen_elsewhere
    cdef object _home
    cdef list _plans
    cdef Plan _spelled_last
    cdef unsigned long long[::1] _words
    cdef Py_ssize_t _top
    cdef bint _has_crossed, _is_quick

    cpdef list new_among(self, Unit unit, list positions)
    cdef bint _see(self, unsigned long long number) except -1
    cpdef unsigned long long shape(self, Unit unit, Py_ssize_t position) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(key="unsigned long long", number="unsigned long long")
    cdef unsigned long long _type_number(self, Unit unit, Py_ssize_t position, int depth) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(
        plan=Plan, recipe=Recipe, start=Py_ssize_t, end=Py_ssize_t, number="unsigned long long",
    )
    cdef unsigned long long _add_type(
        self, Unit unit, Py_ssize_t position, unsigned long long key, int depth
    ) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(pointee_number="unsigned long long", size="unsigned long long", mark="unsigned long long", pointee=Plan)
    cdef unsigned long long _pointer_number(
        self, Unit unit, Recipe recipe, Py_ssize_t position, Py_ssize_t start
    ) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(
        key="unsigned long long", plan=Plan, recipe=Recipe, start=Py_ssize_t, attributes_start=Py_ssize_t,
        number="unsigned long long", place="unsigned long long",
    )
    cdef unsigned long long _spelling_number(self, Unit unit, Py_ssize_t position, int depth) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(code=Py_ssize_t, plan=Plan, recipe=Recipe)
    cdef Plan _enter(self, Unit unit, Py_ssize_t position, int depth)
    @cython.locals(
        start=Py_ssize_t, end=Py_ssize_t, step=Py_ssize_t, width=Py_ssize_t, word="unsigned long long",
    )
    cdef Py_ssize_t _add_attributes(self, Unit unit, Recipe recipe, Py_ssize_t position, int depth) except -1
    @cython.locals(
        start=Py_ssize_t, step=Py_ssize_t,
        place=Py_ssize_t, word="unsigned long long", action=int, number="unsigned long long",
    )
    cdef Py_ssize_t _add_fixed(self, Unit unit, Recipe recipe, Py_ssize_t position, int depth) except? -1
    @cython.locals(index=Py_ssize_t)
    cdef void _add_constants(self, Unit unit, Recipe recipe, Py_ssize_t start) except *
    @cython.locals(step=Py_ssize_t, width=Py_ssize_t)
    cdef void _add_references(self, Unit unit, Recipe recipe, Py_ssize_t position, int depth) except *
    @cython.locals(step=Py_ssize_t, width=Py_ssize_t, word="unsigned long long", start=Py_ssize_t)
    cdef unsigned long long _name_number(self, Unit unit, Recipe recipe, long long tag, Py_ssize_t position) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(action=int, width=Py_ssize_t, end=Py_ssize_t, value="unsigned long long")
    cdef unsigned long long _attribute_word(
        self, Unit unit, Recipe recipe, Py_ssize_t step, Py_ssize_t position, bint is_whole, int depth
    ) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(target="unsigned long long")
    cdef unsigned long long _target_number(
        self, Unit unit, long form, unsigned long long value, Py_ssize_t position, bint is_whole, int depth
    ) except? 0xFFFFFFFFFFFFFFFF
    @cython.locals(
        plans=list, code=Py_ssize_t, plan=Plan, recipe=Recipe, end=Py_ssize_t, start=Py_ssize_t,
        is_quick=bint,
    )
    cdef void _add_children(self, Unit unit, Py_ssize_t position, int depth) except *
    @cython.locals(
        code="unsigned char", done=Py_ssize_t, last=Py_ssize_t, key="unsigned long long", name="unsigned long long",
        word="unsigned long long",
        value="unsigned long long", number="unsigned long long",
    )
    cdef Py_ssize_t _add_run(self, Unit unit, Recipe recipe, Py_ssize_t position, int depth) except -1
    @cython.locals(name="unsigned long long", place="unsigned long long", text="unsigned long long")
    cdef void _use_two_words(self, Recipe recipe, Py_ssize_t start) except *
    @cython.locals(end=Py_ssize_t)
    cdef unsigned long long _pop_number(self, Py_ssize_t start) except? 0xFFFFFFFFFFFFFFFF
    cdef void _put(self, unsigned long long word) except *
    cdef void _grow(self, Py_ssize_t count) except *


@cython.locals(value="unsigned long long")
cdef inline unsigned long long _read_u32(const unsigned char[::1] octets, Py_ssize_t position) except? 0xFFFFFFFFFFFFFFFF

cimport cython

cdef int _LONGEST_TAG_WORD
cdef unsigned char _NEWLINE, _CARRIAGE, _HASH, _STAR, _SLASH, _BACKSLASH, _QUOTE, _APOSTROPHE, _SPACE, _NINE


@cython.final
cdef class MacroUses:
    cdef bytes _text
    cdef const unsigned char[::1] _bytes, _is_word
    cdef bint _is_behind_tag_word
    cdef public dict bodies
    cdef public list includes, pieces
    cdef set _named, _asked, _defined, _settled, _undefined

    cdef _begin(self)
    @cython.locals(byte="unsigned char", following=Py_ssize_t, is_start=bint)
    cdef _read(self, Py_ssize_t at, Py_ssize_t end)
    @cython.locals(byte="unsigned char", stop=Py_ssize_t)
    cdef Py_ssize_t _after_token(self, Py_ssize_t at, Py_ssize_t end, bint is_directive) except -1
    cdef Py_ssize_t _word_end(self, Py_ssize_t at, Py_ssize_t end) noexcept
    @cython.locals(quote="unsigned char")
    cdef Py_ssize_t _literal_end(self, Py_ssize_t at, Py_ssize_t end) noexcept
    @cython.locals(stop=Py_ssize_t)
    cdef Py_ssize_t _comment_end(self, Py_ssize_t at, Py_ssize_t end) except -1
    cdef Py_ssize_t _after_backslash(self, Py_ssize_t at, Py_ssize_t end) noexcept
    @cython.locals(byte="unsigned char", has_code=bint)
    cdef Py_ssize_t _line_end(self, Py_ssize_t at, Py_ssize_t end) except -1
    cdef Py_ssize_t _next_word(self, Py_ssize_t at, Py_ssize_t end) except -1
    @cython.locals(stop=Py_ssize_t)
    cdef Py_ssize_t _after_asked(self, Py_ssize_t at, Py_ssize_t end) except -1
    @cython.locals(start=Py_ssize_t, stop=Py_ssize_t, last=Py_ssize_t)
    cdef Py_ssize_t _read_directive(self, Py_ssize_t at, Py_ssize_t end) except -1
    @cython.locals(stop=Py_ssize_t, last=Py_ssize_t)
    cdef Py_ssize_t _define(self, Py_ssize_t at, Py_ssize_t end, bint has_body) except -1

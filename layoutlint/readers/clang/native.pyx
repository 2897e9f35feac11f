"""What takes longest with libclang, by direct calls: ctypes takes longer than libclang does.

libclang.py, listing.py and ctypes_nodes.py do the same where nothing is compiled.
"""

import ctypes

from libc.string cimport memcpy

cdef struct CXSourceLocation:
    const void *data[2]
    unsigned int offset

cdef struct CXSourceRange:
    const void *data[2]
    unsigned int begin
    unsigned int end

cdef struct CXSourceRangeList:
    unsigned int count
    CXSourceRange *ranges

cdef struct CXString:
    const void *data
    unsigned int flags

ctypedef CXString (*TextOfCursor)(CXCursor) noexcept
ctypedef const char *(*CharactersOfText)(CXString) noexcept
ctypedef void (*DisposeOfText)(CXString) noexcept
ctypedef int (*Visitor)(CXCursor, CXCursor, void *) noexcept
ctypedef unsigned int (*VisitChildren)(CXCursor, Visitor, void *) noexcept
ctypedef CXCursor (*CursorOfCursor)(CXCursor) noexcept
ctypedef int (*NumberOfCursor)(CXCursor) noexcept
ctypedef CXType (*TypeOfCursor)(CXCursor) noexcept
ctypedef CXType (*TypeOfType)(CXType) noexcept
ctypedef CXCursor (*CursorOfType)(CXType) noexcept
ctypedef long long (*NumberOfType)(CXType) noexcept
ctypedef long long (*LongNumberOfCursor)(CXCursor) noexcept
ctypedef CXSourceLocation (*LocationOfCursor)(CXCursor) noexcept
ctypedef CXString (*TextOfFile)(void *) noexcept
ctypedef void *(*FileOfCursor)(CXCursor) noexcept
ctypedef CXSourceLocation (*LocationOfRange)(CXSourceRange) noexcept
ctypedef CXSourceRangeList *(*RangesOfUnit)(void *) noexcept
ctypedef void (*DisposeOfRanges)(CXSourceRangeList *) noexcept
ctypedef void (*InclusionVisitor)(void *, CXSourceLocation *, unsigned int, void *) noexcept
ctypedef void (*VisitInclusions)(void *, InclusionVisitor, void *) noexcept
ctypedef void (*SpotOfLocation)(CXSourceLocation, void **, unsigned int *, unsigned int *, unsigned int *) noexcept

cdef VisitChildren visit_children
cdef CursorOfCursor get_referenced
cdef NumberOfCursor get_binary_operator, get_unary_operator, is_definition
cdef TypeOfCursor get_type
cdef TypeOfType get_canonical_type, get_element_type, get_value_type
cdef NumberOfType get_size, get_align
cdef LongNumberOfCursor get_offset
cdef CursorOfType get_type_declaration
cdef LocationOfCursor get_location
cdef SpotOfLocation get_spot
cdef TextOfCursor get_spelling
cdef CharactersOfText get_characters
cdef DisposeOfText dispose_text
cdef TextOfFile get_file_name
cdef FileOfCursor get_included_file
cdef LocationOfRange get_start, get_end
cdef RangesOfUnit get_skipped
cdef DisposeOfRanges dispose_ranges
cdef VisitInclusions visit_inclusions

# enum CXTypeKind
cdef int RECORD = 105, FIRST_ARRAY = 112, LAST_ARRAY = 115, ATOMIC = 177
# enum CXCursorKind
cdef int STRUCT = 2, UNION = 3, FIELD = 6, FUNCTION = 8, VARIABLE = 9, TYPEDEF = 20
cdef int FIRST_REFERENCE = 40, LAST_REFERENCE = 50, MEMBER_NAME = 47
cdef int FIRST_EXPRESSION = 100, FIRST_LITERAL = 106, LAST_LITERAL = 110, SIZEOF = 136, FIRST_ATTRIBUTE = 400
LAYERS = (111, 100, 117)
"""CXCursor_ParenExpr, UnexposedExpr and CStyleCastExpr."""
cdef int BREAK = 0, CONTINUE = 1, RECURSE = 2
cdef int ENUM = 5, STATIC_ASSERT = 602
cdef int FIRST_DIRECTIVE = 500, LAST_DIRECTIVE = 503, INCLUSION = 503
"""CXCursor_EnumDecl."""

cdef size_t moved_file = 1
cdef int moved_lines = 0
cdef object Cursor = None
cdef object Definition = None


def bind(lib, cursor_class, definition_class):
    """Call the functions of a libclang that ctypes has loaded; raises AttributeError if it has not all."""
    global visit_children, get_referenced, get_binary_operator, get_unary_operator, is_definition
    global get_element_type, get_value_type, get_size, get_align, get_offset
    global get_type, get_canonical_type, get_type_declaration, get_location, get_spot, get_spelling, get_characters, dispose_text
    global get_included_file, get_start, get_end, get_skipped, dispose_ranges
    global get_file_name, visit_inclusions, Cursor, Definition
    get_referenced = <CursorOfCursor><size_t>_address(lib.clang_getCursorReferenced)
    is_definition = <NumberOfCursor><size_t>_address(lib.clang_isCursorDefinition)
    get_type = <TypeOfCursor><size_t>_address(lib.clang_getCursorType)
    get_canonical_type = <TypeOfType><size_t>_address(lib.clang_getCanonicalType)
    get_type_declaration = <CursorOfType><size_t>_address(lib.clang_getTypeDeclaration)
    get_element_type = <TypeOfType><size_t>_address(lib.clang_getElementType)
    get_value_type = <TypeOfType><size_t>_address(lib.clang_Type_getValueType)
    get_size = <NumberOfType><size_t>_address(lib.clang_Type_getSizeOf)
    get_align = <NumberOfType><size_t>_address(lib.clang_Type_getAlignOf)
    get_offset = <LongNumberOfCursor><size_t>_address(lib.clang_Cursor_getOffsetOfField)
    get_location = <LocationOfCursor><size_t>_address(lib.clang_getCursorLocation)
    get_spot = <SpotOfLocation><size_t>_address(lib.clang_getFileLocation)
    get_spelling = <TextOfCursor><size_t>_address(lib.clang_getCursorSpelling)
    get_characters = <CharactersOfText><size_t>_address(lib.clang_getCString)
    dispose_text = <DisposeOfText><size_t>_address(lib.clang_disposeString)
    get_file_name = <TextOfFile><size_t>_address(lib.clang_getFileName)
    get_included_file = <FileOfCursor><size_t>_address(lib.clang_getIncludedFile)
    get_start = <LocationOfRange><size_t>_address(lib.clang_getRangeStart)
    get_end = <LocationOfRange><size_t>_address(lib.clang_getRangeEnd)
    get_skipped = <RangesOfUnit><size_t>_address(lib.clang_getAllSkippedRanges)
    dispose_ranges = <DisposeOfRanges><size_t>_address(lib.clang_disposeSourceRangeList)
    visit_inclusions = <VisitInclusions><size_t>_address(lib.clang_getInclusions)
    if hasattr(lib, "clang_getCursorBinaryOperatorKind"):  # from libclang 17 on; function bodies are refused without
        get_binary_operator = <NumberOfCursor><size_t>_address(lib.clang_getCursorBinaryOperatorKind)
        get_unary_operator = <NumberOfCursor><size_t>_address(lib.clang_getCursorUnaryOperatorKind)
    Cursor, Definition = cursor_class, definition_class
    visit_children = <VisitChildren><size_t>_address(lib.clang_visitChildren)


def _address(function):
    return ctypes.cast(function, ctypes.c_void_p).value


cdef object _cursor(CXCursor raw):
    cursor = Cursor()
    memcpy(<void *><size_t>ctypes.addressof(cursor), &raw, sizeof(CXCursor))
    return cursor


cdef CXCursor _raw(object cursor):
    cdef CXCursor raw
    memcpy(&raw, <void *><size_t>ctypes.addressof(cursor), sizeof(CXCursor))
    return raw


cdef tuple _spot(CXCursor raw):
    cdef void *file = NULL
    cdef unsigned int line = 0
    get_spot(get_location(raw), &file, &line, NULL, NULL)
    if <size_t>file == moved_file:
        line -= moved_lines
    return (<size_t>file if file != NULL else None), line


cdef str _spelling(CXCursor raw):
    return _text(get_spelling(raw))


cdef str _text(CXString text):
    cdef const char *characters = get_characters(text)
    try:
        return "" if characters == NULL else (<bytes>characters).decode("utf-8", "replace")
    finally:
        dispose_text(text)


cdef class Node:
    cdef void find_type(self) noexcept:
        cdef CXType ctype = get_canonical_type(get_type(self._raw))
        self._type_kind = ctype.kind
        self._type = <size_t>ctype.data[0]

    @property
    def cursor(self):
        return _cursor(self._raw)

    @property
    def identity(self):
        return <size_t>self._raw.data[0]

    @property
    def type_kind(self):
        if self._type_kind < 0:
            self.find_type()
        return self._type_kind

    @property
    def type_identity(self):
        if self._type_kind < 0:
            self.find_type()
        return self._type

    @property
    def binary_operator(self):
        return get_binary_operator(self._raw) if get_binary_operator != NULL else 0

    @property
    def unary_operator(self):
        return get_unary_operator(self._raw) if get_unary_operator != NULL else 0

    @property
    def reference(self):
        return _cursor(get_referenced(self._raw))

    @property
    def referenced_kind(self):
        return get_referenced(self._raw).kind

    @property
    def referenced_identity(self):
        return <size_t>get_referenced(self._raw).data[0]

    @property
    def spot(self):
        return _spot(self._raw)


cdef Node _node(CXCursor raw):
    cdef Node node = Node.__new__(Node)
    node.kind = raw.kind
    node.children = []
    node._raw = raw
    node._type_kind = -1
    return node


cdef inline bint _is_same(CXCursor first, CXCursor second) noexcept:
    if first.kind != second.kind:
        return False
    return first.data[0] == second.data[0] if first.kind < FIRST_EXPRESSION else first.data[1] == second.data[1]


cdef class _Visit:
    cdef object error

    cdef int take(self, CXCursor child, CXCursor parent) except -1:
        raise NotImplementedError

    cdef run(self, CXCursor root):
        if visit_children == NULL:
            raise RuntimeError("no libclang is bound")
        visit_children(root, _take, <void *>self)
        if self.error is not None:
            raise self.error


cdef int _take(CXCursor child, CXCursor parent, void *data) noexcept:
    cdef _Visit visit = <_Visit>data
    try:
        return visit.take(child, parent)
    except BaseException as error:  # it must not pass through libclang
        visit.error = error
        return BREAK


cdef class _Tree(_Visit):
    cdef list stack

    cdef int take(self, CXCursor child, CXCursor parent) except -1:
        cdef int kind = child.kind
        cdef Node node, top
        if kind >= FIRST_ATTRIBUTE or (FIRST_REFERENCE <= kind <= LAST_REFERENCE and kind != MEMBER_NAME):
            return CONTINUE
        top = self.stack[len(self.stack) - 1]
        while len(self.stack) > 1 and not _is_same(top._raw, parent):
            self.stack.pop()
            top = self.stack[len(self.stack) - 1]
        node = _node(child)
        top.children.append(node)
        if FIRST_LITERAL <= kind <= LAST_LITERAL or kind == SIZEOF or kind == MEMBER_NAME:
            return CONTINUE
        self.stack.append(node)
        return RECURSE


def tree(cursor):
    """Return the syntax tree below a cursor, as ctypes_nodes.tree does."""
    cdef Node root = _node(_raw(cursor))
    cdef _Tree visit = _Tree.__new__(_Tree)
    visit.stack = [root]
    visit.run(root._raw)
    return root


def find(Node node, int kind):
    """Return the nodes of a kind below a node, and itself if it is one, in the order of the text."""
    cdef list every = [], waiting = [node]
    cdef Node each
    while waiting:
        each = waiting.pop()
        if each.kind == kind:
            every.append(each)
        waiting.extend(reversed(each.children))
    return every


cdef class _Mentions(_Visit):
    cdef set kinds, typed_kinds
    cdef dict named
    cdef list typed

    cdef int take(self, CXCursor child, CXCursor parent) except -1:
        cdef int kind = child.kind
        if kind >= FIRST_ATTRIBUTE or (FIRST_REFERENCE <= kind <= LAST_REFERENCE and kind != MEMBER_NAME):
            return CONTINUE
        if kind in self.kinds:
            identity = <size_t>get_referenced(child).data[0]
            if identity not in self.named:
                self.named[identity] = _node(child)
        elif kind in self.typed_kinds:
            self.typed.append(_node(child))
        return CONTINUE if FIRST_LITERAL <= kind <= LAST_LITERAL or kind in (SIZEOF, MEMBER_NAME) else RECURSE


def mentions(cursor, names, typed):
    """Return what is named below a cursor and which nodes have types of their own, as ctypes_nodes does."""
    cdef _Mentions visit = _Mentions.__new__(_Mentions)
    visit.kinds, visit.typed_kinds, visit.named, visit.typed = set(names), set(typed), {}, []
    visit.run(_raw(cursor))
    return visit.named, visit.typed


def skip_layers(Node node, tuple layers=LAYERS):
    """Return the expression inside of parentheses, conversions and casts, or of some of these kinds."""
    while len(node.children) == 1 and node.kind in layers:
        node = node.children[0]
    return node


cdef class _Definitions(_Visit):
    cdef list every
    cdef object is_own
    cdef dict own_files

    cdef bint is_in_own_file(self, object file) except -1:
        if file not in self.own_files:
            self.own_files[file] = self.is_own(file)
        return self.own_files[file]

    cdef int take(self, CXCursor child, CXCursor parent) except -1:
        if child.kind == VARIABLE or (child.kind == FUNCTION and is_definition(child)):
            spot = _spot(child)
            if self.is_in_own_file(spot[0]):
                self.every.append(Definition(_cursor(child), _spelling(child), *spot))
        return CONTINUE


def definitions(unit, is_own):
    """Return the functions and the variables outside of functions that a unit has of its own, as ctypes_nodes does."""
    cdef _Definitions visit = _Definitions.__new__(_Definitions)
    visit.every, visit.is_own, visit.own_files = [], is_own, {}
    visit.run(_raw(unit))
    return visit.every


def spelling(cursor):
    """Return the declared name of a cursor; empty if it has none."""
    return _spelling(_raw(cursor))


def spot(cursor):
    """Return the file of a cursor, as libclang's handle, and the line."""
    return _spot(_raw(cursor))


def move(size_t file, str name, int lines):
    """Do for `spot` and the like what libclang.move does."""
    global moved_file, moved_lines
    moved_file, moved_lines = file or 1, lines


def file_name(size_t file):
    """Return the name of a file by libclang's handle."""
    return _text(get_file_name(<void *>file))


cdef void _include(void *file, CXSourceLocation *stack, unsigned int depth, void *data) noexcept:
    (<list>data).append(<size_t>file if depth else 0)


def included_files(size_t unit):
    """Return the file of each inclusion of a unit, and 0 for its own file."""
    cdef list found = []
    visit_inclusions(<void *>unit, _include, <void *>found)
    return found


cdef class _Declarations(_Visit):
    cdef list records, typedefs, variables, functions

    cdef int take(self, CXCursor child, CXCursor parent) except -1:
        cdef int kind = child.kind
        if kind == STRUCT or kind == UNION:
            self.records.append(_cursor(child))
            return RECURSE
        if kind == TYPEDEF:
            self.typedefs.append(_cursor(child))
        elif kind == VARIABLE:
            self.variables.append(_cursor(child))
        elif kind == FUNCTION:
            self.functions.append(_cursor(child))
        return RECURSE if kind == ENUM else CONTINUE


def declarations(unit):
    """Return the structs, typedefs, variables and functions that a unit declares, also in structs."""
    cdef _Declarations visit = _Declarations.__new__(_Declarations)
    visit.records, visit.typedefs, visit.variables, visit.functions = [], [], [], []
    visit.run(_raw(unit))
    return visit.records, visit.typedefs, visit.variables, visit.functions


cdef class _Layouts(_Visit):
    cdef dict parts, used
    cdef list records, typedefs, earlier
    cdef object boundary

    cdef int take(self, CXCursor child, CXCursor parent) except -1:
        cdef int kind = child.kind
        cdef CXType ctype
        if self.boundary is not None:
            if kind == TYPEDEF:
                self.take_earlier(child)
            elif kind == STATIC_ASSERT and _spot(child)[0] == self.boundary:
                self.boundary = None
            return CONTINUE
        if kind == STRUCT or kind == UNION:
            if is_definition(child):
                ctype = get_type(child)
                head = (kind, get_size(ctype), get_align(ctype), *_spot(child))
                self.parts[<size_t>child.data[0]] = (head, [], [])
                if parent.kind == STRUCT or parent.kind == UNION:
                    (<list>(<tuple>self.parts[<size_t>parent.data[0]])[2]).append((0, <size_t>child.data[0]))
                self.records.append((_spelling(child), <size_t>child.data[0]))
            return RECURSE
        if kind == FIELD:
            self.take_field(child, parent)
        elif kind == TYPEDEF:
            self.take_typedef(child, get_type(child))
        return RECURSE if kind == ENUM else CONTINUE

    cdef int take_field(self, CXCursor child, CXCursor parent) except -1:
        cdef CXType ctype = get_canonical_type(get_type(child))
        cdef list fields
        parts = self.parts.get(<size_t>parent.data[0])
        if parts is None:
            return 0
        while FIRST_ARRAY <= ctype.kind <= LAST_ARRAY:
            ctype = get_canonical_type(get_element_type(ctype))
        fields = (<tuple>parts)[1]
        fields.append(_spelling(child))
        fields.append(get_offset(child))
        if ctype.kind == RECORD:
            (<list>(<tuple>parts)[2]).append((len(fields), self.use(get_type_declaration(ctype))))
        return 0

    cdef take_earlier(self, CXCursor typedef):
        cdef CXType canonical = _record(get_type(typedef))
        if canonical.kind == RECORD:
            self.earlier.append((<size_t>get_type_declaration(canonical).data[0], _cursor(typedef)))

    cdef take_typedef(self, CXCursor typedef, CXType ctype):
        cdef CXType canonical = _record(ctype)
        if canonical.kind == RECORD:
            identity = self.use(get_type_declaration(canonical))
            self.typedefs.append((_spelling(typedef), identity, get_size(ctype), get_align(ctype), _spot(typedef)[0]))

    cdef size_t use(self, CXCursor record) except? 0:
        cdef size_t identity = <size_t>record.data[0]
        if identity not in self.parts and identity not in self.used:
            self.used[identity] = _cursor(record)
        return identity


cdef inline CXType _record(CXType ctype):
    cdef CXType canonical = get_canonical_type(ctype)
    return get_canonical_type(get_value_type(canonical)) if canonical.kind == ATOMIC else canonical


def layouts(root, boundary):
    """Return the structs that a unit or struct defines, and the typedefs and structs that it uses, as unit_layouts.py
    has them.
    """
    cdef _Layouts visit = _Layouts.__new__(_Layouts)
    cdef CXCursor cursor = _raw(root), none
    none.kind = 0
    visit.parts, visit.records, visit.typedefs, visit.used, visit.earlier = {}, [], [], {}, []
    visit.boundary = boundary
    if cursor.kind == STRUCT or cursor.kind == UNION:
        visit.take(cursor, none)
    visit.run(cursor)
    return visit.parts, visit.records, visit.typedefs, visit.used, visit.earlier, visit.boundary is None


cdef class _NamedDeclarations(_Visit):
    cdef list records, typedefs, variables
    cdef object names, identities

    cdef int take(self, CXCursor child, CXCursor parent) except -1:
        cdef int kind = child.kind
        if kind == STRUCT or kind == UNION:
            if self.is_requested(child):
                self.records.append(_cursor(child))
            return RECURSE
        if kind == TYPEDEF:
            if _spelling(child) in self.names:
                self.typedefs.append(_cursor(child))
        elif kind == VARIABLE and get_canonical_type(get_type(child)).kind == RECORD:
            self.variables.append(_cursor(child))
        return RECURSE if kind == ENUM else CONTINUE

    cdef bint is_requested(self, CXCursor record) except -1:
        if self.identities and <size_t>get_type_declaration(get_type(record)).data[0] in self.identities:
            return True
        return _spelling(record) in self.names


def named_declarations(unit, names, identities):
    """Return the structs and typedefs of some names, and the variables that are structs.

    Structs with some identities are among them, whatever their names are.
    """
    cdef _NamedDeclarations visit = _NamedDeclarations.__new__(_NamedDeclarations)
    visit.records, visit.typedefs, visit.variables = [], [], []
    visit.names, visit.identities = names, identities
    visit.run(_raw(unit))
    return visit.records, visit.typedefs, visit.variables


cdef class _FileScope(_Visit):
    cdef dict names

    cdef int take(self, CXCursor child, CXCursor parent) except -1:
        cdef int kind = child.kind
        if FIRST_DIRECTIVE <= kind <= LAST_DIRECTIVE:
            return CONTINUE
        name = _spelling(child)
        if name:
            is_tag = kind == STRUCT or kind == UNION or kind == ENUM
            self.names.setdefault(_spot(child)[0], set()).add(f"struct {name}" if is_tag else name)
        return RECURSE if kind == ENUM else CONTINUE


def file_scope_names(unit):
    """Return the names that a unit declares outside of functions and members, by file; tags behind `struct `."""
    cdef _FileScope visit = _FileScope.__new__(_FileScope)
    visit.names = {}
    visit.run(_raw(unit))
    return visit.names


cdef class _Inclusions(_Visit):
    cdef list every

    cdef int take(self, CXCursor child, CXCursor parent) except -1:
        cdef void *file = NULL
        cdef unsigned int offset = 0
        cdef void *target
        if child.kind == INCLUSION:
            get_spot(get_location(child), &file, NULL, NULL, &offset)
            target = get_included_file(child)
            self.every.append((<size_t>file, offset, <size_t>target))
        return CONTINUE if FIRST_DIRECTIVE <= child.kind <= LAST_DIRECTIVE else BREAK


def inclusion_directives(unit):
    """Return the file and offset of each `#include` of a unit, also of a file that is not read again, and its target.

    Of a unit with a record of directives; handles of files are 0 for those that are none.
    """
    cdef _Inclusions visit = _Inclusions.__new__(_Inclusions)
    visit.every = []
    visit.run(_raw(unit))
    return visit.every


cdef tuple _place(CXSourceLocation location):
    cdef void *file = NULL
    cdef unsigned int offset = 0
    get_spot(location, &file, NULL, NULL, &offset)
    return <size_t>file, offset


def skipped_ranges(size_t unit):
    """Return the file, start and end of each text that `#if` leaves out of a unit with a record of directives.

    From the `#` of the directive that leaves it out to that of the one that ends it.
    """
    cdef list every = []
    cdef CXSourceRangeList *found = get_skipped(<void *>unit)
    cdef unsigned int at
    try:
        for at in range(found.count if found != NULL else 0):
            every.append((*_place(get_start(found.ranges[at])), _place(get_end(found.ranges[at]))[1]))
    finally:
        dispose_ranges(found)
    return every

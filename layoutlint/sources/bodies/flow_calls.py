"""Where calls, functions as values, and assembly take addresses."""

from __future__ import annotations

import re
from abc import abstractmethod
from typing import Literal

from layoutlint.model.flows import (
    MOST_TAG,
    Access,
    Address,
    Assembly,
    Call,
    Comparison,
    Convert,
    Copy,
    Fill,
    Given,
    Made,
    Move,
    Pass,
    Placed,
    Slot,
    Store,
    Term,
)
from layoutlint.readers.clang import libclang
from layoutlint.readers.clang.libclang import Cursor, Type
from layoutlint.sources.bodies import assembler, syntax
from layoutlint.sources.bodies.flow_types import FUNCTION_TYPES, INTEGERS, SCALARS
from layoutlint.sources.bodies.library_calls import FREES, LibraryCalls, makes_memory
from layoutlint.sources.bodies.text_calls import TEXT_FUNCTIONS
from layoutlint.sources.bodies.trees import Node, skip_layers

REST = -1
"""The position of the arguments without parameters."""
REST_VALUES = -2
"""The position of objects among them."""
_SIZES = {
    "memset": 2, "memcpy": 2, "memmove": 2, "memcmp": 2, "memchr": 2, "mempcpy": 2, "bcmp": 2, "bcopy": 2,
    "strncpy": 2, "strlcpy": 2, "strncat": 2, "snprintf": 1, "vsnprintf": 1, "fgets": 1,
    "memccpy": 3, "fmemopen": 1, "strncmp": 2, "strncasecmp": 2, "strnlen": 1, "strndup": 1,
}  # fmt: skip
"""The functions whose size is not the argument behind each pointer, and which argument it is."""
_COUNTED = frozenset(("fread", "fwrite"))
"""The functions that take a size and a count, of which libclang knows the types, and not `size_t`."""
_FILLS = {
    "fread": 0, "read": 1, "pread": 1, "pread64": 1, "recv": 1, "recvfrom": 1, "fgets": 0,
    "strcpy": 0, "strncpy": 0, "stpcpy": 0, "strcat": 0, "sprintf": 0, "snprintf": 0,
}  # fmt: skip
"""The functions that get bytes from elsewhere, and which argument is where they go."""
_MAPS = frozenset(("mmap", "mmap64", "shmat"))
"""The functions that return memory which others fill."""
_FIRST = frozenset((
    "memcpy", "memmove", "mempcpy", "memset", "memchr", "strcpy", "strncpy", "strcat", "strncat",
    "strchr", "strrchr", "strstr", "realloc",
))  # fmt: skip
"""The functions that return what their first argument points to, or a place in it."""
_ERRORS = frozenset((
    "PTR_ERR", "PTR_ERR_OR_ZERO", "ERR_PTR", "ERR_CAST", "IS_ERR", "IS_ERR_OR_NULL", "IS_ERR_VALUE",
))  # fmt: skip
"""Linux's functions for errors in pointers: they make no address, and lead to none."""
KNOWN_FUNCTIONS = frozenset((*FREES, *_SIZES, *_FILLS, *_FIRST, *TEXT_FUNCTIONS))
"""The functions of which it is known what they do with addresses: their own code is not looked for."""
_CONTEXTS = frozenset(("qsort_r", "qsort_s", "bsearch_s"))
"""The functions whose last argument is for the last parameter of the function that they call."""
_DISPLACEMENT = re.compile(
    r"(?<![\w$#%])-?\d+\s*(?:\(\s*%|\+\s*%)|%\d\s*\+\s*\d|%\w+\s*,\s*#?\d+\s*\]|%c(?:\d|\[\w+\])\s*\("
)
"""A number that is added to an operand: `8(%0)`, `8+%0`, `[%0, #8]`, `%c1(%0)`."""
_MEMORY = re.compile(r"[(\[]\s*%|%a\d")
"""What reads or writes where an operand leads: `(%0)`."""
_INSTRUCTION = re.compile(r"(?:(?<!\s)[;\n]?\s*+)?(?:\w++:\s*+|\.[^\n;]*+|(\w++)[^\n;]*+)")
_MOVES = re.compile(r"mov[bwlq]?|xchg[bwlq]?|cmpxchg[bwlq]?|lock|nop")
"""The instructions of x86 that do nothing else with an address in a register."""
_LISTS = (syntax.POINTER, syntax.RECORD, *syntax.ARRAYS)
"""What types a `va_list` is, by target."""
_CALLS = re.compile(r"call[lq]?")
MOST_PAIRS = 16
"""The most pairs of addresses of a comparison."""


class CallWalker(LibraryCalls):
    """Notes what calls do with addresses."""

    _truths: set[int]
    """The calls of which only whether the result is 0 counts."""
    _asm: dict[int, str] | None
    _is_hint: bool
    _cursor: Cursor
    _body: Node

    @abstractmethod
    def _value(self, node: Node) -> list[Address]:
        """Walk an expression; return the addresses that it can be."""

    @abstractmethod
    def _array_address(self, node: Node) -> list[Address]:
        """Return the addresses of an array, or in a pointer."""

    @abstractmethod
    def _address_of(self, node: Node) -> list[Address]:
        """Return the address of an lvalue."""

    @abstractmethod
    def _access(self, node: Node, addresses: list[Address], type_: Type) -> None:
        """Note a read or a write."""

    @abstractmethod
    def _pointer_terms(self, type_: Type, slot: Slot) -> list[Address]:
        """Return the addresses in a variable or a field of a type."""

    @abstractmethod
    def _move(self, slot: Slot | None, value: Node, type_: Type) -> list[Address]:
        """Note what a slot of a type gets; the value is walked. Returns the addresses that it can be."""

    def _call(self, node: Node) -> list[Address]:
        callee, *arguments = node.children
        target = self._facts.function_in(callee)
        if callee.kind == syntax.PAREN:
            self._value(callee)  # a cast of the function
        name = self._name_of_callee(callee, target)
        types = self._parameter_types(callee if target is None else target)
        values = [self._array_address(argument) for argument in arguments]
        if name.partition("@")[0] in _ERRORS:
            return []
        if name == self._function:
            self._count_recursion(name, arguments, values)
        for position, addresses in enumerate(values):
            self._pass(node, Slot("parameter", name, position), addresses, types, target)
        if target is not None and self._has_body(target):
            self._give_members(node, name, values)
        self._pass_to_functions(name, arguments, values, types)
        self._known_call(node, name, arguments, values)
        plain = name.removeprefix("__builtin_").partition("@")[0]
        if kept := self._kept_addresses(node, plain, arguments, values):
            return kept
        if plain in _FIRST and values and values[0]:
            step = self._number(arguments[2]) if plain == "mempcpy" and len(arguments) > 2 else 0
            return [each.shift(step) for each in values[0]]
        if makes_memory(plain) or plain in _MAPS:
            made = Address(Term("words", f"{name} at {self._exact_place(node)}", 0), 0)
            if plain in _MAPS and not (len(arguments) > 4 and self._number(arguments[4]) == -1):
                text = f"{name}() gets bytes from elsewhere"
                self.flows.fills.append(Fill(made, text, *self._place(node)))
            return [made]
        if not name and not self._struct_of(node):
            return []
        result = Slot("result", name, 0)
        if target is not None:
            self._note_result(node, name, target)
        return self._result_terms(node, name, result)

    def _result_terms(self, node: Node, name: str, result: Slot) -> list[Address]:
        """Return the addresses that a call returns: also the memory that the function allocates for it."""
        terms = self._pointer_terms(self._type(node), result)
        if terms and terms[0].term == result and self._type(node).kind == syntax.POINTER:
            term = Term("words", f"{name}() at {self._exact_place(node)}", 0)
            self.flows.made.append(Made(term, result))
            terms.append(Address(term, 0))
        return terms

    def _note_result(self, node: Node, name: str, target: Node) -> None:
        """Note what type another file has for the result of a function."""
        definition = self._lib.clang_getCursorDefinition(target.reference)
        if definition.kind == syntax.FUNCTION:
            return
        if struct := self._struct_of(node) or self._record(self._type(node)):
            result = Address(Slot("result", name, 0), 0)
            self.flows.conversions.append(Convert(result, struct, *self._place(node)))
            self.flows.calls.append(Call(name, result, *self._place(node)))

    def _exact_place(self, node: Node) -> str:
        """Return the file, the line and the column of an expression."""
        start = self._lib.clang_getRangeStart(self._lib.clang_getCursorExtent(node.cursor))
        column = libclang.Spot(self._lib, start).column
        return ":".join(map(str, (*self._place(node), column)))

    def _give_members(self, node: Node, name: str, values: list[list[Address]]) -> None:
        """Note the addresses of members that a call gives with a number."""
        members = [
            (Slot("parameter", name, position), each)
            for position, addresses in enumerate(values)
            for each in addresses
            if isinstance(each.term, Slot) or each.term.kind == "member"
        ]
        for position, argument in enumerate(node.children[1:]) if members else ():
            if self._type(argument).kind in INTEGERS:
                number = self._number(argument)
                count = Slot("parameter", name, position)
                place = self._place(node)
                self.flows.given += [Given(slot, count, each, number, *place) for slot, each in members]

    def _name_of_callee(self, callee: Node, target: Node | None) -> str:
        """Return the name of the function that is called, or of those in a variable; empty for others."""
        if target is None:
            slot = self._slot(self._callee(callee))
            return "" if slot is None else self._pointer_name(slot)
        return self._facts.key(target.reference)

    def _pass(
        self, node: Node, slot: Slot, addresses: list[Address], types: list[Type], target: Node | None
    ) -> None:
        """Note what an argument gives to a parameter."""
        name, position = slot.name, slot.number
        argument = node.children[1 + position]
        is_rest = position >= len(types) and not self._is_unprototyped(node.children[0])
        has_type = position < len(types)
        type_ = self._canonical(types[position]) if has_type else self._type(argument)
        if name:
            self._pass_list(slot, argument, types)
        is_elsewhere = target is not None and not self._has_body(target)
        if name and (function := self._facts.function_in(argument)) is not None:
            self._store_function(slot, function)
        if name and type_.kind in INTEGERS and not is_elsewhere:
            self._keep_offsets(slot, addresses)
            self._note_number(slot, argument, addresses)
        if name == self._function:  # how often a function calls itself is not known
            addresses = [each.shift(None if each.term == slot and each.offset else 0) for each in addresses]
        if is_rest or is_elsewhere:
            if is_rest:
                slot = slot._replace(number=REST)
                self._note_format(name, types)
            if not self._keeps_address(type_) and (own := self._record(type_)):
                addresses.append(Address(Term("struct", own, 0), 0))
                self.flows.moves.append(Move(slot._replace(number=REST_VALUES), addresses[-1]))
        is_array = type_.kind in syntax.ARRAYS and self._element(type_).kind in SCALARS
        if name and (is_rest or is_elsewhere or is_array or self._keeps_address(type_)):
            self.flows.moves += [Move(slot, each) for each in addresses]
        if name:
            self._pass_array(slot, argument)
        if target is not None and is_elsewhere:
            self.flows.calls += [Call(name, each, *self._place(node)) for each in addresses]
            self._access_elsewhere(node, target, position, addresses)
        is_untyped = self._keeps_address(type_) and self._pointee(type_).kind == syntax.VOID
        if is_untyped or name.removeprefix("__builtin_") in _SIZES:
            self._note_size(node, name, addresses, types, position)

    def _pass_list(self, slot: Slot, argument: Node, types: list[Type]) -> None:
        """Note that a function gets the arguments without parameters of the one that calls it."""
        if "va_list" in self._spelling(argument) and not self._takes_argument(argument):
            rest = Slot("parameter", self._function, REST)
            self.flows.moves.append(Move(slot._replace(number=REST), Address(rest, 0)))
            self._note_format(slot.name, types)

    def _pass_array(self, slot: Slot, argument: Node) -> None:
        """Note that a parameter gets an array of pointers, whose elements the function can change."""
        is_known = slot.name.removeprefix("__builtin_") in KNOWN_FUNCTIONS
        array = self._slot(self._callee(argument)) if self._is_array_of_pointers(argument) else None
        if not is_known and array is not None:
            self.flows.moves += [Move(slot, Address(array, 0)), Move(array, Address(slot, 0))]

    def _note_format(self, name: str, types: list[Type]) -> None:
        """Note that a function gets a text before its arguments without parameters, as printf() does."""
        if name not in self.flows.formats and any(map(self._is_text, map(self._canonical, types))):
            self.flows.formats.append(name)

    def _is_text(self, type_: Type) -> bool:
        pointee = self._pointee(type_)
        is_pointer = type_.kind == syntax.POINTER and pointee.kind in INTEGERS
        return is_pointer and int(self._lib.clang_Type_getSizeOf(pointee)) == 1

    def _elements_address(self, argument: Node) -> list[Address]:
        """Return the address of the elements of an array of pointers; none for other expressions."""
        if not self._is_array_of_pointers(argument):
            return []
        array = self._slot(self._callee(argument))
        return [] if array is None else [Address(array.address, 0)]

    def _is_array_of_pointers(self, argument: Node) -> bool:
        """Return whether an argument is an array whose elements keep addresses."""
        inner = self._callee(argument)
        type_ = self._type(inner)
        return type_.kind in syntax.ARRAYS and self._keeps_address(self._element(type_))

    def _is_unprototyped(self, callee: Node) -> bool:
        """Return whether a function is declared without its parameters: `long g();`."""
        type_ = self._canonical(self._lib.clang_getCursorType(callee.cursor))
        if type_.kind == syntax.POINTER:
            type_ = self._pointee(type_)
        return bool(type_.kind == FUNCTION_TYPES[0])

    def _spelling(self, node: Node) -> str:
        """Return the type of an expression as the text has it."""
        node = skip_layers(node)
        return self._spell(self._lib.clang_getCursorType(node.cursor))

    def _known_call(
        self, node: Node, name: str, arguments: list[Node], values: list[list[Address]]
    ) -> None:
        """Note what functions of the C library, and builtins, do to addresses."""
        plain = name.removeprefix("__builtin_")
        place = self._place(node)
        if plain.endswith(("memcpy", "memmove")):
            self._note_copy(node, values)
        if plain in ("memcmp", "bcmp") and id(node) not in self._truths and len(values) > 1:
            self.flows.comparisons += [
                Comparison(one, other, "bytes", *place)
                for one in values[0] for other in values[1]
            ][:MOST_PAIRS]  # fmt: skip
        if plain == "pthread_join" and len(values) > 1:
            result = Address(Slot("result", "*pthread_create", 0), 0)
            self.flows.stores += [Store(each, result, *place) for each in values[1]]
        if plain in ("memchr", "memrchr", "rawmemchr", "memmem", "fmemopen"):
            searched = values[0] if values else []
            self.flows.accesses += [Access(each.shift(None), 1, *place) for each in searched]
        if name.startswith(("__sync_", "__atomic_")) and arguments:
            self._access(node, values[0], self._pointee(self._type(arguments[0])))
        if plain in _FILLS and len(values) > _FILLS[plain]:
            text = f"{plain}() gets bytes from elsewhere"
            self.flows.fills += [Fill(each, text, *place) for each in values[_FILLS[plain]]]
        self._note_texts(node, plain, arguments, values)
        if plain.endswith("object_size") and len(arguments) > 1 and not (self._number(arguments[1]) or 0) & 1:
            self.flows.placed += [Placed(each, "rest", 0, *place) for each in values[0]]
        if plain in ("strcpy", "stpcpy", "strcat") and len(arguments) > 1:
            size = self._text_size(arguments[1])
            self.flows.passes += [Pass(each, size, True, *place) for each in values[0] if size]
            kind = "added" if plain == "strcat" else "copied"
            self._note_text(node, values[:1] if size else [], kind, size - 1)

    def _note_size(
        self, node: Node, name: str, addresses: list[Address], types: list[Type], position: int
    ) -> None:
        """Note the size that follows an address of no type, if it is a constant."""
        is_sized = name.removeprefix("__builtin_") in _SIZES  # builtins show no types of parameters
        place = _SIZES.get(name.removeprefix("__builtin_"), position + 1)
        arguments = node.children[1:]
        if len(arguments) <= place or (len(types) <= place and not is_sized):
            return
        if not is_sized and self._canonical(types[place]).kind not in INTEGERS:
            return
        is_size, is_count = (name in _COUNTED or self._is_size(types, at) for at in (place, place + 1))
        sizes = [self._numbers.resolve(each) for each in arguments[place : place + 1 + is_count]]
        numbers = [self._number(each) for each in sizes]  # two for fread() and qsort()
        if (number := numbers[0]) is not None:
            number *= (numbers[-1] or 1) if is_count else 1
            is_known = is_size or is_sized
            origin: Literal["number", "size", "name"]
            origin = "size" if any(map(self._has_size, sizes)) else "number"
            origin = "name" if any(map(self._is_by_name, sizes)) else origin
            self.flows.passes += [
                Pass(each, number, is_known, *self._place(node), origin) for each in addresses
            ]
        elif not is_count:
            self._count_bytes(sizes[0], addresses)

    def _is_size(self, types: list[Type], place: int) -> bool:
        """Return whether a parameter is declared as `size_t`."""
        if place >= len(types):
            return False
        return self._is_size_type(types[place])

    def _is_size_type(self, type_: Type) -> bool:
        return self._spell(type_) == "size_t"

    def _pass_to_functions(
        self, name: str, arguments: list[Node], values: list[list[Address]], types: list[Type]
    ) -> None:
        """Note that functions which are arguments get the addresses of no type that are other arguments.

        If there are as many as they have parameters, each one gets its own, as for bsearch(); otherwise
        all of their pointers get each of them, as for qsort().
        """
        pointers = [self._facts.function_in(argument) for argument in arguments]
        if not any(pointers):
            return
        kinds = [self._canonical(type_) for type_ in types]
        given = [
            [*addresses, *self._elements_address(argument)]
            for argument, addresses, type_ in zip(arguments, values, kinds, strict=False)
            if type_.kind == syntax.POINTER and self._pointee(type_).kind == syntax.VOID
        ]
        rest = [given.pop()] if name in _CONTEXTS and len(given) > 1 else []
        for position, pointer in enumerate(pointers):
            if pointer is None:
                continue
            own = [self._canonical(type_) for type_ in self._parameter_types(pointer)]
            places = [place for place, type_ in enumerate(own) if type_.kind == syntax.POINTER]
            if position < len(kinds) and (declared := self._untyped_places(kinds[position])) is not None:
                places = [place for place in places if place in declared]
            key = self._facts.key(pointer.reference)
            result = Slot("result", f"*{name}", 0)
            self.flows.moves.append(Move(result, Address(Slot("result", key, 0), 0)))
            for number, place in enumerate(places):
                some = given[number : number + 1] if len(given) == len(places) else given
                some = rest if rest and place == places[-1] else some
                for each in [address for addresses in some for address in addresses]:
                    self._give(key, place, own[place], each, pointer)
                self._note_given_texts(pointer, key, place, some)

    def _untyped_places(self, pointer: Type) -> list[int] | None:
        """Return which parameters of a pointer's functions have no type; None if it is no such pointer."""
        function = self._pointee(pointer)
        if pointer.kind != syntax.POINTER or function.kind not in FUNCTION_TYPES:
            return None
        count = max(0, self._lib.clang_getNumArgTypes(function))
        types = (self._canonical(self._lib.clang_getArgType(function, at)) for at in range(count))
        places = [at for at, type_ in enumerate(types) if not self._struct_behind(type_)]
        return places if count else None

    def _is_atomic(self, node: Node) -> bool:
        """Return whether a node is a call of an atomic builtin, which libclang does not show as a call."""
        first, second = node.children[:2]
        return self._type(first).kind == syntax.POINTER and self._type(second).kind in INTEGERS

    def _atomic(self, node: Node) -> list[Address]:
        """Return the addresses that an atomic builtin reads; note those that it writes."""
        first, *rest = node.children
        addresses = self._array_address(first)
        self._access(node, addresses, self._pointee(self._type(first)))
        target = first
        target = skip_layers(target)
        is_named = target.kind == syntax.UNARY and bool(target.children)
        slot = self._slot(target.children[0]) if is_named else None
        for child in rest:
            self._move(slot, child, self._type(child))
        return [] if slot is None else self._pointer_terms(self._type(node), slot)

    def _is_argument(self, node: Node) -> bool:
        """Return whether a node is `va_arg(list, type)`."""
        inner = skip_layers(node.children[0])
        if inner.type_kind not in _LISTS or "va_list" not in (self._struct_of(inner) or "va_list"):
            return False
        own = self._spell(self._lib.clang_getCursorType(node.cursor))
        return "va_list" in self._spelling(inner) and "va_list" not in own

    def _takes_argument(self, node: Node) -> bool:
        """Return whether an expression is `va_arg(list, type)`, maybe converted."""
        while node.kind in syntax.LAYERS and len(node.children) == 1:
            if node.kind == syntax.UNEXPOSED and self._is_argument(node):
                return True
            node = node.children[0]
        return False

    def _rest_argument(self, node: Node) -> list[Address]:
        """Return the addresses among the arguments without parameters."""
        self._value(node.children[0])
        address = Address(Slot("parameter", self._function, REST), 0)
        type_ = self._type(node)
        if struct := self._struct_behind(type_) or self._record(type_):
            self.flows.conversions.append(Convert(address, struct, *self._place(node)))
            return [Address(Term("struct", struct, 0), 0)]
        values = Address(Slot("parameter", self._function, REST_VALUES), None)
        self._access(node, [values], type_)
        return [address] if self._keeps_address(type_) or type_.kind in INTEGERS else []

    def _note_copy(self, node: Node, values: list[list[Address]]) -> None:
        """Note a copy of bytes."""
        pairs = [(target, source) for target in values[0] for source in values[1]] if len(values) > 1 else []
        self.flows.copies += [Copy(*pair, *self._place(node)) for pair in pairs[:MOST_PAIRS]]

    def _convert_function(self, node: Node, function: Node) -> None:
        """Note the structs that the parameters of a function get under another type of it."""
        type_ = self._type(node)
        if type_.kind != syntax.POINTER or self._pointee(type_).kind not in FUNCTION_TYPES:
            return
        given, own = (self._parameter_types(each) for each in (node, function))
        for types in zip(given, own, strict=False):
            names = [self._struct_behind(self._canonical(each)) or self._record(each) for each in types]
            if all(names) and names[0] != names[1]:
                address = Address(Term("struct", names[0], 0), 0)
                self.flows.conversions.append(Convert(address, names[1], *self._place(node)))

    def _store_function(self, slot: Slot, function: Node) -> None:
        """Note that a function gets what is passed through a slot."""
        key = self._facts.key(function.reference)
        for number, type_ in enumerate(self._parameter_types(function)):
            given = Address(Slot("parameter", self._pointer_name(slot), number), 0)
            self._give(key, number, self._canonical(type_), given, function)
        result = Slot("result", self._pointer_name(slot), 0)
        self.flows.moves.append(Move(result, Address(Slot("result", key, 0), 0)))

    def _give(self, key: str, number: int, type_: Type, given: Address, at: Node) -> None:
        """Note that a parameter of a type gets an address of no type."""
        if struct := self._struct_behind(type_):
            self.flows.conversions.append(Convert(given, struct, *self._place(at)))
        elif self._keeps_address(type_):
            self.flows.moves.append(Move(Slot("parameter", key, number), given))

    def _pointer_name(self, slot: Slot) -> str:
        """Return the name of the functions that a slot has the address of."""
        name = f"*{slot.kind} {slot.name} {slot.number}"
        self._pointers[name] = slot
        return name

    def _keep_offsets(self, slot: Slot, terms: list[Address]) -> None:
        """Note that a slot for an integer gets offsets of members."""
        offsets = [Move(slot, each) for each in self._offsets_in(terms)]
        self.flows.moves += offsets
        self.offset_slots |= {each.slot for each in offsets}

    def _note_number(self, slot: Slot, value: Node, terms: list[Address]) -> None:
        """Note that a slot gets an offset by name, or a number that can be one."""
        numbers = [each for each in terms if each.term.kind == "offset"] or self._literal(value)
        places = (each for each in numbers if not each.offset or each.offset > MOST_TAG)
        self.flows.numbers += [Move(slot, each) for each in places]

    def _compare(
        self,
        node: Node,
        left: list[Address],
        right: list[Address],
        kind: Literal["equality", "order", "bound"],
    ) -> None:
        """Note a comparison or a difference of addresses."""
        pairs = [(one, other) for one in left for other in right][:MOST_PAIRS]
        self.flows.comparisons += [Comparison(*pair, kind, *self._place(node)) for pair in pairs]

    def _note_computed(self, node: Node, terms: list[Address]) -> None:
        """Note that a number is made of the offset of a member, by another operation than a sum."""
        one = Address(Term("number", "", 0), 1)
        self._compare(node, self._offsets_in(terms), [one], "order")

    def _note_truth(self, node: Node) -> None:
        """Note that of an expression only whether it is 0 counts."""
        node = skip_layers(node)
        if node.kind == syntax.CALL:
            self._truths.add(id(node))
        elif not self._is_hint and (member := self._member_of_sum(node)) is not None:
            place = self._place(node)
            self.flows.placed.append(Placed(Address(Term("member", member, 0), 0), "null", 0, *place))

    def _is_same_for_both(self, node: Node) -> bool:
        """Return whether a condition asks the compiler for a constant, and both calls get one member."""
        if len(node.children) != 3 or not self._facts.asks_for_constant(skip_layers(node.children[0])):
            return False
        calls = [skip_layers(each) for each in node.children[1:]]
        members = [
            {self._member_of_sum(skip_layers(argument)) for argument in call.children[1:]} - {None}
            for call in calls
            if call.kind == syntax.CALL
        ]
        return len(members) == 2 and bool(members[0] & members[1])

    def _member_of_sum(self, node: Node) -> str | None:
        """Return the member in `&p->head`, or in an address from which its offset is subtracted."""
        while node.kind == syntax.STATEMENT_EXPRESSION and node.children and node.children[0].children:
            node = node.children[0].children[-1]
            node = skip_layers(node)
        if node.kind == syntax.BINARY and node.binary_operator == syntax.SUBTRACT:
            return self._member_of_offset(node.children[1])
        is_address = node.kind == syntax.UNARY and node.unary_operator == syntax.ADDRESS_OF
        member = node.children[0] if is_address else node
        is_behind = member.kind == syntax.MEMBER and len(member.children) == 1
        if is_address and is_behind and self._facts.is_pointer(member.children[0]):
            return self._first_own_name([member])
        return None

    def _assembly(self, node: Node) -> None:
        """Note the addresses and the objects that assembly gets."""
        template = self._templates().get(id(node), " ")
        is_displaced = _DISPLACEMENT.search(template) is not None
        instructions = {match[1] for match in _INSTRUCTION.finditer(template) if match[1]}
        calls = {each for each in instructions if _CALLS.fullmatch(each)}
        is_moved = all(_MOVES.fullmatch(each) for each in instructions - calls)
        is_used = is_displaced or not is_moved or _MEMORY.search(template) is not None
        for child in node.children:
            is_object = bool(self._record(self._type(child)))
            addresses = self._address_of(child) if is_object else self._value(child)
            if is_displaced and self._facts.is_dereference(child):
                addresses = self._value(child.children[0])
            if not is_used and not is_object:
                if calls:
                    self.flows.calls += [Call("code", each, *self._place(node)) for each in addresses]
                addresses = self._offsets_in(addresses)
            if template.strip():
                self.flows.assembly += [
                    Assembly(each, *self._place(node), is_displaced) for each in addresses
                ]

    def _templates(self) -> dict[int, str]:
        """Return the texts of the function's `asm` statements by their nodes."""
        if self._asm is None:
            matches = assembler.match(self._lib, self._cursor, self._body)
            self._asm = {node: each.template for node, each in matches.items()}
        return self._asm

"""One function body: which fields it reads, writes and locks, and what it hands to whom."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from layoutlint.model.uses import (
    GLOBAL_POINTER,
    PARAMETER,
    THREAD_VARIABLE,
    VARIABLE,
    Argument,
    Call,
    Effect,
    Function,
    Spot,
    Use,
    is_variable,
    plain_name,
)
from layoutlint.readers.clang.libclang import Cursor
from layoutlint.sources.bodies import assembler, atomic_names, syntax
from layoutlint.sources.bodies.assembler import Assembly
from layoutlint.sources.bodies.directed import Directed
from layoutlint.sources.bodies.facts import Facts, Names
from layoutlint.sources.bodies.lock_names import operation
from layoutlint.sources.bodies.places import MOST_SPOTS, NOWHERE, BytePlace, element, join, lock_place, union
from layoutlint.sources.bodies.pointers import Pointers
from layoutlint.sources.bodies.statements import is_statement
from layoutlint.sources.bodies.trees import Node, skip_layers, tree
from layoutlint.sources.whole_program.known_functions import KnownFunctions

_DEEPEST = 200
"""The most nested expressions that are followed; the stack of Python ends at about a thousand calls."""
_LONGEST_PATH = 6
_MEMORY = re.compile(r"__builtin_(?:__)?(?:mem|str|[us]?(?:add|sub|mul)(?:l|ll)?_overflow$)")
"""The builtins that do something to objects, apart from atomics, which are no calls."""
_DECISIVE = {syntax.AND: False, syntax.OR: True}
"""The value of the left operand with which the right one is not evaluated."""
_LITERALS = range(syntax.FIRST_LITERAL, syntax.LAST_LITERAL + 1)
_UNEVALUATED = re.compile(r"__builtin_(?:constant_p|(?:dynamic_)?object_size|classify_type)")


class Walker(Directed):
    """Collects the uses, calls and function addresses of one body."""

    def __init__(self, lib: Any, names: Names) -> None:
        super().__init__()
        self._lib, self._names = lib, names
        self._facts = Facts(lib, names)
        self._makers: dict[str, None] = {}
        self._returned_places: dict[Spot, None] = {}
        self._locals: dict[str, None] = {}
        self._static_structs: dict[str, None] = {}
        self._made: dict[tuple[str, str], None] = {}
        self._pointers = Pointers(self._facts, self._parameters) if names.tells_pointers else None
        self._kept_parameters: dict[tuple[int, Spot], None] = {}
        self._depth = 0
        self._body: tuple[Cursor, Node] | None = None
        self._assemblies: dict[int, Assembly] | None = None
        self._atomic_names: dict[int, str] | None = None

    def function(self, cursor: Cursor, key: str, file: str, line: int) -> Function:
        """Return the uses and calls in the body of a function definition."""
        body = tree(cursor)
        self._body = cursor, body
        self._line = line
        self._key, self._file = key, file
        if self._names.directives:
            self._find_directives(self._names.directives, *self._facts.lines(cursor))
        for node in body.children:
            if node.kind == syntax.PARAMETER:
                self._parameters[node.identity] = len(self._parameters)
            elif node.kind == syntax.COMPOUND:
                self._statement(node, 1.0)
        return self._result(key, file, line)

    def initializer(self, cursor: Cursor) -> dict[tuple[str, Spot | None], None]:
        """Return the functions that the initialiser of a variable stores, with the fields."""
        spot = Spot("", self._facts.variable_key(cursor))
        for node in tree(cursor).children:
            if node.kind == syntax.INIT_LIST or self._facts.function_in(node) is not None:
                self._initial_value(node, 1.0, spot)
            else:
                self._value(node, 1.0)
        return self._targets

    @property
    def callees(self) -> dict[int, Cursor]:
        """The declarations of functions that are called or whose address is taken, by identity."""
        return self._facts.callees

    def _result(self, key: str, file: str, line: int) -> Function:
        uses = tuple(
            Use(spot, effect, weight, in_loop > 0, maker, int(first), locks, int(moment))
            for (spot, effect, maker, locks), (weight, in_loop, first, moment) in self._uses.items()
        )
        targets = tuple(self._targets)
        return Function(
            key, file, line, uses, tuple(self._calls), targets, tuple(self._makers), tuple(self._locals),
            tuple(self._made), tuple(self._static_structs), self._regions.kept, tuple(self._kept_parameters),
        )  # fmt: skip

    # -- statements

    def _begin_loop(self) -> int:
        if self._pointers is not None:
            self._pointers.enter_loop()
        return len(self._calls)

    def _end_loop(self, calls: int, is_counted: bool) -> None:
        """End a loop, before which there were some calls: what an endless one does is behind all of its."""
        if self._pointers is not None:
            self._pointers.leave_loop()
            if not is_counted and calls < len(self._calls):
                for entry in self._uses.values():
                    if entry[3] >= calls:
                        entry[3] = len(self._calls)

    def _operands(self, node: Node, weight: float) -> None:
        if self._assemblies is None:
            self._assemblies = assembler.match(self._lib, *self._body) if self._body is not None else {}
        assembly = self._assemblies.get(id(node))
        for number, child in enumerate(node.children):
            self._operand(child, weight, (Effect.ADDRESS,) if assembly is None else assembly.effects(number))

    def _return_value(self, node: Node, weight: float) -> None:
        if not self._facts.is_pointer(node):
            self._value(node, weight)
            return
        place = self._pointer(node, weight)
        self._returned_places |= dict.fromkeys(place.spots)
        if place.maker:
            self._makers[place.maker] = None

    def _declare(self, variable: Node, weight: float) -> None:
        struct = self._facts.variable_struct(variable)
        if self._private is not None:
            self._private.add(variable.identity)
        if struct:
            if not self._is_static(variable.cursor):
                self._locals[struct] = None
            elif not self._facts.is_per_cpu(variable.cursor):
                self._static_structs[struct] = None
        initial = self._facts.initial_value(variable)
        for size in self._facts.array_sizes(variable, initial):
            self._value(size, weight)
        if initial is None:
            return
        locks = len(self._regions.locks)
        if self._facts.is_pointer(variable):
            if self._pointers is not None:
                self._pointers.assign(variable.identity, initial)
            place = self._pointer(initial, weight)
            if not self._facts.is_zero(initial):
                self._pointees[variable.identity] = place
            self._note_made(variable.cursor, place)
        elif initial.kind == syntax.INIT_LIST and self._is_static(variable.cursor):
            self._fill(initial, weight, Spot("", self._facts.variable_key(variable.cursor)))
        else:
            self._value(initial, weight)
        if len(self._regions.locks) > locks and self._facts.has_cleanup(variable.cursor):
            self._regions.guard()

    def _is_static(self, variable: Cursor) -> bool:
        return bool(self._lib.clang_Cursor_getStorageClass(variable) == syntax.STATIC)

    def _note_made(self, pointer: Cursor, place: BytePlace) -> None:
        if place.maker and not is_variable(place.maker):
            type_ = self._lib.clang_getCanonicalType(self._lib.clang_getCursorType(pointer))
            struct = self._facts.struct(self._lib.clang_getPointeeType(type_))
            if struct:
                self._made[place.maker, struct] = None

    # -- values

    def _value(self, node: Node, weight: float) -> None:
        """Walk an expression whose value is used, or dropped."""
        node = skip_layers(node)
        if node.kind in _LITERALS:
            return
        self._depth += 1
        if self._depth <= _DEEPEST:
            walk = _VALUES.get(node.kind)
            if walk is not None:
                walk(self, node, weight)
            else:
                for child in node.children:
                    self._statement(child, weight) if is_statement(child) else self._value(child, weight)
        self._depth -= 1

    def _object(self, node: Node, weight: float) -> None:
        place = self._lvalue(node, weight)
        if not self._facts.is_array(node):
            self._record(place, Effect.READ, weight)

    def _builtin_or_value(self, node: Node, weight: float) -> None:
        operands = self._facts.short_conditional(node)
        if operands is not None:
            self._value(operands[0], weight)
            self._value(operands[1], weight * (1 - self._facts.likelihood(operands[0])))
        elif len(node.children) > 1:
            self._builtin(node, weight)
        else:
            self._cast(node, weight)

    def _compound_assignment(self, node: Node, weight: float) -> None:
        self._change(node.children[0], weight)
        for child in node.children[1:]:
            self._value(child, weight)

    def _change(self, node: Node, weight: float) -> None:
        """Walk an object that is read and written, as by `+=`."""
        place = self._lvalue(node, weight)
        if self._is_at_once or self._facts.is_atomic(node):
            self._record(place, Effect.ATOMIC, weight)
        else:
            self._record(place, Effect.READ, weight)
            self._record(place, self._store(node), weight)

    def _store(self, node: Node) -> Effect:
        """Return the effect of a store to an object."""
        if self._is_at_once or self._facts.is_atomic(node) or self._facts.is_volatile_access(node):
            return Effect.SHARED_STORE
        is_volatile = self._pointers is not None and self._facts.is_volatile_member(node)
        return Effect.VOLATILE_STORE if is_volatile else Effect.WRITE

    def _generic(self, node: Node, weight: float) -> None:
        selected = self._facts.selection(node)
        for child in node.children[1:] if selected is None else (selected,):
            self._value(child, weight)

    def _cast(self, node: Node, weight: float) -> None:
        for child in node.children[-1:]:
            self._value(child, weight)

    def _choose(self, node: Node, weight: float) -> None:
        self._branch(node, weight, self._value)

    def _name(self, node: Node, weight: float) -> None:
        self._refer(node, None)

    def _binary(self, node: Node, weight: float) -> None:
        if len(node.children) != 2:
            return
        left, right = node.children
        if node.binary_operator != syntax.ASSIGN:
            self._value(left, weight)
            decisive = _DECISIVE.get(node.binary_operator)
            if decisive is None or self._facts.truth(left) is not decisive:
                self._value(right, weight)
            return
        variable = self._facts.variable(left)
        if variable is not None and self._facts.is_pointer(left):
            pointee = self._pointer(right, weight)
            if self._pointers is not None:
                self._pointers.assign(variable, right)
            self._note_made(left.cursor, pointee)
            before = self._pointees.get(variable)
            if not self._facts.is_zero(right):
                self._pointees[variable] = pointee if before is None else union(before, pointee)
            return
        place = self._lvalue(left, weight)
        self._record(place, self._store(left), weight)
        self._regions.store(place.spots)
        target = self._facts.function_in(right)
        if target is not None:
            self._refer(target, place.spots[0] if place.spots else None)
            if self._pointers is not None and not place.spots:
                self._refer(target, self._pointers.source(left))
        elif self._facts.is_pointer(left):
            stored = self._pointer(right, weight)
            self._keep_parameter(right, place.spots[0] if place.spots else None)
            self._note_made(left.cursor, stored)
            self._record(stored, Effect.ADDRESS, weight)
        else:
            self._value(right, weight)

    def _keep_parameter(self, value: Node, spot: Spot | None) -> None:
        """Record that a field, or a variable, gets a value if that is the one of a parameter."""
        position = None if self._pointers is None or spot is None else self._pointers.parameter(value)
        if position is not None and spot is not None:
            self._kept_parameters[position, spot] = None

    def _unary(self, node: Node, weight: float) -> None:
        operator = node.unary_operator
        if operator in syntax.INCREMENTS:
            self._change(node.children[0], weight)
            self._move(node.children[0])
        elif operator == syntax.ADDRESS_OF:
            self._lvalue(node.children[0], weight)
        elif operator == syntax.DEREFERENCE:
            self._object(node, weight)
        else:
            for child in node.children:
                self._value(child, weight)

    def _move(self, pointer: Node) -> None:
        """Make a pointer point to another element of what it pointed into."""
        variable = self._facts.variable(pointer) if self._facts.is_pointer(pointer) else None
        if variable is not None and (variable in self._pointees or variable in self._parameters):
            self._pointees[variable] = element(self._pointee(pointer))
        if variable is not None and self._pointers is not None:
            self._pointers.assign(variable, None)

    def _builtin(self, node: Node, weight: float) -> None:
        """Walk an atomic operation: libclang shows its operands alone, the address first."""
        effects = self._builtin_effects(node)
        for number, child in enumerate(node.children):
            if number == 0 or (number in effects and self._facts.is_pointer(child)):
                place = self._pointer(child, weight)
                for effect in effects[number]:
                    self._record(place, effect, weight)
            else:
                self._value(child, weight)

    def _builtin_effects(self, node: Node) -> dict[int, tuple[Effect, ...]]:
        """Return what an atomic operation does to what its operands point to: address, order, then values."""
        number = len(node.children)
        if node.type_kind != syntax.VOID:
            if number == 2:
                return {0: (Effect.READ,)}
            # compare and exchange: the expected value gets the present one
            return {0: (Effect.ATOMIC,), **({2: (Effect.READ, Effect.WRITE)} if number > 4 else {})}
        if number == 2:
            return {0: (Effect.WRITE,)}  # atomic_init
        if number > 3:
            return {0: (Effect.ATOMIC,), 2: (Effect.READ,), 3: (Effect.WRITE,)}
        if self._atomic_names is None:
            self._atomic_names = atomic_names.match(self._lib, *self._body) if self._body else {}
        name = self._atomic_names.get(id(node), "")
        if name.endswith("_load"):
            return {0: (Effect.READ,), 2: (Effect.WRITE,)}
        # a generic store has the address of the value
        is_generic = name.endswith("_store") and "c11" not in name
        return {0: (Effect.SHARED_STORE,), **({2: (Effect.READ,)} if is_generic else {})}

    def _operand(self, node: Node, weight: float, effects: tuple[Effect, ...]) -> None:
        """Walk an operand of `asm`: an object that it can write, or a value."""
        inner = node
        while inner.kind == syntax.PAREN and inner.children:
            inner = inner.children[0]
        if inner.kind in (syntax.MEMBER, syntax.SUBSCRIPT) or self._facts.is_dereference(inner):
            place = self._lvalue(inner, weight)
            for effect in effects:
                self._record(place, effect, weight)
        elif self._facts.is_pointer(inner):
            self._record(self._pointer(inner, weight), Effect.ADDRESS, weight)
        else:
            self._value(inner, weight)

    def _fill(self, node: Node, weight: float, around: Spot | None = None) -> None:
        """Walk a list of initial values, which can store functions in fields; `around` is the object."""
        fields = self._facts.initialised_fields(node)
        following = 0
        for child in node.children:
            names = [each for each in child.children[:-1] if each.kind == syntax.MEMBER_NAME]
            value, spot = child, around
            if names and child.kind == syntax.UNEXPOSED:
                value = child.children[-1]
                for name in names:
                    spot = self._spot_of(self._facts.field(name), spot)
                following = self._facts.place_in(fields, names[0]) + 1
            elif fields is not None:
                field = fields[following] if following < len(fields) else None
                if field is None or self._facts.lacks_braces(field, value):
                    fields, spot = [], None
                else:
                    spot = self._spot_of(self._facts.declared_field(field), around)
                following += 1
            self._initial_value(value, weight, spot)

    def _literal(self, node: Node, weight: float) -> None:
        for child in node.children:
            self._initial_value(child, weight, None)

    def _spot_of(self, field: tuple[str, str] | None, around: Spot | None) -> Spot | None:
        """Return a field as its uses name it: by its own struct, if that has a name."""
        if field is None or not field[1]:
            return around
        if field[0]:
            return Spot(*field)
        return None if around is None else Spot(around.root, join(around.path, field[1]))

    def _initial_value(self, value: Node, weight: float, spot: Spot | None) -> None:
        target = self._facts.function_in(value)
        inner = skip_layers(value, syntax.VALUE_LAYERS)
        if target is not None:
            self._refer(target, spot)
        elif inner.kind == syntax.INIT_LIST:
            self._fill(inner, weight, spot)
        elif self._facts.is_pointer(value):
            self._record(self._pointer(value, weight), Effect.ADDRESS, weight)
            self._keep_parameter(value, spot)
        else:
            self._value(value, weight)

    # -- places

    def _lvalue(self, node: Node, weight: float) -> BytePlace:
        """Return what an lvalue denotes; walk the expressions that its address needs."""
        self._depth += 1
        try:
            return self._walk_lvalue(node, weight) if self._depth <= _DEEPEST else NOWHERE
        finally:
            self._depth -= 1

    def _walk_lvalue(self, node: Node, weight: float) -> BytePlace:
        kind = node.kind
        if kind == syntax.MEMBER:
            return self._member(node, weight)
        if kind == syntax.SUBSCRIPT and len(node.children) == 2:
            self._value(node.children[1], weight)
            base = node.children[0]
            place = self._pointer(base, weight)
            return place if self._facts.is_member_array(base) else element(place)
        if self._facts.is_dereference(node):
            return self._pointer(node.children[0], weight)
        selected = self._facts.selection(node) if kind == syntax.GENERIC else None
        if selected is not None:
            return self._lvalue(selected, weight)
        if kind in (syntax.PAREN, syntax.UNEXPOSED) and node.children:
            return self._lvalue(node.children[-1], weight)
        if kind == syntax.DECL_REF:
            variable = self._facts.variable(node)
            if variable is not None:
                return BytePlace((), "", self._is_local(variable))
            name = self._facts.shared_variable(node)
            return BytePlace(
                (), name if name[:1] == THREAD_VARIABLE else name.replace(GLOBAL_POINTER, VARIABLE)
            )
        if kind == syntax.CONDITIONAL and len(node.children) == 3:
            self._value(node.children[0], weight)
            return union(self._lvalue(node.children[1], weight), self._lvalue(node.children[2], weight))
        if kind == syntax.STATEMENT_EXPRESSION:
            return self._last(node, weight, self._lvalue)
        self._value(node, weight)
        return NOWHERE

    def _last(self, node: Node, weight: float, walk: Callable[[Node, float], BytePlace]) -> BytePlace:
        """Walk a statement expression; its value is that of its last statement."""
        statements = node.children[0].children if node.children else []
        for child in statements[:-1]:
            self._statement(child, weight)
        return walk(statements[-1], weight) if statements else NOWHERE

    def _member(self, node: Node, weight: float) -> BytePlace:
        if not node.children:
            return NOWHERE
        base = node.children[0]
        field = self._facts.field(node)
        is_arrow = self._facts.is_pointer(base)
        around = self._pointer(base, weight) if is_arrow else self._lvalue(base, weight)
        if field is None:
            return around
        struct, name = field
        spots = [*around.spots]
        if name:
            spots = [Spot(spot.root, join(spot.path, name)) for spot in spots]
        own = Spot(struct, name)
        if struct and own not in spots and not around.is_local:
            spots.insert(0, own)
        kept = tuple(spot for spot in spots if spot.path.count(".") < _LONGEST_PATH)[:MOST_SPOTS]
        return BytePlace(kept, around.maker, around.is_local and not is_arrow)

    def _pointer(self, node: Node, weight: float) -> BytePlace:
        """Return what the value of a pointer expression points to; walk the expression."""
        self._depth += 1
        try:
            return self._walk_pointer(node, weight) if self._depth <= _DEEPEST else NOWHERE
        finally:
            self._depth -= 1

    def _walk_pointer(self, node: Node, weight: float) -> BytePlace:
        kind = node.kind
        if kind == syntax.UNARY:
            operator = node.unary_operator
            if operator == syntax.ADDRESS_OF:
                return self._lvalue(node.children[0], weight)
            if operator in syntax.INCREMENTS:
                self._unary(node, weight)
                variable = self._facts.variable(node.children[0])
                return self._pointees.get(variable, NOWHERE) if variable is not None else NOWHERE
        if kind in syntax.LAYERS and node.children:
            return self._layers(node, weight)
        if kind == syntax.DECL_REF:
            return self._pointee(node)
        selected = self._facts.selection(node) if kind == syntax.GENERIC else None
        if selected is not None:
            return self._pointer(selected, weight)
        if kind == syntax.CONDITIONAL and len(node.children) == 3:
            self._value(node.children[0], weight)
            return union(self._pointer(node.children[1], weight), self._pointer(node.children[2], weight))
        if kind == syntax.STATEMENT_EXPRESSION:
            return self._last(node, weight, self._pointer)
        if kind == syntax.BINARY and len(node.children) == 2:
            return self._arithmetic(node, weight)
        if kind == syntax.CALL:
            return self._call(node, weight)
        self._value(node, weight)
        return NOWHERE

    def _layers(self, node: Node, weight: float) -> BytePlace:
        """Walk a pointer in parentheses, a conversion or a cast, `a ?: b`, or an atomic operation."""
        if (operands := self._facts.short_conditional(node)) is not None:
            return union(*(self._pointer(each, weight) for each in operands))
        if node.kind == syntax.UNEXPOSED and len(node.children) > 1:
            self._builtin(node, weight)
            return NOWHERE
        inner = node.children[-1]
        is_array = self._facts.is_array(inner) and not self._facts.is_parameter(inner)
        place = self._lvalue(inner, weight) if is_array else self._pointer(inner, weight)
        is_other = node.kind == syntax.CAST and self._facts.is_other_struct(node, inner)
        return BytePlace((), place.maker) if is_other else place

    def _arithmetic(self, node: Node, weight: float) -> BytePlace:
        operator = node.binary_operator
        left, right = node.children
        if operator == syntax.ASSIGN:
            self._binary(node, weight)
            variable = self._facts.variable(left)
            return self._pointees.get(variable, NOWHERE) if variable is not None else NOWHERE
        if operator == syntax.COMMA:
            self._value(left, weight)
            return self._pointer(right, weight)
        self._value(right, weight)
        place = element(self._pointer(left, weight))
        # container_of subtracts: what is around a field is not known by it.
        return BytePlace((), place.maker) if operator == syntax.SUBTRACT else place

    def _pointee(self, node: Node) -> BytePlace:
        self._refer(node, None)
        identity = node.referenced_identity
        if identity in self._pointees:
            return self._pointees[identity]
        if identity in self._parameters:
            position = self._parameters[identity]
            return BytePlace((Spot(position, ""),), f"{PARAMETER}{position}")
        return BytePlace((), self._facts.shared_variable(node))

    # -- calls

    def _call(self, node: Node, weight: float) -> BytePlace:
        """Walk a call; return what its result points to, with the key of the function as the maker."""
        if not node.children:
            return NOWHERE
        callee, *arguments = node.children
        name, through = self._callee(callee, weight)
        is_builtin = name.startswith("__builtin_")
        if is_builtin and _UNEVALUATED.fullmatch(name):
            return NOWHERE
        what = operation(plain_name(name)) if name else None
        places: list[tuple[int, Spot, str]] = []
        first: BytePlace | None = None
        makers: list[tuple[int, str]] = []
        pointers: list[Argument] = []
        for position, argument in enumerate(arguments):
            target = self._facts.function_in(argument)
            is_pointer = target is not None or argument.type_kind == syntax.POINTER
            if is_pointer and self._pointers is not None and what is None and not is_builtin:
                pointer = self._pointers.argument(position, argument)
                pointers += () if pointer is None else (pointer,)
            if target is not None:
                self._refer(target, None)
            elif self._facts.is_pointer(argument) or self._facts.is_array(argument):
                place = self._pointer(argument, weight)
                if place.spots and position >= self._facts.named_arguments(callee):  # behind `...`
                    self._record(place, Effect.ADDRESS, weight)
                places += [(position, spot, place.maker) for spot in place.spots]
                if place.maker[:1] in (GLOBAL_POINTER, THREAD_VARIABLE) and place.maker:
                    makers.append((position, place.maker))
                if what is not None and first is None:
                    first = lock_place(argument, place, self._facts)
            else:
                self._value(argument, weight)
        if not is_builtin or _MEMORY.match(name):
            locks = self._regions.held or ()
            kept = tuple(places), locks, tuple(makers), tuple(pointers)
            self._calls.append(Call(name, through, weight, *kept))
        if what is not None:
            self._regions.call(id(node), name, what, (first or NOWHERE).spots)
        return BytePlace(self._returned_spots(node, callee, places), name)

    def _returned_spots(
        self, call: Node, callee: Node, places: list[tuple[int, Spot, str]]
    ) -> tuple[Spot, ...]:
        """Return the fields to whose addresses a call leads: the function returns them, and is short."""
        target = self._facts.function_in(callee)
        if target is None or not self._facts.is_pointer(call):
            return ()
        spots = dict[Spot, None]()
        for spot in self._facts.returned_spots(target.reference, self._spots_that_it_returns):
            if isinstance(spot.root, str):
                spots[spot] = None
            for position, own, _ in places:
                if spot.root == position:
                    spots[Spot(own.root, join(own.path, spot.path) if spot.path else own.path)] = None
        return tuple(spots)[:MOST_SPOTS]

    def _spots_that_it_returns(self, function: Cursor) -> tuple[Spot, ...]:
        """Return the fields whose addresses a function returns, by its parameters too."""
        walker = Walker(self._lib, self._names)
        walker.function(function, "", "", 0)
        return tuple(walker._returned_places)[:MOST_SPOTS]

    def _callee(self, node: Node, weight: float) -> tuple[str, Spot | None]:
        target = self._facts.function_in(node)
        if target is not None:
            key = self._facts.named_key(target)
            if _writes_by_name(plain_name(key)):
                self._facts.note_constants(target, key)
            return key, None
        inner = node
        while inner.children and inner.kind in (syntax.PAREN, syntax.UNEXPOSED, syntax.UNARY):
            inner = inner.children[-1]
        if inner.kind == syntax.MEMBER:
            place = self._lvalue(inner, weight)
            self._record(place, Effect.READ, weight)
            return "", place.spots[0] if place.spots else None
        self._value(inner, weight)
        return "", None if self._pointers is None else self._pointers.source(inner)

    def _refer(self, node: Node, stored_in: Spot | None) -> None:
        if node.referenced_kind == syntax.FUNCTION:
            key = self._facts.named_key(node)
            self._targets[key, stored_in] = None
            if stored_in is not None and not stored_in.root:  # what is in a variable can be called anywhere
                self._targets[key, None] = None

    # -- records

    def _record(self, place: BytePlace, effect: Effect, weight: float) -> None:
        locks = self._regions.held or ()
        for spot in place.spots:
            key = spot, effect, place.maker, locks
            entry = self._uses.setdefault(key, [0.0, 0, self._line, 0])
            entry[0] += weight
            entry[1] += self._loops > 0
            entry[3] = len(self._calls)


@lru_cache(1 << 14)
def _writes_by_name(name: str) -> bool:
    """Return whether the table of known functions has a function among those that write."""
    known = _KNOWN.find(name)
    return known is not None and known.effect is not None and known.effect.writes


_KNOWN = KnownFunctions()
_Walk = Callable[[Walker, Node, float], object]
_VALUES: dict[int, _Walk] = {
    syntax.MEMBER: Walker._object,
    syntax.SUBSCRIPT: Walker._object,
    syntax.UNEXPOSED: Walker._builtin_or_value,
    syntax.BINARY: Walker._binary,
    syntax.COMPOUND_ASSIGNMENT: Walker._compound_assignment,
    syntax.UNARY: Walker._unary,
    syntax.CALL: Walker._call,
    syntax.CONDITIONAL: Walker._choose,
    syntax.DECL_REF: Walker._name,
    syntax.STATEMENT_EXPRESSION: Walker._statements,
    syntax.INIT_LIST: Walker._fill,
    syntax.COMPOUND_LITERAL: Walker._literal,
    syntax.CAST: Walker._cast,
    syntax.GENERIC: Walker._generic,
}

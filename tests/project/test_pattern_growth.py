"""Every pattern over C text takes time that grows as the text does: on the texts that are the worst for it."""

from __future__ import annotations

import ast
import importlib
import pkgutil
import re
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache
from itertools import islice, repeat
from pathlib import Path
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from time import process_time
from types import ModuleType
from typing import Any, NamedTuple

import pytest

from layoutlint import api
from layoutlint.model.record import replace
from tests.harness.command import ROOT

PACKAGES = (
    "layoutlint.sources.order_uses",
    "layoutlint.sources.source_uses",
    "layoutlint.sources.allocations",
    "layoutlint.sources.bodies",
    "layoutlint.readers.c_tokens",
    "layoutlint.readers.clang.text_search",
    "layoutlint.sources.c_text",
    "layoutlint.sources.whole_program",
    "layoutlint.inference",
)
SCAN, SUBJECT = f"{PACKAGES[0]}.scan", f"{PACKAGES[0]}.subject"

BOUNDED: dict[str, tuple[int, str]] = {
    "sources.order_uses.code._NAME": (200, "declared_name cuts the declaration: _LONGEST_NAME"),
    "sources.source_uses.field_uses._BEFORE": (120, "_receivers_of_changes searches from _FAR before a field"),
    "sources.bodies.lock_names._TAKE": (1000, "operation asks about no name longer than _LONGEST"),
    "sources.bodies.lock_names._RELEASE": (1000, "operation asks about no name longer than _LONGEST"),
    "readers.clang.text_search._NO_NAMES": (401, "_names gets what _TYPEDEF, _CLOSES or _DECLARATORS matched"),
}
MOST_SCANS = 100
CHARACTER = re.compile(r"\w|\W")
"""Patterns that see no more than some characters, by name: how many, and who cuts the text."""

TYPE = r"(?:struct\s+ring\b|\b(?:ring_t|Ring)\b)"
"""What `Subject.type_pattern` returns for a struct with typedefs."""
VALUES = {"type_pattern": TYPE, "member_pattern": "(?:head|tail)"}
"""What stands for an attribute in a pattern that a function builds; a name stands for all others."""
METHODS = ("search", "match", "fullmatch", "finditer", "findall", "sub", "subn", "split")
ALPHABET = " a0\n_()[]{}*,;=.:#\\\"'/<>+-&|!%A\x01\xe9"
FIXED = (
    " ", "(", ")", "*", "a", "\n", "struct ", "/*", '"', "'", "{", ", ", "[", "0", "_", "\\", "(a", "a(", "a[", "a ",
    ".a", "->a", "a=", "const ", "union {", "__a ", "(*a)", "struct ring *", "(struct ring *)",
)  # fmt: skip
TOKEN, TOKEN_OF_BYTES = re.compile(r"\w+|[^\w\s]"), re.compile(rb"\w+|[^\w\s]")
STEPS = (16, 24, 36, 60)
SHORT, LONG = 400, 1600
SLOW = 0.00015
"""Seconds that a text of `LONG` characters may take without a closer look."""
HOPELESS = 0.05
"""Seconds that a text of `SHORT` characters may take at most."""
LONGEST_BEGINNING = 60


class Text(NamedTuple):
    """A text that can grow."""

    before: str
    unit: str
    behind: str

    def repeat(self, count: int) -> str:
        return self.before + self.unit * count + self.behind

    def with_length(self, length: int) -> str:
        return self.repeat(max(1, length // len(self.unit)))


class Searched(NamedTuple):
    """A pattern, and the ways in which the code uses it."""

    name: str
    pattern: re.Pattern[str] | re.Pattern[bytes]
    ways: frozenset[str]


# what a pattern matches


def accepts(items: Iterable[tuple[object, object]], char: str) -> bool:
    """Return whether a set of characters has one."""
    is_negated, is_inside = False, False
    for kind, value in items:
        if kind is op.NEGATE:
            is_negated = True
        elif kind is op.LITERAL:
            is_inside |= ord(char) == value
        elif kind is op.RANGE:
            is_inside |= value[0] <= ord(char) <= value[1]
        elif kind is op.CATEGORY:
            is_inside |= is_in(value, char)
    return is_inside != is_negated


CATEGORIES = {
    op.CATEGORY_DIGIT: r"\d", op.CATEGORY_NOT_DIGIT: r"\D", op.CATEGORY_SPACE: r"\s",
    op.CATEGORY_NOT_SPACE: r"\S", op.CATEGORY_WORD: r"\w", op.CATEGORY_NOT_WORD: r"\W",
}  # fmt: skip


@cache
def is_in(category: object, char: str) -> bool:
    """Return whether a category has a character."""
    return re.match(CATEGORIES[category], char) is not None


REPEATS = (op.MAX_REPEAT, op.MIN_REPEAT, op.POSSESSIVE_REPEAT)


def characters(node: tuple[object, object]) -> str:
    """Return the characters of the alphabet, and those of the pattern, that a node for one character matches."""
    kind, value = node
    if kind is op.LITERAL:
        return chr(value)
    if kind is op.NOT_LITERAL:
        return "".join(char for char in ALPHABET if ord(char) != value)
    if kind is op.ANY:
        return ALPHABET
    if kind is op.IN:
        own = "".join(chr(each) for sort, each in value if sort is op.LITERAL) if value[0][0] is not op.NEGATE else ""
        own += "".join(chr(each[0]) for sort, each in value if sort is op.RANGE)
        return "".join(dict.fromkeys(char for char in ALPHABET + own if accepts(value, char)))
    return ""


def first_characters(nodes: Iterable[tuple[object, object]]) -> str:
    """Return the characters with which a sequence can begin."""
    found = ""
    for node in nodes:
        kind, value = node
        if kind in REPEATS:
            found += first_characters(value[2])
            if value[0]:
                return found
        elif kind is op.SUBPATTERN:
            return found + first_characters(value[3])
        elif kind is op.ATOMIC_GROUP:
            return found + first_characters(value)
        elif kind is op.BRANCH:
            return found + "".join(map(first_characters, value[1]))
        elif kind not in (op.AT, op.ASSERT, op.ASSERT_NOT):
            return found + characters(node)
    return found


def sample(nodes: Iterable[tuple[object, object]], is_full: bool) -> str:
    """Return a text that a sequence matches, by its first alternatives; with all that is optional if full."""
    parts: list[str] = []
    for node in nodes:
        kind, value = node
        if kind in REPEATS:
            parts.append(sample(value[2], is_full) * max(value[0], int(is_full)))
        elif kind is op.SUBPATTERN:
            parts.append(sample(value[3], is_full))
        elif kind is op.ATOMIC_GROUP:
            parts.append(sample(value, is_full))
        elif kind is op.BRANCH:
            parts.append(sample(value[1][0], is_full))
        elif kind is op.ASSERT and value[0] < 0:
            continue
        elif characters(node):
            parts.append(visible(characters(node)))
    return "".join(parts)


def visible(chars: str) -> str:
    """Return the character that stands for a set: a letter, else a space, else the first."""
    return next((char for char in "a 0" if char in chars), chars[0])


def units(body: list[tuple[object, object]], follow: str) -> Iterator[str]:
    """Yield what can be repeated for the body of a repeat: first what can also follow it."""
    single = characters(body[0]) if len(body) == 1 else ""
    if single:
        common = [char for char in single if char in follow]
        yield from islice(dict.fromkeys((*common, *(char for char in " a\n0(*" if char in single), single[0])), 6)
        return
    for is_full in (False, True):
        yield sample(body, is_full)
    for node in body:
        if node[0] is op.SUBPATTERN and len(body) == 1:
            yield from units(list(node[1][3]), follow)
        elif node[0] is op.BRANCH:
            for each in node[1][1]:
                yield from units(list(each), follow)
        elif node[0] in REPEATS:
            yield from (unit for unit in islice(units(list(node[1][2]), follow), 2))


def beginnings(nodes: Iterable[tuple[object, object]], before: str, is_full: bool) -> Iterator[tuple[str, str]]:
    """Yield what can stand before each element of a sequence, and a unit of it if it is a repeat."""
    nodes = list(nodes)
    for place, node in enumerate(nodes):
        kind, value = node
        is_in_word = kind is op.LITERAL and place and nodes[place - 1][0] is op.LITERAL
        if before and not is_in_word:
            yield before, ""
        if kind in REPEATS:
            if value[1] > 8:
                follow = first_characters(nodes[place + 1 :])
                yield from ((before, unit) for unit in units(list(value[2]), follow) if unit)
            yield from beginnings(value[2], before, is_full)
        elif kind is op.SUBPATTERN:
            yield from beginnings(value[3], before, is_full)
        elif kind is op.ATOMIC_GROUP:
            yield from beginnings(value, before, is_full)
        elif kind is op.BRANCH:
            for each in value[1]:
                yield from beginnings(each, before, is_full)
        elif kind in (op.ASSERT, op.ASSERT_NOT) and value[0] > 0:
            yield from beginnings(value[1], before, is_full)
        before += sample([node], is_full)
        if len(before) > LONGEST_BEGINNING:
            return
    if before:
        yield before, ""


def worst_texts(pattern: re.Pattern[str] | re.Pattern[bytes]) -> list[Text]:
    """Return texts on which the searches for a pattern begin often and go far, and fail."""
    parsed = parser.parse(pattern.pattern, pattern.flags)
    texts: dict[Text, None] = {}
    for is_full in (False, True):
        for before, unit in beginnings(parsed, "", is_full):
            if unit:
                rows = [Text(before, unit, ""), Text(before, unit, "\x01;"), Text("", before + unit, "\x01;")]
            else:
                gap = "\n" if pattern.flags & re.MULTILINE else " "
                rows = [Text("", before, ""), Text("", before, "\x01"), Text("", f"{before}{gap}", "\x01;")]
            texts |= dict.fromkeys(rows)
    texts |= {Text("", unit, "\x01"): None for unit in FIXED}
    return list(texts)


def longest_repeat(nodes: Iterable[tuple[object, object]]) -> int:
    """Return the most times that a bounded repeat of a sequence matches, of those of more than a few times."""
    most = 0
    for kind, value in nodes:
        inner: list[Iterable[tuple[object, object]]] = []
        if kind in REPEATS:
            most = max(most, value[1] if value[1] != op.MAXREPEAT and value[1] > SHORT // 4 else 0)
            inner = [value[2]]
        elif kind is op.SUBPATTERN:
            inner = [value[3]]
        elif kind is op.ATOMIC_GROUP:
            inner = [value]
        elif kind is op.BRANCH:
            inner = value[1]
        most = max(most, *map(longest_repeat, inner), 0)
    return most


# the time that a pattern takes


def ways_of(pattern: re.Pattern[str] | re.Pattern[bytes], ways: frozenset[str]) -> dict[str, Callable[[str], object]]:
    """Return the calls that the code makes: one search through a text, or matches at its start or at many places."""
    is_bytes = isinstance(pattern.pattern, bytes)

    def run(call: Callable[[object], object]) -> Callable[[str], object]:
        return lambda text: call(text.encode("latin-1") if is_bytes else text)

    def match_behind_tokens(text: Any) -> None:
        deque(map(pattern.match, repeat(text), token_ends(text)), maxlen=0)

    calls: dict[str, Callable[[object], object]] = {
        "search": lambda text: deque(pattern.finditer(text), maxlen=0),  # type: ignore[call-overload]
        "match": pattern.match,  # type: ignore[dict-item]
        "fullmatch": pattern.fullmatch,  # type: ignore[dict-item]
        "match at": match_behind_tokens,
    }
    return {way: run(call) for way, call in calls.items() if way in ways}


@lru_cache(2000)
def token_ends(text: str | bytes) -> list[int]:
    """Return the places behind the tokens of a text; most texts are tried with many patterns."""
    return [token.end() for token in (TOKEN_OF_BYTES if isinstance(text, bytes) else TOKEN).finditer(text)]  # type: ignore[call-overload]


def seconds(call: Callable[[str], object], text: str, runs: int = 1) -> float:
    """Return the least time of some runs."""
    least = float("inf")
    for _ in range(runs):
        start = process_time()
        call(text)
        least = min(least, process_time() - start)
    return least


def is_steep(call: Callable[[str], object], text: Text, bound: int = 0) -> bool:
    """Return whether the time of a call grows faster than the text.

    The texts grow by little at first, so that no call takes long.  They must be longer than what a pattern reads
    from one place at most, its `bound`.
    """
    for count in STEPS:
        sized = text.repeat(count)
        if len(sized) > LONG and count > STEPS[0]:
            break
        limit = SLOW * (1 + len(sized) ** 2 / 5000)
        if seconds(call, sized) > limit and seconds(call, sized, 5) > limit:
            return True
    start = seconds(call, text.with_length(SHORT))
    if start > 10 * SLOW and (start > HOPELESS or (not bound and grows(call, text, SHORT // 4, 3))):
        return True
    if seconds(call, text.with_length(LONG)) < SLOW:
        return False
    return grows(call, text, SHORT, 1) and grows(call, text, SHORT, 5) and (not bound or grows(call, text, 4 * bound, 3))


def grows(call: Callable[[str], object], text: Text, length: int, runs: int) -> bool:
    """Return whether four times the text takes more than eight times as long."""
    before = seconds(call, text.with_length(length), runs)
    if before > HOPELESS * length / SHORT:
        return True
    after = seconds(call, text.with_length(4 * length), runs)
    return after > SLOW and after > 8 * before


def growth(pattern: re.Pattern[str] | re.Pattern[bytes], ways: frozenset[str]) -> Iterator[tuple[str, Text]]:
    """Yield the calls and texts on which a pattern takes more than linear time."""
    calls, bound = ways_of(pattern, ways), longest_repeat(parser.parse(pattern.pattern, pattern.flags))
    return ((way, text) for text in worst_texts(pattern) for way, call in calls.items() if is_steep(call, text, bound))


# the patterns of the code


def modules() -> list[ModuleType]:
    """Return the modules of the packages."""
    names = []
    for name in PACKAGES:
        package = importlib.import_module(name)
        found = pkgutil.iter_modules(getattr(package, "__path__", ()), f"{name}.")
        names += [name, *(each.name for each in found)]
    return [importlib.import_module(name) for name in names]


def patterns_in(value: object) -> Iterator[tuple[re.Pattern[str], str | None]]:
    """Yield the patterns in a value of a module, with the method if it is one of a pattern."""
    owner = getattr(value, "__self__", None)
    if isinstance(value, re.Pattern):
        yield value, None
    elif isinstance(owner, re.Pattern):
        yield owner, value.__name__  # type: ignore[attr-defined]
    elif isinstance(value, tuple | list | frozenset | set):
        for each in value:
            yield from patterns_in(each)
    elif isinstance(value, dict):
        for each in (*value, *value.values()):
            yield from patterns_in(each)


def way_of(call: ast.Call, texts: int) -> str:
    """Return how a call of a method uses a pattern, whose text is one of its arguments."""
    name = call.func.attr  # type: ignore[attr-defined]
    if name == "fullmatch":
        return "fullmatch"
    if name == "match":
        return "match at" if len(call.args) > texts else "match"
    return "search"


def ways_by_name(nodes: list[ast.AST]) -> dict[str, set[str]]:
    """Return how a module uses the patterns with a name; a name that stands for itself is used in all ways."""
    attributes = [node for node in nodes if isinstance(node, ast.Attribute)]
    calls = {id(node.value): node.attr if node.attr in ("match", "fullmatch") else "search" for node in attributes if node.attr in METHODS}
    calls |= {id(node.func.value): way_of(node, 1) for node in method_calls(nodes)}  # type: ignore[attr-defined]
    patterns = {id(node.value) for node in attributes if node.attr in ("pattern", "flags")}
    found: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and id(node) not in patterns:
            found.setdefault(node.id, set()).add(calls.get(id(node), "any"))
    return found


def method_calls(nodes: list[ast.AST]) -> list[ast.Call]:
    """Return the calls of methods of patterns, and of functions of `re` with the same names."""
    return [node for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS]


def named_patterns(module: ModuleType, tree: ast.Module, nodes: list[ast.AST]) -> Iterator[Searched]:
    """Yield the patterns of a module, of whose tree these are the nodes."""
    used = ways_by_name(nodes)
    assigned = {
        name.id
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for name in ast.walk(node)
        if isinstance(name, ast.Name) and isinstance(name.ctx, ast.Store)
    }
    for name, value in vars(module).items():
        found = list(patterns_in(value)) if name in assigned else []
        for number, (pattern, method) in enumerate(found):
            ways = {method} if method is not None else used.get(name, {"any"} if len(found) > 1 else set())
            ending = f"/{number}" if len(found) > 1 else ""
            yield Searched(f"{module.__name__}.{name}{ending}", pattern, frozenset(ways))


def text_of(node: ast.expr, module: ModuleType, local: dict[str, ast.expr]) -> str | bytes:
    """Return the pattern that an expression in a function builds, with samples for what it is given."""
    if isinstance(node, ast.Constant):
        return node.value  # type: ignore[return-value]
    if isinstance(node, ast.JoinedStr):
        return "".join(str(text_of(part, module, local)) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return text_of(node.value, module, local)
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        left, right = text_of(node.left, module, local), text_of(node.right, module, local)
        if isinstance(left, bytes) or isinstance(right, bytes):
            return b"".join(each if isinstance(each, bytes) else each.encode("latin-1") for each in (left, right))
        return left + right
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "encode":
        return str(text_of(node.func.value, module, local)).encode("latin-1")
    if isinstance(node, ast.BoolOp):
        return text_of(node.values[0], module, local)
    try:
        value = eval(ast.unparse(node), vars(module))
    except Exception:
        value = None
    if isinstance(value, str | bytes):
        return value
    if isinstance(value, int):
        return str(value)
    word = ast.unparse(node).rpartition(".")[2]
    if isinstance(node, ast.Name) and node.id in local:
        return text_of(local.pop(node.id), module, local)
    return VALUES.get("type_pattern" if word == "pattern" else word, "name")


def built_patterns(module: ModuleType, nodes: list[ast.AST]) -> Iterator[Searched]:
    """Yield the patterns that the functions of a module build."""
    used_at = {id(node.func.value): {way_of(node, 1)} for node in method_calls(nodes)}  # type: ignore[attr-defined]
    for function in (node for node in nodes if isinstance(node, ast.FunctionDef)):
        inner = list(ast.walk(function))
        local = {node.targets[0].id: node.value for node in inner if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)}
        calls = [node for node in inner if isinstance(node, ast.Call) and is_of_re(node.func)]
        for number, call in enumerate(calls):
            flags = next((eval(ast.unparse(each)) for each in (*call.args[1:], *(word.value for word in call.keywords)) if "re." in ast.unparse(each)), 0)
            ways = used_at.get(id(call), {"any"}) if call.func.attr == "compile" else {way_of(call, 2)}  # type: ignore[attr-defined]
            ending = f"/{number}" if len(calls) > 1 else ""
            pattern = re.compile(text_of(call.args[0], module, dict(local)), flags)
            yield Searched(f"{module.__name__}.{function.name}(){ending}", pattern, frozenset(ways))


def source_of(module: ModuleType) -> str:
    """Return the text of a module, also of a compiled one."""
    place = Path(ROOT, *module.__name__.split("."))
    return (place / "__init__.py" if place.is_dir() else place.with_suffix(".py")).read_text(encoding="utf-8")


def is_of_re(function: ast.expr) -> bool:
    """Return whether an expression is a function of `re` that takes a pattern."""
    return (
        isinstance(function, ast.Attribute)
        and function.attr in ("compile", *METHODS)
        and isinstance(function.value, ast.Name)
        and function.value.id == "re"
    )


@cache
def all_patterns() -> dict[str, Searched]:
    """Return all patterns, by name."""
    found: dict[str, Searched] = {}
    for module in modules():
        tree = ast.parse(source_of(module))
        nodes = list(ast.walk(tree))
        for each in (*named_patterns(module, tree, nodes), *built_patterns(module, nodes)):
            ways = frozenset(("search", "fullmatch")) if "any" in each.ways else each.ways
            name = each.name.removeprefix("layoutlint.")
            found[name] = Searched(name, each.pattern, ways)
    return found


def find_steep(name: str) -> list[tuple[str, Text]]:
    """Return the first call and text on which a pattern takes more than linear time, if there is one."""
    own = all_patterns()[name]
    return list(islice(growth(own.pattern, own.ways), 1))


NAMES = sorted(all_patterns())


@pytest.mark.parametrize("name", [name for name in NAMES if name not in BOUNDED])
def test_a_pattern_takes_linear_time(name):
    assert find_steep(name) == [], all_patterns()[name].pattern.pattern


@pytest.mark.parametrize("name", BOUNDED)
def test_a_pattern_on_a_short_text_takes_little_time(name):
    own, (longest, _) = all_patterns()[name], BOUNDED[name]
    slow = [
        (way, text) for way, call in ways_of(own.pattern, own.ways).items() for text in worst_texts(own.pattern) if is_slow(call, text.with_length(longest)[-longest:])
    ]
    assert slow == []


def is_slow(call: Callable[[str], object], text: str) -> bool:
    """Return whether a call takes as long as that many searches through the text for its words."""
    return seconds(call, text) > (limit := MOST_SCANS * seconds(CHARACTER.findall, text, 5)) and seconds(call, text, 5) > limit


@pytest.mark.parametrize("name", BOUNDED)
def test_the_bounds_are_needed(name):
    assert find_steep(name) != []


STEEP = (
    r"\s+$", r"a*b", r"(a|aa)+$", r"(?:a|b|ab)*c", r"\w+\s*\(", r"x[^;]*;", r"\bstruct\b[^;{}]*\{", r"\w*A\w*B",
    r"\s*x?\s*\(", r"name\w*\s*\(", r"(?:\w+\s*)*\Z", r"\[[^\]]*\]", r'"(?:[^"\\]|\\.)*"', r"(\w+)\s*\Z", r"^\s*#",
)  # fmt: skip
LINEAR = (
    r"a", r"\w++", r"(?<!\s)\s++$", r"\bfoo\s++(\w++)\s*+\{", r"foo\w{0,64}+\s*+\(", r"x[^;]{0,200};", r"\[[^][]*+\]",
    r"(?<!\w)(\w++)\s*+\Z", r"^[ \t]*#", r"/\*|\*/", r"struct\s+\w+",
)  # fmt: skip


@pytest.mark.parametrize("pattern", STEEP)
def test_a_steep_pattern_is_found(pattern):
    flags = re.MULTILINE if pattern.startswith("^") else 0
    ways = frozenset(("search",))
    assert next(growth(re.compile(pattern, flags), ways), None) is not None
    assert next(growth(re.compile(pattern.encode(), flags), ways), None) is not None


@pytest.mark.parametrize("pattern", LINEAR)
def test_a_linear_pattern_is_not(pattern):
    flags = re.MULTILINE if pattern.startswith("^") else 0
    assert next(growth(re.compile(pattern, flags), frozenset(("search",))), None) is None


@pytest.mark.parametrize(("way", "pattern"), [("match", r"(?:a+)+b"), ("fullmatch", r"\w*A\w*"), ("match at", r"\s*[^;]*;")])
def test_other_calls_are_found(way, pattern):
    assert next(growth(re.compile(pattern), frozenset((way,))), None) is not None


def test_all_patterns_are_found():
    sources = [source_of(module) for module in modules()]
    spelled = sum(len(re.findall(r"\bre\.(?:compile|search|match|fullmatch|finditer|findall|sub|split)\(", text)) for text in sources)
    assert len(NAMES) >= spelled - sum(text.count("for pattern") for text in sources)


# whole searches


def function(body: str) -> str:
    return f"void f(struct ring *r, struct link *l, void *v)\n{{\n{body}}}\n"


SHAPES: dict[str, Callable[[int], str]] = {
    "casts to": lambda n: function("\tr = (struct ring *)l;\n" * n),
    "casts of others": lambda n: function("\tr = (struct ring *)x;\n" * n),
    "casts to words": lambda n: function("\tg((unsigned long *)r);\n" * n),
    "casts unclosed": lambda n: function("\tr = (struct ring *)mmap(\n" * n),
    "initialisers": lambda n: "".join(f"struct ring r{i} = {{ {{ 1, 2 }}, 3 }};\n" for i in range(n)),
    "initialiser array": lambda n: "struct ring r[] = {\n" + "\t{ { 1, 2 }, 3 },\n" * n + "};\n",
    "bare names": lambda n: "struct ring r[] = {\n" + "\tx,\n" * n + "};\n",
    "many declarators": lambda n: "struct ring a" + "".join(f",\n b{i} = {{ 1 }}" for i in range(n)) + ";\n",
    "macro values": lambda n: "".join(f"struct ring r{i} = RING_INIT(r{i});\n" for i in range(n)),
    "compound": lambda n: function("\t*r = (struct ring){ { 1, 2 }, 3 };\n" * n),
    "typeof": lambda n: function("\ttypeof(*r) x = { 1 };\n" * n),
    "typeof unknown": lambda n: function("\ttypeof(zz) x = { 1 };\n" * n),
    "memcpy": lambda n: function("\tmemcpy(&r->head, &r->link, sizeof(r->link));\n" * n),
    "memcpy unclosed": lambda n: function("\tmemcpy(&r->head, (\n" * n),
    "memcpy nested": lambda n: function("\tmemcpy(\n" * n + "r" + ")" * n + ";\n"),
    "memset_after": lambda n: function("\tmemset_after(r, 0, head);\n" * n),
    "offsetof": lambda n: function("\tx = offsetof(struct ring, head) - offsetof(struct ring, tail);\n" * n),
    "offsetof cases": lambda n: function("\tcase offsetof(struct ring, head):\n" * n),
    "nested braces": lambda n: "struct ring r = " + "{\n" * n + "1" + "}" * n + ";\n",
    "open braces": lambda n: "struct ring r = {\n" * n,
    "unions": lambda n: "".join(f"union u{i} {{ struct ring r; long w[4]; }};\n" for i in range(n)),
    "one union": lambda n: "union u {\n" + "".join(f"\tstruct ring r{i};\n" for i in range(n)) + "\tlong w[4]; };\n",
    "one union of words": lambda n: "union u {\n struct ring r;\n" + "".join(f"\tchar w{i}[n];\n" for i in range(n)) + "};\n",
    "one union of pointers": lambda n: "union u {\n struct ring *r;\n" + "".join(f"\tlong *w{i};\n" for i in range(n)) + "};\n",
    "containers": lambda n: "".join(f"struct c{i} {{ int x; struct ring r; }};\n" for i in range(n)),
    "macros": lambda n: "".join(f"#define M{i}(x) ((struct ring *)(x))->head\n" for i in range(n)) + function("".join(f"\tM{i}(l);\n" for i in range(n))),
    "macro chain": lambda n: "#define M0 struct ring\n" + "".join(f"#define M{i + 1} M{i}\n" for i in range(n)),
    "macro calls unclosed": lambda n: "#define M(x) ((struct ring *)(x))\n" + function("\tr = M(l;\n" * n),
    "one long macro": lambda n: "#define M(x) " + "struct ring x; \\\n" * n + "\n M(a)\n",
    "macro definitions": lambda n: "".join(f"#define M struct ring r{i}\n" for i in range(n)),
    "macro offsets": lambda n: (
        "".join(f"#define OFF{i}(m) offsetof(struct ring, m)\n" for i in range(n)) + function("".join(f"\tOFF{i}(head);\n" for i in range(n)))
    ),
    "macro offsets called": lambda n: "#define OFF(m) offsetof(struct ring, m)\n" + function("\tOFF(head);\n" * n),
    "ioctl": lambda n: "".join(f"#define R{i} _IOW('r', {i}, struct ring)\n" for i in range(n)),
    "typedefs": lambda n: "".join(f"typedef struct ring t{i};\n" for i in range(n)),
    "typedef pointers": lambda n: "".join(f"typedef struct ring *p{i};\n" for i in range(n)) + function("".join(f"\tp{i} x{i} = v;\n" for i in range(n))),
    "declarations": lambda n: function("".join(f"\tstruct ring *r{i};\n" for i in range(n))),
    "assembly": lambda n: function('\tasm("mov 8(%0), %1" : : "r"(r));\n' * n),
    "definitions": lambda n: "struct ring { int head; };\n" * n,
    "comments": lambda n: "struct ring {\n" + "\tint a; /* must be first */\n" * n + "};\n",
    "pragmas": lambda n: "#pragma pack(1)\nstruct ring { int head; };\n" * n,
    "conditions": lambda n: "#if A\nstruct ring r = { 1, 2 };\n#endif\n" * n,
    "frees": lambda n: function("\tkfree(&r->link);\n" * n),
    "indexed": lambda n: function("\t(&r->head)[1] = 2;\n" * n),
}
LINES = 300


@cache
def subject() -> object:
    """Return the struct that the searches are about."""
    with tempfile.TemporaryDirectory() as folder:
        header = Path(folder, "s.h")
        header.write_text("struct link { int a, b; };\nstruct ring { struct link link; int head, tail; };\n")
        structs = {layout.struct.name: layout.struct for layout in api.read(str(header))}
    return importlib.import_module(SUBJECT).Subject(replace(structs["ring"], source=None))


@pytest.mark.parametrize("shape", SHAPES)
def test_a_search_takes_linear_time(shape, tmp_path):
    scan = importlib.import_module(SCAN)

    def search(text: str) -> None:
        (tmp_path / "s.c").write_text(text)
        found = scan.search_file(str(tmp_path / "s.c"), subject(), scan.Expansions({}, frozenset()))
        assert (found.mentions, found.unread) == (True, "")

    few, many = SHAPES[shape](LINES), SHAPES[shape](4 * LINES)
    for runs in (1, 3, 5):
        before, after = seconds(search, few, runs), seconds(search, many, runs)
        if after < max(0.02, 8 * before):
            return
    pytest.fail(f"four times the text takes {after / before:.0f} times as long")

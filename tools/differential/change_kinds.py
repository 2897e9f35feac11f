"""Changes that break the rule of a random project, by kind: what the text of a change can do to hide it.

Each function makes one change: the files before, and those that differ. Some leave nothing by which the forms of input that see
only the present state could know: these are listed with the reason.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from tools.differential.change_projects import APART, Files, Link, Project

Make = Callable[[Project], "Change"]
INPUTS = ("file", "database", "folder", "kernel tree")
NO_KERNEL_INPUT = "none in a kernel tree"


@dataclass(slots=True)
class Change:
    """The files of a project, those that the change alters, and the build that shows what it does."""

    base: Files
    changed: Files
    names: tuple[str, ...] = ()
    """The other names of the struct after the change."""
    fields: tuple[str, str] | None = None
    """The names of the fields after the change, if they differ."""
    units: tuple[str, ...] = ()
    """All units of the build, if not the one alone."""
    flags: tuple[str, ...] = ()
    """More flags of the build after the change."""
    words: tuple[str, ...] = ()
    """More options of the run."""
    baseline: str | None = None
    """A baseline that accepts what the change breaks."""


@dataclass(frozen=True, slots=True)
class Variant:
    """One form of a kind of change."""

    kind: str
    name: str
    make: Make
    rules: tuple[str, ...] = ()
    """The kinds of rule that it can break; all if empty."""
    is_pattern: bool | None = None
    projects: tuple[bool, ...] = (False, True)
    """Whether the project is a kernel tree."""
    silent: tuple[str, ...] = ()
    """Inputs without a promise, unless `--staged` or `--since` tells what was there before."""
    unseen: tuple[str, ...] = ()
    """Inputs that do not have what breaks the rule."""
    reason: str = ""
    """Why there is no promise."""


VARIANTS: list[Variant] = []
_NAMED = "another struct has the name"
_PATTERN = "other structs match the pattern"
_JOINED = ("kernel tree", "none", NO_KERNEL_INPUT)
_UNSHOWN = "the text of no header shows the name"
_ELSEWHERE = "a kernel's headers are searched, not all that its sources include"


def adder(variants: list[Variant]) -> Callable[..., Callable[[Make], Make]]:
    """Return a decorator with which a table of variants is written."""

    def decorate(kind: str, name: str, **more: object) -> Callable[[Make], Make]:
        def add(make: Make) -> Make:
            variants.append(Variant(kind, name, make, **more))  # type: ignore[arg-type]
            return make

        return add

    return decorate


_change = adder(VARIANTS)


def _turn(p: Project, odd: Callable[[int], str], before: str = "", **unit: object) -> Change:
    """Return a change of a definition in an odd form: it has that form before, or not, or only a type in it changes."""
    form = p.chance.choice(("plain", "odd", "inside"))
    if form == "inside":
        path, p.inner = p.path_beside(f"{p.name()}.h"), p.name("pad")
        text, pad = odd(p.good), f"struct {p.inner} {{ char bytes[%d]; }};\n"
        if f"struct {p.inner} " in text:
            base = p.files(text, {path: pad % p.good}, before=before + p.include(path), **unit)  # type: ignore[arg-type]
            return Change(base, {path: pad % p.bad})
        p.inner = ""
    base = p.files(p.struct(p.good) if form == "plain" else odd(p.good), before=before, **unit)  # type: ignore[arg-type]
    return Change(base, {p.header: p.header_text(odd(p.bad), before)})


# Rename


def _rename(p: Project, new: str, definition: str | None = None, more: Files | None = None, **unit: object) -> Change:
    base = p.files(p.struct(p.good))
    text = p.struct(p.bad, new) if definition is None else definition
    changed: Files = {p.header: p.header_text(text), p.unit: p.unit_text((f"struct {new}",), **unit), **(more or {})}  # type: ignore[arg-type]
    return Change(base, changed, names=(new,))


@_change("rename", "of the struct", is_pattern=False)
def _(p: Project) -> Change:
    return _rename(p, p.chance.choice((f"{p.tag}_", f"new_{p.tag}", p.tag.upper(), p.name())))


@_change("rename", "out of a pattern", is_pattern=True)
def _(p: Project) -> Change:
    return _rename(p, p.chance.choice((f"{p.tag}s", p.tag.upper(), p.name())))


def _rename_beside(p: Project, new: str, text: str, more: Files | None = None) -> Change:
    """Return a rename of one of two structs that match the pattern."""
    other = f"{p.other_tag}_{p.suffix}"
    base = p.files(p.struct(p.good) + p.struct(p.good, other), {p.unit: p.unit_text((f"struct {p.tag}", f"struct {other}")), **(more or {})})
    changed: Files = {p.header: p.header_text(text + p.struct(p.good, other)), p.unit: p.unit_text((f"struct {new}", f"struct {other}"))}
    return Change(base, changed, names=(new,))


@_change("rename", "out of a pattern that others match", is_pattern=True, silent=INPUTS, reason=_PATTERN)
def _(p: Project) -> Change:
    return _rename_beside(p, f"{p.tag}s", p.struct(p.bad, f"{p.tag}s"))


@_change("rename", "out of a pattern that others match, with more fields", is_pattern=True, silent=INPUTS, reason=_PATTERN)
def _(p: Project) -> Change:
    text = p.struct(p.bad, f"{p.tag}s").replace("};", f"long {p.name()};\n}};") if p.rule.kind != "size" else p.struct(p.bad, f"{p.tag}s")
    return _rename_beside(p, f"{p.tag}s", text)


@_change("rename", "out of a pattern that others match, to a name that was there", is_pattern=True, silent=INPUTS, reason=_PATTERN)
def _(p: Project) -> Change:
    new = p.name()
    return _rename_beside(p, new, p.struct(p.bad, new), {p.path_beside(f"{p.name()}.h"): f"struct {new} {{ int x; }};\n"})


@_change("rename", "out of a pattern that others match, of the fields too", is_pattern=True, unseen=(*INPUTS, "none", NO_KERNEL_INPUT), reason="a struct of other names and fields is another one")
def _(p: Project) -> Change:
    text = p.struct(p.bad, f"{p.tag}s")
    for name in {line.split()[-1].strip("*;").partition("[")[0] for line in p.members(p.gap(8)).splitlines()}:
        text = re.sub(rf"\b{name}\b", f"new_{name}", text)
    change = _rename_beside(p, f"{p.tag}s", text)
    change.fields = (f"new_{p.a}", f"new_{p.b}")
    return change


@_change("rename", "of a field", rules=("separate", "distance-min", "distance-max", "offset"))
def _(p: Project) -> Change:
    new = f"{p.b}_{p.chance.randint(1, 9)}"
    text = p.struct(p.bad).replace(f"long {p.b};", f"long {new};")
    return Change(p.files(p.struct(p.good)), {p.header: p.header_text(text)}, fields=(p.a, new))


@_change("rename", "and a declaration of the old name", is_pattern=False)
def _(p: Project) -> Change:
    new = p.name()
    return _rename(p, new, f"struct {p.tag};\nextern struct {p.tag} *{p.name()};\n{p.struct(p.bad, new)}")


@_change("rename", "and a typedef of the old name", is_pattern=False)
def _(p: Project) -> Change:
    new = p.name()
    return _rename(p, new, f"{p.struct(p.bad, new)}typedef struct {new} {p.tag};\n")


@_change("rename", "to a typedef of a struct without a name", is_pattern=False)
def _(p: Project) -> Change:
    new = p.name()
    change = _rename(p, new, f"typedef struct {{\n{p.members(p.gap(p.bad))}}} {new};\n")
    change.changed[p.unit] = p.unit_text((new,))
    return change


@_change("rename", "to a union", rules=(*APART, "offset"))
def _(p: Project) -> Change:
    text = p.struct(p.good).replace("struct ", "union ")
    return Change(p.files(p.struct(p.good)), {p.header: p.header_text(text), p.unit: p.unit_text((f"union {p.tag}",))})


@_change("rename", "of the header", unseen=("kernel tree", NO_KERNEL_INPUT), reason=_ELSEWHERE)
def _(p: Project) -> Change:
    path = p.header.removesuffix(".h") + p.chance.choice((".hpp", ".hh", ".inc", ".h.in", "_new.h"))
    return Change(p.files(p.struct(p.good)), {p.header: None, path: p.header_text(p.struct(p.bad)), p.unit: p.unit_text(includes=p.include(path))})


@_change("rename", "in another new file", is_pattern=False)
def _(p: Project) -> Change:
    new, path = p.name(), p.path_beside(f"{p.name()}.h")
    change = _rename(p, new, "", {path: p.header_text(p.struct(p.bad, new))})
    change.changed[p.header] = None
    change.changed[p.unit] = p.unit_text((f"struct {new}",), includes=p.include(path))
    return change


# Decoys: the struct is renamed and broken, and text looks like the old one

_DECOYS: dict[str, Callable[[Project, str], str]] = {
    "in a comment": lambda p, old: f"/*\n{old}*/\n",
    "in comments of a line": lambda p, old: "".join(f"// {line}\n" for line in old.splitlines()),
    "in #if 0": lambda p, old: f"#if 0\n{old}#endif\n",
    "in an #ifdef that is never on": lambda p, old: f"#ifdef {p.name().upper()}\n{old}#endif\n",
    "behind the #else of #if 1": lambda p, old: f"#if 1\n#else\n{old}#endif\n",
    "in a string": lambda p, old: f'static const char {p.name()}[] __attribute__((unused)) = "{" ".join(old.split())}";\n',
    "in the body of a macro": lambda p, old: f"#define {p.name().upper()} {' '.join(old.split())}\n",
    "in a comment that continues": lambda p, old: "// as before \\\n" + " \\\n".join(old.splitlines()) + "\n",
    "in the body of an inline function": lambda p, old: f"static inline int {p.name()}(void) {{\n{old}\treturn sizeof(struct {p.tag});\n}}\n",
    "in a parameter list": lambda p, old: f"int {p.name()}({' '.join(old.split())[:-1]} *p);\n",
    "in #error": lambda p, old: f"#if 0\n#error {' '.join(old.split())}\n#endif\n",
    "in an attribute": lambda p, old: f'extern int {p.name()} __attribute__((deprecated("{" ".join(old.split())}")));\n',
}  # fmt: skip


def _decoy(name: str, make: Callable[[Project, str], str]) -> None:
    @_change("decoy", name, is_pattern=False)
    def _(p: Project) -> Change:
        new = p.chance.choice((f"{p.tag}_", p.name()))
        pieces = [make(p, p.struct(p.good)), p.struct(p.bad, new)]
        p.chance.shuffle(pieces)
        return _rename(p, new, "".join(pieces))


for _name, _make in _DECOYS.items():
    _decoy(_name, _make)


@_change("decoy", "under a macro that renames it", is_pattern=False)
def _(p: Project) -> Change:
    new = f"{p.tag}_"
    return _rename(p, new, f"#define {p.tag} {new}\n{p.struct(p.bad)}#undef {p.tag}\n")


@_change("decoy", "under a macro of the unit that renames it", is_pattern=False)
def _(p: Project) -> Change:
    new = f"{p.tag}_"
    change = _rename(p, new, p.struct(p.bad))
    change.changed[p.unit] = p.unit_text((f"struct {new}",), before=f"#define {p.tag} {new}\n")
    return change


@_change("decoy", "that is a struct in the same file", is_pattern=False, unseen=(*INPUTS, "none", NO_KERNEL_INPUT), reason=_NAMED)
def _(p: Project) -> Change:
    new = p.name()
    return _rename(p, new, p.struct(p.good) + p.struct(p.bad, new))


@_change("decoy", "in a header that nothing includes", is_pattern=False, silent=("folder", "kernel tree"), reason=_NAMED)
def _(p: Project) -> Change:
    return _rename(p, p.name(), more={p.path_beside(f"{p.name()}.h"): p.header_text(p.struct(p.good))})


@_change("decoy", "in a file that is no C", is_pattern=False)
def _(p: Project) -> Change:
    path = p.chance.choice(("notes.md", "doc/layout.txt", "old.patch", "src.rs", f"{p.folder}/x.h.orig"))
    return _rename(p, p.name(), more={path: p.struct(p.good)})


@_change("decoy", "in a new unit", is_pattern=False, silent=("database", "folder", "kernel tree"), reason=_NAMED)
def _(p: Project) -> Change:
    path = f"{p.sources}/{p.name()}.c"
    change = _rename(p, p.name(), more={path: f"{p.struct(p.good)}struct {p.tag} {p.name()};\n"})
    change.units = (p.unit, path)
    return change


# Macros


@_change("macro", "that is the distance")
def _(p: Project) -> Change:
    name = p.name().upper()
    text = f"struct {p.tag} {{\n{p.members(f'char {p.pad}[{name}];')}}};\n"
    return _turn(p, lambda n: f"#define {name} {n}\n{text}")


@_change("macro", "that is the distance, in another header")
def _(p: Project) -> Change:
    name, path = p.name().upper(), p.path_beside(f"{p.name()}.h")
    text = f"struct {p.tag} {{\n{p.members(f'char {p.pad}[{name}];')}}};\n"
    base = p.files(text, {path: p.header_text(f"#define {name} {p.good}\n")}, before=p.include(path))
    return Change(base, {path: p.header_text(f"#define {name} {p.bad}\n")})


@_change("macro", "of the unit before the header", projects=(False,))
def _(p: Project) -> Change:
    name = p.name().upper()
    text = f"#ifndef {name}\n#define {name} {p.good}\n#endif\nstruct {p.tag} {{\n{p.members(f'char {p.pad}[{name}];')}}};\n"
    unit = p.unit_text(before=f"#define {name} {p.bad}\n")
    return Change(p.files(text), {p.unit: unit})


@_change("macro", "that makes the struct")
def _(p: Project) -> Change:
    name = p.name().upper()
    return _turn(p, lambda n: f"#define {name}(x, n) struct x {{ {' '.join(p.members('char PAD[n];').replace('PAD', p.pad).split())} }}\n{name}({p.tag}, {n});\n")


@_change("macro", "that pastes the name", unseen=_JOINED, reason=_UNSHOWN)
def _(p: Project) -> Change:
    name, (first, last) = p.name().upper(), p.tag.split("_")
    return _turn(p, lambda n: f"#define {name}(x) struct x##_{last} {{ {' '.join(p.members(p.gap(n)).split())} }}\n{name}({first});\n")


@_change("macro", "that pastes the name from two parts", unseen=_JOINED, reason=_UNSHOWN)
def _(p: Project) -> Change:
    name, (first, last) = p.name().upper(), p.tag.split("_")
    return _turn(p, lambda n: f"#define {name}_(x, y) x##_##y\n#define {name}(x, y) {name}_(x, y)\nstruct {name}({first}, {last}) {{\n{p.members(p.gap(n))}}};\n")


@_change("macro", "that pastes single letters of the name", unseen=_JOINED, reason=_UNSHOWN)
def _(p: Project) -> Change:
    name = p.name().upper()
    cut = p.chance.randint(1, len(p.tag) - 1)
    return _turn(p, lambda n: f"#define {name}(x, y) x##y\nstruct {name}({p.tag[:cut]}, {p.tag[cut:]}) {{\n{p.members(p.gap(n))}}};\n")


@_change("macro", "for the word struct")
def _(p: Project) -> Change:
    name = p.name("record")
    return _turn(p, lambda n: f"#define {name} struct\n{name} {p.tag} {{\n{p.members(p.gap(n))}}};\n")


@_change("macro", "for the brace")
def _(p: Project) -> Change:
    name = p.name().upper()
    return _turn(p, lambda n: f"#define {name} {{\n#define {name}_END }}\nstruct {p.tag} {name}\n{p.members(p.gap(n))}{name}_END;\n")


@_change("macro", "that is another name of the struct")
def _(p: Project) -> Change:
    name = p.name()
    return _turn(p, lambda n: f"#define {name} {p.tag}\nstruct {name} {{\n{p.members(p.gap(n))}}};\n")


@_change("macro", "that lists the members")
def _(p: Project) -> Change:
    name = p.name().upper()

    def text(n: int) -> str:
        names = [(p.pad, n // 8) if line.startswith("PAD") else (line.split()[-1].strip("*;"), 1) for line in p.members("PAD").splitlines() for line in [line.strip()]]
        rows = " \\\n".join(f"\tX({member}, {count})" for member, count in names)
        return f"#define {name}(X) \\\n{rows}\n#define F(n, c) long n[c];\nstruct {p.tag} {{ {name}(F) }};\n#undef F\n"

    return _turn(p, text)


@_change("macro", "that a line continues")
def _(p: Project) -> Change:
    name = p.name().upper()
    return _turn(p, lambda n: f"#define {name}(body) \\\n\tstruct \\\n\t{p.tag} \\\n\t{{ body }}\n{name}({' '.join(p.members(p.gap(n)).split())});\n")


@_change("macro", "that turns the distance off")
def _(p: Project) -> Change:
    name = p.name().upper()
    text = f"struct {p.tag} {{\n{p.members(f'#ifdef {name}{chr(10)}{p.gap(p.good)}{chr(10)}#else{chr(10)}{p.gap(p.bad)}{chr(10)}#endif')}}};\n"
    return Change(p.files(text, before=f"#define {name}\n"), {p.header: p.header_text(text)})


@_change("macro", "with the type of the distance")
def _(p: Project) -> Change:
    name = p.name().upper()
    return _turn(p, lambda n: f"#define {name}(n) char n[{n}]\nstruct {p.tag} {{\n{p.members(f'{name}({p.pad});')}}};\n")


@_change("macro", "of the flags that names the struct", projects=(False,))
def _(p: Project) -> Change:
    name = p.name().upper()
    p.defines = (f"-D{name}={p.tag}",)
    change = _turn(p, lambda n: f"struct {name} {{\n{p.members(p.gap(n))}}};\n")
    change.flags = p.defines
    return change


@_change("macro", "that counts includes", unseen=("none", NO_KERNEL_INPUT), reason="the header is judged by itself")
def _(p: Project) -> Change:
    return _turn(p, lambda n: f"#if __INCLUDE_LEVEL__ == 1\n{p.struct(n)}#else\n{p.struct(p.good)}#endif\n")


@_change("macro", "that is one of the compiler")
def _(p: Project) -> Change:
    test = p.chance.choice(("#ifndef __clang__", "#if __GNUC__ >= 5 && !defined __llvm__", "#if !__has_attribute(ext_vector_type)", "#ifdef __x86_64__", "#if __SIZEOF_POINTER__ == 8"))
    return _turn(p, lambda n: f"{test}\n{p.struct(n)}#else\n{p.struct(p.good)}#endif\n")


@_change("macro", "that gcc alone predefines, or clang", projects=(False,))
def _(p: Project) -> Change:
    test = p.chance.choice(("#ifdef __FLT128_MAX__", "#ifdef __GCC_IEC_559", "#ifdef __WINT_MIN__", "#ifndef __CONSTANT_CFSTRINGS__", "#ifndef __SIZE_FMTX__"))
    change = _turn(p, lambda n: f"{test}\n{p.struct(n)}#else\n{p.struct(p.good)}#endif\n")
    change.words = () if p.chance.random() < 0.7 else ("--query-driver", os.path.realpath(shutil.which("gcc") or "gcc"))
    return change


@_change("macro", "that makes it a union", rules=(*APART, "offset"))
def _(p: Project) -> Change:
    text = f"#define struct union\n{p.struct(p.good)}#undef struct\n"
    return Change(p.files(p.struct(p.good)), {p.header: p.header_text(text), p.unit: p.unit_text((f"union {p.tag}",))})


# Attributes

_ATTRIBUTED: dict[str, str] = {
    "before the name": "struct __attribute__((aligned(8))) NAME {\n",
    "in brackets": "struct [[gnu::aligned(8)]] NAME {\n",
    "of more than 80 characters": "struct __attribute__((aligned(8), annotate_LONG)) NAME {\n",
    "behind #ifdef": "struct\n#ifdef __GNUC__\n__attribute__((aligned(8)))\n#endif\nNAME {\n",
    "behind #ifdef that is off": "struct\n#ifdef NEVER_DEFINED\n__attribute__((packed))\n#endif\nNAME\n{\n",
    "by a macro": "#define MY_ALIGNED __attribute__((aligned(8)))\nstruct MY_ALIGNED NAME {\n",
    "by a macro with arguments": "#define MY_ALIGN(n) __attribute__((aligned(n)))\nstruct MY_ALIGN(8) NAME {\n",
    "with the old text in a string": 'struct __attribute__((aligned(sizeof("struct NAME {") > 0 ? 8 : 8))) NAME {\n',
    "with __extension__": "__extension__ struct NAME {\n",
    "with const before": "extern const struct NAME {\n",
    "with a comment inside": "struct __attribute__((/* ) */ aligned(8))) NAME {\n",
    "several": "struct __attribute__((aligned(4))) __attribute__((__aligned__(8))) NAME {\n",
}


def _attribute(name: str, opening: str) -> None:
    @_change("attribute", name)
    def _(p: Project) -> Change:
        long = "annotate_LONG"
        start = opening.replace("NAME", p.tag).replace(f", {long}", f" {' ' * 10}, aligned(sizeof(char[8]) + 0 * sizeof(\"{'x' * 90}\"))")
        closing = f"}} {p.name()};\n" if "extern" in opening else "};\n"
        return _turn(p, lambda n: start + p.members(p.gap(n)) + closing)


for _name, _opening in _ATTRIBUTED.items():
    _attribute(_name, _opening)


def _without_gap(p: Project, attribute: str) -> str:
    return f"struct {p.tag} {{\n{p.members('')}}};\n".replace(f"long {p.b};", f"long {p.b}{attribute};")


@_change("attribute", "taken away", rules=APART)
def _(p: Project) -> Change:
    return Change(p.files(_without_gap(p, " __attribute__((aligned(256)))")), {p.header: p.header_text(_without_gap(p, ""))})


@_change("attribute", "whose macro is now empty", rules=APART)
def _(p: Project) -> Change:
    name = p.name().upper()
    text = _without_gap(p, f" {name}")
    return Change(p.files(f"#define {name} __attribute__((aligned(256)))\n{text}"), {p.header: p.header_text(f"#define {name}\n{text}")})


@_change("attribute", "of the type of a field", rules=APART)
def _(p: Project) -> Change:
    name = p.name("t")
    text = _without_gap(p, "").replace(f"long {p.b};", f"{name} {p.b};")
    return Change(p.files(f"typedef long {name} __attribute__((aligned(256)));\n{text}"), {p.header: p.header_text(f"typedef long {name};\n{text}")})


@_change("attribute", "by a pragma", rules=APART)
def _(p: Project) -> Change:
    text = packable(p)
    opening, closing = p.chance.choice((("#pragma pack(push, 1)\n", "#pragma pack(pop)\n"), ('_Pragma("pack(1)")\n', '_Pragma("pack()")\n'), ("#pragma pack(1)\n", "")))
    return Change(p.files(text), {p.header: p.header_text(opening + text + closing)})


def packable(p: Project) -> str:
    """Return the definition with a struct of holes between the fields, of half the size if it is packed."""
    inner, pairs = p.name(), 4 if p.rule.kind == "separate" else (p.good // 8 + 1) // 2
    wide = " ".join(f"char c{n}; long l{n};" for n in range(pairs))
    return f"struct {inner} {{ {wide} }};\nstruct {p.tag} {{\n{p.members(f'struct {inner} {p.pad};')}}};\n"


# Comments and the form of the text

_EXPRESSIONS = (
    "_Static_assert(sizeof(TYPE) > 0, \"\");\n", "extern int NAME[sizeof(TYPE)];\n", "extern __typeof__(TYPE) NAME;\n", "typedef char NAME[_Alignof(TYPE)];\n",
    "struct NAME { char x[sizeof(TYPE)]; };\n", "extern __typeof__(&(TYPE){0}) NAME;\n", "struct NAME { int x : sizeof(TYPE) > 8 ? 3 : 2; };\n",
    "extern int NAME __attribute__((aligned(8 * (sizeof(TYPE) > 1))));\n", "extern int NAME[__builtin_offsetof(TYPE, MEMBER) + 1];\n",
    "struct NAME { _Alignas(TYPE) char c; };\n", "extern char NAME[_Generic((char)0, char: sizeof(TYPE), default: 1)];\n", "TYPE *NAME(int);\n",
)  # fmt: skip
_FORMS: dict[str, Callable[[Project, str], str]] = {
    "before the brace": lambda p, text: text.replace(p.tag, f"{p.tag} /* receive side */", 1),
    "before the name": lambda p, text: text.replace(p.tag, f"/* the one */ {p.tag}", 1),
    "of a line before the name": lambda p, text: text.replace(p.tag, f"// the one {{\n{p.tag}", 1),
    "of a line before the brace": lambda p, text: text.replace(p.tag, f"{p.tag} // the one;\n", 1),
    "with the words of a definition": lambda p, text: text.replace(p.tag, f"/* struct {p.tag} {{ int x; }}; */ {p.tag}", 1),
    "of many lines": lambda p, text: text.replace(p.tag, f"{p.tag} /*\n{' * more' * p.chance.choice((20, 2000))}\n */", 1),
    "in the word struct": lambda p, text: text.replace("struct ", "str\\\nuct ", 1),
    "in the name": lambda p, text: text.replace(p.tag, f"{p.tag[:3]}\\\n{p.tag[3:]}", 1),
    "a continued line before the name": lambda p, text: text.replace("struct ", "struct \\\n ", 1),
    "a string that begins one": lambda p, text: f'static const char {p.name()}[] __attribute__((unused)) = "/*";\n{text}static const char {p.name()}[] __attribute__((unused)) = "*/";\n',
    "a character that begins a string": lambda p, text: f"enum {{ {p.name()} = '\"' }};\n{text}enum {{ {p.name()} = '\"' }};\n",
    "a line that ends in a backslash before": lambda p, text: f"// C:\\\n\n{text}",
    "line ends of DOS": lambda p, text: text.replace("\n", "\r\n"),
    "a digraph for the brace": lambda p, text: text.replace("{", "<%", 1),
    "many empty lines": lambda p, text: text.replace(p.tag, f"{chr(10) * p.chance.choice((3, 300))}{p.tag}\n\n", 1),
    "other white space": lambda p, text: text.replace(" ", "\t\v\f ", 1),
    "no white space": lambda p, text: text.replace("\n{", "{").replace(" {", "{", 1),
    "beside other code": lambda p, text: f"extern int {p.name()}; {text.rstrip()} extern int {p.name()};\n",
    "inside another struct": lambda p, text: f"struct {p.name()} {{ int {p.name()}; {text.rstrip()[:-1]} {p.name()}; }};\n",
    "an include guard around it": lambda p, text: f"#ifndef {p.tag.upper()}\n#define {p.tag.upper()}\n{text}#endif\n",
    "letters outside of ASCII": lambda p, text: "/* \u00e4\u20ac\U0001f600 */\n" + text.replace(p.tag, p.tag + " /* \u00fc */", 1),
    "inside a typedef": lambda p, text: f"typedef {text.rstrip()[:-1]} {p.name()}, *{p.name()};\n",
    "in the value of an enumerator": lambda p, text: f"enum {{ {p.name()} = sizeof({text.rstrip()[:-1]}) }};\n",
    "in an expression": lambda p, text: p.chance.choice(_EXPRESSIONS).replace("TYPE", text.rstrip()[:-1]).replace("NAME", p.name()).replace("MEMBER", p.b),
    "in a declaration of a variable": lambda p, text: f"extern const volatile {text.rstrip()[:-1]} *{p.name()};\n",
    "around the members": lambda p, text: text.replace("{", "{ struct {", 1).rpartition("};")[0] + "}; };\n",
    "a null directive": lambda p, text: text.replace(p.tag, f"\n#\n{p.tag}\n#\n", 1),
    "a #line": lambda p, text: f'#line 7 "elsewhere.y"\n{text}',
}  # fmt: skip


def _form(name: str, make: Callable[[Project, str], str]) -> None:
    @_change("comment", name)
    def _(p: Project) -> Change:
        return _turn(p, lambda n: make(p, p.struct(n)))


for _name, _make in _FORMS.items():
    _form(_name, _make)


@_change("comment", "of bytes that are no UTF-8")
def _(p: Project) -> Change:
    text = p.header_text(f"/* @@ */\n{p.struct(p.bad)}")
    return Change(p.files(p.struct(p.good)), {p.header: text.encode().replace(b"@@", b"\xe9\xff\xfe")})


@_change("comment", "behind a byte order mark")
def _(p: Project) -> Change:
    return Change(p.files(p.struct(p.good)), {p.header: "\ufeff" + p.header_text(p.struct(p.bad))})


# Includes


@_change("include", "of the body")
def _(p: Project) -> Change:
    path = p.path_beside(f"{p.name()}{p.chance.choice(('.inc', '.h', '.def', '.fields', ''))}")
    text = f"struct {p.tag} {{\n{p.include(path)}}};\n"
    return Change(p.files(text, {path: p.members(p.gap(p.good))}), {path: p.members(p.gap(p.bad))})


@_change("include", "of the brace and the body")
def _(p: Project) -> Change:
    path = p.path_beside(f"{p.name()}.inc")
    text = f"struct {p.tag}\n{p.include(path)};\n"
    return Change(p.files(p.struct(p.good)), {p.header: p.header_text(text), path: f"{{\n{p.members(p.gap(p.bad))}}}\n"})


@_change("include", "of the distance")
def _(p: Project) -> Change:
    path, inner = p.path_beside(f"{p.name()}{p.chance.choice(('.inc', '.h', '.tpl', ''))}"), p.name()
    text = f"struct {p.tag} {{\n{p.members(f'struct {inner} {p.pad};')}}};\n"
    pad = f"struct {inner} {{ char bytes[%d]; }};\n"
    return Change(p.files(text, {path: pad % p.good}, before=p.include(path)), {path: pad % p.bad})


@_change("include", "of a file with another suffix, which has the struct now")
def _(p: Project) -> Change:
    path = p.path_beside(f"{p.name()}{p.chance.choice(('.inc', '.inl', '.def', '.tpl', '.txt', '', '.hh', '.c.in'))}")
    return Change(p.files(p.struct(p.good)), {p.header: p.header_text(p.include(path)), path: p.struct(p.bad)})


@_change("include", "of a file with another suffix, which had it before")
def _(p: Project) -> Change:
    path = p.path_beside(f"{p.name()}{p.chance.choice(('.inc', '.inl', '.def', '.tpl', '.txt', '', '.c.in'))}")
    return Change(p.files(p.include(path), {path: p.struct(p.good)}), {path: p.struct(p.bad)})


@_change("include", "by a macro")
def _(p: Project) -> Change:
    path, name = p.path_beside(f"{p.name()}.h"), p.name().upper()
    spelled = f'"{path.rpartition("/")[2]}"' if p.is_kernel else p.include(path).split()[1]  # `linux` is a macro of gcc
    line = f"#define {name} {spelled}\n#include {name}\n"
    plain = p.chance.random() < 0.5
    base = p.files(p.struct(p.good)) if plain else p.files(line, {path: p.struct(p.good)})
    return Change(base, {p.header: p.header_text(line), path: p.struct(p.bad)} if plain else {path: p.struct(p.bad)})


@_change("include", "of a new header before another of this name")
def _(p: Project) -> Change:
    name, inner = f"{p.name()}.h", p.name()
    p.header = p.path_beside(f"deep/{inner}.h")
    text = f"struct {p.tag} {{\n{p.members(f'struct {inner} {p.pad};')}}};\n"
    pad = f"struct {inner} {{ char bytes[%d]; }};\n"
    base = p.files(text, {p.path_beside(name): pad % p.good}, before=f'#include "{"linux/" if p.is_kernel else ""}{name}"\n')
    return Change(base, {p.path_beside(f"deep/linux/{name}" if p.is_kernel else f"deep/{name}"): pad % p.bad})


@_change("include", "of a source", unseen=("kernel tree", NO_KERNEL_INPUT), reason=_ELSEWHERE)
def _(p: Project) -> Change:
    path = f"{p.sources}/{p.name()}.c"
    base = p.files("", {path: p.struct(p.good)}, after=f'#include "{path.rpartition("/")[2]}"\n')
    if p.chance.random() < 0.5:
        base = p.files(p.struct(p.good))
        return Change(base, {p.header: p.header_text(""), path: p.struct(p.bad), p.unit: p.unit_text(after=f'#include "{path.rpartition("/")[2]}"\n')})
    return Change(base, {path: p.struct(p.bad)})


@_change("include", "that is far away")
def _(p: Project) -> Change:
    paths = [p.path_beside(f"{p.name()}.h") for _ in range(p.chance.randint(2, 12))]
    chain: Files = {path: p.header_text(p.include(after)) for path, after in pairwise(paths)}
    return Change(p.files(p.include(paths[0]), {**chain, paths[-1]: p.header_text(p.struct(p.good))}), {paths[-1]: p.header_text(p.struct(p.bad))})


@_change("include", "with comments and continued lines")
def _(p: Project) -> Change:
    path = p.path_beside(f"{p.name()}.h")
    line = p.chance.choice(("/* a */ # /* b */ include /* c */ @ /* d */\n", "#\\\ninclude \\\n  @\n", "%:include @\n", "#  include@ // more\n"))
    text = line.replace("@", p.include(path).split()[1])
    return Change(p.files(text, {path: p.struct(p.good)}), {path: p.struct(p.bad)})


@_change("include", "that depends on whether a file is there")
def _(p: Project) -> Change:
    path = p.path_beside(f"{p.name()}.h")
    name = p.include(path).split()[1]
    text = f"#if __has_include({name})\n{p.struct(p.bad)}#else\n{p.struct(p.good)}#endif\n"
    return Change(p.files(text), {path: p.header_text("")})


@_change("include", "twice, with other macros", unseen=("none", NO_KERNEL_INPUT), reason="the header is judged by itself")
def _(p: Project) -> Change:
    path, name = p.path_beside(f"{p.name()}.h"), p.name().upper()
    text = f"#define {name} {p.tag}x\n{p.include(path)}#undef {name}\n#define {name} {p.tag}\n{p.include(path)}#undef {name}\n"
    body = f"struct {name} {{\n%s}};\n"
    return Change(p.files(text, {path: body % p.members(p.gap(p.good))}), {path: body % p.members(p.gap(p.bad))})


@_change("include", "of a file that git does not track")
def _(p: Project) -> Change:
    path = p.path_beside(f"gen/{p.name()}.h")
    return Change(p.files(p.struct(p.good), {".gitignore": "gen\n"}), {p.header: p.header_text(p.include(path)), path: p.struct(p.bad)})


@_change("include", "of a file with an odd name")
def _(p: Project) -> Change:
    path = p.path_beside(p.chance.choice(("a b.h", "\u00fc.h", "-x.h", "a'b.h", "a\tb.h", "x;y.h", "%s.h", "a&b.h", "#.h", "...h", "x.H", "a,b.h")))
    line = p.include(path)
    plain = p.chance.random() < 0.5
    base = p.files(p.struct(p.good)) if plain else p.files(line, {path: p.struct(p.good)})
    return Change(base, {p.header: p.header_text(line), path: p.struct(p.bad)} if plain else {path: p.struct(p.bad)})


@_change("include", "of a file in a folder that searches may leave out", unseen=("kernel tree", NO_KERNEL_INPUT), reason=_ELSEWHERE)
def _(p: Project) -> Change:
    folder = p.chance.choice((".hidden", "build", "out", "node_modules", "vendor", "third_party", "test", "Documentation", "tools", "scripts", "samples", ".git2", "CVS", "uapi"))
    path = f"{folder}/{p.name()}.h"
    line = f'#include "{"../" * (p.folder.count("/") + 1)}{path}"\n'
    plain = p.chance.random() < 0.5
    base = p.files(p.struct(p.good)) if plain else p.files(line, {path: p.struct(p.good)})
    return Change(base, {p.header: p.header_text(line), path: p.struct(p.bad)} if plain else {path: p.struct(p.bad)})


@_change("include", "of a header with attributes of git")
def _(p: Project) -> Change:
    words = p.chance.choice(("export-ignore", "-text", "text eol=crlf", "binary", "ident", "export-subst", "filter=none", "merge=ours", "-diff", "linguist-generated"))
    return Change(p.files(p.struct(p.good)), {".gitattributes": f"*.h {words}\n", p.header: p.header_text(p.struct(p.bad))})


@_change("include", "of itself")
def _(p: Project) -> Change:
    name = p.name().upper()
    opening = f"#ifndef {name}\n#define {name}\n{p.include(p.header)}#else\n#ifndef {name}_DONE\n#define {name}_DONE\n"
    return Change(p.files(p.struct(p.good)), {p.header: f"{opening}{p.struct(p.bad)}#endif\n#endif\n"})


@_change("include", "of a header of more than 4 MiB")
def _(p: Project) -> Change:
    long = "/* " + "x" * 76 + " */\n"
    return Change(p.files(p.struct(p.good)), {p.header: p.header_text(long * 53_000 + p.struct(p.bad))})


# Links


@_change("link", "in place of the header")
def _(p: Project) -> Change:
    path = p.path_beside(f"{p.name()}{p.chance.choice(('.h', '.h.new', '.txt'))}")
    return Change(p.files(p.struct(p.good)), {p.header: Link(path.rpartition("/")[2]), path: p.header_text(p.struct(p.bad))})


@_change("link", "to another file than before")
def _(p: Project) -> Change:
    good, bad = (p.path_beside(f"{p.name()}{p.chance.choice(('.h', '.old'))}") for _ in range(2))
    inner = p.name()
    link = p.path_beside(f"{inner}.h")
    pad = f"struct {inner} {{ char bytes[%d]; }};\n"
    text = f"struct {p.tag} {{\n{p.members(f'struct {inner} {p.pad};')}}};\n"
    base = p.files(text, {good: pad % p.good, bad: pad % p.bad, link: Link(good.rpartition("/")[2])}, before=p.include(link))
    return Change(base, {link: Link(bad.rpartition("/")[2])})


@_change("link", "whose file changes")
def _(p: Project) -> Change:
    path = f"real_{p.name()}{p.chance.choice(('.h', '.txt', ''))}"
    base = p.files("", {p.header: Link("../" * (p.folder.count("/") + 1) + path), path: p.struct(p.good)})
    return Change(base, {path: p.struct(p.bad)})


@_change("link", "of links")
def _(p: Project) -> Change:
    names = [f"{p.name()}.h" for _ in range(3)]
    chain: Files = {p.path_beside(name): Link(after) for name, after in pairwise(names)}
    return Change(p.files(p.struct(p.good)), {p.header: Link(names[0]), **chain, p.path_beside(names[-1]): p.header_text(p.struct(p.bad))})


@_change("link", "in place of a folder of headers")
def _(p: Project) -> Change:
    inner = p.name()
    folder, other = p.path_beside(f"d{inner}"), p.path_beside(f"e{inner}")
    text = f"struct {p.tag} {{\n{p.members(f'struct {inner} {p.pad};')}}};\n"
    pad = f"struct {inner} {{ char bytes[%d]; }};\n"
    base = p.files(text, {f"{folder}/x.h": pad % p.good, f"{other}/x.h": pad % p.bad}, before=p.include(f"{folder}/x.h"))
    return Change(base, {f"{folder}/x.h": None, folder: Link(f"e{inner}")})


@_change("link", "in place of the folder of units", projects=(False,))
def _(p: Project) -> Change:
    other, broken = f"new_{p.sources}", p.header_text(p.struct(p.bad))
    moved: Files = {p.unit: p.unit_text(), p.other: "", **({p.header: broken, p.junk_header: ""} if p.folder == p.sources else {})}
    changed: Files = {p.sources: Link(other), **({} if p.header in moved else {p.header: broken})}
    return Change(p.files(p.struct(p.good)), {**changed, **{path.replace(p.sources, other, 1): text for path, text in moved.items()}})


@_change("link", "in place of the unit", projects=(False,))
def _(p: Project) -> Change:
    path = f"{p.sources}/{p.name()}.c"
    text = p.struct(p.bad) + f"struct {p.tag} {p.name()};\n"
    return Change(p.files(p.struct(p.good)), {p.unit: Link(path.rpartition("/")[2]), path: text, p.header: None})


# Namesakes


@_change("namesake", "that is good, in a new unit", projects=(False,))
def _(p: Project) -> Change:
    path = f"{p.sources}/{p.chance.choice('am')}{p.name()}.c"
    new = f"{p.struct(p.good)}struct {p.tag} {p.name()};\n"
    return Change(p.files(p.struct(p.good)), {p.header: p.header_text(p.struct(p.bad)), path: new}, units=(path, p.unit))


@_change("namesake", "that is good, in a new header")
def _(p: Project) -> Change:
    path = p.path_beside(f"{p.chance.choice('az')}{p.name()}.h")
    return Change(p.files(p.struct(p.good)), {p.header: p.header_text(p.struct(p.bad)), path: p.header_text(p.struct(p.good))})


@_change("namesake", "that was there and is good")
def _(p: Project) -> Change:
    path = p.path_beside(f"{p.chance.choice('az')}{p.name()}.h")
    return Change(p.files(p.struct(p.good), {path: p.header_text(p.struct(p.good))}), {p.header: p.header_text(p.struct(p.bad))})


@_change("namesake", "that is good, in a function")
def _(p: Project) -> Change:
    local = f"static inline unsigned long {p.name()}(void) {{\n{p.struct(p.good)}\treturn sizeof(struct {p.tag});\n}}\n"
    return _turn(p, lambda n: local + p.struct(n))


@_change("namesake", "that is good, in another branch of #if")
def _(p: Project) -> Change:
    name = p.name().upper()
    return _turn(p, lambda n: f"#ifdef {name}\n{p.struct(p.good)}#else\n{p.struct(n)}#endif\n")


@_change("namesake", "in another build of the same text", projects=(False,))
def _(p: Project) -> Change:
    path, name = f"{p.sources}/{p.name()}.c", p.name().upper()
    text = f"#ifdef {name}\n{p.struct(p.bad)}#else\n{p.struct(p.good)}#endif\n"
    change = Change(p.files(p.struct(p.good), {path: p.unit_text()}, units=(path,)), {p.header: p.header_text(text), p.unit: p.unit_text(before=f"#define {name}\n")})
    change.units = (p.unit, path)
    return change


@_change("namesake", "that is a typedef of another struct", is_pattern=False)
def _(p: Project) -> Change:
    return _turn(p, lambda n: f"typedef {p.struct(p.good, p.name()).rstrip()[:-1]} {p.tag};\n{p.struct(n)}")


@_change("namesake", "that is not complete")
def _(p: Project) -> Change:
    return _turn(p, lambda n: f"struct {p.tag};\nextern struct {p.tag} *{p.name()};\n{p.struct(n)}struct {p.tag};\n")


@_change("namesake", "that is broken, in a new unit", projects=(False,), unseen=("file",), reason="the file given is another")
def _(p: Project) -> Change:
    path = f"{p.sources}/{p.name()}.c"
    return Change(p.files(p.struct(p.good)), {path: f"{p.struct(p.bad)}struct {p.tag} {p.name()};\n"}, units=(p.unit, path))


@_change("namesake", "that is broken, in a function of the unit", projects=(False,))
def _(p: Project) -> Change:
    local = f"unsigned long {p.name()}(void) {{\n{p.struct(p.bad)}\tstatic struct {p.tag} x;\n\treturn (unsigned long)&x;\n}}\n"
    return Change(p.files(p.struct(p.good)), {p.unit: p.unit_text() + local})

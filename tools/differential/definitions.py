"""Random forms of definitions: a database and a folder judge what each file alone shows, and what gcc lays out.

    python -m tools.differential.definitions --cases 2000 --seed 1

A case is one source with a header that defines a struct called `NAME_ring`: by its tag or a typedef, with comments,
attributes, directives and continued lines at random places, made by macros, of joined words, or with a body or a header of
another suffix from `#include`. The size that gcc gives a variable of it (in the symbol table of the object) is that of the
file alone; the database and the folder of many such sources must show the same structs for the pattern `*_ring`, and for the
names.
"""

from __future__ import annotations

import json
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import clang
from tools.differential import options

PER_FOLDER = 40
_GAPS = (
    " ", "  ", "\n", "\t", " /* c */ ", "/**/", " // c\n", " \\\n", "\n#ifdef GONE\n#endif\n", " /* struct x { */ ",
    "\n#if 1\n#endif\n", " /* a\n * b\n */ ", "\n\n",
)  # fmt: skip
_ATTRIBUTES = (
    "", "", "__attribute__((packed))", "__attribute__((aligned(16)))", "[[gnu::aligned(8)]]", "PACKED", "ALIGNED(32)",
    "__attribute__((packed,\n aligned(4)))", f"__attribute__((annotate(\"{'y' * 120}\"), aligned(8)))",
)  # fmt: skip
_HEAD = "#define PACKED __attribute__((packed))\n#define ALIGNED(n) __attribute__((__aligned__(n)))\n"
_MEMBERS = ("char c{0};", "int i{0};", "long l{0};", "short s{0}[3];", "void *p{0};", "unsigned b{0} : 5;", "struct {{ char x; int y; }} n{0};")
_NUMBER = re.compile(r"q\d+")
Shape = tuple[str, int]
"""The first part of a name, and a size in bits."""


@dataclass(frozen=True, slots=True)
class Case:
    """A struct, the texts that define it by their names, and the type by which C refers to it."""

    name: str
    texts: dict[str, str]
    spelled: str
    form: str


@dataclass(slots=True)
class Result:
    """How many cases had which form, and what differs."""

    counts: Counter[str]
    wrong: list[str]


def draw(chance: random.Random, number: int) -> Case:
    """A random case; `number` makes its names differ from those of others."""
    name, stem = f"q{number}_ring", f"q{number}"
    form = chance.choice(tuple(_FORMS))
    gap = lambda: chance.choice(_GAPS)  # noqa: E731
    members = " ".join(chance.choice(_MEMBERS).format(i) for i in range(chance.randrange(1, 6)))
    attribute = chance.choice(_ATTRIBUTES)
    more: dict[str, str] = {}
    text = _FORMS[form](name, stem, members, attribute, gap, more)
    is_typedef = form.startswith("typedef")
    suffix = chance.choice((".h", ".h", ".inc", ".tbl", ".def", ".xyz"))
    header = f"{stem}{suffix}"
    if chance.random() < 0.2:  # and its name comes from a macro
        source = f'#define OWN "{header}"\n#include OWN\n'
    else:
        source = f'#include{chance.choice((" ", "  ", " /* c */ "))}"{header}"\n'
    spelled = name if is_typedef else f"struct {name}"
    more |= {header: _HEAD + text + "\n", f"{stem}.c": f"{source}{spelled} v;\n"}
    return Case(name, more, spelled, form)


def _plain(name, stem, members, attribute, gap, more):
    return f"struct{gap()}{attribute}{gap()}{name}{gap()}{{{gap()}{members}{gap()}}}{gap()};"


def _continuation(name, stem, members, attribute, gap, more):
    at = len(name) // 2
    return f"str\\\nuct {attribute} {name[:at]}\\\n{name[at:]}{gap()}{{ {members} }};"


def _late_attribute(name, stem, members, attribute, gap, more):
    return f"struct{gap()}{name}{gap()}{{ {members} }}{gap()}{attribute.replace('[[gnu::aligned(8)]]', '')};"


def _digraphs(name, stem, members, attribute, gap, more):
    return f"struct{gap()}{name}{gap()}<%{gap()}{members} %>;"


def _macro(name, stem, members, attribute, gap, more):
    return f"#define MAKE_{stem}(name, ...) struct {attribute.replace(chr(10), '')} name {{ __VA_ARGS__ }}\nMAKE_{stem}({name}, {members});"


def _object_macro(name, stem, members, attribute, gap, more):
    return f"#define ALL_{stem} struct {name} {{ {members} }}\nALL_{stem};"


def _paste(name, stem, members, attribute, gap, more):
    return f"#define JOIN_{stem}(a) struct a##_ring {{ {members} }}\nJOIN_{stem}({stem});"


def _joined_twice(name, stem, members, attribute, gap, more):
    return f"#define CAT_(a, b) a##b\n#define CAT(a, b) CAT_(a, b)\nstruct{gap()}CAT(CAT(q, {stem[1:]}), _ring){gap()}{{ {members} }};"


def _new_name(name, stem, members, attribute, gap, more):
    return f"#define other_{stem} {name}\nstruct{gap()}other_{stem}{gap()}{{ {members} }};"


def _keyword(name, stem, members, attribute, gap, more):
    return f"#define KEY_{stem} struct\nKEY_{stem}{gap()}{name}{gap()}{{ {members} }};"


def _brace(name, stem, members, attribute, gap, more):
    return f"#define OPEN_{stem} {{\nstruct{gap()}{name}{gap()}OPEN_{stem} {members} }};"


def _included_body(name, stem, members, attribute, gap, more):
    more[f"{stem}_body.inc"] = f"{{ {members} }}\n"
    return f'struct{gap()}{name}\n#include "{stem}_body.inc"\n;'


def _included_members(name, stem, members, attribute, gap, more):
    more[f"{stem}_body.def"] = f"{members}\n"
    return f'struct{gap()}{name}{gap()}{{\n#include "{stem}_body.def"\n}};'


def _inner(name, stem, members, attribute, gap, more):
    return f"struct outer_{stem} {{ struct{gap()}{name}{gap()}{{ {members} }} inner; }};"


def _in_declaration(name, stem, members, attribute, gap, more):
    return f"extern struct{gap()}{name}{gap()}{{ {members} }} *first_{stem}(int (*)(void));"


def _typedef_own(name, stem, members, attribute, gap, more):
    return f"typedef{gap()}struct{gap()}{{ {members} }}{gap()}{name}{gap()};"


def _typedef_elsewhere(name, stem, members, attribute, gap, more):
    return f"struct x_{stem} {{ {members} }};\ntypedef{gap()}struct{gap()}x_{stem}{gap()}{name};"


def _typedef_before(name, stem, members, attribute, gap, more):
    return f"typedef{gap()}struct x_{stem}{gap()}{name};\nstruct x_{stem} {{ {members} }};"


def _typedef_of_typedef(name, stem, members, attribute, gap, more):
    return f"typedef struct {{ {members} }} x_{stem};\ntypedef{gap()}x_{stem}{gap()}{name};"


def _typedef_turned(name, stem, members, attribute, gap, more):
    return f"struct x_{stem} {{ {members} }};\nstruct x_{stem}{gap()}typedef{gap()}({name});"


def _typedef_joined(name, stem, members, attribute, gap, more):
    return f"#define TYPE_{stem}(a) typedef struct {{ {members} }} a##_ring\nTYPE_{stem}({stem});"


def _typedef_typeof(name, stem, members, attribute, gap, more):
    return f"struct x_{stem} {{ {members} }};\nextern struct x_{stem} y_{stem};\ntypedef __typeof__(y_{stem}){gap()}{name};"


_FORMS = {each.__name__.strip("_"): each for each in (
    _plain, _continuation, _late_attribute, _digraphs, _macro, _object_macro, _paste, _joined_twice, _new_name, _keyword, _brace,
    _included_body, _included_members, _inner, _in_declaration, _typedef_own, _typedef_elsewhere, _typedef_before,
    _typedef_of_typedef, _typedef_turned, _typedef_joined, _typedef_typeof,
)}  # fmt: skip


def _shapes(path: Path, wanted: Wanted) -> set[Shape]:
    reading = clang.read(str(path), wanted, ReadOptions(finds_omissions=True, jobs=2))
    return {
        (_NUMBER.search(struct.name)[0], struct.bit_size)  # a typedef's struct has the name of its tag
        for struct in reading.structs
        if struct.bit_size is not None
    }


def _size_of_gcc(folder: Path, stem: str) -> int | None:
    """The bits of the variable `v` in gcc's object; None if gcc refuses the text."""
    built = subprocess.run(["gcc", "-w", "-std=gnu2x", "-c", f"{stem}.c", "-o", f"{stem}.o"], cwd=folder, capture_output=True, check=False)
    if built.returncode:
        return None
    lines = subprocess.run(["nm", "-S", f"{stem}.o"], cwd=folder, capture_output=True, text=True, check=True).stdout.splitlines()
    sizes = [int(line.split()[1], 16) for line in lines if line.endswith(" v") and len(line.split()) == 4]
    return 8 * sizes[0] if sizes else 0


def _examine_folder(folder: Path, cases: Sequence[Case], result: Result) -> None:
    alone: set[Shape] = set()
    used = []
    for case in cases:
        stem = case.name.partition("_")[0]
        for name, text in case.texts.items():
            (folder / name).write_text(text)
        size = _size_of_gcc(folder, stem)
        if size is None:
            result.counts["refused by gcc"] += 1
            for name in case.texts:
                (folder / name).unlink()
            continue
        own = _shapes(folder / f"{stem}.c", Wanted(patterns=("*_ring",)))
        if size and own != {(stem, size)}:
            result.wrong.append(f"{case.form}: {case.name} alone is {own}, gcc has {size}")
        alone |= own
        used.append(case)
        result.counts[case.form] += 1
    wanted = Wanted(frozenset(case.name for case in used))
    shown = {"folder": _shapes(folder, Wanted(patterns=("*_ring",))), "folder by name": _shapes(folder, wanted)}
    entries = [{"directory": str(folder), "file": f"{case.name.partition('_')[0]}.c", "arguments": ["gcc", "-std=gnu2x", "-c", "x.c"]} for case in used]
    (folder / "compile_commands.json").write_text(json.dumps(entries))
    database = folder / "compile_commands.json"
    shown |= {"database": _shapes(database, Wanted(patterns=("*_ring",))), "database by name": _shapes(database, wanted)}
    for what, shapes in shown.items():
        if shapes != alone:
            result.wrong.append(f"{what}: {sorted(alone ^ shapes)}")


def examine(cases: int, seed: int) -> Result:
    """Compare random cases."""
    chance, result = random.Random(seed), Result(Counter(), [])
    drawn = [draw(chance, number) for number in range(cases)]
    for start in range(0, cases, PER_FOLDER):
        with tempfile.TemporaryDirectory() as folder:
            _examine_folder(Path(folder), drawn[start : start + PER_FOLDER], result)
    return result


def main(words: Sequence[str] | None = None) -> int:
    """Print the forms, and what differs."""
    given = options.parse("definitions", __doc__, words)
    result = examine(given.cases, given.seed)
    print(*(f"{count:6} {form}" for form, count in sorted(result.counts.items())), sep="\n")
    print(*result.wrong, sep="\n")
    print(f"{sum(result.counts.values())} cases, {len(result.wrong)} wrong")
    return bool(result.wrong)


if __name__ == "__main__":
    sys.exit(main())

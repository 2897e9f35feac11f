"""Whether headers mean the same in another order: the tokens that gcc's preprocessor makes of them decide."""

from __future__ import annotations

import random
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from layoutlint.model.record import replace
from layoutlint.readers.clang import include_order, libclang, parse, shared_headers
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.macro_uses import MacroUses
from layoutlint.readers.clang.parse import Unit
from tests.harness.effort import draws
from tests.harness.tools import need

TEXTS = {
    "names and what is none": (b"int a; /* b */ // c\n\"d\" 'e' 1f 0x2 g1\n", "int a g1"),
    "a comment of several lines": (b"/* a\n# define b\n*/ c", "c"),
    "a definition": (b"#define A(x) b + \\\n  c\n# undef D\nA", "A; defines A D; first A D; without D"),
    "a definition behind its use": (b"A\n#define A 1\n", "A; defines A"),
    "a definition with a comment that goes on": (b"#define A 1 /* x\n#define B\n*/\nC", "C; defines A; first A"),
    "a definition with a quote in a comment": (b"#define A 1 // don't\nC", "C; defines A; first A"),
    "a definition with quotes": (b"#define A \"/*\" '\"'\nC", "C; defines A; first A"),
    "questions": (b"#ifdef A\n#elifndef B\n#if defined(C) && !defined D && E\n#endif", "E; asks A B C D"),
    "a question over two lines": (b"#if defined \\\n (A) || \\\r\n B\nC", "B C; asks A"),
    "a directive behind a comment": (b"/* a */ # /* b */ ifdef /* c */ A\n", "; asks A"),
    "no directive": (b"a # define B\n", "a define B"),
    "other directives": (b"#pragma a\n#error b's\n#line 3 \"c\"\n#else d\nE", "E"),
    "an include": (b"A\n#include <b.h>\nC\n#include_next \"d.h\" // e\n", "A | C |"),
    "the end of the text": (b"#define A", "; defines A; first A"),
    "the end in a comment": (b"a /* b", "a"),
    "the end in a string": (b"a \"b\\", "a"),
    "ends of lines of Windows": (b"#define A b \\\r\n c\r\n#ifdef D\r\n", "; asks D; defines A; first A"),
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_what_a_text_does_with_macros(name: str) -> None:
    text, expected = TEXTS[name]
    pieces = []
    for named, asked, defined, settled, undefined in MacroUses(text).pieces:
        kinds = (("asks", asked), ("defines", defined), ("first", settled), ("without", undefined))
        rest = "".join(f"; {kind} {b' '.join(sorted(some)).decode()}" for kind, some in kinds if some)
        pieces.append(" ".join(word for word in words(text) if word.encode() in named) + rest)
    assert " | ".join(pieces).strip() == expected.strip()


def words(text: bytes) -> list[str]:
    """Return the words of a text in its order, each once."""
    return list(dict.fromkeys(text.translate(include_order._WORDS).decode().split()))


GUARDS = {
    "a macro": (b"/* c */\n// d\n#ifndef A_H\n#define A_H\nint x;\n#endif\n", 13),
    "a macro, asked otherwise": (b"#if !defined(A_H) /* x */\n\n# define A_H 1\n#endif\n", 0),
    "once": (b"\n#pragma once\n", 1),
    "a condition more": (b"#if !defined(A_H) || defined(AGAIN)\n#define A_H\n#endif\n", None),
    "another macro": (b"#ifndef A_H\n#define B_H\n#endif\n", None),
    "a default": (b"#ifndef A\n#define A 1\n#endif\n#define B\nint x;\n", None),
    "code in front": (b"int x;\n#ifndef A_H\n#define A_H\n#endif\n", None),
    "none": (b"int x;\n", None),
}


@pytest.mark.parametrize("name", GUARDS)
def test_what_keeps_a_text_from_being_read_again(name: str) -> None:
    text, at = GUARDS[name]
    assert include_order.guard_of(text) == at


NAMES = "PQRSTUVW"


def lines(chance: random.Random, file: str, others: list[str]) -> Iterator[str]:
    """Yield the lines of a random text, with marks that show what macros are where they stand."""
    for number in range(chance.randint(2, 6)):
        name, other = chance.sample(NAMES, 2)
        mark = f"mark_{file}_{number}"
        match chance.randrange(11):
            case 0 | 1 if others:
                yield f'#include "{chance.choice(others)}"'
            case 2:
                yield f"#define {name} {chance.randint(0, 2)}"
            case 3:
                yield f"#define {name} {other}"
            case 4:
                yield f"#undef {name}"
            case 5:
                yield f"#ifdef {name}\nextern int {mark}_yes;\n#else\nextern int {mark}_no;\n#endif"
            case 7:
                yield f"#if defined {name} && !{name}\n#undef {other}\n#define {other} {name}\n#else\n#define {other} 3\n#endif"
            case 8 if others:
                yield f'#ifdef {name}\n#include "{chance.choice(others)}"\n#endif'
            case 6:
                yield f"#ifndef {name}\n#define {name} {other}\n#endif"
            case _:
                yield f"extern int {mark}[1 + sizeof({name})]; /* {other} */"


def project(folder: Path, seed: int) -> list[Path]:
    """Write random headers and sources that include them; return the sources."""
    chance = random.Random(seed)
    (folder / "names.h").write_text(f"enum {{ {', '.join(NAMES)} }};\n")
    headers: list[str] = []
    for number in range(chance.randint(3, 7)):
        name = f"h{number}.h"
        body = "\n".join(lines(chance, f"h{number}", headers))
        is_guarded = chance.random() < 0.8
        (folder / name).write_text(f"#ifndef H{number}\n#define H{number}\n{body}\n#endif\n" if is_guarded else f"{body}\n")
        headers.append(name)
    sources = []
    for number in range(8):
        some = chance.sample(headers, chance.randint(2, len(headers)))
        own = list(lines(chance, f"u{number}", []))
        text = [f'#include "{name}"' for name in some]
        for line in own:
            text.insert(len(text) if chance.random() < 0.8 else chance.randint(0, len(text)), line)
        (folder / f"u{number}.c").write_text("\n".join(text) + "\n")
        sources.append(folder / f"u{number}.c")
    return sources


def marked_lines(text: str, folder: Path) -> set[str]:
    """Return the marked lines that gcc makes of a text, and what their macros became."""
    done = subprocess.run(["gcc", "-E", "-P", "-include", "names.h", "-x", "c", "-"], input=text, cwd=folder, capture_output=True, text=True, check=True)
    return {line.strip() for line in done.stdout.splitlines() if "mark_" in line}


def verdicts(folder: Path, sources: list[Path]) -> Iterator[tuple[Path, str, bool]]:
    """Yield each source, its text behind the headers of all, and whether it is said to mean the same."""
    lib = libclang.library()
    flags = ("-xc", "-w", f"-I{folder}", "-include", f"{folder}/names.h")
    units = [Unit(str(path), flags, str(folder), (str(folder),), path.name) for path in sources]
    for shared in shared_headers.find(units):
        stream = Messages()
        beginning = replace(shared.beginning, flags=(*flags, "-H"))
        options = 0x200 | libclang.PREAMBLE_OPTIONS | shared_headers.RECORD_OPTION
        with parse.parse_unit(lib, beginning, stream, options) as handle:
            headers = shared_headers.read_headers(lib, handle, shared)
            if headers is None:
                continue
            for path, unit in zip(sources, units, strict=True):
                stream.begin_unit()
                rest = shared.rest_of(unit)
                parse.reparse(lib, handle, rest.unit, stream)
                entered = [lib.clang_getFile(handle, name.encode()) for name in stream.entered_files() or ()]
                is_same = shared_headers.means_the_same(lib, handle, headers, rest, entered) is not None
                behind = "".join(f"#include {name.decode()}\n" for name in shared.includes) + path.read_text()
                yield path, behind, is_same and not shared_headers.has_errors(lib, handle, rest.unit)


def count_alike(tmp_path: Path, seeds: range, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """Try random projects; return how many units were judged, and how many of them mean the same."""
    need("gcc")
    if libclang.native is None:
        pytest.skip("headers are only shared by compiled modules")
    monkeypatch.setattr(shared_headers, "_SMALLEST", 0)
    count = same = 0
    for seed in seeds:
        folder = tmp_path / str(seed)
        folder.mkdir()
        for path, behind, is_same in verdicts(folder, project(folder, seed)):
            count += 1
            if is_same:
                same += 1
                alone = marked_lines(path.read_text(), folder)
                assert alone <= marked_lines(behind, folder), (seed, path.name)
    return count, same


def test_random_headers_in_other_orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count, same = count_alike(tmp_path, range(40), monkeypatch)
    assert 0 < same < count


@pytest.mark.exhaustive
def test_many_random_headers_in_other_orders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    count, same = count_alike(tmp_path, range(1000, 1000 + draws(300, 5000)), monkeypatch)
    assert 0 < same < count

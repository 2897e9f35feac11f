"""Hold archives and folders with members of all formats against a program that prints the layouts in them.

    python -m tools.differential.archives --cases 1000 --seed 1

A case is an archive, or a folder of modules, with objects that define a struct in random layouts, and beside them compiled
files of other formats, which have to be reported one by one, and files that are none of its business.
"""

from __future__ import annotations

import json
import random
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.harness.command import run
from tests.readers.archives import made
from tools.differential import options

TEXT = "struct s { int a; char r[%d]; int b; }%s v; int f(int n) { return v.b + n; }\n"
FOREIGN = {
    # what compiles a member of another format, and what the report says of it
    "bitcode": ("clang -flto -c", "is LLVM bitcode"),
    "wrapped bitcode": ("clang --target=arm64-apple-macos -flto -c", "is LLVM bitcode"),
    "Mach-O": ("clang --target=x86_64-apple-darwin -g -c", "is a Mach-O file"),
    "Mach-O of 32 bits": ("clang --target=armv7-apple-ios -g -c", "is a Mach-O file"),
    "wasm": ("clang --target=wasm32 -g -c", "is WebAssembly"),
    "COFF": ("x86_64-w64-mingw32-gcc -g -c", "is a COFF object"),
    "COFF of 32 bits": ("clang --target=i686-pc-windows-msvc -g -c", "is a COFF object"),
    "COFF for arm64": ("clang --target=aarch64-pc-windows-msvc -g -c", "is a COFF object"),
    "without -g": ("gcc -c", "has no debug information"),
    "slim": ("gcc -flto -g -c", "has no debug information"),
}
MADE = {
    "thin archive": (b"!<thin>\n//                                              8         `\na.o/\n\n\n\n", "is a thin archive"),
    "fat Mach-O": (b"\xca\xfe\xba\xbe\0\0\0\2" + bytes(40), "is a Mach-O file"),
    "big COFF": (b"\0\0\xff\xff\2\0\x64\x86" + bytes(60), "is a COFF object"),
    "no format": (b"\1\2\3\0" * 30, "is named like an object file"),
    "empty": (b"", "is named like an object file"),
}
OTHERS = {"README": b"text\n", "a.h": b"struct s { char c[60]; long a; };\n", "logo.png": b"\x89PNG\r\n\0\0", "A.class": b"\xca\xfe\xba\xbe\0\0\0\x34" + bytes(30)}
KINDS = ("ar", "tar", "tar.gz", "zip", "cpio", "deb", "rpm", "ar in tar", "folder")
_LINE, _LEAST = 64, 8


@dataclass(frozen=True, slots=True)
class Parts:
    """What archives are made of."""

    objects: tuple[tuple[bytes, str], ...]
    """Objects, each with the verdict that its facts give."""
    foreign: tuple[tuple[str, bytes, str], ...]
    """Members that are not read: which, the content, and the reason."""


def compile_parts(folder: Path, chance: random.Random) -> Parts:
    """Compile what there are compilers for."""
    objects = []
    for number in range(8):
        align = chance.choice(("", " __attribute__((aligned(64)))"))
        (folder / "s.c").write_text(TEXT % (chance.choice((1, 2, 4, 20, 51, 55, 70)), align))
        subprocess.run(("gcc", "-g", "-c", "s.c", "-o", f"{number}.o"), cwd=folder, check=True)
        objects.append(((folder / f"{number}.o").read_bytes(), _verdict(folder)))
    foreign = [(name, content, reason) for name, (content, reason) in MADE.items()]
    for name, (command, reason) in FOREIGN.items():
        words = (*command.split(), "s.c", "-o", "other.o")
        if shutil.which(words[0]) and not subprocess.run(words, cwd=folder, capture_output=True).returncode:
            foreign.append((name, (folder / "other.o").read_bytes(), reason))
    return Parts(tuple(objects), tuple(foreign))


def _verdict(folder: Path) -> str:
    """The verdict on `a` and `b` in one line, by the offsets that the compiler prints."""
    facts = "__builtin_offsetof(struct s, a), __builtin_offsetof(struct s, b) + 3, _Alignof(struct s)"
    (folder / "p.c").write_text(f'#include <stdio.h>\n#include "s.c"\nint main(void) {{ printf("%zu %zu %zu", {facts}); return 0; }}\n')
    subprocess.run(("gcc", "p.c", "-o", "p"), cwd=folder, check=True)
    first, last, align = map(int, subprocess.run([folder / "p"], check=True, capture_output=True, text=True).stdout.split())
    failing = [(base + first) // _LINE != (base + last) // _LINE for base in range(0, _LINE, max(align, _LEAST))]
    return "broken" if all(failing) else "at-risk" if any(failing) else "kept"


def build(kind: str, members: Sequence[tuple[str, bytes]], folder: Path) -> Path:
    """Write an archive, or a folder."""
    path = folder / f"case.{kind.replace(' ', '-')}"
    if kind == "folder":
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir()
        for name, content in members:
            (path / name).write_bytes(content)
        return path
    make = {
        "ar": made.ar, "tar": made.tar, "tar.gz": lambda given: made.tar(given, "gz"), "zip": made.zip_members,
        "cpio": made.cpio, "deb": made.deb, "rpm": made.rpm,
        "ar in tar": lambda given: made.tar((("lib/libs.a", made.ar(given)), ("README", b"text\n"))),
    }[kind]  # fmt: skip
    path.write_bytes(make(members))
    return path


def examine(parts: Parts, chance: random.Random, folder: Path) -> tuple[str, str]:
    """Make a case and ask; return its outcome by the facts, and what contradicts, empty for nothing."""
    kind = chance.choice(KINDS)
    end = ".ko" if kind == "folder" else ".o"
    own = chance.sample(parts.objects, chance.randint(1, 3))
    foreign = chance.sample(parts.foreign, chance.choice((0, 0, 1, 1, 2, 3)))
    members = [(f"o{number}{end}", content) for number, (content, _) in enumerate(own)]
    members += [(f"x{number}{end}", content) for number, (_, content, _) in enumerate(foreign)]
    members += [] if kind == "folder" else chance.sample([*OTHERS.items()], chance.randint(0, 3))
    chance.shuffle(members)
    path = build(kind, members, folder)
    done = run("check", path.name, "--rules", "rules.toml", "--no-packs", "--format", "json", cwd=folder)
    where = f"{kind} with {[name for name, _, _ in foreign]}"
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return "", f"{where}: status {done.returncode}: {done.stderr[:300]}"
    expected = {verdict for _, verdict in own}
    said = {each["outcome"] for each in (*report["findings"], *report["kept"])}
    unread = {name for part in report["unread"] for name in (part.get("files") or [part["origin"]])}
    named = {name.replace(":", "/").rpartition("/")[2] for name in unread}
    wanted = {f"x{number}{end}" for number in range(len(foreign))}
    status = 1 if expected - {"kept"} else 3 if foreign else 0
    outcome = f"{'/'.join(sorted(expected))}{', not read' if foreign else ''}"
    if (said, named, done.returncode) != (expected, wanted, status):
        return outcome, f"{where}: {said}, {named}, {done.returncode}, not {expected}, {wanted}, {status}"
    reasons = [reason for _, _, reason in foreign if kind != "folder" and reason not in done.stdout]
    return outcome, f"{where}: not said: {reasons}" if reasons else ""


def contradictions(count: int, seed: int) -> tuple[Counter[str], list[str]]:
    """Counts of the outcomes of random cases, and what contradicts them."""
    chance, counts, found = random.Random(seed), Counter[str](), list[str]()
    with TemporaryDirectory() as at:
        folder = Path(at)
        parts = compile_parts(folder, chance)
        rule = '[[rule]]\nid = "r"\nstruct = "s"\nkind = "together"\nfields = ["a", "b"]\nwhy = "a test"\n'
        (folder / "rules.toml").write_text(rule)
        for number in range(count):
            outcome, text = examine(parts, chance, folder)
            counts[outcome] += 1
            found += [f"seed {seed}, case {number}: {text}"] if text else []
    return counts, found


def main(words: Sequence[str] | None = None) -> int:
    """Print the counts, and what contradicts; 1 if anything does."""
    given = options.parse("archives", __doc__, words)
    counts, found = contradictions(given.cases, given.seed)
    print("\n".join(found))
    print(f"{given.cases} cases, seed {given.seed}: {dict(counts)}, {len(found)} contradictions")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())

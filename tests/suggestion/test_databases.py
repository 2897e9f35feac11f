"""Which units of a compilation database `suggest` reads a struct from, and what it does if others define it otherwise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.lint.options import Options
from layoutlint.model.reading import ReadOptions
from layoutlint.readers.clang import compdb
from layoutlint.suggestion import builds
from layoutlint.suggestion.builds import Request
from layoutlint.suggestion.run import suggest

HEADER = "struct in { char t; long u; };\nstruct s { char a; long b;\n#ifdef MORE\nlong c;\n#endif\nstruct in i; };\nlong get(struct s *);\n"
SOURCE = '#include "s.h"\nlong get%d(struct s *p) { return p->b; }\n'


def database(folder: Path, texts: dict[str, str], flags: dict[str, tuple[str, ...]]) -> str:
    for name, text in {"s.h": HEADER, **texts}.items():
        (folder / name).write_text(text)
    rows = [
        {"directory": str(folder), "file": name, "arguments": ["cc", *flags.get(name, ()), "-c", name, "-o", f"{name[:-2]}.o"]}
        for name in texts
    ]
    (folder / "compile_commands.json").write_text(json.dumps(rows))
    return str(folder / "compile_commands.json")


TEXTS = {f"{number}.c": SOURCE % number for number in range(3)}
MORE = {**TEXTS, "1.c": "#define MORE\n" + SOURCE % 1}


@pytest.mark.parametrize(("texts", "flags", "expected"), [
    (TEXTS, {}, 1), (TEXTS, {"2.c": ("-DN=1",)}, 3), (TEXTS, {"2.c": ("-DMORE",)}, None), (MORE, {}, None),
], ids=["equal flags", "other flags", "another definition by flags", "another definition by text"])  # fmt: skip
def test_units_that_are_read(tmp_path, monkeypatch, texts, flags, expected):
    """One if all have the same flags; that the others have the same definition shows when functions are read."""
    path = database(tmp_path, texts, flags)
    monkeypatch.chdir(tmp_path)
    read: list[int] = []
    run = compdb.parallel.run
    monkeypatch.setattr(compdb.parallel, "run", lambda units, *more: read.append(len(units)) or run(units, *more))
    options = Options(read=ReadOptions(cache=False, jobs=1))
    if expected is None:
        with pytest.raises(ReadError, match="2 different definitions of struct s"):
            suggest(path, Request("s"), (), (), options)
        return
    subject = builds.read_subject(path, "s", (), (), options)
    assert read[0] == expected
    assert suggest(path, Request("s"), (), (), options).status == "optimal"
    assert builds.unit_of(subject)[0] == "0.c"

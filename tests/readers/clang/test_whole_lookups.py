"""All that the log of answers gets from a unit: the files that libclang read, and the paths at which it can have looked.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from layoutlint.files import accesses
from layoutlint.files.accesses import Log
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import libclang, lookups, parse
from layoutlint.readers.clang.lookups import Messages
from layoutlint.readers.clang.parse import Unit
from tests.harness.repository import write

FILES = {
    "inc/a.h": '#include "b.h"\n#include "sub/c.h"\n', "inc/b.h": "int b;\n", "inc/sub/c.h": '#include "d.h"\n', "inc/sub/d.h": "int d;\n",
    "sys/b.h": "int other;\n", "sys/next.h": "int next;\n", "src/next.h": "#include_next <next.h>\n", "src/own.h": "int own;\n",
    "src/name.h": "int named;\n", "first.h": "int first;\n", "macros.h": "#define M 1\n",
}  # fmt: skip
ALL = ("-I", "inc", "-isystem", "sys", "-iquote", "quoted", "-idirafter", "after", "-Isys", "-Igone/deeper")
UNITS = {
    # the text of src/t.c, flags
    "nothing": ("int a;\n", ()),
    "no folders": ('#include "own.h"\n', ()),
    "quoted": ('#include "a.h"\n#include "own.h"\n', ALL),
    "angled": ("#include <a.h>\n#include <b.h>\n", ALL),
    "next": ('#include "next.h"\n', ("-Isrc", "-Isys")),
    "spaces": ('# \tinclude \t"own.h"\n#include"b.h"\n', ("-Iinc",)),
    "missing": ("#include <gone.h>\nint a;\n", ("-Iinc", "-Isys")),
    "missing in a folder": ('#include "gone/deeper.h"\n', ("-Iinc",)),
    "absolute": ('#include "FOLDER/inc/b.h"\n', ("-Iinc",)),
    "above": ('#include "../inc/b.h"\n', ("-Isys",)),
    "by a macro": ('#define NAME "name.h"\n#include NAME\n', ("-Iinc",)),
    "commented": ("#include/**/<b.h>\n#/**/include <a.h>\n", ("-Iinc",)),
    "import": ("#import <b.h>\n", ("-Iinc",)),
    "continued": ("#inc\\\nlude <b.h>\n", ("-Iinc",)),
    "continued at once": ("# \\\ninclude <b.h>\n", ("-Iinc",)),
    "probed": ("#if __has_include(<gone.h>) || __has_include (\"maybe.h\") || __has_include_next(<b.h>)\n#endif\n", ("-Iinc",)),
    "probed by a macro": ("#define NAME <b.h>\n#if __has_include(NAME)\n#endif\n", ("-Iinc",)),
    "other probes": ("#if __has_attribute(x) || __has_builtin(y)\n#endif\n", ("-Iinc",)),
    "in front": ("int a = M;\n", ("-include", "first.h", "-imacros", "macros.h", "-Iinc")),
    "embedded": ("#if 0\n#embed <x>\n#endif\n", ()),
    "has embed": ("#ifdef __has_embed\n#endif\n", ()),
    "digraph": ("%:include <b.h>\n", ("-Iinc",)),
    "trigraph": ("??=include <b.h>\n", ("-Iinc", "-trigraphs")),
    "module": ("#if 0\n#pragma clang module import x\n#endif\n", ()),
    "not an embed": ("int embed;\nint x <%:> = { 0 };\n", ()),
}  # fmt: skip


def show(log: Log, folder: Path) -> list[str]:
    """What the log has about files below a folder, and whether the digests are theirs."""
    top = f"{folder}/"
    lines = [f"kind {path.removeprefix(top)}: {kind}" for path, kind in sorted(log.kinds.items()) if path.startswith(top)]
    for path, (state, digest) in sorted(log.contents.items()):
        if path.startswith(top):
            is_right = digest == hashlib.sha256(Path(path).read_bytes()).hexdigest() and state == accesses.state_of(os.stat(path))
            lines.append(f"content {path.removeprefix(top)}: {is_right}")
    return [*lines, f"obstacle {log.obstacle}".replace(top, "")]


def log_of(folder: Path, unit: Unit, monkeypatch: pytest.MonkeyPatch) -> Log:
    monkeypatch.setattr(lookups, "_log_driver", lambda _: None)
    with accesses.log_answers() as log:
        parse.read(unit, Wanted(everything=True), False, Messages())
    return log


@pytest.mark.parametrize(("text", "words"), UNITS.values(), ids=UNITS)
def test_what_a_unit_looks_for(text, words, tmp_path, golden_row, monkeypatch):
    write(tmp_path, {**FILES, "src/t.c": text.replace("FOLDER", str(tmp_path))})
    unit = Unit(str(tmp_path / "src/t.c"), ("-xc", "-w", "-nostdinc", *words), str(tmp_path), (str(tmp_path),), "t.c")
    golden_row("\n".join(show(log_of(tmp_path, unit, monkeypatch), tmp_path)))


def test_a_text_that_is_not_on_disk(tmp_path, golden_row, monkeypatch):
    write(tmp_path, FILES)
    flags = ("-xc", "-w", "-nostdinc", "-Iinc")
    unit = Unit(str(tmp_path / "src/none.c"), flags, str(tmp_path), (str(tmp_path),), "none.c", '#include "b.h"\n#include <sub/c.h>\n')
    golden_row("\n".join(show(log_of(tmp_path, unit, monkeypatch), tmp_path)))


START, END = lookups._STARTS, lookups._ENDS
MESSAGES = {
    # what libclang prints: the folders
    "": None,
    f"{START}\n": None,
    f"{START}\n{END}\n": [],
    f"{START}\n /a\n /b c\n{END}\n /d\n": ["/a", "/b c"],
    f"x\n /y\n{START}\n /q\n#include <...> search starts here:\n /a\nnone\n{END}\n": ["/q", "/a"],
    f'ignoring nonexistent directory "/gone"\nignoring duplicate directory "/twice"\nignoring other "/x"\n{START}\n /a\n{END}\n': ["/gone", "/twice", "/a"],
    f"{START}\n /a\n{END}\n{START}\n /a\n{END}\n": ["/a"],
    f"{START}\n /a\n{END}\n{START}\n /b\n{END}\n": None,
    f"{START}\n /a\n{END}\n{START}\n /a\n": None,
    f"{START}\n /a\n /f (framework directory)\n{END}\n": None,
    f"{START}\n /m (headermap)\n{END}\n": None,
}


@pytest.mark.parametrize(("printed", "folders"), MESSAGES.items(), ids=range(len(MESSAGES)))
def test_the_include_folders_that_libclang_prints(printed, folders):
    messages = Messages()
    with messages.capture():
        os.write(2, printed.encode())
    assert messages.include_folders() == folders


DRIVER = {
    "etc/os-release": "ID=debian\n",
    "usr/lib/gcc/x86_64-linux-gnu/12/crtbegin.o": "",
    "usr/lib/gcc/x86_64-linux-gnu/13/other.o": "",
    "usr/lib/gcc/file": "",
    "usr/lib/gcc-cross/arm-linux-gnueabi/12/crtbegin.o": "",
    "usr/include/stdio.h": "",
    "usr/local/include/x.h": "",
}  # fmt: skip


@pytest.mark.parametrize("words", [
    ("--sysroot=FOLDER",), ("-isysroot", "FOLDER"), ("--sysroot", "FOLDER"), ("FOLDER", "-isysroot"), ("--sysroot=FOLDER", "-nostdinc"),
    ("-nostdlibinc", "-isysroot", "FOLDER"), ("-Ix", "--sysroot=FOLDER/usr"), ("-isysroot", "FOLDER/usr", "--sysroot", "FOLDER/gone"),
], ids=" ".join)  # fmt: skip
def test_where_the_driver_looks(words, tmp_path, golden_row):
    write(tmp_path, DRIVER)
    with accesses.log_answers() as log:
        lookups._log_driver(tuple(word.replace("FOLDER", str(tmp_path)) for word in words))
    top = f"{tmp_path}/"
    lines = [f"kind {path.removeprefix(top)}: {kind}" for path, kind in sorted(log.kinds.items()) if path.startswith(top)]
    lines += [f"listing {path.removeprefix(top)}" for path in sorted(log.listings) if path.startswith(top)]
    golden_row("\n".join(lines))
    is_all = not words[0].startswith("-nostd") and "-nostdinc" not in words
    assert {path for path in ("/usr", "/usr/include") if os.path.isdir(path)} & set(log.listings) == ({"/usr", "/usr/include"} if is_all else set())
    asked = {*log.contents, *log.states, *log.kinds}
    assert {path for path in lookups._DISTRIBUTION if os.path.isfile(path)} <= asked if is_all else not asked


@pytest.mark.parametrize("word", [*(f"{option}=x" for option in lookups._OTHER_TOOLCHAIN), "-DX=a\nb"])
def test_flags_with_which_the_places_are_unknown(word):
    unit = Unit("/src/t.c", ("-xc", word), "/src", ("/src",), "t.c")
    messages = Messages()
    with messages.capture():
        os.write(2, f"{START}\n{END}\n".encode())
    with accesses.log_answers() as log:
        lookups.log_unit(libclang.library(), 0, unit, messages)
    assert log.obstacle == "/src/t.c: its include folders are unknown"


def test_the_library_itself_is_part_of_the_answers(tmp_path, monkeypatch):
    (tmp_path / "t.c").write_text("int a;\n")
    unit = Unit(str(tmp_path / "t.c"), ("-xc", "-nostdinc"), str(tmp_path), (str(tmp_path),), "t.c")
    log = log_of(tmp_path, unit, monkeypatch)
    assert os.path.abspath(libclang.library()._name) in {*log.contents, *log.states}

"""What lies in the working folder is not run: no library beside the input, and no module of Python."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from clang.cindex import conf
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile

from layoutlint.readers.clang import libclang
from tests.harness.command import ROOT, run

CONSTRUCTOR = """
#include <fcntl.h>
#include <unistd.h>
__attribute__((constructor)) static void planted(void) { close(open(MARK, O_CREAT | O_WRONLY, 0600)); }
"""
RULES = '[[rule]]\nid = "small"\nstruct = "s"\nkind = "size"\nmax = 64\nwhy = "w"\n'
CASES = "[[case]]\nname = 'c'\ncode = 'struct s { long a, b; };'\nexpect = { small = 'kept' }\n"
MATRIX = '[build.one]\ninput = "x.h"\n[build.two]\ninput = "x.h"\nflags = ["-DN"]\n'
DATABASE = '[{"directory": "", "file": "x.c", "arguments": ["cc", "-c", "x.c"]}]'
COMMANDS = [
    ("show", "x.h", "s"),
    ("show", ".", "s"),
    ("show", "compile_commands.json", "s"),
    ("check", "x.h", "x.c", "--rules", "rules.toml"),
    ("check", "x.h", "x.c", "--rules", "rules.toml", "--jobs", "2"),
    ("check", "--matrix", "matrix.toml", "--rules", "rules.toml", "--jobs", "2"),
    ("containers", "x.h", "s"),
    ("rules", "asserts", "s", "--in", "x.h"),
    ("rules", "test", "rules.toml"),
    ("allocations", "x.c"),
]
BEFORE_X86_64 = (
    "",
    "tls",
    "tls/haswell/x86_64",
    "glibc-hwcaps/x86-64-v2",
    "glibc-hwcaps/x86-64-v3",
    "glibc-hwcaps/x86-64-v4",
)
"""Folders in which ld.so looks for a library before its own place, besides the place itself (ld.so(8))."""


def needed_libraries() -> list[str]:
    """The DT_NEEDED of the libclang that is used."""
    with open(os.path.realpath(conf.get_filename()), "rb") as file:
        sections = [
            section for section in ELFFile(file).iter_sections() if isinstance(section, DynamicSection)
        ]
        return [tag.needed for section in sections for tag in section.iter_tags("DT_NEEDED")]


@pytest.fixture(scope="module")
def hostile_checkout(tmp_path_factory) -> Path:
    """A checkout with libraries and modules under every name that is searched."""
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no gcc and no clang to make a library with")
    folder = tmp_path_factory.mktemp("hostile")
    (folder / "x.h").write_text("struct s { long a, b; };\nstruct t { struct s s; };\n")
    (folder / "x.c").write_text('#include "x.h"\n')
    for name, text in (
        ("rules.toml", RULES),
        ("rules.cases.toml", CASES),
        ("matrix.toml", MATRIX),
        ("compile_commands.json", DATABASE),
    ):
        (folder / name).write_text(text)
    (folder / "planted.c").write_text(CONSTRUCTOR)
    for name in needed_libraries():
        library = folder / name
        flags = (
            "-shared",
            "-fPIC",
            f'-DMARK="{folder / "loaded"}"',
            f"-Wl,-soname,{name}",
            "-o",
            library,
            "planted.c",
        )
        subprocess.run([compiler, *flags], cwd=folder, check=True)
        for below in BEFORE_X86_64[1:]:
            (folder / below).mkdir(parents=True, exist_ok=True)
            shutil.copy(library, folder / below)
    for module in (
        "click",
        "clang",
        "elftools",
        "tomllib",
        "pickle",
        "multiprocessing",
        "concurrent",
        "fcntl",
        "select",
    ):
        (folder / f"{module}.py").write_text(
            f"open({str(folder / 'imported')!r}, 'w').close()\nraise ImportError('planted')\n"
        )
    return folder


def test_the_libraries_would_be_loaded(hostile_checkout):
    """The test itself: loaded from the working folder as ctypes does it, one of them runs."""
    if "/" not in conf.get_filename():
        pytest.skip("libclang is the system's here, and has no RPATH")
    code = f"import ctypes; ctypes.CDLL({conf.get_filename()!r})"
    subprocess.run([sys.executable, "-I", "-c", code], cwd=hostile_checkout, capture_output=True)
    mark = hostile_checkout / "loaded"
    if not mark.exists():
        pytest.skip("the RPATH of this libclang names no working folder")
    mark.unlink()


@pytest.mark.one_in(8)
@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
@pytest.mark.parametrize(
    "start",
    [
        ("-m", "layoutlint"),
        ("-P", "-m", "layoutlint"),
        ("-c", "from layoutlint.__main__ import main; main()"),
    ],
)
def test_nothing_of_the_working_folder_runs(words, start, hostile_checkout):
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1"}
    start = (
        start if start[0] != "-c" else ("-I", "-c", f"import sys; sys.path.append({str(ROOT)!r}); {start[1]}")
    )
    done = subprocess.run(
        [sys.executable, *start, *words],
        cwd=hostile_checkout,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (hostile_checkout / "loaded").exists() is False, done
    assert (hostile_checkout / "imported").exists() is False, done
    assert done.returncode == (3 if "marks no groups" in done.stderr else 0), done


def test_the_working_folder_stays(hostile_checkout, monkeypatch):
    monkeypatch.chdir(hostile_checkout)
    libclang.library.cache_clear()
    libclang.library()
    assert os.getcwd() == str(hostile_checkout)


def test_a_working_folder_that_is_gone_is_none(tmp_path):
    (tmp_path / "x.h").write_text("struct s { long a, b; };\n")
    script = f"import os; os.mkdir('gone'); os.chdir('gone'); os.rmdir('../gone'); os.execv({sys.executable!r}, {[sys.executable, '-c', LOAD]!r})"
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env={"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert (done.stdout, done.returncode) == ("loaded\n", 0), done


LOAD = "from layoutlint.readers.clang import libclang; libclang.library(); print('loaded')"


def test_the_driver_has_an_absolute_name():
    assert os.path.isabs(libclang.driver(libclang.library()))


def test_an_input_is_named_as_before(tmp_path):
    (tmp_path / "x.h").write_text("struct s { long a, b; };\n")
    assert "x.h:1" in run("show", "x.h", "s", cwd=tmp_path).stdout

"""What a run must not import, because it does not use it: start-up is most of the time of a run on a small input."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import ROOT, run
from tests.readers.btf_blob import INT, STRUCT, blob, record

PROCESSES = ("concurrent", "multiprocessing", "subprocess")
TERMINAL = ("rich", "pygments")
TOML = ("tomllib", "layoutlint.toml_table", "layoutlint.rulefile")
NEVER = ("importlib.metadata", "importlib.resources", "pkg_resources", "tempfile", "layoutlint.compiled")
JUDGEMENT = ("layoutlint.lint", "layoutlint.rule", "layoutlint.kinds", "layoutlint.model")
READERS = ("layoutlint.readers", "elftools", "clang")
FORMATS = {name: f"layoutlint.reports.{name}" for name in ("text", "json", "sarif", "github", "show")}
BTF, CLANG = ("layoutlint.readers.btf",), ("layoutlint.readers.clang", "clang")
DWARF = ("layoutlint.readers.dwarf", "elftools.dwarf.die")
ELF = ("layoutlint.readers.elf", "layoutlint.readers.dwarf", "elftools")


def formats_but(name: str) -> tuple[str, ...]:
    """What the other formats bring."""
    others = [FORMATS[other] for other in FORMATS if other not in (name, "show")]
    return (*others, *(() if name == "json" else ("json",)), *(() if name in ("json", "sarif") else ("hashlib",)))


RULES = ("--rules", "docs/example", "--struct", "ring", "--no-packs")
NOTHING = (*READERS, *JUDGEMENT, *TOML, *TERMINAL, *PROCESSES, "json", "hashlib", *NEVER[:-1])
TABLE = [
    (("--version",), NOTHING),
    (("--help",), (*NOTHING, "layoutlint.compiled")),
    (("check", "--help"), (*NOTHING, "layoutlint.compiled")),
    (("check", "--no-such-option"), (*NOTHING, "layoutlint.compiled")),
    (("rules", "check", "docs/example"), (*READERS, *TERMINAL, *PROCESSES, *NEVER, "layoutlint.lint")),
    (("check", "ELF", *RULES), (*BTF, *CLANG, *TERMINAL, *PROCESSES, *NEVER, *formats_but("text"))),
    (("check", "ELF", *RULES, "--format", "json"), (*BTF, *CLANG, *TERMINAL, *PROCESSES, *NEVER, *formats_but("json"))),
    (("check", "ELF", *RULES, "--format", "github"), (*BTF, *CLANG, *TERMINAL, *PROCESSES, *NEVER, *formats_but("github"))),
    (("check", "BTF", *RULES), (*ELF, *CLANG, *TERMINAL, *PROCESSES, *NEVER, *formats_but("text"))),
    (("check", "docs/example/ring.h", *RULES), (*ELF, *BTF, *TERMINAL, *NEVER[:3], FORMATS["json"], FORMATS["sarif"])),
    (("show", "ELF", "ring"), (*BTF, *CLANG, *TERMINAL, *PROCESSES, *NEVER, *TOML, "layoutlint.kinds", *formats_but("show"))),
    (("show", "BTF", "ring"), (*ELF, *CLANG, *TERMINAL, *PROCESSES, *NEVER, *TOML, "layoutlint.kinds", *formats_but("show"))),
]


def imported(said: str) -> set[str]:
    """The modules in what Python says on stderr when it is asked to time imports."""
    return {line.rsplit("|", 1)[1].strip() for line in said.splitlines() if line.startswith("import time:")}


@pytest.fixture(scope="module")
def ever() -> set[str]:
    """What an interpreter imports here before it does anything (the `.pth` files of an environment)."""
    return imported(subprocess.run([sys.executable, "-X", "importtime", "-c", ""], capture_output=True, text=True).stderr)


def elf(folder: Path) -> Path:
    compiler = shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        pytest.skip("no C compiler")
    (folder / "ring.c").write_text(f'#include "{ROOT}/docs/example/ring.h"\nstruct ring ring;\n')
    subprocess.run([compiler, "-g", "-c", "ring.c"], cwd=folder, check=True)
    return folder / "ring.o"


def raw_btf(folder: Path) -> Path:
    integer = record(0, INT, 8, 64)
    ring = record(1, STRUCT, 8, 6, 1, 0, vlen=1)
    (folder / "btf").write_bytes(blob(integer + ring))
    return folder / "btf"


MAKERS = {"ELF": elf, "BTF": raw_btf}


@pytest.mark.parametrize(("command", "unused"), TABLE, ids=[" ".join(command) for command, _ in TABLE])
def test_a_run_imports_nothing_that_it_does_not_use(command, unused, ever, tmp_path):
    words = [str(MAKERS[word](tmp_path)) if word in MAKERS else word for word in command]
    told = run(*words, PYTHONPROFILEIMPORTTIME="1")
    assert "layoutlint.cli" in imported(told.stderr)
    assert "internal error" not in told.stderr
    modules = imported(told.stderr) - ever
    assert sorted(m for m in modules if any(f"{m}.".startswith(f"{name}.") for name in unused)) == []

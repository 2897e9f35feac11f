"""What a run must not import, because it does not use it: start-up is most of the time of a run on a small input."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from layoutlint import kinds
from layoutlint.commands.group import MODULES
from tests.harness.command import ROOT, WITHOUT_CACHE
from tests.harness.tools import fault, need
from tests.readers.btf.btf_blob import INT, STRUCT, blob, record

PROCESSES = ("concurrent", "multiprocessing", "subprocess")
TOML = ("tomllib", "layoutlint.intent.toml.table", "layoutlint.intent.toml.rule_file")
NEVER = ("importlib.metadata", "importlib.resources", "pkg_resources", "tempfile", "layoutlint.commands.version")
ON_USE = ("pathlib", "shlex", "traceback")
JUDGEMENT = ("layoutlint.lint.run", "layoutlint.judgement.rule", "layoutlint.kinds", "layoutlint.model.structs")
READERS = ("layoutlint.readers.dispatch", "elftools", "clang")
FORMATS = {name: f"layoutlint.reports.check.{name}" for name in ("text", "concise", "json", "sarif", "github", "gitlab", "junit", "markdown", "rdjson", "checkstyle")} | {"show": "layoutlint.reports.show"}
CONTAINERS = ("layoutlint.lint.container_listing", "layoutlint.commands.containers")
BTF, CLANG = ("layoutlint.readers.btf",), ("layoutlint.readers.clang", "clang")
FOLDERS = ("layoutlint.readers.modules.merge", "layoutlint.readers.modules.find")
ELF = ("layoutlint.readers.elf.elf_file", "layoutlint.readers.dwarf", "layoutlint.readers.elf.debug_files", "elftools")
RELOCATED = ("layoutlint.readers.elf.relocation", "layoutlint.readers.elf.compression", "zlib")
KINDS = {name: f"layoutlint.kinds.{name.replace('-', '_')}" for name in kinds.KINDS}


def formats_but(name: str) -> tuple[str, ...]:
    """What the other formats bring."""
    others = [FORMATS[other] for other in FORMATS if other not in (name, "show")]
    return (*others, *(() if name == "json" else ("json",)), *(() if name in ("json", "sarif") else ("hashlib",)))


def kinds_but(*names: str) -> tuple[str, ...]:
    """The kinds that no rule names."""
    return tuple(module for name, module in KINDS.items() if name not in names)


ANY = (*CLANG, *PROCESSES, *NEVER, *FOLDERS, "shlex", "traceback")
CHECK = (*ANY, *kinds_but("separate", "together"), FORMATS["show"])
SHOW = (*ANY, "pathlib", *TOML, "layoutlint.lint.run", "layoutlint.judgement.rule", "layoutlint.kinds", "layoutlint.reports.finding_phrases", *formats_but("show"))
SHOW_TEXT = (*SHOW, f"{FORMATS['show']}.c", f"{FORMATS['show']}.json")
RULES = ("--rules", "docs/example", "--struct", "ring", "--no-packs")
NOTHING = (*READERS, *JUDGEMENT, *TOML, *PROCESSES, "json", "hashlib", "dataclasses", *ON_USE, *NEVER[:-1])
NO_VERSION = (*NOTHING, "layoutlint.commands.version")
ONE_FILE = ("--rules", "docs/example/layoutlint.toml", "--no-packs")
OTHER_COMMANDS = tuple(f"layoutlint.commands.{module}" for name, module in MODULES.items() if name != "check")
TABLE = [
    (("--version",), tuple(name for name in NOTHING if name != "pathlib")),
    (("--help",), NO_VERSION),
    (("check", "ELF", *ONE_FILE), OTHER_COMMANDS),
    (("check", "--help"), NO_VERSION),
    (("check", "--no-such-option"), NO_VERSION),
    (("rules", "check", "docs/example"), (*READERS, *PROCESSES, *NEVER, "layoutlint.lint.run", *kinds_but("separate", "together"))),
    (("rules", "import", "net_cachelines", "fixtures/net_cachelines/simple.rst"), (*READERS, *JUDGEMENT[:-1], *TOML, *PROCESSES, *ON_USE, *NEVER)),
    (("check", "ELF", *RULES), (*BTF, *CHECK, *formats_but("text"), "elftools")),
    (("check", "ELF", *RULES, "--format", "json"), (*BTF, *CHECK, *formats_but("json"), "elftools")),
    (("check", "ELF", *RULES, "--format", "github"), (*BTF, *CHECK, *formats_but("github"), "elftools")),
    (("check", "LINKED", *ONE_FILE), (*BTF, *CHECK, *formats_but("text"), *RELOCATED, "elftools", "pathlib")),
    (("check", "BTF", *RULES), (*ELF, *CHECK, *formats_but("text"))),
    (("check", "docs/example/ring.h", *RULES), (*ELF, *BTF, *NEVER[:3], FORMATS["json"], FORMATS["sarif"])),
    (("check", "docs/example/ring.h", "--rules", "docs/example"), kinds_but("separate", "together")),
    (("show", "ELF", "ring"), (*BTF, *SHOW_TEXT, "elftools")),
    (("show", "LINKED", "ring"), (*BTF, *SHOW_TEXT, *RELOCATED, "elftools")),
    (("show", "LINKED", "ring", "--format", "json"), tuple(name for name in (*BTF, *SHOW, *RELOCATED, f"{FORMATS['show']}.c") if name != "json")),
    (("show", "BTF", "ring"), (*ELF, *SHOW_TEXT, *CONTAINERS)),
    (("containers", "--help"), NO_VERSION),
    (("schema",), NOTHING),
    (("measure", "--help"), NO_VERSION),
    (("allocations", "--help"), NO_VERSION),
    (("allocations", "fixtures/writers"), (*READERS, *JUDGEMENT[:-1], *TOML, *PROCESSES, "json", "hashlib", *ON_USE, *NEVER)),
    (("containers", "LINKED", "ring"), (*BTF, *(name for name in SHOW if name != "layoutlint.reports.show"), *RELOCATED, "layoutlint.lint.struct_listing", f"{CONTAINERS[1]}.json", "elftools")),
]
RUN = """
import sys
from layoutlint import cli
sys.argv = ["layoutlint", *{words!r}]
try:
    cli.main()
finally:
    print("modules:", *sys.modules, file=sys.stderr)
"""


def imports(code: str, **settings: str) -> tuple[str, set[str]]:
    """What some Python says on stderr, and the modules that it names in the last line of it."""
    environment = {name: os.environ[name] for name in ("PATH", "HOME") if name in os.environ} | (settings or WITHOUT_CACHE)
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    message, _, names = done.stderr.rpartition("modules:")
    return message, set(names.split())


@pytest.fixture(scope="module")
def ever() -> set[str]:
    """What an interpreter imports here before it does anything (the `.pth` files of an environment)."""
    return imports("import sys; print('modules:', *sys.modules, file=sys.stderr)")[1]


def elf(folder: Path, *flags: str) -> Path:
    compiler = need("gcc" if fault("gcc") is None else "clang", *(flags or ("-c",)))
    (folder / "ring.c").write_text(f'#include "{ROOT}/docs/example/ring.h"\nstruct ring ring;\n')
    subprocess.run([compiler, "-g", *(flags or ("-c",)), "ring.c", "-o", "ring.elf"], cwd=folder, check=True)
    return folder / "ring.elf"


def link(folder: Path) -> Path:
    return elf(folder, "-shared", "-fPIC", "-nostdlib")


def raw_btf(folder: Path) -> Path:
    integer = record(0, INT, 8, 64)
    ring = record(1, STRUCT, 8, 6, 1, 0, vlen=1)
    (folder / "btf").write_bytes(blob(integer + ring))
    return folder / "btf"


MAKERS = {"ELF": elf, "LINKED": link, "BTF": raw_btf}


def test_every_module_of_ours_in_the_table_exists():
    """A module that was renamed would never be imported."""
    ours = {name for _, unused in TABLE for name in unused if name.startswith("layoutlint.")}
    assert {name for name in ours if find_spec(name) is None} == set()


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("command", "unused"), TABLE, ids=[" ".join(command) for command, _ in TABLE])
def test_a_run_imports_nothing_that_it_does_not_use(command, unused, ever, tmp_path):
    words = [str(MAKERS[word](tmp_path)) if word in MAKERS else word for word in command]
    message, names = imports(RUN.format(words=words))
    assert "layoutlint.cli" in names
    assert "internal error" not in message
    modules = names - ever
    assert sorted(m for m in modules if any(f"{m}.".startswith(f"{name}.") for name in unused)) == []


def test_a_run_whose_output_was_kept_reads_and_judges_nothing(ever, tmp_path):
    code = RUN.format(words=["check", str(link(tmp_path)), *ONE_FILE])
    unused = (*READERS, *JUDGEMENT, *TOML, *PROCESSES, "msgspec", "layoutlint.reports.check", *NEVER)
    runs = [imports(code, XDG_CACHE_HOME=str(tmp_path))[1] - ever for _ in range(2)]
    used = [sorted(m for m in modules if any(f"{m}.".startswith(f"{name}.") for name in unused)) for modules in runs]
    assert "layoutlint.lint.run" in used[0]
    assert used[1] == []

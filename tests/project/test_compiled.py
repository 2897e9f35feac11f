"""Which modules are compiled, that `--version` says so, and that none is of an older source."""

from __future__ import annotations

import os
import runpy
import shutil
import subprocess
import sys
from functools import partial
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from layoutlint import __version__
from layoutlint.commands import version
from tests.harness import interpreted
from tests.harness.command import ROOT, run

pytest.importorskip("setuptools", reason="setup.py is read with setuptools")
SETUP = runpy.run_path(str(ROOT / "setup.py"), run_name="setup.py")
MODULES: list[Path] = SETUP["modules"]()
SHARED = Path(*SETUP["SHARED"].split("."))
MADE_OF: list[tuple[Path, tuple[Path, ...]]] = [(module, (module,)) for module in MODULES] + [(SHARED, ())]
CHECK = ("check", "docs/example/ring.h", "--rules", "docs/example")


STATES = [
    ((), "interpreted"),
    (("a.py",), "interpreted"),
    (("a.py", "a.pxd"), "interpreted"),
    (("a.py", "a.pxd", "a.so"), "compiled"),
    (("a.py", "a.pxd", "a.so", "b.py"), "compiled"),
    (("a.py", "a.pxd", "a.so", "b/c.py", "b/c.pxd"), "partly compiled"),
    (("a.py", "a.pxd", "b/c.py", "b/c.pxd", "b/c.so"), "partly compiled"),
    (("a.py", "a.pxd", "a.so", "b/c.py", "b/c.pxd", "b/c.so"), "compiled"),
    (("a.py", "a.pxd", "a.cpython-20-none.so"), "interpreted"),
    (("a.pyx",), "interpreted"),
    (("a.pyx", "a.so"), "compiled"),
    (("a.pyx", "a.so", "b.py", "b.pxd"), "partly compiled"),
    (("a.pyx", "a.pxd", "a.so", "b.pxd"), "compiled"),
]


@pytest.mark.parametrize(("files", "state"), STATES, ids=lambda value: " ".join(value) if isinstance(value, tuple) else value)
def test_a_module_counts_as_compiled_when_importing_finds_it_so(files: tuple[str, ...], state: str, tmp_path: Path):
    for file in files:
        stem, _, suffix = file.partition(".")
        path = tmp_path / (stem + EXTENSION_SUFFIXES[0] if suffix == "so" else file)
        path.parent.mkdir(exist_ok=True)
        path.touch()
    assert version.state(tmp_path) == state


@pytest.mark.parametrize(("module", "sources"), MADE_OF, ids=str)
def test_no_compiled_module_is_of_an_older_source(module: Path, sources: tuple[Path, ...]):
    beside = [ROOT / module.with_suffix(suffix) for suffix in EXTENSION_SUFFIXES]
    stale = [path.name for path in beside if path.exists() and SETUP["mark"](*sources).encode() not in path.read_bytes()]
    assert not stale, f"{module} changed since it was compiled: python setup.py build_ext --inplace"


def test_modules_of_other_sources_are_named(tmp_path: Path, monkeypatch):
    """As after `git pull` without `build_ext`."""
    if version.state() != "compiled":
        pytest.skip("nothing is compiled here")
    shutil.copytree(ROOT / "layoutlint", tmp_path / "layoutlint", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "setup.py", tmp_path)
    assert version.stale_modules(tmp_path) == []
    module = MODULES[0]
    with (tmp_path / module).open("a") as file:
        file.write("# changed\n")
    assert version.stale_modules(tmp_path) == [str(module)]
    monkeypatch.setattr(version, "stale_modules", partial(version.stale_modules, tmp_path))
    message = f"1 compiled module of other sources: {module.name}; run `python setup.py build_ext --inplace`"
    assert version.remedy(ImportError("cannot import name 'x'")) == message
    assert version.remedy(ValueError("x")) == ""
    (tmp_path / "setup.py").unlink()  # an installation
    assert version.remedy(ImportError("cannot import name 'x'")) == ""


def test_a_name_that_an_older_module_lacks(tmp_path: Path):
    if version.state() != "compiled":
        pytest.skip("nothing is compiled here")
    shutil.copytree(ROOT / "layoutlint", tmp_path / "layoutlint", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copytree(ROOT / "rules", tmp_path / "rules")
    shutil.copy(ROOT / "setup.py", tmp_path)
    reader = tmp_path / "layoutlint/readers/dispatch.py"
    reader.write_text(reader.read_text() + "from layoutlint.readers.dwarf.format.cursor import a_new_name\n")
    cursor = tmp_path / "layoutlint/readers/dwarf/format/cursor.py"
    cursor.write_text(cursor.read_text() + "a_new_name = 1\n")
    ended = run(*CHECK, PYTHONPATH=str(tmp_path), PYTHONSAFEPATH="1")
    assert (ended.returncode, "compiled module of other sources: cursor.py; run `python setup.py" in ended.stderr) == (4, True), ended


def test_all_modules_are_compiled_or_none_is():
    found = {
        module
        for module, _ in MADE_OF
        if any((ROOT / module.with_suffix(suffix)).exists() for suffix in EXTENSION_SUFFIXES)
    }
    missing = {module.stem for module, _ in MADE_OF} - {module.stem for module in found}
    assert not found or not missing, f"{missing}: python setup.py build_ext --inplace"


def test_the_interpreted_copy_is_interpreted():
    assert interpreted.run("--version").stdout == f"layoutlint {__version__} (DWARF scanner: interpreted)\n"
    assert interpreted.run("rules", "list").stdout == run("rules", "list").stdout


TRANSLATING_ONCE = """
import runpy, shutil, sys
from pathlib import Path
import Cython.Build

cythonize, kept = Cython.Build.cythonize, Path(sys.argv.pop())

def cythonize_once(extensions, build_dir, **options):
    [extension] = extensions
    copy, target = kept / extension.name, Path(build_dir, f"{extension.name}.c")
    if not copy.exists():
        [made] = cythonize(extensions, build_dir=build_dir, **options)
        shutil.copy(made.sources[0], copy)
        return [made]
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(copy, target)
    extension.sources = [str(target)]
    return [extension]

Cython.Build.cythonize = cythonize_once
sys.argv[0] = "setup.py"
runpy.run_path("setup.py", run_name="__main__")
"""
"""Runs setup.py; the C of a module that an earlier build wrote is copied from the last argument."""


@pytest.fixture(scope="module")
def translated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C that Cython wrote in a build, which is the same in all: translating takes half of each."""
    return tmp_path_factory.mktemp("translated")


def copy_sources(source: Path) -> None:
    """Copy the tracked files that an installation is built of."""
    pytest.importorskip("Cython", reason="nothing is compiled without Cython")
    if not (ROOT / ".git").exists():
        pytest.skip("git knows which files are tracked, and this is no checkout")
    tracked = subprocess.run(["git", "ls-files", "layoutlint", "rules", "*.cfg", "*.toml", "setup.py", "README.md", "LICENSE"],
                             cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()  # fmt: skip
    for file in tracked:
        (source / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, source / file)


def build(tmp_path: Path, translated: Path, **environment: str) -> Path:
    """What an installation would consist of."""
    copy_sources(tmp_path / "source")
    words = ["-q", "build", "--build-lib", str(tmp_path / "built")]
    subprocess.run([sys.executable, "-c", TRANSLATING_ONCE, *words, str(translated)],
                   cwd=tmp_path / "source", env=os.environ | environment, check=True, capture_output=True)  # fmt: skip
    return tmp_path / "built"


NO_COMPILER = {"CC": "false"}
QUICKLY = {"CFLAGS": "-O0"}
BUILDS = [({"LAYOUTLINT_COMPILE": "never"}, "interpreted"), (NO_COMPILER, "interpreted"), (QUICKLY, "compiled")]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("environment", "state"), BUILDS, ids=["never", "no compiler", "compiler"])
def test_an_installation_works_with_a_compiler_and_without(environment: dict[str, str], state: str, translated: Path, tmp_path: Path):
    if state == "compiled" and not (MODULES and shutil.which(os.environ.get("CC", "gcc"))):
        pytest.skip("no C compiler, or no module has a .pxd")
    paths = {"PYTHONPATH": str(build(tmp_path, translated, **environment)), "PYTHONSAFEPATH": "1"}
    assert run("--version", **paths).stdout == f"layoutlint {__version__} (DWARF scanner: {state})\n"
    output = run(*CHECK, **paths)
    assert (output.returncode, output.stdout) == (1, run(*CHECK).stdout)


@pytest.mark.exhaustive
def test_one_module_that_cannot_be_compiled_leaves_them_all_interpreted(translated: Path, tmp_path: Path):
    if os.name != "posix" or not MODULES:
        pytest.skip("the compiler is a shell script, or no module has a .pxd")
    compiler = tmp_path / "compiler"
    compiler.write_text(
        f"#!/bin/sh\n"
        f'case "$*" in *{SHARED.name}.c*) exit 1;; esac\n'
        f'while [ $# -gt 1 ]; do [ "$1" = -o ] && echo "made" > "$2"; shift; done\n'
    )
    compiler.chmod(0o755)
    built = build(tmp_path, translated, CC=str(compiler))
    assert list(built.rglob("*.pxd")) != []
    assert [path for suffix in EXTENSION_SUFFIXES for path in built.rglob(f"*{suffix}")] == []


@pytest.mark.exhaustive
def test_failing_to_compile_is_an_error_when_compiling_is_asked_for(translated: Path, tmp_path: Path):
    if not MODULES:
        pytest.skip("no module has a .pxd")
    with pytest.raises(subprocess.CalledProcessError):
        build(tmp_path, translated, LAYOUTLINT_COMPILE="must", **NO_COMPILER)


def compiled_modules(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in (folder / "layoutlint").rglob("*.so")}


BESIDE_SOURCES = {
    "build_ext --inplace": ["build_ext", "--inplace"],
    "pip install -e": ["editable_wheel", "--dist-dir", "wheels"],
}


@pytest.mark.exhaustive
@pytest.mark.parametrize("words", BESIDE_SOURCES.values(), ids=BESIDE_SOURCES)
def test_modules_of_the_same_sources_are_not_compiled_again(words: list[str], tmp_path: Path):
    if version.state() != "compiled" or version.stale_modules(ROOT):
        pytest.skip("nothing is compiled here, or of other sources")
    copy_sources(tmp_path)
    for path in (ROOT / "layoutlint").rglob("*.so"):
        shutil.copy(path, tmp_path / path.relative_to(ROOT))
    before = compiled_modules(tmp_path)

    def build_here() -> None:
        subprocess.run([sys.executable, "setup.py", "-q", *words], cwd=tmp_path, env=os.environ | NO_COMPILER, check=True, capture_output=True)

    build_here()
    assert compiled_modules(tmp_path) == before != {}
    with (tmp_path / MODULES[0]).open("a") as file:
        file.write("# changed\n")
    build_here()
    assert compiled_modules(tmp_path) == {}

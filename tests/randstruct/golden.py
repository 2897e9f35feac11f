"""The golden layouts of fixtures/randstruct, and the inputs that they are computed from."""

from __future__ import annotations

import functools
import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import pytest

from tests.harness.command import ROOT, run
from tests.harness.tools import fault
from tests.oracles.c_probe import need

FOLDER = ROOT / "fixtures" / "randstruct"
BUILDS: list[dict[str, Any]] = json.loads((FOLDER / "golden.json").read_text())
_DRAWN = json.loads((FOLDER / "drawn.json").read_text())
DRAWN: list[dict[str, Any]] = _DRAWN["builds"]
"""Those of structs that were drawn at random."""
MARKED = {
    "structs.c": "task.stack,!ops_fixed",
    "more.c": "task_like.q,!ops_no",
}
"""What no struct's own mark says, as `--randomized` has it."""
_MARK = re.compile(r"^struct (\w+) \{(?:[^{}]|\{[^{}]*\})*\}[^;{}]*\bRAND\s*;", re.M)
INPUTS = {
    "DWARF 5": ("gcc", "-gdwarf-5"),
    "DWARF 4": ("gcc", "-gdwarf-4"),
    "clang's DWARF": ("clang", "-gdwarf-5"),
    "BTF": ("gcc", "-gdwarf-5"),
    "C": (),
}


def name_of(build: dict[str, Any]) -> str:
    """What a build is called in test names."""
    return f"{build['source']}-{build['mode']}-{(build['seed'] or '')[:4]}"


def place(struct: dict[str, Any], wanted: dict[str, Any]) -> dict[str, Any]:
    """The size of a struct, and where the fields start that are wanted."""
    found = bits(struct)
    return {"size": struct["size"], "bit_offsets": {path: found.get(path) for path in wanted["bit_offsets"]}}


def names(source: str) -> str:
    """All that `--randomized` must say of a source."""
    if source in _DRAWN["marked"]:
        return ",".join(_DRAWN["marked"][source])
    return ",".join([*_MARK.findall((FOLDER / source).read_text()), MARKED[source]])


@functools.cache
def _folder() -> Path:
    return Path(tempfile.mkdtemp(prefix="layoutlint-randstruct-"))


@functools.cache
def compile_object(source: str, compiler: str, *flags: str) -> Path:
    """An object of a source, compiled by a compiler that does not randomise unless `flags` say so."""
    compiler = newest_clang() if compiler == "clang" else compiler
    path = _folder() / f"{source}{len(list(_folder().iterdir()))}.o"
    keeping = ["-fno-eliminate-unused-debug-types"] if compiler.startswith("gcc") else []
    command = [need(compiler), "-w", *flags, *keeping, "-c", str(FOLDER / source), "-o", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{compiler} cannot compile it: {done.stderr.splitlines()[0]}")
    return path


def input_of(kind: str, source: str) -> Path:
    """The input of a kind that has the structs of a source."""
    if kind == "BTF":
        return _with_btf(source)
    return compile_object(source, *INPUTS[kind]) if INPUTS[kind] else FOLDER / source


@functools.cache
def _with_btf(source: str) -> Path:
    """An object with pahole's BTF alone: gcc's own misplaces first members."""
    plain = compile_object(source, *INPUTS["BTF"])
    path = plain.with_suffix(".btf.o")
    path.write_bytes(plain.read_bytes())
    subprocess.run([need("pahole"), "-J", path], check=True, capture_output=True)
    subprocess.run([need("objcopy"), "--strip-debug", path], check=True, capture_output=True)
    return path


def show(path: Path, structs: list[str], *options: str) -> tuple[dict[str, Any], str, int]:
    """The structs as JSON by their names, what was said, and the exit status."""
    done = run("show", path, *structs, "--expand", "--format", "json", *options)
    output = json.loads(done.stdout)["structs"] if done.stdout else []
    return {struct["name"]: struct for struct in output}, done.stderr, done.returncode


def options(build: dict[str, Any], kind: str) -> list[str]:
    """The options that describe a build, for an input of a kind."""
    if build["mode"] is None:
        return []
    words = ["--randstruct", build["mode"], "--seed", build["seed"]]
    words += ["--kernel-version", build["kernel"]] if build["kernel"] else []
    return words if kind == "C" else [*words, "--randomized", names(build["source"])]


def bits(struct: dict[str, Any]) -> dict[str, int]:
    """Where the fields of a struct start, in bits."""
    return {
        field["path"]: field["offset"] * 8 if field["bit_offset"] is None else field["bit_offset"]
        for field in struct["fields"]
    }


def newest_clang() -> str:
    """A clang that randomises as clang 16 does; skips the test where there is none."""
    for version in range(20, 15, -1):
        if fault(f"clang-{version}", ("-c",)) is None:
            return f"clang-{version}"
    pytest.skip("no clang from 16 to 20 is installed")

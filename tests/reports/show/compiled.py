"""The fixture of layouts, compiled by gcc and read from its DWARF."""

from __future__ import annotations

import subprocess
from pathlib import Path

from layoutlint.model.reading import ReadOptions
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from tests.harness.tools import need

FIXTURES = Path(__file__).parents[3] / "fixtures"


def compile_object(source: Path, folder: Path) -> Path:
    """The object file of a C source; skips the test where gcc is missing."""
    need("gcc")
    path = folder / f"{source.stem}.o"
    command = ["gcc", "-g", "-fno-eliminate-unused-debug-types", "-c", str(source), "-o", str(path)]
    subprocess.run(command, check=True)
    return path


def structs(path: Path) -> dict[str, Struct]:
    """Every struct of an input by its name."""
    return {struct.name: struct for struct in dispatch.read(str(path), Wanted(everything=True), ReadOptions()).structs}

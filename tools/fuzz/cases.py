"""Inputs that broke a promise, as folders: the files, and case.toml with the command and what it was."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Final

from tools.fuzz.inputs import Command, Input
from tools.fuzz.seeds import SOURCE, Recipe, Seed

FOUND: Final = Path(__file__).parent / "found"
_CASE: Final = "case.toml"


def save(folder: Path, tried: Input, what: str, *, whole: bool = True) -> None:
    """Keeps an input: all its files, or with `whole` false only those that are not just those of the seed."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in tried.files.items():
        (folder / name).write_bytes(content)
    words = [word.replace(f"{SOURCE}/", "") for word in tried.words]
    lines = {"what": what.replace("\n", " "), "seed": tried.seed.name, "number": tried.number, "damage": list(tried.log), "words": words,
             "names": list(tried.command.names), "rules": list(tried.command.rules)}  # fmt: skip
    text = "".join(f"{key} = {json.dumps(value)}\n" for key, value in lines.items() if whole or key not in ("number", "damage"))
    (folder / _CASE).write_text(text)


def load(folder: Path) -> Input:
    """A kept input; the files of its folder are all that it needs."""
    case = tomllib.loads((folder / _CASE).read_text())
    words = tuple(str(SOURCE / word) if word.endswith(".toml") else word for word in case["words"])
    files = {path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.name != _CASE}
    seed = Seed(Recipe(case["seed"], "", (), opened=words[1]), tuple(files.items()))
    command = Command(words, tuple(case["names"]), tuple(case["rules"]))
    return Input(case.get("number", 0), seed, *next(iter(files.items())), command, tuple(case.get("damage", ())))


def what(folder: Path) -> str:
    """The line that says what a kept input was."""
    return str(tomllib.loads((folder / _CASE).read_text())["what"])

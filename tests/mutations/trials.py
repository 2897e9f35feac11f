"""A copy of the checkout in which one module at a time is changed, and the tests that notice it."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.harness.command import ROOT
from tests.mutations.blocks import Reach
from tests.mutations.sites import Mutation

_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_SECONDS = 1800


def is_compiled(path: Path) -> bool:
    """Return whether Cython compiles a module, where there is a compiler."""
    return path.with_suffix(".pxd").exists()


@dataclass(frozen=True, slots=True)
class Trial:
    """A mutation of a module, and what killed it."""

    module: str
    mutation: Mutation
    suite: str
    """`nearest`, `quick`, `exhaustive`, or empty: it survived."""
    test: str

    def __str__(self) -> str:
        change = self.mutation
        fate = f"{self.suite}: {self.test}" if self.suite else "survived"
        return f"{self.module}:{change.line}: {change.before} -> {change.after}\n    {fate}"


class Copy:
    """A copy of the tracked files, with the compiled modules of the checkout if there are any."""

    def __init__(self, folder: Path, reach: Reach | None = None, most: int | None = None) -> None:
        self.folder = folder
        self.reach = reach
        self.most = most
        names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
        compiled = [str(path.relative_to(ROOT)) for path in (ROOT / "layoutlint").rglob("*.so")]
        for name in filter(None, (*names.split("\0"), *compiled)):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name, follow_symlinks=False)
        subprocess.run(["git", "init", "-q"], cwd=folder, check=True)
        subprocess.run(["git", "add", "-A"], cwd=folder, check=True)
        self.is_compiled = bool(compiled)

    def run(self, module: str, mutation: Mutation, suites: Sequence[str]) -> Trial:
        """Put a mutation in, and return the first test that fails, in the nearest of the suites."""
        path = self.folder / module
        original = path.read_bytes()
        path.write_text(mutation.text)
        try:
            if not self._compile(path):
                return Trial(module, mutation, "nearest", "does not compile")
            for suite in suites:
                for words in self._tests(module, mutation.line, suite):
                    if (test := self._first_failure(words)) is not None:
                        return Trial(module, mutation, suite, test)
            return Trial(module, mutation, "", "")
        finally:
            path.write_bytes(original)
            self._compile(path)

    def _compile(self, path: Path) -> bool:
        """Compile a module again if it is one of the compiled ones; return whether it can be compiled."""
        if not self.is_compiled or not is_compiled(path):
            return True
        command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
        os.utime(path)
        done = subprocess.run(command, cwd=self.folder, env={**os.environ, "LAYOUTLINT_COMPILE": "must"}, capture_output=True)
        return done.returncode == 0

    def _tests(self, module: str, line: int, suite: str) -> Iterator[list[str]]:
        """Yield the arguments of pytest for a suite; the nearest tests are those of the module, then those of its package.

        If it is known which tests reach the line, these are the quick ones, and the package adds nothing.
        """
        reach = None if is_compiled(self.folder / module) else self.reach
        if suite == "nearest":
            inside = Path(module).relative_to("layoutlint")
            own = Path("tests") / inside.parent / f"test_{inside.stem}.py"
            if (self.folder / own).exists():
                yield [str(own)]
            package = next(each for each in own.parents if (self.folder / each).is_dir())
            if reach is None:
                yield ["-n", "2", "--dist", "loadfile", str(package)]
        elif suite == "quick" and reach is not None:
            importing = self._importing_tests(module, reach) if reach.is_outside(module, line) else ()
            if files := list(dict.fromkeys((*importing, *reach.tests(module, line))))[: self.most]:
                yield files
        else:
            yield ["-n", "auto", "--dist", "loadfile", *(["--exhaustive"] if suite == "exhaustive" else [])]

    def _importing_tests(self, module: str, reach: Reach) -> Iterator[str]:
        """Yield the tests that import a module: they can hold its constants against others without reaching a block."""
        *folders, name = Path(module).with_suffix("").parts
        imports = re.compile(rf"from {r'[.]'.join(folders)} import (?:\([^)]*|[^(\n]*)\b{name}\b|from {r'[.]'.join((*folders, name))} import")
        return (each for each in reach.files if imports.search((self.folder / each).read_text()))

    def _first_failure(self, words: Sequence[str]) -> str | None:
        command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *words]
        environment = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": ""}
        try:
            done = subprocess.run(
                command, cwd=self.folder, env=environment, capture_output=True, text=True, timeout=_SECONDS
            )
        except subprocess.TimeoutExpired:
            return f"no end after {_SECONDS} s"
        if done.returncode in (0, 5):
            return None
        failed = _FAILED.search(done.stdout)
        return failed[1] if failed else (done.stdout + done.stderr).strip()[-300:]

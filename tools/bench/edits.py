"""What an edit costs in an editor, against libclang's own reparse: `python -m tools.bench.edits [BUILD] [--write]`.

Edits linux/fs.h of a kernel tree (by default the newest of tests/real) again and again: each edit inserts a field into
address_space, and the next one removes it. A client sends each to `layoutlint lsp`, and waits for its diagnostics; then
libclang, through `clang.cindex`, parses the same text with the same flags: all of it, and with a precompiled preamble,
which does not read the included headers again. They alternate, so other work affects all. After that, the client types:
it sends edits without a pause, which need no diagnostics.

`--write` puts the figures into docs/contributing/benchmarks.md.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import monotonic, process_time, sleep

from clang.cindex import Index, TranslationUnit

from layoutlint.readers.clang.kernel import tree
from tests.commands.test_lsp import lenses
from tests.harness.command import ROOT
from tests.harness.editor import Editor
from tests.real.kernels import fetch
from tools.bench.document import EDITS_HEAD, with_edits

EDITS = 20
PAUSE = 1.0
"""Seconds between two edits."""
DELAY = 0.3
"""Seconds without an edit after which the server publishes diagnostics: its default."""
LIMIT = 1.2
TYPING = ((0.1, 100), (0.2, 50))
"""Seconds between two letters, and the number of letters."""
PAGE = ROOT / "docs" / "contributing" / "benchmarks.md"
_STRUCT = "struct address_space {"
_WHOLE = TranslationUnit.PARSE_SKIP_FUNCTION_BODIES
_WITH_PREAMBLE = _WHOLE | TranslationUnit.PARSE_PRECOMPILED_PREAMBLE
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit: seconds until its diagnostics, processor seconds of the server, seconds of libclang's reparses."""

    wait: float
    cpu: float
    whole: float
    preamble: float
    preamble_cpu: float


@dataclass(frozen=True, slots=True)
class Typing:
    """Edits without a pause: seconds between two, and the part of one processor that the server uses."""

    interval: float
    share: float


class Server:
    """`layoutlint lsp`, with the file open."""

    def __init__(self, path: Path, text: str, build: str) -> None:
        self._editor = Editor("--", f"O={build}", cwd=path.parent)
        self._name = self._editor.open(path, text)
        self._editor.diagnostics(self._name)

    def edit(self, text: str) -> None:
        """Send a text, and wait for its diagnostics."""
        self._editor.rejudge(self._name, text)

    def type(self, texts: Iterator[str], interval: float) -> float:
        """Send texts one after the other; return the processor seconds for each second."""
        began, cpu, count = monotonic(), self.cpu(), 0
        for count, text in enumerate(texts, 1):
            self._editor.change(self._name, text)
            self._editor.quiet(max(0.0, began + count * interval - monotonic()))
        return (self.cpu() - cpu) / (monotonic() - began)

    def label(self, text: str) -> str:
        """Send a text; return what the server shows above address_space."""
        self.edit(text)
        line = text[: text.index(_STRUCT)].count("\n")
        return next(label for row, label in lenses(self._editor, self._name) if row == line)

    def cpu(self) -> float:
        """The processor seconds of the server and its processes so far."""
        return sum(map(_cpu, _tree(self._editor.pid())))

    def end(self) -> None:
        """End the session."""
        self._editor.end()


def _tree(pid: int) -> Iterator[int]:
    yield pid
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            yield from _tree(int(child))


def _cpu(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / _TICKS


class Parser:
    """libclang with a unit of the file."""

    def __init__(self, path: Path, text: str, flags: tuple[str, ...], options: int) -> None:
        self._path, self._options = str(path), options
        self._unit = Index.create().parse(self._path, ["-xc", *flags], [(self._path, text)], options)
        self.parse(text)  # makes the preamble

    def parse(self, text: str) -> None:
        """Parse another text of the file."""
        self._unit.reparse([(self._path, text)], self._options)
        errors = [diagnostic for diagnostic in self._unit.diagnostics if diagnostic.severity >= diagnostic.Error]
        assert not errors, errors


def measure(build: str) -> tuple[list[Edit], list[Typing]]:
    """Edit and type in linux/fs.h of a build."""
    kernel = tree.find(build)
    assert kernel is not None
    path = Path(kernel.source, "include/linux/fs.h")
    text = path.read_text()
    edited = text.replace(_STRUCT, f"{_STRUCT}\n\tlong inserted[64];")
    server = Server(path, text, build)
    flags = (*kernel.flags, f"-working-directory={kernel.build}")
    whole, preamble = (Parser(path, text, flags, options) for options in (_WHOLE, _WITH_PREAMBLE))
    before, after, *_ = map(server.label, (text, edited, text, edited, text))
    assert before != after, "the edit does not reach what the server shows"
    edits = [_edit(server, whole, preamble, (edited, text)[number % 2]) for number in range(EDITS)]
    typing = [Typing(interval, server.type(_letters(text, count), interval)) for interval, count in TYPING]
    server.end()
    return edits, typing


def _edit(server: Server, whole: Parser, preamble: Parser, text: str) -> Edit:
    sleep(PAUSE)
    before = server.cpu()
    wait = _seconds(server.edit, text)
    sleep(PAUSE)
    cpu = server.cpu() - before
    own = process_time()
    seconds = _seconds(preamble.parse, text)
    own = process_time() - own
    return Edit(wait, cpu, _seconds(whole.parse, text), seconds, own)


def _letters(text: str, count: int) -> Iterator[str]:
    for number in range(count):
        yield text.replace(_STRUCT, f"{_STRUCT}\n\tlong {'x' * (number + 1)};")


def _seconds(run: Callable[[str], object], text: str) -> float:
    began = monotonic()
    run(text)
    return monotonic() - began


def section(edits: list[Edit], typing: list[Typing], version: str) -> str:
    """Return the section of docs/contributing/benchmarks.md."""
    wait, cpu, whole, preamble, preamble_cpu = (
        [1000 * getattr(edit, name) for edit in edits] for name in ("wait", "cpu", "whole", "preamble", "preamble_cpu")
    )
    limits = [1000 * DELAY + LIMIT * seconds for seconds in preamble]
    late = sum(own > limit for own, limit in zip(wait, limits, strict=True))
    rows = [
        ("from the edit to its diagnostics", wait),
        (f"limit: the delay of {1000 * DELAY:.0f} ms and {LIMIT} times the reparse with a preamble", limits),
        ("processor time of the server", cpu),
        ("libclang's reparse with a preamble", preamble),
        ("processor time of that", preamble_cpu),
        ("libclang's reparse without one", whole),
    ]
    lines = [EDITS_HEAD, "", "`python -m tools.bench.edits --write` writes this section.", ""]
    lines += [f"A client of `layoutlint lsp` inserts and removes a field of `address_space` in linux/fs.h of Linux {version},"]
    lines += [f"{len(edits)} times. {late or 'None'} of the edits {'is' if late == 1 else 'are'} later than the limit.", ""]
    lines += ["| ms | median | least to greatest |", "|---|---:|---|"]
    lines += [f"| {name} | {median(some):.0f} | {min(some):.0f} to {max(some):.0f} |" for name, some in rows]
    priority = f", with the priority {os.nice(0)} for all of this" if os.nice(0) else ""
    lines += ["", f"The load average was {os.getloadavg()[0]:.1f} on {os.cpu_count()} processors{priority}."]
    lines += ["", "While somebody types, the server uses", ""]
    lines += [f"- {100 * each.share:.0f} % of one processor, with {1000 * each.interval:.0f} ms between letters" for each in typing]
    return "\n".join(lines) + "\n"


def main(words: list[str]) -> None:
    """Measure, and print the section."""
    parser = argparse.ArgumentParser()
    parser.add_argument("build", nargs="?")
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args(words)
    build = given.build or str(fetch("newest-headers"))
    kernel = tree.find(build)
    assert kernel is not None
    text = section(*measure(build), ".".join(map(str, kernel.version or ())))
    print(text)
    if given.write:
        PAGE.write_text(with_edits(PAGE.read_text(), text))


if __name__ == "__main__":
    main(sys.argv[1:])

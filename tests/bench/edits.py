"""What an edit costs in the language server, against libclang's own reparse: `python -m tests.bench.edits [BUILD]`.

Edits linux/fs.h of a kernel tree (by default the newest of tests/real) again and again: each edit inserts a field into
address_space, and the next one removes it. From the same text and flags, the server's worker process answers with the
diagnostics and layouts of the file, and libclang, through `clang.cindex`, parses it again: all of it, and with a
precompiled preamble, which does not read the included headers again. They alternate, so other work affects all.
"""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import median
from time import monotonic, sleep

from clang.cindex import Index, TranslationUnit

import layoutlint
from layoutlint.commands.language_server.requests import Judge, Judged, Settings
from layoutlint.commands.language_server.worker import LENGTH, frame
from layoutlint.model.reading import InputText
from layoutlint.readers.clang.kernel import tree
from tests.real.kernels import fetch

EDITS = 20
PAUSE = 1.0
"""Seconds between two edits."""
LIMIT = 1.2
_STRUCT = "struct address_space {"
_PROGRAM = "from layoutlint.commands.language_server import worker; worker.main()"
_WHOLE = TranslationUnit.PARSE_SKIP_FUNCTION_BODIES
_WITH_PREAMBLE = _WHOLE | TranslationUnit.PARSE_PRECOMPILED_PREAMBLE


class Server:
    """The worker process of the language server."""

    def __init__(self, path: Path, flags: tuple[str, ...]) -> None:
        self._path, self._flags = path, flags
        root = Path(layoutlint.__file__).parents[1]
        self._process = subprocess.Popen([sys.executable, "-c", _PROGRAM], cwd=root, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def judge(self, text: str) -> Judged:
        """The diagnostics and layouts of the file with a text."""
        path = str(self._path)
        request = Judge(path, text, True, frozenset(), (InputText(path, text),), Settings(flags=self._flags))
        requests, responses = self._process.stdin, self._process.stdout
        assert requests is not None
        assert responses is not None
        requests.write(frame(request))
        requests.flush()
        answer = pickle.loads(responses.read(int.from_bytes(responses.read(LENGTH), "little")))
        assert isinstance(answer, Judged), answer
        return answer

    def end(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()


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


def measure(build: str) -> list[tuple[float, ...]]:
    """The seconds of each edit: in the server, in libclang, and in libclang with a preamble."""
    kernel = tree.find(build)
    assert kernel is not None
    path = Path(kernel.source, "include/linux/fs.h")
    text = path.read_text()
    edited = text.replace(_STRUCT, f"{_STRUCT}\n\tlong inserted;")
    server = Server(path, (f"O={build}",))
    flags = (*kernel.flags, f"-working-directory={kernel.build}")
    parsers = [Parser(path, text, flags, options) for options in (_WHOLE, _WITH_PREAMBLE)]
    before, after, _ = [_size(server.judge(each)) for each in (text, edited, text)]
    assert before < after, "the edit does not reach the server's layouts"
    runs = (server.judge, *(parser.parse for parser in parsers))
    rows = [tuple(_seconds(run, (edited, text)[number % 2]) for run in runs) for number in range(EDITS)]
    server.end()
    return rows


def _size(judged: Judged) -> int:
    [size] = [each.struct.bit_size for each in judged.document.structs if each.name == "address_space"]
    assert size is not None
    return size


def _seconds(run: Callable[[str], object], text: str) -> float:
    sleep(PAUSE)
    began = monotonic()
    run(text)
    return monotonic() - began


def main() -> None:
    """Print the medians, and whether the limit holds."""
    rows = measure(sys.argv[1] if len(sys.argv) > 1 else str(fetch("newest-headers")))
    medians = [1000 * median(column) for column in zip(*rows, strict=True)]
    print(f"an edit of linux/fs.h, {len(rows)} edits: the server {medians[0]:.0f} ms")
    for column, name in ((1, "libclang"), (2, "libclang with a precompiled preamble")):
        ratios = sorted(row[0] / row[column] for row in rows)
        print(f"{name} {medians[column]:.0f} ms: ratio {median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}), limit {LIMIT}")


if __name__ == "__main__":
    main()

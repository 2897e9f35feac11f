"""The seed of a randomised build: 64 hexadecimal digits, given directly or in one of the kernel's files."""

from __future__ import annotations

import os
import re
from hashlib import sha256

from layoutlint import files
from layoutlint.errors import UsageError
from layoutlint.model.record import Record

DIGITS = 64
_LARGEST = 1 << 16
"""Maximum size in bytes of a seed file; the kernel's have less than 200."""
_HEX = re.compile(r"[0-9a-fA-F]*")
_QUOTED = re.compile(r'\brandstruct_seed\s*+(?:\[\s*+\d*+\s*+\]\s*+)?=\s*+"([^"\n]*)"')
_COMMENT = re.compile(r'("[^"\n]*")|/\*.*?(?:\*/|\Z)|//[^\n]*', re.S)
_HASHED = re.compile(
    r"^[ \t]*+#[ \t]*+define[ \t]++RANDSTRUCT_HASHED_SEED\b|\bRANDSTRUCT_(?:PLUGIN_)?[0-9a-f]{64}", re.M
)


class Seed(Record, frozen=True):
    """A valid seed; clang distinguishes upper and lower case."""

    text: str

    @property
    def words(self) -> tuple[int, ...]:
        """Four numbers of 64 bits, as GCC's plugin reads the text (scripts/gcc-plugins)."""
        return tuple(int(self.text[at : at + 16], 16) for at in range(0, DIGITS, 16))

    @property
    def hash(self) -> str:
        """The SHA-256 of the text; the vermagic of a kernel contains it after RANDSTRUCT_."""
        return sha256(self.text.encode()).hexdigest()

    def describe_mismatch(self, hashed: str) -> str:
        """Describe a build whose seed has another hash."""
        return f"was built with the seed of SHA-256 {hashed}; the given seed has {self.hash}"


def read_seed(text: str, option: str = "--seed") -> Seed:
    """Read the seed of an option: its digits, or a file that contains them.

    Accepts the files of a kernel build: `randstruct.seed` and `randomize_layout_seed.h`. Raises UsageError,
    with file and line, for an invalid seed.
    """
    if files.exists(text):
        return _read_seed(text)
    if os.sep in text or "." in text:
        raise UsageError(f"{text}: no such file", option)
    return _parse_seed(text, option)


def _read_seed(path: str) -> Seed:
    try:
        content = files.read_start(path, _LARGEST + 1, through_pipe=True)
    except OSError as error:
        raise UsageError(files.error_reason(error), path) from error
    if len(content) > _LARGEST:
        raise UsageError(f"is larger than {_LARGEST} bytes: it is not a file with a seed", path)
    return _find_seed(path, content.decode("latin-1"))


def _find_seed(path: str, text: str) -> Seed:
    quoted = _QUOTED.search(_COMMENT.sub(_blank_comment, text))
    if quoted:
        return _parse_seed(quoted[1], f"{path}:{_line_number(text, quoted.start(1))}")
    hashed = _HASHED.search(text)
    if hashed:
        place = f"{path}:{_line_number(text, hashed.start())}"
        raise UsageError("holds the hash of a seed, which does not reveal the seed", place)
    lines = [(number, line.strip()) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise UsageError("holds no seed: it is empty", path)
    if len(lines) > 1:
        raise UsageError("more than one line, and no `randstruct_seed` among them", f"{path}:{lines[1][0]}")
    return _parse_seed(lines[0][1], f"{path}:{lines[0][0]}")


def _blank_comment(comment: re.Match[str]) -> str:
    """Replace a comment with blanks, without changing its lines; leave a string as it is."""
    return comment[1] or re.sub(r"[^\n]", " ", comment[0])


def _line_number(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1


def _parse_seed(text: str, place: str) -> Seed:
    match = _HEX.match(text)
    digits = match.end() if match else 0
    if digits < len(text):
        wrong = f"{text[digits]!r} at position {digits + 1}"
        raise UsageError(f"a seed is {DIGITS} hexadecimal digits; {wrong} is not one", place)
    if digits != DIGITS:
        raise UsageError(f"a seed is {DIGITS} hexadecimal digits; here are {digits}", place)
    return Seed(text)

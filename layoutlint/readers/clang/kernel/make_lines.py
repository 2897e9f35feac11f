"""The assignments of makefiles, with whether the configuration takes the lines on which they are.

Only conditions on options of the configuration are decided; make's functions are not computed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from layoutlint.model.record import Record

_COMMENT = re.compile(r"(?:^|(?<=\s))#.*")
_CONDITION = re.compile(r"\s*(else\s+)?(ifdef|ifndef|ifeq|ifneq)\b\s*(.*)|\s*(else|endif)\b")
_OPTION = re.compile(r"\$[({]CONFIG_(\w+)[)}]")
_VARIABLE = re.compile(r"\$[({]([\w-]+)[)}]")
OF_KERNEL = dict.fromkeys(
    ("need-sub-make", "mixed-build", "config-build", "KBUILD_EXTMOD", "mixed-targets", "config-targets",
     "dot-config-only", "KBUILD_SRC", "skip-makefile", "may-sync-config", "compile-only"), "",
)  # fmt: skip
"""Variables of the top Makefile that are empty where it builds the kernel."""
_ASSIGNMENT = re.compile(
    r"(?:[^=:\t]+:(?!:*=)\s*)?\s*(?:(?:export|override|private)\s+)*([^\s:+?!#=]+)\s*([+?!]|::?:?)?=\s*(.*)"
)
"""Also one for a target (`x.o: KBUILD_CFLAGS += -Os`)."""
_DEFINE = re.compile(r" *(?:(?:export|override) +)*define +([^\s=]+)(?: +([+?:]*=))? *")
"""The first line of a variable of several lines."""
_SET_OPTION = re.compile(
    r"^[ \t]*(?:(?:export|override)[ \t]+)*(CONFIG_\w+)[ \t]*([:?]*)=[ \t]*([^\s#]*)[ \t]*(?:#.*)?$",
    re.MULTILINE,
)
_END = re.compile(r" *endef\b")
_INCLUDE = re.compile(r"\s*[-s]?include\s+(.*)")
INCLUDE = "include"
"""What stands for the variable of a line that includes makefiles."""
Truth = bool | None
"""None if it is not known."""


def negate(truth: Truth) -> Truth:
    """Return the opposite."""
    return None if truth is None else not truth


def conjoin(truths: Iterable[Truth]) -> Truth:
    """Return whether all hold."""
    values = set(truths)
    return False if False in values else None if None in values else True


def disjoin(truths: Iterable[Truth]) -> Truth:
    """Return whether one holds."""
    values = set(truths)
    return True if True in values else None if None in values else False


class Assignment(Record, frozen=True):
    """A line of a makefile that sets a variable."""

    variable: str
    """Its name, with the values of options of the configuration (`ccflags-y`)."""
    value: str
    number: int
    """Its line."""
    is_taken: Truth
    appends: bool
    """Whether it adds to what the variable has (`+=`)."""


def assignments(text: str, value: Callable[[str], str | None]) -> Iterator[Assignment]:
    """Yield the assignments of a makefile, and lines that include others.

    `value` returns the value of a variable, `y`, `m` or nothing for CONFIG_ options; None if it is not known.
    """
    branches: list[tuple[Truth, Truth]] = []  # whether an earlier branch, and this one, is taken
    for number, line in _lines(text):
        condition = _CONDITION.match(line)
        if condition is not None:
            _enter(branches, condition, value)
        elif included := _INCLUDE.fullmatch(line):
            yield Assignment(INCLUDE, included[1], number, conjoin(now for _, now in branches), True)
        elif not line.startswith("\t") and (match := _ASSIGNMENT.fullmatch(line)):
            name = _OPTION.sub(lambda option: value(f"CONFIG_{option[1]}") or "", match[1])
            is_taken = conjoin(now for _, now in branches)
            yield Assignment(name, match[3], number, is_taken, match[2] == "+")


def options_set(text: str, is_known: Callable[[str], bool]) -> dict[str, str | None]:
    """Return the values of the options (CONFIG_) that a makefile itself sets; None for more than one value.

    `is_known` returns whether the configuration has an option: `?=` does not set it then.
    """
    values: dict[str, str | None] = {}
    for name, operator, value in _SET_OPTION.findall(text):
        if operator != "?" or not is_known(name):
            values[name] = value if values.get(name, value) == value and "$" not in value else None
    return values


def _lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield lines without comments, and with those that continue them, each with the number of the first.

    A variable of several lines is one line.
    """
    parts: list[str] = []
    first, is_defining = 1, False
    for number, line in enumerate(text.split("\n"), 1):
        first = first if parts else number
        if is_defining:
            is_defining = _END.match(line) is None
            parts += [_COMMENT.sub("", line)] if is_defining else []
        elif not parts and (definition := _DEFINE.fullmatch(line)):
            parts, is_defining = [f"{definition[1]} {definition[2] or '='}"], True
        else:
            parts.append(line)
        if is_defining or line.endswith("\\"):
            parts[-1] = parts[-1].removesuffix("\\")
            continue
        yield first, _COMMENT.sub("", " ".join(parts))
        parts = []
    if parts:
        yield first, _COMMENT.sub("", " ".join(parts))


def _enter(
    branches: list[tuple[Truth, Truth]], condition: re.Match[str], value: Callable[[str], str | None]
) -> None:
    """Begin or end the branch of a condition."""
    is_else, word, rest, plain = condition.groups()
    if plain == "endif":
        branches[-1:] = []
        return
    earlier: Truth = False
    if is_else or plain == "else":
        before, now = branches.pop() if branches else (None, None)
        earlier = disjoin((before, now))
    holds = True if word is None else _holds(word, rest, value)
    branches.append((earlier, conjoin((negate(earlier), holds))))


def _holds(word: str, rest: str, value: Callable[[str], str | None]) -> Truth:
    if word in ("ifdef", "ifndef"):
        known, is_option = value(rest.strip()), rest.strip().startswith("CONFIG_")
        is_set = None if known is None and not is_option else known != ""
        return is_set if word == "ifdef" else negate(is_set)
    sides = [_side(side, value) for side in _split_sides(rest.strip())]
    is_same = None if len(sides) != 2 or None in sides else sides[0] == sides[1]
    return is_same if word == "ifeq" else negate(is_same)


def _split_sides(text: str) -> list[str]:
    """Return the two sides of `(a,b)` or `"a" "b"`; otherwise others, or texts with a `$`."""
    if text.startswith("(") and text.endswith(")"):
        return text[1:-1].split(",", 1)
    parts = re.split(r"[\"']", text)
    return [parts[1], parts[3]] if len(parts) == 5 and not (parts[0] + parts[2] + parts[4]).strip() else []


def _side(text: str, value: Callable[[str], str | None]) -> str | None:
    """Return the value of one side of a condition; None if the configuration does not decide it."""

    def replacement(variable: re.Match[str]) -> str:
        known = value(variable[1])
        return variable[0] if known is None else known

    side = _VARIABLE.sub(replacement, text)
    return None if "$" in side else side.strip()

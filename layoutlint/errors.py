"""Errors that layoutlint reports to its user, and all exit statuses."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layoutlint.model.structs import Source

EXIT_KEPT = 0
EXIT_FINDINGS = 1
EXIT_USAGE = 2
"""The exit status for bad usage, or mistakes in a rule file."""
EXIT_UNKNOWN = 3
"""The exit status if something could not be judged."""
EXIT_INTERNAL = 4
EXIT_INTERRUPTED = 130
"""128 + SIGINT, as shells have it; click's own 1 would look like a finding."""
EXIT_BROKEN_PIPE = 141
"""128 + SIGPIPE, likewise: `layoutlint show vmlinux --all | head`."""


class LayoutlintError(Exception):
    """The base of errors that are reported as messages, without a traceback."""


class ReadError(LayoutlintError):
    """An input that cannot be read, or is unreliable: exit status 3."""

    def __init__(self, place: str | Source, reason: str) -> None:
        super().__init__(place, reason)
        self.path = str(place)
        """The input; `FILE:LINE` if the error is on a line of a text."""
        self.place = None if isinstance(place, str) else place
        """The line with the error; None if the input is no text, or the line is not known."""
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class Mistake(str):
    """A mistake in a rule file, with its line: `file:line: text`."""

    path: str
    line: int
    text: str

    def __new__(cls, path: str, line: int, text: str) -> Mistake:
        """Return the message on a line of a file, from 1."""
        mistake = super().__new__(cls, f"{path}:{line}: {text}")
        mistake.path, mistake.line, mistake.text = path, line, text
        return mistake

    def __reduce__(self) -> tuple[type[Mistake], tuple[str, int, str]]:
        return Mistake, (self.path, self.line, self.text)


class NoDebugInformation(ReadError):
    """An input that can be read, and has neither DWARF nor BTF: exit status 3."""


class RuleFileError(LayoutlintError):
    """All mistakes in rule files, each `file:line: message`: exit status 2."""

    def __init__(self, messages: tuple[str, ...]) -> None:
        super().__init__(messages)
        self.messages = messages

    def __str__(self) -> str:
        return "\n".join(self.messages)


class UsageError(LayoutlintError):
    """A mistake on the command line: exit status 2."""

    def __init__(self, reason: str, place: str = "") -> None:
        super().__init__(reason, place)
        self.reason = reason
        self.place = place
        """The file, with the line if it is known, or the option with the mistake; empty for none."""

    def __str__(self) -> str:
        return f"{self.place}: {self.reason}" if self.place else self.reason


_OPTIONAL = {
    "ortools": ("OR-tools", "suggest"),
    "pyarrow": ("pyarrow", "survey"),
    "duckdb": ("DuckDB", "survey"),
    "distributed": ("Dask", "distributed"),
}
"""The modules of optional libraries, with the name of each and the extra that has it."""


def missing_library(error: ModuleNotFoundError) -> Exception:
    """Return the error for a missing optional library; the given one if it is another module."""
    optional = _OPTIONAL.get((error.name or "").partition(".")[0])
    if optional is None:
        return error
    library, extra = optional
    return ReadError(library, f"is not installed: pip install 'layoutlint[{extra}]'")


_FEW = 4
"""The most names that a message lists in place of the nearest one."""


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """Return a question with the nearest of some names, to end a message; empty if none is near."""
    import difflib  # only mistakes need it

    choices = sorted(names)
    near = [choice for choice in choices if choice.casefold() == name.casefold()]
    near = near or difflib.get_close_matches(name, choices, 1)
    return f" (did you mean `{near[0]}`?)" if near else ""


def struct_hint(name: str, names: Iterable[str]) -> str:
    """Return `did_you_mean` for the name of a struct, which may have a field behind it: `ring.head`."""
    choices = frozenset(names)
    struct = name.replace("->", ".").partition(".")[0].strip()
    if struct != name and struct in choices:
        return f" (did you mean `{struct}`, without the field?)"
    some = ", ".join(f"`{each}`" for each in sorted(choices)) if len(choices) <= _FEW else ""
    return did_you_mean(struct, choices) or (f" (it has {some})" if some else "")

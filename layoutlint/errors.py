"""What can go wrong, by meaning; each error builds its text from its parameters."""

from __future__ import annotations

from collections.abc import Iterable

EXIT_USAGE = 2
"""The exit status for a command line or rule file that cannot be carried out."""
EXIT_UNKNOWN = 3
"""The exit status where something could not be told."""


class LayoutlintError(Exception):
    """Anything that layoutlint reports to its user as an error, never as a traceback."""


class ReadError(LayoutlintError):
    """An input that cannot be read, or cannot be believed: exit status 3."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}"


class RuleFileError(LayoutlintError):
    """All mistakes of the rule files, each `file:line: message`: exit status 2."""

    def __init__(self, messages: tuple[str, ...]) -> None:
        super().__init__(messages)
        self.messages = messages

    def __str__(self) -> str:
        return "\n".join(self.messages)


class UsageError(LayoutlintError):
    """A command line that cannot be carried out as it stands: exit status 2."""


def did_you_mean(name: str, names: Iterable[str]) -> str:
    """A question after the nearest of some names, to stand behind a message; empty when none is near."""
    import difflib  # only mistakes need it

    near = difflib.get_close_matches(name, sorted(names), 1)
    return f" (did you mean `{near[0]}`?)" if near else ""

"""Messages between the server and its worker processes."""

from __future__ import annotations

from layoutlint.judgement.document import JudgedDocument
from layoutlint.judgement.finding import Fix
from layoutlint.model.reading import InputText, TrustedCompilers
from layoutlint.model.record import Record


class Settings(Record, frozen=True):
    """The options of `layoutlint lsp` on rules and layouts; paths are absolute."""

    rule_paths: tuple[str, ...] = ()
    pack_names: tuple[str, ...] = ()
    no_packs: bool = False
    no_annotations: bool = False
    flags: tuple[str, ...] = ()
    """Compiler flags."""
    compile_commands: str | None = None
    finds_flags: bool = True
    kernel_tree: str | None = None
    """The kernel tree whose flags C files outside of it have."""
    query_drivers: TrustedCompilers | None = None
    line_size: int | None = None
    min_align: int | None = None
    baseline: str | None = None
    """The baseline whose findings are accepted."""
    folder: str = ""
    """The folder of the workspace, in which people would start `check`."""


class Judge(Record, frozen=True):
    """Judge a C file."""

    path: str
    """Its absolute path."""
    text: str
    is_on_disk: bool
    known: frozenset[str]
    """Structs that it defined before."""
    texts: tuple[InputText, ...]
    """The texts of all files in the editor, by real path."""
    settings: Settings


class Judged(Record, frozen=True):
    """The result of Judge."""

    document: JudgedDocument
    mistakes: tuple[str, ...] = ()
    """Mistakes of rule files, each with its place; the rules from before them were used."""


class CheckRules(Record, frozen=True):
    """Find the mistakes of a rule file."""

    path: str
    text: str


class Mistakes(Record, frozen=True):
    """The result of CheckRules: lines from 1, with messages."""

    rows: tuple[tuple[int, str], ...]


class Suggest(Record, frozen=True):
    """Find the safe change that mends a rule; the file is as it is on disk."""

    path: str
    rule: str
    struct: str
    settings: Settings


class Suggested(Record, frozen=True):
    """The result of Suggest; no fix if there is no safe one."""

    fix: Fix | None
    path: str = ""
    """The absolute path of the file that the fix changes."""


class Accept(Record, frozen=True):
    """Add a finding to a baseline."""

    request: Judge
    rule: str
    struct: str


class Accepted(Record, frozen=True):
    """The result of Accept: the file, and its new text."""

    path: str
    text: str


class Failure(Record, frozen=True):
    """A request without a result, and why."""

    reason: str


Request = Judge | CheckRules | Suggest | Accept
Response = Judged | Mistakes | Suggested | Accepted | Failure

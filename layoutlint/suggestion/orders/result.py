"""The result of a search for a better order."""

from __future__ import annotations

from typing import Annotated, Literal

from layoutlint.judgement.rule import Rule
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.model.build import Build
from layoutlint.model.json_object import JsonObject, one_of
from layoutlint.model.record import Record
from layoutlint.model.structs import Struct
from layoutlint.sources.order_uses import LookedAt, OrderUse
from layoutlint.suggestion.contention import Contention

Status = Literal["optimal", "feasible", "infeasible", "refused", "unknown"]


class RuleOutcome(Record, frozen=True):
    """A rule before and after the change."""

    rule: Rule
    before: Verdict
    after: Verdict
    reason: str = ""
    """Why the order was only judged by it; empty if orders that keep it were searched."""


class Aimed(JsonObject, frozen=True):
    """What the order reaches for an aim."""

    aim: Annotated[str, one_of("contention", "lines", "moves", "size", "holes")]
    """The aim. Earlier aims come first. `contention` are the accesses of each contended pair, times the
    placements in which the two share a line."""
    before: int
    """The value of the declared order."""
    after: int
    """The value of the new order."""
    bound: int
    """No order that is as good for the aims before has less."""


class Move(Record, frozen=True):
    """A member that moves."""

    member: str
    behind: str | None
    """The member behind which it stands; None for the first."""
    inside: str | None = None
    """The struct without a name in which it moves; None for the struct itself."""
    reason: str = ""
    """Why it stands there, and not elsewhere; empty if that is not known."""


class OpenedStruct(JsonObject, frozen=True):
    """A struct without a name whose members are in `order`."""

    name: str
    """Its first member as declared, as `{first}`. `moves` has it if the whole struct moves."""
    members: tuple[str, ...]
    """Its members in their declared order, with those of structs without a name in it."""


class Refusal(JsonObject, frozen=True):
    """A place in the sources that depends on the order of members."""

    kind: str
    """What it is: `text`, `struct`, `padding`, or a kind of use such as `positional-initialiser`."""
    reason: str
    """What depends on which members."""
    file: str
    """The file."""
    line: int | None
    """The line."""
    members: tuple[str, ...] = ()
    """The members concerned. Empty for all."""

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        return f"{place}: {self.reason}"


class Alternative(Record, frozen=True):
    """An order that keeps all rules of a struct that is aligned to a line, by itself or by its members, or
    that has a new member which only fills bytes."""

    aligned: tuple[str, ...]
    """The members that begin a line."""
    padding: str | None
    """The new member, which is a part of the order; None for none."""
    line: int
    """Bytes of a line."""
    order: tuple[str, ...]
    moves: tuple[Move, ...]
    new: Struct
    rules: tuple[RuleOutcome, ...]
    status: Status
    """`optimal` if with the same addition no order is smaller, and none as small moves less."""
    allocation_before: str
    """What an object takes of its allocator; empty if that is not known."""
    allocation: str
    contention: Contention | None = None
    """What the order leaves of measured contention; None without evidence."""

    @property
    def size(self) -> int:
        """Bytes of the struct."""
        return (self.new.bit_size or 0) // 8

    @property
    def is_struct_aligned(self) -> bool:
        """Whether the struct is aligned, and no member of it."""
        return not self.aligned and self.padding is None

    @property
    def padding_bytes(self) -> int:
        """Bytes of the new member; 0 for none."""
        sizes = (field.bit_size for field in self.new.fields if field.name == self.padding)
        return 0 if self.padding is None else (next(sizes) or 0) // 8

    @property
    def before_padding(self) -> str:
        """The member behind which the new one stands; empty without a new one."""
        return "" if self.padding is None else self.order[self.order.index(self.padding) - 1]


class Patch(Record, frozen=True):
    """The change of the file that defines the struct."""

    file: str
    """The path of the file."""
    old_text: str
    text: str
    """The text after the change; bytes that are no UTF-8 are surrogates."""
    diff: str
    """The change as `git apply` reads it; empty if nothing moves."""
    notes: tuple[str, ...] = ()
    """What a person should look at, such as comments above several members."""


class BuildResult(Record, frozen=True):
    """A common order in one build of a matrix."""

    build: Build
    result: Suggestion
    """The order of the members that the build has, with its own rules."""


class Suggestion(Record, frozen=True):
    """The best order that was found for the members of a struct.

    With a matrix, it is the order of all members in all builds; `struct` and `new` are those of the first
    build, and a rule has its worst outcomes.
    """

    input: str
    """As given; the matrix file for one."""
    struct: Struct
    """The struct as it is, with the members of opened structs in their place."""
    status: Status
    new: Struct | None
    """The struct in the new order, likewise; None if no order was found."""
    declared: tuple[str, ...] = ()
    """The members of `struct`, as it is."""
    order: tuple[str, ...] = ()
    """The members in the new order."""
    opened: tuple[OpenedStruct, ...] = ()
    """The structs without a name whose members are in `declared`: they stay together."""
    moves: tuple[Move, ...] = ()
    aims: tuple[Aimed, ...] = ()
    steps: tuple[tuple[int, int, int | None], ...] = ()
    """Moves, size, and contention if that is an aim, of the orders on the way from the declared one."""
    contention: Contention | None = None
    """What the order leaves of measured contention; None without evidence."""
    rules: tuple[RuleOutcome, ...] = ()
    core: tuple[Rule, ...] = ()
    """Rules that contradict one another."""
    core_builds: tuple[tuple[Build, ...], ...] = ()
    """For each rule of the core the builds in which it is meant; empty without a matrix."""
    is_core_minimal: bool = True
    """Whether all but any one of them can be kept."""
    alternatives: tuple[Alternative, ...] = ()
    """What keeps the rules that no order keeps, the smallest struct first."""
    chosen: Alternative | None = None
    """The alternative that this is; None for an order of the members as they are."""
    refusals: tuple[Refusal, ...] = ()
    """What forbids the order."""
    hints: tuple[OrderUse, ...] = ()
    """What is worth reading in the sources, and forbids nothing."""
    is_forced: bool = False
    is_order_free: bool = False
    """Whether the struct is marked `__randomize_layout`, so that all of its users accept any order."""
    reason: str = ""
    """Why it was refused, or why nothing is known."""
    patch: Patch | None = None
    """None if there is no order, or no text to change."""
    no_patch: str = ""
    """Why there is no patch."""
    notes: tuple[str, ...] = ()
    looked_at: LookedAt = LookedAt()
    not_looked_at: tuple[str, ...] = ()
    """What was not searched for uses of the order."""
    builds: tuple[BuildResult, ...] = ()
    """The builds of a matrix that have the struct; empty without one."""

    @property
    def is_change(self) -> bool:
        """Whether the struct is to be changed."""
        return bool(self.moves) or self.chosen is not None

    @property
    def not_kept(self) -> tuple[RuleOutcome, ...]:
        """The rules that the order does not keep: none could be searched for, unless it is infeasible."""
        return tuple(each for each in self.rules if each.after.outcome is not Outcome.KEPT)

"""Format `json` of `suggest`: the order for scripts (schema `layoutlint/suggest/1`, docs/json.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from layoutlint.commands import order_phrases as phrases
from layoutlint.model.json_object import JsonObject, one_of
from layoutlint.model.structs import Struct
from layoutlint.reports.json_values import document_text, file_and_line
from layoutlint.suggestion.contention import Contention
from layoutlint.suggestion.orders.result import (
    Aimed,
    Alternative,
    BuildResult,
    Move,
    OpenedStruct,
    Refusal,
    RuleOutcome,
    Suggestion,
)


class Document(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/suggest/1"):
    """An order of a struct's members that keeps its rules.

    An unknown value is null.
    """

    input: str
    """The input, as given; with --matrix the matrix file."""
    struct: str
    """The name of the struct."""
    file: str | None
    """The file that defines it."""
    line: int | None
    """The line of its definition."""
    status: Annotated[str, one_of("optimal", "feasible", "infeasible", "refused", "unknown")]
    """`optimal`: no order is better for the aims. `feasible`: better orders may exist. `infeasible`: no order
    keeps all rules. `refused`: the struct or its uses forbid the order. `unknown`: none was found within the
    limit of work, or a rule stays broken for which orders could not be searched."""
    reason: str | None
    """Why it was refused, or why nothing is known."""
    order: Sequence[str]
    """The members in the new order, also those in `opened` structs. Other members without a name are called
    `{first}`, by the first name inside them. Empty if there is no order. If the status is `infeasible`, it
    keeps the most rules. With --matrix, it has the members of all builds."""
    offsets: Sequence[int]
    """The offset of each member of `order`, in bytes. Empty with --matrix, where each build has its own."""
    size: tuple[int, int] | None
    """The size before and after, in bytes. Null without an order, and with --matrix, where each build has its
    own."""
    opened: Sequence[OpenedStruct]
    """The structs without a name whose members are in `order`: they stay together, and move inside only."""
    moves: Sequence[MoveJson]
    """The declarations that move: those outside of a longest common subsequence of both orders."""
    aims: Sequence[Aimed]
    """The aims in their order. With --matrix, sizes, holes and lines are the sums over all builds."""
    contention: Contention | None
    """What the order leaves of measured contention. Null without --evidence."""
    steps: Sequence[StepJson]
    """With --smallest, smaller and smaller orders, from the one that moves least to the smallest that was
    found. With --evidence, those with less and less contention. Else empty."""
    kept: Sequence[str]
    """The rules that the new order keeps."""
    rules: Sequence[RuleJson]
    """All rules on the struct that could be judged. With --matrix each has its worst outcomes."""
    core: Sequence[str]
    """The ids of rules that no order keeps together. Empty if all can be kept."""
    core_rules: Sequence[CoreRuleJson]
    """The same rules with their places."""
    core_is_minimal: bool
    """Whether all rules of the core but any one can be kept."""
    alternatives: Sequence[AlternativeJson]
    """What keeps the rules that no order keeps, the smallest struct first."""
    chosen: AlternativeJson | None
    """The alternative of `--alternative`. Null without it."""
    refusals: Sequence[Refusal]
    """What forbids the order: the text of the struct, or places in the sources."""
    forced: bool
    """Whether the order was suggested in spite of them."""
    hints: Sequence[Refusal]
    """What is worth reading in the sources, and forbids nothing."""
    order_free: bool
    """Whether the struct is marked `__randomize_layout`, so that its users accept any order."""
    searched: SearchedJson
    """What was searched for uses of the order."""
    patch: str | None
    """The change as a diff for `git apply`. Null if there is no text to change."""
    no_patch: str | None
    """Why there is no patch."""
    notes: Sequence[str]
    """What a person should know."""
    builds: Sequence[BuildJson] | None
    """The builds of the matrix that have the struct. Null without --matrix."""
    series: Sequence[Document] | None
    """The suggestions for the structs after the first, each an object like this one. Null for one struct."""


class MoveJson(JsonObject, frozen=True):
    """A declaration that moves."""

    member: str
    """The member."""
    behind: str | None
    """The member behind which it stands. Null for the first."""
    inside: str | None
    """The struct without a name in which it moves, as in `opened`. Null for the struct itself."""
    why: str | None
    """What the move is for, and why it ends there. Null if neither is known."""


class StepJson(JsonObject, frozen=True):
    """An order on the way to the smallest one, or the one with the least contention."""

    moves: int
    """The declarations that move in all."""
    size: int
    """The size in bytes. With --matrix, the sum over all builds."""
    contention: int | None
    """The aim `contention`. Null without --evidence."""


class RuleJson(JsonObject, frozen=True):
    """A rule on the struct."""

    rule: str
    """The rule's id."""
    before: Annotated[str, one_of("kept", "at-risk", "broken", "unknown")]
    """The outcome for the declared order."""
    after: Annotated[str, one_of("kept", "at-risk", "broken", "unknown")]
    """The outcome for the new order."""
    message: str
    """The message for the new order."""
    searched: bool
    """Whether orders that keep the rule were searched. Else the order was only judged by it."""
    reason: str | None
    """Why it was only judged."""


class CoreRuleJson(JsonObject, frozen=True):
    """A rule that contradicts the others of the core."""

    rule: str
    """The rule's id."""
    file: str
    """Its file."""
    line: int | None
    """Its line."""
    builds: Sequence[str] | None
    """The builds in which it contradicts. Null without --matrix."""


class AlternativeJson(JsonObject, frozen=True):
    """An order that keeps all rules, or leaves less contention, with more alignment, or a new member."""

    aligned: Sequence[str]
    """The members to align."""
    struct_aligned: bool
    """Whether the struct is to be aligned, and no member of it."""
    align: int
    """The alignment in bytes."""
    padding: PaddingJson | None
    """A new member that only fills bytes. Null for none."""
    size: int
    """The size of the struct in bytes."""
    order: Sequence[str]
    """The members in their order, with a new one."""
    moves: Sequence[MoveJson]
    """The declarations that move."""
    allocation: tuple[str | None, str | None]
    """What an object takes of its allocator before and after. Null if it is not known."""
    contention: Contention | None
    """What it leaves of measured contention. Null without --evidence."""


class SearchedJson(JsonObject, frozen=True):
    """What was searched for uses of the order."""

    sources: int
    """The number of C sources."""
    headers: int
    """The number of other files."""
    mentioning: int
    """How many of these files name the struct."""
    not_searched: Sequence[str]
    """What was not searched."""


class BuildJson(JsonObject, frozen=True):
    """A build of the matrix that has the struct."""

    build: str
    """Its name."""
    input: str
    """The input with the struct."""
    file: str | None
    """The file that defines the struct."""
    line: int | None
    """The line of its definition."""
    order: Sequence[str]
    """The members that the build has, in the new order. Empty if there is no order."""
    offsets: Sequence[int]
    """The offset of each member of `order`, in bytes."""
    offsets_before: Sequence[int]
    """The same before the change."""
    size: tuple[int, int] | None
    """The size before and after, in bytes."""
    rules: Sequence[RuleJson]
    """The rules that apply to the build."""


class PaddingJson(JsonObject, frozen=True):
    """A new member that only fills bytes."""

    member: str
    """Its name."""
    size: int
    """Its size in bytes."""
    behind: str
    """The member behind which it stands."""


def render(results: Sequence[Suggestion]) -> str:
    """Return the first suggestion as one JSON object, with those after it in `series`."""
    first, *others = results
    return document_text(_document(first, [_document(each) for each in others]))


def _document(result: Suggestion, series: Sequence[Document] = ()) -> Document:
    kept = [each for each in result.rules if each.after.outcome.value == "kept"]
    return Document(
        input=result.input,
        struct=result.struct.name,
        **file_and_line(result.struct.source),
        status=result.status,
        reason=result.reason or None,
        order=result.order,
        offsets=[] if result.builds else _offsets(result.new),
        size=None if result.builds else _sizes(result),
        opened=result.opened,
        moves=[_move(move, phrases.reason_of(result, move, result.opened)) for move in result.moves],
        aims=result.aims,
        contention=result.contention,
        steps=[StepJson(moves=moves, size=size, contention=left) for moves, size, left in result.steps],
        kept=[each.rule.id for each in kept],
        rules=[_rule(each) for each in result.rules],
        core=[rule.id for rule in result.core],
        core_rules=[_core(result, number) for number in range(len(result.core))],
        core_is_minimal=result.is_core_minimal,
        alternatives=[_alternative(each, result) for each in result.alternatives],
        chosen=None if result.chosen is None else _alternative(result.chosen, result),
        refusals=result.refusals,
        forced=result.is_forced,
        hints=[Refusal(use.kind, use.text, use.file, use.line, use.members) for use in result.hints],
        order_free=result.is_order_free,
        searched=SearchedJson(
            sources=result.looked_at.sources,
            headers=result.looked_at.headers,
            mentioning=result.looked_at.mentioning,
            not_searched=result.not_looked_at,
        ),
        patch=None if result.patch is None else result.patch.diff,
        no_patch=result.no_patch or None,
        notes=[*result.notes, *(result.patch.notes if result.patch is not None else ())],
        builds=[_build(each) for each in result.builds] if result.builds else None,
        series=series or None,
    )


def _move(move: Move, why: str) -> MoveJson:
    return MoveJson(member=move.member, behind=move.behind, inside=move.inside, why=why or None)


def _rule(outcome: RuleOutcome) -> RuleJson:
    return RuleJson(
        rule=outcome.rule.id,
        before=outcome.before.outcome.value,
        after=outcome.after.outcome.value,
        message=outcome.after.message,
        searched=not outcome.reason,
        reason=outcome.reason or None,
    )


def _offsets(struct: Struct | None) -> list[int]:
    return [] if struct is None else [field.bit_offset // 8 for field in struct.fields]


def _sizes(result: Suggestion) -> tuple[int, int] | None:
    if result.new is None:
        return None
    return (result.struct.bit_size or 0) // 8, (result.new.bit_size or 0) // 8


def _core(result: Suggestion, number: int) -> CoreRuleJson:
    rule = result.core[number]
    builds = [build.name for build in result.core_builds[number]] if result.core_builds else None
    return CoreRuleJson(rule=rule.id, file=rule.source.file, line=rule.source.line, builds=builds)


def _build(each: BuildResult) -> BuildJson:
    own = each.result
    return BuildJson(
        build=each.build.name,
        input=own.input,
        **file_and_line(own.struct.source),
        order=own.order,
        offsets=_offsets(own.new),
        offsets_before=_offsets_before(own),
        size=_sizes(own),
        rules=[_rule(outcome) for outcome in own.rules],
    )


def _offsets_before(result: Suggestion) -> list[int]:
    """Return the offsets of the members in their new order, as they are before."""
    before = phrases.bits_before(result)
    return [before[name] // 8 for name in result.order]


def _alternative(each: Alternative, result: Suggestion) -> AlternativeJson:
    return AlternativeJson(
        aligned=each.aligned,
        struct_aligned=each.is_struct_aligned,
        align=each.line,
        padding=None if each.padding is None else _padding(each.padding, each),
        size=each.size,
        order=each.order,
        moves=[_move(move, phrases.reason_of(each, move, result.opened)) for move in each.moves],
        allocation=(each.allocation_before or None, each.allocation or None),
        contention=each.contention,
    )


def _padding(name: str, each: Alternative) -> PaddingJson:
    return PaddingJson(member=name, size=each.padding_bytes, behind=each.before_padding)

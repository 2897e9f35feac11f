"""The whole of `suggest`: read a struct with its rules and uses, search, and judge what was found."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress

from layoutlint.errors import UsageError
from layoutlint.judgement.rule import Pack
from layoutlint.lint.options import Options
from layoutlint.model.record import replace
from layoutlint.model.structs import Field, fields_in_braces
from layoutlint.model.structs import Source as StructSource
from layoutlint.phrases import first_few, quantity
from layoutlint.randstruct.c_abi import CannotLayOut
from layoutlint.sources import order_uses
from layoutlint.suggestion.alternatives import Budget, alternatives
from layoutlint.suggestion.builds import (
    Refused,
    Request,
    Subject,
    arranged_subject,
    arrangements,
    read_subject,
)
from layoutlint.suggestion.joint_search import JointSearch, joint_search
from layoutlint.suggestion.orders.arrangement import Arrangement
from layoutlint.suggestion.orders.common_order import CannotJoin, CommonOrder, join
from layoutlint.suggestion.orders.result import Aimed, Refusal, Suggestion
from layoutlint.suggestion.patching import with_patch

_NO_CHOICE = "alignment is tried for one build, and not for the builds of a matrix together"


def suggest(
    path: str, request: Request, packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> Suggestion:
    """Return the best order of a struct. Raises ReadError if the input states too little."""
    subject = read_subject(path, request.struct, packs, kernel_packs, options)
    return best_order([subject], path, request)


def best_order(subjects: Sequence[Subject], label: str, request: Request) -> Suggestion:
    """Return the best order of a struct that all of its builds share; `label` is the name of their input.

    Raises UsageError for an aim that nothing is declared for, and ReadError.
    """
    try:
        search = _joint_search(subjects, label, request)
        result = search.best(request)
        if result.status in ("infeasible", "unknown") and search.has_declarations:
            search = _joint_search(subjects, label, request, splits=True)
            result = search.best(request)
    except Refused as error:
        return _refusal(subjects[0], label, str(error))
    if result.status == "infeasible" or (result.status == "unknown" and search.has_rules):
        result = _with_alternatives(search, result, request)
    elif result.status in ("optimal", "feasible") and result.contention and result.contention.after > 0:
        split = search  # what is added is added to a member
        if search.has_declarations:
            split = _joint_search(subjects, label, request, splits=True)
        result = _with_alternatives(split, result, request)
        search = split if request.alternative else search
    if note := _unopened_note(result, request):
        result = replace(result, notes=(*result.notes, note))
    if note := _first_note(result, request):
        result = replace(result, notes=(*result.notes, note))
    if request.alternative and _NO_CHOICE in result.notes:
        result = replace(result, status="unknown", new=None, order=(), moves=(), aims=(), reason=_NO_CHOICE)
    elif request.alternative:
        result = _choose(result, request.alternative)
    return with_patch(search.arranged, _without_claim(result))


def _unopened_note(result: Suggestion, request: Request) -> str:
    """Return what was not searched: orders inside structs without a name, which move as one.

    If rules contradict one another, these structs are named only if the rules are about fields in them.
    """
    if result.status == "infeasible":
        return _unopened_contradiction(result)
    both = zip(order_uses.member_names(result.struct), result.struct.fields, strict=True)
    kept = {name: own for name, field in both if (own := list(_unopened_structs(field)))}
    if not kept or not (result.moves or request.aims[0] != "moves"):
        return ""
    names = first_few([f"`{name}`" for name in kept])
    members = sum(len(each.members) for own in kept.values() for each in own)
    return f"structs without a name move as one: orders of the {members} members in {names} were not searched"


def _first_note(result: Suggestion, request: Request) -> str:
    """Return that the smallest order begins with another member, on which code can depend; else nothing."""
    names = order_uses.member_names(result.struct)
    if request.aims[0] != "size" or not result.moves or result.order[0] == names[0]:
        return ""
    return (
        f"`{result.order[0]}` is first in place of `{names[0]}`: code outside of what was searched may take "
        f"the address of the struct for that of `{names[0]}`"
    )


def _unopened_structs(field: Field) -> Iterator[Field]:
    """Yield the structs without a name that a member is or contains, in unions without a name, too."""
    if field.name is not None:
        return
    if field.aggregate == "struct" and len(field.members) > 1:
        yield field
    for member in field.members:
        yield from _unopened_structs(member)


def _unopened_contradiction(result: Suggestion) -> str:
    """Return what was not searched of the fields that contradicting rules name: orders inside a member."""
    core = {rule.id for rule in result.core}
    places = [place for one in result.rules if one.rule.id in core for place in one.before.evidence]
    paths = {place.path.split(".")[0].split("[")[0] for place in places}
    for each in (each for field in result.struct.fields for each in _unopened_structs(field)):
        if paths & {path.split(".")[0] for path, _ in fields_in_braces(each.members)}:
            return (
                "a struct without a name moves as one: orders of the members inside it were not searched, "
                "and can keep the rules"
            )
    return ""


def _choose(result: Suggestion, number: int) -> Suggestion:
    """Return one of the alternatives as the suggestion. Raises UsageError if there are fewer."""
    count = len(result.alternatives)
    if number > count:
        raise UsageError(f"{result.struct.name} has {quantity(count, 'alternative')}, and no number {number}")
    one = result.alternatives[number - 1]
    before = (result.struct.bit_size or 0) // 8
    aims = (Aimed("moves", 0, len(one.moves), 0), Aimed("size", before, one.size, 0))
    return replace(
        result, status=one.status, new=one.new, order=one.order, moves=one.moves, aims=aims, rules=one.rules,
        core=(), alternatives=(), refusals=(), reason="", chosen=one, contention=one.contention,
    )  # fmt: skip


def _joint_search(
    subjects: Sequence[Subject], label: str, request: Request, splits: bool = False
) -> JointSearch:
    """Return the search over all builds, with the same units in each. Raises Refused.

    If it `splits`, members of one declaration are units of their own: what parts them is refused.
    """
    try:
        order, joined = _join(subjects, splits)
    except CannotJoin as error:
        raise Refused(str(error)) from None
    arranged = [
        arranged_subject(subject, own[0], own[1:], names, request)
        for subject, own, names in zip(subjects, joined, order.names, strict=True)
    ]
    return joint_search(label, order, arranged, request)


def _join(
    subjects: Sequence[Subject], splits: bool
) -> tuple[CommonOrder, tuple[tuple[Arrangement, ...], ...]]:
    """Return the common order of all builds; structs without a name are opened if all declare them alike.

    Raises Refused and CannotJoin.
    """
    every = [_arrangements(subject, True, splits) for subject in subjects]
    with suppress(CannotJoin):
        return join(every)
    return join([_arrangements(subject, False, splits) for subject in subjects])


def _arrangements(subject: Subject, opens: bool, splits: bool) -> list[Arrangement]:
    """Return the units of a struct for each declaration that it can have. Raises Refused with the build."""
    try:
        return arrangements(subject, opens, splits)
    except (Refused, CannotLayOut) as error:
        place = "" if subject.build is None else f"in {subject.build.name}: "
        raise Refused(f"{place}{error}") from None


def _with_alternatives(search: JointSearch, result: Suggestion, request: Request) -> Suggestion:
    """Return a suggestion with what alignment adds; several builds have none."""
    if len(search.arranged) > 1:
        return replace(result, notes=(*result.notes, _NO_CHOICE))
    budget, core = Budget(request.effort), [rule.id for rule in result.core]
    contention = result.contention if result.status in ("optimal", "feasible") else None
    try:
        found = alternatives(search.arranged[0], core, budget, request.is_forced, contention)
    except KeyboardInterrupt:
        return replace(result, notes=(*result.notes, "alignment and padding were not tried to the end"))
    notes = result.notes
    if budget.untried:
        what = first_few(budget.untried)
        notes = (*notes, f"not tried within --effort {request.effort:g}: {what}; raise --effort")
    return replace(result, alternatives=found, notes=notes)


def _without_claim(result: Suggestion) -> Suggestion:
    """Return a suggestion as unknown if a rule stays broken for which orders could not be searched."""
    if result.status not in ("optimal", "feasible") or not result.not_kept:
        return result
    names = ", ".join(each.rule.id for each in result.not_kept)
    return replace(result, status="unknown", reason=f"no order was searched that keeps {names}")


def _refusal(subject: Subject, label: str, reason: str) -> Suggestion:
    struct = subject.input_struct.struct
    source = struct.source or StructSource(subject.path)
    refusal = Refusal("struct", reason, source.file, source.line)
    return Suggestion(label, struct, "refused", None, reason=reason, refusals=(refusal,))

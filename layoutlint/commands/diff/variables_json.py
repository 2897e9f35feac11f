"""The variables of a comparison, for the JSON format of `diff`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from layoutlint.comparison.layouts import Presence
from layoutlint.comparison.variable_causes import CauseKind
from layoutlint.comparison.variables import (
    Neighbour,
    SectionChange,
    TableComparison,
    VariableChange,
    VariableComparison,
)
from layoutlint.model.json_object import JsonObject, Natural, Positive, one_of

_STATUS = {Presence.BOTH: "changed"}


class VariablesJson(JsonObject, frozen=True):
    """The variables of the inputs."""

    compared: Natural
    """The number of variables that both inputs have."""
    regrouped: Natural
    """Those of them that share lines with others than before."""
    files: Sequence[FileJson]
    """One for each file that both inputs have: several for folders of modules."""


class FileJson(JsonObject, frozen=True):
    """Two files that were compared."""

    label: str | None
    """The name of the module or file. Null for single files."""
    line_size: Positive
    """Bytes of a cache line."""
    is_linked: bool
    """True if variables have addresses; in an object file they have offsets in sections."""
    compared: Natural
    """The number of variables that both files have."""
    regrouped: Natural
    """Those of them that share lines with others than before."""
    sections: Sequence[SectionChange]
    """The sections of variables that are written."""
    changes: Sequence[ChangeJson]
    """By name. Variables that only share lines with others are listed if a rule or `--variable` names them,
    or if they are at most 40."""
    causes: Sequence[VariableCauseJson]
    """Those that moved most variables to lines with others first."""
    ambiguous: Sequence[AmbiguousJson]
    """The static variables that cannot be matched."""


class ChangeJson(JsonObject, frozen=True):
    """A variable that changed."""

    name: str
    """The variable."""
    old_name: str | None
    """The old name, if it differs."""
    file: str | None
    """The source file of a static variable, without folders. Null if not known."""
    status: Annotated[str, one_of("changed", "added", "removed", "renamed")]
    """What became of it."""
    is_named: bool
    """True if a rule or `--variable` names it."""
    section: tuple[str | None, str | None]
    """Its sections. Null where it is missing."""
    address: tuple[Natural | None, Natural | None]
    """Its addresses, in an object file offsets in the section. Null where it is missing."""
    size: tuple[Positive | None, Positive | None]
    """Its sizes. Null where it is missing."""
    placements: tuple[Natural, Natural]
    """The number of placements: 1 in a linked file, in an object file the bases of its section, 0 where it is
    missing."""
    straddling: tuple[Natural, Natural]
    """The number of placements in which it is on two lines although one could hold it."""
    alone: tuple[bool | None, bool | None]
    """True if no variable can be on its lines. Null where it is missing."""
    gained: Sequence[NeighbourJson]
    """The variables with which it shares a line in more placements."""
    ceased: Sequence[NeighbourJson]
    """The variables with which it shares a line in fewer placements."""


class VariableCauseJson(JsonObject, frozen=True):
    """What moved a row of variables."""

    kind: Annotated[str, one_of(*CauseKind)]
    """The edit: `numbered` if more or fewer variables have a name whose variables cannot be matched, `placed`
    if no variable explains it, but an alignment, the linker or the start of the section."""
    variable: str
    """The variable that was edited; of kind `placed` the first one that moved."""
    section: str
    """Its section."""
    size: tuple[Natural, Natural]
    """Its sizes; 0 where it is missing, and for kind `placed`."""
    shift: int
    """The bytes by which it moved the others."""
    others: Natural
    """The number of further edits at the same place."""
    moved: Natural
    """The number of variables up to the next cause."""
    regrouped: Natural
    """Those of them that share lines with others than before."""


class AmbiguousJson(JsonObject, frozen=True):
    """A name."""

    name: str
    """The name, without the numbers that compilers append."""
    variables: Natural
    """The number of variables in both files."""


class NeighbourJson(JsonObject, frozen=True):
    """Another variable."""

    name: str
    """The variable."""
    placements: tuple[Natural, Natural]
    """The number of placements in which both are on one line."""


def variables(comparison: VariableComparison | None) -> VariablesJson | None:
    """Return how the variables of two inputs compare; None if they were not requested."""
    if comparison is None:
        return None
    return VariablesJson(
        compared=comparison.pair_count,
        regrouped=sum(table.regrouped for table in comparison.tables),
        files=[_file(table) for table in comparison.tables],
    )


def _file(table: TableComparison) -> FileJson:
    return FileJson(
        label=table.label or None,
        line_size=table.line_size,
        is_linked=table.is_linked,
        compared=table.compared,
        regrouped=table.regrouped,
        sections=table.sections,
        changes=[_change(change) for change in table.changes],
        causes=[
            VariableCauseJson(
                kind=cause.kind.value,
                variable=cause.name,
                section=cause.section,
                size=cause.size,
                shift=cause.shift,
                others=cause.others,
                moved=cause.moved,
                regrouped=cause.regrouped,
            )
            for cause in table.causes
        ],
        ambiguous=[AmbiguousJson(name=name, variables=number) for name, number in table.ambiguous],
    )


def _change(change: VariableChange) -> ChangeJson:
    old, new = change.old, change.new
    names = {each.name for each in (old, new) if each is not None}
    return ChangeJson(
        name=change.variable.name,
        old_name=None if old is None or len(names) < 2 else old.name,
        file=change.variable.unit or None,
        status=_STATUS.get(change.presence, change.presence.value),
        is_named=change.is_named,
        section=(change.sections[0] or None, change.sections[1] or None),
        address=(None if old is None else old.address, None if new is None else new.address),
        size=(None if old is None else old.size, None if new is None else new.size),
        placements=change.totals,
        straddling=change.straddles,
        alone=(None if old is None else change.was_alone, None if new is None else change.is_alone),
        gained=[_neighbour(each) for each in change.gained],
        ceased=[_neighbour(each) for each in change.ceased],
    )


def _neighbour(neighbour: Neighbour) -> NeighbourJson:
    return NeighbourJson(name=neighbour.name, placements=(neighbour.old, neighbour.new))

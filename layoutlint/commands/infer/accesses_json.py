"""Format `json` of `accesses`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

from layoutlint.inference.analysis import Analysis
from layoutlint.model.json_object import Amount, JsonObject, Natural, Positive, one_of
from layoutlint.model.uses import plain_name
from layoutlint.reports.json_values import document_text
from layoutlint.sources.whole_program.fields import FieldUses
from layoutlint.sources.whole_program.phases import phase_of


class Document(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/accesses/1"):
    """What functions do with the fields of structs."""

    units: Natural
    """The number of C units that were read."""
    functions: Natural
    """The number of functions."""
    fields: Sequence[FieldJson]
    """The fields, sorted by struct and path."""
    unread: Sequence[UnreadJson]
    """What could not be read."""


class FieldJson(JsonObject, frozen=True):
    """A field."""

    struct: str
    """The struct's tag or typedef."""
    defined_in: str
    """The file that defines it."""
    path: str
    """The path of the field, dotted and without indices."""
    uses: Sequence[UseJson]
    """The uses, the hottest first."""


class UnreadJson(JsonObject, frozen=True):
    """An input or unit."""

    path: str
    """Its name."""
    reason: str
    """Why."""


class UseJson(JsonObject, frozen=True):
    """A use by one function."""

    effect: Annotated[str, one_of("read", "write", "atomic", "lock", "address")]
    """What is done with the field; `address`: its address goes where the source does not show what is
    done."""
    function: str
    """The function. What functions in headers do counts for their callers."""
    file: str
    """The file of the function."""
    line: Positive
    """The line of the function."""
    use_line: Natural
    """The line of the first such use in the function."""
    in_loop: bool
    """Whether a use is in a loop."""
    weight: Amount
    """How often it is done in one call of the function, estimated."""
    heat: Amount
    """How often the function runs, estimated."""
    phase: Annotated[str, one_of("setup", "teardown", "showing", "setting", "failing", "normal")]
    """What the function's name suggests about when it runs."""


def render(fields: Sequence[FieldUses], analysis: Analysis) -> str:
    """Return one JSON object."""
    document = Document(
        units=analysis.bodies.units,
        functions=len(analysis.program.functions),
        fields=[
            FieldJson(
                struct=each.name,
                defined_in=each.file,
                path=each.path,
                uses=[_use(use, analysis) for use in each.uses],
            )
            for each in fields
        ],
        unread=[UnreadJson(path=each.origin, reason=each.reason) for each in analysis.bodies.unread],
    )
    return document_text(document)


def _use(use: Any, analysis: Analysis) -> UseJson:
    name, place = plain_name(use.function), analysis.place(use.function)
    return UseJson(
        effect=use.effect.value,
        function=name,
        file=place.file,
        line=place.line,  # type: ignore[arg-type]  # a function has one
        use_line=use.line,
        in_loop=use.in_loop,
        weight=round(use.weight, 4),
        heat=round(analysis.heat.get(use.function, 0.0), 4),
        phase=phase_of(name).value,
    )

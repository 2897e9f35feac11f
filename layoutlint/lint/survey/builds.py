"""The layouts of one struct in a store, as inputs of a comparison."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence

from layoutlint.comparison.layouts import NotCompared
from layoutlint.errors import ReadError, struct_hint
from layoutlint.lint.sides import SideInput
from layoutlint.lint.survey import queries
from layoutlint.lint.survey.queries import RecordedBuild
from layoutlint.lint.survey.store import Store
from layoutlint.model.reading import InputText
from layoutlint.model.record import Record
from layoutlint.phrases import quantity


class StoredBuilds(Record, frozen=True):
    """What a store has of a struct."""

    inputs: tuple[SideInput, ...]
    texts: tuple[InputText, ...]
    """The snapshots that the inputs name."""
    gaps: tuple[NotCompared, ...]
    """Inputs that may have the struct too, but were not read whole."""


def stored_builds(store: Store, struct: str, inputs: Sequence[str] = ()) -> StoredBuilds:
    """Return the builds of a struct in the latest runs of a store, in the order of releases.

    `inputs` are patterns for names of inputs; without any, all count. Builds of one release, machine and
    configuration with the same layouts are one, under the first of their names. Raises ReadError without
    any, or for a damaged store.
    """
    builds, unread = queries.recorded_builds(store, struct, inputs)
    if not builds:
        chosen = " in these inputs" if inputs else ""
        hint = struct_hint(struct, queries.recorded_names(store))
        reason = f"has no layout of {struct}{chosen}; it has those of the survey's rules and of `--struct`"
        raise ReadError(store.path, f"{reason}{hint}")
    texts = [tuple(_texts(build)) for build in builds]
    names = (tuple(text.path for text in each) for each in texts)
    sides = tuple(SideInput(build.name, paths) for build, paths in zip(builds, names, strict=True))
    return StoredBuilds(sides, tuple(text for each in texts for text in each), tuple(_gaps(store, unread)))


def _gaps(store: Store, unread: int) -> Iterator[NotCompared]:
    if unread:
        reason = f"not read whole: {quantity(unread, 'input')} without a layout of the struct"
        yield NotCompared(store.path, f"{reason} (`layoutlint survey report` says why)")


def _texts(build: RecordedBuild) -> Iterator[InputText]:
    """Yield the definitions of a build as snapshots, with the configuration from beside them."""
    for number, record in enumerate(build.records, 1):
        name = build.name if len(build.records) == 1 else f"{build.name} (definition {number})"
        document = json.loads(record)
        if build.config is not None:
            document["config"] = list(build.config)
        yield InputText(name, json.dumps(document))

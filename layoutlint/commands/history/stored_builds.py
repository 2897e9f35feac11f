"""The layouts of one struct in a store, as inputs of a comparison."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence

from layoutlint.comparison.layouts import NotCompared
from layoutlint.errors import ReadError, struct_hint
from layoutlint.lint.sides import SideInput
from layoutlint.model.reading import InputText
from layoutlint.model.record import Record
from layoutlint.phrases import quantity
from layoutlint.readers.snapshot import record
from layoutlint.surveys import queries
from layoutlint.surveys.queries import RecordedBuild
from layoutlint.surveys.store import Store


class StoredBuilds(Record, frozen=True):
    """The layouts of a struct in a store."""

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
        names = queries.recorded_names(store)
        hint = "" if struct in names else struct_hint(struct, names)
        reason = f"has no layout of {struct}{chosen}; it has those of the survey's rules and of `--struct`"
        raise ReadError(store.path, f"{reason}{hint}")
    sides: list[SideInput] = []
    texts: list[InputText] = []
    for build, label in zip(builds, _labels(store, builds), strict=True):
        snapshots = tuple(_texts(store, build, label))
        sides.append(SideInput(label, tuple(text.path for text in snapshots)))
        texts += snapshots
    return StoredBuilds(tuple(sides), tuple(texts), tuple(_gaps(store, unread)))


def _labels(store: Store, builds: Sequence[RecordedBuild]) -> Iterator[str]:
    """Yield names that no two builds share, nor an input that stands beside the store."""
    seen: Counter[str] = Counter()
    for build in builds:
        seen[build.name] += 1
        number = seen[build.name]
        yield f"{store.path}:{build.name}" + (f" ({number})" if number > 1 else "")


def _gaps(store: Store, unread: int) -> Iterator[NotCompared]:
    if unread:
        reason = f"not read whole: {quantity(unread, 'input')} without a layout of the struct"
        yield NotCompared(store.path, f"{reason} (`layoutlint survey report` says why)")


def _texts(store: Store, build: RecordedBuild, label: str) -> Iterator[InputText]:
    """Yield the definitions of a build as snapshots, with the configuration from beside them.

    Raises ReadError for a record that is none.
    """
    for number, snapshot in enumerate(build.records, 1):
        name = label if len(build.records) == 1 else f"{label}, definition {number}"
        if not record.is_snapshot(snapshot.encode()):
            raise ReadError(store.path, f"is damaged: the layout of {build.name} is not a snapshot")
        if build.config is not None:
            try:
                document = json.loads(snapshot)
            except (ValueError, RecursionError) as error:
                raise ReadError(store.path, f"is damaged: the layout of {build.name}: {error}") from error
            document["config"] = list(build.config)
            snapshot = json.dumps(document)
        yield InputText(name, snapshot)

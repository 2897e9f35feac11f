"""The rows of a store, made from what one input gave."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

from layoutlint.comparison.edits import outline, own_fields
from layoutlint.errors import ReadError
from layoutlint.geometry.layout import Place
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.messages import finding_message
from layoutlint.lint.reading import Inputs
from layoutlint.model.reading import SNAPSHOT_OF, Chosen, Reading
from layoutlint.model.record import replace
from layoutlint.model.structs import Struct
from layoutlint.readers.snapshot.encode import encode
from layoutlint.reports.finding_phrases import fingerprint, fingerprint_state, struct_name
from layoutlint.reports.json_values import file_and_line
from layoutlint.surveys.tables import WITHOUT, Row


class RowMaker:
    """Makes rows of what one input gave; each has the key of its task."""

    def __init__(self, key: str, path: str, inputs: Inputs, report: Report) -> None:
        self._key = key
        self._path = path
        self._inputs = inputs
        self.report = report
        self._readings = {reading.path: reading for reading in report.readings}

    def readings(self) -> Iterator[Row]:
        """Yield a row for each file that was read."""
        for reading in self.report.readings:
            yield {
                **self._place(reading),
                "reader": reading.reader,
                "build_id": reading.build_id,
                "compilers": sorted(set(reading.compilers)),
                "notes": [plain_text(note) for note in reading.notes],
                "linux": reading.is_kernel,
                "config": None if reading.config is None else sorted(reading.config),
            }

    def layouts(self) -> Iterator[Row]:
        """Yield a row for each struct with a reliable layout, in the order of names."""
        rows = (row for number in range(len(self._inputs.unnarrowed)) for row in self._layouts_of(number))
        yield from sorted(rows, key=lambda row: (row["struct"], row["member"] or "", row["record"]))

    def _layouts_of(self, number: int) -> Iterator[Row]:
        reading = self._inputs.unnarrowed[number]
        surroundings = self._inputs.surroundings.select(number)
        rows: dict[str, Row] = {}
        for struct in reading.structs:
            if struct.bit_size is None or struct.problem is not None:
                continue
            settled = surroundings.settle(struct)
            record = _record(reading, settled)
            if record is not None and record not in rows:
                rows[record] = {**self._place(reading), **_layout(settled), "record": record}
        yield from rows.values()

    def verdicts(self) -> Iterator[Row]:
        """Yield a row for each finding, kept ones included, in the order of reports."""
        for finding in (*self.report.findings, *self.report.kept_findings):
            if not finding.rule.kind.traits.is_built_in:
                yield {**self._place_of(finding), **_verdict(finding)}

    def problems(self) -> Iterator[Row]:
        """Yield a row for each part that could not be read or judged."""
        for unread in self.report.unread:
            kind = WITHOUT if unread.lacks_debug_information else "unread"
            yield self._problem(kind, unread.origin, unread.sentence)
        for part in self.report.coverage.not_covered:
            if part.rules:
                yield self._problem("not-covered", part.origin, part.sentence)
        for reading in self._inputs.unnarrowed:
            for struct in reading.structs:
                if struct.problem is not None and not struct.omits_members:
                    reason = f"the layout of {struct.aggregate} {struct.name} is unreliable: {struct.problem}"
                    yield self._problem("layout", reading.path, reason)

    def _problem(self, kind: str, origin: str, reason: str) -> Row:
        return {"key": self._key, "kind": kind, "member": self._member(origin), "reason": plain_text(reason)}

    def _place(self, reading: Reading) -> Row:
        release = None if reading.kernel is None else ".".join(map(str, reading.kernel))
        return {
            "key": self._key,
            "member": self._member(reading.path),
            "target": reading.target.name,
            "release": release,
        }

    def _place_of(self, finding: Finding) -> Row:
        reading = self._readings.get(finding.input) or next(iter(self._readings.values()))
        return {**self._place(reading), "member": self._member(finding.input)}

    def _member(self, origin: str) -> str | None:
        """Return the part of a name behind that of the input; None for the input itself."""
        rest = origin.removeprefix(self._path) if origin != self._path else ""
        return plain_text(rest.lstrip("/:")) or None


def plain_text(text: str) -> str:
    """Return text that UTF-8 can have: other bytes of names as `\\udc80`."""
    return text.encode("utf-8", "backslashreplace").decode()


def _record(reading: Reading, struct: Struct) -> str | None:
    """Return a struct as a snapshot; None for a name that is no text."""
    alone = replace(reading, structs=(struct,), config=None, omissions=(), compilers=(), shuffled=None)
    alone = replace(alone, reader=alone.reader.removeprefix(SNAPSHOT_OF))
    try:
        return encode(alone, Chosen((struct.name,)), lambda name: name)
    except ReadError:
        return None


def _layout(struct: Struct) -> Row:
    return {
        "struct": plain_text(struct.name),
        "aggregate": struct.aggregate,
        "size": (struct.bit_size or 0) // 8,
        "align": struct.align,
        **_source(struct),
        "layout": sha256(repr(outline(struct)).encode(errors="backslashreplace")).hexdigest()[:16],
        "fields": [_field(place) for place in own_fields(struct.fields, struct.aggregate == "union")],
    }


def _source(struct: Struct | None) -> Row:
    row = file_and_line(None if struct is None else struct.source)
    return {**row, "file": None if row["file"] is None else plain_text(str(row["file"]))}


def _field(place: Place) -> Row:
    field = place.field
    is_bits = field.is_bitfield
    return {
        "path": plain_text(place.path),
        "offset": place.offset,
        "size": None if is_bits else place.size,
        "bit_offset": place.bit_offset if is_bits else None,
        "bit_size": field.bit_size if is_bits else None,
        "type": plain_text(f"{field.type.left}{field.type.right}"),
    }


def _verdict(finding: Finding) -> Row:
    rule, verdict = finding.rule, finding.verdict
    return {
        "rule": rule.id,
        "kind": rule.kind.name,
        "severity": rule.severity.value,
        "struct": plain_text(struct_name(finding)),
        "outcome": verdict.outcome.value,
        "message": plain_text(finding_message(finding)),
        "fields": [
            {"path": plain_text(place.path), "offset": place.offset, "size": place.size}
            for place in verdict.evidence
        ],
        **_source(finding.struct),
        "line_size": verdict.line_size,
        "placements": verdict.total,
        "violating": len(verdict.bases),
        "bases": list(verdict.bases),
        "guess": rule.guess,
        "suppressed": None if finding.suppressed is None else plain_text(finding.suppressed),
        "fingerprint": fingerprint(finding),
        "fingerprint_state": fingerprint_state(finding),
    }

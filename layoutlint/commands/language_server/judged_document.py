"""Judges one C file with the text that an editor has of it: all its structs, and all rules on them."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator

from layoutlint import files
from layoutlint.errors import LayoutlintError, UsageError
from layoutlint.geometry import placement
from layoutlint.geometry.containers import Index, TooManyContainers
from layoutlint.geometry.layout import Layout
from layoutlint.geometry.placement import Placements
from layoutlint.judgement.context import Access, CannotTell
from layoutlint.judgement.document import Failure, Holder, JudgedDocument, JudgedStruct
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.rule import Pack
from layoutlint.lint import intents, query, run
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.options import Options
from layoutlint.lint.placing import RulePlacements
from layoutlint.lint.reading import Inputs, embedded_names, read_inputs
from layoutlint.model.reading import Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import text_search

_MOST_HOLDERS = 50
"""The most places at which other structs embed a struct that a document has."""


class Document(Record, frozen=True):
    """A C file to judge."""

    path: str
    """Its absolute path."""
    name: str
    """Its name in reports, from the working folder."""
    text: str
    known: frozenset[str] = frozenset()
    """Structs that it defined when it was judged before: an error can hide them now."""


def judge(
    document: Document, packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> tuple[JudgedDocument, Report | None]:
    """Return a file with all its structs judged, and the report of `check` on them.

    The texts of editors are in `options.read`. The report is None if there are no rules. Raises RuleFileError
    for mistakes in rule files that only the file shows.
    """
    inputs, wanted = _read(document, packs, kernel_packs, options)
    names = _FileNames(document.path, document.name)
    own = [
        struct
        for reading in inputs.readings
        for struct in reading.structs
        if struct.source is not None and names.path(struct.source.file) == names.own
    ]
    readings = [query.narrow(reading, wanted) for reading in inputs.readings]
    narrowed = replace(inputs, readings=readings)
    judged = intents.add(narrowed, packs, kernel_packs, options)
    try:
        report: Report | None = run.report_on(judged, narrowed, options)
    except UsageError:  # no rules apply
        report = None
    index = Index(struct for reading in inputs.readings for struct in reading.structs)
    about = _Describer(judged.inputs, index, options, report)
    structs = tuple(about.judged_struct(struct) for struct in _sort_structs(own))
    held = {id(finding) for struct in structs for finding in struct.findings}
    findings = (*report.findings, *report.kept_findings) if report is not None else ()
    others = (f for f in findings if id(f) not in held and f.struct is None)
    result = JudgedDocument(
        structs,
        tuple(finding for finding in others if names.path(finding.place.file) == names.own),
        tuple(names.failure(unread) for unread in (report.unread if report is not None else inputs.unread)),
        tuple(sorted(names.finding_names(findings).items())),
        any(reading.is_kernel for reading in inputs.readings),
    )
    return result, report


def with_findings(judged: JudgedDocument, report: Report) -> JudgedDocument:
    """Return a judged file with the findings of its report after a comparison with a baseline."""
    by_key = {_identity(finding): finding for finding in report.findings}
    structs = tuple(
        replace(struct, findings=tuple(by_key.get(_identity(f), f) for f in struct.findings))
        for struct in judged.structs
    )
    return replace(judged, structs=structs)


def _identity(finding: Finding) -> Hashable:
    return finding.rule, finding.struct, finding.verdict, finding.around


def _read(
    document: Document, packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> tuple[Inputs, Wanted]:
    """Read the structs of a file; return them with the request for those that rules need."""
    wanted = query.structs_to_read(packs, kernel_packs, {}, options)
    text = document.text.encode(errors="surrogateescape")
    names = frozenset(text_search.names_defined(text)) | document.known
    of_file = replace(wanted, names=wanted.names | names, kernel=wanted.kernel - names)
    embedded = embedded_names(packs + kernel_packs)
    return read_inputs((document.name,), of_file, embedded, options.read), wanted


def _sort_structs(structs: Iterable[Struct]) -> list[Struct]:
    """Return structs in the order of the text, each definition once."""
    by_place = {(s.source.line or 0, s.name): s for s in structs if s.source is not None}
    return [by_place[place] for place in sorted(by_place)]


class _Describer:
    """Adds to structs what is known about them: placements, accesses, containers, findings."""

    def __init__(
        self, inputs: list[JudgedInput], index: Index, options: Options, report: Report | None
    ) -> None:
        self._inputs, self._index, self._options = inputs, index, options
        self._findings: dict[str, list[Finding]] = defaultdict(list)
        for finding in () if report is None else (*report.findings, *report.kept_findings):
            if finding.struct is not None:
                self._findings[finding.struct.name].append(finding)

    def judged_struct(self, struct: Struct) -> JudgedStruct:
        """Return a struct with what is known about it."""
        findings = [f for f in self._findings[struct.name] if f.struct and f.struct.source == struct.source]
        is_laid_out = struct.bit_size is not None and struct.problem is None
        return JudgedStruct(
            struct,
            self._placements(struct) if is_laid_out else None,
            tuple(dict.fromkeys(self._accesses(struct))),
            tuple(self._holders(struct)) if is_laid_out else (),
            tuple(findings),
        )

    def _placements(self, struct: Struct) -> Placements | None:
        """Return where objects can start: as a pack declares it, else by the target."""
        layout = Layout(struct)
        for judged in self._inputs:
            for pack in judged.packs:
                own = pack.select_for(judged.reading)
                line_size, min_align = self._options.line_size, self._options.min_align
                try:
                    if own.storage(struct) is not None:
                        where = RulePlacements(own, judged.surroundings, line_size, min_align)
                        return where.usual_cases(layout)[0].placements
                except (CannotTell, LayoutlintError):
                    return None
        return placement.placements(layout, self._options.line_size, self._options.min_align)

    def _accesses(self, struct: Struct) -> Iterator[Access]:
        for judged in self._inputs:
            for pack in judged.packs:
                yield from pack.select_for(judged.reading).accesses(struct)

    def _holders(self, struct: Struct) -> Iterator[Holder]:
        try:
            ways = self._index.containers(struct.name, struct)
        except TooManyContainers:
            return
        for way in ways[:_MOST_HOLDERS]:
            yield Holder(way.struct.name, way.written, way.offset)


class _FileNames:
    """Finds the files that readers name: from the working folder, or from a folder around the document."""

    def __init__(self, path: str, name: str) -> None:
        self.own = files.real_path(path)
        self._around = list(_folders_around(os.path.dirname(path)))
        self._known: dict[str, str] = {path: self.own, name: self.own}

    def path(self, name: str) -> str:
        """Return the real path of a named file; the name itself if there is no such file."""
        if name not in self._known:
            places = [os.path.abspath(name), *(os.path.join(folder, name) for folder in self._around)]
            at = next((place for place in places if files.is_file(place)), None)
            is_own = at is None and self.own == places[0]
            self._known[name] = self.own if is_own else name if at is None else files.real_path(at)
        return self._known[name]

    def failure(self, unread: Unread) -> Failure:
        """Return a failure, with its line if it is in the document."""
        place = unread.place
        is_own = place is not None and self.path(place.file) == self.own
        return Failure(str(unread), place.line if place is not None and is_own else None)

    def finding_names(self, findings: Iterable[Finding]) -> dict[str, str]:
        """Return the files that findings name, by these names."""
        names = {finding.place.file for finding in findings} | {f.rule.source.file for f in findings}
        for finding in findings:
            names |= {p.field.source.file for p in finding.verdict.evidence if p.field.source is not None}
        return {name: path for name in names if os.path.isabs(path := self.path(name))}


def _folders_around(folder: str) -> Iterator[str]:
    while True:
        yield folder
        if folder == os.path.dirname(folder):
            return
        folder = os.path.dirname(folder)

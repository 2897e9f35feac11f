"""The notes of readings that judging them adds."""

from __future__ import annotations

from layoutlint.judgement.finding import Finding
from layoutlint.lint.coverage import assumption_notes
from layoutlint.lint.judged_input import JudgedInput
from layoutlint.lint.options import Options
from layoutlint.model.reading import Reading
from layoutlint.model.record import replace


def readings_with_notes(
    inputs: list[JudgedInput], findings: list[Finding], options: Options
) -> tuple[Reading, ...]:
    """Return the readings with the notes that judging them adds, and the name of the build."""
    added = [assumption_notes(each) for each in inputs]
    structs = (finding.struct for finding in findings if finding.verdict.bases)
    failing = frozenset(struct.name for struct in structs if struct is not None)
    if failing and any(each.reading.reader == "dwarf" for each in inputs):
        from layoutlint.lint import variable_notes

        of_variables = variable_notes.variable_notes(inputs, options, failing)
        added = [first + second for first, second in zip(of_variables, added, strict=True)]
    is_source = any(each.reading.reader == "clang" for each in inputs)
    if options.read.sources or (is_source and options.finds_allocations):
        from layoutlint.lint import allocation_notes

        of_allocations = allocation_notes.allocation_notes(inputs, options, failing)
        added = [first + second for first, second in zip(of_allocations, added, strict=True)]
    if options.slabs is not None:
        from layoutlint.lint import slab_placements

        of_slabs = [slab_placements.slab_notes(each, options) for each in inputs]
        added = [first + second for first, second in zip(added, of_slabs, strict=True)]
    if options.objects is not None:
        from layoutlint.lint import seen_notes

        of_objects = [seen_notes.seen_notes(each, options.objects) for each in inputs]
        added = [first + second for first, second in zip(added, of_objects, strict=True)]
    return tuple(
        replace(each.reading, notes=each.reading.notes + notes, build=options.build)
        if notes or options.build is not None
        else each.reading
        for each, notes in zip(inputs, added, strict=True)
    )

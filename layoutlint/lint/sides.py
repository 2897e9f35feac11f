"""The sides of a comparison: each is read and judged once."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from functools import partial

from layoutlint import files
from layoutlint.comparison.comparison import Side
from layoutlint.errors import EXIT_KEPT, ReadError
from layoutlint.judgement.finding import Coverage, Report
from layoutlint.judgement.rule import Pack
from layoutlint.lint import run, slab_placements
from layoutlint.lint.missing_name import unmatched_globs
from layoutlint.lint.options import Mode, Options
from layoutlint.lint.reading import Inputs, split_compared
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import TreeCopy, no_progress
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct
from layoutlint.model.target import Target
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import copied_flags
from layoutlint.readers.clang.flags import make_absolute
from layoutlint.workers.child import HAS_PROCESSES, Lost
from layoutlint.workers.pool import map_ordered, processors


class SideInput(Record, frozen=True):
    """The input of one side."""

    label: str
    paths: tuple[str, ...]
    """Empty if the side is known to have no such file."""
    folder: str | None = None
    """The folder in which the paths stand and are shown; None for the working folder."""
    copy: TreeCopy | None = None
    """The copy of a tree that the folder is; None if it is none."""


class Compared(Mode, frozen=True):
    """A run that reads and judges one side of a comparison: all selected structs."""

    with_variables: bool = False
    """Whether variables are compared as well, so that a symbol table suffices as an input."""

    @property
    def needs_rules(self) -> bool:
        """Return False: layouts are compared without any."""
        return False

    @property
    def skips_missing(self) -> bool:
        """Return True: the other side may have the struct."""
        return True

    def request(self, wanted: Wanted, options: Options) -> Wanted:
        """Return a request for all selected structs, whether a rule names them or not."""
        wanted = replace(wanted, symbols_suffice=self.with_variables)
        if not options.only:
            return replace(wanted, everything=True)
        patterns = set(filter(is_pattern, options.only))
        names = wanted.names | set(options.only) - patterns
        return replace(wanted, names=names, patterns=tuple(sorted({*wanted.patterns, *patterns})))

    def narrow(self, inputs: Inputs, wanted: Wanted) -> Inputs:
        """Return inputs with the structs that rules want, and all that were read for the comparison."""
        return split_compared(inputs, wanted)


def read_sides(
    inputs: Sequence[SideInput],
    packs: tuple[Pack, ...],
    kernel_packs: tuple[Pack, ...],
    options: Options,
    with_variables: bool = False,
) -> tuple[Side, ...]:
    """Read all selected structs of inputs, and judge them by packs; failures are in the reports.

    Sides with folders of their own are read in processes of their own, because paths in them are alike.
    Folders are read at the same time: most of a tree of headers is one unit. Raises ReadError if such a
    process dies.
    """
    options = replace(options, mode=Compared(with_variables))
    work = partial(_read_side, packs=packs, kernel_packs=kernel_packs, options=options)
    jobs = options.read.jobs or processors()
    own_folders = any(side.folder is not None for side in inputs)
    if not own_folders and not (HAS_PROCESSES and jobs > 1 and _are_folders(inputs)):
        return tuple(map(work, inputs))
    if not HAS_PROCESSES:
        raise ReadError(inputs[0].label, "comparing folders needs processes, which this system lacks")
    workers = len(inputs) if own_folders else min(jobs, len(inputs))
    quiet = replace(options.read, progress=no_progress)
    each = replace(quiet, cache=False) if own_folders else replace(quiet, jobs=max(1, jobs // workers))
    try:
        return tuple(map_ordered(partial(work, options=replace(options, read=each)), inputs, workers))
    except Lost as lost:
        label = inputs[lost.part].label if lost.part is not None else inputs[0].label
        raise ReadError(label, f"the process that read it {lost.how}") from lost


def _are_folders(inputs: Sequence[SideInput]) -> bool:
    return all(files.is_folder(path) for side in inputs for path in side.paths)


def _read_side(
    side: SideInput, packs: tuple[Pack, ...], kernel_packs: tuple[Pack, ...], options: Options
) -> Side:
    if not side.paths:
        return Side(side.label, Report((), (), (), Coverage(0, 0, 0), EXIT_KEPT), (), is_absent=True)
    if side.folder is not None:
        words, here = copied_flags.with_absolute_build(options.read.flags), os.getcwd()
        if side.copy is None:
            flags = make_absolute(words, here)
        else:
            flags = copied_flags.flags_for_copy(side.copy, words, here)
        os.chdir(side.folder)
        options = replace(options, read=replace(options.read, copy=side.copy, flags=flags))
    inputs = run.read(side.paths, packs, kernel_packs, options)
    if options.slabs is not None:
        slab_placements.refuse_others(inputs.readings, options.slabs)
    report = run.report(inputs, packs, kernel_packs, options)
    selected = tuple(struct for struct in inputs.compared if options.selection.has(struct))
    structs = tuple(_with_lines(selected, options.line_size))
    unmatched = tuple(unmatched_globs(options.only, selected, side.paths, options.read))
    databases = (reading.compile_commands for reading in report.readings if side.copy is not None)
    flags_from = tuple(dict.fromkeys(filter(None, databases)))
    is_random = options.randomised is not None
    if not (isinstance(options.mode, Compared) and options.mode.with_variables):
        return Side(
            side.label, report, structs, flags_from=flags_from, is_in_random_order=is_random,
            unmatched=unmatched,
        )  # fmt: skip
    from layoutlint.readers import variable_tables

    tables, unread = variable_tables.read(side.paths, options.read)
    return Side(
        side.label, report, structs, False, tuple(tables), tuple(unread), flags_from, is_random, unmatched
    )


def _with_lines(structs: Iterable[Struct], line_size: int | None) -> Iterator[Struct]:
    """Yield structs on a machine with lines of this many bytes; None for those of their target."""
    targets: dict[Target, Target] = {}
    for struct in structs:
        if line_size is None:
            yield struct
            continue
        if struct.target not in targets:
            targets[struct.target] = replace(struct.target, line_size=line_size)
        yield replace(struct, target=targets[struct.target])

"""Judging inputs as the command line asks: the options and steps that `check` and `baseline` share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import click

from layoutlint.commands.option_records import FAILURE, PLACEMENTS, RULES, add, option
from layoutlint.commands.options import (
    IGNORE_MISSING,
    LIVE,
    NO_ANNOTATIONS,
    NO_PACKS,
    PACK_NAMES,
    RULE_PATHS,
    SLABS,
    SOURCES,
    PlacementOptions,
    RandomisingOptions,
    ReadingOptions,
    kernel_version,
    randomisation,
    read_options,
    slab_caches,
)
from layoutlint.commands.packs import load_packs_of_inputs
from layoutlint.commands.struct_names import strip_keyword

if TYPE_CHECKING:
    from layoutlint.geometry.seen_objects import SeenObjects
    from layoutlint.intent.policy import Policy
    from layoutlint.judgement.finding import Report
    from layoutlint.judgement.rule import Pack
    from layoutlint.lint.held_layouts import Held
    from layoutlint.lint.options import Options
    from layoutlint.model.build import Build
    from layoutlint.model.reading import InputText, TreeCopy
    from layoutlint.model.task import Executor
    from layoutlint.revisions.change import Change
    from layoutlint.revisions.staged_tree import StagedTree


def _date(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:
    if text is None:
        return None
    from layoutlint.intent.annotations.syntax import is_date

    if not is_date(text):
        raise click.BadParameter(f"{text!r}: expected a date, such as 2027-01-31", ctx, param)
    return text

_MOST_NAMED = 3
"""The rule files that a note names."""


class JudgingOptions(NamedTuple):
    """Options that choose the rules, and what they judge."""

    rule_paths: tuple[str, ...] = RULE_PATHS
    pack_names: tuple[str, ...] = PACK_NAMES
    only: str | None = option(
        "--struct", is_rare=False, metavar="GLOB", callback=strip_keyword,
        help="Judge only structs with a matching name.",
    )  # fmt: skip
    matrix_path: str | None = option(
        "--matrix", metavar="FILE", help="Judge the builds that FILE names, in one report."
    )
    no_packs: bool = NO_PACKS
    no_annotations: bool = NO_ANNOTATIONS
    comments: bool = option(
        "--comments", is_flag=True, help="Check comments of C sources about cache lines."
    )
    one_layout: bool = option(
        "--one-layout", is_flag=True, help="Fail for names with several layouts in one input."
    )
    sources: tuple[str, ...] = SOURCES
    slabs: str | None = SLABS
    objects: str | None = option(
        "--objects", heading=PLACEMENTS, metavar="FILE",
        help="Judge where these objects were: `STRUCT ADDRESS [COUNT]`.",
    )  # fmt: skip
    unused: bool = option("--unused", is_flag=True, help="Report unused rules; fail on unused annotations.")
    ignore_missing: bool = IGNORE_MISSING
    policy_from: str | None = option(
        "--policy-from", heading=FAILURE, metavar="REV",
        help="Take rules, suppressions and flags from commit REV.",
    )  # fmt: skip
    no_suppressions: bool = option(
        "--no-suppressions", heading=FAILURE, is_flag=True,
        help="Count findings that `ignore[...]` suppresses.",
    )  # fmt: skip
    today: str | None = option(
        "--today", heading=FAILURE, metavar="DATE", callback=_date,
        help="Judge by this day whether suppressions have expired.",
    )  # fmt: skip


judging_options = add(JudgingOptions, "judging", RULES, is_rare=True)
"""Adds the options of JudgingOptions; the command takes them as `judging`."""


class Arguments(NamedTuple):
    """The part of a command line on which the findings depend."""

    flags: tuple[str, ...]
    """Compiler flags."""
    inputs: tuple[str, ...]
    texts: tuple[InputText, ...]
    """The C text on standard input."""
    judging: JudgingOptions
    randomising: RandomisingOptions
    placement: PlacementOptions
    reading: ReadingOptions

    @property
    def read_paths(self) -> Iterator[str]:
        """The files and folders that the command line names."""
        own, randomising = self.judging, self.randomising
        slabs = None if own.slabs == LIVE else own.slabs
        paths = (*self.inputs, *own.rule_paths, own.matrix_path, slabs, own.objects, self.reading.btf_base)
        yield from filter(
            None, (*paths, *randomising.randomized, randomising.seed, randomising.kernel_version)
        )


class Scope(NamedTuple):
    """The options that only `check` has."""

    fail_on: str = "at-risk"
    guesses: int = 0
    staged: bool = False
    since: str | None = None
    """The revision since which changes count."""
    held: Held | None = None
    """The snapshot to which layouts are held."""
    uses: tuple[str, ...] = ()
    """C sources whose functions rank guesses."""
    removed: tuple[str, ...] = ()
    """The structs that people removed on purpose."""
    executor: Executor | None = None
    """What reads inputs, or judges the builds of a matrix; None for processes of this run."""
    judges_all: bool = False
    """Whether findings count that were there before a change, or a baseline has them."""

    @property
    def is_change(self) -> bool:
        """Whether only what a change can affect is judged."""
        return self.staged or self.since is not None


class Judged(NamedTuple):
    """The report on some inputs, and what decided it."""

    report: Report
    options: Options
    inputs: tuple[str, ...]
    packs: tuple[Pack, ...]
    kernel_packs: tuple[Pack, ...]
    change: Change | None = None
    """The change that was judged, if one was."""
    names_others: bool = False
    """Whether the command line names files that the change leaves as they are."""


def judge(arguments: Arguments, policy: Policy | None, scope: Scope | None = None) -> Judged:
    """Judge the inputs of a command line. `policy` has the rules and suppressions of a base commit.

    Of a change, the files in the index are judged, also where the working tree has others.
    """
    scope = scope or Scope()
    if not scope.is_change:
        return _judge(arguments, policy, scope)
    from layoutlint.model.record import replace
    from layoutlint.revisions import change, staged_tree

    changed = change.staged_change() if scope.since is None else change.change_since(scope.since)
    with staged_tree.enter(changed) as staged:
        if not staged.is_other:
            return _judge(arguments, policy, scope, changed)._replace(change=changed)
        _complain_of_unstaged(staged)
        moved = arguments._replace(
            inputs=tuple(map(staged.path, arguments.inputs)),
            reading=arguments.reading._replace(no_cache=True),
        )
        policy = policy and policy.move_to(staged.folder)
        judged = _judge(moved, policy, scope, staged.change, staged.copy)
    cache = read_options((), arguments.reading, policy=policy).cache
    read = replace(judged.options.read, cache=cache, copy=None)
    return judged._replace(options=replace(judged.options, read=read), change=changed)


def _complain_of_unstaged(staged: StagedTree) -> None:
    """Print on stderr that changes are not judged, because the index lacks them."""
    from layoutlint.commands import terminal
    from layoutlint.phrases import first_few

    names = first_few(sorted(staged.unstaged))
    terminal.complain(
        f"layoutlint: note: unstaged changes are not judged: {names}; stage them with `git add`"
    )


def _complain_of_rules_below(inputs: tuple[str, ...]) -> None:
    """Print on stderr which rule files inside of folders and databases are not used."""
    from layoutlint.commands import rule_files, terminal

    unused = rule_files.files_below(inputs)
    if len(unused) == 1:
        sentence = "does not count for an input that is a folder or database above it: name files beside it"
    else:
        sentence = "do not count for inputs that are folders or databases above them: name files beside them"
    more = len(unused) - _MOST_NAMED
    names = ", ".join(unused[:_MOST_NAMED]) + (f" and {more:,} more" if more > 0 else "")
    if unused:
        terminal.complain(f"layoutlint: note: {names} {sentence}")


def _judge(
    arguments: Arguments,
    policy: Policy | None,
    scope: Scope,
    change: Change | None = None,
    copy: TreeCopy | None = None,
) -> Judged:
    """Judge inputs, or what a change can affect of them. Raises UsageError and ReadError."""
    from layoutlint.intent.overrides import apply_overrides
    from layoutlint.lint import run
    from layoutlint.model.record import replace

    inputs, own, names_others = arguments.inputs, arguments.judging, False
    builds = _builds(own.matrix_path, inputs, policy)
    if own.comments and change is None:
        _refuse_without_text((*inputs, *(path for build in builds for path in build.inputs)), own.sources)
    packs = load_packs_of_inputs(own.rule_paths, own.pack_names, policy)
    if own.one_layout:
        packs += (_pack_of_one_layout((*inputs, own.matrix_path or os.curdir)[0]),)
    if builds:
        _refuse_guesses(packs)
    if scope.uses and not any(pack.guesses for pack in packs):
        raise click.UsageError("--uses ranks guesses; add `--pack generic`")
    are_files = change is None and not builds
    if are_files and not own.rule_paths and policy is None:
        _complain_of_rules_below(inputs)
    kernel_packs = () if own.no_packs else _kernel_packs(
        packs, inputs if are_files else (), arguments.reading.kernel_tree
    )
    packs, kernel_packs = apply_overrides(packs, kernel_packs)
    options = _options(arguments, policy, scope)
    options = replace(options, read=replace(options.read, copy=copy, executor=scope.executor))
    if change is not None:
        from layoutlint.lint import change_effects

        names = change_effects.split_names(inputs, are_inputs=scope.since is not None)
        names_others = change.with_paths(names.changed).has_others
        removed = frozenset(scope.removed)
        result = change_effects.find(
            change, names, packs, kernel_packs, options, removed, scope.judges_all or bool(builds)
        )
        inputs, packs, kernel_packs = result.inputs, result.packs, result.kernel_packs
        read = replace(options.read, touched=result.touched)
        options = replace(options, read=read, mode=result.scope)
    if not builds:
        report = run.check(inputs, packs, kernel_packs, options)
    else:
        from layoutlint.lint import matrix

        report = matrix.check(builds, packs, kernel_packs, options)
    return Judged(report, options, inputs, packs, kernel_packs, names_others=names_others)


def _pack_of_one_layout(path: str) -> Pack:
    """Return the rule of `--one-layout`, about all structs; `path` is the place of what has no other one."""
    from layoutlint.judgement.rule import Pack, Rule, Severity
    from layoutlint.kinds.one_layout import OneLayout
    from layoutlint.model.structs import Source

    why = "code of one unit reads what another one wrote by the layout that it knows"
    name, option = OneLayout.name, f"--{OneLayout.name}"
    rule = Rule(name, "*", OneLayout(), Severity.ERROR, why, Source(path), pack=name, by=option)
    return Pack(name, option, (rule,))


def _kernel_packs(
    packs: tuple[Pack, ...], inputs: tuple[str, ...], kernel_tree: str | None
) -> tuple[Pack, ...]:
    """Return the packs for kernels; none if no input is one and their names are free: parsing takes longer
    than a small header.
    """
    from layoutlint.intent.toml import shipped_rules
    from layoutlint.readers import dispatch

    may_be_kernel = not inputs or any(dispatch.may_be_kernel(path, kernel_tree) for path in inputs)
    if not may_be_kernel and not shipped_rules.uses_shipped_names(packs):
        return ()
    return shipped_rules.kernel_packs_beside(packs)


def _options(arguments: Arguments, policy: Policy | None, scope: Scope) -> Options:
    """Return the options of the run; raises UsageError."""
    from layoutlint.commands import rule_files
    from layoutlint.judgement.verdict import Outcome
    from layoutlint.lint.options import Guessing, Intents, Mode, Options, Strictness

    flags, inputs, texts, own, randomising, placement, reading = arguments
    return Options(
        only=() if own.only is None else (own.only,),
        line_size=placement.line_size,
        min_align=placement.min_align,
        read=read_options(flags, reading, own.sources, policy, texts),
        randomised=randomisation(randomising, inputs or (os.curdir,) * scope.is_change, needs_seed=False),
        kernel=kernel_version(randomising),
        intents=Intents(
            annotations=not own.no_annotations,
            comments=own.comments,
            suppressions=not own.no_suppressions,
            policy=policy,
            today=own.today,
            sought="" if own.rule_paths else rule_files.describe_search(inputs),
        ),
        strictness=Strictness(
            Outcome(scope.fail_on), reading.allow_unknown, own.ignore_missing, own.unused
        ),
        guessing=Guessing(scope.guesses, scope.uses),
        mode=scope.held or Mode(),
        slabs=None if own.slabs is None else slab_caches(own.slabs, own.sources),
        objects=None if own.objects is None else _load_objects(own.objects),
    )


def _load_objects(path: str) -> SeenObjects:
    """Return the objects in a file. Raises ReadError."""
    from layoutlint.geometry.seen_objects import SeenObjects
    from layoutlint.readers import object_addresses

    return SeenObjects(path, object_addresses.read(path))


def base_policy(arguments: Arguments) -> Policy | None:
    """Return the rule files and suppressions of a base commit; None without one. Raises UsageError."""
    if arguments.judging.policy_from is None:
        return None
    from layoutlint.intent import policy

    return policy.from_revision(arguments.judging.policy_from)


def _refuse_guesses(packs: tuple[Pack, ...]) -> None:
    """Raise UsageError for a pack that guesses, which judges one build only."""
    for pack in packs:
        if pack.guesses:
            raise click.UsageError(
                f"--matrix cannot use the pack {pack.name}, which guesses; check one build"
            )


def _refuse_without_text(inputs: Iterable[str], sources: tuple[str, ...]) -> None:
    """Raise UsageError if no input or source directory has C sources, whose comments can be judged."""
    from layoutlint.readers.clang.kernel import tree

    if not any(tree.source_folders(path) for path in (*inputs, *sources)):
        raise click.UsageError("--comments needs C sources: as INPUT, or below --sources DIR")


def _builds(path: str | None, inputs: tuple[str, ...], policy: Policy | None) -> tuple[Build, ...]:
    """Return the builds of a matrix file. Raises UsageError if an input is read by no build."""
    if path is None:
        return ()
    from layoutlint.intent.toml import matrix_file

    builds = matrix_file.load(path, inputs, policy.text(path) if policy else None)
    if inputs and not any(build.inputs == inputs for build in builds):
        raise click.UsageError(f"no build of {path} reads {inputs[0]}: every build names its own `input`")
    return builds

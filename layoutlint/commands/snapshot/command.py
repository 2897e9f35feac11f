"""`layoutlint snapshot`: write the layouts of structs to a file that can be committed."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple, NoReturn

import click

from layoutlint.commands import standard_input
from layoutlint.commands.option_records import OptionCommand, add, option
from layoutlint.commands.options import (
    NO_ANNOTATIONS,
    NO_PACKS,
    PACK_NAMES,
    RULE_PATHS,
    RandomisingOptions,
    ReadingOptions,
    randomisation,
    randomising_options,
    read_options,
    reading_options,
)
from layoutlint.commands.struct_names import without_keywords
from layoutlint.errors import EXIT_KEPT, EXIT_UNKNOWN

if TYPE_CHECKING:
    from layoutlint.commands.snapshot.recording import Recording, Request
    from layoutlint.model.reading import Reading


class SnapshotOptions(NamedTuple):
    """Options that only `snapshot` has."""

    rule_paths: tuple[str, ...] = RULE_PATHS
    pack_names: tuple[str, ...] = PACK_NAMES
    no_packs: bool = NO_PACKS
    no_annotations: bool = NO_ANNOTATIONS
    globs: tuple[str, ...] = option(
        "--struct", multiple=True, metavar="GLOB",
        callback=lambda ctx, param, names: without_keywords(names),
        help="Record matching structs (default: those that rules name).",
    )  # fmt: skip
    everything: bool = option("--all", is_flag=True, help="Record every struct and union.")
    types: bool = option("--types", is_flag=True, help="Hold the types of fields, too.")
    may_use: tuple[str, ...] = option(
        "--may-use", multiple=True, metavar="GLOB",
        help="Let members use the bytes of matching reserved ones.",
    )  # fmt: skip
    output: str | None = option("--output", metavar="FILE", help="Write to FILE instead of stdout.")
    update: str | None = option(
        "--update", metavar="FILE", help="Update the snapshot FILE, with the same choice of structs."
    )
    sources: tuple[str, ...] = option(
        "--sources", multiple=True, metavar="DIR",
        help="Read annotations in the comments of this source directory.",
    )  # fmt: skip


@click.command(cls=OptionCommand)
@click.argument("inputs", nargs=-1, required=True, metavar="INPUT...")
@add(SnapshotOptions, "own")
@randomising_options
@reading_options
@click.pass_obj
def snapshot(
    flags: tuple[str, ...],
    /,
    inputs: tuple[str, ...],
    own: SnapshotOptions,
    randomising: RandomisingOptions,
    reading: ReadingOptions,
) -> NoReturn:
    """Record layouts, to commit and compare.

    The file is an input of all commands, and `check --snapshot FILE` holds layouts to it. Exit status:
    0 written; 3 something could not be recorded, and nothing is written (--allow-unknown writes the rest).
    """
    from layoutlint.commands import output_files, terminal
    from layoutlint.commands.snapshot import recording
    from layoutlint.lint.options import Intents, Options

    _refuse_contradictions(own)
    path = own.update or own.output
    inputs, texts = standard_input.take_text(inputs, own.rule_paths)
    request = _request(own)
    if path is not None:
        _refuse_output(path, (*inputs, *own.rule_paths))
    options = Options(
        read=read_options(flags, reading, own.sources, texts=texts),
        randomised=randomisation(randomising, inputs),
        intents=Intents(annotations=not own.no_annotations),
    )
    recorded = recording.record(inputs, request, options)
    for sentence in (*recorded.notes, *_warnings(recorded)):
        terminal.complain(f"layoutlint: note: {sentence}")
    for trouble in recorded.troubles:
        terminal.complain(f"layoutlint: {trouble}")
    if recorded.troubles and not reading.allow_unknown:
        terminal.complain("layoutlint: nothing was written; --allow-unknown records the rest")
        sys.exit(EXIT_UNKNOWN)
    if path is None:
        terminal.write(recorded.text)
    else:
        output_files.write_whole(path, recorded.text)
    sys.exit(EXIT_KEPT)


def _warnings(recorded: Recording) -> tuple[str, ...]:
    return () if recorded.structs else ("the snapshot has no structs",)


def _refuse_contradictions(own: SnapshotOptions) -> None:
    if own.everything and own.globs:
        raise click.UsageError("--all and --struct contradict each other")
    if own.update is None:
        return
    others = {
        "--output": own.output is not None,
        "--struct": bool(own.globs),
        "--all": own.everything,
        "--rules": bool(own.rule_paths),
        "--pack": bool(own.pack_names),
    }
    for flag, is_given in others.items():
        if is_given:
            raise click.UsageError(
                f"--update records what FILE has; {flag} cannot be given with it"
            )


def _refuse_output(path: str, read_paths: tuple[str, ...]) -> None:
    """Raise UsageError for a file that cannot be written, that is read, or that is not a snapshot."""
    from layoutlint import files
    from layoutlint.commands import output_files
    from layoutlint.errors import UsageError
    from layoutlint.readers.dispatch import SNIFFED
    from layoutlint.readers.snapshot.record import is_snapshot

    output_files.refuse((path,), read_paths)
    output_files.refuse_source(path)
    if files.is_file(path):
        head = files.read_start(path, SNIFFED)
        if head and not is_snapshot(head):
            raise UsageError(f"cannot write {path}: it exists, and is not a snapshot; remove it first")


def _request(own: SnapshotOptions) -> Request:
    """Return the structs to record. Raises UsageError if nothing chooses any."""
    from layoutlint.commands.packs import load_packs, load_packs_of_inputs
    from layoutlint.commands.snapshot.recording import Request
    from layoutlint.intent.overrides import apply_overrides
    from layoutlint.intent.toml import shipped_rules
    from layoutlint.model.record import replace

    if own.update is not None:
        from layoutlint.readers import snapshot

        former = _former_request(snapshot.load(own.update))
        may_use = tuple(dict.fromkeys((*former.may_use, *own.may_use)))
        return replace(former, types=former.types or own.types, may_use=may_use, new_globs=own.may_use)
    more = Request(types=own.types, may_use=own.may_use, new_globs=own.may_use)
    named = bool(own.rule_paths or own.pack_names)
    if own.everything or (own.globs and not named):
        return replace(more, everything=own.everything, globs=own.globs)
    load = load_packs if own.globs else load_packs_of_inputs
    packs = load(own.rule_paths, own.pack_names)
    kernel_packs = () if own.no_packs or own.globs else shipped_rules.kernel_packs_beside(packs)
    packs, kernel_packs = apply_overrides(packs, kernel_packs)
    return replace(more, globs=own.globs, packs=packs, kernel_packs=kernel_packs)


def _former_request(old: Reading) -> Request:
    """Return the request that an older snapshot answered."""
    from layoutlint.commands.snapshot.recording import Request
    from layoutlint.model.record import replace

    before = frozenset(struct.name for struct in old.structs)
    former = Request(before=before, types=old.holds_types, may_use=old.may_use)
    if old.chosen is None:
        return replace(former, everything=True)
    return replace(former, globs=old.chosen.names, containers_of=old.chosen.containers_of)

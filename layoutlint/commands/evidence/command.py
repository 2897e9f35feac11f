"""`layoutlint evidence`: put the accesses of a profile at fields of structs."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn

import click

from layoutlint.commands import standard_input
from layoutlint.commands.option_records import OptionCommand, add, option
from layoutlint.commands.options import (
    NO_ANNOTATIONS,
    NO_PACKS,
    OUTPUTS,
    PACK_NAMES,
    RULE_PATHS,
    PlacementOptions,
    ReadingOptions,
    format_of,
    parse_outputs,
    placement_options,
    read_options,
    reading_options,
)
from layoutlint.commands.packs import load_packs_of_inputs
from layoutlint.commands.struct_names import strip_keyword
from layoutlint.reports import formats

if TYPE_CHECKING:
    from layoutlint.judgement.evidence import EvidenceReport
    from layoutlint.lint.options import Options

_ADDRESS = re.compile(r"0[xX][0-9a-fA-F]{1,16}|[0-9]{1,19}")
_BUILD_ID = re.compile(r"[0-9a-fA-F]{16,64}")

FORMATS = formats(__package__, "text", "json", "toml")
"""Functions of an EvidenceReport; the one for people has options, and drafts name saved evidence."""


def _addresses(ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]) -> tuple[int, ...]:
    """Return addresses, given as hexadecimal or decimal numbers."""
    numbers = []
    for text in texts:
        number = int(text, 16 if text[:2].lower() == "0x" else 10) if _ADDRESS.fullmatch(text) else -1
        if not 0 <= number < 1 << 64:
            raise click.BadParameter(f"{text!r} is not an address, such as 0xffff92e266af9080", ctx, param)
        numbers.append(number)
    return tuple(numbers)


def _build_id(ctx: click.Context, param: click.Parameter, text: str | None) -> str | None:
    if text is not None and not _BUILD_ID.fullmatch(text):
        raise click.BadParameter(f"{text!r} is not a build id: 16 to 64 hexadecimal digits", ctx, param)
    return text


def _fields(ctx: click.Context, param: click.Parameter, text: str | None) -> frozenset[str] | None:
    from layoutlint.readers.profiles import samples

    try:
        return None if text is None else samples.check_fields(text)
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param) from error


def _symbol_addresses(
    ctx: click.Context, param: click.Parameter, texts: tuple[str, ...]
) -> tuple[tuple[str, int], ...]:
    """Return symbols with their addresses."""
    pairs = [text.rpartition("=") for text in texts]
    wrong = next((text for text, pair in zip(texts, pairs, strict=True) if not pair[0]), None)
    if wrong is not None:
        raise click.BadParameter(f"{wrong!r} is not SYMBOL=ADDRESS", ctx, param)
    addresses = _addresses(ctx, param, tuple(address for _, _, address in pairs))
    return tuple((symbol, address) for (symbol, _, _), address in zip(pairs, addresses, strict=True))


class EvidenceOptions(NamedTuple):
    """Options that only `evidence` has."""

    input_path: str = option(
        "--in", required=True, metavar="INPUT", help="Read the layouts from this input."
    )
    struct: str | None = option(
        "--struct", metavar="NAME", callback=strip_keyword,
        help="Look for this struct (default: those of rules and profile).",
    )  # fmt: skip
    bases: tuple[int, ...] = option(
        "--base", multiple=True, metavar="ADDRESS", callback=_addresses,
        help="Set the address of an object, as in the profile.",
    )  # fmt: skip
    symbol_addresses: tuple[tuple[str, int], ...] = option(
        "--base-of", multiple=True, metavar="SYMBOL=ADDRESS", callback=_symbol_addresses,
        help="Set the address of a symbol of INPUT, as in the samples.",
    )  # fmt: skip
    fields: frozenset[str] | None = option(
        "--fields", metavar="LIST", callback=_fields,
        help="Name the columns of samples, as after `perf script -F`.",
    )  # fmt: skip
    build_id: str | None = option(
        "--build-id", metavar="HEX", callback=_build_id,
        help="Set the profiled program's build id (`perf buildid-list`).",
    )  # fmt: skip
    rule_paths: tuple[str, ...] = RULE_PATHS
    pack_names: tuple[str, ...] = PACK_NAMES
    no_packs: bool = NO_PACKS
    no_annotations: bool = NO_ANNOTATIONS
    format_: str = format_of(FORMATS)
    outputs: tuple[str, ...] = OUTPUTS
    fail_on: tuple[str, ...] = option(
        "--fail-on", type=click.Choice(["measured", "contradiction"]), multiple=True,
        help="Fail on measured false sharing or contradicted accesses.",
    )  # fmt: skip
    verbose: bool = option("--verbose", "-v", is_flag=True, help="Print all entries of long lists.")


@click.command(cls=OptionCommand)
@click.argument("report_paths", nargs=-1, required=True, metavar="REPORT...")
@add(EvidenceOptions, "own")
@placement_options
@reading_options
@click.pass_obj
def evidence(
    flags: tuple[str, ...],
    /,
    report_paths: tuple[str, ...],
    own: EvidenceOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> NoReturn:
    """Compare a profile of perf with rules.

    The accesses of the profile are attributed to fields of structs. REPORT is text of `perf c2c report
    --stdio`, of `perf report -s type,typeoff -n --stdio`, of `perf annotate --data-type --stdio`, or of
    `perf script` with the column addr; `-` is standard input.

    Exit status: 0 read, 1 what --fail-on names, 2 bad usage, 3 something was not read, or nothing was placed.
    """
    from layoutlint.commands import output_files, terminal

    if own.bases and own.struct is None:
        raise click.UsageError("--base is the address of an object: name its struct with --struct")
    if own.verbose and own.format_ != "text":
        raise click.UsageError("--verbose is for --format text")
    if own.input_path == standard_input.WORD and standard_input.WORD in report_paths:
        raise click.UsageError("`-` is given twice: only one file can come from standard input")
    files = parse_outputs(own.outputs, own.format_, FORMATS, "json=evidence.json")
    output_files.refuse((path for _, path in files), (*report_paths, own.input_path, *own.rule_paths))
    for _, path in files:
        output_files.refuse_source(path)
    report = _run(flags, report_paths, own, placement, reading)
    saved = [path for name, path in files if name == "json"]
    for name, path in files if report.reports else ():
        output_files.write_whole(path, _renderer(name, own, reading, saved, os.path.dirname(path))(report))
    terminal.write(_renderer(own.format_, own, reading, saved, "")(report))
    sys.stdout.flush()
    sys.exit(report.exit_status)


def _run(
    flags: tuple[str, ...],
    report_paths: tuple[str, ...],
    own: EvidenceOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
) -> EvidenceReport:
    from layoutlint.commands.evidence import run
    from layoutlint.intent.overrides import apply_overrides
    from layoutlint.intent.toml import shipped_rules

    packs = load_packs_of_inputs(own.rule_paths, own.pack_names)
    kernel_packs = () if own.no_packs else shipped_rules.kernel_packs_beside(packs)
    packs, kernel_packs = apply_overrides(packs, kernel_packs)
    (path,), texts = standard_input.take_text((own.input_path,), own.rule_paths)
    options = _options(flags, own, placement, reading, texts)
    request = run.Request(
        report_paths, path, own.struct, own.bases, own.symbol_addresses, own.fields, own.build_id,
        frozenset(own.fail_on),
    )  # fmt: skip
    return run.collect(request, packs, kernel_packs, options)


def _options(
    flags: tuple[str, ...],
    own: EvidenceOptions,
    placement: PlacementOptions,
    reading: ReadingOptions,
    texts: Any,
) -> Options:
    from layoutlint.lint.options import Intents, Options, Strictness

    return Options(
        line_size=placement.line_size,
        min_align=placement.min_align,
        read=read_options(flags, reading, texts=texts),
        intents=Intents(annotations=not own.no_annotations),
        strictness=Strictness(allow_unknown=reading.allow_unknown, ignore_missing=True),
    )


def _renderer(
    name: str, own: EvidenceOptions, reading: ReadingOptions, saved: list[str], folder: str
) -> Callable[[EvidenceReport], str]:
    """Return the function of a format, with the options that it has.

    `saved` are files with the same evidence; drafts in `folder` name them.
    """
    from layoutlint.commands import terminal

    render = FORMATS[name]
    if name == "toml":
        return partial(render, evidence_files=[os.path.relpath(path, folder or None) for path in saved])
    if name != "text" or name != own.format_:
        return render
    return partial(
        render,
        color=terminal.has_color(reading.color),
        width=terminal.width(reading.width),
        verbose=own.verbose,
    )

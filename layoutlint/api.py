"""The Python interface: read layouts, and judge inputs by rules (docs/scripting.md).

What the command line reports as an error message is raised as LayoutlintError, or a subclass of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable

from layoutlint.errors import LayoutlintError, ReadError, RuleFileError, UsageError
from layoutlint.geometry.layout import Layout, Place
from layoutlint.geometry.placement import Placements, field_lines
from layoutlint.geometry.placement import placements as _placements
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.messages import finding_advice, finding_message
from layoutlint.judgement.rule import Pack, Rule
from layoutlint.judgement.verdict import Outcome, Verdict
from layoutlint.model.reading import ReadOptions, TrustedCompilers, Unread
from layoutlint.model.structs import Field, Source, Struct
from layoutlint.model.target import Target

__all__ = [
    "Field",
    "Finding",
    "Layout",
    "LayoutlintError",
    "Outcome",
    "Place",
    "Placements",
    "ReadError",
    "Report",
    "Rule",
    "RuleFileError",
    "Source",
    "Struct",
    "Target",
    "UsageError",
    "Verdict",
    "check",
    "field_lines",
    "finding_advice",
    "finding_message",
    "format_report",
    "placements",
    "read",
]


def read(
    path: str,
    structs: Iterable[str] = (),
    *,
    flags: Iterable[str] = (),
    query_drivers: Iterable[str] = (),
    reader: str | None = None,
    allow_unknown: bool = False,
) -> tuple[Layout, ...]:
    """Return the layouts of structs and unions of one input, by name, then by place; all for no names.

    `structs` are tags, typedefs or fnmatch patterns. `flags` are compiler flags, for C sources.
    `query_drivers` are patterns of compilers that may be asked (`--query-driver`). `reader` is `dwarf` or
    `btf` for a file with both. Raises ReadError for an input that cannot be read; and, unless
    `allow_unknown`, for a struct that is missing, not defined, or whose layout is unreliable: with
    `allow_unknown`, those are left out.
    """
    from layoutlint.lint.struct_listing import list_structs

    names, path = _strings(structs, "structs"), _text(path, "path")
    drivers = _drivers(query_drivers)
    options = ReadOptions(flags=_strings(flags, "flags"), query_drivers=drivers, reader=reader)
    listing = list_structs(path, names, options)
    if listing.troubles and not allow_unknown:
        texts = (
            each.text_for(path) if isinstance(each, Unread) else each for each in listing.troubles
        )
        raise ReadError(path, "; ".join(texts))
    return tuple(
        Layout(struct) for struct in listing.structs if struct.bit_size is not None and struct.problem is None
    )


def placements(layout: Layout, *, line_size: int | None = None, min_align: int | None = None) -> Placements:
    """Return the positions in a cache line at which objects of a struct can start.

    `line_size` and `min_align` (the smallest alignment of an object), in bytes, override the target's. Raises
    UsageError unless they are powers of two, and ReadError if the input leaves several alignments open: take
    one of `layout.alignments` by `layout.with_alignment`.
    """
    if len(layout.alignments) > 1:
        several = " or ".join(map(str, layout.alignments))
        struct = layout.struct
        raise ReadError(struct.origin, f"the alignment of {struct.aggregate} {struct.name} is {several}")
    try:
        return _placements(layout, line_size, min_align)
    except ValueError as error:
        raise UsageError(str(error)) from error


def check(
    paths: Iterable[str],
    rules: Iterable[str] = (),
    *,
    packs: Iterable[str] = (),
    kernel_packs: bool = True,
    structs: str | None = None,
    flags: Iterable[str] = (),
    query_drivers: Iterable[str] = (),
    annotations: bool = True,
    allow_unknown: bool = False,
) -> Report:
    """Judge inputs by rule files and shipped packs, as `layoutlint check` does; nothing is printed.

    `paths` are inputs, `rules` rule files or folders of them; no layoutlint.toml is searched. `packs` are
    names of shipped packs. `kernel_packs` adds the packs for Linux if an input is a kernel. `structs` is a
    name or pattern of the structs to judge. `flags` are compiler flags, for C sources. `query_drivers`
    are patterns of compilers that may be asked (`--query-driver`). `annotations` selects whether those in
    comments and macros count. The report has the exit status of the command.

    Raises RuleFileError with all mistakes of the rule files; UsageError for an unknown pack, or if no rule
    applies to the inputs. Failures to read are in `Report.unread`.
    """
    from layoutlint.intent.overrides import apply_overrides
    from layoutlint.intent.toml import shipped_rules
    from layoutlint.lint import run
    from layoutlint.lint.options import Intents, Options, Strictness

    chosen = _packs(_strings(rules, "rules"), _strings(packs, "packs"))
    linux = shipped_rules.kernel_packs_beside(chosen) if kernel_packs else ()
    chosen, linux = apply_overrides(chosen, linux)
    options = Options(
        only=() if structs is None else (structs,),
        read=ReadOptions(flags=_strings(flags, "flags"), query_drivers=_drivers(query_drivers), jobs=0),
        intents=Intents(annotations=annotations),
        strictness=Strictness(allow_unknown=allow_unknown),
    )
    return run.check(_strings(paths, "paths"), chosen, linux, options)


def format_report(report: Report, format: str = "json") -> str:
    """Return a report in a format of `layoutlint check --format`. Raises UsageError for an unknown one."""
    from layoutlint import reports

    if format not in reports.FORMATS:
        raise UsageError(f"no format is called {format!r} (known: {', '.join(sorted(reports.FORMATS))})")
    return reports.FORMATS[format](report)


def _packs(rules: tuple[str, ...], names: tuple[str, ...]) -> tuple[Pack, ...]:
    from layoutlint.intent.toml import rule_file, shipped_rules

    return (*rule_file.load(rules), *(shipped_rules.shipped_pack(name) for name in dict.fromkeys(names)))


def _drivers(globs: Iterable[str]) -> TrustedCompilers | None:
    from layoutlint.readers.clang.query_driver import trusted_compilers

    return trusted_compilers(_strings(globs, "query_drivers"), os.environ.get("PATH", os.defpath))


def _strings(values: Iterable[str], name: str) -> tuple[str, ...]:
    """Return paths or names as strings.

    Raises UsageError for one string, whose letters would be taken, and for what is neither.
    """
    if isinstance(values, str | bytes):
        raise UsageError(f"`{name}` must be a list, not one string: [{values!r}]")
    return tuple(_text(value, name) for value in values)


def _text(value: object, name: str) -> str:
    """Return a path or name as a string; raise UsageError for something else."""
    try:
        return os.fsdecode(value)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"`{name}`: {value!r} is neither a string nor a path") from None

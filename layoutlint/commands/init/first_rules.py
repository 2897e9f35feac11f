"""Rules for a project that has none: the highest guesses of the pack `generic`, as text for a rule file."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator

from layoutlint import files
from layoutlint.errors import ReadError
from layoutlint.intent.toml import shipped_rules
from layoutlint.judgement.finding import Finding, Report
from layoutlint.judgement.rule import VARIABLES, Pack
from layoutlint.lint import ranking, run
from layoutlint.lint.options import Guessing, Options, Strictness
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import Record
from layoutlint.model.structs import Source, Struct
from layoutlint.phrases import first_few, quantity
from layoutlint.readers.clang import build_system, compdb
from layoutlint.readers.clang.build_system import BuildSystem
from layoutlint.sources.allocations.proposals import keys
from layoutlint.workers.pool import processors
from layoutlint.workers.temporary_folder import temporary_folder

_PACK = "generic"
_VARIABLES = "variables"
_MOST_NAMED = 5
"""The most files that are named."""
_MOST_NOTES = 100
"""The most notes among which those on structs of the project are chosen."""


class FirstRule(Record, frozen=True):
    """A guess, as a rule."""

    struct: str
    """Its name, or that of a variable."""
    kind: str
    place: str
    """The file and line of the struct or variable."""
    parameter: str
    """The key of the rule with the fields: `fields`, `array`, `variables`, or none."""
    value: tuple[tuple[str, ...], ...] | tuple[str, ...] | str
    message: str
    why: str
    subject: str
    """The struct, variable or allocated array, with its kind."""
    placement: tuple[str, ...] = ()
    """The keys of the table of the struct, as TOML: of an allocated array, how the call places it."""


class FirstRules(Record, frozen=True):
    """The highest guesses, and what was read for them."""

    rules: tuple[FirstRule, ...]
    read: str
    """A sentence on what was read."""
    problem: str = ""
    """If there is no guess, an error that made structs of the project unreliable; empty without one."""


class Request(Record, frozen=True):
    """Which guesses to find."""

    flags: tuple[str, ...]
    """For files that no compilation database knows."""
    most: int
    progress: ReadOptions
    existing: str = ""
    """The text of the rule file that the project has: its rules, and those in comments, are left out."""
    packs: tuple[Pack, ...] = ()
    """The rules in it."""


def find(system: BuildSystem, request: Request) -> FirstRules:
    """Return the highest guesses for the project in the working folder, from a bounded part of it."""
    if system.problem:
        return FirstRules((), f"nothing: {system.problem}")
    try:
        if system.name == "Linux tree":
            headers = build_system.kernel_headers(".")
            return _guesses(headers, (), request, quantity(len(headers), "header"))
        if system.is_ready and system.input.endswith(compdb.NAME):
            return _database_rules(system.input, request)
    except ReadError as error:
        return FirstRules((), f"nothing: {error}")
    choice = build_system.files_with_shared_structs(".")
    return _guesses(list(choice.paths), request.flags, request, _tell(choice))


def _tell(choice: build_system.Choice) -> str:
    """Return which C files are read, and why not the others."""
    number, count = len(choice.paths), quantity(choice.count, "C file")
    if not number:
        return f"none of {count}{': no struct is beside a lock or atomic' if choice.count else ''}"
    why = "the others name no lock or atomic" if choice.has_all else "they name most locks and atomics"
    reason = f": {why}" if number < choice.count else ""
    return f"{number} of {count} ({first_few(choice.paths, _MOST_NAMED)}){reason}"


def _database_rules(path: str, request: Request) -> FirstRules:
    text, choice = build_system.part_of_database(path)
    with temporary_folder() as folder:
        part = os.path.join(folder, compdb.NAME)
        with open(part, "w", encoding="utf-8") as file:
            file.write(text)
        return _guesses([part], (), request, f"{path}, {_tell(choice)}")


def _guesses(paths: list[str], flags: tuple[str, ...], request: Request, sentence: str) -> FirstRules:
    if not paths:
        return FirstRules((), sentence)
    packs = (shipped_rules.shipped_pack(_PACK), *request.packs)
    options = Options(
        read=ReadOptions(flags=flags, progress=request.progress.progress, jobs=processors()),
        strictness=Strictness(ignore_missing=True),
        guessing=Guessing(most=_MOST_NOTES),
    )
    report = run.check(paths, packs, shipped_rules.kernel_packs_beside(packs), options)
    rules = _without_repetitions(_rules(report, packs[0].name))
    new = tuple(rule for rule in rules if not _is_in(rule, request.existing))
    structs = sum(len(reading.structs) for reading in report.readings)
    problem = "" if new else _first_problem(report)
    return FirstRules(new[: request.most], f"{sentence}, with {quantity(structs, 'struct')}", problem)


def _first_problem(report: Report) -> str:
    """Return why the first struct of the project that cannot be read is unreliable; empty if all are read."""
    structs = (struct for reading in report.readings for struct in reading.structs if struct.problem)
    own = (struct.problem or "" for struct in structs if struct.source and _is_own(struct.source.file))
    return next(own, "")


def _is_own(file: str) -> bool:
    return not os.path.isabs(file) and not file.startswith("..")


def _is_in(rule: FirstRule, text: str) -> bool:
    """Return whether a rule file has a guess, as a rule or in comments, whatever its id and reason."""
    lines = "\n".join(line.lstrip("# ") for line in text.splitlines())
    wanted = "\n".join(_key_lines(rule))
    return f"\n{wanted}\n" in f"\n{lines}\n"


def _rules(report: Report, pack_name: str) -> Iterator[FirstRule]:
    """Yield the guesses on structs of the working folder, the highest first."""
    pack = shipped_rules.shipped_pack(pack_name)
    placements = {
        _call(array.struct): tuple(keys(array.storage))
        for reading in report.readings
        for array in reading.allocated
    }
    for finding in report.findings:
        place = _place(finding)
        if finding.rank is None or finding.struct is None or place is None:
            continue
        placement = placements.get(_call(finding.struct), ())
        by_access = ranking.fields_by_access(finding, pack)
        parameter, value = ("", ()) if placement else _fields(finding, by_access)
        if value or placement:
            kind = "separate" if parameter == "groups" else finding.rule.kind.name
            subject = finding.struct.label or f"struct {finding.struct.name}"
            yield FirstRule(
                finding.struct.name, kind, place, parameter.replace("groups", "fields"), value,
                finding.verdict.message, finding.rule.why, subject, placement,
            )  # fmt: skip


def _call(struct: Struct) -> tuple[str, Source | None]:
    """Return what tells an allocated array from others: the label, and the place of the call."""
    return struct.label, struct.source


def _without_repetitions(rules: Iterable[FirstRule]) -> Iterator[FirstRule]:
    """Yield rules that differ; of those that place one struct the first, as a file has one table of it."""
    seen: set[FirstRule | str] = set()
    for rule in rules:
        key = rule.struct if rule.placement else rule
        if key not in seen:
            seen.add(key)
            yield rule


def _fields(
    finding: Finding, by_access: tuple[tuple[str, ...], ...]
) -> tuple[str, tuple[tuple[str, ...], ...] | tuple[str, ...] | str]:
    """Return the key of a rule on the fields of a finding, and its value; `groups` for groups of fields."""
    paths = tuple(dict.fromkeys(place.path for place in finding.verdict.evidence))
    if finding.rule.struct == VARIABLES:
        return _VARIABLES, paths[:1]
    if any(by_access):
        written, read = by_access
        if written == read:  # each of them apart from the others
            return "groups", tuple((path,) for path in written) if len(written) > 1 else ()
        groups = written, tuple(path for path in read if path not in written)
        return "groups", groups if all(groups) else ()
    if finding.rule.kind.traits.evidence_key == "array":
        return "array", paths[0] if paths else ""
    return "fields", paths


def _place(finding: Finding) -> str | None:
    """Return where a struct is defined; None outside of the working folder, or without a name."""
    source = finding.struct.source if finding.struct is not None else None
    if source is None or finding.struct is None or not finding.struct.name.isidentifier():
        return None
    path = os.path.relpath(os.path.abspath(source.file))
    is_inside = not path.startswith(os.pardir) and files.is_file(path)
    return f"{path}:{source.line}" if is_inside else None


def table(rules: Iterable[FirstRule]) -> Iterator[tuple[FirstRule, tuple[str, ...]]]:
    """Yield each guess with the lines of its rule, whose ids differ."""
    from layoutlint.escapes import toml_string

    numbers: dict[str, int] = {}
    for rule in rules:
        name = f"{rule.struct}-{rule.kind}"
        numbers[name] = numbers.get(name, 0) + 1
        suffix = f"-{numbers[name]}" if numbers[name] > 1 else ""
        yield (
            rule,
            (
                "[[rule]]",
                f"id = {toml_string(name + suffix)}",
                *_key_lines(rule),
                f"why = {toml_string(rule.why)}",
                *((f"[struct.{rule.struct}]", *rule.placement) if rule.placement else ()),
            ),
        )


def _key_lines(rule: FirstRule) -> tuple[str, ...]:
    """Return the lines that say what a rule is about."""
    from layoutlint.escapes import toml_string

    struct = () if rule.parameter == _VARIABLES else (f"struct = {toml_string(rule.struct)}",)
    fields = (f"{rule.parameter} = {_toml(rule.value)}",) if rule.parameter else ()
    return *struct, f"kind = {toml_string(rule.kind)}", *fields


def _toml(value: tuple[tuple[str, ...], ...] | tuple[str, ...] | str) -> str:
    from layoutlint.escapes import toml_string

    if isinstance(value, str):
        return toml_string(value)
    return f"[{', '.join(map(_toml, value))}]"

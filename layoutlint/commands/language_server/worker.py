"""The process that reads and judges for the language server, one request after the other.

It can be killed at any time. libclang runs in processes with limits below it. Frames on its standard streams
are eight bytes with a length, little-endian, and a pickled request or response.
"""

from __future__ import annotations

import os
import pickle
import select
import signal
from collections.abc import Iterator
from typing import TYPE_CHECKING, BinaryIO

from layoutlint import files
from layoutlint.commands.language_server.requests import (
    Accept,
    Accepted,
    CheckRules,
    Failure,
    Judge,
    Judged,
    Mistakes,
    Request,
    Response,
    Settings,
    Suggest,
    Suggested,
)
from layoutlint.errors import LayoutlintError, Mistake, ReadError, RuleFileError, missing_library
from layoutlint.files import accesses
from layoutlint.geometry import layout

if TYPE_CHECKING:
    from layoutlint.judgement.finding import Report
    from layoutlint.judgement.rule import Pack
    from layoutlint.lint.options import Options
    from layoutlint.model.reading import InputText
    from layoutlint.readers.clang.kept_units import KeptUnits

LENGTH = 8
_PAUSE = 0.05
"""The seconds without a request after which a unit is prepared for the next edit."""
_last_packs: dict[tuple[str, ...], tuple[tuple[Pack, ...], tuple[Pack, ...]]] = {}
"""The packs of rule files as they were without mistakes, by the paths of the files."""


def main() -> None:
    """Answer requests until their stream ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # it ends the server, and so the worker's stream
    requests, responses = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "wb")
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.dup2(2, 1)  # what a library prints must not get between the frames
    kept: KeptUnits | None = None
    for request in read_frames(requests):
        kept = kept or _keep_units(request)
        _write_frame(responses, answer(request))
        if kept is not None and not select.select([requests], [], [], _PAUSE)[0]:
            kept.prepare()


def _keep_units(request: Request) -> KeptUnits | None:
    """Keep units from the first C file on; None without libclang, which each reading reports."""
    if not isinstance(request, Judge):
        return None
    from layoutlint.readers.clang import kept_units

    try:
        return kept_units.keep()
    except ReadError:
        return None


def read_frames(stream: BinaryIO) -> Iterator[Request]:
    """Yield the requests of a stream until it ends."""
    while len(head := stream.read(LENGTH)) == LENGTH:
        yield pickle.loads(stream.read(int.from_bytes(head, "little")))


def frame(value: Request | Response) -> bytes:
    """Return a request or response as it is sent."""
    data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
    return len(data).to_bytes(LENGTH, "little") + data


def _write_frame(stream: BinaryIO, response: Response) -> None:
    stream.write(frame(response))
    stream.flush()


def answer(request: Request) -> Response:
    """Return the response to a request; errors are Failures."""
    accesses.begin_run()
    layout.forget()
    try:
        if isinstance(request, Judge):
            return _judge(request)[0]
        if isinstance(request, CheckRules):
            return _check_rules(request)
        if isinstance(request, Suggest):
            return _suggest(request)
        return _accept(request)
    except LayoutlintError as error:
        return Failure(str(error))
    except (MemoryError, RecursionError):
        return Failure(f"{getattr(request, 'path', 'the file')}: there is not enough memory to read it")
    except Exception as error:
        return Failure(f"internal error: {type(error).__name__}: {error}")


def _judge(request: Judge) -> tuple[Judged, Report | None]:
    """Return a judged file, and the report that `check` makes."""
    from layoutlint.commands.language_server import judged_document as document
    from layoutlint.lint import baseline
    from layoutlint.model.record import replace
    from layoutlint.readers.clang import limits

    limits.begin_run()
    _enter_folder(request.path, request.settings)
    mistakes: tuple[str, ...] = ()
    rule_paths = _rule_paths(request.path, request.settings)
    own = _settings_of(request.path, request.settings, request.texts)
    try:
        packs, kernel_packs = _load_packs(rule_paths, own, request.texts)
        _last_packs[rule_paths] = packs, kernel_packs
    except RuleFileError as error:
        mistakes = error.messages
        packs, kernel_packs = _last_packs.get(rule_paths, ((), ()))
    name = _short_path(request.path)
    options = _options(request, own, name)
    given = document.Document(request.path, name, request.text, request.known)
    try:
        result, report = document.judge(given, packs, kernel_packs, options)
    except RuleFileError as error:
        mistakes += error.messages
        packs = tuple(replace(pack, rules=(), structs=()) for pack in packs)
        result, report = document.judge(given, packs, kernel_packs, options)
    path = request.settings.baseline
    if path is not None and report is not None and files.is_file(path):
        from layoutlint.intent.toml import baseline_file

        entries = baseline_file.parse(baseline_file.read_text(path), path)
        report = baseline.apply(report, entries, path, options)
        result = document.with_findings(result, report)
    return Judged(result, mistakes), report


def _enter_folder(path: str, settings: Settings) -> None:
    """Work in the folder of the nearest rule file of a file, or in that of the file, as people do.

    Outside of a repository, they work in the folder of the workspace.
    """
    from layoutlint.commands import rule_files
    from layoutlint.files import project

    folder = os.path.dirname(path)
    while not files.is_folder(folder):
        folder = os.path.dirname(folder)
    os.chdir(folder)
    if any(map(project.is_repository, project.folders_of_input(path))):
        for rule_path in rule_files.files_of(path)[-1:]:
            os.chdir(os.path.dirname(os.path.abspath(rule_path)))
    elif path.startswith(f"{settings.folder.rstrip(os.sep)}{os.sep}"):
        os.chdir(settings.folder)


def _short_path(path: str) -> str:
    """Return a path as reports show it: relative to the working folder if that is shorter."""
    near = os.path.relpath(path)
    return near if len(near) < len(path) else path


def _rule_paths(path: str, settings: Settings) -> tuple[str, ...]:
    from layoutlint.commands import rule_files

    return settings.rule_paths or tuple(map(os.path.abspath, rule_files.files_of(path)))


def _settings_of(path: str, settings: Settings, texts: tuple[InputText, ...]) -> Settings:
    """Return the settings for a file: what the command line leaves out comes from rule files."""
    from layoutlint.commands.settings import Reader
    from layoutlint.model.record import replace

    reader = Reader(texts={given.path: given.text for given in texts})
    try:
        found = reader.of_input(path)
        if settings.rule_paths:
            database = {key: value for key, value in found.items() if key == "compile_commands"}
            found = {**reader.of_files(settings.rule_paths), **database}
    except RuleFileError:  # which loading the rules reports
        return settings
    names = {"pack": "pack_names"}
    values = {names.get(key, key): value.value for key, value in found.items()}
    database_path = values.get("compile_commands")
    if not (settings.finds_flags and isinstance(database_path, str) and files.is_file(database_path)):
        values.pop("compile_commands", None)
    left_out = {
        key: value for key, value in values.items() if hasattr(settings, key) and not getattr(settings, key)
    }
    return replace(settings, **left_out)


def _load_packs(
    rule_paths: tuple[str, ...], settings: Settings, texts: tuple[InputText, ...]
) -> tuple[tuple[Pack, ...], tuple[Pack, ...]]:
    """Return the packs of a file, and those for kernels, with rule files as the editor has them."""
    from layoutlint.intent.overrides import apply_overrides
    from layoutlint.intent.toml import document, rule_file, shipped_rules

    of_editor = {given.path: given.text for given in texts}
    named = [shipped_rules.shipped_pack(name) for name in dict.fromkeys(settings.pack_names)]
    single = [path for path in rule_paths if not files.is_folder(path)]
    rows = []
    for path in single:
        text = of_editor.get(files.real_path(path))
        rows.append((_short_path(path), document.read_text(_short_path(path)) if text is None else text))
    folders = [path for path in rule_paths if files.is_folder(path)]
    packs = (*rule_file.parse_all(rows), *rule_file.load(folders), *named)
    rule_file.refuse_same_ids(packs)
    kernel_packs = () if settings.no_packs else shipped_rules.kernel_packs_beside(packs)
    return apply_overrides(packs, kernel_packs)


def _options(request: Judge, own: Settings, name: str) -> Options:
    """Return the options of a run on a file with the texts of the editor."""
    from layoutlint.commands.options import RandomisingOptions, randomisation
    from layoutlint.lint.options import Intents, Options, Strictness
    from layoutlint.model.reading import InputText, ReadOptions

    others = tuple(text for text in request.texts if not text.path.endswith(".toml"))
    return Options(
        line_size=own.line_size,
        min_align=own.min_align,
        finds_allocations=False,
        read=ReadOptions(
            flags=own.flags,
            finds_flags=own.finds_flags,
            kernel_tree=own.kernel_tree,
            compile_commands=own.compile_commands,
            query_drivers=own.query_drivers,
            texts=() if request.is_on_disk else (InputText(name, request.text),),
            replaced=others,
        ),
        randomised=randomisation(RandomisingOptions(None, None, None, ()), (name,), needs_seed=False),
        intents=Intents(annotations=not own.no_annotations),
        strictness=Strictness(allow_unknown=True, ignore_missing=True),
    )


def _check_rules(request: CheckRules) -> Mistakes:
    """Return the mistakes of a rule file, each with its line."""
    from layoutlint.intent.toml import rule_file

    try:
        rule_file.parse(request.text, request.path)
    except RuleFileError as error:
        return Mistakes(tuple(_line_and_text(message) for message in error.messages))
    return Mistakes(())


def _line_and_text(message: str) -> tuple[int, str]:
    """Return the line of a message, from 1, and the message without its place."""
    return (message.line, message.text) if isinstance(message, Mistake) else (1, message)


def _suggest(request: Suggest) -> Suggested:
    """Return the safe change that mends a finding, as `check --suggest` finds it."""
    from layoutlint.lint import run
    from layoutlint.model.record import replace
    from layoutlint.readers.clang.kernel import tree

    try:
        from layoutlint.suggestion import fixes
    except ModuleNotFoundError as error:
        raise missing_library(error) from None
    _enter_folder(request.path, request.settings)
    name = _short_path(request.path)
    own = _settings_of(request.path, request.settings, ())
    packs, kernel_packs = _load_packs(_rule_paths(request.path, request.settings), own, ())
    judged = Judge(request.path, "", True, frozenset(), (), own)
    options = replace(_options(judged, own, name), only=(request.struct,))
    # The sources around a header decide whether an order is safe.
    around = tree.enclosing_tree(request.path) or os.curdir
    report = run.check((around,), packs, kernel_packs, options)
    chosen = tuple(finding for finding in report.findings if finding.rule.id == request.rule)
    fixed = fixes.with_fixes(replace(report, findings=chosen), packs, kernel_packs, options)
    fix = next((finding.fix for finding in fixed.findings if finding.fix is not None), None)
    places = () if fix is None else (fix.file, os.path.join(around, fix.file))
    at = next(filter(files.is_file, places), None)
    return Suggested(None) if at is None else Suggested(fix, files.real_path(at))


def _accept(request: Accept) -> Accepted:
    """Return the text of the baseline with a finding added. Raises RuleFileError for a damaged baseline."""
    from layoutlint.comparison.baseline_match import Entry, can_be_accepted
    from layoutlint.comparison.standings import finding_key, standing
    from layoutlint.intent.toml import baseline_file

    path = request.request.settings.baseline
    _, report = _judge(request.request)
    if path is None or report is None:
        return Accepted("", "")
    known = baseline_file.parse(baseline_file.read_text(path), path) if files.exists(path) else ()
    rows = [
        Entry(finding_key(finding), "", standing(finding))
        for finding in report.findings
        if finding.rule.id == request.rule and can_be_accepted(finding) and not finding.is_accepted
        if finding.struct is not None and finding.struct.name == request.struct
    ]
    keys = {row.key for row in rows}
    return Accepted(path, baseline_file.render((*(e for e in known if e.key not in keys), *rows)))


if __name__ == "__main__":
    main()

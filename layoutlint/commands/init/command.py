"""`layoutlint init`: write a first rule file, a hook and CI jobs, or the header for annotations."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from layoutlint.commands.init.files import NewFile
    from layoutlint.commands.init.first_rules import FirstRules
    from layoutlint.judgement.rule import Pack
    from layoutlint.readers.clang.build_system import BuildSystem

_HEADER = "layoutlint.h"
_MOST_BYTES = 1 << 20
_MOST_RULES = 10
_SHIPPED = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "include")


@click.command()
@click.option("--header", is_flag=True, help=f"Write only {_HEADER}, the macros for annotations.")
@click.option("--dry-run", is_flag=True, help="Print the files, and write nothing.")
@click.argument("folder", metavar="[FOLDER]", default=".", required=False)
def init(header: bool, dry_run: bool, folder: str) -> None:
    """Write a first rule file and CI jobs.

    FOLDER (default: the current one) gets a layoutlint.toml, a pre-commit hook and CI jobs. The rules are
    guesses from the types of fields, all of them comments. Existing files are not changed.
    """
    if not os.path.isdir(folder):
        is_other = os.path.lexists(folder)
        reason = "not a folder: give that of the project" if is_other else "no such folder"
        raise click.UsageError(f"{folder}: {reason}")
    if header:
        _write_header(folder, dry_run)
    else:
        _write_project(folder, dry_run)


def _write_header(folder: str, dry_run: bool) -> None:
    """Write layoutlint.h, unless a different file exists there."""
    from layoutlint.commands import output_files, terminal

    with open(os.path.join(_SHIPPED, _HEADER), encoding="utf-8") as file:
        text = file.read()
    path = os.path.join(folder, _HEADER)
    if os.path.lexists(path):
        if _content(path) == text:
            terminal.say(f"{path} exists already")
            return
        raise click.UsageError(f"{path} exists already, with other content; remove it first")
    if dry_run:
        terminal.say(f"would write {path}")
        return
    output_files.write_whole(path, text)
    terminal.say(f"wrote {path}")


def _content(path: str) -> str | None:
    from layoutlint import files

    try:
        return files.read_all(path, _MOST_BYTES).decode()
    except (OSError, UnicodeDecodeError):
        return None


def _write_project(folder: str, dry_run: bool) -> None:
    """Write the files that a project lacks, and print what to type next."""
    from layoutlint.commands import terminal
    from layoutlint.commands.init import files as init_files
    from layoutlint.commands.init import first_rules
    from layoutlint.model.reading import ReadOptions
    from layoutlint.phrases import quantity
    from layoutlint.readers.clang import build_system

    os.chdir(folder)  # files are named from the top of the project, as a hook and a job name them
    system = build_system.find(".")
    knows_flags = system.name == "Linux tree" or (system.is_ready and system.input != ".")
    flags = () if knows_flags else tuple(f"-I{name}" for name in build_system.include_folders("."))
    progress = ReadOptions(progress=terminal.progress_on_stderr(None))
    existing = _content(init_files.RULES)
    request = first_rules.Request(flags, _MOST_RULES, progress, existing or "", _packs(existing))
    first = first_rules.find(system, request)
    lacks = f" that {init_files.RULES} lacks" if existing else ""
    terminal.say(f"{system.name}; read {first.read}; {quantity(len(first.rules), 'guessed rule')}{lacks}")
    if first.problem:
        terminal.say(f"not read: {first.problem}", *_remedy(system))
    new_files = [init_files.rule_file(system, first, has_rules=bool(existing))]
    if os.path.lexists(".git"):
        new_files += [init_files.hook(".", flags), *init_files.ci_jobs(".", system)]
    else:
        terminal.say("no .git here: no hook for pre-commit, and no CI jobs")
    for file in new_files:
        _write(file, dry_run)
    terminal.say(*_next_steps(system, first, flags))


def _remedy(system: BuildSystem) -> list[str]:
    """Return what to do first if the build makes headers or states flags, for a project that is not built."""
    if system.is_ready or not system.prepare:
        return []
    return [f"    after `{system.prepare}`, remove layoutlint.toml and type `layoutlint init` again"]


def _packs(text: str | None) -> tuple[Pack, ...]:
    """Return the rules of the rule file of a project; none of a file with mistakes, which is not changed."""
    from layoutlint.commands.init import files as init_files
    from layoutlint.errors import RuleFileError
    from layoutlint.intent.toml import rule_file

    try:
        return (rule_file.parse(text, init_files.RULES),) if text else ()
    except RuleFileError:
        return ()


def _write(file: NewFile, dry_run: bool) -> None:
    """Write a new file; print the text for a file that exists."""
    from layoutlint.commands import output_files, terminal

    if file.has_it:
        terminal.say(f"{file.path}: has layoutlint already")
    elif file.is_shown or os.path.lexists(file.path):
        terminal.say(f"{file.path} exists and is not changed; this could be added:", *_indent(file.text))
    elif dry_run:
        terminal.say(f"would write {file.path}:", *_indent(file.text))
    else:
        _make_folders(os.path.dirname(file.path))
        output_files.write_new(file.path, file.text)
        terminal.say(f"wrote {file.path}")


def _make_folders(path: str) -> None:
    """Make the folders of a path one by one; raise UsageError for a link, which can lead elsewhere."""
    from layoutlint import files

    below = ""
    for name in filter(None, path.split("/")):
        below = os.path.join(below, name)
        if os.path.islink(below):
            raise click.UsageError(f"{below} is a symbolic link; nothing is written through it")
        try:
            os.mkdir(below)
        except FileExistsError:
            continue
        except OSError as error:
            raise click.UsageError(f"cannot make {below}: {files.error_reason(error)}") from error


def _indent(text: str) -> list[str]:
    return [f"    {line}".rstrip() for line in text.rstrip().split("\n")]


def _next_steps(system: BuildSystem, first: FirstRules, flags: tuple[str, ...]) -> list[str]:
    """Return the lines with the next commands to type."""
    command = f"layoutlint check {system.input}" + (
        f" -- {' '.join(flags)}" if flags and system.is_ready else ""
    )
    prepare = [f"    {system.prepare}"] if system.prepare and not system.is_ready else []
    what = "uncomment a rule that is true" if first.rules else "write a rule"
    lines = [f"next: {what} in layoutlint.toml, then type", *prepare, f"    {command}"]
    return [*lines, *_query_of(system)]


def _query_of(system: BuildSystem) -> list[str]:
    """Return the lines that offer to ask the compiler of a project's database."""
    import shlex

    from layoutlint.errors import ReadError
    from layoutlint.readers.clang import build_compiler, compdb, query_driver

    if not system.is_ready or not system.input.endswith(compdb.NAME):
        return []
    try:
        words = dict.fromkeys(command.compiler for command in compdb.load(system.input))
    except ReadError:
        return []
    names = dict.fromkeys(build_compiler.compiler_named(word).name for word in words)
    path = os.environ.get("PATH", os.defpath)
    paths = sorted(filter(None, (query_driver.find_program(name, path) for name in names)))
    if not paths:
        return []
    option = f"--query-driver {shlex.quote(','.join(paths))}"
    return ["to read the code as its compilers, which are then run, add (also to the jobs)", f"    {option}"]

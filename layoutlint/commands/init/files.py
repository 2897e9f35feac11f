"""The files that `init` writes: rules, the hook for pre-commit, and CI jobs."""

from __future__ import annotations

import os
from collections.abc import Iterator

from layoutlint import __version__, files
from layoutlint.commands.init.first_rules import FirstRules, table
from layoutlint.model.record import Record
from layoutlint.readers.clang.build_system import BuildSystem

RULES = "layoutlint.toml"
HOOK = ".pre-commit-config.yaml"
GITHUB = ".github/workflows/layoutlint.yml"
GITHUB_COMMENT = ".github/workflows/layoutlint-comment.yml"
GITLAB = ".gitlab-ci.yml"
_JOBS = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(__file__))), "jobs")
_MOST_BYTES = 1 << 20
_OWN_NAME = b"layoutlint"
_HEAD = """\
# Rules of layoutlint: on which cache lines the fields of structs may be.
#
#     layoutlint rules check layoutlint.toml    finds mistakes in this file
#     layoutlint check {input}    judges the code by it
#     layoutlint explain separate    explains a kind of rules
#
"""
_GUESSES = """\
# Guesses from the types of fields follow, the highest first. If many threads use the fields as a guess
# assumes, remove the `# ` before the lines of its rule, and write in `why` how you know. If you know where
# objects start, add a table [struct.NAME] with placement = "line" (or "slab", "kmalloc", "malloc" ...).
"""
_EXAMPLE = """\
# No guess was found. A rule looks like this:
#
# [[rule]]
# id = "queue-ends-apart"
# struct = "queue"
# kind = "separate"
# fields = [["head"], ["tail"]]
# why = "two threads write them all the time; on a shared line every write takes the line from the other CPU"
"""


class NewFile(Record, frozen=True):
    """A file to write, or text for one that exists."""

    path: str
    """Relative to the project."""
    text: str
    has_it: bool = False
    """Whether an existing file names layoutlint already."""
    is_shown: bool = False
    """Whether the text is printed, and never written."""


def rule_file(system: BuildSystem, first: FirstRules, has_rules: bool) -> NewFile:
    """Return the rule file, in which all rules are comments; beside an existing one what could be added."""
    if has_rules:
        return NewFile(RULES, "\n".join(_guesses(first)), has_it=not first.rules)
    return NewFile(RULES, _HEAD.format(input=system.input) + "\n".join(_guesses(first)))


def _guesses(first: FirstRules) -> Iterator[str]:
    if not first.rules:
        yield _EXAMPLE
        return
    yield _GUESSES
    for number, (rule, lines) in enumerate(table(first.rules), 1):
        yield f"## {number}. {rule.subject} at {_one_line(rule.place)}: {_one_line(rule.message)}"
        yield from (f"# {line}" for line in lines)
        yield ""


def hook(folder: str, flags: tuple[str, ...]) -> NewFile:
    """Return the configuration of pre-commit."""
    args = f'\n        args: ["--flags", "{" ".join(flags)}"]  # what your compiler is given' if flags else ""
    text = (
        "repos:\n"
        "  - repo: https://git.example.org/layoutlint  # where you have layoutlint from\n"
        f"    rev: v{__version__}\n"
        "    hooks:\n"
        f"      - id: layoutlint{args}\n"
        "      - id: layoutlint-rules\n"
    )
    return NewFile(HOOK, text, has_it=_names_layoutlint(os.path.join(folder, HOOK)))


def ci_jobs(folder: str, system: BuildSystem) -> tuple[NewFile, ...]:
    """Return the jobs for GitHub; for a project with jobs for GitLab those, which are only shown."""
    gitlab = os.path.join(folder, GITLAB)
    if os.path.lexists(gitlab):
        text = _job("gitlab.yml", system, "    - {command}\n")
        return (NewFile(GITLAB, text, _names_layoutlint(gitlab), is_shown=True),)
    workflows = os.path.join(folder, os.path.dirname(GITHUB))
    names = sorted(os.listdir(workflows)) if os.path.isdir(workflows) else []
    if any(_names_layoutlint(os.path.join(workflows, name)) for name in names):
        return (NewFile(GITHUB, "", has_it=True),)
    step = "      - name: Prepare the input  # install first what the build needs\n        run: {command}\n"
    comment = _job("github-comment.yml", system, "")
    return NewFile(GITHUB, _job("github.yml", system, step)), NewFile(GITHUB_COMMENT, comment)


def _job(name: str, system: BuildSystem, step: str) -> str:
    """Return the text of a job file with the project's input, and with a step that makes it."""
    with open(os.path.join(_JOBS, name), encoding="utf-8") as file:
        lines = file.readlines()
    sudo = "sudo " if name.startswith("github") else ""
    install = f"{sudo}apt-get update -qq && {sudo}apt-get install -qqy {system.packages} && "
    made = step.format(command=install * bool(system.packages) + system.prepare) if system.prepare else ""
    result = []
    for line in lines:
        start = line.lstrip()
        if start.startswith(("- name: Judge the structs", "# ring.h:")):
            result.append(made)
        if start.startswith("inputs: ring.h"):
            line = f"{line[: line.index('ring.h')]}{system.input}\n"
        if not start.startswith("# ring.h:"):
            result.append(line.replace("check ring.h", f"check {system.input}"))
    return "".join(result)


def _names_layoutlint(path: str) -> bool:
    try:
        return _OWN_NAME in files.read_start(path, _MOST_BYTES)
    except OSError:
        return False


def _one_line(text: str) -> str:
    from layoutlint import escapes

    return escapes.inline(text)

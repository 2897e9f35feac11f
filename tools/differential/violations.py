"""Random changes that break a rule, in every form of input: none passes where docs/contributing/security-tests.md promises.

    python -m tools.differential.violations --cases 500 --seed 1

A case is a git repository with a struct that keeps its rule, a change that breaks it and hides that in one of many forms
(change_kinds.py, policy_changes.py), and one run of `check`. That the change breaks the rule is read from the debug information
of gcc's objects.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.harness.command import run
from tests.harness.repository import git
from tools.differential import change_projects
from tools.differential.change_kinds import INPUTS, NO_KERNEL_INPUT, VARIANTS, Change, Variant
from tools.differential.change_projects import Project, commit, write
from tools.differential.policy_changes import POLICY_VARIANTS

FORMS = (*INPUTS, "--staged", "--since", "--policy-from")
KINDS = tuple(dict.fromkeys(variant.kind for variant in (*VARIANTS, *POLICY_VARIANTS)))
ALL_KINDS = change_projects.KINDS


@dataclass(frozen=True, slots=True)
class Case:
    """One change, and how it is judged."""

    variant: Variant
    form: str
    seed: int
    is_harmless: bool = False


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a case."""

    case: Case
    input: str
    status: int
    is_promised: bool
    words: tuple[str, ...]
    text: str

    @property
    def is_wrong(self) -> bool:
        """Whether the run passed against the promise, or failed by itself; of a harmless change, whether it did not pass."""
        if self.case.is_harmless:
            return self.status != 0
        return self.status not in (0, 1, 2, 3) or (self.status == 0 and self.is_promised)

    @property
    def line(self) -> str:
        """The case and its outcome in one line."""
        case, given = self.case, "" if self.input == self.case.form else f" of {self.input}"
        return f"{case.variant.kind} {case.variant.name}, {case.form}{given}: {self.status} (seed {case.seed}) `layoutlint {' '.join(self.words)}`"


@dataclass(slots=True)
class Result:
    """The outcomes of a run, and the cases that show nothing."""

    outcomes: list[Outcome] = field(default_factory=list)
    idle: list[Case] = field(default_factory=list)
    """Cases whose objects show no violation."""


def cases(count: int, seed: int, only: str = "", is_harmless: bool = False) -> Iterator[Case]:
    """Yield cases: all pairs of a variant and a form of input, in random order, again and again."""
    chance = random.Random(seed)
    pairs = [(variant, form) for variant in VARIANTS for form in FORMS if _fits(variant, form)]
    pairs += [(variant, form) for variant in POLICY_VARIANTS for form in ("--policy-from", "kernel tree") if _is_judged(variant, form)]
    pairs = [pair for pair in pairs if only in f"{pair[0].kind} {pair[0].name}, {pair[1]}"]
    while pairs and count > 0:
        for variant, form in chance.sample(pairs, min(count, len(pairs))):
            yield Case(variant, form, chance.randrange(1 << 32), is_harmless)
        count -= len(pairs)


def _fits(variant: Variant, form: str) -> bool:
    return (form == "kernel tree") in variant.projects or form.startswith("--")


def _is_judged(variant: Variant, form: str) -> bool:
    """Return whether a change of the judge matters: flags of a kernel's Makefile do without `--policy-from`."""
    return form == "--policy-from" or variant.projects == (True,)


def examine(case: Case, folder: Path) -> Outcome | None:
    """Make the repository of a case and judge it; None if gcc's objects show no violation."""
    chance = random.Random(case.seed)
    is_kernel = case.form == "kernel tree" if case.form in INPUTS else chance.choice(_projects(case))
    is_pattern = chance.random() < 0.4 if case.variant.is_pattern is None else case.variant.is_pattern
    project = Project(chance, is_kernel, case.variant.rules or ALL_KINDS, is_pattern, case.is_harmless)
    project.has_companion = case.variant.is_pattern is None and chance.random() < 0.5
    change = case.variant.make(project)
    if _make_repository(project, change, folder) == case.is_harmless:
        return None
    given, words = _words(case, project, change, chance)
    if change.baseline is not None:
        run("baseline", "write", change.baseline, words[0], cwd=folder)
    _stage(case.form, folder)
    done = run("check", *words, cwd=folder)
    is_change = "--staged" in words or "--since" in words
    is_promised = given not in case.variant.unseen and (is_change or given not in case.variant.silent)
    return Outcome(case, given, done.returncode, is_promised, ("check", *words), done.stdout + done.stderr)


def _projects(case: Case) -> tuple[bool, ...]:
    return case.variant.projects if len(case.variant.projects) == 1 else (False, False, True)


def _make_repository(project: Project, change: Change, folder: Path) -> bool:
    """Write a project, commit it, and write the change; return whether gcc's objects show that it breaks the rule."""
    git(folder, "init", "-q", "-b", "main")
    (folder / ".git/info").mkdir(exist_ok=True)
    (folder / ".git/info/exclude").write_text("" if project.database in change.base else f"/{project.database}\n")
    write(folder, change.base)
    commit(folder, "base")
    if _shows(project, Change({}, {}, units=(project.unit,), flags=project.defines), folder):
        raise ValueError("the struct is broken before the change")
    units = (*(change.units or (project.unit,)), project.other)
    if change.units and project.database in change.base:
        change.changed.setdefault(project.database, project.database_text(units, "."))
    write(folder, change.changed)
    if not project.is_kernel and project.database not in change.base and project.database not in change.changed:
        write(folder, {project.database: project.database_text(units, str(folder))})
    return _shows(project, change, folder)


def _shows(project: Project, change: Change, folder: Path) -> bool:
    seen = change_projects.seen_structs(folder, change.units or (project.unit,), (*project.flags, *change.flags))
    ruled = [struct for struct in seen if change_projects.is_ruled(project, struct.name) or struct.name in change.names]
    return any(change_projects.breaks(project, struct, change.fields or (project.a, project.b)) for struct in ruled)


def _words(case: Case, project: Project, change: Change, chance: random.Random) -> tuple[str, tuple[str, ...]]:
    """Return the form of the input, and the words of the command line."""
    inputs = {"file": (project.unit,), "database": (project.database,), "folder": (".",), "kernel tree": (".",), "none": ()}
    given = case.form
    if given not in inputs:
        plain = ["kernel tree"] if project.is_kernel else ["file", "database", "folder"]
        chosen = chance.choice(plain if case.form == "--policy-from" else [*plain, "none"])
        given = NO_KERNEL_INPUT if project.is_kernel and chosen == "none" else chosen
        inputs[given] = inputs[chosen]
    more = {"--staged": ("--staged",), "--since": ("--since", "HEAD~1"), "--policy-from": ("--policy-from", "HEAD~1")}.get(case.form, ())
    if case.form in ("--since", "--policy-from") and "--baseline" not in change.words and chance.random() < 0.3:
        more = ("--since", "HEAD~1", "--policy-from", "HEAD~1")
    if project.is_kernel and chance.random() < 0.7:
        more += ("--no-packs",)
    return given, (*inputs[given], *more, *change.words)


def _stage(form: str, folder: Path) -> None:
    if form == "--staged":
        git(folder, "add", "-A")
    else:
        commit(folder, "change")


def examine_all(chosen: Sequence[Case], keep: Path | None = None) -> Result:
    """Judge cases, and keep the repositories of those that are wrong."""
    result = Result()
    for case in chosen:
        with TemporaryDirectory() as at:
            folder = Path(at) / "project"
            folder.mkdir()
            try:
                outcome = examine(case, folder)
            except (subprocess.CalledProcessError, ValueError) as error:
                why = error.stderr if isinstance(error, subprocess.CalledProcessError) else error
                raise RuntimeError(f"{case.variant.kind} {case.variant.name}, {case.form}, seed {case.seed}: {why}") from error
            if outcome is None:
                result.idle.append(case)
                continue
            result.outcomes.append(outcome)
            if outcome.is_wrong and keep is not None:
                name = re.sub(r"\W+", "-", f"{case.variant.kind} {case.variant.name} {case.form} {case.seed}")
                shutil.copytree(folder, keep / name, symlinks=True)
                (keep / name / ".git/outcome").write_text(f"{outcome.line}\n\n{outcome.text}")
    return result


def table(result: Result) -> str:
    """Return the counts of statuses, by kind of change and form of input: with a promise, and without."""
    lines = [f"{'':12}" + "".join(f"{form:>22}" for form in FORMS)]
    for kind in KINDS:
        cells = [_cell([one for one in result.outcomes if (one.case.variant.kind, one.case.form) == (kind, form)]) for form in FORMS]
        lines.append(f"{kind:12}" + "".join(f"{cell:>22}" for cell in cells))
    return "\n".join(lines)


def _cell(outcomes: list[Outcome]) -> str:
    """Return how often each status was seen, those without a promise in brackets."""
    counts = Counter((one.status, one.is_promised) for one in outcomes)
    both = [" ".join(f"{n}x{status}" for (status, is_promised), n in sorted(counts.items()) if is_promised == chosen) for chosen in (True, False)]
    return both[0] + (f" ({both[1]})" if both[1] else "") if counts else "-"


def main(words: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tools.differential.violations", description=__doc__)
    parser.add_argument("--cases", type=int, default=500, metavar="N")
    parser.add_argument("--seed", type=int, default=1, metavar="N")
    parser.add_argument("--only", default="", metavar="TEXT", help="only pairs with this text: `macro`, `, --since`")
    parser.add_argument("--harmless", action="store_true", help="make changes that keep the rule, to see which are refused")
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="keep the repositories that are wrong")
    given = parser.parse_args(words)
    result = examine_all(list(cases(given.cases, given.seed, given.only, given.harmless)), given.keep)
    wrong = [one for one in result.outcomes if one.is_wrong]
    for one in sorted(result.outcomes, key=lambda one: one.line):
        if one in wrong or one.status == 2:
            print(one.line)
    print(table(result))
    silent = Counter((one.case.variant, one.input, one.status) for one in result.outcomes if not one.is_promised)
    for (variant, where, status), count in sorted(silent.items(), key=str):
        print(f"no promise: {variant.kind} {variant.name}, {where}: {count}x{status}; {variant.reason}")
    print(f"{len(result.outcomes)} cases, {len(wrong)} wrong, {len(result.idle)} without a violation in gcc's objects, seed {given.seed}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())

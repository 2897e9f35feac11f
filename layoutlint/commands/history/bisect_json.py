"""Format `json` of `bisect`: the search for scripts (schema `layoutlint/bisect/1`, docs/json.md)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

from layoutlint.commands.history.bisection import Trial
from layoutlint.commands.history.search_result import SearchResult, TriedCommit, VerdictChange
from layoutlint.model.json_object import JsonObject, Natural, one_of
from layoutlint.reports.json_values import document_text


class Document(JsonObject, frozen=True, tag_field="schema", tag="layoutlint/bisect/1"):
    """The search for the commits in which the verdict of a rule changed.

    An unknown value is null.
    """

    rule: str
    """The rule's id."""
    before: str
    """The outcome at OLD, with the message."""
    after: str
    """The outcome in the commit found, with the message; the outcome at NEW if it is that at OLD."""
    first_bad: CommitJson | None
    """The first commit that is worse than OLD. Null if commits that could not be judged are in the way, or if
    NEW is not worse."""
    first_good: CommitJson | None
    """The first commit that is better than OLD. Null if commits that could not be judged are in the way, or
    if NEW is not better."""
    suspects: Sequence[CommitJson]
    """The commits of which one is `first_bad` or `first_good`, oldest first: the last is known to be worse or
    better. Empty if NEW is as OLD."""
    changes: Sequence[ChangeJson]
    """All changes of the verdict that are known, oldest first."""
    tried: Sequence[CommitJson]
    """All commits that were judged or skipped, in the order of the search."""
    not_judged: Natural
    """The number of commits that were not judged although they change a file that was read: the verdict can
    have changed in them."""
    compile_commands: Sequence[str]
    """The files compile_commands.json whose flags the commits were read with."""
    exit: Annotated[int, one_of(0, 3)]
    """The exit status: 3 if only a range is known of a change."""


class CommitJson(JsonObject, frozen=True):
    """A commit."""

    id: str
    """The id, in hexadecimal digits."""
    date: str
    """The day on which it was committed: `2024-05-12`."""
    subject: str
    """The first line of its message."""
    trial: Annotated[str, one_of(*Trial)]
    """Bad if the rule is worse than at OLD; if NEW is better, bad until it is better than at OLD."""
    outcome: Annotated[str, one_of("kept", "broken", "at-risk")] | None
    """The outcome of the rule. Null if it could not be judged."""
    reason: str | None
    """Why it could not be judged."""


class ChangeJson(JsonObject, frozen=True):
    """A change of the verdict."""

    status: Annotated[str, one_of("worse", "better")]
    """Whether the rule got worse or better."""
    commit: CommitJson | None
    """The commit that changed it. Null if commits that could not be judged are in the way."""
    suspects: Sequence[CommitJson]
    """The commits of which one changed it, oldest first: the last has the new verdict, the others could not
    be judged."""
    before: str
    """The outcome before, with the message."""
    after: str
    """The outcome after, with the message."""


def render(result: SearchResult) -> str:
    """Return the search as one JSON object, with a newline at the end."""
    found = result.found
    commits = {
        is_worse: None if found is None or found.is_worse is not is_worse else found.commit
        for is_worse in (True, False)
    }
    document = Document(
        rule=result.rule,
        before=result.before,
        after=result.after,
        first_bad=_commit_or_null(commits[True]),
        first_good=_commit_or_null(commits[False]),
        suspects=[_commit(suspect) for suspect in (found.suspects if found is not None else ())],
        changes=[_change(change) for change in result.changes],
        tried=[_commit(tried) for tried in result.tried],
        not_judged=result.not_judged,
        compile_commands=result.flags_from,
        exit=result.exit_status,
    )
    return document_text(document)


def _change(change: VerdictChange) -> ChangeJson:
    return ChangeJson(
        status="worse" if change.is_worse else "better",
        commit=_commit_or_null(change.commit),
        suspects=[_commit(suspect) for suspect in change.suspects],
        before=change.before,
        after=change.after,
    )


def _commit_or_null(tried: TriedCommit | None) -> CommitJson | None:
    return None if tried is None else _commit(tried)


def _commit(tried: TriedCommit) -> CommitJson:
    return CommitJson(
        id=tried.id,
        date=tried.date,
        subject=tried.subject,
        trial=tried.trial.value,
        outcome=tried.outcome,
        reason=tried.reason or None,
    )

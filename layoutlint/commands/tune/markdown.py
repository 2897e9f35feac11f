"""Format `markdown` of `tune`: a draft of the mail that goes with the patch, with what limits its claims."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from layoutlint.commands import order_phrases as phrases
from layoutlint.commands.tune.result import Tuned
from layoutlint.reports.escaped_markdown import code, plain, text
from layoutlint.suggestion.contention import Contention

_MOST = 12
_GENERAL = (
    "Placements count alike: how often objects start at each of them was not measured.",
    "A HITM is counted at the load; which store caused it follows from sampled stores on its line.",
)


def render(result: Tuned) -> str:
    """Return problem, evidence, change, what else changes, measured effect and limits."""
    return "".join(f"{row}\n" for row in _lines(result))


def _lines(result: Tuned) -> Iterator[str]:
    suggestion = result.suggestion
    moved = ", ".join(code(move.member) for move in suggestion.moves[:3])
    yield f"# {code(phrases.title(suggestion.struct))}: {f'move {moved}' if moved else 'keep the order'}"
    if suggestion.contention is not None:
        yield from _section("Problem", [text(f"{_sentence(suggestion.contention.effect)}.")])
        yield from _section("Evidence", [*_table(suggestion.contention), "", *_certainties(result)])
    yield from _section("Change", _change(result))
    if changes := result.changes or [result.not_compared] * bool(result.not_compared):
        yield from _section("What else changes", map(_item, changes))
    yield from _section("Measured effect", _measurement(result))
    unsearched = (f"not searched: {each}" for each in suggestion.not_looked_at)
    limits = [*suggestion.notes, *unsearched, *(_GENERAL if suggestion.contention else ())]
    yield from _section("Limits", map(_item, limits))


def _section(title: str, texts: Iterable[str]) -> Iterator[str]:
    yield from ("", f"## {title}", "")
    yield from texts


def _item(sentence: str) -> str:
    return f"- {text(sentence)}"


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _table(contention: Contention) -> Iterator[str]:
    before, after = contention.placements, contention.placements_after
    yield f"| written | loaded | {contention.nouns} | placements on one line |"
    yield "|---|---|---|---|"
    for pair in contention.pairs[:_MOST]:
        estimate = " (estimate)" * pair.estimated
        shared = f"{pair.before} of {before} -> {pair.after} of {after}"
        yield f"| {code(pair.written)} | {code(pair.other)} | {pair.accesses:,}{estimate} | {plain(shared)} |"
    if contention.stays:
        yield ""
    yield from (_item(f"stays: {each}") for each in contention.staying_lines[:_MOST])


def _certainties(result: Tuned) -> Iterator[str]:
    yield from map(_item, result.certainties[:_MOST])


def _change(result: Tuned) -> Iterator[str]:
    suggestion = result.suggestion
    yield text(f"{_sentence(phrases.headline(suggestion))}.")
    yield from (_item(f"move {move}") for move in phrases.moves(suggestion))
    yield from (_item(f"{rule.id}: {rule.why} ({rule.source})") for rule in suggestion.core)
    yield from (_item(str(refusal)) for refusal in suggestion.refusals[:_MOST])
    if result.diff:
        fence = "`" * 4
        yield from ("", f"{fence}diff", *result.diff, fence)
    elif suggestion.no_patch and suggestion.is_change:
        yield _item(f"no patch: {suggestion.no_patch}")


def _measurement(result: Tuned) -> Iterator[str]:
    effect = result.effect
    if effect is None:
        yield text(f"Not measured: {result.not_measured}.")
        return
    yield "Cores repeat the accesses of the profile. Rates after the change, over all placements:"
    yield ""
    yield from map(_item, [*result.ratios, *result.method])

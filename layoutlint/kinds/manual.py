"""The manual of a kind, printed by `layoutlint explain`. docs/kinds.md contains all of them."""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.judgement.rule import Example, Key, Kind

_VALUES = {
    "paths": "list of fields",
    "groups": "list of lists of fields",
    "path": "field",
    "integer": "whole number",
    "number": "number",
    "boolean": "true or false",
    "word": "word",
    "words": "list of words",
    "positions": "offset, or table of fields with theirs",
}
_HEAD = """\
# Kinds of rules

What each kind judges, its keys, a struct that breaks it and one that keeps it.

"""
_NOTE = """\

A [rule](rules.md) names a struct, a kind and the keys of the kind; fields are
[paths or patterns](rules.md#field-paths). Rules are judged at all [start places](concepts.md) of an
object. That page also states
[which bytes of a field count](concepts.md#what-counts-as-the-bytes-of-a-field) and
[which objects are neighbours](concepts.md#neighbours). Messages are those of x86-64, with lines of 64
bytes. `layoutlint explain KIND` prints the same text.
"""
_GOALS = {
    "keep these fields apart: CPUs write one side while others use the other": "separate",
    "keep these fields on one line: they are used together": "together",
    "keep what is read often apart from what is written often, by declared accesses": "access",
    "give a field its lines alone: a lock, a counter, a DMA buffer": "isolated",
    "give each element of an array, or each variable of it, lines of its own": "stride",
    "keep a variable apart from others that are written": "neighbours",
    "keep a lock with its data, or apart if it is contended": "guards",
    "begin a line with a field": "line-start",
    "never split a field between two lines, such as an atomic": "no-straddle",
    "let a code path touch few lines": "lines",
    "pin the offsets that hardware, a protocol or assembly code needs": "offset",
    "keep fields side by side, as one `memcpy` needs it": "adjacent",
    "keep fields in an order": "order",
    "keep fields at least, or at most, some bytes apart": "distance",
    "keep a struct small, or at one size": "size",
    "allow no padding": "holes",
    "keep an object in its allocation class": "allocation",
    "have one layout in all units of a program": "one-layout",
    "check the group marks of Linux": "group",
    "declare the use of every field": "complete",
}
"""What a person wants, with the kind that says so; the first ones are asked for most."""


def explain(kind: type[Kind]) -> str:
    """Return the manual of one kind in Markdown: meaning, keys, a struct that breaks it and one that keeps
    it.
    """
    manual = kind.manual
    parts = [
        f"## {kind.name}",
        f"{kind.summary[0].upper()}{kind.summary[1:]}.",
        manual.meaning,
        _key_table(kind.keys),
        f"```toml\n{_rule_text(kind)}\n```",
        _example_text("Broken" if manual.breaks.outcome.value == "broken" else "At risk", manual.breaks),
        _example_text("Kept", manual.keeps),
        f"**What to do.** {manual.remedy}",
    ]
    return "\n\n".join(parts) + "\n"


def document(kinds: Iterable[type[Kind]]) -> str:
    """Return the manual of all kinds: the text of docs/kinds.md."""
    goals = [f"| {goal} | [{name}](#{name}) |" for goal, name in _GOALS.items()]
    head = _HEAD + "\n".join(["| you want to | kind |", "|---|---|", *goals, ""]) + _NOTE
    return "\n".join([head, *map(explain, kinds)])


def _key_table(keys: tuple[Key, ...]) -> str:
    rows = [f"| `{k.name}` | {_VALUES[k.type]}{', required' if k.required else ''} | {k.doc} |" for k in keys]
    return "\n".join(["| key | value | |", "|---|---|---|", *rows])


def _rule_text(kind: type[Kind]) -> str:
    return "\n".join(filter(None, [f'kind = "{kind.name}"', kind.manual.rule]))


def _example_text(title: str, example: Example) -> str:
    return f"{title}:\n\n```c\n{example.code}```\n\n> {example.message}"


if __name__ == "__main__":
    from layoutlint.kinds import all_kinds

    print(document(all_kinds()), end="")

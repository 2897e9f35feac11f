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
# Rule kinds

*Reference:* what each kind judges, its keys, a struct that breaks it and one that keeps it.

A [rule](rules.md) names a struct, a kind and the keys of the kind; fields are
[paths or patterns](rules.md#field-paths). Rules are judged at all [placements](placements.md) of an
object. That page also states
[which bytes of a field count](placements.md#what-counts-as-the-bytes-of-a-field) and
[which objects are neighbours](placements.md#neighbours). Messages are those of x86-64, with lines of 64
bytes. `layoutlint explain KIND` prints the same text.
"""


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
    return "\n".join([_HEAD, *map(explain, kinds)])


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

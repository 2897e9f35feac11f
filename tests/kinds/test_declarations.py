"""What each kind declares: its traits, its keys, and their defaults, which documents and other code rely on."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from layoutlint.kinds import KINDS, find_kind
from tests.harness.whole import inline, whole_lines


def lines(name: str) -> Iterator[str]:
    kind = find_kind(name)
    assert kind is not None
    yield f"== {name}: {kind.summary}"
    yield from whole_lines(kind.traits)
    for key in kind.keys:
        yield from whole_lines(key, "  ")
    yield f"  defaults {inline({field.name: field.default for field in msgspec.structs.fields(kind) if field.default is not msgspec.NODEFAULT})}"


def test_declarations(golden):
    golden("declarations.txt", "".join(f"{line}\n" for name in KINDS for line in lines(name)))

"""Whole snapshots: what is written of structs of seeds, and what is read where one value of a snapshot is another or missing.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.structs import Annotation, Source
from layoutlint.model.wanted import Wanted
from layoutlint.readers import snapshot
from layoutlint.readers.snapshot import record
from layoutlint.readers.snapshot.decode import decode
from layoutlint.readers.snapshot.encode import encode
from tests.harness.build import X86_64
from tests.harness.varied_structs import struct_of_seed
from tests.harness.whole import changes, whole_lines
from tests.readers.snapshot.test_round_trip import READING, text_of

SHOWN, WIDTH = 1, 120


@pytest.mark.parametrize("first", range(0, 32, 8))
def test_structs_of_seeds(first, golden_row):
    """What is written, and what is read of that."""
    structs = [replace(struct_of_seed(seed), name=f"s{seed}", target=X86_64) for seed in range(first, first + 8)]
    text = encode(Reading("x", "clang", X86_64, tuple(structs)), None, lambda name: name)
    golden_row(f"{text}{chr(10).join(whole_lines(decode(text.encode(), 'x')))}")


def variants(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the JSON value with one part of it changed, with the place and the change."""
    match value:
        case dict():
            for key, each in value.items():
                yield f"{path}.{key} gone", {name: other for name, other in value.items() if name != key}
                yield from ((what, {**value, key: other}) for what, other in variants(each, f"{path}.{key}"))
        case list():
            for number, each in enumerate(value):
                yield from ((what, [*value[:number], other, *value[number + 1 :]]) for what, other in variants(each, f"{path}[{number}]"))
            yield f"{path} twice", value * 2
        case bool():
            yield f"{path} {not value}", not value
        case int():
            yield from ((f"{path} {other}", other) for other in (value + 1, value - 1))
        case str():
            yield from ((f"{path} {other}", other) for other in (f"{value}x", ""))


def outcome(text: str, before: list[str]) -> list[str]:
    """The error; or the number of lines in which what is read differs, a checksum of them, and the first."""
    try:
        after = list(whole_lines(decode(text.encode(), "x")))
    except ReadError as error:
        return [str(error)]
    lines = [line for line in changes(before, after).splitlines() if not line.startswith("@@")]
    return [f"{len(lines)} other lines {hashlib.sha256(repr(lines).encode()).hexdigest()[:8]}", *lines[:SHOWN]]


def test_other_values(golden_row):
    content = json.loads(text_of(READING))
    before = list(whole_lines(decode(json.dumps(content, indent=1).encode(), "x")))
    texts = [*before]
    for what, other in variants(content):
        texts += [f"== {what}", *(f"  {line[:WIDTH]}" for line in outcome(json.dumps(other, indent=1), before))]
    golden_row("\n".join(texts))


REQUESTS = {
    "all": Wanted(everything=True), "a tag": Wanted(frozenset("s")), "a typedef": Wanted(frozenset(("s_t",))), "both": Wanted(frozenset(("s", "s_t"))),
    "a pattern": Wanted(patterns=("h*",)), "a pattern of a typedef": Wanted(patterns=("*_t",)), "another": Wanted(frozenset("é")),
    "annotated": Wanted(annotated=True), "a file": Wanted(files=frozenset(("a.h",))), "containers": Wanted(with_containers=frozenset("s")),
    "containers of a member": Wanted(with_containers=frozenset(("lock",))), "names": Wanted(names_only=True), "none": Wanted(frozenset(("missing",))),
}  # fmt: skip


@pytest.mark.parametrize("request_name", REQUESTS)
def test_requests(request_name, golden_row):
    golden_row("\n".join(whole_lines(snapshot.select(decode(text_of(READING).encode(), "x"), REQUESTS[request_name], ReadOptions()))))


def test_another_reader():
    read = decode(text_of(READING).encode(), "x")
    named = [struct.name for struct in read.structs]
    assert [each.name for each in snapshot.select(read, Wanted(everything=True), ReadOptions(reader="dwarf")).structs] == named
    with pytest.raises(ReadError, match="is a snapshot of what was read by dwarf, not by btf"):
        snapshot.select(read, Wanted(everything=True), ReadOptions(reader="btf"))


def test_structs_are_sorted(golden_row):
    """By name, kind, whether the name is a tag, file and size."""
    plain = replace(struct_of_seed(0), fields=(), source=None, aliases=(), target=X86_64, annotations=(), bit_size=64, name="s", is_tagged=True, aggregate="struct")
    others = [{"name": "t"}, {"aggregate": "union"}, {"is_tagged": False}, {"source": Source("b.h", 1)}, {"source": Source("a.h", 9)}, {"bit_size": 8}, {"bit_size": 0}]
    text = encode(Reading("x", "clang", X86_64, tuple(replace(plain, **other) for other in others)), None, lambda name: name)
    lines = [(each["name"], each["aggregate"], each.get("file"), each.get("size")) for each in json.loads(text)["structs"]]
    golden_row("\n".join(map(str, lines)))


HEADS = [
    # the beginning of a file, whether it is a snapshot, the other output that it is
    (b"", False, None), (b"{}", False, None), (b"\x7fELF", False, None), (b'{"schema": "layoutlint/snapshot/1"', True, None), (b'{ "schema" :"layoutlint/snapshot/77"', True, None),
    (b'\xef\xbb\xbf\n{"schema": "layoutlint/snapshot/1"', True, None), (b'{"schema": "layoutlint/report/1"', False, "report"), (b'{"schema": "layoutlint/snapshots/1"', False, "snapshots"),
    (b'x{"schema": "layoutlint/snapshot/1"', False, None), (b'{"schema": "layoutlint/snapshot/"', False, None), (b'{"schema": "other/snapshot/1"', False, None),
]  # fmt: skip


@pytest.mark.parametrize(("head", "is_own", "other"), HEADS)
def test_heads(head, is_own, other):
    assert (record.is_snapshot(head), record.other_output(head)) == (is_own, other)


NOTED = (Annotation("lock", "hot-write", Source("a.h")),)
SELECTED = [
    # a request, the structs that are selected, of "plain" in a.h, "noted" with annotations in b.h, and "placeless"
    (Wanted(everything=True), ["plain", "noted", "placeless"]), (Wanted(annotated=True), ["noted"]), (Wanted(files=frozenset(("a.h",))), ["plain"]), (Wanted(files=frozenset(("b.h",))), ["noted"]),
    (Wanted(frozenset(("placeless",))), ["placeless"]), (Wanted(frozenset(("plain_t",))), ["plain"]), (Wanted(frozenset(("plain_t",)), annotated=True), ["plain", "noted"]), (Wanted(), []),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(SELECTED)))
def test_structs_that_are_selected(number):
    wanted, names = SELECTED[number]
    plain = replace(struct_of_seed(0), name="plain", aliases=("plain_t",), annotations=(), source=Source("a.h"), target=X86_64)
    noted = replace(plain, name="noted", aliases=(), annotations=NOTED, source=Source("b.h"))
    placeless = replace(plain, name="placeless", aliases=(), source=None)
    found = snapshot.select(Reading("x", "clang", X86_64, (plain, noted, placeless)), wanted, ReadOptions())
    assert [each.name for each in found.structs] == names

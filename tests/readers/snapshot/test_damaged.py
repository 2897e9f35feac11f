"""Damaged, contradictory and hostile snapshots: each is an error that names the line, the struct and the cause."""

from __future__ import annotations

import json
from time import process_time
from typing import Any

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import Chosen
from layoutlint.readers.snapshot.decode import decode
from tests.harness.command import run

HEAD = '{\n"schema": "layoutlint/snapshot/1",\n"target": "x86_64",\n"reader": "dwarf",\n"structs": [\n'
INNER = '{"name": "struct inner", "aggregate": "struct", "embedded": true, "fields": [\n  {"name": "x", "at": 0, "size": 4, "type": "int"}\n]},\n'
RING = '{"name": "struct ring", "aggregate": "struct", "size": 16, "align": 8, "fields": [\n'
HEAD_FIELD = '  {"name": "head", "at": 0, "size": 8, "type": "long", "align": 8},\n'
IN = '  {"name": "in", "at": 8, "size": 4, "type": "struct inner", "of": "struct inner"}\n'
GOOD = HEAD + INNER + RING + HEAD_FIELD + IN + "]}\n]}\n"
DAMAGES = {
    # what is replaced, by what; the line and the message
    "cut": (IN + "]}\n]}\n", "  {", 11, "the snapshot is damaged: Input data was truncated"),
    "not JSON": ('"size": 16', '"size" 16', 9, "the snapshot is damaged: JSON is malformed: expected ':'"),
    "a line twice": (HEAD_FIELD, HEAD_FIELD * 2, 9, "`struct ring`: `head` and `head` overlap"),
    "no size": ('"size": 16, ', "", 9, "`struct ring`: it has no `size`"),
    "negative": ('"at": 0, "size": 8', '"at": -8, "size": 8', 9, "`struct ring`, `fields[0].at`: expected `int` >= 0"),
    "enormous": ('"at": 0, "size": 8', f'"at": {1 << 62}, "size": 8', 9, "`fields[0].at`: expected `int` <= "),
    "beyond numbers": ('"at": 0, "size": 8', f'"at": {"9" * 400}, "size": 8', 9, "`fields[0].at`: expected `int` <= "),
    "a text for a number": ('"size": 16', '"size": "16"', 9, "`struct ring`, `size`: expected `int | null`, got `str`"),
    "an unknown key": ('"align": 8}', '"aling": 8}', 9, "`struct ring`, `fields[0]`: object contains unknown field `aling`"),
    "no such struct": ('"of": "struct inner"', '"of": "struct iner"', 9, "field `in` is of `struct iner`, which is not in the snapshot (did you mean `struct inner`?)"),
    "itself": ('"of": "struct inner"', '"of": "struct ring"', 9, "`struct ring`: it embeds itself, through `struct ring`"),
    "behind the end": ('"size": 16', '"size": 8', 9, "`struct ring`: `in` ends behind the 8 bytes of the struct"),
    "smaller than its members": ('"at": 8, "size": 4', '"at": 8, "size": 2', 9, "field `in` is smaller than its members"),
    "no whole elements": ('"of": "struct inner"', '"dims": [3], "of": "struct inner"', 9, "field `in` has 4 bytes, and 3 elements"),
    "two sizes": ('"size": 8,', '"size": 8, "bits": 3,', 9, "field `head` has both `size` and `bits`"),
    "an odd alignment": ('"align": 8,', '"align": 12,', 9, "the alignment 12 is not a power of two"),
    "twice": (INNER, INNER * 2, 9, "`struct inner`: another struct of the snapshot has this name and number"),
    "another kind": (RING[:50], RING[:50].replace('": "struct"', '": "union"'), 9, "`struct ring`: its `aggregate` is union"),
    "no target": ("x86_64", "x86-64", None, "the target 'x86-64' of the snapshot is not known (did you mean `x86_64`?)"),
    "another reader": ("dwarf", "\\u001b[31m", 1, "`reader`: expected `str` matching regex"),
    "what is not stated": ('"align": 8,', '"unstated": ["packd"],', 9, "`unstated` has 'packd' (did you mean `packed`?)"),
    "a later version": ("snapshot/1", "snapshot/2", None, "is a snapshot of version 2; this layoutlint reads version 1"),
    "a merge": (HEAD_FIELD, f"<<<<<<< ours\n{HEAD_FIELD}=======\n>>>>>>> theirs\n", 10, "has the marks of a merge; take one side, and write the snapshot again"),
    "no list": ("[\n{", '{"a": {', 1, "the snapshot"),
    "fields without a kind": ('"type": "long"', '"type": "x", "fields": [{"at": 0, "type": "int"}]', 9, "field `head` has `fields` and no `aggregate`"),
    "many dimensions": ('"type": "long"', f'"type": "x", "dims": {[1] * 257}', 9, "`struct ring`, `fields[0].dims`: expected `array` of length <= 256"),
    "many patterns": ('"structs"', f'"chosen": {["*"] * 1001},\n"structs"'.replace("'", '"'), None, "`chosen` has more than the 1,000 patterns that are read"),
    "a record that nobody chose": ('"structs"', '"chosen": ["rong"],\n"structs"', 10, "`struct ring`: `chosen` does not name it"),
    "one of them beside containers": ('"structs"', '"chosen": ["rong"],\n"containers_of": ["inner"],\n"structs"', 11, "`struct ring`: `chosen` does not name it"),
    "a container that is chosen": (RING + HEAD_FIELD, RING.replace('"size"', '"container": true, "size"') + HEAD_FIELD, 9, "`struct ring`: it is chosen, and `container` says that it is not"),
    "a key twice": ('"reader"', '"target": "x86_64",\n"reader"', 4, "the snapshot has the key `target` twice"),
    "a key of a struct twice": ('"size": 16', '"size": 16, "size": 24', 9, "`struct ring`: has the key `size` twice"),
    "a key of a field twice": ('"at": 0, "size": 8', '"at": 0, "at": 0, "size": 8', 9, "`struct ring`: has the key `at` twice"),
    "deep lists": ('"type": "long"', f'"type": "x", "dims": {"[" * 100_000}', 1, ""),
    "no text": ("head", "\\ud800", 10, "the snapshot is damaged: JSON is malformed"),
    "a zero": ("head", "he\0d", 10, "the snapshot is damaged"),
}  # fmt: skip


def test_the_undamaged_one():
    (struct,) = decode(GOOD.encode(), "f").structs
    assert (struct.name, struct.fields[1].members[0].name, struct.align) == ("ring", "x", 8)


@pytest.mark.parametrize("damage", DAMAGES)
def test_damages(damage):
    old, new, line, message = DAMAGES[damage]
    assert old in GOOD
    with pytest.raises(ReadError) as caught:
        decode(GOOD.replace(old, new, 1).encode(), "f")
    assert message in caught.value.reason
    assert line is None or caught.value.path == f"f:{line}" or damage in ("deep lists", "no list")


def chain(length: int, width: int) -> str:
    """Structs of which each has several of the next one."""
    rows = []
    for number in range(length):
        inner = [{"name": f"f{n}", "at": 0, "size": 0, "type": "x", "of": f"struct s{number + 1}"} for n in range(width)]
        fields = inner if number < length - 1 else [{"name": "x", "at": 0, "size": 0, "type": "int", "dims": [0]}]
        rows.append(json.dumps({"name": f"struct s{number}", "aggregate": "struct", "size": 8, "align": 8, "fields": fields}))
    return HEAD + ",\n".join(rows) + "]}"


def test_depth_has_a_bound():
    with pytest.raises(ReadError, match="more than 100 structs are embedded in each other"):
        decode(chain(200, 1).encode(), "f")


def test_length_has_a_bound():
    row = '{"at":0,"type":"x"},'
    text = HEAD + RING + row * 600_000 + '{"at":0,"type":"x"}]}]}'
    with pytest.raises(ReadError, match="is a snapshot of more than the 500,000 structs and fields that are read"):
        decode(text.encode(), "f")


def test_many_names_take_little_time():
    names = tuple(f"s{number}" for number in range(10_000))
    started = process_time()
    assert all(map(Chosen(names).has_name, names))
    assert process_time() - started < 20


COMMANDS = {
    "show": ("show", "f", "s0"),
    "json": ("show", "f", "s0", "--expand", "--format", "json"),
    "check": ("check", "f", "--rules", "rules.toml"),
    "diff": ("diff", "f", "f"),
    "containers": ("containers", "f", "s59"),
    "hold": ("check", "f", "--snapshot", "f"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_a_few_lines_take_no_time(command, tmp_path):
    """60 structs that contain 4 of the next each: as many paths as 4 to the power of 60."""
    (tmp_path / "f").write_text(chain(60, 1 if command in ("json", "containers") else 4))
    rule = '[[rule]]\nid = "r"\nstruct = "s0"\nkind = "offset"\nfields = ["f0"]\nat = 0\nwhy = "w"\n'
    (tmp_path / "rules.toml").write_text(rule)
    done = run(*COMMANDS[command], cwd=tmp_path, seconds=20)
    assert done.returncode in (0, 1, 3)
    assert "Traceback" not in done.stderr


OTHERS: dict[str, tuple[Any, str]] = {
    "a report": ({"schema": "layoutlint/report/1"}, "is an output of layoutlint (report), not an input"),
    "a later snapshot": ({"schema": "layoutlint/snapshot/9"}, "is a snapshot of version 9"),
    "too short": ({"schema": "layoutlint/snapshot/1"}, "object missing required field `target`"),
}


@pytest.mark.parametrize("other", OTHERS)
def test_other_files(other, tmp_path):
    document, message = OTHERS[other]
    (tmp_path / "f.json").write_text(json.dumps(document))
    done = run("show", "f.json", "ring", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (3, "")
    assert message in done.stderr

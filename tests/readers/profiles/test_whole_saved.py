"""Which numbers and texts saved evidence can have: every one at the bounds of what is allowed, and beyond.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from layoutlint.errors import ReadError, UsageError
from layoutlint.readers.profiles import saved

COUNTS = {"remote": 1, "local": 2, "peer": 3, "l1_hit": 4, "l1_miss": 5, "other": 6}
TOUCH = {"path": "a.b", "offset": 4, "size": 8, "at": 4, "counts": COUNTS, "written": True, "read_modified": False}
LINE = {
    "report": "r", "line": 3, "address": "0xfff0", "line_size": 64, "counts": COUNTS, "first_byte": 0, "base": 0, "certainty": "given", "identified_by": "base",
    "fields": [TOUCH, {**TOUCH, "at": 63, "size": None}], "contradicting_code": ["f"],
}  # fmt: skip
SAMPLES = {"path": "a", "offset": 0, "size": 4, "event": 0, "at": 0, "samples": 7, "report_lines": [9]}
PROFILE = {
    "schema": "layoutlint/evidence/1", "inputs": [{"path": "x", "build_id": None}], "reports": [{"path": "r", "formats": ["perf c2c"], "captured": "Mon"}],
    "events": [{"report": "r", "counts": "loads"}], "structs": [{"name": "s", "aggregate": "struct", "size": 128, "lines": [LINE], "samples": [SAMPLES]}],
}  # fmt: skip
LAYOUT = {
    "label": "before", "size": 64, "accesses": [{"path": "a", "offset": 0, "size": 4, "core": 1, "distance": 64}], "placements": [{"base": 8, "affected": True}],
}  # fmt: skip
MEASURE = {
    "schema": "layoutlint/measure/1", "struct": "s", "rule": None, "mode": "contention", "machine": {"processor": "p", "line_size": 64}, "run": {"date": "2026-01-02"}, "refusal": None,
    "layouts": [LAYOUT], "ratios": [{"layout": None, "of": "after", "to": "before", "interval": 5, "ratio": {"median": 1.5}, "clear": True}],
}  # fmt: skip
NUMBERS = (-(1 << 16) - 1, -(1 << 16), -1, 0, 1, 63, 64, 65, 1 << 16, (1 << 16) + 1, 1 << 58, (1 << 58) + 1, 1 << 62, (1 << 62) + 1)
TEXTS = ("", "x" * 4096, "x" * 4097, "0x0", "0x" + "f" * 16, "0x" + "f" * 17, "0xG", "2026-1-2", "union", "sweep", "both", None)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the place of each number and text in a JSON value."""
    if isinstance(value, dict | list):
        for key, each in value.items() if isinstance(value, dict) else enumerate(value):
            yield from places(each, (*path, key))
    elif path != ("schema",):
        yield path


def outcome(content: Any) -> str:
    Path("saved.json").write_text(json.dumps(content))
    try:
        saved.load("saved.json")
    except (ReadError, UsageError) as error:
        return str(error).removeprefix("saved.json: ")[:110]
    return "read"


@pytest.mark.parametrize("content", [PROFILE, MEASURE], ids=["evidence", "measure"])
def test_values(content, golden_row, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    lines = [outcome(content)]
    for path in places(content):
        found: dict[str, list[str]] = {}
        copy = json.loads(json.dumps(content))
        holder = copy
        for key in path[:-1]:
            holder = holder[key]
        own = holder[path[-1]]
        for other in (TEXTS if isinstance(own, str) or own is None else NUMBERS if not isinstance(own, bool) else (1, None)):
            holder[path[-1]] = other
            label = f"{other[:3]}*{len(other)}" if isinstance(other, str) and len(other) > 20 else repr(other)
            found.setdefault(outcome(copy), []).append(label)
        lines += [f"{'.'.join(map(str, path))}: {'; '.join(f'{what} ({chr(32).join(values)})' for what, values in found.items())}"]
    golden_row("\n".join(lines))


FORMS = {
    "no object": "[]", "no text": "\x00", "empty": "", "a number as schema": '{"schema": 1}', "another schema": '{"schema": "layoutlint/report/1"}', "no schema": "{}", "half": '{"schema": "layoutlint/measure/1"',
    "nothing else": '{"schema": "layoutlint/evidence/1"}', "a long schema": json.dumps({"schema": "x" * 120}), "two layouts": json.dumps({**MEASURE, "layouts": [LAYOUT] * 2}), "three layouts": json.dumps({**MEASURE, "layouts": [LAYOUT] * 3}),
    "no lines of a report": json.dumps({**PROFILE, "structs": [{**PROFILE["structs"][0], "samples": [{**SAMPLES, "report_lines": []}]}]}), "no run": json.dumps({**MEASURE, "run": {}}),
    "a list": json.dumps({**PROFILE, "inputs": {}}), "no code": json.dumps({**PROFILE, "structs": [{**PROFILE["structs"][0], "lines": [{key: each for key, each in LINE.items() if key != "contradicting_code"}]}]}),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_forms(form, golden_row, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    Path("saved.json").write_text(FORMS[form])
    try:
        golden_row(f"read {type(saved.load('saved.json').content).__name__}")
    except (ReadError, UsageError) as error:
        golden_row(f"{type(error).__name__} {error}")


@pytest.mark.parametrize(("most", "is_read"), [(0, True), (-1, False)])
def test_the_largest_file(most, is_read, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text = json.dumps(PROFILE)
    monkeypatch.setattr(saved, "_LARGEST", len(text) + most)
    assert (outcome(PROFILE) == "read") == is_read

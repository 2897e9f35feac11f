"""What must hold of every run on a damaged input. Nothing here knows how it was damaged."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any, Final

from tools.fuzz.command import Done
from tools.fuzz.inputs import Command

_STATUSES: Final = (0, 1, 3)
"""2 is for command lines and rule files, which are whole; 4 and all others are errors of the program."""


def problems(command: Command, done: Done) -> list[str]:
    """What does not hold, as sentences; empty when all is well."""
    stderr = done.stderr.decode()
    if b"Traceback" in done.stderr:
        return [f"a traceback: {_exception_of(stderr)}"]
    if done.status not in _STATUSES:
        return [f"exit status {done.status}: {stderr.strip()[-300:]}"]
    if command.words[0] == "check":
        return list(_check_faults(command, done))
    if command.words[0] == "containers":
        return list(_container_faults(command, done, stderr))
    return list(_show_faults(command, done, stderr))


def signature(problem: str) -> str:
    """What problems of one cause have in common: their words without the numbers and names."""
    return re.sub(r"0x[0-9a-f]+|\d+|'[^']*'|`[^`]*`", "#", problem)[:240]


def _exception_of(stderr: str) -> str:
    """The exception, and the place in the project that raised it or called what did."""
    lines = stderr.splitlines()
    places = [line.strip() for line in lines if line.startswith("  File ") and "layoutlint" in line]
    end = next((line for line in reversed(lines) if re.match(r"[\w.]+(Error|Exception|Exit|Interrupt|Damaged)?\b", line)
                and not line.startswith("layoutlint:")), "")  # fmt: skip
    where = re.sub(r'File ".*?(layoutlint/[^"]*)"', r"\1", places[-1]) if places else ""
    return f"{end[:200]} in {where}"


def _check_faults(command: Command, done: Done) -> Iterator[str]:
    """A status that fits the report; 0 only where every rule has been judged on a struct that was read."""
    if done.stderr:
        yield f"check says on stderr: {done.stderr[:200]!r}"
    try:
        report = json.loads(done.stdout)
    except ValueError as error:
        yield f"the report is no JSON: {error}"
        return
    if report["exit"] != done.status:
        yield f"the report says exit {report['exit']}, the command {done.status}"
    outcomes = {finding["outcome"] for finding in report["findings"]}
    if done.status == 0:
        yield from _vouch(command, report, outcomes)
    elif done.status == 1 and not outcomes & {"broken", "at-risk"}:
        yield "exit 1 without a finding"
    elif done.status == 3:
        message = [*report["unread"], *(each for each in report["coverage"]["not_covered"] if each["rules"])]
        if "unknown" not in outcomes and not any(entry["reason"] for entry in message):
            yield "exit 3 without a reason"
    for finding in report["findings"] + report["kept"]:
        for field in finding["fields"]:
            if not _is_place(field["offset"], field["size"]):
                yield f"{finding['rule']} is about a field at {field['offset']} of size {field['size']}"


def _vouch(command: Command, report: dict[str, Any], outcomes: set[str]) -> Iterator[str]:
    if report["unread"] or outcomes:
        yield f"exit 0 with {len(report['unread'])} unread and {sorted(outcomes)}"
    if not any(entry["structs"] for entry in report["inputs"]):
        yield "exit 0, and no struct was read"
    judged = {finding["rule"] for finding in report["kept"] if finding["struct"]}
    lacking = sorted(set(command.rules) - judged)
    if lacking:
        yield f"exit 0, and {', '.join(lacking)} was not judged"
    coverage = report["coverage"]
    if coverage["applied"] < len(command.rules) or not coverage["structs"]:
        yield f"exit 0, and the coverage is {coverage}"


def _show_faults(command: Command, done: Done, stderr: str) -> Iterator[str]:
    """A reason for 3; for 0 the structs that were asked for, with nothing outside their size."""
    if done.status == 1:
        yield "show exits with 1"
    if done.status == 3 and "layoutlint: " not in stderr:
        yield "exit 3 without a reason"
    if "json" not in command.words:
        if done.status == 0 and not done.stdout.strip() and "layoutlint: note: " not in stderr:
            yield "exit 0, and nothing was shown or said"
        return
    structs = []
    if done.stdout or done.status == 0:
        try:
            structs = json.loads(done.stdout)["structs"]
        except ValueError as error:
            yield f"the output is no JSON: {error}"
            return
    if done.status == 0:
        yield from _show_rows(command, structs, stderr)
    for struct in structs:
        yield from _geometry(struct)


def _container_faults(command: Command, done: Done, stderr: str) -> Iterator[str]:
    """A reason for 3; for 0 a definition with a size, and every place within its container."""
    if done.status == 1:
        yield "containers exits with 1"
    if done.status == 3 and "layoutlint: " not in stderr:
        yield "exit 3 without a reason"
    if "json" not in command.words or not done.stdout:
        if done.status == 0 and not done.stdout.strip():
            yield "exit 0, and nothing was listed or said"
        return
    try:
        structs = json.loads(done.stdout)["structs"]
    except ValueError as error:
        yield f"the output is no JSON: {error}"
        return
    if done.status == 0 and not structs:
        yield f"exit 0, and {command.names[0]} was not found"
    for struct in structs:
        for way in struct["containers"]:
            if done.status == 0 and (way["problem"] or struct["size"] is None):
                yield f"exit 0, and {way['name']} or what it holds cannot be believed"
            is_inside = way["size"] is not None and way["count"]  # what a flexible array holds stands behind
            if is_inside and not 0 <= way["offset"] <= way["size"]:
                yield f"{way['name']} of {way['size']} bytes holds it at {way['offset']}"


def _show_rows(command: Command, structs: list[dict[str, Any]], stderr: str) -> Iterator[str]:
    if not structs and "layoutlint: note: " not in stderr:
        yield "exit 0, and no struct was shown or said to be missing"
    for name in command.names:
        pattern = re.compile(re.escape(name).replace(r"\?", "."))
        shown = [s for s in structs if any(pattern.fullmatch(own) for own in (s["name"], *s["aliases"]))]
        if not shown:
            yield f"exit 0, and {name} was not shown"
        if any(struct["size"] is None for struct in shown):
            yield f"exit 0, and {name} has no size"
    yield from (f"exit 0, and {struct['name']} has a problem: {struct['problem']}" for struct in structs if struct["problem"])


def _geometry(struct: dict[str, Any]) -> Iterator[str]:
    """Fields and holes lie inside the struct, and no hole where a field is."""
    size, name = struct["size"], struct["name"]
    if size is None:
        shown = [field["path"] for field in struct["fields"] if field["offset"] is not None]
        if struct["holes"] or shown or (struct["fields"] and struct["problem"] is None):
            yield f"{name} has no size, and has fields"
        return
    if size < 0 or (struct["align"] is not None and struct["align"] < 1):
        yield f"{name} has size {size} and alignment {struct['align']}"
    if struct["problem"]:
        return
    # The members of an element can stand outside: an array without elements, as GNU C and C99 have it, takes no bytes.
    fields = [field for field in struct["fields"] if "." not in field["path"]]
    spans = [_bits(field) for field in fields]
    yield from (f"{name}: {field['path']} lies outside its {size} bytes"
                for field, (start, end) in zip(fields, spans, strict=True) if not 0 <= start <= end <= size * 8)  # fmt: skip
    spans = _innermost(struct["fields"])
    for hole in struct["holes"]:
        start, end = _bits(hole)
        if not 0 <= start < end <= size * 8:
            yield f"{name}: a hole of bits {start} to {end} in {size} bytes"
        if any(max(start, other) < min(end, behind) for other, behind in spans):
            yield f"{name}: a field lies in the hole of bits {start} to {end}"


def _innermost(fields: list[dict[str, Any]]) -> list[tuple[int, int]]:
    """Where the fields without listed members are, as far as they lie inside those that hold them: these have holes, too."""
    spans: dict[str, tuple[int, int]] = {}
    found = []
    for number, field in enumerate(fields):
        path = field["path"]
        start, end = _bits(field)
        first, behind = spans.get(path.rpartition(".")[0], (start, end))
        spans[path] = max(start, first), min(end, behind)
        if not (number + 1 < len(fields) and fields[number + 1]["path"].startswith(f"{path}.")):
            found.append(spans[path])
    return found


def _bits(thing: dict[str, Any]) -> tuple[int, int]:
    """Where a field or a hole starts and ends; one of unknown size ends where it starts."""
    if thing["bit_offset"] is not None:
        return thing["bit_offset"], thing["bit_offset"] + thing["bit_size"]
    return thing["offset"] * 8, (thing["offset"] + (thing["size"] or 0)) * 8


def _is_place(offset: int | None, size: int | None) -> bool:
    return (offset is None or offset >= 0) and (size is None or size >= 0)

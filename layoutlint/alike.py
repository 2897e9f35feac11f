"""Findings that are the same in many inputs: one header that many objects include."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import replace

from layoutlint.rule import Finding


def merged(findings: Iterable[Finding]) -> list[Finding]:
    """Each finding once, with all inputs that have it."""
    alike: dict[Hashable, list[Finding]] = {}
    for finding in findings:
        struct = finding.struct and replace(finding.struct, origin="", files=())
        alike.setdefault((finding.rule, struct, finding.verdict), []).append(finding)
    return [_as_one(same) for same in alike.values()]


def _as_one(same: list[Finding]) -> Finding:
    files = dict.fromkeys(file for finding in same for file in (finding.input, *finding.also))
    return replace(same[0], input=next(iter(files)), also=tuple(files)[1:])

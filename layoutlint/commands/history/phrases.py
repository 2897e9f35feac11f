"""Words on the builds of a history, shared by its formats."""

from __future__ import annotations

from layoutlint.commands.history.builds import Build, History, Meeting
from layoutlint.geometry.layout import Place
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.verdict import Outcome
from layoutlint.model.reading import Version

_LONGEST_LABEL = 12


def labels(history: History) -> list[str]:
    """Return a short name of each build: its version, or its file if that is short; else its number."""
    versions = [version(build.version) for build in history.builds] if history.is_by_version else []
    files = [build.side.label.rstrip("/").rpartition("/")[2] for build in history.builds]
    for names in (versions, files):
        if names and len(set(names)) == len(names) and max(map(len, names)) <= _LONGEST_LABEL:
            return names
    return [f"#{number}" for number in range(1, len(files) + 1)]


def version(number: Version | None) -> str:
    """Return a version of Linux as it is written; `-` for none."""
    return "-" if number is None else ".".join(map(str, number))


def target(build: Build) -> str:
    """Return what a build is for; `-` if it could not be read."""
    return " ".join(sorted({reading.target.name for reading in build.side.report.readings})) or "-"


def offset(place: Place | None, build: Build) -> str:
    """Return the offset of a field in bytes, with the bit of a bit-field; `-` for none, `??` if unknown."""
    if build.struct is None:
        return "??"
    if place is None:
        return "-"
    bit = f":{place.bit_offset % 8}" if place.field.is_bitfield else ""
    return f"{place.offset}{bit}"


def outcome(finding: Finding | None) -> str:
    """Return the outcome of a rule, with the share of a rule at risk; `-` if it judged nothing."""
    if finding is None:
        return "-"
    verdict = finding.verdict
    if verdict.outcome is Outcome.AT_RISK and verdict.total and verdict.bases:
        return f"at-risk {len(verdict.bases)}/{verdict.total}"
    return str(verdict.outcome.value)


def meeting(meeting: Meeting | None) -> str:
    """Return in how many placements two fields share a line; `-` if one is missing."""
    return "-" if meeting is None else f"{len(meeting.bases)}/{meeting.total}"

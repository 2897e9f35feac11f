"""The behaviours of GCC's plugin, by the version of Linux or by the plugin's source."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import NamedTuple

from layoutlint import files
from layoutlint.errors import UsageError
from layoutlint.model.reading import Version
from layoutlint.model.record import Record
from layoutlint.randstruct.gcc_order import Behaviour
from layoutlint.randstruct.kernel_tree import PLUGIN

_LARGEST = 1 << 20
BEHAVIOURS = (
    Behaviour(False, False, False, False),
    Behaviour(False, False, True, False),
    Behaviour(True, False, True, False),
    Behaviour(True, True, True, False),
    Behaviour(True, False, True, True),
    Behaviour(True, True, True, True),
)
"""All behaviours in releases, the newest last."""


class _Change(NamedTuple):
    """A change of the plugin: its version, and the stable releases that contain it, by series.

    None stands for a series without it. Series that are not listed may contain it.
    """

    since: Version
    stable: Mapping[Version, int | None]


_CHANGES: dict[str, _Change] = {
    # "randstruct: Fix gcc-plugin performance mode to stay in group"
    "stays_in_group": _Change((6, 7), {
        (4, 14): 331, (4, 19): 300, (5, 4): 262, (5, 10): 202, (5, 15): 140, (6, 1): 64, (6, 5): 13,
        (6, 6): 3,
    }),
    # "gcc-plugins: randstruct: Only warn about true flexible arrays"
    "keeps_flexible_only": _Change((6, 7), {(6, 1): None, (6, 5): 13, (6, 6): 3}),
    # "randstruct: Check member structs in is_pure_ops_struct()"
    "opens_structs": _Change((5, 4), {(4, 14): 147, (4, 19): 77, (5, 2): 19}),
    # "randstruct: gcc-plugin: Remove bogus void member"
    "opens_shuffled": _Change((6, 16), {(5, 4): 299, (6, 1): 142, (6, 12): 34, (6, 15): 3}),
}  # fmt: skip
"""Changes by fields of Behaviour. The stable releases are those whose announcements, or reviews, list the
change."""


class Plugin(Record, frozen=True):
    """The possible behaviours of a build's plugin."""

    behaviours: tuple[Behaviour, ...] = BEHAVIOURS
    """The possible behaviours, the likeliest last."""
    name: str | None = None
    """The version of Linux that contains it; None if unknown."""
    earlier: tuple[Behaviour, ...] = ()
    """Further behaviours of earlier releases, if `name` is a series and stands for its last release."""


ANY = Plugin()
_VERSION = re.compile(r"v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4}))?(-rc\d+)?([-.+~].*)?")
_FIRST = (4, 13)
"""The first version of Linux with the plugin."""


def plugin_of_version(text: str, option: str = "--kernel-version") -> Plugin:
    """Return the plugin of a version such as `6.1` (the last release of that series), `6.1.64` or
    `6.1.0-50-amd64`.

    Only distributions append a suffix to a release number, and they may have later changes. Raises UsageError
    for an invalid version, or one before the plugin.
    """
    match = _VERSION.fullmatch(text)
    if match is None:
        raise UsageError(f"{option} {text!r}: expected X.Y, such as 6.12, or a kernel source")
    version = tuple(int(number) for number in match.group(1, 2, 3) if number is not None)
    if version < _FIRST:
        raise UsageError(f"{option} {text}: Linux randomises layouts since 4.13")
    possibilities = {
        name: _has(version, change, bool(match[4]), bool(match[5])) for name, change in _CHANGES.items()
    }
    behaviours = _matching_behaviours(possibilities)
    first = _matching_behaviours(
        {name: _has((*version[:2], 0), change, False, False) for name, change in _CHANGES.items()}
    )
    earlier = tuple(one for one in first if one not in behaviours) if len(version) < 3 else ()
    return Plugin(behaviours, text.removeprefix("v"), earlier)


def _has(version: Version, change: _Change, is_candidate: bool, is_patched: bool) -> tuple[bool, ...]:
    """Return the possible answers to whether a version has a change: (True,), (False,) or both."""
    if is_candidate and version[:2] == change.since:
        return False, True
    if version >= change.since:
        return (True,)
    release = change.stable.get(version[:2], 0)
    if release == 0:
        return False, True
    if release is not None and (len(version) < 3 or version[2] >= release):
        return (True,)
    return (False, True) if is_patched else (False,)


def _matching_behaviours(possibilities: Mapping[str, tuple[bool, ...]]) -> tuple[Behaviour, ...]:
    """Return the behaviours that match the changes; a behaviour of no release if none does."""
    behaviours = [
        b for b in BEHAVIOURS if all(getattr(b, name) in has for name, has in possibilities.items())
    ]
    return tuple(behaviours) or (Behaviour(**{name: has[-1] for name, has in possibilities.items()}),)


def plugin_of_source(tree: str) -> Plugin | None:
    """Return the plugin whose source a kernel tree contains; None for another folder. Raises UsageError."""
    path = os.path.join(tree, PLUGIN)
    if not files.is_file(path):
        return None
    try:
        content = files.read_start(path, _LARGEST).decode("latin-1")
    except OSError as error:
        raise UsageError(files.error_reason(error), path) from error
    text = re.sub(r"/\*.*?(?:\*/|\Z)|//[^\n]*", "", content, flags=re.S)
    return Plugin(
        _matching_behaviours({name: tells(text) for name, tells in _PARSERS.items()}), f"{tree} (source)"
    )


def _function_body(text: str, name: str) -> str:
    """Return the body of a function; empty for none."""
    match = re.search(rf"\b{name}\([^;{{}}]{{0,400}}\)\s*+\{{(.*?)(?:^(\}})|\Z)", text, re.S | re.M)
    return match[1] if match and match[2] else ""


def _parse_stays_in_group(text: str) -> tuple[bool, ...]:
    body = _function_body(text, "performance_shuffle")
    stays = re.search(r"\bindex\s*=\s*size_group\[x\]\.length", body)
    leaves = re.search(r"\bi\s*=\s*size_group\[x\]\.start\s*\+\s*size_group\[x\]\.length", body)
    return _decide(bool(stays), bool(leaves))


def _parse_keeps_flexible_only(text: str) -> tuple[bool, ...]:
    body = _function_body(text, "is_flexible_array")
    return _decide("TYPE_MAX_VALUE" in body and "elemsize" not in body, "elemsize" in body)


def _parse_opens_structs(text: str) -> tuple[bool, ...]:
    body = _function_body(text, "is_pure_ops_struct")
    inner, pointer = body.find("is_pure_ops_struct("), body.find("is_fptr(")
    return _decide(0 <= inner < pointer, 0 <= pointer < inner)


def _parse_opens_shuffled(text: str) -> tuple[bool, ...]:
    body = _function_body(text, "relayout_struct")
    return _decide("TREE_CHAIN" in body and "make_node" not in body, "make_node" in body)


def _decide(yes: bool, no: bool) -> tuple[bool, ...]:
    return (yes,) if yes != no else (False, True)


_PARSERS = {
    "stays_in_group": _parse_stays_in_group,
    "keeps_flexible_only": _parse_keeps_flexible_only,
    "opens_structs": _parse_opens_structs,
    "opens_shuffled": _parse_opens_shuffled,
}

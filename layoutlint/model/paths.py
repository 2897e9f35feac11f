"""Paths of fields: patterns, names, indices, and which path is a part of which."""

from __future__ import annotations

import re

_GLOB = re.compile(r"^@|[*?]|\[(?!\d+\])")


def is_pattern(path: str) -> bool:
    """Whether a field path is an fnmatch pattern or an `@access`; `ring[2]` is an element, and neither."""
    return _GLOB.search(path) is not None


Steps = tuple[str | int | range, ...]
"""A path as names and array indices; a range is a run of elements (`ring[2..5]`)."""
_INDEX = re.compile(r"\[(\d{1,19})(?:\.\.(\d{1,19}))?\]|([^.\[\]]+)")


def steps_of(path: str) -> Steps:
    """Return the names and indices of a path."""
    return tuple(_parsed_step(*match.groups()) for match in _INDEX.finditer(path))


def _parsed_step(first: str | None, last: str | None, name: str) -> str | int | range:
    if first is None:
        return name
    return int(first) if last is None else range(int(first), int(last) + 1)


def is_within(path: str, outer: str, any_element: bool = False) -> bool:
    """Return whether a path is `outer`, or leads to a part of what that names.

    An array without an index, on the way, stands for its first element; with `any_element`, in `outer`, for
    each of them.
    """
    if path == outer:
        return True
    inner = iter(steps_of(path))
    step = next(inner, None)
    for whole in steps_of(outer):
        if isinstance(whole, str):
            while step is not None and not isinstance(step, str) and (any_element or _holds(0, step)):
                step = next(inner, None)
            if step != whole:
                return False
            step = next(inner, None)
        elif isinstance(step, str):  # without an index, the first element
            if 0 not in indices(whole):
                return False
        elif step is None or not _holds(whole, step):
            return False
        else:
            step = next(inner, None)
    return True


def indices(step: int | range) -> range:
    """Return the numbers that a step into an array means."""
    return range(step, step + 1) if isinstance(step, int) else step


def _holds(some: int | range, step: int | range) -> bool:
    """Whether one or some elements are among others."""
    outer, inner = indices(some), indices(step)
    return outer.start <= inner.start and inner.stop <= outer.stop


def common_array(a: str, b: str) -> str | None:
    """Return the array of which two paths lead into different elements; None if there is none."""
    one, other = steps_of(a), steps_of(b)
    same = next((n for n, (x, y) in enumerate(zip(one, other, strict=False)) if x != y), None)
    if same is None or isinstance(one[same], str) or isinstance(other[same], str):
        return None
    return joined(one[:same])


def joined(steps: Steps) -> str:
    """Return the path of some names and indices."""
    return "".join(f".{step}" if isinstance(step, str) else f"[{step}]" for step in steps).removeprefix(".")


def overlap(a: str, b: str) -> bool:
    """Return whether one of two paths leads to the other, or to a part of it."""
    return is_within(a, b) or is_within(b, a)

"""Paths of fields: patterns, names, indices, and whether one path is part of another."""

from __future__ import annotations

import re

_GLOB = re.compile(r"^@|[*?]|\[(?!\d+\])")


def is_pattern(path: str) -> bool:
    """Return whether a field path is an fnmatch pattern or an `@access`; `ring[2]` is neither."""
    return _GLOB.search(path) is not None


Steps = tuple[str | int | range, ...]
"""A path as names and array indices; a range is a run of elements (`ring[2..5]`)."""
_INDEX = re.compile(r"\[(\d{1,19})(?:\.\.(\d{1,19}))?\]|([^.\[\]]+)")


def steps_of(path: str) -> Steps:
    """Split a path into names and indices."""
    return tuple(_parse_step(*match.groups()) for match in _INDEX.finditer(path))


def _parse_step(first: str | None, last: str | None, name: str) -> str | int | range:
    if first is None:
        return name
    return int(first) if last is None else range(int(first), int(last) + 1)


def is_within(path: str, outer: str, any_element: bool = False) -> bool:
    """Return whether a path is `outer`, or leads to a part of it.

    An array without an index means its first element; with `any_element`, in `outer`, for each element.
    """
    if path == outer:
        return True
    inner = iter(steps_of(path))
    step = next(inner, None)
    for outer_step in steps_of(outer):
        if isinstance(outer_step, str):
            while step is not None and not isinstance(step, str) and (any_element or _includes(0, step)):
                step = next(inner, None)
            if step != outer_step:
                return False
            step = next(inner, None)
        elif isinstance(step, str):  # no index: the first element
            if 0 not in indices(outer_step):
                return False
        elif step is None or not _includes(outer_step, step):
            return False
        else:
            step = next(inner, None)
    return True


def indices(step: int | range) -> range:
    """Return the indices that an array step covers."""
    return range(step, step + 1) if isinstance(step, int) else step


def _includes(outer_step: int | range, inner_step: int | range) -> bool:
    """Return whether the elements of one step include those of another."""
    outer, inner = indices(outer_step), indices(inner_step)
    return outer.start <= inner.start and inner.stop <= outer.stop


def common_array(a: str, b: str) -> str | None:
    """Return the array in which two paths lead to different elements; None if there is none."""
    steps, other_steps = steps_of(a), steps_of(b)
    split = next((n for n, (x, y) in enumerate(zip(steps, other_steps, strict=False)) if x != y), None)
    if split is None or isinstance(steps[split], str) or isinstance(other_steps[split], str):
        return None
    return join(steps[:split])


def join(steps: Steps) -> str:
    """Return the path of some names and indices."""
    return "".join(f".{step}" if isinstance(step, str) else f"[{step}]" for step in steps).removeprefix(".")


def overlap(a: str, b: str) -> bool:
    """Return whether two paths are equal, or one leads to a part of the other."""
    return is_within(a, b) or is_within(b, a)


def are_in_other_elements(a: str, b: str) -> bool:
    """Return whether two paths lead into different elements of one array: `x[0].a` and `x[1].b`."""
    for one, other in zip(a.split("."), b.split("."), strict=False):
        if one != other:
            return one.partition("[")[0] == other.partition("[")[0]
    return False

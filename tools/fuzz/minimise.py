"""`python -m tools.fuzz.minimise FOLDER...`: undoes as much damage of a kept input as the problem does not need."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from tools.fuzz import cases, judge, seeds, trial
from tools.fuzz.inputs import Input


def smaller(differing: list[int], still: Callable[[list[int]], bool]) -> list[int]:
    """The fewest of some places, of which ever smaller runs are left out (ddmin, Zeller and Hildebrandt 2002)."""
    count = 2
    while len(differing) > 1:
        size = -(-len(differing) // count)
        for start in range(0, len(differing), size):
            rest = differing[:start] + differing[start + size :]
            if rest and still(rest):
                differing, count = rest, max(count - 1, 2)
                break
        else:
            if size == 1:
                break
            count = min(count * 2, len(differing))
    return differing


def minimise(tried: Input, whole: bytes) -> Input:
    """The input with as many bytes as in the seed's file as the first problem allows."""
    wanted = {judge.signature(problem) for problem in trial.run_alone(tried)}
    damaged = tried.data

    def with_only(places: list[int]) -> Input:
        data = bytearray(whole[: len(damaged)] + damaged[len(whole) :])
        for at in places:
            data[at] = damaged[at]
        return replace(tried, data=bytes(data))

    def still(places: list[int]) -> bool:
        return bool(wanted & {judge.signature(problem) for problem in trial.run_alone(with_only(places))})

    common = min(len(whole), len(damaged))
    differing = [at for at in range(common) if whole[at] != damaged[at]]
    return with_only(smaller(differing, still)) if differing and still(differing) else tried


def main() -> None:
    for name in sys.argv[1:]:
        folder = Path(name)
        kept = cases.load(folder)
        seed = next(seed for seed in seeds.seeds() if seed.name == kept.seed.name)
        whole = dict(seed.files)
        damaged = next((file for file, data in kept.files.items() if whole.get(file) != data), "input")
        tried = replace(kept, damaged=damaged, data=kept.files[damaged])
        less = minimise(tried, whole[damaged])
        count = sum(a != b for a, b in zip(less.data, whole[damaged], strict=False)) + abs(len(less.data) - len(whole[damaged]))
        cases.save(folder, replace(less, log=()), cases.what(folder))
        print(f"{name}: {count} bytes of {damaged} differ from the seed {seed.name}")


if __name__ == "__main__":
    main()

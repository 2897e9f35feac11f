"""Listings of a database in the cache: what changes is listed again, with few others, and the structs are the same."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time

import pytest

from layoutlint.files import accesses
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import clang
from layoutlint.readers.cache import answers, keys
from layoutlint.readers.clang import c_units, kept_listings
from tests.harness.caches import TRUSTED_AFTER
from tests.harness.command import ROOT
from tests.readers.clang.test_forms_of_definitions import write

COUNT = 48
RULE = '[[rule]]\nid = "small"\nstruct = "ring_*"\nkind = "size"\nmax = 64\nwhy = "w"\n'


@pytest.fixture
def listed(tmp_path, tmp_path_factory, monkeypatch):
    """Reads a database of COUNT units, and returns how many were listed, and the structs."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(keys, "_YOUNG", 0)
    monkeypatch.setattr(answers, "_YOUNG", int(TRUSTED_AFTER * 1e9))
    write(tmp_path, {"all.h": "struct in_all { int a; };\n", **{f"s{at}.c": source(at) for at in range(COUNT)}})
    name_units(tmp_path, range(COUNT))

    def read(*names, cache=True):
        time.sleep(2 * TRUSTED_AFTER)
        done = []
        options = ReadOptions(cache=cache, jobs=2, progress=lambda task, at, total: done.append(total) if "listing" in task else None)
        with accesses.log_answers():
            reading = clang.read("compile_commands.json", Wanted(patterns=names), options)
        return max(done, default=0), {(struct.name, struct.bit_size) for struct in reading.structs}

    return read


def source(at, size=4):
    return f'#include "all.h"\nstruct /* x */ ring_{at} {{ char a[{size}]; }};\n'


def name_units(folder, numbers):
    entries = [{"directory": str(folder), "file": f"s{at}.c", "arguments": ["gcc", "-c", f"s{at}.c"]} for at in numbers]
    write(folder, {"compile_commands.json": json.dumps(entries)})


@pytest.mark.exhaustive
def test_what_changes_is_listed_again(listed, tmp_path):
    first = listed("ring_1?", "in_none")
    assert first[0] == COUNT
    assert len(first[1]) == 10
    assert listed("ring_1?", "in_none") == (0, first[1])
    assert listed("ring_2?") == (0, {(f"ring_2{at}", 32) for at in range(10)})
    write(tmp_path, {"s15.c": source(15, 8)})
    few, structs = listed("ring_1?")
    assert structs == (first[1] - {("ring_15", 32)}) | {("ring_15", 64)}
    assert 0 < few <= 2 * kept_listings._USUAL
    write(tmp_path, {"new.c": "", f"s{COUNT}.c": source(COUNT)})
    name_units(tmp_path, [*range(30), COUNT, *range(30, COUNT)])
    few, structs = listed(f"ring_{COUNT}")
    assert structs == {(f"ring_{COUNT}", 32)}
    assert 0 < few <= 4 * kept_listings._USUAL
    write(tmp_path, {"all.h": "struct in_all { int a, b; };\n"})
    assert listed("in_al*")[1] == {("in_all", 64)} == listed("in_al*", cache=False)[1]


@pytest.mark.exhaustive
def test_few_files_are_open_at_once(tmp_path, tmp_path_factory):
    write(tmp_path, {"all.h": "", **{f"s{at}.c": source(at) for at in range(70)}, "layoutlint.toml": RULE})
    name_units(tmp_path, range(70))
    command = f'ulimit -n 40; exec "{sys.executable}" -m layoutlint check compile_commands.json'
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT), "XDG_CACHE_HOME": str(tmp_path_factory.mktemp("cache"))}
    done = subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout


def test_groups_depend_on_their_units():
    """Names decide where groups end: with those of a temporary folder, the number of changed groups is left to chance."""
    units = [c_units.unit(f"s{at}.c", (), "/src", ("/src",)) for at in range(200)]
    every = kept_listings.groups(units, 2)
    assert [unit for group in every for unit in group] == units
    assert max(map(len, every)) <= 2 * kept_listings._USUAL
    more = kept_listings.groups([*units[:100], units[0], *units[100:]], 2)
    assert len(set(every) - set(more)) <= 2
    assert len(kept_listings.groups(units[:8], 8)) == 8
    assert kept_listings.groups([], 2) == []

"""Hashes and random numbers, against what compilers and C++ libraries draw."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from layoutlint.randstruct import generators
from layoutlint.randstruct.seed import Seed

SEED = Seed("0123456789abcdef02468ace13579bdffedcba9876543210ffeeddccbbaa9988")

HASHES = [
    # tag, hash of GCC's plugin
    ("a8", 0x30707),
    ("task_struct", 0x198D3628),
    ("anonymous", 0x60FE9E71),
    ("file_operations", 0x50C00D4B),
    ("", 0),
]


@pytest.mark.parametrize(("tag", "expected"), HASHES)
def test_name_hash(tag, expected):
    assert generators.name_hash(tag) == expected


def test_first_numbers_of_gcc():
    draw = generators.gcc_stream(SEED, "a8")
    assert [draw() for _ in range(3)] == [0x85BE6A4FE2F1AFF6, 0x2AF3A2B80A8D571E, 0x42923B7BA5F11BF4]


def test_a_struct_without_a_tag_is_called_anonymous():
    assert generators.gcc_stream(SEED, None)() == generators.gcc_stream(SEED, "anonymous")()


def test_first_numbers_of_clang():
    draw = generators.clang_stream(SEED, "a8")
    assert [draw() for _ in range(4)] == [1270969158, 3589814653, 517525396, 3285939877]


PROGRAM = """
#include <algorithm>
#include <cstdio>
#include <random>
#include <string>
#include <vector>
int main()
{
	for (int length = 0; length < 40; length++)
		{
			std::string text = std::string(64, 'a') + "\\u00e9" + std::to_string(length);
			std::seed_seq sequence(text.begin(), text.end());
			std::mt19937 generator(sequence);
			std::vector<int> list;
			for (int i = 0; i < length; i++)
				list.push_back(i);
			std::shuffle(list.begin(), list.end(), generator);
			for (int i : list)
				std::printf("%d ", i);
			std::printf("%u\\n", (unsigned)generator());
		}
}
"""
LIBRARIES = [
    # flags, the same in layoutlint
    ("-stdlib=libstdc++", generators.libstdcxx_shuffle),
    ("-stdlib=libc++", generators.libcxx_shuffle),
]


@pytest.mark.parametrize(("library", "shuffle"), LIBRARIES, ids=[flag for flag, _ in LIBRARIES])
def test_shuffle_is_that_of_the_library(library, shuffle, tmp_path):
    """Orders of up to 39 elements, and the number that is drawn next."""
    compiler = shutil.which("clang++")
    if compiler is None:
        pytest.skip("clang++ is not installed")
    (tmp_path / "orders.cpp").write_text(PROGRAM)
    program = tmp_path / "orders"
    command = [compiler, library, "-o", str(program), str(tmp_path / "orders.cpp")]
    built = subprocess.run(command, capture_output=True, text=True)
    if built.returncode:
        pytest.skip(f"no C++ library for {library}: {built.stderr.splitlines()[0]}")
    lines = subprocess.run([str(program)], capture_output=True, text=True, check=True, timeout=20).stdout.splitlines()
    assert len(lines) == 40
    for length, line in enumerate(lines):
        draw = generators.clang_stream(Seed("a" * 64), f"\u00e9{length}")
        items = list(range(length))
        shuffle(items, draw)
        assert [*items, draw()] == [int(word) for word in line.split()]

"""What the table of known functions says, beside the headers of three kernels: who gets a pointer to const writes nothing."""

from __future__ import annotations

import re

import pytest

from layoutlint.sources.whole_program.known_functions import KnownFunctions

pytestmark = pytest.mark.real

DECLARED = re.compile(
    r"(?:^|\n)(?:(?:static|extern|inline|__always_inline|bool|int|unsigned|long|[us](?:8|16|32|64)|ktime_t|void|struct \w+ \*?|size_t|enum \w+) )"
    r"[\w\s*]*?\b(\w+)\(((?:[^(){};]|\([^()]*\))*)\)"
)
TO_CONST = re.compile(r"(?:(?:struct \w+ )?const\b|\w+ const \*)[^*]*\*[^*]*")
NO_CALLS = {"atomic_wr"}
"""The name of an operation of Infiniband, which finds the object around its argument; its declaration says that it reads."""


@pytest.mark.parametrize("name", ["headers", "next-headers", "newest-headers"])
def test_readers_are_no_writers(kernel, name):
    known, found, asked = KnownFunctions(), {}, 0
    for path in kernel(name).parent.rglob("*.h"):  # beside it is the part that builds share
        for function, parameters in DECLARED.findall(path.read_text(errors="replace")):
            effects = known.find(function)
            for position, parameter in enumerate(parameters.split(",")):
                if TO_CONST.fullmatch(parameter.strip()):
                    asked += 1
                    if effects is not None and effects.writes(position):
                        found[function, position] = parameter.strip()
    assert asked > 5000
    assert {function for function, _ in found} <= NO_CALLS, found

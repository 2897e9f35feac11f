"""Shares of functions in the text of `perf report`."""

from __future__ import annotations

import pytest

from layoutlint.errors import ReadError
from layoutlint.readers.profiles import functions

COPIES = "    41.20%  [k] _raw_spin_lock\n     7,05%  [.] worker.isra.0\n     1.00%  [k] worker\n"
GRAPH = """# Samples: 1K of event 'cycles'
# Children      Self  Symbol
# ........  ........  ......
    67.84%    14.47%  [.] main
            |--10.64%--worker
    10.64%    10.64%  [.] worker
"""
PROFILES = [
    # the text of a report, and the shares in percent
    ("# Overhead  Symbol\n" + COPIES, {"_raw_spin_lock": 41.2, "worker": 8.05}),
    (GRAPH, {"main": 14.47, "worker": 10.64}),
    ("# Samples: 2 of event 'a'\n    4.00%  [k] f\n# Samples: 9 of event 'b'\n    9.00%  [k] f\n    1.00%  [k] g\n", {"f": 9, "g": 1}),
    ("# Samples: 9  of events 'a, b'\n#         Overhead  Symbol\n    4.00%   9.00%  [k] f\n", {"f": 9}),
    ("# Samples: 9  of events 'a, b'\n#         Overhead  Symbol\n    9.00%   4.00%  [k] f\n", {"f": 9}),
    ("# Samples: 9  of events 'a, b'\n    9.00%   4.00%  [k] f\n", {"f": 4}),
    ("    50.50%  [k] f\n    50.50%  [k] f\n", {"f": 101}),
    ("# Overhead;     Samples;Command;Shared Object;Symbol\n 4.00% ; 12 ;box;box;[.] f\n 3.00% ; 9 ;pot;box;[.] f\n", {"f": 7}),
]


@pytest.mark.parametrize(("text", "shares"), PROFILES)
def test_a_profile_is_read(tmp_path, text, shares):
    (tmp_path / "p.txt").write_text(text)
    found = {name: 100 * share for name, share in functions.read(str(tmp_path / "p.txt")).items()}
    assert found == pytest.approx(shares)


@pytest.mark.parametrize("text", ["", "no rows\n", "12.00% function\n", "70.00%  [k] f\n 70.00%  [k] f\n", "51.00%  [k] f\n 50.01%  [k] f\n"])
def test_what_is_no_profile(tmp_path, text):
    (tmp_path / "p.txt").write_text(text)
    with pytest.raises(ReadError):
        functions.read(str(tmp_path / "p.txt"))

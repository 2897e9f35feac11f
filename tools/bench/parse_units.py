"""libclang's own parse of units, with function bodies, and nothing else: `python -m tools.bench.parse_units FILE`.

FILE has the path, flags and folder of each unit (`tools.bench.sources.parses`).
"""

from __future__ import annotations

import json
import os
import sys

from clang.cindex import Index


def main() -> None:
    """Parse each unit once."""
    with open(sys.argv[1], encoding="utf-8") as file:
        units = json.load(file)
    for path, flags, folder in units:
        os.chdir(folder)
        Index.create().parse(path, flags)


if __name__ == "__main__":
    main()

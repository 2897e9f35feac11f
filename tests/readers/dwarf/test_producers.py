"""What each compiler leaves out of each version of DWARF, as one table for review (`golden/producers.txt`)."""

from __future__ import annotations

from layoutlint.model.target import target_named
from layoutlint.readers.dwarf.producers import omissions

TEXTS = [
    *(f"GNU C11 {version}.2.0 -g" for version in (4, 6, 7, 8, 9, 12)),
    "GNU C17 12.2.0 -gstrict-dwarf", "GNU C17 12.2.0 -malign-double", "GNU C17 12.2.0 -mms-bitfields", "GNU C17 12.2.0 -mstrict-align",
    *(f"Debian clang version {version}.0.6" for version in (3, 13, 14, 15, 16, 17, 19)),
    "Apple clang version 17.0.0", "clang version 18", "Intel(R) C Compiler 19", "", "GNU C",
]  # fmt: skip


def test_omissions(golden):
    lines = []
    for text in TEXTS:
        for name in ("x86_64", "arm"):
            by_version = {version: omissions(text, version, target_named(name)) for version in (2, 4, 5)}
            output = [f"DWARF {version} {'|'.join(each.name or '' for each in left_out)}" for version, left_out in by_version.items()]
            lines.append(f"{text or 'nothing'} for {name}: {'; '.join(output)}\n")
    golden("producers.txt", "".join(lines))

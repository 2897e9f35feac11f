"""Files with structs of all forms, as several compilers describe them: `python -m tests.readers.forms` makes them anew.

Compilers of other versions make other bytes, and so other texts in `golden/`.
"""

from __future__ import annotations

import subprocess
from typing import Final

from tests.harness.command import ROOT

FOLDER: Final = ROOT / "fixtures/forms"
SOURCE: Final = "forms.c"
_GCC = "gcc -Os -gno-record-gcc-switches -ffile-prefix-map=$PWD=. -c forms.c"
_CLANG = "clang -w -Os -Qn -ffile-prefix-map=$PWD=. -c forms.c"
COMMANDS: Final = {
    "gcc-dwarf5.o": f"{_GCC} -gdwarf-5",
    "gcc-dwarf4-strict.o": f"{_GCC} -gdwarf-4 -gstrict-dwarf",
    "clang-dwarf5.o": f"{_CLANG} -gdwarf-5",
    "clang-i386.o": f"{_CLANG} -gdwarf-4 --target=i386-linux-gnu",
    "clang-s390x.o": f"{_CLANG} -gdwarf-4 --target=s390x-linux-gnu",
}
"""Shell commands in the folder with the source, each by what `-o` is given."""
BTF: Final = {"gcc.btf": "gcc-dwarf4-strict.o", "s390x.btf": "clang-s390x.o"}
"""Raw BTF that pahole makes of the objects."""

if __name__ == "__main__":
    for name, command in COMMANDS.items():
        subprocess.run(f"{command} -o {name}", shell=True, cwd=FOLDER, check=True)
    for name, source in BTF.items():
        subprocess.run(["pahole", f"--btf_encode_detached={name}", source], cwd=FOLDER, check=True)

"""What others call the machines of TARGETS: compilers in triples, Linux and its distributions."""

from __future__ import annotations

from collections.abc import Iterable

from layoutlint.toml_table import one_of

TRIPLES = {
    "amd64": "x86_64", "x64": "x86_64", "arm64": "aarch64", "arm64_be": "aarch64_be", "armebv7": "armeb",
    "ppc64le": "powerpc64le", "ppc64": "powerpc64", "ppc": "powerpc", "sparcv9": "sparc64",
    "systemz": "s390x",
}  # fmt: skip
"""Architectures of target triples that go by another name in TARGETS."""
# Folders below arch/ of Linux, architectures of Debian (dpkg-architecture -L), and usual spellings.
_ELSEWHERE = {
    "x86": ("x86_64", "i386"), "x86-64": ("x86_64",), "x86_32": ("i386",), "ia32": ("i386",),
    "i486": ("i386",), "i586": ("i386",), "i686": ("i386",), "armhf": ("arm",), "armel": ("arm",),
    "armv7": ("arm",), "armv7l": ("arm",), "armv8": ("aarch64",), "ppc64el": ("powerpc64le",),
    "s390": ("s390x",), "riscv": ("riscv64", "riscv32"), "loong64": ("loongarch64",),
    "loongarch": ("loongarch64",), "sparc": ("sparc64",),
}  # fmt: skip


def meant(name: str, names: Iterable[str]) -> str:
    """What to add to a message on a name that is none of `names`: what the machine is called here, if known,
    else the nearest name."""
    known = tuple(names)
    called = [TRIPLES[name]] if name in TRIPLES else _ELSEWHERE.get(name, ())
    here = [f"`{one}`" for one in called if one in known]
    return f" (it is called {' or '.join(here)} here)" if here else one_of(name, known)

"""What is read of releases, configurations and System.map, and where they are looked for, without files of kernels.

The texts in `golden/` are for review: `pytest --rewrite-goldens` writes them.
"""

from __future__ import annotations

import gzip
from types import SimpleNamespace
from typing import Any

import pytest

from layoutlint.model.reading import Reading
from layoutlint.readers.elf.headers import Section
from layoutlint.readers.elf.span import Span
from layoutlint.readers.linux import config, system_map, version
from layoutlint.readers.linux.version import Release
from layoutlint.readers.modules import find
from tests.harness.build import X86_64
from tests.readers.linux.test_config import COMPILER, WHOLE
from tests.readers.linux.test_config import config as config_text

TEXTS = [
    # what is behind "Linux version " or "vermagic="
    "6.1.0-50-amd64 (a@b) (gcc-12) #1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-07-02)", "6.1.0-50-amd64 (a@b) (gcc-12) #1 SMP Debian 6.1-1", "6.1.0-50-amd64", "6.1.0-5", "6.1.0-x", "6.1.1-50-amd64 (a@b) #1 SMP Debian 6.1.9",
    "6.1.0-50-amd64 (a) (b) #1 SMP Debian 6.1.176-1 6.1.177", "6.1", "6.1-rc1", "6", "x6.1.2", "6.1.2.3", "6.12345.1", "6.1.12345", "12345.6.1", "6.1.2 #1 PREEMPT SMP RT x", "6.1.2 # PREEMPT_RT Mon", "6.1.2 (a) #1 a b SMP", "6.1.2 (a) #1 a b c SMP",
    "6.1.2 (a) (b)#1 SMP", "6.1.2 (a) (b) #1 SMP", "6.1.2  (a)\n", "6.1.2 SMP preempt mod_unload modversions ", "6.1.2 SMP preempt_rt ", "6.1.2 mod_unload", "6.1.0-50-amd64 SMP mod_unload modversions 6.1.7", "",
]  # fmt: skip
PATHS = [
    "/boot/vmlinux-6.1", "/boot/vmlinuz-6.1", "/usr/lib/debug/boot/vmlinux-6.1", "/usr/lib/debug/lib/modules/6.1/vmlinux", "/lib/modules/6.1/kernel/a.ko", "/usr/lib/modules/6.1/kernel/a.ko", "/x/usr/lib/debug/usr/lib/modules/6.1/vmlinux",
    "/x/lib/modules/6.1/build/vmlinux", "/x/boot/boot/vmlinux", "/src/linux/vmlinux", "/src/linux/vmlinux.o", "/src/linux/drivers/a.ko", "/sys/kernel/btf/vmlinux", "/sys/kernel/btf/a", "/lib/modules/6.1/lib/modules/6.2/a.ko",
]  # fmt: skip


def show(release: Release | None) -> str:
    return "-" if release is None else f"{release.name} {release.version} {sorted(release.options)} {release.banner!r}"


def test_releases(golden):
    lines = [f"{text!r}: {version.release_version(text)}; {show(version._parse_banner(text))}; {show(version._parse_vermagic(text))}" for text in TEXTS]
    golden("releases.txt", "".join(f"{line}\n" for line in lines))


def test_places(golden):
    """Where the configuration and the System.map of a kernel can be, and the vmlinux of modules."""
    lines: list[str] = []
    for path in PATHS:
        lines += [path, f"  root {config._root(path)}"]
        lines += [f"  {place}" for release in ("6.1", "a/b") for place in config._places(path, release)]
        lines += [f"  map {place}" for place in system_map._places(path, "6.1")]
        release = find._release(path)
        lines += [f"  release {release}", *(f"  vmlinux {place}" for place in find._places("/a/b/c", release)), *(f"  image {place}" for place in find._image_places("/a/b/c", release))]
    golden("places.txt", "".join(f"{line}\n" for line in lines))


def image_of(**sections: bytes) -> Any:
    """Sections by name, each in the middle of other bytes."""
    spans = {f".{name}": Span(b"xy" + text + b"zz", 2, 2 + len(text)) for name, text in sections.items()}
    return SimpleNamespace(span=lambda name: spans.get(name, Span(b"", 0, 0)))


FORMAT = b"Linux version %s (%s)\0"
RELEASES = [
    # sections, the release
    ({"rodata": b"Linux version 6.1.2 (a)\0"}, "6.1.2"), ({"modinfo": b"license=GPL\0vermagic=6.1.3 SMP\0"}, "6.1.3"), ({"modinfo": b"vermagic=6.1.3 \0", "rodata": b"Linux version 6.1.2\0"}, "6.1.3"),
    ({"modinfo": b"vermagic=x\0vermagic=6.1.4 \0"}, "6.1.4"), ({"modinfo": b"vermagic=x\0", "rodata": b"Linux version 6.1.2\0"}, "6.1.2"), ({"rodata": FORMAT * 15 + b"Linux version 6.1.2\0"}, "6.1.2"),
    ({"rodata": FORMAT * 16 + b"Linux version 6.1.2\0"}, None), ({"rodata": b"vermagic=6.1.3 \0"}, None), ({"rodata": b""}, None), ({}, None), ({"rodata": b"Linux version 6.1"}, "6.1"),
    ({"rodata": b"Linux version " + b"6" * 4 + b".1"}, "6666.1"), ({"rodata": b"Linux version 6.1.2-" + b"a" * 600}, f"6.1.2-{'a' * 506}"), ({"rodata": b"Linux versionLinux version 6.1.2\0"}, "6.1.2"),
]  # fmt: skip


@pytest.mark.parametrize(("sections", "name"), RELEASES)
def test_banners_in_sections(sections, name):
    found = version.image_release(image_of(**sections))
    assert (found and found.name) == name


BUILT = Release("6.1.176-rt", (6, 1, 176), frozenset(("SMP", "!PREEMPT_RT")), f"6.1.176-rt (a@b) ({COMPILER}) #1 SMP")
SHORT = Release("6.1.0-50-rt", (6, 1), frozenset(), "")
FITS = [
    # a configuration, a release, why it does not fit
    (WHOLE, None, None), (WHOLE, BUILT, None), (WHOLE, SHORT, None), (config_text("6.1"), BUILT, "it is of Linux 6.1, and the banner says 6.1.176"), (config_text("6.2.176"), SHORT, "it is of Linux 6.2.176, and the banner says 6.1"),
    (config_text("6.1.176", "CONFIG_SMP=y", local="-rt"), BUILT, None), (config_text("6.1.176", "CONFIG_SMP=y", local="-xx"), BUILT, "its CONFIG_LOCALVERSION is -xx, and the release 6.1.176-rt"),
    (config_text("6.1.176", "CONFIG_SMP=y", compiler="clang"), BUILT, "it is for clang, which the banner does not name"), (config_text("6.1.176", compiler="clang"), SHORT, None),
    (config_text("6.1.176", "CONFIG_SMP=y", "CONFIG_PREEMPT_RT=y"), BUILT, "the banner says no PREEMPT_RT, and it does not"), (config_text("6.1.176", "CONFIG_PREEMPT_RT=y"), BUILT, "the banner says no PREEMPT_RT, and it does not"),
    (config_text("6.1.176", "CONFIG_SMP=m"), BUILT, None), (config_text("6.1.176", "CONFIG_SMP=n"), BUILT, "the banner says SMP, and it does not"), (WHOLE[:-1], None, "it is truncated"), (WHOLE.replace("end of Kernel hacking", "end of x"), None, "it is truncated"),
    (WHOLE.replace("# end of Kernel hacking\n", ""), None, None), ("#\n" * 2000 + WHOLE, None, None), ("#\n" * 2047 + WHOLE, None, "it has no line `# Linux/ARCH VERSION Kernel Configuration`"), ("", None, "it has no line `# Linux/ARCH VERSION Kernel Configuration`"),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(FITS)))
def test_configurations_that_fit(number):
    text, release, reason = FITS[number]
    assert config._misfit(text, release) == reason


PACKED = gzip.compress(WHOLE.encode())
IKCONFIGS = [
    # the section, the release, whether there is a configuration, and notes
    (b"IKCFG_ST" + PACKED + b"IKCFG_ED", None, True, ["its configuration comes from its IKCONFIG"]), (b"a" * 99 + b"IKCFG_ST" + PACKED, BUILT, True, ["its configuration comes from its IKCONFIG"]),
    (b"IKCFG_ST" + PACKED[:-9], None, False, ["its IKCONFIG cannot be decompressed: it is truncated, or larger than 16 MB"]), (b"IKCFG_ST" + gzip.compress(b"x\n"), None, False, ["its IKCONFIG is not its configuration: it has no line `# Linux/ARCH VERSION Kernel Configuration`"]),
    (b"IKCFG_SX" + PACKED, None, False, []), (b"", BUILT, False, []), (None, None, False, []),
]  # fmt: skip


@pytest.mark.parametrize("number", range(len(IKCONFIGS)))
def test_configurations_in_kernels(number):
    section, release, has_config, notes = IKCONFIGS[number]
    before = Reading("/no/where/x.ko", "dwarf", X86_64, (), kernel=(5, 4), notes=("first",))
    found = config.with_release(before, release, None if section is None else image_of(rodata=section))
    assert (found.config is not None, list(found.notes)) == (has_config, ["first", *notes])
    assert (found.kernel, found.options) == ((release.version, release.options) if release else ((5, 4), frozenset()))


def test_bytes_at_addresses():
    """Of the section that has all of them, and has content."""
    sections = [Section(name, 1, 2, 0, 16, 0, 0, address, 1, 0) for name, address in (("", 0), (".a", 1000), (".bss", 1016), (".b", 1032))]
    image: Any = SimpleNamespace(headers=sections, holds_content=lambda header: header.name != ".bss", raw=lambda header: memoryview(bytes(range(header.address % 1000, header.address % 1000 + 16))))
    found = {(at, size): system_map._bytes_at(image, at, size) for at in (0, 4, 999, 1000, 1001, 1012, 1013, 1016, 1032, 1044, 1045, 1048) for size in (1, 4)}
    expected = {(at, size): bytes(range(at - 1000, at - 1000 + size)) for at, size in found if any(low <= at and at + size <= low + 16 for low in (1000, 1032))}
    assert {key: each for key, each in found.items() if each} == expected


def test_symbols_of_data():
    content = b"0000000000001000 T code\n0000000000002000 D data\nffffffff81000000 r read\n00000000 b short\n0000 B no\n00000000000030000 B long\n0000000000003000 W weak\n0000000000004000 A absolute\n0000000000005000 d __x\xff\n"
    assert list(system_map._data_symbols(content)) == [(0x2000, "data"), (0xFFFFFFFF81000000, "read"), (0, "short"), (0x5000, "__x�")]

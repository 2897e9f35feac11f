"""Which Linux an input is: from files that say it where the kernel's own do."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from layoutlint.readers.linux import version as linux_version
from tests.readers.elf.test_elf import build, tool

RING = "struct ring { long head; } ring;\n"
MODINFO = '__attribute__((section(".modinfo"), used)) static const char told[] = "license=GPL\\0%s";\n'
BANNER = '__attribute__((used)) const char banner[] = "%s";\n'
FORMAT = '__attribute__((used)) const char format[] = "Linux version %%s (%%s)";\n'

FILES = [
    # what it is, C, version
    ("vmlinux", MODINFO % "a=b" + BANNER % "Linux version 6.12.107+deb13-cloud-amd64 (a@b) (gcc-14) #1 SMP", (6, 12, 107)),
    ("behind a format", MODINFO % "a=b" + FORMAT + BANNER % "Linux version 7.2.0-rc1 (a@b)", (7, 2, 0)),
    ("two numbers", MODINFO % "a=b" + BANNER % "Linux version 6.8-generic", (6, 8, 0)),
    ("module", MODINFO % "vermagic=6.1.55 SMP preempt mod_unload", (6, 1, 55)),
    ("says nothing", MODINFO % "a=b" + BANNER % "Linux, version 6.1", None),
    ("no number", MODINFO % "vermagic=none", None),
    ("too long a number", MODINFO % "vermagic=6.12345", None),
    ("no kernel", BANNER % "Linux version 6.12.107", None),
]


RELEASES = [
    # the banner behind "Linux version ", the version, what it states of the configuration
    ("6.1.0-50-cloud-amd64 (a@b) (gcc-12 (Debian 12.2.0-14) 12.2.0) #1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-07-02)",
     (6, 1, 176), {"SMP", "PREEMPT_DYNAMIC", "!PREEMPT_RT"}),
    ("6.1.0-50-cloud-amd64 (a@b) (gcc-12 (Debian 12.2.0-14) 12.2.0) # SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-07-02)",
     (6, 1, 176), {"SMP", "PREEMPT_DYNAMIC", "!PREEMPT_RT"}),
    ("6.1.0-50-rt-amd64 (a@b) (gcc-12) #1 SMP PREEMPT_RT Debian 6.1.176-1 (2026-07-02)", (6, 1, 176), {"SMP", "PREEMPT_RT"}),
    ("6.8.0-31-generic (buildd@x) (gcc 13) #31-Ubuntu SMP PREEMPT_DYNAMIC Sat Apr 20 00:40:06 UTC 2024",
     (6, 8), {"SMP", "PREEMPT_DYNAMIC", "!PREEMPT_RT"}),
    ("5.14.0-427.13.1.el9_4.x86_64 (mock@x) (gcc 11) #1 SMP PREEMPT_DYNAMIC Wed May 1", (5, 14), {"SMP", "PREEMPT_DYNAMIC", "!PREEMPT_RT"}),
    ("6.12.107+deb13-amd64 (a@b) (gcc-14) #1 SMP Debian 6.12.107-1 (2026-08-29)", (6, 12, 107), {"SMP", "!PREEMPT_RT"}),
    ("6.6.0 (a@b) (gcc 13) #2 Mon Oct 30 10:00:00 UTC 2023", (6, 6, 0), {"!SMP", "!PREEMPT_RT"}),
    ("4.14.90-rt50 (a@b) (gcc 6) #1 SMP PREEMPT RT Mon", (4, 14, 90), {"SMP", "PREEMPT_RT"}),
    ("6.1.0-rc3 (a@b) (gcc 13)", (6, 1, 0), set()),
    ("6.1.0-50-amd64 (a@b) (gcc-12) #1 SMP Debian 6.2.5-1", (6, 1), {"SMP", "!PREEMPT_RT"}),
]


@pytest.mark.parametrize(("banner", "version", "options"), RELEASES)
def test_banners(banner, version, options):
    found = linux_version._parse_banner(banner)
    assert (found.version, found.options) == (version, options)


def test_a_module_of_a_distribution_states_two_numbers():
    found = linux_version._parse_vermagic("6.1.0-50-amd64 SMP preempt mod_unload modversions ")
    assert (found.name, found.version) == ("6.1.0-50-amd64", (6, 1))
    assert found.options == {"SMP", "!PREEMPT_RT", "MODULE_UNLOAD", "MODVERSIONS"}


def version(path: object) -> tuple[int, ...] | None:
    return dispatch.read(str(path), Wanted(frozenset({"ring"})), ReadOptions()).kernel


@pytest.mark.parametrize(("text", "expected"), [case[1:] for case in FILES], ids=[case[0] for case in FILES])
def test_files(tmp_path, text, expected):
    path = build(tmp_path, "-c", "-fno-toplevel-reorder", text=RING + text)
    assert version(path) == expected


def test_debug_information_alone_does_not_tell(tmp_path):
    path = build(tmp_path, "-c", text=RING + MODINFO % "a=b" + BANNER % "Linux version 6.8.1 (a@b)")
    subprocess.run([tool("objcopy"), "--only-keep-debug", path, f"{path}.debug"], check=True)
    assert (version(path), version(f"{path}.debug")) == ((6, 8, 1), None)


def test_the_running_kernel():
    path = Path("/sys/kernel/btf/vmlinux")
    if not path.exists():
        pytest.skip("the running kernel does not show its types")
    assert version(path) == linux_version.release_version(os.uname().release)


def test_btf_of_elsewhere_does_not_tell(tmp_path):
    path = Path("/sys/kernel/btf/vmlinux")
    if not path.exists():
        pytest.skip("the running kernel does not show its types")
    copy = tmp_path / "vmlinux"
    copy.write_bytes(path.read_bytes())
    assert version(copy) is None

"""Which configuration a vmlinux has: its own IKCONFIG, a file of its package or build, or none that fits."""

from __future__ import annotations

import gzip
import subprocess
from pathlib import Path

import pytest

from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from tests.readers.elf.test_elf import build, tool
from tests.readers.linux.test_version import BANNER, MODINFO, RING

COMPILER = "gcc-12 (Debian 12.2.0-14+deb12u1) 12.2.0"
DEBIAN = f"Linux version 6.1.0-50-amd64 (a@b) ({COMPILER}, GNU ld 2.40) #1 SMP PREEMPT_DYNAMIC Debian 6.1.176-1 (2026-07-02)"
RELEASE = "6.1.0-50-amd64"


def config(version: str = "6.1.176", *options: str, compiler: str = COMPILER, local: str = "") -> str:
    """A configuration as Kconfig writes one (scripts/kconfig/confdata.c)."""
    lines = [
        "#", "# Automatically generated file; DO NOT EDIT.", f"# Linux/x86 {version} Kernel Configuration", "#",
        f'CONFIG_CC_VERSION_TEXT="{compiler}"', f'CONFIG_LOCALVERSION="{local}"', *options,
        "# CONFIG_NUMA is not set", "# end of Kernel hacking", "CONFIG_IO_URING_ZCRX=y",
    ]  # fmt: skip
    return "\n".join(lines) + "\n"


WHOLE = config("6.1.176", "CONFIG_SMP=y", "CONFIG_PREEMPT_DYNAMIC=y", "CONFIG_XFS_FS=m")
ON = frozenset(("SMP", "PREEMPT_DYNAMIC", "XFS_FS", "IO_URING_ZCRX"))


def vmlinux(folder: Path, banner: str = DEBIAN, name: str = "vmlinux") -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    made = build(folder, "-c", "-fno-toplevel-reorder", text=RING + MODINFO % "a=b" + BANNER % banner)
    Path(made).rename(path)
    return path


def reading(path: Path) -> Reading:
    return dispatch.read(str(path), Wanted(frozenset({"ring"})), ReadOptions())


PLACES = [
    # where vmlinux is, where its configuration is
    ("boot/vmlinux-" + RELEASE, "boot/config-" + RELEASE),
    ("usr/lib/debug/boot/vmlinux-" + RELEASE, "boot/config-" + RELEASE),
    ("usr/lib/debug/boot/vmlinux-" + RELEASE, f"usr/src/linux-headers-{RELEASE}/.config"),
    (f"usr/lib/debug/lib/modules/{RELEASE}/vmlinux", f"lib/modules/{RELEASE}/config"),
    (f"lib/modules/{RELEASE}/build/vmlinux", f"lib/modules/{RELEASE}/build/.config"),
    ("linux/vmlinux", "linux/.config"),
    ("linux/vmlinux", "linux/include/config/auto.conf"),
    ("unpacked/vmlinux", "unpacked/config-" + RELEASE),
]


@pytest.mark.parametrize(("kernel", "place"), PLACES)
def test_a_configuration_of_its_package_or_build_counts(tmp_path, kernel, place):
    path = vmlinux((tmp_path / kernel).parent, name=Path(kernel).name)
    (tmp_path / place).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / place).write_text(WHOLE)
    found = reading(path)
    assert (found.config, found.kernel) == (ON, (6, 1, 176))
    assert found.notes == (f"its configuration comes from {tmp_path / place}",)


OTHERS = [
    # what is wrong with it, name, text, why it does not count (None: it is not looked at)
    ("another version", "config-" + RELEASE, config("6.1.170", "CONFIG_SMP=y"), "it is of Linux 6.1.170, and the banner says 6.1.176"),
    ("another series", "config-" + RELEASE, config("6.12.1", "CONFIG_SMP=y"), "it is of Linux 6.12.1, and the banner says 6.1.176"),
    ("another release's name", "config-6.1.0-49-amd64", WHOLE, None),
    ("another compiler", "config-" + RELEASE, config("6.1.176", "CONFIG_SMP=y", compiler="clang version 16"), "it is for clang version 16, which the banner does not name"),
    ("another flavour", "config-" + RELEASE, config("6.1.176", "CONFIG_SMP=y", local="-rt"), f"its CONFIG_LOCALVERSION is -rt, and the release {RELEASE}"),
    ("without SMP", "config-" + RELEASE, config("6.1.176", "CONFIG_PREEMPT_DYNAMIC=y"), "the banner says SMP, and it does not"),
    ("truncated", "config-" + RELEASE, WHOLE[:-20], "it is truncated"),
    ("truncated at a line", "config-" + RELEASE, WHOLE.partition("# end of K")[0] + "# end of x\n# y\n", "it is truncated"),
    ("no configuration", "config-" + RELEASE, "CONFIG_SMP=y\n", "it has no line `# Linux/ARCH VERSION Kernel Configuration`"),
]


@pytest.mark.parametrize(("name", "text", "reason"), [case[1:] for case in OTHERS], ids=[case[0] for case in OTHERS])
def test_another_builds_configuration_does_not_count(tmp_path, name, text, reason):
    (tmp_path / name).write_text(text)
    found = reading(vmlinux(tmp_path))
    assert found.config is None
    assert found.notes == (() if reason is None else (f"{tmp_path / name} is not its configuration: {reason}",))


def with_ikconfig(tmp_path: Path, content: bytes) -> Path:
    """A vmlinux as kernel/configs.c makes one."""
    tool("gcc")
    (tmp_path / "config_data.gz").write_bytes(content)
    text = '.section .rodata, "a"\n.ascii "IKCFG_ST"\n.incbin "config_data.gz"\n.ascii "IKCFG_ED"\n'
    (tmp_path / "configs.s").write_text(text)
    path = vmlinux(tmp_path)
    subprocess.run(["gcc", "-r", "-nostdlib", path.name, "configs.s", "-o", "linked"], cwd=tmp_path, check=True)
    return tmp_path / "linked"


def test_what_vmlinux_carries_itself_counts_before_files(tmp_path):
    (tmp_path / f"config-{RELEASE}").write_text(config("6.1.176", "CONFIG_SMP=y", "CONFIG_PREEMPT_DYNAMIC=y"))
    found = reading(with_ikconfig(tmp_path, gzip.compress(WHOLE.encode())))
    assert found.config == ON
    assert found.notes == ("its configuration comes from its IKCONFIG",)


@pytest.mark.parametrize("content", [gzip.compress(WHOLE.encode())[:-30], gzip.compress(bytes(1 << 25)), b"\x1f\x8b\x00 damaged"])
def test_a_damaged_ikconfig_is_noted(tmp_path, content):
    found = reading(with_ikconfig(tmp_path, content))
    assert found.config is None
    assert found.notes[0].startswith("its IKCONFIG cannot be decompressed: ")


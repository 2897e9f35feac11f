"""Where no kernel can be had the reason is told, and nothing is taken for one that is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.real import kernels

EMPTY = "/nonexistent"
REASONS = [
    # environment, why there is no kernel
    ({"LAYOUTLINT_OFFLINE": "1"}, "not downloaded yet, and LAYOUTLINT_OFFLINE is set"),
    ({"PATH": EMPTY}, "this machine has no apt-get, apt-cache, dpkg-deb, tar to get it with"),
]


@pytest.fixture(autouse=True)
def empty_home(tmp_path, monkeypatch):
    monkeypatch.delenv("LAYOUTLINT_OFFLINE", raising=False)
    monkeypatch.setenv("LAYOUTLINT_KERNELS", str(tmp_path))


@pytest.mark.parametrize(("environment", "reason"), REASONS, ids=["offline", "no apt"])
@pytest.mark.parametrize("name", list(kernels.KERNELS))
def test_reasons(name, environment, reason, monkeypatch):
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(kernels.Unavailable) as raised:
        kernels.fetch(name)
    assert str(raised.value) == f"kernel {name}: {reason}"


HERE = [
    # name, what is on disk, what is found
    ("cloud", "usr/lib/debug/boot/vmlinux-6.1.0-9-cloud-amd64", True),
    ("newest", "usr/lib/debug/vmlinux-7.2.13+deb14-cloud-amd64", True),
    ("newest", "usr/lib/debug/boot/System.map-7.2.13", False),
    ("headers", "usr/src/linux-headers-6.1.0-9-amd64", True),
    ("headers", "usr/src/linux-headers-6.1.0-9-common", False),
]


@pytest.mark.parametrize(("name", "path", "is_found"), HERE)
def test_what_is_here_is_found(name, path, is_found, tmp_path):
    at = tmp_path / name / path
    at.mkdir(parents=True)
    assert kernels.find_kernel(name) == (at if is_found else None)


def test_a_link_to_nothing_is_no_kernel(tmp_path):
    boot = tmp_path / "newest/usr/lib/debug/boot"
    boot.mkdir(parents=True)
    (boot / "vmlinux-7.2").symlink_to("../lib/modules/7.2/vmlinux")
    assert kernels.find_kernel("newest") is None


def test_versions():
    assert kernels.version(Path("boot/vmlinux-6.12.107+deb13-cloud-amd64")) == (6, 12)
    assert kernels.version(Path("src/linux-headers-7.2.13+deb14-cloud-amd64")) == (7, 2)


def test_the_command_line(capsys, monkeypatch):
    monkeypatch.setenv("LAYOUTLINT_OFFLINE", "1")
    assert [kernels.main(words) for words in (["list"], ["path", "next"], ["fetch", "next"], ["fetch", "nxt"], [])] == [0, 1, 1, 2, 2]
    printed = capsys.readouterr()
    assert printed.out.split() == [*kernels.KERNELS, *kernels.PROJECTS]
    assert "no kernel named nxt" in printed.err

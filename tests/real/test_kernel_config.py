"""A distribution's vmlinux has the configuration that its package leaves in /boot: that of the header package."""

from __future__ import annotations

import os
import shutil

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch

pytestmark = pytest.mark.real
RELEASES = [("next", "next-headers"), ("newest", "newest-headers")]


@pytest.mark.parametrize(("image", "headers"), RELEASES)
def test_a_package_and_its_headers_state_the_same(tmp_path, kernel, image, headers):
    vmlinux, tree = kernel(image), kernel(headers)
    release = vmlinux.name.removeprefix("vmlinux-")
    if tree.name != f"linux-headers-{release}":
        pytest.skip(f"{vmlinux.name} and {tree.name} are of different releases")
    debug, boot = tmp_path / "usr/lib/debug/boot", tmp_path / "boot"
    debug.mkdir(parents=True)
    boot.mkdir()
    try:
        os.link(vmlinux.resolve(), debug / vmlinux.name)
    except OSError:
        shutil.copy(vmlinux, debug / vmlinux.name)
    shutil.copy(tree / ".config", boot / f"config-{release}")
    built = dispatch.read(str(debug / vmlinux.name), Wanted(frozenset({"list_head"})), ReadOptions())
    wanted = Wanted(frozenset({"list_head"}), headers=(("list_head", "linux/types.h"),))
    source = dispatch.read(str(tree), wanted, ReadOptions())
    assert (built.config, built.kernel) == (source.config, source.kernel)
    assert f"its configuration comes from {boot / f'config-{release}'}" in built.notes
    assert {option for option in built.options if not option.startswith("!")} <= built.config

"""The modules of the real kernels, as Debian's images have them: stripped, with split BTF, from 6.12 on in .ko.xz."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

from tests.real import kernels
from tests.real.kernels import KERNELS, Unavailable


def fetch(name: str) -> tuple[Path, Path]:
    """The vmlinux of a kernel and the folder of its modules; raises Unavailable with the reason.

    The package of the image (about 35 MB) is unpacked beside the kernel once.
    """
    vmlinux = kernels.fetch(name)
    release = vmlinux.name.removeprefix("vmlinux-")
    root = kernels.home() / f"{name}-modules"
    if _folder(root, release) is None:
        shutil.rmtree(root, ignore_errors=True)
        partial = root.with_suffix(f".{os.getpid()}")
        try:
            kernels.unpack(KERNELS[name].release, (f"linux-image-{release}",), partial)
            partial.rename(root)
        finally:
            shutil.rmtree(partial, ignore_errors=True)
    folder = _folder(root, release)
    if folder is None:
        raise Unavailable(f"modules of kernel {name}: its package holds none for {release}")
    return vmlinux, folder


def _folder(root: Path, release: str) -> Path | None:
    places = (root / "usr/lib/modules" / release, root / "lib/modules" / release)
    return next((place for place in places if place.is_dir()), None)

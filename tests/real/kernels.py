"""Real Linux kernels and a few other projects for the tests, from Debian's packages, by package name.

    python -m tests.real.kernels fetch NAME...   download and unpack; prints NAME and its path
    python -m tests.real.kernels path NAME       the path alone, if it is already here (exit 1 if not)
    python -m tests.real.kernels list            the names

Everything lands under $LAYOUTLINT_KERNELS (default ~/.cache/layoutlint-kernels) and is kept between runs. apt does
the work, with lists and caches of its own there, so that nothing of the machine changes and no privilege is needed.
The mirror is the machine's own; where that is not Debian's, $LAYOUTLINT_DEBIAN_MIRROR names one.
With $LAYOUTLINT_OFFLINE set nothing is downloaded.
"""

from __future__ import annotations

import fcntl
import mmap
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
TOOLS = ("apt-get", "apt-cache", "dpkg-deb", "tar")
DOWNLOAD_SECONDS = 1800
SOURCES = ("Makefile", "include", "arch/x86/include", "mm", "scripts/Kbuild.include", "kernel/bounds.c")
"""What is unpacked of a source tree: all that the structs of mm/ need, and no gigabyte more."""


class Unavailable(Exception):
    """A kernel that cannot be had on this machine, and why."""


@dataclass(frozen=True, slots=True)
class Kernel:
    """One kernel: the release of Debian that has it, and the package that depends on its current version."""

    name: str
    release: str
    meta: str
    architecture: str = "amd64"
    """Debian's name of it."""

    @property
    def is_headers(self) -> bool:
        """Whether it is a configured header tree and not a vmlinux."""
        return self.meta.startswith("linux-headers")

    @property
    def is_source(self) -> bool:
        """Whether it is a source tree, which is not configured."""
        return self.meta.startswith("linux-source")


KERNELS = {
    kernel.name: kernel
    for kernel in (
        Kernel("cloud", "bookworm", "linux-image-cloud-amd64-dbg"),  # 6.1, DWARF 5 and BTF
        Kernel("headers", "bookworm", "linux-headers-amd64"),
        Kernel("source", "bookworm", "linux-source-6.1"),
        Kernel("armhf", "bookworm", "linux-image-armmp-dbg", "armhf"),  # 6.1, 32 bits
        Kernel("next", "trixie", "linux-image-cloud-amd64-dbg"),  # 6.12
        Kernel("next-arm64", "trixie", "linux-image-cloud-arm64-dbg", "arm64"),
        Kernel("next-headers", "trixie", "linux-headers-cloud-amd64"),
        Kernel("newest", "sid", "linux-image-cloud-amd64-dbg"),  # 7.x, with Rust
        Kernel("newest-headers", "sid", "linux-headers-cloud-amd64"),
    )
}

PROJECTS = ("memcached", "valkey")
"""Packages of which the source is wanted."""

MEASURED = {"bookworm": "6.1.176", "trixie": "6.12.117", "sid": "7.2.13"}
"""The stable versions whose figures tests, documents and fixtures have, by release of Debian: backports move fields."""


def home() -> Path:
    """The folder that keeps the kernels."""
    output = os.environ.get("LAYOUTLINT_KERNELS")
    return Path(output) if output else Path.home() / ".cache" / "layoutlint-kernels"


def find_kernel(name: str) -> Path | None:
    """Where a kernel already is: its vmlinux, the configured part of its header tree, or its sources."""
    root = home() / name
    if KERNELS[name].is_source:
        places = sorted(root.glob("usr/src/linux-source-*/"))
    elif KERNELS[name].is_headers:
        places = sorted(root.glob("usr/src/linux-headers-*64"))
    else:
        debug = root / "usr/lib/debug"
        places = sorted(debug.glob("boot/vmlinux-*")) + sorted(debug.glob("vmlinux-*"))
    return next((place for place in places if place.exists()), None)


def fetch(name: str) -> Path:
    """The path of a kernel, downloaded when it is not here yet; raises Unavailable with the reason."""
    kernel = KERNELS[name]
    at = find_kernel(name)
    if at is not None:
        return at
    _require_tools(f"kernel {name}")
    try:
        with _lock(name):
            if find_kernel(name) is None:
                _unpack(kernel)
    except OSError as error:
        raise Unavailable(f"kernel {name}: {error}") from error
    at = find_kernel(name)
    if at is None:
        raise Unavailable(f"kernel {name}: its packages hold no vmlinux, header tree or sources")
    return at


def version(at: Path) -> tuple[int, int]:
    """The first two numbers of the kernel at a path that `fetch` gave, from its file name."""
    numbers = re.search(r"-(\d+)\.(\d+)", at.name)
    if numbers is None:
        raise ValueError(f"{at.name} names no kernel version")
    return int(numbers[1]), int(numbers[2])


def release(at: Path) -> str:
    """The stable version of a kernel at a path that `fetch` gave, as 6.1.176; raises ValueError where there is none.

    A header tree states it for the compiler, a vmlinux in Debian's part of its banner.
    """
    if at.is_dir():
        text = (at / "include/generated/uapi/linux/version.h").read_text()
        return ".".join(re.findall(r"LINUX_VERSION_(?:MAJOR|PATCHLEVEL|SUBLEVEL) (\d+)", text))
    with at.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as whole:
        banner = re.search(rb"Linux version [^\n]* Debian (\d+\.\d+\.\d+)-", whole)
        if banner is None:
            raise ValueError(f"{at.name} has no banner of Debian")
        return banner[1].decode()


def unpack(release: str, packages: tuple[str, ...], root: Path, architecture: str = "amd64") -> None:
    """Packages of one of Debian's releases under a folder, installed nowhere; raises Unavailable with the reason."""
    _require_tools(packages[0])
    options = _apt_options(release, architecture)
    root.mkdir(parents=True, exist_ok=True)
    with _lock(f"apt-{release}-{architecture}"), tempfile.TemporaryDirectory(prefix="unpack.", dir=home()) as into:
        _run(["apt-get", *options, "-o", "APT::Update::Error-Mode=any", "update", "-qq"], packages[0])
        _run(["apt-get", *options, "download", "-qq", *packages], packages[0], cwd=into)
        for package in sorted(Path(into).glob("*.deb")):
            _run(["dpkg-deb", "-x", str(package), str(root)], packages[0])


def fetch_source(package: str, release: str = "trixie") -> Path:
    """The folder of a package's own source, as its authors released it; raises Unavailable with the reason."""
    folder = find_source(package)
    if folder is not None:
        return folder
    _require_tools(package)
    options = _apt_options(release, form="deb-src")
    with _lock(f"apt-{release}-source"), tempfile.TemporaryDirectory(prefix="unpack.", dir=home()) as into:
        _run(["apt-get", *options, "-o", "APT::Update::Error-Mode=any", "update", "-qq"], package)
        _run(["apt-get", *options, "source", "-qq", "--download-only", "--tar-only", package], package, cwd=into)
        root = Path(into, "root")
        root.mkdir()
        for packed in Path(into).glob("*.orig.tar.*"):
            _run(["tar", "-xf", str(packed), "-C", str(root), "--strip-components=1"], package)
        root.rename(_source_folder(package))
    return _source_folder(package)


def find_source(package: str) -> Path | None:
    """Where the source of a package already is."""
    folder = _source_folder(package)
    return folder if folder.exists() else None


def _source_folder(package: str) -> Path:
    return home() / f"source-{package}"


def _require_tools(what: str) -> None:
    if os.environ.get("LAYOUTLINT_OFFLINE"):
        raise Unavailable(f"{what}: not downloaded yet, and LAYOUTLINT_OFFLINE is set")
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise Unavailable(f"{what}: this machine has no {', '.join(missing)} to get it with")


@contextmanager
def _lock(name: str) -> Iterator[None]:
    """One download of a name at a time on a machine."""
    home().mkdir(parents=True, exist_ok=True)
    with open(home() / f".{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _unpack(kernel: Kernel) -> None:
    options = _apt_options(kernel.release, kernel.architecture)
    _run(["apt-get", *options, "-o", "APT::Update::Error-Mode=any", "update", "-qq"], f"kernel {kernel.name}")
    packages = _packages(kernel, options)
    with tempfile.TemporaryDirectory(prefix="unpack.", dir=home()) as into:
        _run(["apt-get", *options, "download", "-qq", *packages], f"kernel {kernel.name}", cwd=into)
        root = Path(into, "root")
        root.mkdir()
        for package in sorted(Path(into).glob("*.deb")):
            _extract(kernel, package, root)
            package.unlink()
        if kernel.is_headers:
            _relink(root, home() / kernel.name)
        shutil.rmtree(home() / kernel.name, ignore_errors=True)
        root.rename(home() / kernel.name)


def _apt_options(release: str, architecture: str = "amd64", form: str = "deb") -> list[str]:
    """apt's options for a private state of one release and architecture, written on first use."""
    state = home() / (f"apt-{release}-{architecture}" if form == "deb" else f"apt-{release}-source")
    for folder in ("lists/partial", "cache/archives/partial"):
        (state / folder).mkdir(parents=True, exist_ok=True)
    sources = state / "sources.list"
    if not sources.exists() or not sources.read_text().strip():
        signed = f"[signed-by={KEYRING}] " if KEYRING.exists() else ""
        sources.write_text(f"{form} {signed}{_mirror()} {release} main\n")
    settings = {
        "APT::Sandbox::User": "root",
        "APT::Architecture": architecture,
        "APT::Architectures": architecture,
        "Acquire::Languages": "none",
        "Dir::State::Lists": str(state / "lists"),
        "Dir::State::Status": "/dev/null",  # what this machine has installed, maybe from an archive that is not asked
        "Dir::Cache": str(state / "cache"),
        "Dir::Etc::SourceList": str(sources),
        "Dir::Etc::SourceParts": "/dev/null",
    }
    return [word for key, value in settings.items() for word in ("-o", f"{key}={value}")]


def _mirror() -> str:
    """The Debian mirror that this machine uses."""
    output = os.environ.get("LAYOUTLINT_DEBIAN_MIRROR")
    if output:
        return output
    listed = _run(["apt-get", "indextargets", "--format", "$(ORIGIN) $(REPO_URI)"], "any kernel")
    for line in listed.splitlines():
        origin, _, uri = line.partition(" ")
        if origin == "Debian" and "security" not in uri:
            return uri
    raise Unavailable("apt knows no Debian mirror (run `apt-get update`, or set LAYOUTLINT_DEBIAN_MIRROR)")


def _packages(kernel: Kernel, options: list[str]) -> list[str]:
    """The concrete packages of a kernel: its meta package names the current version; sources are their own."""
    if kernel.is_source:
        return [kernel.meta]
    first = _dependency(options, kernel.meta, r"linux-(?:image|headers)-\d\S*")
    if not kernel.is_headers:
        return [first]
    return [first, _dependency(options, first, r"linux-headers-\S*common\S*")]


def _dependency(options: list[str], package: str, wanted: str) -> str:
    limits = ["--no-suggests", "--no-conflicts", "--no-breaks", "--no-recommends"]
    listed = _run(["apt-cache", *options, "depends", *limits, package], f"package {package}")
    match = re.search(rf"Depends: ({wanted})", listed)
    if match is None:
        raise Unavailable(f"the package {package} depends on no {wanted}")
    return match[1]


def _extract(kernel: Kernel, package: Path, root: Path) -> None:
    """Unpack a package; of an image only vmlinux, because its modules would take gigabytes."""
    if kernel.is_headers or kernel.is_source:
        _run(["dpkg-deb", "-x", str(package), str(root)], f"kernel {kernel.name}")
        for packed in root.glob("usr/src/*.tar.xz"):
            top = packed.name.removesuffix(".tar.xz")
            parts = [f"{top}/{part}" for part in SOURCES]
            _run(["tar", "-xf", str(packed), "-C", str(packed.parent), *parts], f"kernel {kernel.name}")
            packed.unlink()
        return
    with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", str(package)], stdout=subprocess.PIPE) as packed:
        subprocess.run(["tar", "-x", "--wildcards", "*/vmlinux", "*/vmlinux-*"], stdin=packed.stdout, cwd=root, check=False)


def _relink(root: Path, final: Path) -> None:
    """Debian's header trees name their common part by an absolute path: make it the one unpacked here."""
    for makefile in root.glob("usr/src/linux-headers-*64/Makefile"):
        text = makefile.read_text()
        makefile.write_text(text.replace("/usr/src/linux-headers", f"{final}/usr/src/linux-headers"))


def _run(command: list[str], what: str, cwd: str | None = None) -> str:
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=cwd, timeout=DOWNLOAD_SECONDS,
            env={**os.environ, "LC_ALL": "C"},
        )  # fmt: skip
    except subprocess.CalledProcessError as error:
        output = error.stderr.strip().splitlines() or [f"exit status {error.returncode}"]
        raise Unavailable(f"{what}: {command[0]}: {output[0]}") from error
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Unavailable(f"{what}: {error}") from error
    return done.stdout


def main(words: list[str]) -> int:
    """The command line; returns the exit status."""
    command, names = (words[0], words[1:]) if words else ("", [])
    unknown = [name for name in names if name not in (*KERNELS, *PROJECTS)]
    if command not in ("fetch", "path", "list") or unknown or (command != "list" and not names):
        print(f"no kernel named {unknown[0]}" if unknown else __doc__, file=sys.stderr)
        return 2
    if command == "list":
        print("\n".join((*KERNELS, *PROJECTS)))
        return 0
    for name in names:
        try:
            if name in PROJECTS:
                at = fetch_source(name) if command == "fetch" else find_source(name)
            else:
                at = fetch(name) if command == "fetch" else find_kernel(name)
        except Unavailable as reason:
            print(reason, file=sys.stderr)
            return 1
        if at is None:
            return 1
        print(at if command == "path" else f"{name}\t{at}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

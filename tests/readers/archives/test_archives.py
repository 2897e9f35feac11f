"""Archives through the real command: what is in them, and how reports call it."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from tests.harness.command import ROOT, WITHOUT_CACHE, run
from tests.harness.tools import need
from tests.readers.archives import made
from tests.readers.btf.btf_blob import BASE

C = "struct shared {{ long a; char b; }} s; struct own_{0} {{ int n[{0}]; struct shared s; }} o;\n"

RPM_SPEC = """
Name: probe
Version: 1
Release: 1
Summary: structs
License: MIT
%global debug_package %{{nil}}
%global __os_install_post %{{nil}}
%description
structs
%install
install -D {file} %{{buildroot}}/usr/lib/one.o
%files
/usr/lib/one.o
"""


def compile_object(folder: Path, number: int, *flags: str) -> bytes:
    """An object file with two structs, one of them in all objects."""
    path = folder / f"{number}.o"
    source = f'#line 1 "shared.h"\n{C.format(number)}'
    subprocess.run([need("gcc"), *(flags or ("-g",)), "-c", "-xc", "-o", path, "-"], input=source, text=True, check=True)
    return path.read_bytes()


@pytest.fixture(scope="module")
def objects(tmp_path_factory) -> tuple[bytes, bytes]:
    folder = tmp_path_factory.mktemp("objects")
    return compile_object(folder, 1), compile_object(folder, 2)


def show(path: Path | str, struct: str = "shared", *options: str, **environment: str) -> dict:
    done = run("show", path, struct, "--format", "json", *options, **environment)
    assert done.stderr == ""
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def archives(objects, tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("archives")
    one, two = objects
    members = (("usr/lib/one.o", one), ("usr/share/doc/README", b"text\n" * 100), ("usr/lib/two.o", two))
    for name, content in {
        "a.tar": made.tar(members),
        "a.tar.gz": made.tar(members, "gz"),
        "a.tar.xz": made.tar(members, "xz"),
        "a.tar.bz2": made.tar(members, "bz2"),
        "a.deb": made.deb(members),
        "a.rpm": made.rpm(members),
        "a.apk": made.apk(members),
        "a.zip": made.zip_members(members),
        "a.cpio": made.cpio(members),
        "a.a": made.ar((("one.o", one), ("two.o", two))),
        "nested.tar": made.tar((("packages/a.deb", made.deb((("usr/lib/libx.a", made.ar((("one.o", one),))),))),)),
        "packed.deb": made.deb((("m/one.o.xz", lzma.compress(one)), ("m/two.o.gz", gzip.compress(two)))),
        "single.btf.tar.xz": made.tar((("5.4.0-26-generic.btf", BASE),), "xz"),
        "twice.a": made.ar((("one.o", one), ("one.o", two))),
        "bzip2.tar": made.tar((("one.o.bz2", bz2.compress(one)),)),
        "text.tar": made.tar((("a.h", b"struct shared { int a; };"),)),
    }.items():
        (folder / name).write_bytes(content)
    (folder / "renamed").write_bytes(made.deb(members))
    return folder


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("name", "first"), [
    ("a.tar", "usr/lib/one.o"), ("a.tar.gz", "usr/lib/one.o"), ("a.tar.xz", "usr/lib/one.o"), ("a.tar.bz2", "usr/lib/one.o"),
    ("a.deb", "usr/lib/one.o"), ("a.rpm", "usr/lib/one.o"), ("a.apk", "usr/lib/one.o"), ("a.zip", "usr/lib/one.o"),
    ("a.cpio", "usr/lib/one.o"), ("a.a", "one.o"), ("renamed", "usr/lib/one.o"), ("packed.deb", "m/one.o.xz"),
    ("nested.tar", "packages/a.deb:usr/lib/libx.a:one.o"),
])  # fmt: skip
def test_every_kind_of_archive(archives, name, first):
    path = archives / name
    assert show(path)["structs"][0]["size"] == 16
    assert show(f"{path}:{first}", "own_1")["structs"][0]["size"] == 24
    folder = first.rpartition("/")[0]
    if folder:
        assert len(show(f"{path}:{folder}", "own_*")["structs"]) == (1 if "nested" in name else 2)


@pytest.mark.parametrize("payload", ["w9.gzdio", "w9.bzdio", "w6.xzdio", "w19.zstdio", "w.ufdio"])
def test_packages_of_rpmbuild(objects, payload, tmp_path):
    """Oracle: rpm's own tool, in each compression that it writes."""
    (tmp_path / "one.o").write_bytes(objects[0])
    (tmp_path / "p.spec").write_text(RPM_SPEC.format(file=tmp_path / "one.o"))
    define = {"_topdir": tmp_path, "_rpmdir": tmp_path, "_binary_payload": payload}
    defines = (word for name, value in define.items() for word in ("--define", f"{name} {value}"))
    subprocess.run([need("rpmbuild"), "-bb", "--quiet", *defines, tmp_path / "p.spec"], check=True, capture_output=True)
    (package,) = tmp_path.glob("*/*.rpm")
    assert show(package)["structs"][0]["size"] == 16
    assert show(f"{package}:usr/lib/one.o", "own_1")["structs"][0]["size"] == 24


@pytest.mark.parametrize("header_size", [0, 5 << 20])
def test_payloads_that_libarchive_does_not_know(objects, tmp_path, header_size):
    """Of RPM 6, and of files over 4 GB: instead of names and sizes they have the number of a file in the headers."""
    package = made.rpm_of(b"07070X" + b"%08X" % 0 + bytes(2) + objects[0], header_size)
    (tmp_path / "a.tar").write_bytes(made.tar((("p.rpm", package), ("one.o", objects[1]))))
    (tmp_path / "p.rpm").write_bytes(package)
    reason = "is an RPM package with a payload of the format 07070X (RPM 6), which is not supported"
    alone, nested = (run("check", name, "--no-packs", "--format", "json", cwd=tmp_path) for name in ("p.rpm", "a.tar"))
    for done, origin, count in ((alone, "p.rpm", 0), (nested, "a.tar:p.rpm", 1)):
        report = json.loads(done.stdout)
        first = report["unread"][0]
        assert (first["origin"], first["reason"], len(report["inputs"])) == (origin, reason, count)
        assert (done.returncode, report["exit"]) == (3, 3)


def test_zstd(objects, tmp_path):
    from layoutlint.readers.elf import compression

    path = tmp_path / "a.tar.zst"
    path.write_bytes(compression.zstd().compress(made.tar((("one.o", objects[0]),))))
    assert show(path)["structs"][0]["size"] == 16


def test_a_btf_archive(archives):
    done = run("show", archives / "single.btf.tar.xz", "--all")
    assert done.returncode == 0
    assert done.stdout.startswith("struct ")


def test_members_of_one_name_are_numbered(archives):
    path = archives / "twice.a"
    assert show(f"{path}:one.o (2)", "own_2")["structs"][0]["size"] == 24
    assert {each["name"] for each in show(path, "own_*")["structs"]} == {"own_1", "own_2"}


RULE = """
[[rule]]
id = "small"
struct = "own_*"
kind = "size"
max = 8
why = "a test"
"""


@pytest.mark.parametrize("format_", ["text", "json", "sarif"])
def test_reports_name_archive_and_member(archives, tmp_path, format_):
    (tmp_path / "r.toml").write_text(RULE)
    done = run("check", "a.deb", "--rules", tmp_path / "r.toml", "--format", format_, "--width", "300", cwd=archives)
    assert done.returncode == 1, done.stderr
    assert "a.deb:usr/lib/one.o" in done.stdout


def test_other_commands_read_archives(archives, tmp_path):
    assert run("containers", archives / "a.deb", "shared").stdout.count("own_") >= 2
    assert run("history", archives / "a.deb:usr/lib/one.o", archives / "a.tar", "shared").returncode == 0
    assert run("diff", archives / "a.deb:usr/lib/one.o", archives / "a.tar:usr/lib/one.o").returncode == 0
    snapshot = tmp_path / "s.json"
    assert run("snapshot", archives / "a.deb", "--all", "--output", snapshot).returncode == 0
    assert len(show(snapshot, "own_*")["structs"]) == 2


def test_an_archive_in_use_is_not_written_over(archives, tmp_path):
    path = tmp_path / "a.deb"
    path.write_bytes((archives / "a.deb").read_bytes())
    done = run("check", f"{path}:usr/lib/one.o", "--pack", "generic", "--output", f"json={path}")
    assert (done.returncode, "which is read" in done.stderr) == (2, True)


@pytest.mark.exhaustive
def test_the_second_run_uses_the_cache(archives, tmp_path):
    path = tmp_path / "a.deb"
    path.write_bytes((archives / "a.deb").read_bytes())
    time.sleep(2.1)  # a file that was just written proves nothing
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    first = show(f"{path}:usr/lib/one.o", **cache)
    assert show(f"{path}:usr/lib/one.o", LIBARCHIVE=str(tmp_path / "missing"), **cache) == first
    path.write_bytes(made.deb((("usr/lib/one.o", b"text"),)))
    assert run("show", f"{path}:usr/lib/one.o", "shared", **cache).returncode == 3


DEBUG_PLACES = [".build-id/ab/cdef0123.debug", "usr/bin/program.debug"]
"""In /usr/lib/debug: by the build id, and by the name in .gnu_debuglink (gdb, Separate Debug Files)."""


@pytest.mark.parametrize("place", [*(f"usr/lib/debug/{place}" for place in DEBUG_PLACES), "usr/bin/.debug/program.debug"])
def test_debug_files_are_searched_in_the_archive(objects, tmp_path, place):
    need("objcopy")
    program, debug = tmp_path / "program", tmp_path / "program.debug"
    source = f"{C.format(3)} int main(void) {{ return 0; }}"
    subprocess.run([need("gcc"), "-g", "-Wl,--build-id=0xabcdef0123", "-xc", "-o", program, "-"], input=source, text=True, check=True)
    subprocess.run(["objcopy", "--only-keep-debug", program, debug], check=True)
    subprocess.run(["objcopy", "--strip-debug", f"--add-gnu-debuglink={debug}", program], check=True)
    path = tmp_path / "a.deb"
    members = (("usr/bin/program", program.read_bytes()), (place, debug.read_bytes()))
    path.write_bytes(made.deb(members))
    done = run("show", path, "own_3")
    assert (done.returncode, done.stdout.startswith("struct own_3")) == (0, True), done.stderr


def test_modules_are_read_without_what_lies_beside_them(objects, tmp_path):
    one, two = objects
    path = tmp_path / "linux.deb"
    path.write_bytes(made.deb((("lib/modules/6.1/a.ko.xz", lzma.compress(one)), ("usr/lib/debug/vdso64.so", two))))
    assert [each["name"] for each in show(path, "own_*")["structs"]] == ["own_1"]


# Hostile archives: what is said, in order; what can be read is judged all the same.
def links(*names: tuple[str, bytes, str]) -> bytes:
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w") as archive:
        for name, kind, target in names:
            archive.addfile(made.entry(name, type=kind, linkname=target))
    return output.getvalue()


HOSTILE = {
    "truncated.tar.xz": lambda one: made.tar((("one.o", one),), "xz")[:-300],
    "truncated.deb": lambda one: made.deb((("one.o", one),))[:-300],
    "no-data.deb": lambda one: made.ar((("debian-binary", b"2.0\n"), ("control.tar.gz", made.tar((), "gz")))),
    "damaged.tar.gz": lambda one: made.tar((("one.o", one),), "gz")[:400] + b"\xff" * 3000,
    "up.tar": lambda one: made.tar((("../../up.o", one),)),
    "up-only.tar": lambda one: made.tar(((".." , one),)),
    "links.tar": lambda one: links(("a.o", tarfile.SYMTYPE, "/etc/passwd"), ("d", tarfile.CHRTYPE, ""), ("p", tarfile.FIFOTYPE, "")),
    "empty.tar": lambda one: made.tar(()),
    "long.tar": lambda one: made.tar((("n" * 5000 + ".o", one),)),
    "deep.tar": lambda one: made.tar((("1.tar", made.tar((("2.tar", made.tar((("3.tar", made.tar((("4.tar", made.tar((("one.o", one),))),))),))),))),)),
    "text.tar": lambda one: made.tar((("a.h", b"struct shared { int a; };"),)),
    "nested.tar": lambda one: made.tar((("bad.deb", b"!<arch>\ndebian-binary   xxxx" + bytes(100)),)),
}  # fmt: skip
REASONS = {
    "truncated.tar.xz": "is damaged or truncated",
    "truncated.deb": "is damaged or truncated",
    "no-data.deb": "is a Debian package without data.tar; it is truncated",
    "damaged.tar.gz": "is damaged or truncated",
    "up.tar": "up.tar:../../up.o: is not read: its name leads out of the archive",
    "up-only.tar": "up-only.tar:..: is not read: its name leads out of the archive",
    "links.tar": "is an archive without ELF files and BTF",
    "empty.tar": "",
    "long.tar": "its name has more than 4,096 bytes",
    "deep.tar": "deep.tar:1.tar:2.tar:3.tar:4.tar: is not read: archives are read up to 4 deep in each other",
    "text.tar": "is an archive without ELF files and BTF",
    "nested.tar": "bad.deb",
}


@pytest.mark.one_in(3)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_archives(objects, tmp_path, name):
    (tmp_path / name).write_bytes(HOSTILE[name](objects[0]))
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    done = run("show", name, "--all", cwd=tmp_path, TMPDIR=str(temporary))
    assert done.returncode == 3
    assert name in done.stderr
    assert REASONS[name] in done.stderr
    assert list(temporary.iterdir()) == []


@pytest.mark.parametrize(("member", "reason"), [
    ("usr/lib/one.c", "a.deb:usr/lib/one.c: the archive has no such member (did you mean `usr/lib/one.o`?)"),
    ("usr/share/doc/README", "a.deb:usr/share/doc/README: is neither an ELF file nor BTF"),
])  # fmt: skip
def test_a_member_that_cannot_be_read(archives, member, reason):
    done = run("show", f"a.deb:{member}", "shared", cwd=archives)
    assert (done.returncode, reason in done.stderr) == (3, True)


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "a.tar").write_bytes(links(("lib.so", tarfile.SYMTYPE, "/lib/x86_64-linux-gnu/libc.so.6")))
    done = run("show", "a.tar:lib.so", "shared", cwd=tmp_path)
    assert (done.returncode, "is a link to /lib/x86_64-linux-gnu/libc.so.6; links are not followed" in done.stderr) == (3, True)


def test_names_with_control_characters(objects, tmp_path):
    output = io.BytesIO()
    with tarfile.open(fileobj=output, mode="w", format=tarfile.GNU_FORMAT, errors="surrogateescape") as archive:
        for name in ("a\x1b[31m\n.o", "b\udcff.o"):
            archive.addfile(made.entry(name, len(objects[0])), io.BytesIO(objects[0]))
    (tmp_path / "a.tar").write_bytes(output.getvalue())
    done = run("show", "a.tar", "own_1", cwd=tmp_path)
    assert (done.returncode, "\x1b" in done.stdout, r"a\x1b[31m .o" in done.stdout) == (0, False, True)
    for format_ in ("json", "sarif", "html"):
        done = run("check", "a.tar", "--pack", "generic", "--format", format_, cwd=tmp_path)
        assert (done.returncode, done.stderr) == (0, "")


def test_an_encrypted_member(objects, tmp_path):
    content = bytearray(made.zip_members((("one.o", objects[0]),)))
    for mark, at in ((b"PK\3\4", 6), (b"PK\1\2", 8)):  # APPNOTE.TXT 4.4.4: bit 0
        content[content.index(mark) + at] |= 1
    (tmp_path / "a.zip").write_bytes(content)
    done = run("show", "a.zip", "--all", cwd=tmp_path)
    assert (done.returncode, "a.zip:one.o: is encrypted" in done.stderr) == (3, True)


def test_a_bomb_ends_at_the_limit(tmp_path):
    zeros = b"\x7fELF" + bytes(3 << 20)
    (tmp_path / "bomb.tar.xz").write_bytes(made.tar((("zeros.o", zeros),), "xz"))
    (tmp_path / "nested.deb").write_bytes(made.deb((("a.tar.xz", made.tar((("zeros", zeros[4:]),), "xz")),)))
    for name in ("bomb.tar.xz", "nested.deb"):
        done = run("show", name, "--all", cwd=tmp_path, LAYOUTLINT_UNPACK_LIMIT="2M")
        assert done.returncode == 3
        assert "unpacks to more than 2,097,152 bytes, which is the limit for an archive" in done.stderr
        assert "LAYOUTLINT_UNPACK_LIMIT=SIZE raises it" in done.stderr


@pytest.mark.parametrize(("value", "status"), [("x", 2), ("0", 2), ("-1", 2), ("1e9", 2), ("40g", 0), ("", 0)])
def test_the_limit_is_a_size(archives, value, status):
    done = run("show", archives / "a.deb", "shared", LAYOUTLINT_UNPACK_LIMIT=value)
    assert done.returncode == status
    assert not status or "LAYOUTLINT_UNPACK_LIMIT" in done.stderr


@pytest.mark.exhaustive
def test_a_million_members(tmp_path):
    block = made.entry("empty").tobuf()
    (tmp_path / "many.tar").write_bytes(block * 1_000_000 + bytes(1024))
    done = run("show", "many.tar", "--all", cwd=tmp_path)
    assert (done.returncode, "has more than 500,000 members" in done.stderr) == (3, True)


def test_a_missing_library(archives, tmp_path):
    (tmp_path / "libarchive.py").write_text("raise ImportError\n")
    done = run("show", archives / "a.deb", "shared", PYTHONPATH=str(tmp_path))
    assert (done.returncode, "pip install 'layoutlint[archives]'" in done.stderr) == (3, True)


@pytest.mark.exhaustive
def test_a_missing_shared_library(archives, tmp_path):
    done = run("show", archives / "a.deb", "shared", LIBARCHIVE=str(tmp_path / "none.so"))
    assert (done.returncode, "apt-get install libarchive13" in done.stderr) == (3, True)


@pytest.mark.exhaustive
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGINT])
def test_a_killed_run_leaves_nothing(tmp_path, number):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    with open(tmp_path / "large.tar", "wb") as file:  # sparse: 4 GB of zeros
        file.write(made.entry("zeros.o", 4 << 30).tobuf() + b"\x7fELF")
        file.truncate(4 << 30)
    process = subprocess.Popen(
        [sys.executable, "-m", "layoutlint", "show", "large.tar", "--all"], cwd=tmp_path, stderr=subprocess.DEVNULL,
        env={**os.environ, **WITHOUT_CACHE, "TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)},
    )  # fmt: skip
    time.sleep(0.8)
    process.send_signal(number)
    assert process.wait(20) != 0
    assert list(temporary.iterdir()) == []

"""Files that hold the rest of the debug information: found where the tools put them, and nothing else taken for them."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import zlib
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from layoutlint.readers.elf import debug_files
from layoutlint.readers.elf import elf_file as elf
from tests.harness.built import built_once
from tests.harness.command import run
from tests.readers.dwarf.dwarf_file import elf as elf_file
from tests.readers.elf.test_elf import tool

RING = "struct ring { long head, tail; char name[30]; struct ring *next; union { int a; short b; } u; } ring;\n"
PROGRAMS = {"one.c": RING + "int main(void) { return 0; }\n", "two.c": RING + "int x; int main(void) { return x; }\n"}
NOWHERE = ReadOptions(debug_dirs=())


def run_tool(*command: str | Path, cwd: Path) -> None:
    subprocess.run([tool(str(command[0])), *map(str, command[1:])], check=True, cwd=cwd)


@built_once
def programs(folder: Path, *flags: str) -> tuple[Path, Path]:
    """Two programs with a struct in common."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in PROGRAMS.items():
        (folder / name).write_text(text)
        run_tool("gcc", "-g", *flags, name, "-o", Path(name).stem, cwd=folder)
    return folder / "one", folder / "two"


REMEDIES = [
    # how an object was compiled, a part of the message, and the flags by which the message makes it readable
    ("gcc", (), "build it with `-g`,", ("-g",)),
    ("gcc", ("-g", "-flto"), "or build it with `-g -ffat-lto-objects`", ("-flto", "-g", "-ffat-lto-objects")),
    ("gcc", ("-flto",), "or build it with `-g -ffat-lto-objects`", ("-flto", "-g", "-ffat-lto-objects")),
    ("gcc", ("-gstabs",), "build it with `-gdwarf` instead of `-gstabs`", ("-gdwarf",)),
    ("gcc", ("-gstabs+",), "build it with `-gdwarf` instead of `-gstabs`", ("-gdwarf",)),
    ("gcc", ("-gctf",), "build it with `-g` instead of `-gctf`", ("-g",)),
    ("clang", ("-g", "-flto"), "compile it with `-g` and without `-flto`", ("-g",)),
]  # fmt: skip


@pytest.mark.parametrize(("compiler", "flags", "remedy", "instead"), REMEDIES, ids=[" ".join((row[0], *row[1])) for row in REMEDIES])
def test_the_remedy_makes_an_object_readable(tmp_path, compiler, flags, remedy, instead):
    (tmp_path / "one.c").write_text(PROGRAMS["one.c"])
    done = subprocess.run([tool(compiler), *flags, "-c", "one.c", "-o", "one.o"], cwd=tmp_path, check=False, capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"{compiler} has no {flags}: {done.stderr}")  # stabs are gone from gcc 13 on
    with pytest.raises(ReadError) as raised:
        read(str(tmp_path / "one.o"), Wanted(everything=True), ReadOptions())
    assert remedy in raised.value.reason
    run_tool(compiler, *instead, "-c", "one.c", "-o", "one.o", cwd=tmp_path)
    assert [each.name for each in read(str(tmp_path / "one.o"), Wanted(names=frozenset({"ring"})), ReadOptions()).structs] == ["ring"]


@pytest.mark.parametrize(("flags", "remedy"), [
    (("-g",), "has no BTF; leave out `--reader btf` for its DWARF, or make it with `gcc -gbtf`"), ((), "has no BTF; make it with `gcc -gbtf`"),
])  # fmt: skip
def test_btf_is_not_made_by_a_flag_for_dwarf(tmp_path, flags, remedy):
    (tmp_path / "one.c").write_text(PROGRAMS["one.c"])
    run_tool("gcc", *flags, "-c", "one.c", "-o", "one.o", cwd=tmp_path)
    with pytest.raises(ReadError) as raised:
        read(str(tmp_path / "one.o"), Wanted(everything=True), ReadOptions(reader="btf"))
    assert raised.value.reason.startswith(remedy)
    assert "`-g`" not in raised.value.reason


def move(path: Path, place: Path) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    return Path(shutil.move(path, place))


def strip(program: Path, debug: Path, link: bool = True) -> Path:
    """Moves a program's debug information away, as distributions do, and leaves a link to it."""
    debug.parent.mkdir(parents=True, exist_ok=True)
    run_tool("objcopy", "--only-keep-debug", program, debug, cwd=program.parent)
    run_tool("strip", "-g", program, cwd=program.parent)
    if link:
        run_tool("objcopy", f"--add-gnu-debuglink={debug}", program, cwd=program.parent)
    return debug


def show(path: Path, *options: str) -> tuple[int, str, str]:
    done = run("show", path, "ring", "--format", "json", *options)
    return done.returncode, done.stdout, done.stderr.replace("help: `layoutlint explain no-debug-information`\n", "")


class TestDebugFile:
    PLACES = ("bin/one.debug", "bin/.debug/one.debug", "root/{bin}/one.debug", "root/.build-id/{id}.debug")

    @pytest.mark.one_in(2)
    @pytest.mark.parametrize("place", PLACES)
    def test_is_found_and_says_what_the_program_said(self, tmp_path, place):
        program, _ = programs(tmp_path / "bin")
        whole = show(program)
        with elf.open_elf(str(program)) as image:
            build_id = image.build_id
        named = place.format(bin=tmp_path / "bin", id=f"{build_id[:2]}/{build_id[2:]}")
        by_id = ".build-id" in place
        there = strip(program, Path(f"{tmp_path}/{named}"), link=not by_id)
        status, out, errors = show(program, "--debug-dir", "/nowhere", "--debug-dir", str(tmp_path / "root"))
        assert (status, out, whole[0]) == (0, whole[1], 0)
        assert errors == f"layoutlint: note: its debug information was read from {os.path.normpath(there)}\n"

    def test_is_found_by_a_link_to_the_program(self, tmp_path):
        program, _ = programs(tmp_path / "bin")
        strip(program, tmp_path / "bin/one.debug")
        (tmp_path / "link").symlink_to(program)
        assert show(tmp_path / "link")[0] == 0

    def test_the_report_names_the_program(self, tmp_path):
        program, _ = programs(tmp_path / "bin")
        debug = strip(program, tmp_path / "bin/one.debug")
        reading = read(str(program), Wanted(names=frozenset({"ring"})), NOWHERE)
        with elf.open_elf(str(program)) as image:
            assert (reading.path, reading.build_id) == (str(program), image.build_id)
        assert reading.notes == (f"its debug information was read from {debug}",)

    def test_of_another_build(self, tmp_path):
        one, two = programs(tmp_path / "bin")
        strip(one, tmp_path / "bin/one.debug")
        shutil.copy(two, tmp_path / "bin/one.debug")
        with elf.open_elf(str(one)) as ours, elf.open_elf(str(two)) as theirs:
            ids = f"has the build id {theirs.build_id}, and {ours.build_id} is the one that belongs to it"
        missing = "has no debug information (neither DWARF nor BTF)"
        assert show(one) == (3, "", f"layoutlint: {one}: {missing}, and {tmp_path}/bin/one.debug {ids}\n")

    def test_one_of_another_build_does_not_hide_the_right_one(self, tmp_path):
        one, two = programs(tmp_path / "bin")
        strip(one, tmp_path / "bin/.debug/one.debug")
        shutil.copy(two, tmp_path / "bin/one.debug")
        assert show(one)[0] == 0

    def test_without_build_ids_the_checksum_counts(self, tmp_path):
        one, _ = programs(tmp_path / "bin", "-Wl,--build-id=none")
        debug = strip(one, tmp_path / "bin/one.debug")
        assert show(one)[0] == 0
        content = debug.read_bytes()
        debug.write_bytes(content + b"x")
        different = f"has the CRC32 {zlib.crc32(content + b'x'):08x}, and {zlib.crc32(content):08x} belongs to it"
        status, _, errors = show(one)
        assert (status, errors.endswith(f", and {debug} {different}\n")) == (3, True), errors

    def test_that_is_damaged(self, tmp_path):
        one, _ = programs(tmp_path / "bin")
        strip(one, tmp_path / "bin/one.debug").write_bytes(b"\x7fELF")
        status, _, errors = show(one)
        assert (status, f"{tmp_path}/bin/one.debug cannot be read: damaged or truncated ELF file" in errors) == (3, True)

    def test_that_has_none_either(self, tmp_path):
        one, _ = programs(tmp_path / "bin")
        strip(one, tmp_path / "bin/one.debug")
        shutil.copy(one, tmp_path / "bin/one.debug")
        status, _, errors = show(one)
        assert (status, errors.endswith(f", and {tmp_path}/bin/one.debug has no debug information either\n")) == (3, True)

    @pytest.mark.parametrize("place", ["boot/vmlinux-6.12.1", "lib/modules/6.12.1/vmlinux", "boot/vmlinux-6.12.1.debug"])
    def test_a_kernel_finds_that_of_its_release(self, tmp_path, place):
        """An image that boots has no link to its debug file."""
        banner = 'const char linux_banner[] __attribute__((section(".rodata"))) = "Linux version 6.12.1 (a@b) #1 SMP";\n'
        symbols = 'const char symbols[] __attribute__((section("__ksymtab"))) = "";\n'
        (tmp_path / "one.c").write_text(banner + symbols + PROGRAMS["one.c"])
        run_tool("gcc", "-g", "-Wl,--build-id", "one.c", "-o", "one", cwd=tmp_path)
        debug = strip(tmp_path / "one", tmp_path / "debug" / place, link=False)
        status, text, errors = show(tmp_path / "one", "--debug-dir", str(tmp_path / "debug"))
        assert (status, f"was read from {debug}\n" in errors, "head" in text) == (0, True, True), errors

    def test_what_was_looked_for(self, tmp_path):
        one, _ = programs(tmp_path / "bin", "-Wl,--build-id=0xabcdef")
        strip(one, tmp_path / "gone.debug")
        (tmp_path / "gone.debug").unlink()
        places = (f"/d/.build-id/ab/cdef.debug, no {tmp_path}/bin/gone.debug, no {tmp_path}/bin/.debug/gone.debug, "
                  f"no /d{tmp_path}/bin/gone.debug")  # fmt: skip
        with pytest.raises(ReadError) as raised:
            read(str(one), Wanted(everything=True), ReadOptions(debug_dirs=("/d",)))
        output = f"(there is no {places}; `--debug-dir` names other folders)"
        assert raised.value.reason.endswith(f"; build it with `-g`, or give its vmlinux or debug file {output}")

    def test_own_btf_comes_before_the_dwarf_of_another_file(self, tmp_path):
        one, _ = programs(tmp_path / "bin")
        debug = strip(one, tmp_path / "bin/one.debug")
        run_tool("pahole", "--btf_encode_detached=one.btf", debug, cwd=tmp_path / "bin")
        run_tool("objcopy", "--add-section", ".BTF=one.btf", one, cwd=tmp_path / "bin")
        wanted = Wanted(names=frozenset({"ring"}))
        for reader, expected in ((None, "btf"), ("btf", "btf"), ("dwarf", "dwarf")):
            assert read(str(one), wanted, ReadOptions(reader=reader, debug_dirs=())).reader == expected

    @pytest.mark.parametrize("end", ["", ".debug"])
    def test_modules_stand_below_lib_modules(self, tmp_path, end):
        """A module of a distribution has a build id and no link; /lib is often a link to /usr/lib."""
        module = tmp_path / "usr/lib/modules/6.1/kernel/ring.ko"
        module.parent.mkdir(parents=True)
        (tmp_path / "ring.c").write_text(RING + '__attribute__((section(".modinfo"))) char license[] = "GPL";\n')
        run_tool("gcc", "-g", "-r", "-nostdlib", "-Wl,--build-id", "ring.c", "-o", module, cwd=tmp_path)
        debug = tmp_path / f"root/lib/modules/6.1/kernel/ring.ko{end}"
        debug.parent.mkdir(parents=True)
        shutil.copy(module, debug)
        run_tool("strip", "-g", module, cwd=tmp_path)
        status, out, errors = show(module, "--debug-dir", str(tmp_path / "root"))
        assert (status, errors) == (0, f"layoutlint: note: its debug information was read from {debug}\n")
        assert json.loads(out)["structs"][0]["size"] == 64


LINKS = [
    # content of .gnu_debuglink, message
    (b"\0" * 8, "names another file by 0 bytes, which are not a path"),
    (b"a.debug\0\1\2\3", "section .gnu_debuglink ends inside its checksum"),
    (b"a.debug", "section .gnu_debuglink ends inside its checksum"),
    (b"x" * 4095 + b"\0" * 5, f"{'x' * 4095}"),
    (b"/dev/zero\0\0\0\1\2\3\4", "there is no /dev/zero"),
    (b"file\0\0\0\0\1\2\3\4", "/file, no "),
]  # fmt: skip


@pytest.mark.parametrize(("content", "message"), LINKS, ids=range(len(LINKS)))
def test_bad_links(tmp_path, content, message):
    path = tmp_path / "file"
    path.write_bytes(elf_file({".gnu_debuglink": content}))
    with pytest.raises(ReadError) as raised:
        read(str(path), Wanted(everything=True), ReadOptions(debug_dirs=()))
    assert message in raised.value.reason


class TestSupplement:
    @pytest.fixture(params=[4, 5])
    def shared(self, request, tmp_path):
        """Two programs, and the file `bin/shared.debug` that dwz made of what they have in common."""
        one, two = programs(tmp_path / "bin", f"-gdwarf-{request.param}")
        run_tool("dwz", *(["-5"] if request.param == 5 else []), "-m", "shared.debug", one, two, cwd=tmp_path / "bin")
        return one

    @pytest.mark.one_in(2)
    @pytest.mark.parametrize("place", ["bin/shared.debug", "debug/{here}/bin/shared.debug", "debug/.build-id/{id}.debug"])
    def test_is_found(self, shared, tmp_path, place):
        with elf.open_elf(str(tmp_path / "bin/shared.debug")) as image:
            build_id = debug_files._supplement_id(image)
        named = place.format(here=tmp_path, id=f"{build_id[:2]}/{build_id[2:]}")
        there = move(tmp_path / "bin/shared.debug", Path(f"{tmp_path}/{named}"))
        options = ReadOptions(debug_dirs=(str(tmp_path / "debug"),))
        with elf.open_elf(str(shared)) as image:
            other = debug_files.supplement(image, options)
            assert os.path.samefile(other.path, there)
            assert bytes(other.section(".debug_info")), "open as long as the file that needs it"

    def test_is_found_from_where_a_link_leads(self, shared, tmp_path):
        link = tmp_path / "elsewhere"
        link.symlink_to(shared)
        with elf.open_elf(str(link)) as image:
            assert os.path.samefile(debug_files.supplement(image, NOWHERE).path, tmp_path / "bin/shared.debug")

    def test_has_none_itself(self, shared, tmp_path):
        with elf.open_elf(str(tmp_path / "bin/shared.debug")) as image:
            assert debug_files.supplement(image, NOWHERE) is None

    def test_that_is_missing(self, shared, tmp_path):
        (tmp_path / "bin/shared.debug").unlink()
        with elf.open_elf(str(shared)) as image, pytest.raises(ReadError) as raised:
            debug_files.supplement(image, ReadOptions(debug_dirs=("/debug",)))
        reason = "part of its types is in the supplementary file shared.debug (dwz), which was not found: "
        assert raised.value.reason.startswith(f"{reason}no {tmp_path}/bin/shared.debug, no /debug/")
        assert ", no /debug/.build-id/" in raised.value.reason

    def test_of_another_build(self, shared, tmp_path):
        one, _ = programs(tmp_path / "other")
        shutil.copy(one, tmp_path / "bin/shared.debug")
        with elf.open_elf(str(one)) as image:
            theirs = image.build_id
        with elf.open_elf(str(shared)) as image, pytest.raises(ReadError) as raised:
            debug_files.supplement(image, NOWHERE)
        wrong = f"the supplementary file {tmp_path}/bin/shared.debug has the build id {theirs}, and "
        assert raised.value.reason.startswith(wrong)
        assert raised.value.reason.endswith(" is the one that belongs to it")


def write_name(tmp_path: Path, *links: tuple[str, bytes]) -> str:
    path = tmp_path / "file"
    path.write_bytes(elf_file({".debug_info": b"x", **dict(links)}))
    return str(path)


@pytest.mark.parametrize("name", ["/usr/lib/debug/.dwz/arch/shared.debug", "../../.dwz/arch/shared.debug"])
def test_supplements_of_distributions_stand_below_any_root(tmp_path, name):
    there = tmp_path / "root/.dwz/arch/shared.debug"
    there.parent.mkdir(parents=True)
    there.write_bytes(elf_file({".debug_info": b"x"}))
    with elf.open_elf(write_name(tmp_path, (".gnu_debugaltlink", name.encode() + b"\0"))) as image:
        assert debug_files.supplement(image, ReadOptions(debug_dirs=(str(tmp_path / "root"),))).path == str(there)


BAD = [
    # id, section, content, message
    ("no name", ".gnu_debugaltlink", b"\0abcd", "names another file by 0 bytes, which are not a path"),
    ("a name without end", ".gnu_debugaltlink", b"a" * 5000, "names another file by 5000 bytes, which are not a path"),
    ("a device", ".gnu_debugaltlink", b"/dev/zero\0", "which was not found: no /dev/zero"),
    ("a folder", ".gnu_debugaltlink", b"/tmp\0", "which was not found: no /tmp"),
    ("itself", ".gnu_debugaltlink", b"file\0", "which was not found: no "),
    ("bytes that are no text", ".gnu_debugaltlink", b"\xff\xfe\0", "which was not found: no "),
    ("no checksum", ".debug_sup", b"\5\0\0name\0\x14", "section .debug_sup ends inside its checksum"),
    ("an endless checksum", ".debug_sup", b"\5\0\0name\0" + b"\xff" * 40, "section .debug_sup ends inside its checksum"),
]  # fmt: skip


@pytest.mark.parametrize(("section", "content", "message"), [row[1:] for row in BAD], ids=[row[0] for row in BAD])
def test_bad_names(tmp_path, section, content, message):
    with elf.open_elf(write_name(tmp_path, (section, content))) as image, pytest.raises(ReadError) as raised:
        debug_files.supplement(image, NOWHERE)
    assert message in raised.value.reason


@pytest.mark.parametrize("content", [b"", b"\5", b"\5\0\1", b"\5\0\1\0", b"\5\0\1\0\2ab"])
def test_supplements_name_none(tmp_path, content):
    with elf.open_elf(write_name(tmp_path, (".debug_sup", content))) as image:
        assert debug_files.supplement(image, NOWHERE) is None


def test_a_file_without_a_supplement(tmp_path):
    with elf.open_elf(write_name(tmp_path)) as image:
        assert debug_files.supplement(image, NOWHERE) is None


class TestSplit:
    @pytest.fixture
    def program(self, tmp_path):
        one, _ = programs(tmp_path / "build", "-gsplit-dwarf")
        made = next((tmp_path / "build").glob("*one*.dwo"))
        return one, made.rename(tmp_path / "build/one.dwo")

    @pytest.mark.parametrize("place", ["build/one.dwo", "bin/one.dwo", "bin/sub/one.dwo", "root/{build}/sub/one.dwo", "root/one.dwo"])
    def test_dwo_files_are_found(self, program, tmp_path, place):
        """In the compilation directory, beside the program, below another root."""
        name = "sub/one.dwo" if "sub" in place else "one.dwo"
        there = move(program[1], Path(f"{tmp_path}/{place.format(build=tmp_path / 'build')}"))
        move(program[0], tmp_path / "bin/one")
        with elf.open_elf(str(tmp_path / "bin/one")) as image:
            options = ReadOptions(debug_dirs=(str(tmp_path / "root"),))
            with debug_files.split(image, str(tmp_path / "build"), name, options) as part:
                assert os.path.samefile(part.path, there)
                assert part.has_dwarf

    def test_a_missing_dwo_file(self, program, tmp_path):
        with elf.open_elf(str(program[0])) as image, pytest.raises(ReadError) as raised, \
                debug_files.split(image, "/gone", "none.dwo", ReadOptions(debug_dirs=("/debug",))):  # fmt: skip
            raise AssertionError("opened")
        places = f"no /gone/none.dwo, no {tmp_path}/build/none.dwo, no /debug/gone/none.dwo, no /debug/none.dwo"
        assert raised.value.reason == f"none.dwo (split DWARF) was not found: {places}"

    @pytest.mark.parametrize("place", ["bin/one.dwp", "root/{bin}/one.dwp"])
    def test_packages_are_found(self, program, tmp_path, place):
        move(program[0], tmp_path / "bin/one")
        there = Path(f"{tmp_path}/{place.format(bin=tmp_path / 'bin')}")
        there.parent.mkdir(parents=True, exist_ok=True)
        run_tool("dwp", program[1], "-o", there, cwd=tmp_path)
        with elf.open_elf(str(tmp_path / "bin/one")) as image:
            found = debug_files.package(image, ReadOptions(debug_dirs=(str(tmp_path / "root"),)))
            assert os.path.samefile(found.path, there)
            assert found.section(".debug_cu_index")

    def test_there_need_be_no_package(self, program):
        with elf.open_elf(str(program[0])) as image:
            assert debug_files.package(image, NOWHERE) is None

"""Compilation databases, folders and kernel trees: which units are read, with which flags."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.intent.toml import rule_file
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import clang
from layoutlint.readers.clang import parallel, text_search

S = Wanted(frozenset(["s"]))


def write(folder: Path, **files: str) -> None:
    """Files by name; `__` in a keyword stands for `/` and the last `_` for the dot."""
    for name, text in files.items():
        stem, _, suffix = name.replace("__", "/").rpartition("_")
        path = folder / f"{stem}.{suffix}"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def sizes(path, wanted: Wanted = S, **options: object) -> list[tuple[str, int | None, str]]:
    reading = clang.read(str(path), wanted, ReadOptions(**options))
    return [(s.name, s.bit_size, s.origin) for s in reading.structs]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """Three units that include one header, two of them alike; and one that does not."""
    monkeypatch.chdir(tmp_path)
    write(tmp_path, inc__s_h="struct s { char c; CELL a; };\n", one_c='#include "s.h"\n', two_c='#include "s.h"\n',
          three_c='#include "s.h"\n', four_c="int main(void) { return 0; }\n", long_rsp="-DCELL='long long'\n")  # fmt: skip
    entries = [
        {
            "directory": ".",
            "file": "one.c",
            "arguments": ["cc", "-Iinc", "-DCELL=int", "-c", "one.c", "-o", "one.o"],
        },
        {
            "directory": ".",
            "file": "two.c",
            "command": "cc -I inc -D CELL=int -fconserve-stack -MD -MF two.d -c two.c",
        },
        {"directory": ".", "file": "three.c", "command": "cc -Iinc @long.rsp -c three.c"},
        {"directory": ".", "file": "four.c", "arguments": ["cc", "-DCELL=gone", "-c", "four.c"]},
    ]
    (tmp_path / "compile_commands.json").write_text(json.dumps(entries))
    return tmp_path


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("name", ["compile_commands.json", "."])
def test_each_distinct_definition_stands(project, name, jobs):
    assert sizes(name, jobs=jobs) == [("s", 64, "one.c"), ("s", 128, "three.c")]


def test_only_units_that_can_define_what_is_wanted_are_parsed(project):
    (project / "two.c").write_text("#error not to be read\n")
    reading = clang.read(".", S, ReadOptions())
    assert ([s.origin for s in reading.structs], reading.unread) == (["one.c", "three.c"], ())


def test_flags_of_the_command_line_come_behind_those_of_the_database(project):
    assert sizes("compile_commands.json", flags=("-UCELL", "-DCELL=short")) == [("s", 32, "one.c")]


def test_nothing_wanted_in_a_database(project):
    reading = clang.read(".", Wanted(frozenset(["other"])), ReadOptions())
    assert (reading.structs, reading.notes) == (
        (),
        ("no text of the 4 units and their headers defines a wanted struct",),
    )


def test_a_folder_of_headers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(
        tmp_path,
        a_h="struct s { int a; };",
        b__b_h='#include "gone.h"\nstruct t { int a; };',
        c_h="#error unused\n",
    )
    assert sizes(".") == [("s", 32, "a.h")]
    reading = clang.read(".", Wanted(frozenset(["nowhere"])), ReadOptions())
    assert (reading.structs, reading.unread, reading.notes) == (
        (),
        (),
        ("no text of the 3 C files below . defines a wanted struct",),
    )


def test_a_folder_without_c(tmp_path):
    with pytest.raises(
        ReadError,
        match=r"holds no C headers or sources, no compile_commands.json, and is not a configured kernel tree",
    ):
        clang.read(str(tmp_path), S, ReadOptions())


KERNEL = {
    "Makefile": "VERSION = 6\nPATCHLEVEL = 12\nKBUILD_CFLAGS += -funsigned-char\n",
    "include/linux/kconfig.h": "#include <generated/autoconf.h>\n",
    "include/linux/compiler_types.h": "#define __private\n",
    "include/linux/s.h": "#ifdef CONFIG_SMP\nstruct s { long a; };\n#else\nstruct s { char a; };\n#endif\n",
    "include/linux/locked.h": "#define context_lock_struct(name) struct name\ncontext_lock_struct(locked) {\n\tint a;\n};\n",
    "arch/x86/include/asm/types.h": "",
    "kernel/private.h": "struct hidden { first_t a; };\n",
    "kernel/user.c": "typedef char first_t[3];\n#include \"private.h\"\n",
}  # fmt: skip
CONFIGURED = {
    "include/generated/autoconf.h": "#define CONFIG_SMP 1\n#define CONFIG_X86_64 1\n",
    "include/config/auto.conf": 'CONFIG_SMP=y\nCONFIG_X86_64=y\nCONFIG_EXT4_FS=m\nCONFIG_NR_CPUS=64\nCONFIG_NAME="y"\n',
}


def lay(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def plain_headers(folder: Path) -> tuple[Path, tuple[str, ...]]:
    return lay(folder / "linux", KERNEL | CONFIGURED), ()


def with_build_link(folder: Path) -> tuple[Path, tuple[str, ...]]:
    source = lay(folder / "linux", KERNEL)
    (source / "build").symlink_to(lay(folder / "out", CONFIGURED))
    return source, ()


def with_o(folder: Path) -> tuple[Path, tuple[str, ...]]:
    return lay(folder / "linux", KERNEL), (f"O={lay(folder / 'out', CONFIGURED)}",)


def build_folder(folder: Path) -> tuple[Path, tuple[str, ...]]:
    source = lay(folder / "linux", KERNEL)
    return lay(
        folder / "out", CONFIGURED | {"Makefile": f"# Automatically generated\ninclude {source}/Makefile\n"}
    ), ()


def relocated_package(folder: Path) -> tuple[Path, tuple[str, ...]]:
    lay(folder / "linux-headers-6.12-common", KERNEL)
    makefile = {"Makefile": "include /usr/src/nowhere/linux-headers-6.12-common/Makefile\n"}
    return lay(folder / "linux-headers-6.12-amd64", CONFIGURED | makefile), ()


@pytest.mark.one_in(2)
@pytest.mark.parametrize("layout", [plain_headers, with_build_link, with_o, build_folder, relocated_package])
def test_kernel_trees(tmp_path, layout):
    path, flags = layout(tmp_path)
    wanted = Wanted(frozenset(["s", "locked", "hidden", "nowhere"]), headers=(("s", "linux/s.h"),))
    reading = clang.read(str(path), wanted, ReadOptions(flags=flags))
    assert [(s.name, s.bit_size, str(s.source), s.origin, s.problem) for s in reading.structs] == [
        ("s", 64, "include/linux/s.h:2", "include/linux/s.h", None),
        ("locked", 32, "include/linux/locked.h:2", "include/linux/locked.h", None),
        ("hidden", 24, "kernel/private.h:1", "kernel/user.c", None),
    ]
    assert (reading.target.name, reading.is_kernel, reading.unread) == ("x86_64", True, ())
    assert reading.config == {"SMP", "X86_64", "EXT4_FS"}
    assert reading.kernel == (6, 12, 0)
    assert reading.notes == ("no file of this tree defines struct nowhere",)


SOUGHT = [
    # the `when` of each rule on a struct that the tree, Linux 6.12 for x86_64 with SMP, lacks; whether it is sought
    ([""], True),
    (['kernel = ">=6.12"'], True),
    (['kernel = ">=6.13"'], False),
    (['kernel = "<6.12.0"', 'arch = ["arm*"]'], False),
    (['kernel = "<6.12.0"', 'arch = ["x86*"]'], True),
    (['config = ["!SMP"]'], False),
    (['config = ["SMP", "EXT4_FS"]'], True),
    (['config = ["!SMP"]', ""], True),
]


def rules(*whens: str, struct: str = "gone") -> str:
    rule = '[[rule]]\nid = "{}{}"\nstruct = "{}"\nkind = "size"\nmax = 1\nwhy = "a test"\nwhen = {{ {} }}\n'
    return "".join(rule.format(struct, number, struct, when) for number, when in enumerate(whens))


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("whens", "is_sought"), SOUGHT)
def test_what_no_rule_asks_of_a_tree_is_not_sought_in_it(tmp_path, whens, is_sought):
    path, _ = plain_headers(tmp_path)
    pack = rule_file.parse(rules("", struct="s") + rules(*whens), "r.toml")
    report = check([str(path)], (pack,), (), Options())
    [reading] = report.readings
    assert [s.name for s in reading.structs] == ["s"]
    assert reading.notes == (("no file of this tree defines struct gone",) if is_sought else ())
    assert len(report.coverage.skipped) + len(report.coverage.unresolved) == len(whens)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"target": "aarch64"}, "is for x86_64, but aarch64 was requested"),
        ({"config": ("!SMP",)}, "is configured with SMP, but `!SMP` was requested"),
    ],
)
def test_a_tree_for_another_build_is_refused_before_it_is_read(tmp_path, monkeypatch, options, why):
    path, _ = plain_headers(tmp_path)
    monkeypatch.setattr(text_search, "files_below", lambda *_: pytest.fail("the tree is searched"))
    with pytest.raises(ReadError, match=why):
        clang.read(str(path), S, ReadOptions(**options))


def test_a_header_of_a_kernel_has_the_flags_of_its_tree(tmp_path):
    path, _ = plain_headers(tmp_path)
    assert sizes(path / "include/linux/s.h") == [("s", 64, "include/linux/s.h")]
    assert sizes(path / "kernel/private.h", Wanted(frozenset(["hidden"]))) == [
        ("hidden", 24, "kernel/user.c")
    ]


def test_headers_that_do_not_bear_one_another(tmp_path):
    path, _ = plain_headers(tmp_path)
    lay(path, {"include/linux/clash.h": "struct s { int other; };\nstruct t { char a; };\n"})
    wanted = Wanted(frozenset(["s", "t"]), headers=(("s", "linux/s.h"), ("t", "linux/clash.h")))
    reading = clang.read(str(path), wanted, ReadOptions())
    assert {(s.name, s.bit_size, s.problem) for s in reading.structs} == {
        ("s", 64, None),
        ("s", 32, None),
        ("t", 8, None),
    }


USERS = {f"include/linux/user{n}.h": f"#include <linux/base.h>\nstruct u{n} {{ long a; struct base b; }};\n" for n in range(12)}
WRONG = {
    # what is wrong in a header that all others include, and the error that is reported
    "a field of an unknown type": ({"include/linux/base.h": "#pragma once\nstruct base { nothing_t a; };\n"}, "base.h:2:15: error: unknown type name 'nothing_t'"),
    "a header that it lacks": ({"include/linux/base.h": '#pragma once\n#include <linux/none.h>\nstruct base { long a; };\n'},
                               "base.h:2:10: error: 'linux/none.h' file not found"),
    "text of its own in each": ({f"include/linux/user{n}.h": f"struct u{n} {{ nothing_t a; }};\n" for n in range(12)}, "error: unknown type name 'nothing_t'"),
}  # fmt: skip


@pytest.mark.parametrize(("files", "error"), WRONG.values(), ids=WRONG)
def test_a_header_with_errors_that_others_include_is_parsed_a_few_times(tmp_path, monkeypatch, files, error):
    path, _ = plain_headers(tmp_path)
    lay(path, USERS | files)
    names = [f"u{n}" for n in range(12)]
    wanted = Wanted(frozenset(names), headers=tuple((name, f"linux/user{name[1:]}.h") for name in names))
    units, run = [], parallel.run
    monkeypatch.setattr(parallel, "run", lambda parts, *rest: units.extend(parts) or run(parts, *rest))
    reading = clang.read(str(path), wanted, ReadOptions(jobs=1))
    assert sorted(s.name for s in reading.structs) == sorted(names)
    assert {error in (s.problem or "") for s in reading.structs} == {True}
    assert len(units) <= 8, [unit.origin for unit in units]


def test_a_header_with_errors_leaves_others_readable(tmp_path):
    """Each header that has no part in the errors, or clashes with another, is read as without them."""
    path, _ = plain_headers(tmp_path)
    lay(path, USERS | WRONG["a field of an unknown type"][0])
    lay(path, {"include/linux/clash.h": "struct s { int other; };\nstruct t { char a; };\n"})
    users = ((f"u{n}", f"linux/user{n}.h") for n in range(12))
    headers = (*users, ("s", "linux/s.h"), ("t", "linux/clash.h"))
    reading = clang.read(str(path), Wanted(frozenset(dict(headers)), headers=headers), ReadOptions())
    reliable = {(s.name, s.bit_size) for s in reading.structs if s.problem is None}
    assert reliable == {("s", 64), ("s", 32), ("t", 8)}
    assert len(reading.structs) == 15


def test_everything_of_a_kernel_leaves_out_what_has_errors(tmp_path):
    path, _ = plain_headers(tmp_path)
    lay(path, {"include/linux/bad.h": "#error of another machine\n"})
    reading = clang.read(str(path), Wanted(everything=True), ReadOptions())
    assert {s.name for s in reading.structs} == {"s", "locked"}
    assert reading.notes == (
        "1 of 5 headers have errors if read with the others, and are left out, such as include/linux/bad.h",
    )


def test_a_kernel_that_is_not_configured(tmp_path):
    lay(tmp_path / "linux", KERNEL)
    with pytest.raises(
        ReadError,
        match=r"is a kernel tree that is not configured: .*/include/generated/autoconf.h is not there",
    ):
        clang.read(str(tmp_path / "linux"), S, ReadOptions())


SHUFFLED = """
struct marked { int a, b; } __randomize_layout;
struct calls { int (*a)(int); void (*b)(void); };
struct kept_calls { int (*a)(int); void (*b)(void); } __no_randomize_layout;
struct partly { int first; randomized_struct_fields_start int a, b; };
struct holder { int a; struct marked m; };
struct points { int a; struct marked *m; };
"""


def test_structs_that_a_configuration_shuffles(tmp_path):
    path, _ = plain_headers(tmp_path)
    lay(path, {
        "include/linux/shuffled.h": SHUFFLED,
        "include/linux/compiler_types.h": "#define __randomize_layout\n#define __no_randomize_layout\n#define randomized_struct_fields_start\n",
        "include/config/auto.conf": "CONFIG_X86_64=y\nCONFIG_RANDSTRUCT=y\nCONFIG_RANDSTRUCT_FULL=y\n",
    })  # fmt: skip
    names = ("marked", "calls", "kept_calls", "partly", "holder", "points")
    reading = clang.read(str(path), Wanted(frozenset(names)), ReadOptions())
    by = "its fields are shuffled by CONFIG_RANDSTRUCT_FULL"
    assert {s.name: s.problem for s in reading.structs} == {
        "marked": f"include/linux/shuffled.h:2: {by}",
        "calls": f"include/linux/shuffled.h:3: {by}",
        "kept_calls": None,
        "partly": f"include/linux/shuffled.h:5: {by}",
        "holder": f"include/linux/shuffled.h:2: {by}",
        "points": None,
    }


def test_a_tree_that_was_configured_without_shuffling_is_read_with_marks(tmp_path):
    """Linux 6.17 and later: kbuild includes a header first that only a shuffled build generates."""
    path, _ = plain_headers(tmp_path)
    lay(path, {
        "include/linux/shuffled.h": SHUFFLED,
        "include/linux/compiler-version.h": "#ifdef RANDSTRUCT\n#include <generated/randstruct_hash.h>\n#endif\n",
        "include/linux/compiler_types.h": "#ifdef RANDSTRUCT\n#define __randomize_layout __attribute__((randomize_layout))\n#endif\n",
    })  # fmt: skip
    reading = clang.read(str(path), Wanted(frozenset(["marked"])), ReadOptions(with_marks=True))
    (marked,) = reading.structs
    assert (marked.problem, marked.bit_size) == (None, 64)

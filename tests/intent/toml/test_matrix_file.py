"""Matrix files: what they mean, and every mistake with its line."""

from __future__ import annotations

import pytest

from layoutlint.errors import RuleFileError
from layoutlint.intent.toml import matrix_file
from tests.harness.command import ROOT
from tests.harness.outside_words import toml_words

ONE = '[build.one]\ninput = "a.h"\n'
AXES = """
[defaults]
input = "a.h"
flags = ["-Iinclude", "-DALL"]
config = ["LOCKDEP", "SMP"]
line_size = 64
[axis.machine.arm]
target = "arm"
flags = ["-I", "/opt/arm"]
[axis.machine.s390x]
target = "s390x"
line_size = 256
[axis.cpus.up]
config = ["!SMP"]
[axis.cpus.smp]
defines = ["CPUS=64"]
[build.shipped]
input = ["b.elf", "../c.elf"]
min_align = 16
"""


def load(folder, text: str, *inputs: str):
    (folder / "matrix.toml").write_text(text)
    return matrix_file.load("matrix.toml", inputs)


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def test_axes_are_combined_in_the_order_of_the_file(tmp_path):
    found = {
        build.name: (build.inputs, build.values, build.target, build.flags, build.config, build.line_size, build.min_align)
        for build in load(tmp_path, AXES)
    }
    words, cpus = ("-Iinclude", "-DALL"), ("-DCPUS=64",)
    assert list(found.items()) == [
        ("arm-up", (("a.h",), ("arm", "up"), "arm", (*words, "-I", "/opt/arm"), ("LOCKDEP", "!SMP"), 64, None)),
        ("arm-smp", (("a.h",), ("arm", "smp"), "arm", (*words, "-I", "/opt/arm", *cpus), ("LOCKDEP", "SMP"), 64, None)),
        ("s390x-up", (("a.h",), ("s390x", "up"), "s390x", words, ("LOCKDEP", "!SMP"), 256, None)),
        ("s390x-smp", (("a.h",), ("s390x", "smp"), "s390x", (*words, *cpus), ("LOCKDEP", "SMP"), 256, None)),
        ("shipped", (("b.elf", "../c.elf"), (), None, words, ("LOCKDEP", "SMP"), 64, 16)),
    ]  # fmt: skip


@pytest.mark.parametrize(("exclude", "left"), [
    ('["arm-*"]', ["s390x-up", "s390x-smp", "shipped"]),
    ('["*-up", "shipped"]', ["arm-smp", "s390x-smp"]),
])  # fmt: skip
def test_exclude(tmp_path, exclude, left):
    assert [build.name for build in load(tmp_path, f"exclude = {exclude}\n{AXES}")] == left


def test_paths_are_relative_to_the_file(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/m.toml").write_text(
        '[build.one]\ninput = "../a.h"\nflags = ["-Iinclude", "-isystem", "sys", "--sysroot=/opt", "O=../out", "-include", "x.h", "-Da=b"]\n'
    )
    [build] = matrix_file.load("sub/m.toml")
    assert build.inputs == ("a.h",)
    assert build.flags == (
        "-Isub/include", "-isystem", "sub/sys", "--sysroot=/opt", "O=sub/../out", "-include", "sub/x.h", "-Da=b",
    )  # fmt: skip


def test_builds_without_an_input_are_of_those_that_are_given(tmp_path):
    text = '[build.one]\ntarget = "arm"\n[build.two]\ninput = "own.h"\n'
    assert [build.inputs for build in load(tmp_path, text, "ring.h", "b.h")] == [("ring.h", "b.h"), ("own.h",)]


KNOWN = "x86_64, x32, i386, aarch64, aarch64_be, arm, armeb, powerpc64le, powerpc64, powerpc, s390x, riscv64, riscv32, mips64, mips64el, mips, mipsel, loongarch64, sparc64"
MISTAKES = [
    # id, text, messages behind `matrix.toml:`
    ("empty", "", ["1: there is no build: neither `[build.NAME]` nor `[axis.NAME.VALUE]`"]),
    ("defaults alone", '[defaults]\ninput = "a.h"\n', ["1: there is no build: neither `[build.NAME]` nor `[axis.NAME.VALUE]`"]),
    ("no TOML", "[build.one", [f"1: not TOML: {toml_words('[build.one')}"]),
    ("unknown tables", f"[biuld.two]\n[defualts]\n{ONE}",
     ["1: unknown key `biuld` in a matrix (did you mean `build`?)", "2: unknown key `defualts` in a matrix (did you mean `defaults`?)"]),
    ("builds", f"[builds]\n{ONE}", ["1: unknown key `builds` in a matrix (a build is `[build.NAME]`)"]),
    ("unknown keys", f"{ONE}inputs = 1\nline-size = 64\n",
     ["3: unknown key `inputs` in [build.one] (did you mean `input`?)",
      "4: unknown key `line-size` in [build.one] (did you mean `line_size`?)"]),
    ("dotted name", '[build.v6.12]\ninput = "a.h"\n',
     ["1: build `v6` has no `input`, and the command line names none",
      '1: unknown key `12` in [build.v6] (quote a name with a dot: "v6.12")']),
    ("wrong types", "[build.one]\ninput = 1\nflags = '-O2'\ndefines = [1]\nconfig = {SMP = true}\ntarget = ['arm']\nline_size = '64'\n",
     ["2: `input` must be a list of strings, not an integer", "3: `flags` must be a list of strings, not a string (write [\"-O2\"])",
      "4: `defines`[0] must be a string, not an integer", "5: `config` must be a list of kernel options, not a table",
      "6: `target` must be a string, not a list", "7: `line_size` must be an integer, not a string (write 64)"]),
    ("build that is no table", "build = 3\n", ["1: `build` must be a table, not an integer (write `[build.NAME]`)"]),
    ("build of a list", "[[build]]\ninput = 'a.h'\n", ["1: `build` must be a table, not a list (write `[build.NAME]`)"]),
    ("axis without values", "[axis.machine]\n", ["1: [axis.machine] has no values: each is a table `[axis.machine.VALUE]`"]),
    ("axis value that is no table", "[defaults]\ninput = 'a.h'\n[axis.machine]\narm = 'arm'\n",
     ["4: `arm` must be a table, not a string (write `[axis.machine.arm]`)"]),
    ("unknown target", f"{ONE}target = 'aarhc64'\n", ["3: `target` cannot be `aarhc64` (did you mean `aarch64`?)"]),
    ("Debian's name", f"{ONE}target = 'arm64'\n", ["3: `target` cannot be `arm64` (it is called `aarch64` here)"]),
    ("Linux's name", f"{ONE}target = 'x86'\n", ["3: `target` cannot be `x86` (it is called `x86_64` or `i386` here)"]),
    ("far from any", f"{ONE}target = 'vax'\n", [f"3: `target` cannot be `vax` (known: {KNOWN})"]),
    ("sizes", f"{ONE}line_size = 100\nmin_align = -8\n",
     ["3: `line_size` must be a power of two up to 1,048,576, not 100",
      "4: `min_align` must be a power of two up to 1,048,576, not -8"]),
    ("macro with -D", f"{ONE}defines = ['-DA', 'B C']\n", ["3: `defines`[0] cannot be `-DA`: write `A`"]),
    ("no macro", f"{ONE}defines = ['B C']\n", ["3: `defines`[0] cannot be `B C`: a macro, as `NAME` or `NAME=VALUE`"]),
    ("options", f"{ONE}config = ['CONFIG_SMP']\n", ["3: `config`[0] cannot be `CONFIG_SMP`: write `SMP`"]),
    ("on and off", f"{ONE}config = ['SMP',\n'!SMP']\n", ["4: `config` has `SMP` and `!SMP`"]),
    ("name", '[build."a b"]\ninput = "a.h"\n', ["1: a build cannot be called `a b`: letters, digits, `-`, `_`, `.` and `+`"]),
    ("the same name twice", f"{ONE}{ONE}", [f"3: not TOML: {toml_words(ONE + ONE, '[build.one]')}"]),
    ("the name of a combination", f"{ONE}[build.a-b]\ninput = 'b.h'\n[axis.x.a]\ninput = 'a.h'\n[axis.y.b]\n",
     ["3: two builds are called `a-b`: the other is in line 7"]),
    ("no input", "[build.one]\ntarget = 'arm'\n", ["1: build `one` has no `input`, and the command line names none"]),
    ("empty input", "[build.one]\ninput = ''\n[build.two]\ninput = []\n",
     ["2: `input` is empty", "4: `input` is empty: give strings"]),
    ("target and flags", f"{ONE}target = 'arm'\nflags = ['--target=s390x-linux-gnu']\n",
     ["1: `target` of build `one` is `arm`, and its `flags` have --target=s390x-linux-gnu"]),
    ("target and flags of axes", "[defaults]\ninput='a.h'\nflags=['-target', 'arm-linux-gnueabi']\n[axis.m.s390x]\ntarget='s390x'\n[axis.n.a]\n[axis.n.b]\n",
     ["6: `target` of build `s390x-a` is `s390x`, and its `flags` have --target=arm-linux-gnueabi"]),
    ("two targets", "[defaults]\ninput='a.h'\n[axis.m.one]\ntarget='s390x'\n[axis.n.two]\ntarget='arm'\n[axis.o.x]\n[axis.o.y]\n",
     ["6: `target` of [axis.n.two] contradicts that of [axis.m.one]"]),
    ("two configurations", "[defaults]\ninput='a.h'\n[axis.m.one]\nconfig=['A']\n[axis.n.two]\nconfig=['!A']\n",
     ["6: `config` of [axis.n.two] contradicts that of [axis.m.one]"]),
    ("exclude nothing", f"exclude = ['onne']\n{ONE}", ["1: `exclude` has `onne`, which matches no build (did you mean `one`?)"]),
    ("exclude all", f"exclude = ['*']\n{ONE}", ["1: `exclude` leaves no build"]),
    ("too many", "[defaults]\ninput='a.h'\n" + "".join(f"[axis.a{n}.x{m}]\n" for n in range(10) for m in range(3)),
     ["1: the matrix has 59,049 builds, more than the limit of 1,000"]),
    ("outsized", "#" * (1 << 20) + "\n", ["1: longer than 1048576 characters, the limit"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "messages"), [case[1:] for case in MISTAKES], ids=[case[0] for case in MISTAKES])
def test_mistakes(tmp_path, text, messages):
    with pytest.raises(RuleFileError) as raised:
        load(tmp_path, text)
    assert raised.value.messages == tuple(f"matrix.toml:{message}" for message in messages)


UNREADABLE = [
    # what makes the file, what is said
    (lambda path: None, "matrix.toml: no such file or directory"),
    (lambda path: path.mkdir(), "matrix.toml: is a directory"),
    (lambda path: path.write_bytes(b"\x7fELF\2\1\1\xff"), "matrix.toml:1: not UTF-8 (byte 0xff)"),
    (lambda path: path.write_bytes(b"a = 1\n\xff"), "matrix.toml:2: not UTF-8 (byte 0xff)"),
    (lambda path: path.open("wb").truncate(1 << 40), "matrix.toml:1: longer than 1048576 characters, the limit"),
    (lambda path: path.write_text("é" * (3 << 20)), "matrix.toml:1: longer than 1048576 characters, the limit"),
]


@pytest.mark.parametrize(("make", "message"), UNREADABLE, ids=[text_message for _, text_message in UNREADABLE])
def test_what_is_no_matrix(tmp_path, make, message):
    make(tmp_path / "matrix.toml")
    with pytest.raises(RuleFileError) as raised:
        matrix_file.load("matrix.toml")
    assert raised.value.messages == (message,)


def test_the_example_of_the_manual(tmp_path):
    text = (ROOT / "docs/matrix.md").read_text().split("```toml\n")[1].split("```")[0]
    assert [build.name for build in load(tmp_path, text)] == ["x86_64-smp", "x86_64-up", "s390x-smp", "s390x-up", "shipped"]


def test_every_key_is_documented():
    manual = (ROOT / "docs/matrix.md").read_text()
    assert [key for key in (*matrix_file.BUILD_KEYS, *matrix_file.TOP_KEYS) if f"| `{key}` |" not in manual and f"[{key}" not in manual and f"{key} = [" not in manual] == []

"""What the command says of options that cannot be carried out, and of structs that cannot be told."""

from __future__ import annotations

import json

import pytest

from tests.harness.command import run
from tests.oracles.c_probe import compile_c
from tests.randstruct import golden

SEED = "0123456789abcdeffedcba98765432100f1e2d3c4b5a69788796a5b4c3d2e1f0"
RAND = ("--randstruct", "gcc-full", "--seed", SEED)
SOURCE = """
#define RAND __attribute__((randomize_layout))
typedef int calls_t(void);
struct marked { char a; long b; short c; } RAND;
struct unmarked { char a; long b; short c; };
struct calls { calls_t *one; int (*two)(void); int (*const three[2])(long); };
struct holder { char before; struct marked inside; char behind; };
typedef struct { char a; long b; short c; } RAND untagged_t;
struct has_untagged { char before; untagged_t inside; };
struct unnamed_bits { int a : 3; int : 4; int b : 5; long c; } RAND;
struct broken { int a : 3; int : 0; int b : 5; long c; } RAND;
union each { int a; char b; };
struct lone { unsigned char : 2; unsigned char b : 1; } RAND;
struct tail { char a; long b; short c; char last[1]; } RAND;
struct both { int a : 3 __attribute__((aligned(8))); char b; } RAND;
struct ____keep { struct holder h; struct calls c; struct has_untagged u; struct unnamed_bits n; struct unmarked m; struct both b;
	struct tail t; struct broken k; struct lone o; union each e; } keep;
"""

HIDDEN = (
    "layoutlint: note: this input does not show bit-fields without a name, and what is `packed`: "
    "randomised structs are assumed to have only what their declared layout shows\n"
)
USAGE = [
    # id, options, what is said
    ("no seed", ("--randstruct", "clang", "--format", "c"), "--randstruct clang needs the seed of the build: --seed FILE|HEX"),
    ("a seed alone", ("--seed", SEED), "--seed needs --randstruct"),
    ("names alone", ("--randomized", "a"), "--randomized needs --randstruct"),
    ("a version alone", ("--kernel-version", "6.1"), "--kernel-version needs --randstruct"),
    ("a short seed", (*RAND[:3], SEED[:63]), "a seed is 64 hexadecimal digits; here are 63"),
    ("no version", (*RAND, "--kernel-version", "six"), "--kernel-version 'six': expected X.Y, such as 6.12; --kernel names a tree"),
    ("no source", (*RAND, "--kernel-version", "/"), "--kernel-version '/': is no kernel tree (source, build folder or header package); --kernel names a tree"),
    ("an early version", (*RAND, "--kernel-version", "4.9"), "Linux randomises layouts since 4.13"),
    ("no name", (*RAND, "--randomized", "struct marked"), "'struct marked' is not the name of a struct"),
    ("a name both ways", (*RAND, "--randomized", "marked,!marked"), "`marked` is given both with and without `!`"),
    ("a name twice", (*RAND, "--randomized", "marked", "--randomized", "tail,marked"), "`marked` is given twice"),
    ("no such member", (*RAND, "--randomized", "marked.none"), "struct marked has no struct without a name that holds `none`"),
]  # fmt: skip


@pytest.fixture
def source(tmp_path):
    path = tmp_path / "structs.c"
    path.write_text(SOURCE)
    return path


@pytest.fixture
def compiled(tmp_path):
    return compile_c("gcc", SOURCE, tmp_path / "compiled.o", "-g", "-c")


@pytest.mark.parametrize(("options", "message"), [case[1:] for case in USAGE], ids=[case[0] for case in USAGE])
def test_bad_usage(options, message, source):
    done = run("show", source, "marked", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr


UNKNOWN = [
    # id, kind of input, struct, options, what is said
    ("no marks in DWARF", "compiled", "marked", RAND, "this input does not show which structs are marked to be randomised: name them"),
    ("versions differ", "source", "tail", RAND, "it depends on the version of Linux"),
    ("bit-fields without a name in DWARF", "compiled", "unnamed_bits", (*RAND, "--randomized", "unnamed_bits"), "a bit-field without a name, that this input does not show"),
    ("aligned bit-field in DWARF", "compiled", "both", (*RAND, "--randomized", "both"), "the alignment of `a` is not known"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "struct", "options", "message"), [case[1:] for case in UNKNOWN], ids=[case[0] for case in UNKNOWN])
def test_what_cannot_be_told(kind, struct, options, message, request):
    done = run("show", request.getfixturevalue(kind), struct, *options)
    assert done.returncode == 3
    assert message in done.stderr


@pytest.mark.parametrize("kind", ["source", "compiled"])
@pytest.mark.parametrize("outer", ["holder", "has_untagged"])
def test_what_holds_a_randomised_struct_is_laid_out_around_it(kind, outer, request):
    path = request.getfixturevalue(kind)
    marked = () if kind == "source" else ("--randomized", "marked,untagged_t")
    shown, message, status = golden.show(path, [outer, "marked", "untagged_t"], *RAND, "--kernel-version", "6.12", *marked)
    assert (status, message) == (0, "" if kind == "source" else HIDDEN)
    inner = golden.bits(shown["marked" if outer == "holder" else "untagged_t"])
    found = golden.bits(shown[outer])
    assert {path.removeprefix("inside."): bit - found["inside"] for path, bit in found.items() if "." in path} == inner
    assert shown[outer]["randomised"]["own"] is False


@pytest.mark.parametrize("kind", ["source", "compiled"])
def test_structs_of_function_pointers_need_no_mark(kind, request):
    shown, message, status = golden.show(request.getfixturevalue(kind), ["calls"], *RAND, "--kernel-version", "6.12")
    assert (status, message) == (0, "" if kind == "source" else HIDDEN)
    assert shown["calls"]["randomised"]["own"] is True


@pytest.mark.exhaustive
def test_the_release_of_a_series_that_is_meant(source):
    """Two numbers mean the last release; where earlier ones differ, that is said."""
    seeds = [f"{number:064x}" for number in range(8)]
    for seed in seeds:
        done, early, late = (
            run("show", source, "tail", "--randstruct", "gcc-full", "--seed", seed, "--kernel-version", version)
            for version in ("6.6", "6.6.2", "6.6.3")
        )
        table = [text.stdout.split("\n\n")[1] for text in (done, early, late)]
        assert table[0] == table[2]
        assert ("taken as of the last release of Linux 6.6" in done.stderr) == (table[1] != table[2])
        assert (early.stderr, late.stderr) == ("", "")


@pytest.mark.parametrize(("struct", "status"), [("tail", 3), ("marked", 0)])
def test_a_series_of_which_it_is_not_known(struct, status, source):
    """No stable release of 6.2 is known to have the changes of 6.7."""
    done = run("show", source, struct, *RAND, "--kernel-version", "6.2.1")
    assert done.returncode == status
    assert ("it depends on which changes of the plugin Linux 6.2.1 has" in done.stderr) == (status == 3)


def test_clangs_that_differ(tmp_path):
    """Clang 22 shuffles a struct of function pointers that holds another, clang 19 does not."""
    (tmp_path / "nested.c").write_text(
        "struct inner { int (*a)(void); int (*b)(void); };\n"
        "struct outer { struct inner in; int (*c)(void); int (*d)(void); int (*e)(void); };\n"
    )
    done = run("show", tmp_path / "nested.c", "outer", "inner", "--randstruct", "clang", "--seed", SEED)
    assert done.returncode == 0
    assert "struct outer: taken as of clang 16 to 19" in done.stderr


FORMATS = [
    # format, what stands in it
    ("text", "its fields are in a random order: gcc-full of Linux 6.12, seed with SHA-256"),
    ("c", "/* its fields are in a random order: gcc-full of Linux 6.12, seed with SHA-256"),
    ("json", '"randomised": {"mode": "gcc-full", "seed_sha256": "'),
]


@pytest.mark.parametrize(("format_", "expected"), FORMATS)
def test_every_format_says_that_the_order_is_random(format_, expected, source):
    done = run("show", source, "marked", *RAND, "--kernel-version", "6.12", "--format", format_)
    assert done.returncode == 0
    assert expected in " ".join(done.stdout.split()).replace("* /", "*/")


def test_names_from_a_file(tmp_path, compiled):
    (tmp_path / "names").write_text("# marked ones\nmarked, !calls  # and one that is not\n")
    shown, _, status = golden.show(compiled, ["marked", "calls"], *RAND, "--randomized", str(tmp_path / "names"))
    assert status == 0
    assert [shown[name]["randomised"] is None for name in ("marked", "calls")] == [False, True]


def test_elements_of_an_array_without_a_length(tmp_path):
    """Of a struct without a name: how large one is follows from its members."""
    inner = "struct { char x; long y; short z; int w; }"
    mark = "__attribute__((randomize_layout))"
    text = f"struct one {{ int n; {inner} {mark} e; }};\nstruct many {{ int n; {inner} {mark} e[]; }};\nstruct plain {{ int n; {inner} e[0]; }};\n"
    (tmp_path / "arrays.c").write_text(text)
    shown, message, status = golden.show(tmp_path / "arrays.c", ["one", "many", "plain"], *RAND, "--kernel-version", "6.12")
    assert (status, message) == (0, "")
    assert golden.bits(shown["one"]) != golden.bits(shown["plain"])
    assert [golden.bits(shown[name])["e"] for name in shown] == [64] * 3


def test_a_bad_name_in_a_file(tmp_path, compiled):
    (tmp_path / "names").write_text("marked\n\nstruct*\n")
    done = run("show", compiled, "marked", *RAND, "--randomized", tmp_path / "names")
    assert done.returncode == 2
    assert f"{tmp_path}/names:3: 'struct*' is not the name of a struct" in done.stderr


def test_a_file_of_names_without_end(tmp_path, compiled):
    """It is refused, and not cut off where names may follow."""
    (tmp_path / "names").write_text("#" * (1 << 20) + "\nmarked\n")
    done = run("show", compiled, "marked", *RAND, "--randomized", tmp_path / "names")
    assert done.returncode == 2
    assert f"{tmp_path}/names: has more than 1048576 characters: it is not a file of names" in done.stderr


VAIN = [
    # names, the notes on them
    ("marked", ()),
    ("marked,tail", ()),
    ("!calls,unmarked,untagged_t", ()),
    ("markd", ("--randomized: struct markd is in none of the inputs (did you mean `marked`?)",)),
    ("marked,!gone,far.away", ("--randomized: struct gone is in none of the inputs", "--randomized: struct far is in none of the inputs")),
    ("each", ("--randomized: struct each is in none of the inputs",)),
]  # fmt: skip
RULES = """
[pack]
name = "test"
[[rule]]
id = "near"
struct = "marked"
kind = "together"
fields = ["a", "b"]
severity = "note"
why = "a test"
"""


@pytest.mark.exhaustive
@pytest.mark.parametrize("kind", ["source", "compiled"])
@pytest.mark.parametrize(("names", "notes"), VAIN)
def test_names_that_mean_nothing_are_said(kind, names, notes, request, tmp_path):
    """Also those of structs that nobody asked for, and without a seed; a union is none."""
    (tmp_path / "rules.toml").write_text(RULES)
    path = request.getfixturevalue(kind)
    done = run("show", path, "marked", *RAND, "--kernel-version", "6.12", "--randomized", names)
    message = [line.removeprefix("layoutlint: note: ") for line in done.stderr.splitlines() if "is in none of" in line]
    assert message == list(notes)
    for seed in (RAND[2:], ()):
        done = run(
            "check", path, "--rules", tmp_path / "rules.toml", "--no-packs", "--format", "json",
            *RAND[:2], *seed, "--kernel-version", "6.12", "--randomized", names,
        )  # fmt: skip
        output = json.loads(done.stdout)["inputs"][0]["notes"]
        assert [note for note in output if "is in none of" in note] == list(notes)


def test_a_name_counts_where_one_input_has_it(tmp_path):
    """And a member where one definition has it: elsewhere the struct is only declared, or another one."""
    texts = {
        "has": "struct other { int n; struct { char x; long y; short z; }; }; struct marked { char a; long b; } one; struct other two;",
        "declares": "struct other; struct marked { char a; long b; struct other *c; } one;",
    }
    paths = [compile_c("gcc", text, tmp_path / f"{name}.o", "-g", "-c") for name, text in texts.items()]
    (tmp_path / "rules.toml").write_text(RULES)
    done = run("check", *paths, "--rules", tmp_path / "rules.toml", "--no-packs", *RAND, "--randomized", "marked,other.y")
    assert (done.returncode, done.stderr) == (0, "")
    assert "is in none of the inputs" not in done.stdout


def test_no_option_no_word(source):
    done = run("show", source, "marked", "--format", "json")
    assert json.loads(done.stdout)["structs"][0]["randomised"] is None

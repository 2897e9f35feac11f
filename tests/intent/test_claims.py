"""What comments claim about cache lines, held against layouts: which claims are found, and which are out of date."""

from __future__ import annotations

import json
import re
import subprocess
from time import process_time

import pytest

from layoutlint.intent import claims
from tests.harness.command import run
from tests.oracles.c_probe import compile_c

HEADER = """\
struct ended {{
	long a[8];
	{0}
	long b;
	{1}
	long c[7];
	{2}
	long d;
}} __attribute__((aligned({align})));
"""
CLAIMS = [
    # The comments at 64, 72 and 128, the alignment, and (rule, outcome) of what they come to.
    ("as pahole says it", ("/* --- cacheline 1 boundary (64 bytes) --- */", "", "/* --- cacheline 2 boundary (128 bytes) --- */"), 64,
     [("b", "kept"), ("d", "kept")]),
    ("which went on", ("", "/* --- cacheline 1 boundary (64 bytes) was 8 bytes ago --- */", ""), 64, [("c", "kept")]),
    ("and is out of date", ("/* --- cacheline 2 boundary (128 bytes) --- */", "/* --- cacheline 1 boundary (64 bytes) --- */", ""), 64,
     [("b", "broken"), ("c", "broken")]),
    ("numbered from 0", ("/* cache line 1 starts here */", "", "/* Cacheline 2 */"), 64, [("b", "kept"), ("d", "kept")]),
    ("numbered from 1", ("/* second: start of cache line 2 */", "", "/* start of cacheline 3 */"), 64, [("d", "kept")]),
    ("all numbered from 1", ("/* start of cacheline 2 */", "", "/* cache-line 3 */"), 64, [("b", "kept"), ("d", "kept")]),
    ("numbered wrongly", ("/* cache line 4 starts here */", "", ""), 64, [("b", "broken")]),
    ("an ordinal", ("/* 2nd cacheline, used by the reader */", "", "/* the 3rd cache line */"), 64, [("b", "kept"), ("d", "kept")]),
    ("a wrong one", ("/* 1st cacheline */", "", ""), 64, [("b", "broken")]),
    ("that holds at some bases", ("", "", "/* 4th cacheline */"), 8, [("d", "broken")]),
    ("or so", ("", "", "/* cacheline 0 */"), 8, [("d", "broken")]),
    ("at any base", ("/* 3rd cacheline */", "", ""), 8, [("b", "broken")]),
    ("at one of them", ("", "/* 3rd cacheline */", ""), 8, [("c", "kept")]),
    ("read and written apart", ("/* read-mostly */", "/* never used */", "/* written often */"), 64, []),
    ("read and written on lines of their own", ("/* read-mostly */", "/* never used */", "/* write-mostly part */"), 64, [("sections", "kept")]),
    ("read beside written", ("/* mostly read */", "/* frequently written */", ""), 64, [("sections", "broken")]),
    ("which may be apart", ("", "/* read-write */", "/* TX read-mostly fields */"), 8, [("sections", "kept")]),
    ("read alone", ("/* read-mostly */", "", ""), 64, []),
    ("no claims", ("/* a cache line is 64 bytes */", "/* cacheline 64 bytes */", "/* the cache */"), 64, []),
    ("behind a declaration", ("long e; /* cache line 7 */", "", ""), 64, []),
    ("in another configuration", ("#ifdef NEVER\n/* cache line 7 */\nlong e;\n#endif", "", ""), 64, []),
]  # fmt: skip
RULES = ("--no-packs", "--comments", "--format", "json")
FLAGS = ("--", "--target=x86_64-linux-gnu")


def judge(report: dict) -> list[tuple[str, str]]:
    return [(f["rule"].removeprefix("comment/ended/"), f["outcome"]) for f in (*report["findings"], *report["kept"])]


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("comments", "align", "expected"), [case[1:] for case in CLAIMS], ids=[case[0] for case in CLAIMS])
def test_claims(comments, align, expected, tmp_path):
    (tmp_path / "ended.h").write_text(HEADER.format(*comments, align=align))
    done = run("check", tmp_path / "ended.h", *RULES, *FLAGS)
    if not expected:
        assert done.returncode == 2
        assert "no rules apply to these inputs" in done.stderr
        return
    report = json.loads(done.stdout)
    assert sorted(judge(report)) == expected
    assert done.returncode == ("broken" in dict(expected).values())


STALE = HEADER.format("/* --- cacheline 2 boundary (128 bytes) --- */", "", "", align=64)


def test_a_finding_has_the_right_number_and_its_place(tmp_path):
    (tmp_path / "ended.h").write_text(STALE)
    (finding,) = json.loads(run("check", tmp_path / "ended.h", *RULES, *FLAGS).stdout)["findings"]
    assert finding["message"] == "`b` at 64..71 begins at 64, 64 bytes before 128"
    assert finding["why"] == "comment says `--- cacheline 2 boundary (128 bytes) ---`"
    assert finding["intent"] == {"by": "comment", "file": str(tmp_path / "ended.h"), "line": 3}
    assert finding["severity"] == "warning"


@pytest.mark.parametrize("compiler", ["gcc", "clang"])
def test_a_compiled_input_with_its_sources(compiler, tmp_path):
    sources = tmp_path / "sources"
    sources.mkdir()
    (sources / "ended.h").write_text(STALE)
    compile_c(compiler, f'#include "{sources}/ended.h"\nstruct ended ended;\n', tmp_path / "ended.o", "-g", "-c")
    done = run("check", tmp_path / "ended.o", "--sources", sources, *RULES)
    assert (done.returncode, judge(json.loads(done.stdout))) == (1, [("b", "broken")])
    moved = STALE.replace("long a[8];\n", "long a[8];\n\t/* one more */\n\n\n")
    (sources / "ended.h").write_text(moved)
    done = run("check", tmp_path / "ended.o", "--sources", sources, *RULES[:-2], "--rules", _rule(tmp_path))
    assert done.returncode == 3
    assert re.search(r"ended\.h: does not match \S+ended\.o: line \d+ does not declare `\w` of struct ended", " ".join(done.stdout.split()))


def _rule(folder):
    (folder / "r.toml").write_text('[[rule]]\nid = "r"\nstruct = "ended"\nkind = "size"\nmax = 4096\nwhy = "a test"\n')
    return folder / "r.toml"


def test_a_folder_of_headers(tmp_path):
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / f"{name}.h").write_text(STALE.replace("ended", name))
    (tmp_path / "plain.h").write_text("struct plain { long a; };\n")
    report = json.loads(run("check", tmp_path, *RULES, *FLAGS).stdout)
    assert sorted(f["struct"] for f in report["findings"]) == ["one", "two"]
    report = json.loads(run("check", tmp_path, *RULES, "--struct", "t*", *FLAGS).stdout)
    assert [f["struct"] for f in report["findings"]] == ["two"]


def two_trees(folder):
    """Two trees with a file of one path, which declare a struct otherwise and claim other things of it."""
    for name, text in (("old", STALE), ("new", "\n\n" + RIGHT)):
        (folder / name / "include").mkdir(parents=True)
        (folder / name / "include" / "ended.h").write_text(text)
    return folder / "old", folder / "new"


RIGHT = HEADER.replace("long b;", "int first;\n\tlong b;").format("", "/* --- cacheline 1 boundary (64 bytes) was 16 bytes ago --- */", "", align=64)
BOTH = [("b", "broken"), ("c", "kept")]


@pytest.mark.parametrize("turn", [1, -1], ids=["the old one first", "the new one first"])
def test_each_input_has_its_own_text(turn, tmp_path):
    trees = two_trees(tmp_path)
    done = run("check", *trees[::turn], *RULES, *FLAGS)
    assert (done.returncode, sorted(judge(json.loads(done.stdout)))) == (1, BOTH)


def test_each_build_has_its_own_text(tmp_path):
    two_trees(tmp_path)
    (tmp_path / "m.toml").write_text('[build.old]\ninput = "old"\n[build.new]\ninput = "new"\n')
    done = run("check", "--matrix", tmp_path / "m.toml", *RULES, *FLAGS)
    assert (done.returncode, sorted(judge(json.loads(done.stdout)))) == (1, BOTH)


def test_a_matrix_needs_text_in_one_of_its_builds(tmp_path):
    (tmp_path / "m.toml").write_text('[build.one]\ninput = "a.o"\n[build.other]\ninput = "b.o"\n')
    done = run("check", "--matrix", tmp_path / "m.toml", *RULES)
    assert (done.returncode, "--comments needs C sources" in done.stderr) == (2, True)


def test_it_needs_text(tmp_path):
    (tmp_path / "a.c").write_text("int a;\n")
    subprocess.run(["cp", tmp_path / "a.c", tmp_path / "a.o"], check=True)
    done = run("check", tmp_path / "a.o", "--comments")
    assert done.returncode == 2
    assert "--comments needs C sources: as INPUT, or below --sources" in done.stderr


@pytest.mark.parametrize("text", [b"\xff\xfe/* cache line 1 */ struct s {", b"struct s { /* cacheline 1", b"struct s {\n/* cacheline 1 */\n}"])
def test_rubbish_is_no_harm(text, tmp_path):
    (tmp_path / "bad.h").write_bytes(text)
    (tmp_path / "ended.h").write_text(STALE)
    done = run("check", tmp_path / "ended.h", "--sources", tmp_path, *RULES, *FLAGS)
    assert done.returncode == 1


RUBBISH = [
    "struct a {{\n/* cacheline {} */\n",
    "struct a {{\n/* read mostly */\nint a;\n",
    "/* read mostly {} */\nint a;\nstruct a {{}};\n",
    "/* read mostly {} */ struct a {{ ",
    "struct a {{ /* cacheline {} */\n}}\n",
    "/* cacheline {} */",
    "typedef struct\n",
    "struct a{}\n",
    "a{}",
    "/*- ",
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize("line", RUBBISH)
def test_rubbish_takes_no_time(line, tmp_path):
    """Files of a megabyte, in which heads, braces and comments never end; the struct before is found in each."""
    lines = "".join(line.format(number) for number in range(80_000))[:1_000_000]
    (tmp_path / "long.h").write_text(f"{STALE}struct {lines}")
    started = process_time()
    found = claims.read([str(tmp_path)], [])
    assert process_time() - started < 20
    assert "ended" in found.structs


def test_a_comment_outside_of_structs_takes_no_other_its_turn(tmp_path):
    """However many structs a file has, and however many comments that are in none of them."""
    header = "struct a{0} {{\n\tint a;\n}};\n/* read mostly */\nextern int a{0};\n"
    (tmp_path / "many.h").write_text("".join(map(header.format, range(3000))) + STALE)
    assert list(claims.read([str(tmp_path)], []).structs) == ["ended"]

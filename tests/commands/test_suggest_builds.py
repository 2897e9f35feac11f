"""`layoutlint suggest --matrix` as a user calls it: one order for several builds."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.tools import NEEDS_SOLVER, need

pytestmark = [NEEDS_SOLVER, pytest.mark.usefixtures("whole_runs")]

RULES = """
[[rule]]
id = "apart"
struct = "ring"
kind = "separate"
fields = [["head"], ["tail"]]
why = "the producer writes head while all read tail"
"""
RING = """\
struct ring {
\tlong head;\t/* written by the producer */
\tint tail;\t/* read by all */
#ifdef CONFIG_STATS
\tlong stats[3];
#endif
\tchar name[30];
\tint slot;
\tchar owner[30];
};
"""
MATRIX = """
[axis.machine.x86_64]
target = "x86_64"
[axis.machine.i386]
target = "i386"
[axis.stats.on]
config = ["STATS"]
[axis.stats.off]
config = ["!STATS"]
"""
BUILDS = ["x86_64-on", "x86_64-off", "i386-on", "i386-off"]


def suggest(folder: Path, *words: str, text: str = RING, rules: str = RULES, matrix: str = MATRIX):
    (folder / "ring.h").write_text(text)
    (folder / "rules.toml").write_text(rules)
    (folder / "matrix.toml").write_text(matrix)
    options = ("--rules", "rules.toml", "--no-packs", "--matrix", "matrix.toml")
    return run("suggest", *words, *options, cwd=folder)


def document(folder: Path, *words: str, **options):
    return json.loads(suggest(folder, "ring.h", "ring", *words, "--format", "json", **options).stdout)


@pytest.fixture(scope="module")
def outputs(tmp_path_factory):
    """Return the folder of one run, with its text, JSON and patch."""
    folder = tmp_path_factory.mktemp("builds")
    done = suggest(folder, "ring.h", "ring", "--output", "json=made.json", "--output", "patch=made.patch")
    (folder / "text").write_text(done.stdout)
    return folder


def test_one_order_keeps_the_rule_in_all_builds(outputs):
    made = json.loads((outputs / "made.json").read_text())
    assert (made["status"], made["input"], made["kept"]) == ("optimal", "matrix.toml", ["apart"])
    assert made["order"] == ["head", "stats", "name", "slot", "owner", "tail"]
    assert [move["member"] for move in made["moves"]] == ["tail"]
    assert (made["offsets"], made["size"]) == ([], None)
    assert [each["build"] for each in made["builds"]] == BUILDS
    sizes = [each["size"] for each in made["builds"]]
    assert sizes == [[112, 104], [80, 80], [88, 88], [76, 76]]
    assert made["aims"][1] == {"aim": "size", "before": 356, "after": 348, "bound": 348}
    with_stats, without = made["builds"][:2]
    assert without["order"] == ["head", "name", "slot", "owner", "tail"]
    assert with_stats["offsets"] == [0, 8, 32, 64, 68, 100]
    assert with_stats["offsets_before"] == [0, 16, 40, 72, 76, 8]
    assert {rule["after"] for each in made["builds"] for rule in each["rules"]} == {"kept"}


def test_the_patch_has_the_promised_offsets_in_all_builds(outputs, tmp_path):
    need("gcc", "-m32", "-c")
    need("git")
    made = json.loads((outputs / "made.json").read_text())
    patch = (outputs / "made.patch").read_text()
    for name in ("ring.h", "rules.toml", "matrix.toml"):
        (tmp_path / name).write_text((outputs / name).read_text())
    assert all(len(line) <= 75 for line in patch.partition("---")[0].splitlines())
    subprocess.run(["git", "apply", "-"], input=patch, text=True, cwd=tmp_path, check=True)
    for build in made["builds"]:
        source = '#include "ring.h"\n' + "".join(
            f'_Static_assert(__builtin_offsetof(struct ring, {name}) == {offset}, "{name}");\n'
            for name, offset in zip(build["order"], build["offsets"], strict=True)
        )
        flags = ["-m32" if "i386" in build["build"] else "-m64"]
        flags += ["-DCONFIG_STATS"] if build["build"].endswith("on") else []
        command = ["gcc", *flags, "-fsyntax-only", "-x", "c", "-"]
        subprocess.run(command, input=source, text=True, cwd=tmp_path, check=True)
    checked = run(
        "check", "ring.h", "--rules", "rules.toml", "--matrix", "matrix.toml", "--quiet", cwd=tmp_path
    )
    assert checked.returncode == 0


def test_the_text_has_the_offsets_of_each_build(outputs):
    text = (outputs / "text").read_text()
    assert "  broken -> kept  apart in i386-* (2)\n" in text
    assert "    B: x86_64-off\n" in text
    assert " 8 -> 100   8 -> 76   4 -> 84   4 -> 72  tail  <- moves\n" in text
    assert "348 bytes in all 4 builds together, before 356" in text


CONTRADICTIONS = [  # the rules of one build contradict, those of two builds, and none that applies
    ("max = 64\nwhen = { arch = ['i386'] }", [["size"]], [["i386-on"]], 1),
    ("max = 76\nwhen = { arch = ['i386'] }", [["size"]], [["i386-on"]], 1),
    ("max = 64\nwhen = { arch = ['s390x'] }", [], [], 0),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("size", "core", "builds", "status"), CONTRADICTIONS)
def test_contradictions_are_named_with_their_builds(tmp_path, size, core, builds, status):
    rule = f'\n[[rule]]\nid = "size"\nstruct = "ring"\nkind = "size"\nwhy = "w"\n{size}\n'
    done = suggest(tmp_path, "ring.h", "ring", "--format", "json", rules=RULES + rule)
    made = json.loads(done.stdout)
    assert [[each["rule"]] for each in made["core_rules"]] == core
    assert [each["builds"] for each in made["core_rules"]] == builds
    assert done.returncode == status


def test_a_build_without_the_struct_is_named(tmp_path):
    matrix = MATRIX + '\n[build.other]\ninput = "other.h"\n'
    (tmp_path / "other.h").write_text("struct queue { int head; };\n")
    made = document(tmp_path, matrix=matrix)
    assert made["status"] == "optimal"
    assert "no struct ring is in other" in made["notes"]


def test_builds_of_different_files_have_no_patch(tmp_path):
    (tmp_path / "copy.h").write_text(RING)
    matrix = '[build.a]\ninput = "ring.h"\n[build.b]\ninput = "copy.h"\n'
    done = suggest(tmp_path, "ring", "--patch", matrix=matrix)
    assert done.returncode == 3
    assert "no patch: the builds read different files: ring.h and copy.h" in done.stderr


ORDERS = {
    "a.h": "struct ring {\n long head;\n int tail;\n char name[70];\n};\n",
    "b.h": "struct ring {\n int tail;\n long head;\n char name[70];\n};\n",
}


BITS = {
    "a.h": "struct ring { long head; int x : 3; int y : 3; int tail; char name[70]; };\n",
    "b.h": "struct ring { int x : 3; long head; int y : 3; int tail; char name[70]; };\n",
}


def test_builds_that_declare_other_orders_share_one(tmp_path):
    for name, text in ORDERS.items():
        (tmp_path / name).write_text(text)
    matrix = '[build.a]\ninput = "a.h"\n[build.b]\ninput = "b.h"\n'
    made = json.loads(suggest(tmp_path, "ring", "--format", "json", matrix=matrix).stdout)
    assert made["refusals"] == []
    assert (made["status"], len(made["moves"])) == ("optimal", 1)
    assert made["order"] in (["head", "name", "tail"], ["tail", "name", "head"])
    assert [each["order"] for each in made["builds"]] == [made["order"]] * 2
    note = "its builds declare `head` and `tail` in different orders: moves count from the order of a"
    assert note in made["notes"]
    assert made["no_patch"] == "the builds read different files: a.h and b.h"


def test_bit_fields_in_different_orders_are_refused(tmp_path):
    for name, text in BITS.items():
        (tmp_path / name).write_text(text)
    done = suggest(tmp_path, "ring", matrix='[build.a]\ninput = "a.h"\n[build.b]\ninput = "b.h"\n')
    assert done.returncode == 3
    assert "in different orders, and bit-fields are in between" in done.stdout


def test_a_build_that_shuffles_the_members_is_refused(tmp_path):
    random = '[build.b]\ninput = "ring.h"\nrandstruct = "gcc-full"\nrandomized = ["ring"]\nseed = "SEED"\n'
    done = suggest(
        tmp_path, "ring", matrix=random.replace("SEED", "0" * 64) + '[build.a]\ninput = "ring.h"\n'
    )
    assert done.returncode == 3
    assert "refused: in b: the build puts its fields into a random order" in done.stdout


def test_equal_builds_count_each(tmp_path):
    text = "struct ring {\n\tchar a;\n\tlong head;\n\tint tail;\n\tlong b;\n};\n"
    made = document(tmp_path, "--smallest", text=text, rules="", matrix=MATRIX.replace("i386", "aarch64"))
    assert made["aims"][0] == {"aim": "size", "before": 128, "after": 96, "bound": 96}


USAGE = [
    (("ring",), "has no `input`, and the command line names none", 2),
    (("ring.h", "ring", "more"), "no build has a struct more", 3),
    ((), "Missing argument 'STRUCT'", 2),
    (("ring.h", "r*"), "'r*' is a pattern", 2),
    (("ring.h", "rings"), "no build has a struct rings (did you mean `ring`?)", 3),
    (("ring.h", "ring", "--output", "json=matrix.toml"), "matrix.toml", 2),
    (("ring.h", "ring", "--optimize", "lines"), "no build has any", 2),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("words", "message", "status"), USAGE)
def test_usage_errors(tmp_path, words, message, status):
    done = suggest(tmp_path, *words)
    assert (done.returncode, done.stdout) == (status, "")
    assert message in done.stderr


def test_an_alternative_for_several_builds_is_not_supported(tmp_path):
    rules = RULES + '[[rule]]\nid = "near"\nstruct = "ring"\nkind = "adjacent"\nfields = ["head", "tail"]\nwhy = "w"\n'
    done = suggest(tmp_path, "ring.h", "ring", "--alternative", "1", rules=rules)
    assert done.returncode == 3
    assert "unknown: alignment is tried for one build, and not for the builds of a matrix together" in done.stdout


NAMELESS = """\
struct ring {
\tchar a;
\tstruct {
\t\tchar b;
\t\tvoid *c;
#ifdef CONFIG_STATS
\t\tint extra;
#endif
\t\tchar d;
\t};
\tlong e;
};
"""
OPENED = [
    # what is changed in the text, the moved members, the bytes of the struct in the builds
    (("", ""), ["b"], [32, 32, 20, 16]),
    (("#ifdef CONFIG_STATS\n\t\tint extra;\n#endif\n", ""), ["b"], [32, 32, 16, 16]),
    # no member moves inside of a struct that some builds declare in another way
    (("\tstruct {\n", "#ifdef CONFIG_STATS\n\tunion {\n#else\n\tstruct {\n#endif\n"), [], [24, 40, 12, 20]),
]


@pytest.mark.parametrize(("change", "moved", "sizes"), OPENED)
def test_members_of_structs_without_a_name_move_in_all_builds(tmp_path, change, moved, sizes):
    made = document(tmp_path, "--smallest", "--force", text=NAMELESS.replace(*change), rules="")
    assert [move["member"] for move in made["moves"]] == moved
    assert [build["size"][1] for build in made["builds"]] == sizes
    suggest(tmp_path, "ring.h", "ring", "--smallest", "--force", "--write", text=NAMELESS.replace(*change), rules="")
    shown = run("show", "ring.h", "ring", "--format", "json", "--", "-DCONFIG_STATS", "-target", "x86_64", cwd=tmp_path)
    assert json.loads(shown.stdout)["structs"][0]["size"] == sizes[0]

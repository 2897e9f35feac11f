"""`layoutlint suggest` as a user calls it."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from tests.harness.command import run
from tests.harness.tools import NEEDS_SOLVER, need

pytestmark = NEEDS_SOLVER

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
\tlong tail;\t/* read by all */
\tchar name[60];
\t/* the size of a slot,
\t * in bytes
\t */
\tint slot;
\tlong spare[8];
};
"""
CONTRADICTION = (
    RULES
    + """
[[rule]]
id = "side-by-side"
struct = "ring"
kind = "adjacent"
fields = ["head", "tail"]
why = "w"

[[rule]]
id = "small"
struct = "ring"
kind = "size"
max = 144
why = "w"
"""
)


def suggest(folder: Path, text: str, *words: str, rules: str = RULES, struct: str = "ring", name: str = "ring.h"):
    (folder / name).write_text(text)
    (folder / "rules.toml").write_text(rules)
    return run("suggest", name, struct, "--rules", "rules.toml", "--no-packs", *words, cwd=folder)


def document(folder: Path, text: str, *words: str, **options):
    return json.loads(suggest(folder, text, *words, "--format", "json", **options).stdout)


def test_the_fewest_moves_keep_the_rule(tmp_path):
    made = document(tmp_path, RING)
    assert made["status"] == "optimal"
    best = {  # by the member that `tail` moves behind: both orders are the best
        "slot": (["head", "name", "slot", "tail", "spare"], [0, 8, 68, 72, 80]),
        "spare": (["head", "name", "slot", "spare", "tail"], [0, 8, 68, 72, 136]),
    }
    (move,) = made["moves"]
    assert move["member"] == "tail"
    assert (made["order"], made["offsets"]) == best[move["behind"]]
    assert made["kept"] == ["apart"]
    assert made["size"] == [144, 144]


def test_the_patch_applies_and_keeps_the_rule(tmp_path):
    need("git")
    patch = suggest(tmp_path, RING, "--patch")
    assert patch.returncode == 0
    assert all(len(line) <= 75 for line in patch.stdout.split("---\n")[0].splitlines())
    (tmp_path / "p.patch").write_text(patch.stdout)
    subprocess.run(["git", "apply", "p.patch"], cwd=tmp_path, check=True)
    assert run("check", "ring.h", "--rules", "rules.toml", "--no-packs", cwd=tmp_path).returncode == 0
    written = (tmp_path / "ring.h").read_text()
    assert "\tlong tail;\t/* read by all */\n" in written[written.index("\tint slot;\n") :]


def test_write_changes_the_file_once(tmp_path):
    assert suggest(tmp_path, RING, "--write").returncode == 0
    written = (tmp_path / "ring.h").read_text()
    again = run("suggest", "ring.h", "ring", "--rules", "rules.toml", "--no-packs", "--write", cwd=tmp_path)
    assert again.returncode == 0
    assert "no member has to move" in again.stdout
    assert (tmp_path / "ring.h").read_text() == written != RING


def test_contradicting_rules_are_named(tmp_path):
    made = document(tmp_path, RING, rules=CONTRADICTION)
    assert made["status"] == "infeasible"
    assert made["core"] == ["apart", "side-by-side"]
    assert made["core_is_minimal"]
    assert made["patch"] is None
    assert suggest(tmp_path, RING, rules=CONTRADICTION).returncode == 1


SMALLEST = [
    # the members, the size after
    ("char a;\n long b;\n char c;", 16),
    ("char a;\n long b;\n char n;\n int data[];", 16),
    ("char a;\n int x:3, y:5;\n long b;\n char c;", 16),
    ("char a;\n struct {\n long p;\n char q;\n };\n union {\n int i;\n char j;\n };\n char b;", 24),
    ("int a;\n struct {\n char x;\n long y;\n } in;\n char z;", 24),
    ("char a;\n long b[3];\n char c;", 32),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("body", "size"), SMALLEST)
def test_the_smallest_size(tmp_path, body, size):
    made = document(tmp_path, f"struct ring {{\n {body}\n}};\n", "--smallest", rules="", name="s.h")
    assert made["status"] == "optimal"
    assert made["size"][1] == size
    again = run("show", "s.h", "ring", "--format", "json", cwd=apply(tmp_path, made["patch"]))
    assert json.loads(again.stdout)["structs"][0]["size"] == size


FIRST = [
    # members, the first of the smallest order, and its moves
    ("char a; long b; char c; int d;", "a", 1),
    ("int a; long b; int c; long d; int e;", "a", 1),
    ("int n; struct { long refs; int kind; } o; char a; long b; char c;", "n", 2),
    ("struct { char x; int y; }; long b; char c; int d; char e;", "x", 1),
    ("char a; long b, b2; int d; short f; char g;", "b", 1),  # with `a` in front, three move
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("members", "first", "moves"), FIRST)
def test_the_first_member_stays_first_unless_that_costs_moves(tmp_path, members, first, moves):
    made = document(tmp_path, f"struct ring {{\n{members.replace('; ', ';' + chr(10))}\n}};\n", "--smallest", rules="", name="s.h")
    assert (made["order"][0], len(made["moves"])) == (first, moves)
    assert any("is first in place of `a`" in note for note in made["notes"]) == (first == "b")


def apply(folder: Path, patch: str) -> Path:
    need("git")
    (folder / "p.patch").write_text(patch)
    subprocess.run(["git", "apply", "p.patch"], cwd=folder, check=True)
    return folder


REFUSALS = [
    # text, struct, words of the reason
    ("union ring {\n int a;\n long b;\n};\n", "it is a union"),
    ("struct ring {};\n", "it has no members"),
]


@pytest.mark.parametrize(("text", "reason"), REFUSALS)
def test_refusals(tmp_path, text, reason):
    result = suggest(tmp_path, text, rules="", name="s.h")
    assert result.returncode == 3
    assert reason in result.stdout


USES = [
    # C text after the struct, what forbids the only order (None: nothing does)
    ("struct ring r = { 1, 2 };\n", "positional-initialiser"),
    ("struct ring r = { .head = 1, .tail = 2 };\n", None),
    ("_Static_assert(__builtin_offsetof(struct ring, head) == 0, \"\");\n", "offset-assertion"),
    ("_Static_assert(sizeof(struct ring) == 144, \"\");\n", None),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("use", "kind"), USES)
def test_uses_of_the_order(tmp_path, use, kind):
    text = RING.replace("\tlong spare[8];\n", "").replace("[60]", "[4]")
    rules = RULES.replace('"separate"', '"order"').replace('[["head"], ["tail"]]', '["tail", "head"]')
    (tmp_path / "r.c").write_text('#include "ring.h"\n' + use.replace("144", "32"))
    made = document(tmp_path, text, "--sources", "r.c", rules=rules)
    assert [each["kind"] for each in made["refusals"]] == ([] if kind is None else [kind])
    assert made["status"] == ("optimal" if kind is None else "refused")
    forced = document(tmp_path, text, "--sources", "r.c", "--force", rules=rules)
    assert forced["status"] == "optimal"
    assert forced["moves"]


SORTED = """\
#include <stdlib.h>
struct ring { long key; char name[60]; long hot; } rings[3];
static int by_key(const void *a, const void *b) { return *(const long *)a > *(const long *)b; }
void sort(void) { qsort(rings, 3, sizeof rings[0], by_key); }
"""
HOT_FIRST = '[[rule]]\nid = "first"\nstruct = "ring"\nkind = "offset"\nfields = ["hot"]\nat = 0\nwhy = "w"\n'


@pytest.mark.parametrize("given", [("a.c",), ("a.o", "--sources", "."), ("a.o", "--sources", "compile_commands.json")])
def test_conversions_through_pointers_to_void_are_followed(tmp_path, given):
    """A key that `qsort` compares is first in the struct: from the source, and from debug information with the source."""
    need("gcc", "-c")
    (tmp_path / "a.c").write_text(SORTED)
    (tmp_path / "rules.toml").write_text(HOT_FIRST)
    words = ["gcc", "-g", "-c", "a.c"]
    (tmp_path / "compile_commands.json").write_text(json.dumps([{"directory": str(tmp_path), "file": "a.c", "arguments": words}]))
    subprocess.run(words, cwd=tmp_path, check=True)
    made = run("suggest", given[0], "ring", *given[1:], "--rules", "rules.toml", "--no-packs", "--format", "json", cwd=tmp_path)
    assert made.returncode == 3
    assert [(each["kind"], each["line"]) for each in json.loads(made.stdout)["refusals"]] == [("first-member-cast", 3)]


ERRORS = [
    # what a source asserts, whether the smallest order makes an error of it
    ("_Static_assert(sizeof(struct ring) >= 32, \"\");", True),
    ("extern char check[sizeof(struct ring) > 24 ? 1 : -1];", True),
    ("int f(int i) { switch (i) { case 24: return 1; case 0 + sizeof(struct ring): return 2; } return 0; }", True),
    ("_Static_assert(sizeof(struct ring) <= 32, \"\");", False),
    ("int f(int i) { return missing(i) + undeclared; }", False),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("use", "is_refused"), ERRORS)
def test_an_order_with_which_sources_do_not_compile_is_refused(tmp_path, use, is_refused):
    (tmp_path / "r.c").write_text(f'#include "ring.h"\n{use}\n')
    text = "struct ring {\n\tchar a;\n\tlong b;\n\tchar c;\n\tlong d;\n};\n"
    made = document(tmp_path, text, "--sources", "r.c", "--smallest", rules="")
    assert [(each["kind"], each["file"], each["line"]) for each in made["refusals"]] == [("compile-error", "r.c", 2)] * is_refused
    assert (made["status"], made["patch"] is None) == (("refused", True) if is_refused else ("optimal", False))


def test_the_file_that_defines_the_struct_is_searched_too(tmp_path):
    (tmp_path / "ring.h").write_text("struct ring {\n\tchar a; /* must be first */\n\tlong b;\n};\n")
    made = document(tmp_path, '#include "ring.h"\nstruct ring *r;\n', "--smallest", rules="", name="r.c")
    assert made["moves"] == []
    order = RULES.replace('"separate"', '"order"').replace('[["head"], ["tail"]]', '["b", "a"]')
    made = document(tmp_path, '#include "ring.h"\nstruct ring *r;\n', rules=order, name="r.c")
    assert [each["kind"] for each in made["refusals"]] == ["comment"]


def test_a_rule_that_is_only_judged_is_not_called_kept(tmp_path):
    rule = RULES.replace('"separate"', '"stride"').replace('fields = [["head"], ["tail"]]', 'array = "of"')
    result = suggest(tmp_path, "struct ring { long of[4]; };\n", rules=rule)
    assert result.returncode == 3
    assert "no order was searched that keeps apart" in result.stdout


INNER = "struct lock { int held; };\nstruct word { long of; };\nstruct pair { struct lock a; struct word b; };\n"
PATTERNS = [
    # the members of a struct, what moves: a pair inside of another struct is not its own
    ("struct lock a;\n struct word b;\n char c[120];", ["a"]),
    ("struct pair p;\n char c[120];", []),
]


@pytest.mark.parametrize(("body", "moves"), PATTERNS)
def test_rules_about_every_struct(tmp_path, body, moves):
    groups = '[["@type:struct lock"], ["@type:struct word"]]'
    rule = RULES.replace('"ring"', '"*"').replace('[["head"], ["tail"]]', groups)
    made = document(tmp_path, f"{INNER}struct ring {{\n {body}\n}};\n", rules=rule)
    assert made["status"] == "optimal"
    assert [move["member"] for move in made["moves"]] == moves
    assert [each["searched"] for each in made["rules"]] == [True]


USAGE = [
    (("--smallest", "--optimize", "lines"), "different aims"),
    (("--patch", "--format", "json"), "--output json=FILE"),
    (("--optimize", "lines"), "no access is declared"),
    (("--output", "json=ring.h"), "ring.h"),
]


@pytest.mark.parametrize(("words", "message"), USAGE)
def test_usage_errors(tmp_path, words, message):
    result = suggest(tmp_path, RING, *words)
    assert result.returncode == 2
    assert message in result.stderr
    assert (tmp_path / "ring.h").read_text() == RING


FIXED = [
    # what is checked, the compile_commands.json beside it: fixes are safe where C sources were searched
    ("use.c", True),
    ("ring.h", False),
]


@pytest.mark.parametrize(("name", "has_fix"), FIXED)
def test_findings_have_a_fix_where_it_is_safe(tmp_path, name, has_fix):
    (tmp_path / "ring.h").write_text(RING)
    (tmp_path / "use.c").write_text('#include "ring.h"\nlong f(struct ring *r) { return r->head; }\n')
    (tmp_path / "rules.toml").write_text(RULES)
    words = ("check", name, "--rules", "rules.toml", "--no-packs", "--suggest", "--output", "sarif=s.json")
    made = json.loads(run(*words, "--format", "rdjson", cwd=tmp_path).stdout)["diagnostics"][0]
    result = json.loads((tmp_path / "s.json").read_text())["runs"][0]["results"][0]
    assert ("suggestions" in made, "fixes" in result) == (has_fix, has_fix)
    if has_fix:
        (tmp_path / "ring.h").write_text(with_suggestion(RING, made["suggestions"][0]))
        check = run(*words[:5], "--format", "text", cwd=tmp_path)
        assert check.returncode == 0
        (change,) = result["fixes"][0]["artifactChanges"]
        assert change["artifactLocation"]["uri"] == "ring.h"
        assert change["replacements"][0]["insertedContent"]["text"] == made["suggestions"][0]["text"] + "\n"


LINES = [
    # the text before a struct on its own lines, and behind it: only a line feed ends a line
    ("", "\n"),
    ("/* a form feed: \f */\n/* \v \x1c \x85 \u2028 */\n", "\n"),
    ("", ""),
]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("before", "end"), LINES)
def test_fixes_are_at_their_lines(tmp_path, before, end):
    text = f"{before}struct ring {{ long head; int tail; char name[60]; }};{end}"
    (tmp_path / "ring.h").write_text(text)
    (tmp_path / "use.c").write_text('#include "ring.h"\nlong f(struct ring *r) { return r->head; }\n')
    (tmp_path / "rules.toml").write_text(RULES)
    words = ("check", "use.c", "--rules", "rules.toml", "--no-packs", "--suggest", "--output", "sarif=s.json")
    made = json.loads(run(*words, "--format", "rdjson", cwd=tmp_path).stdout)["diagnostics"][0]
    lines, suggestion = text.split("\n"), made["suggestions"][0]
    first, last = (suggestion["range"][end]["line"] for end in ("start", "end"))
    new = "\n".join([*lines[: first - 1], suggestion["text"], *lines[last:]])
    (change,) = json.loads((tmp_path / "s.json").read_text())["runs"][0]["results"][0]["fixes"][0]["artifactChanges"]
    (replacement,) = change["replacements"]
    region = replacement["deletedRegion"]
    starts = [0, *(at + 1 for at, each in enumerate(text) if each == "\n")]
    stop = starts[region["endLine"] - 1] if "endColumn" in region else len(text)
    assert text[: starts[region["startLine"] - 1]] + replacement["insertedContent"]["text"] + text[stop:] == new
    (tmp_path / "ring.h").write_text(new)
    assert run(*words[:5], cwd=tmp_path).returncode == 0


def test_an_accepted_finding_has_no_fix(tmp_path):
    (tmp_path / "ring.h").write_text("/* layoutlint: ignore[*] measured, no harm */\n" + RING)
    (tmp_path / "use.c").write_text('#include "ring.h"\nlong f(struct ring *r) { return r->head; }\n')
    (tmp_path / "rules.toml").write_text(RULES)
    ended = run(
        "check", "use.c", "--rules", "rules.toml", "--no-packs", "--suggest", "--format", "sarif", cwd=tmp_path
    )
    (result,) = json.loads(ended.stdout)["runs"][0]["results"]
    assert ("suppressions" in result, "fixes" in result) == (True, False)


def with_suggestion(text: str, suggestion: dict) -> str:
    lines, part = text.splitlines(), suggestion["range"]
    new = [*lines[: part["start"]["line"] - 1], suggestion["text"], *lines[part["end"]["line"] :]]
    return "\n".join(new) + "\n"


PADDED = """\
struct padding { char x[0]; } __attribute__((aligned(64)));
struct ring {
 long head;
 int a;
 struct padding _pad1_;
 long tail;
 int b;
};
"""


def test_padding_that_keeps_members_apart_stays(tmp_path):
    made = document(tmp_path, PADDED, "--smallest", rules="", name="s.h")
    assert (made["size"], made["moves"]) == ([128, 128], [])
    assert any("s.h:5: padding keeps" in note for note in made["notes"])
    assert document(tmp_path, PADDED, "--smallest", "--force", rules="", name="s.h")["size"] == [128, 64]


def test_bytes_that_are_no_text_stay(tmp_path):
    need("git")
    content = RING.replace("written by", "\xe9crit par \x1b[31m").encode("latin-1")
    (tmp_path / "ring.h").write_bytes(content)
    (tmp_path / "rules.toml").write_text(RULES)
    words = ("suggest", "ring.h", "ring", "--rules", "rules.toml", "--no-packs")
    assert run(*words, "--output", "patch=p.patch", cwd=tmp_path).returncode == 0
    (tmp_path / "link.h").symlink_to("ring.h")
    subprocess.run(["git", "apply", "--check", "p.patch"], cwd=tmp_path, check=True)
    assert run("suggest", "link.h", *words[2:], "--write", cwd=tmp_path).returncode == 0
    assert (tmp_path / "link.h").is_symlink()
    written = (tmp_path / "ring.h").read_bytes()
    assert written != content
    assert sorted(written.splitlines()) == sorted(content.splitlines())


def test_a_rule_adds_no_diff_to_the_patch(tmp_path):
    need("git")
    pad = "x" * 74
    evil = f"{pad} --- {pad[4:]} --- a/evil {pad} +++ b/evil {pad} @@ -0,0 +1 @@ {pad} +evil {pad}"
    made = suggest(tmp_path, RING, "--patch", rules=RULES.replace("the producer writes", evil))
    assert made.returncode == 0
    message = made.stdout.split("\n---\n")[0]
    assert not [line for line in message.splitlines() if line.startswith(("---", "+++", "@@", "diff "))]
    (tmp_path / "p.patch").write_text(made.stdout)
    subprocess.run(["git", "apply", "p.patch"], cwd=tmp_path, check=True)
    assert not (tmp_path / "evil").exists()


@pytest.mark.exhaustive
def test_standard_input_has_no_patch(tmp_path):
    (tmp_path / "rules.toml").write_text(RULES)
    words = ("suggest", "-", "ring", "--rules", "rules.toml", "--no-packs")
    made = run(*words, cwd=tmp_path, given=RING.encode())
    assert made.returncode == 0
    assert "move `tail` behind" in made.stdout
    assert run(*words, "--patch", cwd=tmp_path, given=RING.encode()).returncode == 3


def test_a_refused_patch_is_explained_in_lines(tmp_path):
    text = RING.replace("long head;", "long head,").replace("long tail;", "tail;")
    made = suggest(tmp_path, text, "--patch")
    assert (made.returncode, made.stdout) == (3, "")
    assert "what depends on the order:" in made.stderr.splitlines()


def test_lines_of_enormous_structs_are_not_counted(tmp_path):
    text = "struct ring {\n char big[1 << 30];\n long head;\n char c;\n long tail;\n};\n"
    rules = RULES.replace("separate", "lines").replace('[["head"], ["tail"]]', '["head", "tail"]\nmax = 1')
    made = document(tmp_path, text, rules=rules, name="big.h")
    assert (made["status"], made["rules"][0]["searched"], made["patch"]) == ("unknown", False, None)


@pytest.mark.parametrize("is_free", [True, False])
def test_a_rule_that_is_only_judged_can_contradict_others(tmp_path, is_free):
    """The search knows nothing of `stride`: orders that break it are excluded, until none is left."""
    places = {"a": 120} if is_free else {"a": 120, "b": 0}
    rules = "".join(
        f'[[rule]]\nid = "{name}"\nstruct = "q"\nkind = "offset"\nfields = ["{name}"]\nat = {at}\nwhy = "w"\n'
        for name, at in places.items()
    )
    rules += '[[rule]]\nid = "apart"\nstruct = "q"\nkind = "stride"\nfields = ["a"]\nagainst = ["b"]\nwhy = "w"\n'
    made = document(tmp_path, "struct q {\n long a;\n long b;\n char pad[112];\n};\n", rules=rules, struct="q")
    core = [] if is_free else ["a", "b", "apart"]
    assert (made["status"], made["core"], made["core_is_minimal"]) == ("infeasible" if core else "optimal", core, True)


UNNAMED = [
    # members, and the lines of the smallest order: a bit-field without a name stays behind its member
    ("char a; | long b; | int : 4; | char c; | long d;", "long b; | int : 4; | char a; | char c; | long d;"),
    ("int : 4; | char a; | long b; | char c; | long d;", "int : 4; | char a; | char c; | long b; | long d;"),
    ("char a; | long b; | int x : 3; | int : 0; | int y : 5; | char c;", "char a; | int x : 3; | int : 0; | int y : 5; | char c; | long b;"),
    ("char a; | int : 0; | long b; | char c; | char d;", "char a; | int : 0; | char c; | char d; | long b;"),
]


@pytest.mark.parametrize(("members", "smallest"), UNNAMED)
def test_bit_fields_without_a_name_stay_behind_their_member(tmp_path, members, smallest):
    text, after = ("struct q {\n" + "".join(f" {each}\n" for each in own.split(" | ")) + "};\n" for own in (members, smallest))
    done = suggest(tmp_path, text, "--smallest", "--write", rules="", struct="q")
    assert (done.returncode, (tmp_path / "ring.h").read_text()) == (0, after)


ASSERTIONS = [
    # an assertion in the header itself, which is all that is given; whether the smaller struct breaks it
    ("_Static_assert(sizeof(struct q) >= 24, \"size\");", True),
    ("typedef char size_of_q[sizeof(struct q) > 16 ? 1 : -1];", True),
    ("_Static_assert(sizeof(struct q) <= 24, \"size\");", False),
    ("_Static_assert(sizeof(struct q) >= 32, \"wrong as it is\");", False),
]


@pytest.mark.parametrize(("assertion", "is_refused"), ASSERTIONS)
def test_assertions_of_a_header_are_kept(tmp_path, assertion, is_refused):
    text = f"struct q {{\n char a;\n long b;\n char c;\n}};\n{assertion}\n"
    made = document(tmp_path, text, "--smallest", rules="", struct="q")
    kinds = [each["kind"] for each in made["refusals"]]
    assert (made["status"], kinds) == (("refused", ["compile-error"]) if is_refused else ("optimal", []))


SIZES = [
    # what a header says about a struct of 24 bytes that can have 16, the moves of the best order
    ("_Static_assert(sizeof(struct q) == 24, \"size\");", 0),
    ("typedef char size_of_q[sizeof(struct q) == 24 ? 1 : -1];", 0),
    ("static inline int f(struct q *q) { return sizeof(struct q) != 24 ? 1 : sizeof(*q); }", 0),
    ("static inline int f(int n) { return n == sizeof(struct q); }", 1),
]


@pytest.mark.parametrize(("text", "moves"), SIZES)
def test_a_size_that_is_a_number_stays(tmp_path, text, moves):
    made = document(tmp_path, f"struct q {{\n char a;\n long b;\n char c;\n}};\n{text}\n", "--smallest", rules="", struct="q")
    assert (made["status"], len(made["moves"])) == ("optimal", moves)


def test_other_configurations_are_named(tmp_path):
    text = RING.replace("\tint slot;", "#ifdef MORE\n\tint more;\n#endif\n\tint slot;")
    notes = document(tmp_path, text)["notes"]
    assert [note for note in notes if "ring.h, line 8" in note and "this configuration only" in note]
    assert not [note for note in document(tmp_path, RING)["notes"] if "configuration" in note]


UNOPENED = [
    # members, whether the result says that a part was not searched
    ("char a;\n struct {\n  char x;\n  long y;\n  char z;\n } __attribute__((packed));\n char b;", True),
    ("char a;\n struct {\n  char x;\n  char mark[0];\n  char z;\n };\n char b;", True),
    ("char a;\n union {\n  char x;\n  long y;\n };\n char b;", False),
    (
        "long a;\n union {\n  struct {\n   char x;\n   long y;\n   char z;\n  };\n  long u;\n };\n long b;",
        True,
    ),
    ("char a;\n struct {\n  long y;\n };\n char b;", False),
    ("char a;\n struct {\n  char x;\n  long y;\n  char z;\n } in;\n char b;", False),
]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("body", "is_named"), UNOPENED)
def test_what_stays_as_it_is_in_the_smallest_struct(tmp_path, body, is_named):
    made = document(tmp_path, f"struct ring {{\n {body}\n}};\n", "--smallest", rules="")
    assert [note for note in made["notes"] if "of the 3 members in `{x}` were not searched" in note] == made["notes"] * is_named
    assert bool(made["notes"]) == is_named
    assert made["opened"] == []


def test_a_struct_without_a_name_that_moves_as_one_is_named(tmp_path):
    text = "struct ring {\n\tstruct {\n\t\tlong head;\n\t\tlong tail;\n\t\tlong spare[16];\n\t} __attribute__((packed));\n\tlong end;\n};\n"
    result = suggest(tmp_path, text, "--width", "500")
    assert result.returncode == 1
    assert "orders of the members inside it were not searched" in result.stdout
    opened = text.replace(" __attribute__((packed))", "")
    assert suggest(tmp_path, opened).returncode == 0


OPENED = [
    # members as declared, and in the smallest order
    ("struct {\nchar x;\nlong y;\nchar z;\n};\nlong b;", "struct {\nchar x;\nchar z;\nlong y;\n};\nlong b;"),
    ("struct {\nchar x;\n/* about y */\nlong y;\nchar z; /* about z */\n};\nlong b;", "struct {\nchar x;\nchar z; /* about z */\n/* about y */\nlong y;\n};\nlong b;"),
    ("struct {\nchar x;\nint y[3];\nlong w;\n} __attribute__((aligned(8)));\nint b;", "struct {\nchar x;\nint y[3];\nlong w;\n} __attribute__((aligned(8)));\nint b;"),
    ("struct {\nchar x;\nstruct {\nchar v;\nlong y;\nchar z;\n} __attribute__((aligned(8)));\n};\nlong b;", "struct {\nchar x;\nstruct {\nlong y;\nchar v;\nchar z;\n} __attribute__((aligned(8)));\n};\nlong b;"),
    ("struct {\nchar x;\n#ifdef MORE\nint more;\n#endif\nlong y;\nchar z;\n};\nlong b;", "struct {\nchar x;\n#ifdef MORE\nint more;\n#endif\nchar z;\nlong y;\n};\nlong b;"),
    ("struct { char x; long y; char z; };\nlong b;", ""),  # no line is that of one member
    ("struct {\nchar x; long y; char z;\n};\nlong b;", ""),
    ("struct {\nMACRO\n};\nlong b;", ""),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("old", "new"), OPENED)
def test_members_move_in_a_struct_without_a_name(tmp_path, old, new):
    head = "#define MACRO char x; long y; char z;\n"
    made = document(tmp_path, f"{head}struct ring {{\n{old}\n}};\n", "--smallest", "--write", rules="")
    assert (tmp_path / "ring.h").read_text() == f"{head}struct ring {{\n{new or old}\n}};\n"
    assert made["status"] == "optimal"
    assert {name for each in made["opened"] for name in each["members"]} >= {"x", "y"}


NAMED_MOVES = [
    # members, the new order; the only move: member, behind, inside
    ("struct {\nlong x;\nint y;\nint z;\n};\nlong a;\nlong b;", ["a", "b", "x", "y", "z"], ("{x}", "b", None)),
    ("long a;\nstruct {\nlong b;\nlong y;\nlong x;\n};", ["a", "x", "b", "y"], ("x", None, "{b}")),
    ("long a;\nstruct {\nlong x;\nlong b;\nlong y;\n};", ["a", "b", "y", "x"], ("x", "y", "{x}")),
]  # fmt: skip


@pytest.mark.parametrize(("body", "order", "move"), NAMED_MOVES)
def test_moves_name_the_struct_without_a_name(tmp_path, body, order, move):
    rule = RULES.replace("separate", "order").replace('[["head"], ["tail"]]', json.dumps([each for each in order if each in "abxy"]))
    made = document(tmp_path, f"struct ring {{\n{body}\n}};\n", rules=rule)
    why = "for apart; the nearest place that keeps the rules"
    assert (made["order"], made["moves"]) == (order, [{**dict(zip(("member", "behind", "inside"), move, strict=True)), "why": why}])


INSIDE = "struct ring {\n\tlong a;\n\tstruct {\n\t\tchar x;\n\t\tlong y;\n\t\tchar z;\n\t};\n\tlong b;\n};\n"
DECLARED = "void *memset(void *, int, unsigned long);\n"
USES_INSIDE = [
    # code that depends on the order inside, and code like it that does not
    ("struct ring r = { 1, { 1, 2, 3 }, 4 };", "struct ring r = { .x = 1, .y = 2, .b = 4 };"),
    ("struct ring r = { 1, 2, 3, 4, 5 };", "struct ring r = { 1 };"),
    ("struct ring r = { .x = 1, 2 };", "struct ring r = { .x = 1 };"),
    ("struct { int k; struct ring r; } s = { 1, { 1, { 2 } } };", "struct { int k; struct ring r; } s = { 1, { .y = 2 } };"),
    ("#define Z 3\nstruct ring r = { 1, { 1, 2, Z } };", "#define Z .z = 3\nstruct ring r = { Z };"),
    ("_Static_assert(__builtin_offsetof(struct ring, x) == 8, \"\"); _Static_assert(__builtin_offsetof(struct ring, z) == 24, \"\");", "_Static_assert(sizeof(((struct ring *)0)->y) == 8, \"\");"),
    ("void f(struct ring *r) { memset(&r->x, 0, 24); }", "void f(struct ring *r) { memset(&r->x, 0, sizeof r->x); }"),
    ("long f(struct ring *r) { return ((long *)&r->x)[1]; }", "long f(struct ring *r) { return (&r->y)[0]; }"),
    ("long f(struct ring *r) { return (char *)&r->z - (char *)&r->x; }", "long f(struct ring *r) { return r->z - r->x; }"),
    ("struct o { long a; char x; long y; char z; }; union { struct ring r; struct o o; } u;", "struct o { int *p; }; union { struct ring r; struct o o; } u;"),
    ("struct o { long a; struct { char x; long y; }; }; union { struct ring r; struct o o; } u;", "struct o { struct { int *p; }; }; union { struct ring r; struct o o; } u;"),
    ("struct o { long a; char x; long y; }; long f(struct ring *r) { struct o *o = (struct o *)r; return o->y; }", "struct o { long a; char x; long y; }; long f(struct o *o) { return o->y; }"),
]  # fmt: skip


@pytest.mark.one_in(4)
@pytest.mark.parametrize(("dependent", "harmless"), USES_INSIDE)
def test_uses_forbid_orders_in_a_struct_without_a_name(tmp_path, dependent, harmless):
    found = [
        document(tmp_path, f"{INSIDE}{DECLARED}{text}\n", "--smallest", rules="", name="ring.c")
        for text in (dependent, harmless)
    ]
    assert [each["status"] != "refused" and each["size"] == [40, 32] for each in found] == [False, True]


NAMES_OF_GROUPS = [
    # members, and the structs without a name in which some move
    ("char p; struct { char a; long b; char c; }; long d;", ["{a}"]),
    ("char p; struct { struct { char x; } __attribute__((packed)); long b; char c; }; long d;", ["{b}"]),
    ("char p; struct { struct { char x; long y; char z; }; char c; }; long d;", ["{c}", "{x}"]),
]


@pytest.mark.parametrize(("members", "names"), NAMES_OF_GROUPS)
def test_structs_without_a_name_are_named_by_their_first_member_with_one(tmp_path, members, names):
    made = document(tmp_path, f"struct q {{ {members} }};\n", "--smallest", rules="", struct="q")
    assert [each["name"] for each in made["opened"]] == names

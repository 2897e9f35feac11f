"""The same intent through every vehicle, and what annotations cannot say."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path

import pytest

from layoutlint.lint.unused import UnusedIntent
from tests.compilers.variants import compilers
from tests.harness.command import ROOT, run
from tests.harness.tools import need
from tests.randstruct.golden import newest_clang

FIXTURES = ROOT / "fixtures" / "annotations"
HEADER = f"-I{ROOT / 'layoutlint' / 'include'}"


def make(path: Path, *command: str) -> str:
    """What a compiler makes; skips where there is none."""
    if "pahole" in command:
        need("pahole")
    if command[0] == "gcc-16":
        try:
            command = (*compilers.command("gcc-16"), *command[1:])
        except compilers.kernels.Unavailable as error:
            pytest.skip(str(error))
    steps = " ".join((*command, "-o", str(path))).split(" && ")
    for step in steps:
        subprocess.run(step.split(), check=True, cwd=FIXTURES)
    return str(path)


MACROS, COMMENTS, BARE = (str(FIXTURES / f"ring-{name}.c") for name in ("macros", "comments", "bare"))
VEHICLES = {
    "comments": lambda at: (COMMENTS,),
    "comments beside DWARF": lambda at: (make(at, "gcc", "-g", "-c", COMMENTS), "--sources", str(FIXTURES)),
    "macros in libclang": lambda at: (MACROS, "--", HEADER),
    "macros built by gcc 13": lambda at: (database_of(at, "gcc-13"),),
    "macros built by gcc 4.8": lambda at: (database_of(at, "gcc-4.8"),),
    "macros built by some gcc": lambda at: (database_of(at, "gcc"),),
    "macros built by a gcc that is asked": lambda at: (database_of(at, "gcc"), "--query-driver", "**"),
    "DWARF of clang": lambda at: (make(at, newest_clang(), "-g", HEADER, "-c", MACROS), "--reader", "dwarf"),
    "BTF of pahole": lambda at: (with_btf(at), "--reader", "btf"),
    "BTF of clang": lambda at: (make(at, "clang", "-g", "-target", "bpf", HEADER, "-c", MACROS), "--reader", "btf"),
    "rule file": lambda at: (BARE, "--rules", str(FIXTURES / "ring.toml")),
}


def database_of(at: Path, compiler: str) -> str:
    path = at.with_name("compile_commands.json")
    path.write_text(json.dumps([{"directory": str(at.parent), "file": MACROS, "arguments": [compiler, HEADER, "-c", MACROS]}]))
    return str(path)


def with_btf(at: Path) -> str:
    path = make(at, "clang", "-g", HEADER, "-c", MACROS)
    need("pahole")
    subprocess.run(["pahole", "-J", path], check=True)
    return path


def findings(*arguments: str, status: int = 1) -> list[tuple]:
    done = run("check", *arguments[:1], "--format", "json", *arguments[1:])
    report = json.loads(done.stdout)
    assert done.returncode == status, done.stderr
    return sorted(
        (f["rule"], f["kind"], f["struct"], f["outcome"], f["message"], f["advice"], f["placements"]["bases"],
         f["suppressed"] is not None, [(field["path"], field["offset"]) for field in f["fields"]])
        for f in report["findings"] + report["kept"]
    )  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize("vehicle", [name for name in VEHICLES if name != "rule file" and "BTF" not in name])
def test_the_same_intent_yields_the_same_findings(vehicle, tmp_path):
    output = findings(*VEHICLES[vehicle](tmp_path / "made.o"))
    assert output == findings(*VEHICLES["rule file"](tmp_path / "bare.o"))
    assert [(rule, outcome) for rule, _, _, outcome, *_ in output] == [
        ("ring/access", "at-risk"),
        ("ring/adjacent/count/owner", "kept"),
        ("ring/separate/head/tail", "kept"),
        ("ring/size/max-192", "kept"),
    ]


@pytest.mark.parametrize("vehicle", [name for name in VEHICLES if "BTF" in name])
def test_btf_yields_the_same_findings_where_the_alignment_decides_nothing(vehicle, tmp_path):
    """BTF states no alignments: `struct ring` has 96 bytes, and an `aligned(32)` one would look the same."""
    access, *others = findings(*VEHICLES[vehicle](tmp_path / "made.o"), status=3)
    assert access[:4] == ("ring/access", "access", "ring", "unknown")
    assert "broken if it is 16 or 32, at risk if 1, 2, 4 or 8" in access[4]
    assert others == findings(*VEHICLES["rule file"](tmp_path / "bare.o"))[1:]


def test_gcc_16_keeps_what_fields_say(tmp_path):
    output = findings(make(tmp_path / "made.o", "gcc-16", "-g", HEADER, "-c", MACROS))
    by_rule = [finding for finding in findings(BARE, "--rules", str(FIXTURES / "ring.toml")) if "size" not in finding[0]]
    assert output == by_rule


OWN = """\
#ifdef {guard}
#define HOT(x) __attribute__((annotate("layoutlint:" #x)))
#else
#define HOT(x)
#endif
struct s {{ long a{first}; long b{second}; }};
"""
LEFT_OUT = [
    # a guard of a macro of one's own, its uses, the compiler, and whether the annotations are read; None if there are none
    ("__has_attribute", (" HOT(hot_write)", " HOT(hot_read)"), "gcc-4.8", False), ("__has_attribute", (" HOT(hot_write)", " HOT(hot_read)"), "gcc-5", True),
    ("__clang__", (" HOT(hot_write)", " HOT(hot_read)"), "gcc-13", False), ("__clang__", (" HOT(hot_write)", " HOT(hot_read)"), "clang", True),
    ("__clang__", ("", " /* HOT */"), "gcc-13", None), ("NONE", (" HOT(hot_write)", ""), "gcc", False),
]  # fmt: skip


@pytest.mark.parametrize(("guard", "uses", "compiler", "is_read"), LEFT_OUT)
def test_annotations_that_a_compiler_does_not_see_are_not_lost_silently(tmp_path, guard, uses, compiler, is_read):
    (tmp_path / "s.c").write_text(OWN.format(guard=guard, first=uses[0], second=uses[1]))
    (tmp_path / "compile_commands.json").write_text(json.dumps([{"directory": str(tmp_path), "file": "s.c", "arguments": [compiler, "-c", "s.c"]}]))
    done = run("check", "compile_commands.json", cwd=tmp_path)
    said = " ".join((done.stdout + done.stderr).split())
    assert done.returncode == {True: 1, False: 3, None: 2}[is_read], said
    assert ("s/access" in said) is (is_read is True)
    assert (f"`HOT` annotates nothing for {compiler} (`#if` leaves it out)" in said) is (is_read is False)


MISTAKES = [
    # what stands in the comment, and what is said of it
    ("hot-reed", "`hot-reed` is neither an access nor a rule kind (did you mean `hot-read`?)"),
    ("separate(a, b", "`separate(` is not closed"),
    ("separate", "`separate`: `fields` needs at least two groups to keep apart (arguments follow in brackets: `separate(...)`)"),
    ("contended", "`contended` needs an access: `hot-write, contended`"),
    ("hot-read, cold", "`cold` contradicts `hot-read` at made.c:2"),
    ("offset(at=8, b)", "`offset`: `fields` needs exactly one field, and no pattern"),
    ("offset", "`offset`: needs `at` or `line`, and not both (arguments follow in brackets: `offset(...)`)"),
    ("lines(b, maxi=2)", "`lines` has no key `maxi` (did you mean `max`?)"),
    ("offset(at=8:64)", "`at` cannot be `8:64`: the bits of a byte are 0 to 7 (write `16:0`)"),
    ("lines(b, max=two)", "`max` cannot be `two`: expected a number"),
    ("ignore[any]", "`ignore[any]` needs a reason after it: `ignore[any] REASON`"),
    ("\u00e4", "`\u00e4` is neither an access nor a rule"),
]


def check_text(tmp_path: Path, text: str, *more: str, encoding: str = "utf-8") -> subprocess.CompletedProcess:
    (tmp_path / "made.c").write_bytes(text.encode(encoding))
    return run("check", "made.c", *more, cwd=tmp_path)


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("comment", "text_message"), MISTAKES, ids=[text_message for text_message, _ in MISTAKES])
def test_mistakes_are_told_with_their_places(comment, text_message, tmp_path):
    done = check_text(tmp_path, f"struct s {{\n\tlong a; /* layoutlint: {comment} */\n\tlong b;\n}} s;\n")
    assert (done.returncode, done.stdout) == (2, "")
    output = done.stderr.replace("'", "`")
    assert output == f"made.c:2: annotation of `a` of struct s: {text_message}\n"


COLONS = [
    # the comment of `a`, and what it seems to be with a colon; None for prose
    ("layoutlint hot-write", "hot-write"),
    ("layoutlint : cold -- seldom used", "cold -- seldom used"),
    ("layoutlint hot_read, contended", "hot_read, contended"),
    ("layoutlint no_straddle()", "no_straddle()"),
    ("layoutlint ignore[s/size] why", "ignore[s/size] why"),
    ("written by one side\n\t * layoutlint hot-write", "hot-write"),
    ("layoutlint cold storage", None),
    ("layoutlint separates these", None),
    ("see layoutlint hot-write", None),
    ("layoutlinted: hot-write", None),
]


@pytest.mark.parametrize(("comment", "seeming"), COLONS)
def test_a_forgotten_colon_is_a_mistake(comment, seeming, tmp_path):
    done = check_text(tmp_path, f"struct s {{\n\tlong a; /* {comment} */\n\tlong b;\n}} s;\n")
    mistake = f"made.c:2: annotation of `a` of struct s: a colon is missing: write `layoutlint: {seeming}`\n"
    assert done.returncode == 2
    assert done.stderr == mistake if seeming else "no rules apply" in done.stderr


def test_two_annotations_that_contradict_each_other_name_both_places(tmp_path):
    text = "struct s {\n\t/* layoutlint: hot-read */\n\tlong a; /* layoutlint: hot-write */\n} s;\n"
    done = check_text(tmp_path, text)
    assert done.returncode == 2
    assert done.stderr == "made.c:3: annotation of `a` of struct s: `hot-write` contradicts `hot-read` at made.c:2\n"


def test_an_annotation_that_contradicts_a_rule_file_names_both_places(tmp_path):
    rules = '[struct.s.fields]\na = { access = "hot-read" }\n[[rule]]\nid = "r"\nstruct = "s"\nkind = "access"\nwhy = "w"\n'
    (tmp_path / "r.toml").write_text(rules)
    done = check_text(tmp_path, "struct s {\n\tlong a; /* layoutlint: hot-write */\n} s;\n", "--rules", "r.toml")
    assert done.returncode == 2
    assert done.stderr == "r.toml:2: `a` of struct s is `hot-read`, and `hot-write` at made.c:2\n"


def test_rule_files_know_what_annotations_declare(tmp_path):
    rules = '[struct.s.fields]\nb = { access = "hot-read" }\n[[rule]]\nid = "r"\nstruct = "s"\nkind = "access"\nwhy = "w"\n'
    (tmp_path / "r.toml").write_text(rules)
    text = "struct s {\n\tlong a; /* layoutlint: hot-write */\n\tlong b;\n} s;\n"
    done = check_text(tmp_path, text, "--rules", "r.toml", "--format", "json")
    (finding,) = json.loads(done.stdout)["findings"]
    assert (finding["rule"], finding["outcome"]) == ("r", "at-risk")

KERNEL_DOC = [
    # kernel-doc and the struct below it, and the struct with the same annotations at its fields, behind `layoutlint:`
    ("@a: one side.\n * layoutlint: hot-write\n * @b: layoutlint: hot-read", "long a; long b;", "long a; /* HOT-WRITE */\nlong b; /* HOT-READ */"),
    ("@a: layoutlint: hot-write\n *\n * layoutlint: size(max=8)\n * @b: layoutlint: hot-read", "long a; long b;",
     "/* size(max=8) */\nlong a; /* HOT-WRITE */\nlong b; /* HOT-READ */"),
    ("@a: layoutlint: separate(b)\n * @in.b: layoutlint: hot-read", "long a; struct { long b; } in; long b;",
     "long a; /* separate(b) */\nstruct { long b; /* HOT-READ */\n} in; long b;"),
    ("@b : layoutlint: line-start", "struct { long a; long b; };", "struct { long a; long b; /* line-start */\n};"),
    ("@in: layoutlint: hot-write, contended\n * @b: layoutlint: ignore[s/access] known", "struct { long a; } in; long b; /* layoutlint: hot-read */",
     "struct { long a; } in; /* HOT-WRITE, contended */\nlong b; /* HOT-READ, layoutlint: ignore[s/access] known */"),
    ("@p.x: layoutlint: hot-write\n * @b: layoutlint: hot-read", "struct part p; long b;", "struct part p; long b;"),
]  # fmt: skip


def judge(tmp_path: Path, text: str) -> list[tuple]:
    done = check_text(tmp_path, f"struct part {{ long w, x; }};\n{text}\n", "--format", "json")
    assert done.returncode in (0, 1), done.stderr
    found = json.loads(done.stdout)
    every = [*found["findings"], *found["kept"]]
    return sorted((f["rule"], f["outcome"], f["message"], f["suppressed"] is not None) for f in every)


@pytest.mark.parametrize(("comment", "body", "at_fields"), KERNEL_DOC, ids=[row[0] for row in KERNEL_DOC])
def test_kernel_doc_above_a_struct_is_about_its_fields(comment, body, at_fields, tmp_path):
    output = judge(tmp_path, f"/**\n * struct s - it\n * {comment}\n */\nstruct s {{\n{body}\n}};")
    inside = at_fields.replace("/* ", "/* layoutlint: ").replace("HOT", "hot").replace("WRITE", "write").replace("READ", "read")
    assert output
    if "part" not in body:  # no comment at a field of `struct s` is about a member of `struct part`
        assert output == judge(tmp_path, f"struct s {{ {inside}\n}};")
    else:
        assert [(rule, message.partition(" at ")[0]) for rule, _, message, _ in output] == [("s/access", "`b` (hot-read)")]


def test_kernel_doc_at_a_declaration_of_several_fields(tmp_path):
    both = "/**\n * @a: layoutlint: hot-write\n * @b: layoutlint: hot-read\n */\nlong a, b;"
    apart = "long a; /* layoutlint: hot-write */\nlong b; /* layoutlint: hot-read */"
    assert judge(tmp_path, f"struct s {{ {both} }};") == judge(tmp_path, f"struct s {{ {apart}\n}};") != []


def test_kernel_doc_for_a_field_that_is_left_out(tmp_path):
    """Of two sections with the same words, only the one without a field is noted."""
    text = "/**\n * @a: layoutlint: line-start\n * @b: layoutlint: line-start\n */\nstruct s {\nlong a;\n#ifdef NONE\nlong b;\n#endif\n};"
    (rule, note) = judge(tmp_path, text)
    assert (rule[0], note[0], note[2]) == ("s/line-start/a", "unused/s/line-start", "`line-start` is attached to `b`, which struct s does not have")
    assert [row[0] for row in judge(tmp_path, f"#define NONE\n{text}")] == ["s/line-start/a", "s/line-start/b"]


def test_other_encodings_are_read(tmp_path):
    text = "struct s { /* gr\u00f6\u00dfer */\n\tlong a; /* layoutlint: hot-write -- \u00fc */\n\tlong b; /* layoutlint: hot-read */\n} s;\n"
    done = check_text(tmp_path, text, encoding="latin-1")
    assert done.returncode == 1
    assert "s/access" in done.stdout


def test_a_source_of_another_version_is_told(tmp_path):
    need("gcc")
    shutil.copy(COMMENTS, tmp_path / "ring.c")
    subprocess.run(["gcc", "-g", "-c", "ring.c"], cwd=tmp_path, check=True)
    text = (tmp_path / "ring.c").read_text()
    (tmp_path / "ring.c").write_text(f"int more;\n{text}")
    done = run("check", "ring.o", "--sources", ".", cwd=tmp_path)
    assert done.returncode == 3
    assert "ring.c: does not match ring.o: line " in done.stdout


FIRST = "\n\t/* layoutlint: {} */\n\tlong head;"
DOUBTS = [
    # the beginning of a struct, and the notes on it
    (FIRST.format("separate(tail)"), ["`separate(tail)` is about `head` below it; for struct ring, write it above the struct"]),
    (FIRST.format("separate(tail) -- why"), ["`separate(tail)` is about `head` below it; for struct ring, write it above the struct"]),
    (FIRST.format("separate(head, tail)"), []),
    (FIRST.format("line-start"), []),
    (FIRST.format("hot-write, line-start"), []),
    (" /* layoutlint: separate(head, tail) */\n\tlong head;", []),
    ("\n\tlong head; /* layoutlint: separate(tail) */", []),
    ("\n\tlong first;" + FIRST.format("separate(tail)"), []),
]


@pytest.mark.parametrize(("beginning", "notes"), DOUBTS)
def test_a_rule_on_the_first_line_of_a_struct_may_be_its_own(tmp_path, beginning, notes):
    (tmp_path / "ring.h").write_text(f"struct ring {{{beginning}\n\tlong tail;\n}};\n")
    told = json.loads(run("check", "ring.h", "--format", "json", cwd=tmp_path).stdout)["inputs"][0]["notes"]
    assert [note.partition(": ")[2] for note in told] == notes


def test_a_source_that_is_newer_is_told(tmp_path):
    need("gcc")
    shutil.copy(COMMENTS, tmp_path / "ring.c")
    subprocess.run(["gcc", "-g", "-c", "ring.c"], cwd=tmp_path, check=True)
    os.utime(tmp_path / "ring.o", (0, 0))
    done = run("check", "ring.o", "--sources", ".", cwd=tmp_path)
    assert done.returncode == 1
    assert "ring.c is newer than ring.o: its comments may have come later" in " ".join(done.stdout.split())


IGNORED = "struct s {{\n\tlong a; /* layoutlint: hot-write */\n\tlong b; /* layoutlint: hot-read */\n\t{at}\n\tlong c;\n}} s;\n"
WORDS = [
    # what stands at `c`, the finding's line and what it says of it
    ("/* layoutlint: ignore[s/access] it is measured */", 4, "unused/s/ignore[s/access]", "`ignore[s/access]` at `c` of s suppresses no finding"),
    ("long d; /* layoutlint: ignore[s/*] no */", 4, "unused/s/ignore[s/*]", "`ignore[s/*]` at `d` of s suppresses no finding"),
    ("long d; /* layoutlint: hot-read */", 0, None, ""),
    ("#ifdef NONE\n\tlong d; /* layoutlint: hot-write -- why */\n#endif", 5, "unused/s/hot-write", "`hot-write` is attached to no field of struct s"),
    ("long d;\n\t/* layoutlint: hot-write */\n#ifdef NONE", 5, "unused/s/hot-write", "`hot-write` is attached to no field of struct s"),
    ('const char *text;\n#define TEXT "/* layoutlint: hot-write */"', 0, None, ""),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize("compiled", [(), ("made.o", "--sources", ".")], ids=["text", "DWARF"])
@pytest.mark.parametrize(("at", "line", "rule", "text_message"), WORDS, ids=[row[0] for row in WORDS])
def test_what_matches_nothing_is_a_note_of_its_own(at, line, rule, text_message, compiled, tmp_path):
    text = IGNORED.format(at=at).replace("} s;", "#endif\n} s;" if at.endswith("NONE") else "} s;")
    (tmp_path / "made.c").write_text(text)
    if compiled:
        make(tmp_path / "made.o", "gcc", "-g", f"-fdebug-prefix-map={tmp_path}=.", "-c", str(tmp_path / "made.c"))
    done = run("check", *(compiled or ("made.c",)), "--format", "json", cwd=tmp_path)
    first, *found = sorted(json.loads(done.stdout)["findings"], key=lambda f: f["kind"])
    assert (done.returncode, first["rule"], first["suppressed"]) == (1, "s/access", None)
    expected = [] if rule is None else [("unused", "note", rule, line, text_message)]
    assert [(f["kind"], f["severity"], f["rule"], f["intent"]["line"], f["message"]) for f in found] == expected


KEPT = "/* layoutlint: size(max=64) */\nstruct good { int a; };\n"
UNPARSED = [
    # text in which annotations may be lost to an error, and the error; None where none are
    (KEPT + "struct lost { int a;\n\tint b; /* layoutlint: hot-read */\n", "made.c:4:35: error: expected '}'"),
    (KEPT + "struct gone { int a /* layoutlint: hot-read */\n\tint b; }\n", "made.c:3:20: error: expected ';'"),
    (KEPT + '#include "none.h"\n', "made.c:3:10: error: 'none.h' file not found"),
    ('#include "bare.h"\n' + KEPT, None),
]


@pytest.mark.parametrize(("text", "error"), UNPARSED, ids=[str(row[1]) for row in UNPARSED])
def test_errors_where_annotations_stand_are_told(text, error, tmp_path):
    (tmp_path / "bare.h").write_text("int x = nothing;\n")
    done = check_text(tmp_path, text, "--format", "json")
    report = json.loads(done.stdout)
    assert done.returncode == (0 if error is None else 3)
    assert [f["rule"] for f in report["kept"]] == ["good/size/max-64"]
    text_message = [unread["reason"] for unread in report["unread"]]
    assert text_message == [] if error is None else f"not all of it could be read, with errors: {error}" in text_message[0]


STRAY = [
    # a stray annotation, which stands at no struct that text has
    "/* layoutlint: hot-write */\nint before;",
    "static int global; /* layoutlint: hot-write */",
    "void f(void) { int local; /* layoutlint: hot-write */ }",
    "void f(void) { struct t { int a; /* layoutlint: hot-write */ } x; }",
    "enum e { ONE, /* layoutlint: hot-write */ };",
]


@pytest.mark.parametrize("stray", STRAY)
def test_what_stands_at_no_struct_is_unused(stray, tmp_path):
    done = check_text(tmp_path, f"{stray}\nstruct s {{ int a; int b; }};\n", "--format", "json")
    report = json.loads(done.stdout)
    assert [(f["rule"], f["message"]) for f in report["findings"]] == [
        ("unused/(none)/hot-write", "`hot-write` is attached to no struct and no field")
    ]
    assert done.returncode == 3  # nothing was judged


def test_what_matches_nothing_counts_when_asked_for(tmp_path):
    text = "/* layoutlint: size(max=64) */\nstruct s {\n\tlong a;\n\tlong b; /* layoutlint: ignore[x] why */\n};\n"
    output = [check_text(tmp_path, text, *more) for more in ((), ("--unused",))]
    assert [done.returncode for done in output] == [0, 1]
    assert "made.c:4: note: `ignore[x]` at `b` of s suppresses no finding [unused" in output[0].stdout
    assert "1 unused, 1 kept" in output[0].stdout


LEFT_OUT = [
    # a suppression at a struct, options, whether it is unused
    ("ignore[s/access] why", (), False),
    ("ignore[s/size*] why", (), True),
    ("ignore[s/size*] why", ("--struct", "other"), False),
    ("ignore[generic-*] why", (), False),
    ("ignore[generic-*] why", ("--pack", "generic"), True),  # which judges declared accesses as well, and is kept
    ("ignore[genrich-*] why", (), True),
    ("ignore[address-space-i-mmap-apart-from-rwsem] why", (), False),
]


@pytest.mark.parametrize(("text_message", "options", "is_unused"), LEFT_OUT)
def test_a_suppression_of_a_rule_that_this_run_leaves_out_is_not_unused(text_message, options, is_unused, tmp_path):
    text = (
        f"/* layoutlint: size(max=64) */\n/* layoutlint: {text_message} */\n"
        "struct s { int a; /* layoutlint: hot-read */ int b; /* layoutlint: hot-write */ };\n"
        "/* layoutlint: size(max=64) */\nstruct other { int a; };\n"
    )
    done = check_text(tmp_path, text, *options, "--format", "json")
    assert ("unused" in {f["kind"] for f in json.loads(done.stdout)["findings"]}) == is_unused


def test_what_one_input_uses_is_not_unused(tmp_path):
    text = "struct s {\n\tlong a; /* layoutlint: hot-read */\n#ifdef MORE\n\tlong b; /* layoutlint: hot-write */\n#endif\n};\n"
    (tmp_path / "s.h").write_text(text)
    (tmp_path / "one.c").write_text('#include "s.h"\nstruct s one;\n')
    (tmp_path / "two.c").write_text('#define MORE\n#include "s.h"\nstruct s two;\n')
    (tmp_path / "matrix.toml").write_text('[build.one]\ninput = "one.c"\n[build.two]\ninput = "two.c"\n')
    rules = {}
    for words in (("one.c",), ("one.c", "two.c"), ("--matrix", "matrix.toml")):
        done = run("check", *words, "--format", "json", cwd=tmp_path)
        rules[words[0], len(words)] = {f["rule"] for f in json.loads(done.stdout)["findings"]}
    assert rules == {("one.c", 1): {"unused/s/hot-write"}, ("one.c", 2): {"s/access"}, ("--matrix", 2): {"s/access"}}


def test_the_manual_of_what_is_unused_says_what_is_found(tmp_path):
    for example, count in ((UnusedIntent.manual.breaks, 1), (UnusedIntent.manual.keeps, 0)):
        done = check_text(tmp_path, example.code, "--format", "json")
        found = [f["message"] for f in json.loads(done.stdout)["findings"] if f["kind"] == UnusedIntent.name]
        assert found == [example.message] * count
    assert run("explain", UnusedIntent.name).stdout.startswith("unused\n")


def test_what_is_ignored_does_not_count(tmp_path):
    text = "/* layoutlint: ignore[s/access] it is measured */\n" + IGNORED.format(at="")
    done = check_text(tmp_path, text, "--format", "json")
    report = json.loads(done.stdout)
    assert done.returncode == 0
    assert [f["suppressed"] for f in report["findings"]] == ["it is measured (made.c:1)"]
    assert report["coverage"]["unresolved"] == []


def test_annotations_can_be_passed_over(tmp_path):
    done = check_text(tmp_path, "struct s {\n\tlong a; /* layoutlint: hot-reed */\n} s;\n", "--no-annotations")
    assert (done.returncode, done.stderr) == (2, "layoutlint: no rules apply to these inputs; give some with --rules FILE or --pack NAME; there is no layoutlint.toml in . (`layoutlint init` writes one)\nhelp: `layoutlint explain no-rules`\n")


class TestHeader:
    def test_it_is_written_once(self, tmp_path):
        assert run("init", "--header", cwd=tmp_path).stdout == "wrote ./layoutlint.h\n"
        assert (tmp_path / "layoutlint.h").read_text() == (ROOT / "layoutlint" / "include" / "layoutlint.h").read_text()
        assert run("init", "--header", cwd=tmp_path).stdout == "./layoutlint.h exists already\n"

    def test_another_one_is_kept(self, tmp_path):
        (tmp_path / "layoutlint.h").write_text("mine\n")
        done = run("init", "--header", str(tmp_path))
        assert done.returncode == 2
        assert (tmp_path / "layoutlint.h").read_text() == "mine\n"

    def test_the_folder_must_be_there(self, tmp_path):
        assert run("init", "--header", str(tmp_path / "none")).returncode == 2

    @pytest.mark.parametrize("compiler", ["gcc", "clang", "clang-16", "clang-19", "g++", "clang++", "gcc-16"])
    def test_compilers_take_it_without_a_word(self, compiler, tmp_path):
        try:
            command = compilers.command(compiler)
        except compilers.kernels.Unavailable as error:
            pytest.skip(str(error))
        source = shutil.copy(FIXTURES / "everywhere.c", tmp_path / ("e.cc" if compiler.endswith("++") else "e.c"))
        subprocess.run([*command, HEADER, "-Wall", "-Wextra", "-Werror", "-c", source, "-o", str(tmp_path / "e.o")], check=True)


ELEMENTS = [
    # where `ignore` stands, whether it is the findings on the elements
    ("struct ring { /* layoutlint: ignore[r] why */ struct slot slots[4]; long more[2][3]; };", True),
    ("struct ring { struct slot slots[4];\n/* layoutlint: ignore[r] why */\nlong more[2][3]; };", False),
]


@pytest.mark.parametrize(("code", "is_ignored"), ELEMENTS)
@pytest.mark.parametrize("path", ["slots.head", "slots[2].head", "slots[0].head"])
def test_a_suppression_at_an_array_is_about_its_elements(code, is_ignored, path, tmp_path):
    (tmp_path / "s.c").write_text(f"struct slot {{ long head; long tail; }};\n{code}\nstruct ring ring;\n")
    rule = f'[[rule]]\nid = "r"\nstruct = "ring"\nkind = "offset"\nfields = ["{path}"]\nat = 1\nwhy = "w"\n'
    (tmp_path / "r.toml").write_text(rule)
    done = run("check", tmp_path / "s.c", "--rules", tmp_path / "r.toml", "--format", "json")
    finding = next(f for f in json.loads(done.stdout)["findings"] if f["rule"] == "r")
    assert (finding["suppressed"] is not None, done.returncode) == (is_ignored, 0 if is_ignored else 1)


MARKED = "struct q { long a; /* layoutlint: hot-write */ long b; /* layoutlint: hot-read */ };\n"
BY_MACRO = '#include "layoutlint.h"\nstruct q { LAYOUTLINT(hot_write) long a; LAYOUTLINT(hot_read) long b; };\n'
PLAIN = "struct z { int i; };\n"
UNITS = [{"file": name, "directory": ".", "arguments": ["cc", "-c", name]} for name in ("b.c", "a.c")]
DATABASE = {"compile_commands.json": json.dumps(UNITS), "a.c": '#include "sub/q.h"\n', "b.c": PLAIN}
WITHOUT_RULES = {
    # the files of a folder, the input in it, exit status, what is said; no rule file
    "in a header": ({"a.h": PLAIN, "sub/q.h": MARKED}, ".", 1, "q/access"),
    "in a source": ({"a.h": PLAIN, "sub/q.c": MARKED}, ".", 1, "q/access"),
    "by macros": ({"a.h": PLAIN, "sub/q.h": BY_MACRO}, ".", 1, "q/access"),
    "in a header of a unit": ({**DATABASE, "sub/q.h": MARKED}, "compile_commands.json", 1, "q/access"),
    "in a folder with a database": ({**DATABASE, "sub/q.h": BY_MACRO}, ".", 1, "q/access"),
    "of no struct": ({"a.h": PLAIN, "sub/q.h": "int i; /* layoutlint: hot-write */\n"}, ".", 2, "no rules apply"),
    "none": ({"a.h": PLAIN, "sub/q.h": PLAIN.replace("z", "y")}, ".", 2, "no rules apply"),
}  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("files", "path", "status", "text_message"), WITHOUT_RULES.values(), ids=WITHOUT_RULES)
def test_annotations_anywhere_in_an_input_are_rules(tmp_path, files, path, status, text_message):
    include = ROOT / "layoutlint/include"
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    ended = run("check", path, f"-I{include}", cwd=tmp_path)
    assert (ended.returncode, text_message in ended.stdout + ended.stderr) == (status, True), ended
    if status == 1:
        assert run("check", path, "--no-annotations", f"-I{include}", cwd=tmp_path).returncode == 2


PATHS = [
    # where gcc runs, what it compiles, the folder of sources, and whether the file is one of that folder
    (".", "lib/src/q.c", ".", True),
    (".", "lib/src/q.c", "lib", True),
    (".", "lib/src/q.c", "lib/src", True),
    ("lib", "./src/q.c", "lib/src", True),
    ("lib/src", "q.c", "lib/src", True),
    (".", "lib/src/q.c", "other", False),
]


@pytest.mark.parametrize(("folder", "source", "sources", "finds"), PATHS)
def test_debug_information_can_name_the_folder_of_sources_too(tmp_path, folder, source, sources, finds):
    text = "struct q {\n\tlong a; /* layoutlint: hot-write */\n\tlong b; /* layoutlint: hot-read */\n} q;\n"
    for name in ("lib/src/q.c", "other/q.c"):
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["gcc", "-g", "-c", source, "-o", tmp_path / "q.o"], cwd=tmp_path / folder, check=True)
    done = run("check", "q.o", "--sources", sources, cwd=tmp_path)
    assert (done.returncode, "no rules apply" in done.stderr) == ((1, False) if finds else (2, True)), done.stderr

"""What a search says of files and names that it could not follow: each limit, and just below it."""

from __future__ import annotations

import json
import os
import signal
from functools import cache
from pathlib import Path

import pytest

from layoutlint import api
from layoutlint.model.flows import Defined, Flows, UnionUse
from layoutlint.model.record import replace
from layoutlint.model.structs import Source, Struct
from layoutlint.sources.order_uses import definition, expansion, find_order_uses, scan, search, sources
from layoutlint.sources.order_uses.scan import Expansions
from layoutlint.sources.order_uses.subject import Subject
from layoutlint.workers import bounded_text
from tests.harness.command import ROOT

TYPES = """\
typedef unsigned int __le32; typedef unsigned short __be16; typedef unsigned char u8; typedef unsigned int u32;
struct s { int a; long b; };
struct fixed { __le32 a; __be16 b; u8 c[2]; };
struct mostly { __le32 a; __be16 b; u32 c; u8 d; };
struct half { __le32 a; u32 b; };
struct pointed { __le32 *a; u8 *b; __le32 c; };
struct bytes { u8 a; char b; };
struct inner { struct { u8 x; } a; __le32 b, c; };
"""


@cache
def structs() -> dict[str, Struct]:
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "s.h").write_text(TYPES)
        return {layout.struct.name: replace(layout.struct, source=None) for layout in api.read(f"{folder}/s.h")}


FILES = [
    ("include/uapi/s.h", "uapi"), ("uapi/s.h", "uapi"), ("xuapi/s.h", ""), ("/usr/include/linux/s.h", "uapi"), ("/usr/include/x86_64-linux-gnu/asm/s.h", "uapi"),
    ("/usr/include/s.h", "public-header"), ("/usr/local/include/linux/s.h", "public-header"), ("/usr/include/sounds/s.h", "public-header"),
    ("/opt/usr/include/s.h", ""), ("src/s.h", ""),
]  # fmt: skip


@pytest.mark.parametrize(("file", "kind"), FILES)
def test_headers_that_others_compile(file, kind):
    found = list(definition.facts(Subject(replace(structs()["s"], source=Source(file, 7)))))
    assert [(use.kind, use.file, use.line, use.is_note) for use in found] == ([(kind, file, 7, kind == "public-header")] if kind else [])


@pytest.mark.parametrize(("name", "is_note"), [
    ("s", None), ("fixed", False), ("mostly", True), ("half", None), ("pointed", None), ("bytes", None), ("inner", True),
])  # fmt: skip
def test_byte_orders(name, is_note):
    found = [use for use in definition.facts(Subject(structs()[name])) if use.kind == "fixed-endian"]
    assert [use.is_note for use in found] == ([] if is_note is None else [is_note])
    assert all(use.file == structs()[name].origin and use.line is None for use in found)


@pytest.mark.parametrize(("source", "is_own"), [
    ("src/s.c", True), ("./src/s.c", True), ("../src/s.c", True), ("../../src/s.c", True), ("s.c", True), ("/work/x/src/s.c", True), ("ss.c", False), ("x/s.c", False), (None, True),
])  # fmt: skip
def test_the_file_of_a_struct(source, is_own, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    (tmp_path / "src/s.c").write_text("struct s { int a; long b; } __packed;")
    subject = Subject(replace(structs()["s"], source=source and Source(source, 1)))
    found = scan.search_file("src/s.c", subject, Expansions({}, frozenset()))
    assert (found.defines, found.is_other, [use.kind for use in found.uses]) == (is_own, not is_own, ["packed" if is_own else "struct-cast"])


def found_in(folder: Path, files: dict[str, str | bytes], name: str = "s", **more: object) -> search.Search:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_bytes(text if isinstance(text, bytes) else text.encode())
    return find_order_uses(structs()[name], [str(folder)], jobs=1, **more)  # type: ignore[arg-type]


def test_a_struct_without_a_name():
    nameless = replace(structs()["s"], name="{#1}", is_tagged=False, aliases=())
    found = find_order_uses(nameless, ["s.o", "s.c"])
    assert found.not_looked_at == ("s.o is not a C source: it does not show what depends on the order", "no file was searched: the struct has no name in C")
    assert found.looked_at == search.LookedAt()


def test_databases_and_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("a.c", "b.cc", "c.h"):
        (tmp_path / name).write_text("")
    (tmp_path / "compile_commands.json").write_text(json.dumps([{"directory": str(tmp_path), "file": name, "arguments": ["cc", name]} for name in ("a.c", "b.cc", "gone.c")]))
    found = sources.find(["compile_commands.json", "x.S", "y.rs", "./a.c"])
    assert (sorted(found.files), found.other_language, found.missing) == (["a.c", "c.h"], ["b.cc", "x.S", "y.rs"], [])
    (tmp_path / "compile_commands.json").write_text("{")
    (missing,) = sources.find(["compile_commands.json"]).missing
    assert missing.startswith("compile_commands.json ")


@pytest.mark.parametrize("most", [2, 3])
def test_many_files(tmp_path, monkeypatch, most):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sources, "MOST_FILES", most)
    found = sources.find(["c.c", "a.c", "b.c", "a.c"])
    assert (found.files, found.missing) == ((["c.c", "a.c"], ["1 of 3 files were not searched: at most 2 are"]) if most == 2 else (["c.c", "a.c", "b.c"], []))


def test_folders_that_cannot_be_walked(tmp_path, monkeypatch):
    def walk(path, onerror):
        for name in "abcd":
            onerror(OSError(13, "no", f"{path}/{name}"))
        yield path, [".git", "sub", ".x"], ["b.c", "a.h", "z.txt", "y.rs"]

    monkeypatch.setattr(sources.files, "walk", walk)
    found = sources.find([str(tmp_path)])
    names = [[Path(name).name for name in some] for some in (found.files, found.other_language)]
    missing = [sentence.replace(f"{tmp_path}/", "") for sentence in found.missing]
    assert (names, missing) == ([["a.h", "b.c"], ["y.rs"]], ["folders that cannot be listed: a, b, c and 1 more"])


def ends(how: str) -> None:
    if how == "dies":
        os.kill(os.getpid(), signal.SIGKILL)
    while how == "does not end":
        pass


@pytest.mark.parametrize(
    ("how", "reason"),
    [("dies", "was killed (perhaps for want of memory)"), ("does not end", "takes more processor time than its size allows")],
)
@pytest.mark.parametrize("chunk", [1, 2])
@pytest.mark.usefixtures("own_processes")
def test_a_file_at_which_a_process_ends_is_not_searched_and_others_are(tmp_path, monkeypatch, how, reason, chunk):
    def search_file(path: str, **more: object) -> scan.FileUses:
        ends(how if path.endswith("c.c") else "")
        return whole(path, **more)  # type: ignore[arg-type]

    whole = scan.search_file
    monkeypatch.setattr(scan, "search_file", search_file)
    monkeypatch.setattr(bounded_text, "_SECONDS", 0.2)
    monkeypatch.setattr(search, "_CHUNK", chunk)
    found = found_in(tmp_path, {f"{name}.c": "void f(struct s *p) { fwrite(p, sizeof *p, 1, 0); }" for name in "abcd"})
    places = [(use.kind, Path(use.file or "").name, use.text.removeprefix("could not be looked at: the file ")) for use in found.uses]
    assert sorted(each for each in places if each[0] == "unclear") == [("unclear", "c.c", reason)]
    assert [name for kind, name, _ in places if kind == "raw-transfer"] == ["a.c", "b.c", "d.c"]
    assert found.not_looked_at[0] == f"1 file could not be searched: c.c ({reason})"


@pytest.mark.usefixtures("own_processes")
def test_time_for_files_that_fail_ends(tmp_path, monkeypatch):
    def search_file(path: str, **more: object) -> scan.FileUses:
        ends("does not end" if Path(path).stem in "abc" else "")
        return scan.FileUses(path)

    monkeypatch.setattr(scan, "search_file", search_file)
    monkeypatch.setattr(bounded_text, "_SECONDS", 0.2)
    monkeypatch.setattr(bounded_text, "_PATIENCE_SECONDS", 0.25)
    found = found_in(tmp_path, {f"{name}.c": "struct s *p;" for name in "abcd"})
    texts = [use.text.removeprefix("could not be looked at: the file ") for use in found.uses if use.kind == "unclear"]
    slow, later = "takes more processor time than its size allows", "is not begun: others that failed used up the time for it"
    assert texts.count(slow) >= 1
    assert set(texts) == {slow, later}
    assert len(texts) == 4


@pytest.mark.parametrize(("count", "is_said"), [(7, False), (8, False), (9, True), (12, True)])
def test_typedefs_that_lead_to_one_another(tmp_path, count, is_said):
    files: dict[str, str | bytes] = {f"{n}.h": f"typedef t{n - 1} t{n};\n" for n in range(1, count)}
    found = found_in(tmp_path, {"0.h": "typedef struct s t0;\n", **files, "last.c": f"t{count - 1} x = {{ 1, 2 }};\n"})
    uses = {use.kind: use for use in found.uses}
    assert ("unclear" in uses) == is_said
    assert ("positional-initialiser" in uses) != is_said
    assert not is_said or uses["unclear"].text == "could not be looked at: typedefs and macros that lead to it through too many others"


@pytest.mark.parametrize("count", [30, 31])
def test_many_containers(tmp_path, count):
    text = "".join(f"struct c{n} {{ int x; struct s s; }};\n" for n in range(count))
    around = "struct top { int y; struct c3 c; };\nstruct top t = { 1, { 2, { 3, 4 } } };\n"
    found = found_in(tmp_path, {"c.c": text, "top.c": around})
    said = f"initialisers of structs that embed one of the {count} structs which embed it"
    assert (said in found.not_looked_at) == (count == 31)
    assert [use.kind for use in found.uses] == ["positional-initialiser"] * (count == 30)


@pytest.mark.parametrize(("text", "is_unread"), [("struct s *p; /*" + "x" * 100, ""), ("struct s *p; /*" + "x" * 101, "has more than 0 MB of text"), ("struct s *p;\0", "has bytes")])
def test_texts_that_are_not_read(tmp_path, monkeypatch, text, is_unread):
    monkeypatch.setattr(scan, "_MOST_TEXT", 115)
    (tmp_path / "s.c").write_text(text)
    found = scan.search_file(str(tmp_path / "s.c"), Subject(structs()["s"]), Expansions({}, frozenset()))
    assert (found.mentions, found.unread.startswith(is_unread), bool(found.unread)) == (True, True, bool(is_unread))


@pytest.mark.parametrize(("length", "is_said"), [(96, False), (97, True)])
def test_macros_that_make_much(tmp_path, monkeypatch, length, is_said):
    monkeypatch.setattr(expansion, "LARGEST", 400)
    (tmp_path / "s.c").write_text(f"#define M {{ {'x' * length} }}\nstruct s a[] = {{ {'M, ' * 4} }}; struct s z = {{ 1 }};\n")
    found = scan.search_file(str(tmp_path / "s.c"), Subject(structs()["s"]), Expansions({}, frozenset()))
    assert [each.text for each in found.unresolved] == ["what the macros of this file make, which is too much text or too deep"] * is_said


def test_files_that_go_away(tmp_path):
    (tmp_path / "gone.cc").symlink_to("nowhere")
    (tmp_path / "gone.c").symlink_to("nowhere")
    found = found_in(tmp_path, {"s.c": "struct s x = { 1 };\n"})
    assert [use.kind for use in found.uses] == ["positional-initialiser"]
    assert "1 file could not be searched: gone.c (no such file or directory)" in found.not_looked_at
    assert any("gone.cc" in each for each in found.not_looked_at)
    assert scan.condition_lines(str(tmp_path / "gone.c")) == ()
    question = scan.SecondPass(frozenset(), {}, True, frozenset(), {}, {}, frozenset())
    assert scan.answer(str(tmp_path / "gone.c"), Subject(structs()["s"]), question) == scan.FileUses(str(tmp_path / "gone.c"))


def test_macros_of_files_that_do_not_name_the_struct(tmp_path):
    """A macro that other macros name is searched in all files, but what initialises others is not."""
    texts: dict[str, str | bytes] = {
        "s.c": "struct s a = FIRST(1);\nstruct s b = FAR(2);\nstruct s c = NOWHERE(3);\n", "one.h": "#define FIRST(x) SECOND(x)\n#define FAR(x) FAR2(x)\n",
        "two.h": "#define SECOND(x) { x, 2 }\n#define OTHER { 1 }\n", "three.h": "#define FAR2(x) FAR3(x)\n", "four.h": "#define FAR3(x) { .a = x }\n",
    }  # fmt: skip
    found = found_in(tmp_path, texts)
    assert [(use.kind, use.line, use.text, use.members) for use in found.uses] == [
        ("positional-initialiser", 1, "an initialiser sets `a` to `b` by position", ("a", "b")),
        ("unclear", 3, "could not be looked at: what `NOWHERE` sets, whose definition is not there", ()),
    ]


ASSEMBLY = [
    ("f:\n\tret\n", ["f"], [], 1), ("\n  f :\n", ["f"], [], 2), ("call f\n", ["f"], [], 0), ("ff:\n", ["f"], [], 0), ("\n\n lea o(%rip), %rax\n", [], ["o"], 3),
    ("lea oo(%rip)\n", [], ["o"], 0), ("f:\n", [], [], 0), ("g:\nf:\n", ["f", "g"], ["o"], 1),
]  # fmt: skip


@pytest.mark.parametrize(("text", "functions", "objects", "line"), ASSEMBLY)
def test_assembly_that_gets_objects(tmp_path, monkeypatch, text, functions, objects, line):
    monkeypatch.setattr(search.flow_uses, "names_with_objects", lambda solver: (functions, objects))
    found = found_in(tmp_path, {"s.c": "struct s *p;\n", "e.S": text}, flows=Flows())
    assert [(use.kind, use.line, Path(use.file).name) for use in found.uses if use.kind == "asm-offset"] == [("asm-offset", line, "e.S")] * bool(line)


UNIONS = [
    # another file, its text, whether the struct is the only member that is used
    ("other.c", "int f(union u *u) { return u->n.x; }", True), ("other.c", "int f(union u *u) { return u->words[1]; }", False),
    ("other.c", "int f(union u *u) { return u . words[1]; }", False), ("other.c", "int words;", True), ("other.h", "int f(union u *u) { return u->words[1]; }", False),
    ("other.cc", "int f(union u *u) { return u->words[1]; }", False), ("read.c", "int f(union u *u) { return u->words[1]; }", True),
    ("read.h", "int f(union u *u) { return u->words[1]; }", False), ("gone.c", None, False),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "is_alone"), UNIONS)
def test_unions_of_which_one_member_is_used(tmp_path, name, text, is_alone):
    union = "union u { struct s s; long words[2]; };\nlong g(union u *u) { return u->s.b; }\n"
    if text is None:
        (tmp_path / name).symlink_to("nowhere")
    else:
        (tmp_path / name).write_text(text)
    uses = [UnionUse("u.c:1", "words", False, "beside", "u.c", 1), UnionUse("u.c:1", "s", True, "beside", "u.c", 1), UnionUse("u.c:1", "s", True, "read", "u.c", 2)]
    defined = [Defined("g", str(tmp_path / "u.c"), 2, 2), Defined("f", str(tmp_path / "read.c"), 1, 1), Defined("f", str(tmp_path / "read.h"), 1, 1)]
    found = found_in(tmp_path, {"u.c": union}, flows=Flows(unions=uses, defined=defined))
    assert [use.kind for use in found.uses if use.kind == "union-overlay"] == ["union-overlay"] * (not is_alone)
    noted = found_in(tmp_path, {"u.c": union}, flows=Flows(unions=uses, defined=defined, notes=["x.c could not be read"]))
    assert [use.kind for use in noted.uses if use.kind == "union-overlay"] == ["union-overlay"]


@pytest.mark.parametrize(("first", "last", "count"), [(1, 3, 1), (2, 4, 0), (4, 4, 0), (4, 5, 0), (3, 4, 0), (5, 5, 1), (1, 5, 0)])
def test_texts_whose_flows_are_known(tmp_path, first, last, count):
    """In a function that was parsed the flows decide, unless a condition of the preprocessor is inside."""
    text = "#if X\n#endif\nstruct s *p;\nvoid f(T *p) { g((u64 *)p); }\n"
    flows = Flows(defined=[Defined("f", str(tmp_path / "s.c"), first, last)])
    found = found_in(tmp_path, {"s.c": text}, flows=flows)
    assert [use.kind for use in found.uses] == ["unclear"] * bool(count or first < 2 < last)


@pytest.mark.parametrize("count", [20, 21, 25])
def test_uses_that_forbid_the_same(tmp_path, count):
    text = "".join(f"struct s v{n} = {{ 1, 2 }};\n" for n in range(count))
    found = found_in(tmp_path, {"s.c": text + "struct s other = { 1 };\nstruct s other2 = { 1 }; struct s other3 = { 1 };\n"})
    assert [use.line for use in found.uses] == [*range(1, 21), count + 1, count + 2]
    assert ROOT not in Path(found.uses[0].file).parents


@pytest.mark.parametrize(("count", "shown"), [
    (1, "t0_t (s.c:1)"), (3, "t0_t (s.c:1), t1_t (s.c:2), t2_t (s.c:3)"), (4, "t0_t (s.c:1), t1_t (s.c:2), t2_t (s.c:3) and 1 more"),
    (5, "t0_t (s.c:1), t1_t (s.c:2), t2_t (s.c:3) and 2 more"),
])  # fmt: skip
def test_casts_of_unknown_types(tmp_path, monkeypatch, count, shown):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "s.c").write_text("".join(f"void f{n}(struct s *p) {{ g((t{n}_t *)p); }}\n" for n in range(count)))
    found = find_order_uses(structs()["s"], ["s.c"], jobs=1)
    said = [each for each in found.not_looked_at if each.startswith("casts")]
    assert said == [f"casts between the struct and types whose definitions were not found: {shown}"]


@pytest.mark.parametrize("count", [19, 20, 21, 25])
def test_many_uses_that_forbid_the_same(tmp_path, count):
    found = found_in(tmp_path, {"s.c": "".join(f"struct s s{n} = {{ 1, 2 }};\n" for n in range(count))})
    assert [use.line for use in found.uses] == list(range(1, min(count, 20) + 1))


@pytest.mark.parametrize("text", ["_Static_assert(offsetof(struct s, b) == 8, \"\");\n", "struct s x = { 1, 2 };\n"])
def test_equal_assertions_are_listed_once_a_file(tmp_path, text):
    found = found_in(tmp_path, {"a.c": text * 3, "b.c": text * 2})
    lines = [1, 1] if text[0] == "_" else [1, 2, 3, 1, 2]
    assert [use.line for use in found.uses] == lines


BEFORE = "n = sizeof(struct s) -{}offsetof(struct s, b);\n"


@pytest.mark.parametrize(("length", "is_read"), [(700, True), (781, True), (782, True), (783, False), (799, False), (800, False)])
def test_the_text_before_an_offset(tmp_path, length, is_read):
    """800 characters of the expression before an offset are read."""
    found = found_in(tmp_path, {"s.c": BEFORE.format(" " * length)})
    assert [use.text for use in found.uses] == ["a size goes from `b` to the end of the struct"] * is_read


@pytest.mark.parametrize(("length", "is_read"), [(700, True), (797, True), (798, False), (800, False)])
def test_the_text_behind_an_offset(tmp_path, length, is_read):
    """800 characters of the expression behind an offset are read, with the sign before another one."""
    found = found_in(tmp_path, {"s.c": f"n = offsetof(struct s, b){' ' * length}- offsetof(struct s, a);\n"})
    assert [use.text for use in found.uses] == ["a size is the distance of `a` and `b`"] * is_read


@pytest.mark.parametrize("operand", ["((struct s *)0)", "((struct s *) 0)", "((struct s *)NULL)", "((const struct s *) 0x0)", "((struct s *)1)"])
def test_offsets_from_null(tmp_path, operand):
    found = found_in(tmp_path, {"s.c": f"_Static_assert((long)&{operand}->b == 8);\n"})
    assert [use.kind for use in found.uses] == ["offset-assertion"] * (operand != "((struct s *)1)")


@pytest.mark.parametrize("start", ["", "(", "x = (", ";", "{"])
def test_an_offset_at_the_beginning_of_a_text(tmp_path, start):
    found = found_in(tmp_path, {"s.c": f"{start}offsetof(struct s, b) - offsetof(struct s, a); struct t;"})
    assert [use.text for use in found.uses] == ["a size is the distance of `a` and `b`"]


@pytest.mark.parametrize(("nested", "is_read"), [(10, True), (11, True), (12, False), (13, False)])
def test_calls_around_an_offset(tmp_path, nested, is_read):
    """Twelve levels of parentheses are read around an offset, of which `offsetof` is none."""
    text = f"static_assert({'f(' * nested}offsetof(struct s, b){')' * nested} > 1);\n"
    found = found_in(tmp_path, {"s.c": text})
    assert [use.kind for use in found.uses] == ["offset-assertion"] * is_read


@pytest.mark.parametrize(("text", "kinds"), [
    ("enum {%s A = offsetof(struct s, b) };\n", ["offset-constant"]), ("enum kind { X,%s A = 2 * offsetof(struct s, b) };\n", ["offset-constant"]),
    ("enum { X };%s int a = offsetof(struct s, b);\n", []), ("enum kind%s a = offsetof(struct s, b);\n", []), ("struct { int x; }%s { A = offsetof(struct s, b) };\n", []),
])  # fmt: skip
@pytest.mark.parametrize("space", [0, 300])
def test_enumerators(tmp_path, text, kinds, space):
    found = found_in(tmp_path, {"s.c": text % (" " * space)})
    assert [use.kind for use in found.uses] == kinds


@pytest.mark.parametrize(("name", "kinds"), [("b.h", []), ("a.c", []), ("b.c", ["struct-cast"])])
def test_first_members_are_read_in_headers_and_beside_casts(tmp_path, name, kinds):
    """A struct that begins with one that begins with the searched one: its cast is as good as that of the searched one."""
    texts = {"a.c": "void f(struct s *p) { g((struct other *)p); }\n", "m.h": "struct mid { struct s s; int n; };\n"}
    texts[name] = f"{texts.get(name, '')}struct other {{ struct mid m; int n; }};\n"
    assert [use.kind for use in found_in(tmp_path, dict(texts)).uses] == kinds

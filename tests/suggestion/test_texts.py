"""The smallest order of a struct as a patch, for texts of every shape: compilers see the promised offsets."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layoutlint.lint.options import Options
from layoutlint.model.reading import ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.structs import Source
from layoutlint.suggestion.builds import Request
from layoutlint.suggestion.text import shown_path
from tests.harness.build import struct
from tests.harness.tools import NEEDS_SOLVER, need

pytestmark = NEEDS_SOLVER

TEXTS = [
    # the shape, the text, and what is made of it: a patch, or none and why
    ("tabs and trailing comments", "struct s {\n\tchar\ta;\t\t/* a: first\n\t\t\t\t * more of a */\n\tlong\tb;\t// b\n\tchar\tc; /* c */ /* c2 */\n\tlong\td;\n};\n", "patch"),
    ("crlf", "struct s {\r\n\tchar a; /* a */\r\n\t/* b\r\n\t * b2 */\r\n\tlong b;\r\n\tchar c;\r\n};\r\n", "patch"),
    ("mixed endings", "struct s {\n\tchar a; /* a */\r\n\tlong b;\n\tchar c;\r\n};\n", "patch"),
    ("no newline at end", "struct s {\n\tchar a;\n\tlong b;\n\tchar c;\n};", "patch"),
    ("one line", "struct s { char a; long b; char c; };\n", "patch"),
    ("several declarators", "struct s {\n\tchar a, aa;\n\tlong b, *bb;\n\tchar c;\n\tlong d;\n};\n", "patch"),
    ("declarators on lines", "struct s {\n\tchar a, /* a */\n\t     aa; /* aa */\n\tlong b;\n\tchar c;\n\tlong d;\n};\n", "patch"),
    ("if between", "struct s {\n\tchar a;\n#ifdef X\n\tlong x;\n#else\n\tint y;\n#endif\n\tlong b;\n\tchar c;\n\tlong d;\n};\n", "patch"),
    ("if true between", "#define X\nstruct s {\n\tchar a;\n#ifdef X\n\tlong x;\n#else\n\tint y;\n#endif\n\tlong b;\n\tchar c;\n\tlong d;\n};\n", "patch"),
    ("nested anonymous", "struct s {\n\tchar a;\n\tstruct {\n\t\tlong p;\n\t\tunion {\n\t\t\tint q;\n\t\t\tchar r;\n\t\t};\n\t};\n\tchar c;\n\tlong d;\n\tchar e;\n};\n", "patch"),
    ("attributes", "struct s {\n\tchar a __attribute__((unused));\n\t__attribute__((aligned(8))) long b;\n\tchar c __attribute__((aligned(2), unused));\n\t__extension__ long d;\n\tchar e;\n} __attribute__((aligned(16)));\n", "patch"),
    ("kernel-doc", "/**\n * struct s - a struct\n * @a: the first\n * @b: the second\n * @c: the third\n */\nstruct s {\n\tchar a;\n\tlong b;\n\tchar c;\n\tlong d;\n};\n", "patch"),
    ("inline kernel-doc", "struct s {\n\t/** @a: the first */\n\tchar a;\n\t/**\n\t * @b: the second\n\t */\n\tlong b;\n\t/** @c: third */\n\tchar c;\n\tlong d;\n};\n", "patch"),
    ("doxygen backward", "struct s {\n\tchar a; ///< a\n\t        ///< more a\n\tlong b; /**< b */\n\tchar c;\n\t/**< c after */\n\tlong d;\n};\n", "patch"),
    ("section comments", "struct s {\n\t/* public: */\n\tchar a;\n\tlong b;\n\t/* private: */\n\tchar c;\n\tlong d;\n};\n", "patch"),
    ("group comment with blank", "struct s {\n\t/* numbers */\n\n\tchar a;\n\tlong b;\n\n\t/* others */\n\n\tchar c;\n\tlong d;\n};\n", "patch"),
    ("macro members", "#define MEMBER(t, n) t n;\nstruct s {\n\tMEMBER(char, a)\n\tlong b;\n\tMEMBER(char, c)\n\tlong d;\n};\n", "patch"),
    ("macro member semicolon", "#define DECLARE(n) char n[3]\nstruct s {\n\tDECLARE(a);\n\tlong b;\n\tDECLARE(c);\n\tlong d;\n};\n", "patch"),
    ("macro body", "#define BODY char a; long b; char c;\nstruct s {\n\tBODY\n\tlong d;\n};\n", "unchanged"),
    ("struct by macro", "#define STRUCT(n, b) struct n { b };\nSTRUCT(s, char a; long b; char c;)\n", "no patch"),
    ("bit-fields", "struct s {\n\tchar a;\n\tunsigned x : 3;\n\tunsigned : 0;\n\tunsigned y : 5;\n\tlong b;\n\tchar c;\n\tlong d;\n};\n", "patch"),
    ("flexible", "struct s {\n\tchar a;\n\tlong b;\n\tchar c;\n\tlong d;\n\tchar n;\n\tint data[];\n};\n", "patch"),
    ("function pointers", "struct s {\n\tchar a;\n\tint (*f)(int x,\n\t\t int y); /* f */\n\tchar c;\n\tvoid (*(*g[2])(void))(int);\n\tchar e;\n};\n", "patch"),
    ('static assert inside', 'struct s {\n\tchar a;\n\tlong b;\n\t_Static_assert(sizeof(long) == 8, "x");\n\tchar c;\n\tlong d;\n};\n', 'patch'),
    ("uncrustified", "struct s\n{\n  char a ; long b ;\n  char c\n    ;\n  long d ; char e ;\n}\n;\n", "patch"),
    ("comment with brace", "struct s {\n\tchar a; /* } */\n\tlong b; // ; {\n\tchar c; /* struct s { */\n\tlong d;\n\tchar e;\n};\n", "patch"),
    ("continued line comment", "struct s {\n\tchar a; // a \\\n\t still a\n\tlong b;\n\tchar c;\n\tlong d;\n};\n", "patch"),
    ('string in attribute', 'struct s {\n\tchar a __attribute__((deprecated("x; } /*")));\n\tlong b;\n\tchar c;\n\tlong d;\n};\n', 'patch'),
    ("typedef", "typedef struct {\n\tchar a;\n\tlong b;\n\tchar c;\n\tlong d;\n} s;\n", "patch"),
    ("typedef tag", "typedef struct s {\n\tchar a;\n\tlong b;\n\tchar c;\n\tlong d;\n} s_t, *s_p;\n", "patch"),
    ("variable behind", "struct s {\n\tchar a;\n\tlong b;\n\tchar c;\n\tlong d;\n} one, *two;\n", "patch"),
    ("nested in another", "struct o {\n\tint x;\n\tstruct s {\n\t\tchar a;\n\t\tlong b;\n\t\tchar c;\n\t\tlong d;\n\t} in;\n};\n", "patch"),
    ("pragma inside", "struct s {\n\tchar a;\n#pragma GCC diagnostic push\n\tlong b;\n#pragma GCC diagnostic pop\n\tchar c;\n\tlong d;\n};\n", "unchanged"),
    ("pragma pack", "#pragma pack(push, 4)\nstruct s {\n\tchar a;\n\tlong b;\n\tchar c;\n\tlong d;\n};\n#pragma pack(pop)\n", "refused"),
    ('include inside', 'struct s {\n\tchar a;\n\tlong b;\n#include "inner.inc"\n\tchar c;\n\tlong d;\n};\n', 'unchanged'),
    ("unicode", "struct s {\n\tchar a; /* größe */\n\tlong b; /* 長さ */\n\tchar c;\n\tlong d;\n};\n", "patch"),
    ("digraphs", "struct s <%\n\tchar a<:3:>;\n\tlong b;\n\tchar c;\n\tlong d;\n%>;\n", "no patch"),
    ('line directive', '# 100 "other.h"\nstruct s {\n\tchar a;\n\tlong b;\n\tchar c;\n\tlong d;\n};\n', 'patch'),
    ("defines between", "struct s {\n\tchar a;\n#define S_A 1\n#define S_B 2\n\tlong b;\n\tchar c;\n#define S_C 3\n\tlong d;\n};\n", "patch"),
    ("enum defined inside", "struct s {\n\tchar a;\n\tenum e { E1, E2 } b;\n\tlong c;\n\tenum e d;\n\tlong f;\n\tchar g;\n};\n", "patch"),
    ("struct defined inside", "struct s {\n\tchar a;\n\tstruct in { char x; long y; } b;\n\tchar c;\n\tstruct in *d;\n\tstruct in e;\n\tchar f;\n};\n", "patch"),
    ("array sized by offsetof", "struct s {\n\tchar a;\n\tlong b;\n\tchar c;\n\tlong d;\n\tchar pad[64 - 32];\n};\n", "patch"),
    ("tabs before semicolon", "struct s {\n\tchar\ta\t;\n\tlong\tb\t;\n\tchar\tc\t;\n\tlong\td\t;\n};\n", "patch"),
    ("K&R brace", "struct s\n{\tchar a;\n\tlong b;\n\tchar c;\n\tlong d; };\n", "patch"),
    ("form feed", "struct s {\n\tchar a;\n\x0c\n\tlong b;\n\tchar c;\n\tlong d;\n};\n", "patch"),
    ("bom", "\ufeffstruct s {\n\tchar a;\n\tlong b;\n\tchar c;\n\tlong d;\n};\n", "patch"),
    ("unnamed bit padding", "struct s {\n\tchar a;\n\tint : 16;\n\tlong b;\n\tchar c;\n\tlong d;\n};\n", "patch"),
    ("comment between type and name", "struct s {\n\tchar /* of a */ a;\n\tlong\n\t\tb; /* b */\n\tchar c;\n\tlong d;\n};\n", "patch"),
    ("leading comment blank blank", "struct s {\n\n\n\t/* c1 */\n\t/* c2 */\n\tchar a;\n\n\t// d1\n\t// d2\n\tlong b;\n\n\tchar c;\n\tlong d;\n\n};\n", "patch"),
    ("if 0", "struct s {\n\tchar a;\n#if 0\n\tlong dead;\n#endif\n\tlong b;\n\tchar c;\n\tlong d;\n};\n", "patch"),
    ("attr macro after", "#define __user\n#define __guarded(x)\nstruct s {\n\tchar a __guarded(b);\n\tlong b;\n\tchar __user *c;\n\tchar d __guarded(b);\n\tlong e;\n\tchar f;\n};\n", "patch"),
    ("long name macro", "#define DECLARE_BITMAP(name, bits) unsigned long name[((bits) + 63) / 64]\nstruct s {\n\tchar a;\n\tDECLARE_BITMAP(map, 100);\n\tchar c;\n\tlong d;\n};\n", "patch"),
    ("C23 attribute", "struct s {\n\t[[maybe_unused]] char a;\n\tlong b;\n\tchar c [[maybe_unused]];\n\tlong d;\n\tchar e;\n};\n", "patch"),
    ("twice under if", "#ifdef OTHER\nstruct s {\n\tint z;\n};\n#else\nstruct s {\n\tchar a;\n\tlong b;\n\tchar c;\n\tlong d;\n};\n#endif\n", "patch"),
]  # fmt: skip


def check_with_compilers(folder: Path, name: str, struct) -> None:
    """Compile assertions on the offsets of all members that are bytes."""
    members = [field for field in struct.fields if field.name and not field.is_bitfield]
    lines = [f'_Static_assert(__builtin_offsetof({name}, {each.name}) == {each.bit_offset // 8}, "{each.name}");' for each in members]
    lines.append(f'_Static_assert(sizeof({name}) == {struct.bit_size // 8}, "size");')
    (folder / "t.c").write_text('#include "s.h"\n' + "\n".join(lines) + "\n")
    for compiler in ("gcc", "clang"):
        need(compiler, "-std=gnu2x", "-c")
        command = [compiler, "-std=gnu2x", "-w", "-fsyntax-only", "t.c"]
        made = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
        assert not made.returncode, made.stderr


def words_of(text: str) -> list[str]:
    """The words and signs of a text, in alphabetical order: moves and new lines change none."""
    return sorted(text.split())


@pytest.mark.one_in(8)
@pytest.mark.parametrize(("text", "outcome"), [row[1:] for row in TEXTS], ids=[row[0] for row in TEXTS])
def test_a_text_of_this_shape(tmp_path, monkeypatch, text, outcome):
    from layoutlint.suggestion.run import suggest  # imports the solver

    need("git")
    monkeypatch.chdir(tmp_path)
    Path("inner.inc").write_text("\tint inner;\n")
    Path("s.h").write_bytes(text.encode())
    options = Options(read=ReadOptions(cache=False, jobs=1))
    made = suggest("s.h", Request("s", ("size", "moves", "holes")), (), (), options)
    if made.patch is None:
        assert outcome == ("refused" if made.status == "refused" else "no patch")
        return
    assert outcome == ("patch" if made.patch.diff else "unchanged")
    if made.patch.diff:
        assert words_of(made.patch.text) == words_of(text)
        Path("p.patch").write_bytes(made.patch.diff.encode())
        subprocess.run(["git", "apply", "p.patch"], check=True)
        assert Path("s.h").read_bytes() == made.patch.text.encode()
        check_with_compilers(tmp_path, "s" if text.startswith("typedef struct {") else "struct s", made.new)


@pytest.mark.parametrize(("source", "file", "shown"), [
    # the file as the input names it, where it is from the working folder, how a patch names it
    ("include/s.h", "tree/include/s.h", "include/s.h"), ("include/../s.h", "tree/s.h", "s.h"), (None, "tree/s.h", "tree/s.h"),
    ("../s.h", "tree/s.h", "tree/s.h"), ("/usr/include/s.h", "tree/s.h", "tree/s.h"), ("", "tree/s.h", "tree/s.h"),
])  # fmt: skip
def test_paths_of_patches(source, file, shown, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    named = replace(struct("s", 8), source=None if source is None else Source(source, 1))
    assert shown_path(named, str(tmp_path / file)) == shown


def test_paths_outside_of_the_working_folder(tmp_path, monkeypatch):
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    assert shown_path(replace(struct("s", 8), source=None), str(tmp_path / "s.h")) == f"{tmp_path}/s.h".lstrip("/")

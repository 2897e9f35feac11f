"""What inputs choose cannot forge output: not on a terminal, not in a CI system's log, not in generated files."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path

import pytest

from layoutlint import escapes
from layoutlint.reports import FORMATS
from tests.harness.command import run
from tests.readers.elf.test_elf import tool

CHARACTERS = [
    # id, character, as it is shown
    ("NUL", "\0", r"\x00"),
    ("BEL", "\a", r"\x07"),
    ("BS", "\b", r"\x08"),
    ("tab", "\t", r"\t"),
    ("LF", "\n", r"\n"),
    ("VT", "\v", r"\x0b"),
    ("FF", "\f", r"\x0c"),
    ("CR", "\r", r"\r"),
    ("ESC", "\x1b", r"\x1b"),
    ("FS", "\x1c", r"\x1c"),
    ("DEL", "\x7f", r"\x7f"),
    ("NEL", "\x85", r"\x85"),
    ("CSI", "\x9b", r"\x9b"),
    ("no-break space", "\xa0", r"\xa0"),
    ("soft hyphen", "\xad", r"\xad"),
    ("zero-width space", "\u200b", r"\u200b"),
    ("zero-width joiner", "\u200d", r"\u200d"),
    ("grapheme joiner", "\u034f", r"\u034f"),
    ("Hangul filler", "\u3164", r"\u3164"),
    ("Braille blank", "\u2800", r"\u2800"),
    ("Arabic letter mark", "\u061c", r"\u061c"),
    ("line separator", "\u2028", r"\u2028"),
    ("paragraph separator", "\u2029", r"\u2029"),
    ("right-to-left override", "\u202e", r"\u202e"),
    ("isolate", "\u2067", r"\u2067"),
    ("ideographic space", "\u3000", r"\u3000"),
    ("byte order mark", "\ufeff", r"\ufeff"),
    ("variation selector", "\ufe0f", r"\ufe0f"),
    ("private use", "\ue000", r"\ue000"),
    ("lone surrogate", "\udc80", r"\udc80"),
    ("tag", "\U000e0041", r"\U000e0041"),
    ("supplementary selector", "\U000e0100", r"\U000e0100"),
    ("letter", "é", "é"),
    ("ideograph", "中", "中"),
    ("box", "─", "─"),
]  # fmt: skip
IDS = [row[0] for row in CHARACTERS]
EVIL = "".join(row[1] for row in CHARACTERS if row[1] not in "\0\udc80")
FORGED = "::error file=x.h,line=1::forged"
PAYLOAD = f"{EVIL}\n{FORGED}\r{FORGED}\n \u3000{FORGED}##[error]forged ##vso[task.forged]"


def is_visible(text: str) -> bool:
    return all(letter in "\n\t" or (letter.isprintable() and letter not in escapes._INVISIBLE) for letter in text)


class TestCharacters:
    @pytest.mark.parametrize(("letter", "shown"), [row[1:] for row in CHARACTERS], ids=IDS)
    def test_in_a_line(self, letter, shown):
        assert escapes.inline(f"a{letter}b") == f"a{shown}b"
        assert escapes.line(f"a{letter}b") == f"a{shown}b"
        assert escapes.lines([f"{letter}b" if letter != "\t" else "b"]).endswith("b\n")

    @pytest.mark.parametrize("letter", [row[1] for row in CHARACTERS], ids=IDS)
    def test_in_json(self, letter):
        value = {"a": f"x{letter}y##[error]"}
        for indent in (None, 2):
            text = escapes.json_text(json.dumps(value, ensure_ascii=False, indent=indent))
            assert json.loads(text) == value
            assert is_visible(text)
            assert "##[" not in text

    @pytest.mark.parametrize("letter", [row[1] for row in CHARACTERS if row[1] != "\udc80"], ids=[i for i in IDS if i != "lone surrogate"])
    def test_in_toml(self, letter):
        name = f'x"\\{letter}##[error]'
        text = escapes.lines([f"{escapes.toml_key(name)} = {escapes.toml_string(name)}"])
        assert tomllib.loads(text) == {name: name}
        assert is_visible(text)

    @pytest.mark.parametrize("before", ["", " ", "\t", "\u3000", "\xa0 ", "\x0b", "\x1c", "\x85"])
    def test_no_line_begins_with_a_command(self, before):
        for shown in (escapes.line(before + FORGED), "".join(escapes.parts([before, ":", FORGED[1:]]))):
            assert not shown.lstrip().startswith("::")
            assert shown.endswith("error file=x.h,line=1::forged")

    @pytest.mark.parametrize("command", ["##[error]", "##vso[task.x]", "##teamcity[x]"])
    def test_no_command_inside_a_line(self, command):
        for text in (command, f"a {command}", f"#{command}", f"##{command}"):
            assert command not in escapes.line(text)
            assert command not in escapes.inline(text)

    def test_what_harms_nobody_stays(self):
        for text in ("", "std::vector", "a ## b", "#[x]", "\t\tint a;"):
            assert escapes.line(text) == text


RULE = """
[pack]
name = {payload}
[[rule]]
id = "evil-rule"
struct = {struct}
kind = "together"
fields = ["a", {field}]
why = {payload}
evidence = [{payload}]
severity = "error"
"""
CHECKED = ("text", "json", "sarif", "github")


def toml(text: str) -> str:
    return escapes.toml_string(text)


def harmless(done: subprocess.CompletedProcess[str], form: str = "text") -> None:
    """Nothing of the payload acts; what was written says at least something."""
    assert done.returncode in (0, 1, 2, 3), done.stderr
    assert done.stdout + done.stderr
    for text in (done.stdout, done.stderr):
        assert is_visible(text)
        assert "##[" not in text
        assert "##vso[" not in text
        for row in text.split("\n"):
            assert not row.lstrip().startswith(FORGED), row
            if row.lstrip().startswith("::"):
                assert form == "github"
                assert text is done.stdout
                assert row.startswith(("::error file=", "::error title=", "::warning file=", "::notice file=")), row
    if form in ("json", "sarif") and done.returncode != 2:
        json.loads(done.stdout)


@pytest.fixture
def vehicles(tmp_path) -> Path:
    name = PAYLOAD.encode(errors="ignore") + b"\x80\xff"
    (tmp_path / "why.h").write_text("struct q { int a, b; char pad[200]; int c; };\n")
    comment = PAYLOAD.replace("\n", " ").replace("*/", "")
    (tmp_path / "comment.h").write_bytes(
        f"struct q {{ int a; /* layoutlint: hot-read {comment} */\n char pad[200]; int c; /* layoutlint: cold {comment} */\n"
        f"int d; /* layoutlint: ignore[evil-rule]: {comment} */ }};\n".encode()
    )
    (tmp_path / "ignored.h").write_bytes(
        f"struct q {{ int a; char pad[200]; int c; /* layoutlint: ignore[evil-rule]: {comment} */ }};\n".encode()
    )
    (tmp_path / "rules.toml").write_text(RULE.format(payload=toml(PAYLOAD), struct='"q"', field='"c"'))
    (tmp_path / "names.toml").write_text(RULE.format(payload=toml(PAYLOAD), struct=toml(name.decode(errors="replace")), field=toml(PAYLOAD)))
    (tmp_path / "keys.toml").write_text(f"[[rule]]\n{toml(PAYLOAD)} = 1\nid = {toml(PAYLOAD)}\nkind = {toml(PAYLOAD)}\n[struct.{toml(PAYLOAD)}]\nplacement = {toml(PAYLOAD)}\n")
    evil = tmp_path / PAYLOAD.replace("/", "")[:60].replace("\0", "")
    evil.with_name(evil.name + ".h").write_text("struct q { int a, b; char pad[200]; int c; };\n#error " + comment + "\n")
    (tmp_path / f"\n{FORGED}.h").write_text("struct q { int a, b; char pad[200]; int c; };\n")
    (tmp_path / "alloc.c").write_text("struct q { int a; };\nvoid f(void) { struct q *p = kmalloc(sizeof(struct q), 0); }\n")
    return tmp_path


class TestRuns:
    @pytest.mark.one_in(4)
    @pytest.mark.parametrize("form", CHECKED)
    @pytest.mark.parametrize("source", ["why.h", "comment.h", "ignored.h"])
    def test_reasons_and_comments(self, vehicles, form, source):
        harmless(run("check", source, "--rules", "rules.toml", "--format", form, cwd=vehicles), form)

    def test_colour(self, vehicles):
        done = run("check", "ignored.h", "--rules", "rules.toml", "--color", "always", cwd=vehicles)
        plain = done.stdout
        for code in ("0", "1", "2", "31", "33", "34", "35", "36", "1;31", "1;32", "1;33", "1;34", "1;35", "1;36", "32"):
            plain = plain.replace(f"\x1b[{code}m", "")
        assert is_visible(plain)
        assert plain != done.stdout
        assert not any(row.lstrip().startswith("::") for row in plain.split("\n"))

    @pytest.mark.one_in(4)
    @pytest.mark.parametrize("form", CHECKED)
    def test_file_names(self, vehicles, form):
        for path in vehicles.glob("*forged.h"):
            harmless(run("check", path.name, "--rules", "rules.toml", "--format", form, cwd=vehicles), form)
            harmless(run("show", path.name, "q", "--format", "c", cwd=vehicles), "c")
        harmless(run("check", *(path.name for path in vehicles.iterdir() if not path.name.isascii()), "--rules", "rules.toml", "--format", form, cwd=vehicles), form)

    @pytest.mark.one_in(6)
    @pytest.mark.parametrize("form", sorted(FORMATS))
    @pytest.mark.parametrize("text", ["struct q { int a, b; char pad[200]; int c; };\n", "struct q { int a; unknown c; };\n", ""])
    def test_a_file_name_that_begins_with_a_line_break(self, tmp_path, form, text):
        (tmp_path / f"\n{FORGED}.c").write_text(text)
        (tmp_path / f"\n{FORGED}.toml").write_text(RULE.format(payload='"w"', struct='"q"', field='"c"'))
        harmless(run("check", f"\n{FORGED}.c", "--rules", f"\n{FORGED}.toml", "--format", form, cwd=tmp_path), form)

    @pytest.mark.one_in(3)
    @pytest.mark.parametrize("form", CHECKED)
    def test_rule_files(self, vehicles, form):
        for name in ("names.toml", "keys.toml"):
            harmless(run("check", "why.h", "--rules", name, "--format", form, cwd=vehicles), form)

    @pytest.mark.one_in(3)
    @pytest.mark.parametrize(
        "words",
        [
            ("rules", "list", "--rules", "names.toml"),
            ("rules", "check", "keys.toml"),
            ("rules", "check", "names.toml"),
            ("rules", "test", "names.toml"),
            ("rules", "asserts", "names.toml"),
            ("explain", "evil-rule", "--rules", "names.toml"),
            ("allocations", "."),
            ("allocations", ".", "--format", "toml"),
            ("show", "comment.h", "--all", "--format", "c"),
            ("check", "why.h", "--rules", "rules.toml", "--progress"),
        ],
        ids=" ".join,
    )
    def test_commands(self, vehicles, words):
        harmless(run(*words, cwd=vehicles))

    @pytest.mark.one_in(3)
    @pytest.mark.parametrize(
        "words",
        [
            (PAYLOAD,),
            (f"--{PAYLOAD}",),
            ("check", f"--format={PAYLOAD}", "x.h"),
            ("check", PAYLOAD),
            ("check", f"--output={PAYLOAD}", "x.h"),
            ("check", f"--{PAYLOAD}", "x.h"),
            ("check", "x.h", "--pack", PAYLOAD),
            ("check", "x.h", "--line-size", PAYLOAD),
            ("check", "x.h", "--flags", f"'{PAYLOAD}"),
            ("check", "x.h", "--", PAYLOAD),
            ("check", "x.h", "--kernel-version", PAYLOAD),
            ("explain", PAYLOAD),
            ("show", "why.h", PAYLOAD),
            ("containers", "why.h", PAYLOAD),
            ("allocations", "why.h", "--struct", PAYLOAD),
            ("rules", "import", "net_cachelines", PAYLOAD),
            ("rules", "import", PAYLOAD, "x"),
            ("init", "--header", PAYLOAD),
        ],
        ids=lambda words: " ".join(words).replace(PAYLOAD, "X"),
    )
    def test_arguments(self, vehicles, words):
        harmless(run(*(word.replace("\0", "") for word in words), cwd=vehicles))


class TestDebugInformation:
    """Names in it are any bytes but NUL."""

    NAME = PAYLOAD.encode(errors="ignore").replace(b"\0", b"") + b"\x80\xff"

    @pytest.fixture(params=["DWARF", "BTF"])
    def binary(self, request, tmp_path) -> Path:
        path = tmp_path / "binary.o"
        plain = "n" * len(self.NAME)
        (tmp_path / "a.c").write_text(f"typedef struct {plain} {{ int a; int {plain}; }} t{plain[1:]}; t{plain[1:]} v; struct in {{ struct {plain} s; }} w;\n")
        subprocess.run([tool("gcc"), "-g", "-c", "a.c", "-o", path], cwd=tmp_path, check=True)
        if request.param == "BTF":
            subprocess.run([tool("pahole"), "-J", path], check=True)
            subprocess.run([tool("objcopy"), "--strip-debug", path], check=True)
        path.write_bytes(path.read_bytes().replace(plain.encode(), self.NAME))
        (tmp_path / "rules.toml").write_text('[[rule]]\nid = "evil"\nstruct = "*"\nkind = "size"\nmax = 1\nwhy = "w"\n')
        return path

    @pytest.mark.one_in(2)
    @pytest.mark.parametrize("form", CHECKED)
    def test_check(self, binary, form):
        harmless(run("check", binary, "--rules", binary.with_name("rules.toml"), "--format", form), form)

    @pytest.mark.parametrize("form", ["text", "c", "json"])
    def test_show(self, binary, form):
        done = run("show", binary, "--all", "--format", form)
        harmless(done, form)
        assert "forged" in done.stdout

    @pytest.mark.parametrize("form", ["text", "json"])
    def test_containers(self, binary, form):
        for struct in json.loads(run("show", binary, "--all", "--format", "json").stdout)["structs"]:
            harmless(run("containers", binary, struct["name"].replace("\0", ""), "--format", form), form)

"""What readers of the pages rely on: each page is near, none is longer than its limit, and each message has an entry."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from layoutlint.cli import app
from tests.harness.command import ROOT, run
from tests.harness.repository import git, write
from tests.harness.tools import need
from tools.documents import cli as cli_doc

GENERATED = {"cli", "json", "kinds", "losses", "shipped-rules", "survey-store", "targets"}
LIMITS = {
    "README": 363, "annotations": 897, "ci": 1666, "concepts": 1143, "diff": 1152, "editors": 728,
    "embedded": 617, "evidence": 1224, "inputs": 2480, "kernel-rules": 496, "kernel": 618, "matrix": 653,
    "messages": 857, "randomised-layouts": 819, "rules": 2878, "scripting": 671, "security": 763,
    "servers": 1251, "snapshot": 865, "suggest": 1421, "survey": 1022, "trust": 751, "tutorial": 965,
}  # fmt: skip
"""The most words of each page of docs/ that is written by hand, as `wc -w` counts them."""
PAGES = {path.stem: path for path in (ROOT / "docs").glob("*.md")}


def test_every_page_has_a_limit_or_is_generated():
    assert {*LIMITS} | GENERATED == set(PAGES)
    assert not GENERATED & {*LIMITS}
    assert sum(LIMITS.values()) <= 24_300


@pytest.mark.parametrize(("page", "limit"), LIMITS.items(), ids=list(LIMITS))
def test_no_page_is_too_long(page, limit):
    assert len(PAGES[page].read_text().split()) <= limit


def test_the_changelog_is_short():
    unreleased = (ROOT / "CHANGELOG.md").read_text()
    assert len(unreleased.split()) <= 300


def links(page: Path) -> set[Path]:
    """Return the pages that a page links to."""
    targets = re.findall(r"\]\((?!https?:)([^)#\s]+\.md)", page.read_text())
    return {(page.parent / target).resolve() for target in targets}


def test_every_page_is_reached_in_two_clicks():
    one = links(ROOT / "README.md")
    two = one.union(*map(links, one))
    pages = {path.resolve() for path in (ROOT / "docs").rglob("*.md") if "vscode" not in path.parts}
    assert len(pages) > 35
    assert {str(path.relative_to(ROOT)) for path in pages - two} == set()


def test_ten_questions_are_answered_in_one_click():
    section = (ROOT / "docs/contributing/testing.md").read_text().split("\n## Ten questions\n")[1].split("\n## ")[0]
    rows = re.findall(r"^\| (.+\?) \| (.+) \|$", section, re.M)
    assert len(rows) == 10
    near = links(ROOT / "README.md") | {ROOT / "README.md"}
    for question, answer in rows:
        named = [(ROOT / "docs/contributing" / target).resolve() for target in re.findall(r"\]\(([^)#]+)", answer)]
        assert named, question
        assert set(named) <= near, question


SUMMARIES = {call: (command.help or "").split("\n\n")[0].strip().removesuffix(".") for call, command in cli_doc.commands(app)}


def test_every_summary_of_a_command_is_one_short_line():
    assert len(SUMMARIES) > 30
    assert {call: text for call, text in SUMMARIES.items() if not 10 < len(text) <= 40 or "\n" in text} == {}


RULE = '[[rule]]\nid = "ends"\nstruct = "ring"\nkind = "separate"\nfields = [["head"], ["tail"]]\nwhy = "w"\n'
RING = "struct ring { long head, tail; };\n"
BASE = {"ring.h": RING, "layoutlint.toml": RULE}


@dataclass(frozen=True)
class Message:
    """A message, with a run that prints it: after commands of a shell, or after changes of a committed repository."""

    status: int
    text: str
    command: str
    files: dict[str, str] = field(default_factory=dict)
    shell: str = ""
    change: dict[str, str | None] | None = None


MESSAGES = {
    "no-rules": Message(2, "no rules apply to these inputs", "check ring.h", {"ring.h": RING}),
    "nothing-judged": Message(0, "nothing judged", "check --pack generic ring.h", {"ring.h": RING}),
    "missing-struct": Message(3, "struct ring is in none of the inputs", "check x.h", {"x.h": "struct rnig { int a; };\n", "layoutlint.toml": RULE}),
    "missing-field": Message(3, "struct ring has no field `tail`", "check ring.h", BASE | {"ring.h": "struct ring { long head, end; };\n"}),
    "taken-from-its-rule": Message(
        3, "ring.h defined struct ring before this change, and nothing that is judged defines it now", "check --staged", BASE,
        change={"ring.h": "struct other { char c; };\n"},
    ),
    "header-not-found": Message(3, "'no.h' file not found", "check ring.h", BASE | {"ring.h": '#include "no.h"\nstruct ring { no_t head, tail; };\n'}),
    "missing-macro": Message(3, "no macro `____cacheline_aligned` is defined here", "check ring.h", BASE | {"ring.h": RING.replace("};", "} ____cacheline_aligned;")}),
    "unreliable-layout": Message(3, "the layout of ring is unreliable", "check ring.h -- -fplugin=x.so", BASE),
    "unknown-alignment": Message(3, "The alignment of struct ring is not in the debug information", "check x.o", BASE, "gcc -g -gstrict-dwarf -gdwarf-4 -c ring.c -o x.o"),
    "no-debug-information": Message(3, "has no debug information (neither DWARF nor BTF)", "check x.o", BASE, "gcc -c ring.c -o x.o"),
    "not-covered": Message(3, "1 C unit without debug information", "check x.o", BASE | {"ring.h": RING.replace("head,", "head; char gap[64]; long")}, "gcc -g -c ring.c && gcc -c other.c && ld -r ring.o other.o -o x.o"),
    "not-a-tree": Message(3, "is not a configured kernel tree", "check tree", BASE | {"tree/Makefile": "VERSION = 6\n"}),
    "unknown-compiler": Message(
        3, "is compiled by iccarm, which is not known here", "check compile_commands.json",
        BASE | {"x.c": RING, "compile_commands.json": '[{"directory": ".", "file": "x.c", "arguments": ["iccarm", "x.c"]}]'},
    ),
    "damaged-database": Message(3, "is not a compilation database", "check ring.h", BASE | {"compile_commands.json": "["}),
    "another-language": Message(3, "is C++; layoutlint reads only C", "check ring.cc", BASE | {"ring.cc": "template <class T> struct ring { T head; };\n"}),
    "taken-to-hold": Message(1, "conditions that it does not state, taken to hold", "check ring.h", BASE | {"layoutlint.toml": RULE + 'when = { kernel = ">=6.8" }\n'}),
    "mistake-in-a-rule-file": Message(2, "`kind` cannot be `seperate`", "check ring.h", BASE | {"layoutlint.toml": RULE.replace("separate", "seperate")}),
    "no-such-commit": Message(2, "this repository has no such commit; fetch it first", "check ring.h --policy-from nosuch", BASE, change={}),
    "no-baseline": Message(2, "`layoutlint baseline write base.toml INPUT...` writes it", "check ring.h --baseline base.toml", BASE),
    "no-order": Message(1, "no order of the members keeps this rule", "suggest ring.h ring", BASE),
    "suppresses-no-finding": Message(
        1, "suppresses no finding", "check ring.h --unused", BASE | {"ring.h": RING.replace("long head", "/* layoutlint: ignore[x] y */ long head")},
    ),
    "shipped-rules": Message(1, "only shipped rules are broken or at risk", "check vmlinux.json", {"vmlinux.json": (ROOT / "fixtures/kernel_layouts/linux-7.2.json").read_text()}),
    "cache-refused": Message(0, "is inside a checkout", "cache info", BASE, change={}),
}  # fmt: skip
"""By entry of docs/messages.md."""
WITHOUT_HELP = {"nothing-judged", "no-baseline", "no-order", "taken-to-hold", "mistake-in-a-rule-file", "suppresses-no-finding", "cache-refused"}
"""These do not end a run, or say themselves what to type."""
ENTRIES = set(re.findall(r"^## (.+)$", (ROOT / "docs/messages.md").read_text(), re.M))


def test_every_message_has_an_entry():
    assert set(MESSAGES) | {"internal-error"} == ENTRIES


@pytest.mark.parametrize(("entry", "message"), MESSAGES.items(), ids=list(MESSAGES))
def test_a_message_is_printed(tmp_path: Path, entry: str, message: Message):
    if entry == "no-order":
        pytest.importorskip("ortools", reason="ortools is not installed")
    write(tmp_path, message.files | {"ring.c": '#include "ring.h"\nstruct ring it;\n', "other.c": "int other;\n"})
    if message.shell:
        need("gcc", "-c")
        subprocess.run(["sh", "-c", message.shell], cwd=tmp_path, check=True)
    if message.change is not None:
        git(tmp_path, "init", "-q")
        git(tmp_path, "add", "-A")
        git(tmp_path, "commit", "-q", "-m", "base")
        write(tmp_path, message.change)
        git(tmp_path, "add", "-A")
    environment = {"XDG_CACHE_HOME": str(tmp_path / "cache")} if entry == "cache-refused" else {}
    done = run(*message.command.split(), cwd=tmp_path, **environment)
    printed = re.sub(r"\s+", " ", done.stdout + done.stderr)
    assert (done.returncode, message.text in printed) == (message.status, True), printed
    assert (f"`layoutlint explain {entry}`" in printed) == (entry not in WITHOUT_HELP), printed


@pytest.mark.parametrize("entry", [*MESSAGES, "internal-error"])
def test_explain_has_each_entry(entry):
    assert run("explain", entry).stdout.startswith(f"{entry}\n\n")

"""Names in Markdown mean nothing, wherever they are; held against GitHub's own parser."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layoutlint.reports.escaped_markdown import code, plain, text
from tests.harness.command import run
from tests.harness.rendered_markdown import misuse
from tests.harness.tools import need

NAMES = {
    "mention": "@octocat", "team": "x@github/all", "mail": "a@evil.example", "entity": "&#64;octocat &commat;octocat",
    "issue": "#123", "merge request": "!1 ~bug %9 $2 &3", "link": "[x](http://evil.example)", "image": "![](http://evil.example)",
    "url": "https://evil.example/x", "www": "www.evil.example WWW.evil.example", "html": "<img src=//evil.example>", "closed": "</details></code></td>",
    "code": "`", "code with html": "`<img src=//evil.example>`", "two codes": "``<b>``", "cell": "a|<b>|", "escaped cell": r"a\|<b>\\|<i>",
    "heading": "\n# x", "rule": "\n---\n", "fence": "\n```\n<b>\n```\n", "command": "\n/close\n", "reference": "[x]: //evil.example", "autolink": "<http://evil.example>",
    "comment": "<!-- layoutlint diff -->", "bidi": "\u202e@x\u2066", "ANSI": "\x1b[31m@x\x1b[0m", "return": "a\r\n\r\n<b>", "math": "$\\href{//evil.example}{x}$",
    "blank": " ", "empty": "", "long": "@x<b>" * 5_000,
}  # fmt: skip
PLACES = {
    "a paragraph": "{0}\n", "a cell": "| a | b |\n|---|---|\n| {0} | {0} |\n| c | d |\n", "an item": "- {0}\n- {0}\n", "a quotation": "> {0}\n",
    "a heading": "### x {0}\n", "words": "x{0}y\n",
}  # fmt: skip


@pytest.mark.parametrize("name", NAMES.values(), ids=NAMES)
def test_a_name_means_nothing(name):
    for place in PLACES.values():
        for shown in (code(name), text(name), text(f"`{name}` and {name}"), plain(name)):
            assert misuse(place.format(shown)) == [], (place, shown)
            assert len(shown) < 40_000
    assert misuse(f"<details><summary>{plain(name)}</summary>\n\n{text(name)}\n\n</details>\n\n- {code(name)}\n") == []


def test_the_parser_sees_misuse():
    """What the test above would find."""
    for name in ("@octocat", "&#64;octocat", "<img src=x>", "[x](http://evil.example)", "a&#64;evil.example", "#123"):
        assert misuse(f"- {name}\n"), name


HOSTILE = ("@octocat<img src=x>", "`|www.evil.example|`", "](//evil.example)#1 x")
"""Of 20 characters each, as the names in the sources that they replace."""


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two objects with a struct, a field and a source file of hostile names, in folders that have one too."""
    folder = tmp_path_factory.mktemp("hostile") / "<b>@x"
    folder.mkdir()
    names = [letter * len(name) for letter, name in zip("ABC", HOSTILE, strict=True)]
    for side, size in (("old", 8), ("new", 5)):
        source = f"struct {names[0]} {{ long {names[1]}; long pad[{size}]; long {names[2]}; }};\nstruct {names[0]} v;\n"
        (folder / f"{side}.c").write_text(source)
        subprocess.run([need("gcc"), "-g", "-c", f"{side}.c"], cwd=folder, check=True)
        built = folder / f"{side}.o"
        content = built.read_bytes()
        for name, hostile in zip(names, HOSTILE, strict=True):
            content = content.replace(name.encode(), hostile.encode())
        built.write_bytes(content)
    return folder


def test_a_comment_on_hostile_names(objects):
    done = run("diff", "old.o", "new.o", "--format", "markdown", cwd=objects)
    assert (done.returncode, done.stderr) == (0, "")
    assert "octocat" in done.stdout
    assert "evil.example" in done.stdout
    assert misuse(done.stdout) == []


def test_a_summary_of_hostile_names(objects):
    rules = '[[rule]]\nid = "www.evil.example"\nstruct = "*"\nkind = "size"\nmax = 8\nwhy = "w"\n'
    (objects / "rules.toml").write_text(rules)
    done = run("check", "old.o", "--rules", "rules.toml", "--format", "markdown", cwd=objects)
    assert (done.returncode, done.stderr) == (1, "")
    assert "octocat" in done.stdout
    assert misuse(done.stdout) == []

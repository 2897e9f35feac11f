"""Pages: one file that needs nothing else, with the data of the JSON report, and harmless names."""

from __future__ import annotations

import hashlib
import json
import re
import subprocess
from base64 import b64encode
from html.parser import HTMLParser

import pytest

from layoutlint.commands.history import html as history_html
from layoutlint.commands.history.builds import trace_struct
from layoutlint.comparison.comparison import Side
from layoutlint.judgement.context import Access
from layoutlint.judgement.finding import Coverage, Report
from layoutlint.model.record import replace
from layoutlint.reports.page.structs import struct_data
from layoutlint.reports.show import html
from layoutlint.reports.show.options import ShowOptions
from tests.harness.build import bits, flexible, member, struct
from tests.harness.command import ROOT, run
from tests.harness.tools import need
from tests.reports.page import sample


@pytest.fixture(scope="module")
def checked(tmp_path_factory):
    """A page of `check`, and its report as JSON."""
    folder = tmp_path_factory.mktemp("page")
    arguments = sample.write(folder)
    done = run("check", *arguments, "--format", "json", "--html", "page.html", cwd=folder)
    assert done.returncode == 1, done.stderr
    return (folder / "page.html").read_text(), json.loads(done.stdout)


class _Elements(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.attributes, self.texts = [], [], {}

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs

    def handle_data(self, data):
        self.texts.setdefault(self.tags[-1] if self.tags else "", []).append(data)


def parse(page):
    parser = _Elements()
    parser.feed(page)
    return parser


@pytest.mark.parametrize("expand", [False, True])
def test_what_is_drawn_of_a_struct_is_the_field_that_it_names(expand):
    inner = member("in", 8, 16, member("x", 8, 1), member("y", 16, 8))
    array = replace(member("rows", 24, 16, member("z", 24, 4)), dims=(4,))
    of = struct("s", 48, member("a", 0, 1), inner, array, bits("flag", 320, 3))
    (drawn,) = struct_data([of], ShowOptions(expand=expand), [()])["structs"]
    fields = [(drawn["fields"][number], start) for number, start, *_ in drawn["strips"] if number >= 0]
    assert all(each["offset"] == start // 8 for each, start in fields)
    assert [each["path"] for each, _ in fields] == ["a", *(["in.x", "in.y"] if expand else ["in"]), "rows", "flag"]


def test_the_script_is_javascript():
    script = ROOT / "layoutlint/reports/page/templates/page.js"
    done = subprocess.run([need("node"), "--check", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_a_page_asks_for_nothing(checked):
    page = parse(checked[0])
    assert not [value for name, value in page.attributes if name in ("src", "style") or (name == "href" and not value.startswith("#"))]
    assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)|@import|url\((?!#)|fetch\(|XMLHttpRequest|innerHTML|eval\(", checked[0])
    assert not {"link", "img", "iframe", "object", "base"}.intersection(page.tags)


def test_the_policy_allows_the_own_script_and_style_only(checked):
    page = parse(checked[0])
    policy = next(value for name, value in page.attributes if name == "content" and value.startswith("default-src"))
    hashes = {text: f"sha256-{b64encode(hashlib.sha256(text.encode()).digest()).decode()}" for text in page.texts["style"] + page.texts["script"]}
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; ")
    allowed = re.findall(r"'(sha256-[^']+)'", policy)
    assert set(allowed) <= set(hashes.values())
    assert len(allowed) == 2


def test_the_data_are_the_json_report(checked):
    page, report = checked
    data = sample.data(page)
    assert data["report"] == report
    assert data["result"] == "2 at-risk, 1 kept. Exit status 1: rules are broken or at risk."
    assert [judged["possible"] for judged in data["judged"]] == [list(range(0, 128, 8)), list(range(0, 64, 8)), []]


def test_accesses_in_comments_are_in_the_data(checked):
    spaces = [s for s in sample.data(checked[0])["structs"] if s["name"] == "address_space"]
    assert spaces[0]["uses"] == [["i_mmap", "hot-write", False, "hot-write"], ["i_mmap_rwsem", "hot-write", True, "hot-write, contended"]]


NAMES = ["</script>", "<!--", "--><img src=x onerror=alert(1)>", "\u202eevil", "\x1b[2J", '"\'`&', "\udcff", "{{ 7 * 7 }}", "\u2028"]


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names(name):
    of = struct(name, 16, member(name, 0, 8), bits("b", 64, 3), flexible("t", 16))
    page = "".join(html.render((of,), ShowOptions(accesses={name: (Access(name, name),)})))
    assert parse(page).tags.count("script") == 2
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u2028\u202e\udcff]|<img", page)
    shown = sample.data(page)["structs"][0]["name"]
    assert shown.isprintable()
    assert shown == name or re.search(r"\\u[0-9a-f]{4}", shown)


def test_containers_are_in_the_data(tmp_path):
    sample.write(tmp_path)
    done = run("show", "fs.h", "--all", "--format", "html", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    structs = sample.data(done.stdout)["structs"]
    names = [each["name"] for each in structs]
    outer = structs[names.index("address_space")]["containers"]
    assert [(names[number], path, offset) for number, path, offset in outer] == [("inode", "i_data", 8)]


@pytest.fixture(scope="module")
def compared(tmp_path_factory):
    """A page of `diff`: a field before `i_mmap_rwsem` is gone."""
    folder = tmp_path_factory.mktemp("compared")
    sample.write(folder)
    old = sample.ADDRESS_SPACE.replace("unsigned int wb_err", "void *list[2]; unsigned int wb_err")
    (folder / "old.h").write_text(old)
    done = run("diff", "old.h", "fs.h", "--rules", "rules.toml", "--html", "page.html", cwd=folder)
    assert done.returncode == 1, done.stderr
    return folder / "page.html", done.stdout


def test_a_comparison_has_both_sides(compared):
    data = sample.data(compared[0].read_text())
    change = next(change for change in data["diff"]["changes"] if change["heading"].startswith("struct address_space"))
    assert [data["structs"][change[side]]["size"] for side in ("old", "new")] == [168, 152]
    assert "removed `list`, 16 bytes at 112 (old.h:15)" in change["sentences"]
    failing = {each["struct"]: each["finding"]["placements"]["bases"] for each in data["judged"] if each["finding"]["rule"] == "apart"}
    assert failing == {change["old"]: [], change["new"]: [0, 56]}
    assert data["diff"]["rules"] == [["worse", "apart (separate) on address_space: kept -> at-risk in 2 of 8 placements"]]


@pytest.fixture(scope="module")
def traced(tmp_path_factory):
    """A page of `history`, and its JSON: a field before `i_mmap_rwsem` goes, and one build has no layout."""
    folder = tmp_path_factory.mktemp("traced")
    sample.write(folder)
    (folder / "old.h").write_text(sample.ADDRESS_SPACE.replace("unsigned int wb_err", "void *list[2]; unsigned int wb_err"))
    (folder / "bad.h").write_text("struct address_space { gone_t x; };\n")
    builds = ("old.h", "bad.h", "fs.h", "address_space")
    words = ("--rules", "rules.toml", "--pair", "i_mmap", "i_mmap_rwsem", "--html", "page.html", "--format", "json")
    done = run("history", *builds, *words, cwd=folder)
    assert done.returncode == 3, done.stderr
    return folder / "page.html", json.loads(done.stdout)


def test_a_history_has_a_column_for_each_build(traced):
    data = sample.data(traced[0].read_text())
    history, stated = data["history"], traced[1]
    assert [build["label"] for build in history["builds"]] == ["old.h", "bad.h", "fs.h"]
    assert [None if build["struct"] is None else data["structs"][build["struct"]]["size"] for build in history["builds"]] == [168, None, 152]
    rows = {(kind, name): cells for kind, name, cells in history["rows"]}
    assert rows["figure", "size"] == ["168", "??", "152"]
    assert rows["rule", "apart"] == ["kept", "unknown", "at-risk 2/8"]
    assert rows["pair", "`i_mmap` and `i_mmap_rwsem` share"] == ["0/8", "-", "2/8"]
    offsets = {f"`{field['path']}`": field for field in stated["fields"]}
    assert {(("moved" if field["moved"] else "still"), name) for name, field in offsets.items()} == {key for key in rows if key[0] in ("moved", "still")}
    for (kind, name), cells in rows.items():
        if kind in ("moved", "still"):
            known = {"??" if build["size"] is None else "-" if offset is None else str(offset) for build, offset in zip(stated["builds"], offsets[name]["offset"], strict=True)}
            assert set(cells) == known
    (step,) = history["steps"]
    assert step["edits"] == stated["steps"][0]["edits"]
    assert [rule[:2] for rule in step["rules"]] == [["worse", "apart (separate) on address_space: kept -> at-risk in 2 of 8 placements"]]
    assert history["unknown"] == [f"{each['name']}: {each['reason']}" for each in stated["unknown"]]


def test_a_history_asks_for_nothing(traced):
    test_a_page_asks_for_nothing((traced[0].read_text(), None))


@pytest.mark.parametrize("name", NAMES)
def test_hostile_names_in_a_history(name):
    layouts = [struct("s", 24, member(name, 0, 8), member(f"{name}b", at, 8)) for at in (8, 16)]
    report = Report((), (), (), Coverage(0, 0, 0), 0)
    sides = [Side(f"{name}{number}", report, (layout,)) for number, layout in enumerate(layouts)]
    page = history_html.render(trace_struct("s", sides, [(name, f"{name}b")]))
    assert parse(page).tags.count("script") == 2
    assert not re.search(r"[\x00-\x09\x0b-\x1f\u2028\u202e\udcff]|<img", page)
    assert [kind for kind, *_ in sample.data(page)["history"]["rows"]] == ["figure"] * 3 + ["pair", "moved", "still"]


REFUSED = [
    # id, arguments, exit status, a part of stderr
    ("a source", ("show", "fs.h", "odd", "--html", "fs.h"), 2, "cannot write fs.h"),
    ("no folder", ("show", "fs.h", "odd", "--html", "no/page.html"), 2, "cannot write no/page.html"),
    ("a rule file", ("check", "fs.h", "--rules", "rules.toml", "--html", "rules.toml"), 2, "cannot write rules.toml"),
    ("a side", ("diff", "fs.h", "fs.h", "--html", "fs.h"), 2, "cannot write fs.h"),
    ("a build", ("history", "fs.h", "odd", "--html", "fs.h"), 2, "cannot write fs.h"),
    ("rules of builds", ("history", "fs.h", "odd", "--rules", "rules.toml", "--html", "rules.toml"), 2, "cannot write rules.toml"),
    ("twice", ("check", "fs.h", "--html", "p", "--output", "json=p"), 2, "which is written as well"),
    ("a byte", ("show", "fs.h", "odd", "--html", "p", "--at", "3"), 2, "leave --at out"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "status", "part"), [case[1:] for case in REFUSED], ids=[case[0] for case in REFUSED])
def test_refusals(arguments, status, part, tmp_path):
    sample.write(tmp_path)
    done = run(*arguments, cwd=tmp_path)
    assert (done.returncode, part in done.stderr) == (status, True), done.stderr
    assert (tmp_path / "fs.h").read_text() == sample.ADDRESS_SPACE

"""What belongs together stays together: modules, tables, tests, fixtures and documents."""

from __future__ import annotations

import ast
import importlib
import json
import re
import statistics
from pathlib import Path

import pytest
import yaml

from layoutlint import casefile, kinds, reports, rulefile
from layoutlint.model import TARGETS
from layoutlint.readers.losses import LOSSES
from tests import cli_doc
from tests.command import ROOT, run

MODULES = sorted((ROOT / "layoutlint").rglob("*.py"))
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def functions() -> list[tuple[int, str]]:
    """Every function with its length in lines."""
    return sorted(
        (node.end_lineno - node.lineno + 1, f"{path.relative_to(ROOT)}:{node.lineno} {node.name}")
        for path in MODULES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )


class TestSize:
    def test_functions_are_short(self):
        lengths = [length for length, _ in functions()]
        assert [found for found in functions() if found[0] > 60] == []
        assert statistics.median(lengths) <= 12
        assert statistics.quantiles(lengths, n=10)[-1] <= 40

    def test_modules_are_short(self):
        lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in MODULES}
        assert {name: length for name, length in lengths.items() if length > 600} == {}

    def test_no_module_is_a_drawer(self):
        drawers = {"utils", "util", "common", "helpers", "helper", "base", "misc"}
        assert [path for path in ROOT.rglob("*.py") if {path.stem, path.parent.name} & drawers and ".venv" not in path.parts] == []


KINDS = kinds.every_kind()
KIND_NAMES = [kind.name for kind in KINDS]


class TestKinds:
    def test_every_module_with_a_kind_is_in_the_table(self):
        spelled = {
            match[1]
            for path in (ROOT / "layoutlint" / "kinds").glob("*.py")
            for match in re.finditer(r'^    name: ClassVar\[str\] = "(.+)"', path.read_text(), re.M)
        }
        assert spelled == set(KIND_NAMES)
        assert list(kinds.KINDS) == KIND_NAMES

    @pytest.mark.parametrize("name", KIND_NAMES)
    @pytest.mark.parametrize("path", ["layoutlint/kinds/{}.py", "tests/kinds/test_{}.py", "fixtures/kinds/{}.c"])
    def test_every_kind_has_its_files(self, name, path):
        assert (ROOT / path.format(name.replace("-", "_"))).is_file()

    @pytest.mark.parametrize("name", KIND_NAMES)
    def test_every_kind_has_a_section(self, name):
        assert re.search(rf"^## `?{name}`?$", (ROOT / "docs/kinds.md").read_text(), re.M)

    def test_every_kind_is_in_the_readme(self):
        listed = re.search(r"^The kinds are (.+?)\.", (ROOT / "README.md").read_text(), re.M | re.S)[1]
        assert re.split(r",\s+|\s+and\s+", listed) == KIND_NAMES

    @pytest.mark.parametrize("kind", KINDS, ids=KIND_NAMES)
    def test_every_key_is_documented(self, kind):
        section = re.split(rf"^## `?{kind.name}`?$", (ROOT / "docs/kinds.md").read_text(), flags=re.M)[1]
        section = re.split(r"^## ", section, flags=re.M)[0]
        assert [key.name for key in kind.keys if f"`{key.name}`" not in section and f"{key.name} =" not in section] == []


class TestCommandLine:
    def test_the_manual_is_what_help_says(self):
        assert cli_doc.PATH.read_text() == cli_doc.text(), "run `python -m tests.cli_doc`"

    def test_every_option_in_a_document_exists(self):
        options = {
            option for _, command in cli_doc.commands(cli_doc.app) for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts)
        } | {"--help"}  # fmt: skip
        spelled = {
            (path.name, match[1])
            for path in DOCUMENTS
            for line in re.findall(r"layoutlint (?:check|show|containers|allocations|explain|rules)[^`\n]*", path.read_text())
            for match in re.finditer(r"(?:^|\s)(--[a-z][a-z-]+)", line.split(" -- ")[0])
        }
        assert {found for found in spelled if found[1] not in options} == set()

    def test_every_format_is_in_the_readme(self):
        readme = (ROOT / "README.md").read_text().lower()
        assert [name for name in reports.FORMATS if name not in readme] == []


def test_every_rule_file_ships():
    """`layoutlint.rulepacks` is rules/: setup.cfg packs every *.toml below it."""
    shipped = {pack.path for pack in rulefile.shipped()}
    files = {str(path.relative_to(ROOT)) for path in (ROOT / "rules").rglob("*.toml")}
    assert shipped <= files <= shipped | {casefile.beside(path) for path in shipped}


LINKS = [
    (path, target, anchor)
    for path in DOCUMENTS
    for target, anchor in re.findall(r"\]\((?!https?://)([^)#\s]*)(?:#([^)\s]+))?\)", path.read_text())
]


def anchors(path: Path) -> set[str]:
    """What can follow `#` in a link to a document: its headings, spelled as GitHub and GitLab do."""
    headings = re.findall(r"^#+ (.+)$", path.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_link_leads_somewhere():
    assert [(path.name, target) for path, target, _ in LINKS if not (path.parent / target).exists()] == []


def test_every_anchor_exists():
    aimed = [(path, (path.parent / target) if target else path, anchor) for path, target, anchor in LINKS if anchor]
    assert [(path.name, anchor) for path, target, anchor in aimed if anchor not in anchors(target)] == []


CODE_NAMES = re.findall(r"`(?!layoutlint\.)((?:[a-z_]+\.)+[A-Za-z_]+)(?:\(\))?`", (ROOT / "docs/start-to-finish.md").read_text())


@pytest.mark.parametrize("name", sorted(set(CODE_NAMES)))
def test_the_narrated_code_exists(name):
    """`lint.check` is a name in layoutlint/lint.py; `kinds.separate.Separate.check` one in a class there."""
    words = name.split(".")
    for cut in range(len(words), 0, -1):
        try:
            found: object = importlib.import_module(".".join(("layoutlint", *words[:cut])))
        except ModuleNotFoundError:
            continue
        for word in words[cut:]:
            found = getattr(found, word)
        return
    pytest.fail(f"no module of layoutlint for {name}")


def test_the_narration_names_code():
    assert len(set(CODE_NAMES)) > 20


class TestReaders:
    READERS_DOC = (ROOT / "docs/readers.md").read_text()

    def test_what_each_input_loses_is_what_the_document_says(self):
        documented = re.findall(r"^\| (.+) \| (.+) \|$", self.READERS_DOC.split("## DWARF")[1].split("## Linux trees")[0], re.M)
        told = {row for row in documented if row not in (("cannot be known", "how it shows"), ("---", "---"))}
        assert told == {(loss.what, loss.shows) for loss in LOSSES}

    def test_every_target_is_documented(self):
        documented = re.findall(r"^\| `(\S+)` \| (\d+) \| (\w+) \| (\d+) \| (\d+) \|$", self.READERS_DOC, re.M)
        assert documented == [
            (t.name, str(t.pointer_size * 8), "little" if t.little_endian else "big", str(t.line_size), str(t.min_align))
            for t in TARGETS
        ]


def keys(value: object, path: str = "") -> set[str]:
    """Every key of a JSON value, as docs/json.md spells it."""
    if isinstance(value, list):
        return {key for entry in value for key in keys(entry, f"{path}[]")}
    if not isinstance(value, dict):
        return set()
    own = {f"{path}.{key}".lstrip(".") for key in value}
    return own | {key for name, inner in value.items() for key in keys(inner, f"{path}.{name}".lstrip("."))}


class TestJson:
    SECTIONS = re.split(r"^## ", (ROOT / "docs/json.md").read_text(), flags=re.M)[1:]

    def documented(self, command: str) -> set[str]:
        section = next(text for text in self.SECTIONS if text.startswith(command))
        return set(re.findall(r"^\| `(\S+)` \|", section, re.M))

    AROUND = '[[rule]]\nid = "alone"\nstruct = "lock"\nkind = "isolated"\nfields = ["*"]\naround = true\nwhy = "w"\n'

    def test_check(self, tmp_path):
        (tmp_path / "held.h").write_text("struct lock { long word; };\nstruct queue { long head; struct lock lock; };\n")
        (tmp_path / "around.toml").write_text(self.AROUND)
        inputs = ("docs/example/ring.h", "docs/example/none.h", tmp_path / "held.h")
        done = run("check", *inputs, "--rules", "docs/example", "--rules", tmp_path, "--format", "json")
        report = json.loads(done.stdout)
        found = keys(report)
        for seed in ((), ("--seed", "0" * 64)):
            how = ("--randstruct", "gcc-full", "--randomized", "ring", *seed)
            found |= keys(json.loads(run("check", inputs[0], "--rules", "docs/example", "--format", "json", *how).stdout))
        (tmp_path / "guess.h").write_text("typedef struct { int x; } spinlock_t; struct s { spinlock_t locks[2]; };\nstruct t { gone_t x; };\n")
        found |= keys(json.loads(run("check", tmp_path / "guess.h", "--pack", "generic", "--format", "json").stdout))
        assert report["findings"]
        assert report["unread"]
        assert report["builds"] == []
        assert report["findings"][0]["builds"] == {}
        documented = {key for key in self.documented("layoutlint check") if not key.startswith(("builds[]", "findings[].builds."))}
        assert found == documented

    def test_check_of_builds(self, tmp_path):
        (tmp_path / "builds.toml").write_text(f"build.NAME.input = ['{ROOT}/docs/example/ring.h', 'none.h']\n")
        done = run("check", "--matrix", tmp_path / "builds.toml", "--rules", "docs/example", "--format", "json")
        unused = (".around.", ".rank.", ".randomised.", ".placements.orders.", ".not_covered[].")
        documented = {key for key in self.documented("layoutlint check") if not any(part in key for part in unused)}
        placements = {key.replace("[].", "[].builds.NAME.") for key in documented if key.startswith("findings[].placements.")}
        assert keys(json.loads(done.stdout)) == documented | placements

    def test_show(self, tmp_path):
        (tmp_path / "holed.h").write_text("struct holed { char a; long b; };\n")
        names = ("holed", "--randstruct", "gcc-full", "--seed", "0" * 64, "--randomized", "holed")
        shown = json.loads(run("show", tmp_path / "holed.h", *names, "--format", "json").stdout)
        assert keys(shown) == self.documented("layoutlint show")

    def test_containers(self, tmp_path):
        (tmp_path / "held.h").write_text("struct held { long a; };\nstruct holder { char a; struct held many[3]; };\n")
        listed = json.loads(run("containers", tmp_path / "held.h", "held", "--format", "json").stdout)
        assert keys(listed) == self.documented("layoutlint containers")


    def test_rules_test(self, tmp_path):
        for name in ("layoutlint.toml", "layoutlint.cases.toml"):
            text = (ROOT / "docs/example" / name).read_text()
            (tmp_path / name).write_text(text.replace("ring-producer-on-one-line = ", "# "))
        tested = json.loads(run("rules", "test", tmp_path, "--format", "json").stdout)
        assert tested["packs"][0]["uncovered"]
        assert keys(tested) == self.documented("layoutlint rules test")


    def test_allocations(self, tmp_path):
        (tmp_path / "made.c").write_text("int f(void)\n{\n\tkmalloc(sizeof(struct s), 0);\n}\n")
        (tmp_path / "gone.c").symlink_to(tmp_path / "nowhere.c")
        listed = json.loads(run("allocations", tmp_path, "--format", "json").stdout)
        assert keys(listed) == self.documented("layoutlint allocations")


def test_every_document_that_the_code_names_exists():
    named = {
        (str(path.relative_to(ROOT)), document)
        for path in [*MODULES, *(ROOT / "rules").rglob("*.toml"), *(ROOT / "fixtures").rglob("*.c")]
        for document in re.findall(r"\bdocs/[\w/-]+\.\w+", path.read_text())
    }
    assert {pair for pair in named if not (ROOT / pair[1]).is_file()} == set()


def blocks(language: str) -> list[tuple[str, str]]:
    """Every example in a document, with where it stands."""
    return [
        (f"{path.name}-{number}", text)
        for path in DOCUMENTS
        for number, text in enumerate(re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.M | re.S))
    ]


WHOLE_RULES = [(place, text) for place, text in blocks("toml") if "[[rule]]" in text]


@pytest.mark.parametrize(("place", "text"), WHOLE_RULES, ids=[place for place, _ in WHOLE_RULES])
def test_every_rule_in_a_document_is_valid(place, text):
    assert rulefile.parse(text, place).rules


@pytest.mark.parametrize(("place", "text"), blocks("yaml"), ids=[place for place, _ in blocks("yaml")])
def test_every_hook_in_a_document_exists(place, text):
    offered = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    used = [hook for repo in yaml.safe_load(text)["repos"] for hook in repo["hooks"]]
    assert used
    assert {hook["id"] for hook in used} <= offered

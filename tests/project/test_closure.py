"""What belongs together stays together: modules, tables, tests, fixtures and documents."""

from __future__ import annotations

import ast
import importlib
import re
import statistics
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from layoutlint import kinds, reports
from layoutlint.commands.rules import case_file
from layoutlint.intent.toml import rule_file, shipped_rules
from layoutlint.readers.losses import LOSSES
from tests.harness.command import ROOT
from tools import sizes
from tools.documents import cli as cli_doc
from tools.documents import json_outputs as json_doc
from tools.documents import losses as losses_doc
from tools.documents import messages as messages_doc
from tools.documents import shipped_rules as shipped_rules_doc
from tools.documents import targets as targets_doc

MODULES = sorted((ROOT / "layoutlint").rglob("*.py"))
TOOLS = [path for folder in ("tests", "tools") for path in sorted((ROOT / folder).rglob("*.py"))]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])


def functions_in(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Yield the functions of a tree. They are statements, of which there are far fewer than nodes."""
    for block in ("body", "orelse", "finalbody", "handlers", "cases"):
        for each in getattr(node, block, ()):
            if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef):
                yield each
            yield from functions_in(each)


UNFIT_NAMES = """
    about above across after alike along also apart around at before behind below beside between beyond by during for from
    in inside into near of off on only outside over since through to toward under until when where why within without
    asked begun bound chosen done driven drawn found given gone held kept known laid left lost made meant ran said seen
    sent shown spoken taken thought told written
"""
PARTICIPLE = re.compile("|".join((r"[a-z]*[^e]ed", *UNFIT_NAMES.split())))
VERBS_IN_ED = {"embed"}


def test_functions_are_named_by_nouns_and_verbs():
    """Properties name states, and fixtures what a test is given."""
    suspects = {path: path.read_text() for path in (*MODULES, *TOOLS)}
    unfit = [
        f"{path.relative_to(ROOT)}:{node.lineno} {node.name}"
        for path, text in suspects.items()
        if any(PARTICIPLE.fullmatch(name) for name in re.findall(r"def _*(\w*[a-z])", text))
        for node in functions_in(ast.parse(text))
        if PARTICIPLE.fullmatch(node.name.strip("_"))
        and node.name.strip("_") not in VERBS_IN_ED
        and not any("property" in text or "fixture" in text for text in map(ast.unparse, node.decorator_list))
    ]
    assert unfit == []


class TestSize:
    def test_half_of_the_functions_are_short(self):
        assert statistics.median(length for path in MODULES for length, _ in sizes.functions(path)) <= 12

    def test_no_module_is_a_drawer(self):
        drawers = {"utils", "util", "common", "helpers", "helper", "base", "misc"}
        assert [
            path
            for path in (*MODULES, *TOOLS)
            if drawers & set(path.relative_to(ROOT).with_suffix("").parts)
        ] == []


KINDS = kinds.all_kinds()
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
    @pytest.mark.parametrize(
        "path", ["layoutlint/kinds/{}.py", "tests/kinds/test_{}.py", "fixtures/kinds/{}.c"]
    )
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
        assert [
            key.name for key in kind.keys if f"`{key.name}`" not in section and f"{key.name} =" not in section
        ] == []


class TestCommandLine:
    def test_the_manual_is_what_help_says(self):
        assert cli_doc.PATH.read_text() == cli_doc.text(), "run `python -m tools.documents.cli`"

    def test_every_option_in_a_document_exists(self):
        options = {
            option for _, command in cli_doc.commands(cli_doc.app) for parameter in command.params
            for option in (*parameter.opts, *parameter.secondary_opts)
        } | {"--help"}  # fmt: skip
        spelled = {
            (path.name, match[1])
            for path in DOCUMENTS
            for line in re.findall(
                r"layoutlint (?:check|show|containers|allocations|explain|rules)[^`\n]*", path.read_text()
            )
            for match in re.finditer(r"(?:^|\s)(--[a-z][a-z-]+)", line.split(" -- ")[0])
        }
        assert {found for found in spelled if found[1] not in options} == set()

    def test_every_format_is_in_the_readme(self):
        readme = (ROOT / "README.md").read_text().lower()
        assert [name for name in reports.FORMATS if name not in readme] == []


def test_every_rule_file_ships():
    """`layoutlint.rulepacks` is rules/: setup.cfg packs every *.toml below it."""
    shipped = {pack.path for pack in shipped_rules.shipped_packs()}
    files = {str(path.relative_to(ROOT)) for path in (ROOT / "rules").rglob("*.toml")}
    assert shipped <= files <= shipped | {case_file.path_beside(path) for path in shipped}


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
    aimed = [
        (path, (path.parent / target) if target else path, anchor) for path, target, anchor in LINKS if anchor
    ]
    assert [(path.name, anchor) for path, target, anchor in aimed if anchor not in anchors(target)] == []


def test_every_place_of_a_change_exists():
    """The table of CONTRIBUTING.md names files below the project or below the package; x and NAME are to be made."""
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("## Where a change lands")[2].partition("All but the first")[0]
    paths = [path for path in re.findall(r"`([\w./-]+/[\w./-]*)`", table) if not re.search(r"\bx\.|NAME", path)]
    assert len(paths) > 50
    assert [path for path in paths if not any((ROOT / top / path).exists() for top in ("", "layoutlint"))] == []


def test_tests_stand_where_their_code_does():
    """A folder of tests is named like a package, a module that has several files of tests, or what is tested besides the package."""
    besides = {"compilers", "harness", "oracles", "project", "real", "rules", "tools"}
    folders = {path.parent.relative_to(ROOT / "tests") for path in (ROOT / "tests").rglob("test_*.py")}
    own = [folder for folder in folders if folder.parts and folder.parts[0] not in besides]
    package = ROOT / "layoutlint"
    assert [str(each) for each in own if not ((package / each).is_dir() or (package / f"{each}.py").is_file())] == []


def test_every_document_is_in_the_list():
    listed = {target for path, target, _ in LINKS if path == ROOT / "docs/README.md"}
    assert {path.name for path in (ROOT / "docs").glob("*.md")} - listed == {"README.md"}


CODE_NAMES = re.findall(
    r"`(?!layoutlint\.)((?:[A-Za-z_]+\.)+[A-Za-z_]+)(?:\(\))?`",
    (ROOT / "docs/contributing/start-to-finish.md").read_text(),
)


@pytest.mark.parametrize("name", sorted(set(CODE_NAMES)))
def test_the_narrated_code_exists(name):
    """`lint.check` is a name in layoutlint/lint/run.py; `kinds.separate.Separate.check` one in a class there."""
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


@pytest.mark.parametrize("page", [losses_doc, messages_doc, shipped_rules_doc, targets_doc], ids=lambda page: page.PATH.name)
def test_a_generated_page_is_what_the_code_says(page):
    assert page.PATH.read_text() == page.text(), f"run `python -m {page.__name__}`"


def test_every_reader_has_its_losses_on_the_page():
    assert {loss.reader for loss in LOSSES} == set(losses_doc.TITLES)


def test_the_json_manual_is_what_the_schemas_say():
    assert json_doc.PATH.read_text() == json_doc.text(), "run `python -m tools.documents.json_outputs`"


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
        for number, text in enumerate(
            re.findall(rf"^```{language}\n(.*?)^```$", path.read_text(), re.M | re.S)
        )
    ]


WHOLE_RULES = [(place, text) for place, text in blocks("toml") if "[[rule]]" in text]


@pytest.mark.parametrize(("place", "text"), WHOLE_RULES, ids=[place for place, _ in WHOLE_RULES])
def test_every_rule_in_a_document_is_valid(place, text):
    assert rule_file.parse(text, place).rules


HOOKS = [(place, text) for place, text in blocks("yaml") if "repos:" in text]


@pytest.mark.parametrize(("place", "text"), HOOKS, ids=[place for place, _ in HOOKS])
def test_every_hook_in_a_document_exists(place, text):
    offered = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())}
    used = [hook for repo in yaml.safe_load(text)["repos"] for hook in repo["hooks"]]
    assert used
    assert {hook["id"] for hook in used} <= offered

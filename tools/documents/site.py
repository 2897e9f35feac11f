"""The documentation site, made by Sphinx from the documents, the shipped rules and fixtures.

`python -m tools.documents.site FOLDER` writes it. Layouts on the pages of rules are those of fixtures/kernel_layouts.
"""

from __future__ import annotations

import re
import shutil
import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path

from layoutlint import __version__
from layoutlint.commands.history import phrases, rows
from layoutlint.commands.history.builds import FieldRow, History, trace_struct
from layoutlint.commands.history.command import FORMATS as HISTORY_FORMATS
from layoutlint.intent.toml import shipped_rules
from layoutlint.judgement.finding import Finding
from layoutlint.judgement.rule import Pack, Rule, paths_of
from layoutlint.lint import sides
from layoutlint.lint.options import Options
from layoutlint.model.paths import overlap
from tests.harness.run_options import run_options

TREE = Path(__file__).resolve().parents[2]
COPIED = ("README.md", "CHANGELOG.md", "SECURITY.md", "CONTRIBUTING.md", "LICENSE", "action.yml", "docs", "rules", "fixtures")
KERNELS = sorted((TREE / "fixtures" / "kernel_layouts").glob("*.json"), key=lambda path: path.stem.split("-")[1].split("."))
FIXES = TREE / "fixtures" / "upstream_fixes"
CONF = f"""
project = "layoutlint"
author = "the layoutlint authors"
copyright = author
release = {__version__!r}
extensions = ["myst_parser"]
html_theme = "furo"
html_title = "layoutlint"
html_copy_source = False
html_static_path = []
myst_heading_anchors = 4
root_doc = "index"
exclude_patterns = ["fixtures", "rules", "docs/editors/vscode"]
highlight_language = "none"
suppress_warnings = ["myst.xref_ambiguous"]
"""
HEAD = """# layoutlint

layoutlint checks on which cache lines the fields of C structs are, by rules that say why.

- The [introduction](README.md) says what it is for, and how to install and run it.
- The [tutorial](docs/tutorial.md) writes a rule for a queue, in ten minutes.
- [Rule kinds](docs/kinds.md) and [the command line](docs/cli.md) are the reference.
- [Shipped rules](shipped/index.md) for Linux have reasons, evidence, and a history each; the gallery shows
  [false sharing that was fixed](shipped/fixed.md).

In Linux 6.12, `i_mmap` and its lock were apart. In 7.2, they share a line again in objects that start at byte 0 or 56 of a line:

![struct address_space in three kernels](shipped/address_space.svg)
"""


def build(folder: Path) -> int:
    """Write the site into a folder, and return the status of Sphinx: any warning is a failure."""
    from sphinx.cmd.build import build_main

    with tempfile.TemporaryDirectory() as source:
        write_source(Path(source))
        return build_main(["-q", "-W", "--keep-going", "-b", "html", "-d", f"{source}/.doctrees", source, str(folder)])


def write_source(folder: Path) -> None:
    """Write all pages, as Markdown, with the pictures beside them."""
    for name in COPIED:
        if (TREE / name).is_dir():
            shutil.copytree(TREE / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.so"))
        else:
            shutil.copy(TREE / name, folder / name)
    (folder / "conf.py").write_text(CONF)
    for page in folder.glob("docs/**/*.md"):
        page.write_text(without_folders(page))
    groups = "\n".join(toctree(title, pages) for title, pages in document_groups())
    own = toctree("Shipped rules", ["shipped/index", "shipped/fixed"])
    rest = toctree("Project", ["README", "docs/README", "CHANGELOG", "SECURITY", "CONTRIBUTING"])
    (folder / "index.md").write_text(f"{HEAD}\n{groups}\n{own}\n{rest}")
    (folder / "shipped").mkdir()
    write_rules(folder / "shipped")
    write_gallery(folder / "shipped")


def without_folders(page: Path) -> str:
    """Return a page in which links to folders are text: the site has no listings."""

    def replace(match: re.Match[str]) -> str:
        return match[1] if (page.parent / match[2]).is_dir() else match[0]

    return re.sub(r"\[([^\]]*)\]\(([^)#:]+)\)", replace, page.read_text())


def document_groups() -> Iterator[tuple[str, list[str]]]:
    """Yield the headings of docs/README.md with the documents below each, then those for contributors."""
    for section in (TREE / "docs" / "README.md").read_text().split("\n## ")[1:]:
        title, _, rest = section.partition("\n")
        yield title, [f"docs/{name}" for name in re.findall(r"^- \[[^]]*\]\(([\w-]+)\.md\)", rest, re.MULTILINE)]
    yield "Contributing", re.findall(r"^- \[[^]]*\]\((docs/contributing/[\w-]+)\.md\)", (TREE / "CONTRIBUTING.md").read_text(), re.MULTILINE)


def toctree(title: str, pages: Sequence[str]) -> str:
    """Return a list of pages for the side of the site."""
    return "\n".join(["```{toctree}", ":hidden:", f":caption: {title}", "", *pages, "```", ""])


def kernel_packs() -> tuple[Pack, ...]:
    """Return the shipped packs for Linux."""
    return shipped_rules.kernel_packs_beside(())


def write_rules(folder: Path) -> None:
    """Write a page for each shipped rule for Linux, and their index."""
    table, names = [], []
    for pack in kernel_packs():
        for rule in pack.rules:
            history = trace(rule.struct)
            (folder / f"{rule.struct}.svg").write_text(HISTORY_FORMATS["svg"](history))
            (folder / f"{rule.id}.md").write_text("\n".join(rule_page(rule, pack, history)))
            table.append(f"| [{rule.id}]({rule.id}.md) | {rule.kind.name} | `{rule.struct}` | {rule.severity.value} |")
            names.append(rule.id)
    head = ["# Shipped rules for Linux", "", "| rule | kind | struct | severity |", "|---|---|---|---|"]
    listed = toctree("", names).replace(":caption: \n", "")
    (folder / "index.md").write_text("\n".join([*head, *table, "", listed]))


def rule_page(rule: Rule, pack: Pack, history: History) -> Iterator[str]:
    """Yield the lines of the page of a rule: its reason, where it comes from, and its struct over versions."""
    yield f"# {rule.id}\n"
    yield f"A rule of the kind [{rule.kind.name}](../docs/kinds.md#{rule.kind.name}) on struct `{rule.struct}`, of pack {pack.name}.\n"
    yield f"**Severity**: {rule.severity.value}\n\n**Why**: {escape(rule.why)}\n"
    if rule.evidence:
        yield "\n".join(["## Evidence\n", *(f"- {escape(text)}" for text in rule.evidence), ""])
    yield "\n".join(["## Over versions of Linux\n", *version_table(rule, history), ""])
    if any(build.struct is not None for build in history.builds):
        moved = [row for row in history.fields if row.has_moved(history.builds)]
        yield f"![struct {rule.struct} in the kernels above]({rule.struct}.svg)\n"
        yield f"{len(moved)} of its {len(history.fields)} fields are not at one offset in all of them.\n"


def version_table(rule: Rule, history: History) -> Iterator[str]:
    """Yield a table with a column for each kernel: size, the offsets of the rule's fields, and the verdict."""
    labels = phrases.labels(history)
    yield f"| Debian's cloud kernel, x86_64 | {' | '.join(labels)} |"
    yield "|---" * (len(labels) + 1) + "|"
    sizes = ("-" if build.struct is None else str((build.struct.bit_size or 0) // 8) for build in history.builds)
    yield f"| bytes | {' | '.join(sizes)} |"
    findings = next((row.findings for row in history.rules if row.rule.id == rule.id), (None,) * len(labels))
    for row in rows.field_rows(rule_fields(rule, history, findings), history.builds):
        yield f"| offset of {row.name} | {' | '.join(row.cells)} |"
    yield f"| verdict | {' | '.join(map(phrases.outcome, findings))} |"


def rule_fields(rule: Rule, history: History, findings: Iterable[Finding | None]) -> list[FieldRow]:
    """Return the fields that a rule names, or its findings are about."""
    evidence = (place.path for finding in findings if finding is not None for place in finding.verdict.evidence)
    names = {*paths_of(rule.kind), *evidence}
    return [row for row in history.fields if any(overlap(row.path, name) for name in names)]


def escape(text: str) -> str:
    """Return text of a rule as Markdown: its code stays code."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(part if part.startswith("`") else re.sub(r"([\\*_<>\[\]#|])", r"\\\1", part) for part in parts)


@cache
def trace(struct: str) -> History:
    """Return a struct in the kernels of the fixtures."""
    inputs = [sides.SideInput(path.stem, (str(path),)) for path in KERNELS]
    return trace_struct(struct, sides.read_sides(inputs, (), kernel_packs(), run_options(only=(struct,), annotations=True)))


def write_gallery(folder: Path) -> None:
    """Write the page of the structs that upstream changed, before and after."""
    lines = ["# False sharing that was fixed\n", "Structs of Linux, before and after the change that kept fields apart.\n"]
    for before in sorted(FIXES.glob("*-before.c")):
        struct = before.name.removesuffix("-before.c")
        after = before.with_name(f"{struct}-after.c")
        history = fix(struct, before, after)
        (folder / f"fixed-{struct}.svg").write_text(HISTORY_FORMATS["svg"](history))
        story = " ".join(line.strip(" */\n") for line in before.read_text().split("*/")[0].splitlines())
        lines += [f"## {struct}\n", f"{escape(story.strip())}\n", *verdict_table(history)]
        lines.append(f"![struct {struct} before and after](fixed-{struct}.svg)\n")
    (folder / "fixed.md").write_text("\n".join(lines))


def verdict_table(history: History) -> Iterator[str]:
    """Yield a table of the rules on a struct before and after; nothing without rules."""
    if history.rules:
        yield f"| rule | {' | '.join(phrases.labels(history))} |\n|---|---|---|"
    for row in history.rules:
        yield f"| [{row.rule.id}]({row.rule.id}.md) | {' | '.join(map(phrases.outcome, row.findings))} |"
    if history.rules:
        yield ""


def fix(struct: str, before: Path, after: Path) -> History:
    """Return a struct before and after upstream's change."""
    inputs = [sides.SideInput("before", (str(before),)), sides.SideInput("after", (str(after),))]
    return trace_struct(struct, sides.read_sides(inputs, kernel_packs(), (), Options(only=(struct,))))


if __name__ == "__main__":
    sys.exit(build(Path(sys.argv[1])))

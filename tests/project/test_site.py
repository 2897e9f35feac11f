"""The documentation site is built without warnings, and its pages show what the tool says."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.parse import unquote

import pytest

from tools.documents import site


def test_every_document_has_a_place():
    """Each document is in one group of docs/README.md, or in the list of CONTRIBUTING.md: the order of the site."""
    listed = [page for _, pages in site.document_groups() for page in pages]
    pages = [*(site.TREE / "docs").glob("*.md"), *(site.TREE / "docs/contributing").glob("*.md")]
    documents = {str(path.relative_to(site.TREE).with_suffix("")) for path in pages} - {"docs/README"}
    assert sorted(listed) == sorted(documents)


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    pytest.importorskip("sphinx", reason="sphinx is not installed (extra `site`)")
    folder = tmp_path_factory.mktemp("site")
    assert site.build(folder) == 0
    return folder


@pytest.mark.exhaustive
def test_links_lead_to_pages(built):
    """Each link and picture of each page is a file of the site, and each anchor is on its page."""
    anchors = {page: set(re.findall(r' id="([^"]+)"', page.read_text())) for page in built.rglob("*.html")}
    missing = []
    for page in anchors:
        for link in re.findall(r'(?:href|src)="([^"]+)"', page.read_text()):
            path, _, anchor = unquote(link.partition("?")[0]).partition("#")
            if re.match(r"[a-z]+:", link) or (not path and not anchor):
                continue
            target = (page.parent / path).resolve() if path else page
            if not target.is_file() or (anchor and target.suffix == ".html" and anchor not in anchors[target]):
                missing.append((page.relative_to(built), link))
    assert missing == []


@pytest.mark.exhaustive
def test_each_rule_has_a_page(built):
    rules = [rule for pack in site.kernel_packs() for rule in pack.rules]
    pages = {rule.id: (built / "shipped" / f"{rule.id}.html").read_text() for rule in rules}
    assert [name for name, page in pages.items() if "verdict" not in page] == []
    text = re.sub(r"<[^>]*>", " ", pages["address-space-i-mmap-apart-from-rwsem"])
    assert re.search(r"verdict\s+at-risk 7/8\s+kept\s+at-risk 2/8", text)
    assert re.search(r"offset of\s+i_mmap\s+\d+\s+\d+\s+64\s+offset of\s+i_mmap_rwsem\s+\d+\s+\d+\s+120\s+verdict", text)
    fixed = re.sub(r"<[^>]*>", " ", (built / "shipped" / "fixed.html").read_text())
    assert re.search(r"rwsem-count-next-to-owner\s+broken\s+kept", fixed)

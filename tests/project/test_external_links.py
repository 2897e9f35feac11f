"""Links of documents to other sites lead to pages."""

from __future__ import annotations

import re
import urllib.error
import urllib.request

import pytest

from tests.harness.command import ROOT

DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "fixtures").rglob("*.md")])
EXAMPLES = ("https://git.example.org/",)
LINKS = sorted({
    link
    for path in DOCUMENTS
    for link in re.findall(r"https?://[^\s)>\"'`]+", path.read_text())
    if not link.startswith(EXAMPLES)
})  # fmt: skip
GONE = (404, 410)
"""Other failures say something about the site, the network or this machine, not about the link."""


def test_links_are_found():
    assert len(LINKS) > 3


@pytest.mark.exhaustive
@pytest.mark.parametrize("link", LINKS)
def test_a_link_leads_to_a_page(link):
    request = urllib.request.Request(link, headers={"User-Agent": "Mozilla/5.0 (layoutlint's tests)"})
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert answer.status < 400
    except urllib.error.HTTPError as error:
        (pytest.fail if error.code in GONE else pytest.skip)(f"{link}: {error}")
    except OSError as error:
        pytest.skip(f"no answer from {link}: {error}")

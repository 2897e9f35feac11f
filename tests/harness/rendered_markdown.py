"""What GitHub's parser of Markdown makes of a text, and what GitHub and GitLab search in it afterwards."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest

_OWN_TAGS = {"h3", "p", "table", "thead", "tbody", "tr", "th", "td", "code", "ul", "li", "details", "summary", "blockquote", "br"}
_SIGNS = "@#!~%$&^"
"""What begins a mention or a reference in rendered text: `@` and `#` on GitHub (html-pipeline), all on GitLab (Banzai)."""


class _Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.foreign: list[str] = []
        self.outside: list[str] = []
        self.comments: list[str] = []
        self._depth = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _OWN_TAGS or attrs:
            self.foreign.append(f"{tag} {attrs}")
        self._depth += tag == "code"

    def handle_endtag(self, tag: str) -> None:
        self._depth -= tag == "code"

    def handle_data(self, data: str) -> None:
        if not self._depth:
            self.outside.append(data)

    def handle_comment(self, data: str) -> None:
        self.comments.append(data)


def misuse(markdown: str, signs: str = _SIGNS) -> list[str]:
    """Return tags, links, mentions and references that are not layoutlint's; skip the test without the parser."""
    reference = re.compile(rf"(?<!\w)[{signs}][\w\"'{{]|://|www\.|\w@\w")
    cmarkgfm = pytest.importorskip("cmarkgfm", reason="cmarkgfm, GitHub's parser, is not installed")
    unsafe = cmarkgfm.cmark.Options.CMARK_OPT_UNSAFE  # GitHub filters the HTML later; here it must not come so far
    page = _Page()
    page.feed(cmarkgfm.github_flavored_markdown_to_html(markdown, options=unsafe))
    page.close()
    found = [*page.foreign, *(text for text in page.comments if text != " layoutlint diff ")]
    return found + [match[0] for text in page.outside for match in reference.finditer(text)]

"""The page of messages: the cause of each, and what to type."""

from __future__ import annotations

import os
import re

PATH = os.path.join(os.path.dirname(__file__), "messages.md")


def entries() -> dict[str, str]:
    """Return the Markdown of each entry by its name."""
    with open(PATH, encoding="utf-8") as page:
        _, *sections = re.split(r"^(?=## )", page.read(), flags=re.M)
    return {section.partition("\n")[0].removeprefix("## "): section for section in sections}

"""The text of docs/messages.md, which `layoutlint explain` has too: `python -m tools.documents.messages` writes it."""

from __future__ import annotations

from pathlib import Path

from layoutlint.commands.explain import messages

PATH = Path(__file__).resolve().parents[2] / "docs" / "messages.md"


def text() -> str:
    """Return all of docs/messages.md."""
    return Path(messages.PATH).read_text(encoding="utf-8")


if __name__ == "__main__":
    PATH.write_text(text(), encoding="utf-8")

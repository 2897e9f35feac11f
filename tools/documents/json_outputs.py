"""The text of docs/json.md, made from the published schemas: `python -m tools.documents.json_outputs` writes it."""

from __future__ import annotations

from pathlib import Path

from layoutlint.commands import schema
from tests.harness import json_schemas

PATH = Path(__file__).resolve().parents[2] / "docs" / "json.md"
HEAD = """# JSON

Scripts may rely on this page. Later versions can add keys. If a meaning changes, the number in `schema` changes. Sizes and
offsets are in bytes, unless the key says bits. Positions in lists count from 0. Unknown is `null`, never 0. The same input
gives the same bytes, in every locale and for any `--jobs`.

`layoutlint schema NAME` prints the JSON Schema (draft 2020-12) of the format `layoutlint/NAME/1`.
"""
SEE = {
    "report": "[matrix.md](matrix.md) for `builds`, [targets.md](targets.md) for `target`, "
    "[concepts.md](concepts.md) for\n`placements`, [randomised-layouts.md](randomised-layouts.md#without-a-seed) for "
    "`orders`, [rules.md](rules.md) for `around` and\n`line_pairs`, [servers.md](servers.md) for `rank`.",
    "show": "[concepts.md](concepts.md) for `align_possible`, [randomised-layouts.md](randomised-layouts.md) for\n`randomised`.",
    "containers": "[targets.md](targets.md) for `target`.",
    "allocations": "[rules.md](rules.md#where-memory-starts) for `placement`.",
}
"""The pages that explain keys, by schema."""


def section(name: str) -> str:
    """Return the table of one format."""
    command = {"report": "check", "rules-test": "rules test", "survey": "survey run", "survey-report": "survey report", "smallest": "suggest --smallest"}.get(name, name)
    see = f"See {SEE[name]}\n\n" if name in SEE else ""
    rows = [f"| `{row.key}` | {row.type} | {row.meaning} |" for row in json_schemas.table(name)]
    form = "" if name == "slabs" else " --format json"  # which has no other one
    return f"## layoutlint {command}{form}\n\n{see}" + "\n".join(["| key | type | meaning |", "|---|---|---|", *rows, ""])


def text() -> str:
    """Return all of docs/json.md."""
    first = [name for name in ("report", "show", "containers") if name in schema.NAMES]
    return "\n".join((HEAD, *(section(name) for name in (*first, *(each for each in schema.NAMES if each not in first)))))


if __name__ == "__main__":
    PATH.write_text(text())

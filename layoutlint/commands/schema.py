"""`layoutlint schema`: the JSON Schema of each JSON output."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import click

from layoutlint.errors import did_you_mean

_OUTPUTS = {
    "accesses": ("commands.infer.accesses_json", "accesses --format json"),
    "allocations": ("commands.allocations.json", "allocations --format json"),
    "bisect": ("commands.history.bisect_json", "bisect --format json"),
    "containers": ("commands.containers.json", "containers --format json"),
    "diff": ("commands.diff.json", "diff --format json"),
    "evidence": ("commands.evidence.json", "evidence --format json"),
    "history": ("commands.history.json", "history --format json"),
    "infer": ("commands.infer.json", "infer --format json"),
    "measure": ("commands.measure.json", "measure --format json"),
    "report": ("reports.check.json", "check --format json"),
    "rules-test": ("commands.rules.json", "rules test --format json"),
    "show": ("reports.show.json", "show --format json"),
    "slabs": ("model.slabs", "slabs"),
    "smallest": ("commands.suggest.smallest_json", "suggest --smallest --format json without STRUCT"),
    "suggest": ("commands.suggest.json", "suggest --format json"),
    "survey": ("commands.survey.json", "survey run --format json"),
    "survey-report": ("commands.survey.report_json", "survey report --format json"),
    "tune": ("commands.tune.json", "tune --format json"),
}
"""The modules of the types below `layoutlint`, and the commands, by the name of the format."""

NAMES = tuple(_OUTPUTS)
"""The names of the formats, as in the key `schema` of an output: `layoutlint/NAME/1`."""

FILES = ("snapshot", "survey-store")
"""The names of what commands write and read: tables, and files that leave out keys with usual values."""


def make(name: str) -> dict[str, Any]:
    """Return the schema of one of NAMES or FILES."""
    from layoutlint.readers.snapshot import record
    from layoutlint.reports import json_schema
    from layoutlint.surveys import tables as survey_tables

    if name == "survey-store":
        return survey_tables.store_schema()
    if name == "snapshot":
        title = "A snapshot, written by layoutlint snapshot"
        return json_schema.document_schema(record.Document, record.SCHEMA, title, record.StructRecord)
    module, command = _OUTPUTS[name]
    form = import_module(f"layoutlint.{module}").Document
    return json_schema.output_schema(form, f"The output of layoutlint {command}")


def _hint(name: str) -> str:
    """Return the names of a command's schemas, or the nearest name, behind the name that was given."""
    own = [each for each, (_, command) in _OUTPUTS.items() if command.split(" --")[0].split()[:1] == [name]]
    return f" (did you mean `{'` or `'.join(own)}`?)" if own else did_you_mean(name, (*NAMES, *FILES))


@click.command()
@click.argument("name", required=False, metavar="[NAME]")
def schema(name: str | None) -> None:
    """Print the JSON Schema of an output.

    NAME is a JSON output or file (draft 2020-12); without NAME, the names are listed. The name is in the
    output: `"schema": "layoutlint/NAME/1"`. It is report for `check`, rules-test for `rules test`, survey
    for `survey run`, survey-report for `survey report`, smallest for `suggest --smallest` without STRUCT,
    and for other commands the command's own name.
    """
    if name is None:
        click.echo("\n".join((*NAMES, *FILES)))
        return
    if name not in (*NAMES, *FILES):
        raise click.UsageError(f"no schema is called {name!r}{_hint(name)}")
    import json

    click.echo(json.dumps(make(name), indent=2))

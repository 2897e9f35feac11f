"""What fails a run stands first, in every format, whatever the order of rules and lines."""

from __future__ import annotations

import json
import re

import pytest

from tests.harness.command import run

HEADER = "struct s {\n\tlong first; long other[9];\n\tint near; int count;\n};\n"
RULE = '[[rule]]\nid = "{}"\nstruct = "s"\n{}\nseverity = "{}"\nwhy = "w"\n'
BROKEN = 'kind = "size"\nmax = 8'
OFTEN, SELDOM = (f'kind = "separate"\nfields = [["first"], ["{other}"]]' for other in ("other[0]", "other[6]"))
ORDERS = {
    # what comes first: rules in the order of the file; options; their order in the report
    "what is severe": ([("n", BROKEN, "note"), ("w", BROKEN, "warning"), ("e", BROKEN, "error")], (), "e w n"),
    "what is broken": ([("often", OFTEN, "error"), ("broken", BROKEN, "error")], (), "broken often"),
    "a risk that is severe": ([("broken", BROKEN, "warning"), ("often", OFTEN, "error")], (), "often broken"),
    "what fails": ([("often", OFTEN, "error"), ("broken", BROKEN, "warning")], ("--fail-on", "broken"), "broken often"),
    "the greater share": ([("a", SELDOM, "error"), ("b", OFTEN, "error")], (), "b a"),
    "the first id": ([("b", BROKEN, "error"), ("a", BROKEN, "error")], (), "a b"),
    "what is not accepted": ([("a", BROKEN, "error"), ("b", OFTEN, "warning")], ("--baseline", "a"), "b a"),
    "an error before a note, also if it is accepted": ([("n", BROKEN, "note"), ("a", BROKEN, "error")], ("--baseline", "a"), "a n"),
}
FORMATS = {
    "concise": r"\[(\w+)\]$", "text": r"^\S+: (?:error|warning|note): .* \[(\w+)\]$", "markdown": r"^\| \w+ \| `(\w+)`",
    "sarif": r'"ruleId": "(\w+)"', "json": "",
}  # fmt: skip


@pytest.mark.parametrize(("rows", "options", "expected"), ORDERS.values(), ids=ORDERS)
def test_what_comes_first(tmp_path, rows, options, expected):
    (tmp_path / "s.h").write_text(HEADER)
    (tmp_path / "r.toml").write_text("".join(RULE.format(*row) for row in rows))
    shown = expected.split()
    if "--baseline" in options:  # only documents for programs list accepted findings
        accepted = [RULE.format(*row) for row in rows if row[0] == options[1]]
        (tmp_path / "accepted.toml").write_text("".join(accepted))
        run("baseline", "write", "base.json", "s.h", "--rules", "accepted.toml", cwd=tmp_path)
        shown.remove(options[1])
        options = "--baseline", "base.json"
    orders = {name: list_rules(tmp_path, name, options) for name in FORMATS}
    assert orders == {**dict.fromkeys(FORMATS, shown), **dict.fromkeys(("json", "sarif"), expected.split())}


def list_rules(folder, name, options):
    verbose = ("-v",) if name == "text" and "--baseline" not in options else ()
    printed = run("check", "s.h", "--rules", "r.toml", *options, "--format", name, *verbose, cwd=folder).stdout
    if name == "json":
        return [each["rule"] for each in json.loads(printed)["findings"]]
    return re.findall(FORMATS[name], printed, re.MULTILINE)

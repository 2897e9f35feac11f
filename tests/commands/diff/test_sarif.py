"""`diff --format sarif`: each result states how it compares with the old input."""

from __future__ import annotations

import configparser
import json

from layoutlint.reports.check.sarif import HOME
from tests.harness.command import ROOT, run

RULES = "".join(
    f'[[rule]]\nid = "{name}"\nstruct = "{name}"\nkind = "separate"\nfields = [["a"], ["z"]]\nwhy = "w"\n'
    for name in ("fresh", "more", "same", "less", "gone", "kept")
)
PADS = {
    # struct: the words between `a` and `z`, before and now
    "fresh": (8, 4), "more": (4, 2), "same": (3, 3), "less": (2, 4), "gone": (4, 8), "kept": (8, 9),
}  # fmt: skip


def test_states(tmp_path):
    for side, name in enumerate(("old.h", "new.h")):
        structs = (f"struct {struct} {{ long a; long pad[{pads[side]}]; long z; }};\n" for struct, pads in PADS.items())
        (tmp_path / name).write_text("".join(structs))
    (tmp_path / "r.toml").write_text(RULES)
    done = run("diff", "old.h", "new.h", "--rules", "r.toml", "--format", "sarif", cwd=tmp_path)
    (found,) = json.loads(done.stdout)["runs"]
    assert {each["ruleId"]: each["baselineState"] for each in found["results"]} == {
        "fresh": "new", "more": "updated", "same": "unchanged", "less": "unchanged", "gone": "absent",
    }  # fmt: skip
    assert found["invocations"][0]["exitCode"] == done.returncode == 1


def test_the_page_of_the_tool_is_that_of_the_project():
    metadata = configparser.ConfigParser()
    metadata.read(ROOT / "setup.cfg")
    assert f"Source = {HOME}" in metadata["metadata"]["project_urls"]

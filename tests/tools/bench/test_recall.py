"""The bench of `infer` counts what it could try, and names the rest."""

from __future__ import annotations

import pytest

from layoutlint.inference.analysis import analyse
from layoutlint.model.reading import ReadOptions
from layoutlint.sources import bodies
from tools.bench import recall

SOURCE = """
struct cred { long usage; long uid; long rest[4]; } one;
int main(void) { __atomic_fetch_add(&one.usage, 1, 5); return one.uid; }
"""
TRIED = {"kernel": "6.12", "writers": ["usage"], "readers": ["uid"]}


@pytest.fixture(scope="module")
def program(tmp_path_factory):
    file = tmp_path_factory.mktemp("recall") / "t.c"
    file.write_text(SOURCE)
    return analyse(bodies.read((str(file),), ReadOptions(cache=False)), ())


@pytest.mark.parametrize(("name", "change", "reason"), [
    ("zone", TRIED, "struct zone: no function uses it"),
    ("cred", {**TRIED, "writers": ["gone"], "readers": ["gone"]}, "struct cred: no function uses it"),
    ("cred", {**TRIED, "order": ["uid", "gone"]}, "struct cred has no field gone"),
])  # fmt: skip
def test_changes_that_cannot_be_tried(program, name, change, reason):
    with pytest.raises(recall.Untried, match=reason):
        recall.judge(name, change, program)


def test_the_others_are_counted_apart(program, monkeypatch, capsys):
    monkeypatch.setattr(recall, "read", lambda *_: program)
    monkeypatch.setattr("sys.argv", ["recall", "6.12=source:build"])
    recall.main()
    out, err = capsys.readouterr()
    assert "| `cred` | 1 | 1 | 1.00 | 1 |" in out
    assert "upstream: 1 of 1 notes among the first three; by chance 1.0; 1 victims given the writer; not tried: " in out
    assert "upstream zone cannot be tried: struct zone: no function uses it" in err
    assert "address_space" in out  # of a kernel that was not read

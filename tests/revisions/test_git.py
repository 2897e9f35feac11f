"""What is said when git fails: git's own cause, and none of its hints."""

from __future__ import annotations

import pytest

from layoutlint.errors import UsageError
from layoutlint.revisions import git
from tests.harness.repository import commit
from tests.harness.repository import git as run_git

MESSAGES = {
    # what git prints, the line that is quoted
    b"fatal: not a tree object\n": "fatal: not a tree object",
    b"hint: Support for <GIT_DIR>/info/grafts is deprecated\nhint: \nfatal: bad object\n": "fatal: bad object",
    b"warning: a\nerror: patch failed: q.h:1\nerror: q.h: patch does not apply\n": "error: patch failed: q.h:1",
    b"warning: a\nsomething else\n": "something else",
    b"warning: a\nhint: b\n": "warning: a",
    b"": "",
}


@pytest.mark.parametrize(("messages", "line"), MESSAGES.items(), ids=map(str, MESSAGES.values()))
def test_the_cause(messages, line):
    assert git._cause(messages) == line


def test_a_tree_that_is_missing(tmp_path, monkeypatch):
    """git then complains first that the file of grafts is deprecated, which no run reads."""
    commit(tmp_path, "base", {"f": "1"})
    tree = run_git(tmp_path, "rev-parse", "HEAD^{tree}")
    (tmp_path / ".git/objects" / tree[:2] / tree[2:]).unlink()
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=r"^git ls-tree failed: fatal: "):
        git.commit("HEAD").files("")

"""Options of `check` beside one another: whatever one of them makes anew, the others still find."""

from __future__ import annotations

import json
from itertools import product

import pytest

from tests.harness.command import run

SOURCE = """\
struct file_operations { int (*open)(void *); };
/* one cacheline */
struct conn {
	_Atomic int lock; /* layoutlint: hot-write */
	const struct file_operations *ops; /* layoutlint: hot-read */
	/* layoutlint: ignore[conn/access] one at a time */
	long limit;
	char buf[80];
} __attribute__((randomize_layout));
struct pool { long used; struct conn conns[3]; };
struct conn *make(void)
{
	struct conn *c = kmalloc(sizeof(*c), GFP_KERNEL);
	struct pool *p = kcalloc(4, sizeof(*p), GFP_KERNEL);
	return c;
}
"""
RULES = """\
[struct.pool.fields]
used = { access = "hot-read" }
[[rule]]
id = "apart"
struct = "conn"
kind = "access"
around = true
why = "w"
[[rule]]
id = "whole"
struct = "p*"
kind = "no-straddle"
fields = ["*"]
why = "w"
"""
RANDOM = ((), ("--randstruct", "clang", "--randomized", "conn"))
MORE = ((), ("--pack", "generic"), ("--pack", "generic", "--comments", "--sources", ".", "--unused"))


@pytest.mark.exhaustive
@pytest.mark.parametrize(("inputs", "random", "more"), list(product([("a.c",), ("a.c", "b.c"), ("--matrix", "m.toml")], RANDOM, MORE)))
def test_no_combination_is_an_internal_error(inputs, random, more, tmp_path):
    (tmp_path / "a.c").write_text(SOURCE)
    (tmp_path / "b.c").write_text(SOURCE.replace("limit", "most"))
    (tmp_path / "r.toml").write_text(RULES)
    (tmp_path / "m.toml").write_text('build.one = { input = "a.c" }\nbuild.two = { input = "b.c", target = "aarch64" }\n')
    done = run("check", *inputs, *random, *more, "--rules", "r.toml", "--format", "json", cwd=tmp_path)
    assert done.returncode in (0, 1, 2, 3), done.stderr
    if done.returncode != 2:
        assert json.loads(done.stdout)["exit"] == done.returncode


def test_an_allocation_beside_guesses_is_noted(tmp_path):
    (tmp_path / "a.c").write_text(SOURCE)
    done = run("check", "a.c", "--pack", "generic", "--format", "json", cwd=tmp_path)
    report = json.loads(done.stdout)
    assert any("kmalloc" in note for note in report["inputs"][0]["notes"])
    assert [finding["rule"] for finding in report["findings"]] != []

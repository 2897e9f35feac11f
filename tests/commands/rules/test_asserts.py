"""Assertions for groups: a compiler that is given them accepts the struct as it is, and refuses one that was changed."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layoutlint.commands.rules.net_cachelines import asserts
from layoutlint.intent.toml import rule_file
from tests.harness.command import ROOT, run
from tests.oracles.c_probe import need

SOURCE = (ROOT / "fixtures/kinds/group.c").read_text()
ASSERTS = """
#define offsetof(TYPE, MEMBER) __builtin_offsetof(TYPE, MEMBER)
#define ENDS(TYPE, MEMBER) (offsetof(TYPE, MEMBER) + sizeof(((TYPE *)0)->MEMBER))
#define CACHELINE_ASSERT_GROUP_MEMBER(TYPE, GROUP, MEMBER) \\
    _Static_assert(offsetof(TYPE, MEMBER) >= offsetof(TYPE, __cacheline_group_begin__##GROUP) && \\
        ENDS(TYPE, MEMBER) <= offsetof(TYPE, __cacheline_group_end__##GROUP), #MEMBER)
#define CACHELINE_ASSERT_GROUP_SIZE(TYPE, GROUP, SIZE) \\
    _Static_assert(offsetof(TYPE, __cacheline_group_end__##GROUP) - \\
        offsetof(TYPE, __cacheline_group_begin__##GROUP) <= SIZE, #GROUP)
static void check(void)
{
"""
STRUCTS = ("crowded", "tidy", "drifted")
CHANGES = [
    # id, what is replaced, by what, the assertion that fails
    ("nothing", "", "", None),
    ("a member leaves", "\tlong backlog;\n\t__cacheline_group_end(tidy_read_rx);", "\t__cacheline_group_end(tidy_read_rx);\n\tlong backlog;", "backlog"),
    ("a group grows", "\tlong mtu;\n\tunsigned char chrono", "\tlong mtu, more;\n\tunsigned char chrono", "drifted_read_txrx"),
    ("a group shrinks", "\tlong sent;\n", "\tint sent;\n", None),
]  # fmt: skip


def compile_object(text: str, folder: Path) -> subprocess.CompletedProcess[str]:
    (folder / "asserted.c").write_text(text)
    return subprocess.run([need("gcc"), "-c", "-o", "/dev/null", "asserted.c"], cwd=folder, capture_output=True, text=True)


@pytest.mark.parametrize(("old", "new", "fails"), [case[1:] for case in CHANGES], ids=[case[0] for case in CHANGES])
def test_a_compiler_holds_the_struct_to_them(old, new, fails, tmp_path):
    done = run("rules", "asserts", *STRUCTS, "--in", "fixtures/kinds/group.c", "--", "--target=x86_64-linux-gnu")
    assert (done.returncode, done.stderr) == (0, "")
    assert old in SOURCE
    result = compile_object(f"{SOURCE.replace(old, new, 1)}{ASSERTS}{done.stdout}}}\n", tmp_path)
    if fails is None:
        assert result.returncode == 0, result.stderr
    else:
        assert f'static assertion failed: "{fails}"' in result.stderr


def test_as_text():
    done = run("rules", "asserts", "drifted", "--in", "fixtures/kinds/group.c", "--", "--target=x86_64-linux-gnu")
    assert done.stdout == """\
	/* drifted_read_txrx */
	CACHELINE_ASSERT_GROUP_MEMBER(struct drifted, drifted_read_txrx, mtu);
	CACHELINE_ASSERT_GROUP_MEMBER(struct drifted, drifted_read_txrx, retries);
	/* offsetof() cannot name: chrono */
	CACHELINE_ASSERT_GROUP_SIZE(struct drifted, drifted_read_txrx, 10);

	/* drifted_write_tx */
	CACHELINE_ASSERT_GROUP_MEMBER(struct drifted, drifted_write_tx, sent);
	CACHELINE_ASSERT_GROUP_MEMBER(struct drifted, drifted_write_tx, window);
	CACHELINE_ASSERT_GROUP_SIZE(struct drifted, drifted_write_tx, 16);

	/* drifted_write_txrx */
	CACHELINE_ASSERT_GROUP_MEMBER(struct drifted, drifted_write_txrx, next);
	CACHELINE_ASSERT_GROUP_SIZE(struct drifted, drifted_write_txrx, 8);
"""


RULES = """\
[pack]
sides = ["tx", "rx", "xdp"]

[struct.s.fields]
a = { tx = "read-mostly" }
b = { tx = "read-mostly", rx = "read-mostly" }
"c.d" = { tx = "read-mostly", rx = "hot-write" }
e = { rx = "hot-write" }
f = { rx = "cold" }
g = {}
h = { xdp = "hot-write" }
i = { access = "hot-write" }
j = { tx = "read-mostly" }

[[rule]]
id = "read-tx"
struct = "s"
kind = "group"
group = "s_read_tx"
members = ["a", "k*", "l"]
max = 64
why = "a test"

[[rule]]
id = "all"
struct = "s"
kind = "group"
max = 100
why = "a test"
"""


def test_of_a_rule_file():
    """A group that a rule states goes before the one that accesses come to."""
    found = {each.group: (each.members, each.size, each.left_out) for each in asserts.from_pack(rule_file.parse(RULES, "r.toml"))}
    assert found == {
        "s_read_tx": (("a", "l"), 64, ("k*",)),
        "s_read_txrx": (("b",), None, ()),
        "s_write_rx": (("e",), None, ()),
        "s_write_txrx": (("c.d",), None, ()),
    }


def test_an_imported_table(tmp_path):
    table, rules = "fixtures/net_cachelines/loose.rst", tmp_path / "t.toml"
    assert run("rules", "import", "net_cachelines", table, "--output", rules).returncode == 0
    done = run("rules", "asserts", rules)
    assert done.returncode == 0
    assert done.stdout.splitlines()[:4] == [
        "\t/* tcp_sock_read_rx */",
        "\tCACHELINE_ASSERT_GROUP_MEMBER(struct tcp_sock, tcp_sock_read_rx, ptype_specific);",
        "",
        "\t/* tcp_sock_read_tx */",
    ]


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("sock",), 2, "'sock' is not a rule file (*.toml); for a struct, pass --in INPUT"),
        (("docs/example/layoutlint.toml",), 2, "no rule names the members of a group, and no access names a side"),
        (("none.toml",), 2, "none.toml: no such file or directory"),
        (("crowdd", "--in", "fixtures/kinds/group.c"), 3, "fixtures/kinds/group.c: no struct crowdd"),
        (("cacheline_padding", "--in", "fixtures/kinds/group.c"), 3, "struct cacheline_padding marks no groups of fields"),
        (("cacheline_padding", "--in", "fixtures/kinds/group.c", "--allow-unknown"), 0, "marks no groups of fields"),
        (("s", "--in", "none.h"), 3, "none.h"),
    ],
)
def test_what_cannot_be_asserted(words, status, message):
    done = run("rules", "asserts", *words)
    assert (done.returncode, done.stdout) == (status, "")
    assert message in done.stderr

"""Tables of net_cachelines in both formats: what they say, and what is wrong with wrong ones, with the line."""

from __future__ import annotations

import os
import shutil
import tomllib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from layoutlint.commands.rules.net_cachelines import rules
from layoutlint.commands.rules.net_cachelines.table import Row, parse
from layoutlint.errors import RuleFileError
from layoutlint.intent.toml import rule_file
from tests.harness.command import ROOT, run

FOLDER = ROOT / "fixtures/net_cachelines"
LOOSE, SIMPLE = (FOLDER / "loose.rst").read_text(), (FOLDER / "simple.rst").read_text()
NONE = ("", "")
LOOSE_ROWS = (
    Row("icsk_inet", NONE, "", 7),
    Row("gso_segs", ("read-mostly", ""), "tcp_xmit_size_goal", 8),
    Row("pred_flags", ("hot-write", "read-mostly"), "tcp_select_window(tx);tcp_rcv_established(rx)", 9),
    Row("ipv6_fl_list", ("read-mostly", ""), "tcp_v6_connect", 10),
    Row("ptype_specific", ("", "read-mostly"), "deliver_skb", 11),
    Row("irq_moder", NONE, "", 12),
    Row("hw_enc_features", NONE, "netif_skb_features", 13),
    Row("icsk_ca_dst_locked", ("hot-write", ""), "tcp_ca_dst_init, tcp_connect_init", 14),
    Row("icsk_ack.pending", ("hot-write", "hot-write"), "inet_csk_ack_scheduled", 15),
    Row("icsk_mtup.probe_size", ("hot-write", ""), "tcp_mtup_init", 16),
    Row("name", NONE, "", 17),
    Row("icsk_ca_priv", NONE, "", 18),
)
SIMPLE_ROWS = (
    Row("icsk_inet", NONE, "", 8),
    Row("gso_segs", ("read-mostly", ""), "tcp_xmit_size_goal", 9),
    Row("pred_flags", ("hot-write", "read-mostly"), "tcp_select_window(tx);tcp_rcv_established(rx)", 10),
    Row("ptype_specific", ("", "read-mostly"), "", 11),
    Row("netmem_tx", ("read-mostly", ""), "", 12),
    Row("gro_timeout", ("read-mostly", ""), "", 14),
    Row("icsk_ack.rcv_mss", ("hot-write", "read-mostly"), "__tcp_select_window", 16),
)
LEFT_OUT = ("t.rst:13: `struct net_device` is not a field name", "t.rst:15: `gro_timeout` has a row in line 14 as well")


def test_columns_that_spaces_part():
    table = parse(LOOSE, "t.rst")
    assert (table.struct, table.rows, table.left_out) == ("tcp_sock", LOOSE_ROWS, ())


def test_columns_below_runs_of_equals_signs():
    table = parse(SIMPLE, "t.rst")
    assert (table.struct, table.rows, table.left_out) == ("net_device", SIMPLE_ROWS, LEFT_OUT)


def test_the_struct_that_is_said_goes_before_the_title():
    assert parse(LOOSE, "t.rst", "sock").struct == "sock"
    assert parse(LOOSE.replace("tcp_sock struct", "the"), "t.rst", "sock").struct == "sock"


MISTAKES = [
    ("", ["t.rst: no table with the columns Type, Name, fastpath_tx_access, fastpath_rx_access, Comments"]),
    (LOOSE.replace("fastpath_rx_access", " " * 18), ["t.rst:5: the table has no column `fastpath_rx_access`"]),
    (LOOSE.replace("Name                  f", "                      f"), ["t.rst:5: the table has no column `Name`"]),
    (SIMPLE.replace("Type   ", "       "), ["t.rst:6: the table has no column `Type`"]),
    (SIMPLE.replace("  comment", ""), ["t.rst:6: the table has no column `Comments`"]),
    (LOOSE.replace("tcp_sock struct", "the"), ["t.rst: the title does not name the struct: pass --struct NAME"]),
    (LOOSE.replace("tcp_sock struct", "linux_mib enum"),
     ["t.rst:2: the table is about counters of an enum, not about the fields of a struct: `linux_mib enum fast path usage breakdown`"]),
    (LOOSE.replace("gso_segs              read_mostly", "gso_segs              read_mosty "), ["t.rst:8: `read_mosty` is not an access (did you mean `read_mostly`?)"]),
    (SIMPLE.replace("read_mostly         tcp_sel", "hot                 tcp_sel"), ["t.rst:10: `hot` is not an access (known: read_mostly, read_write, write_mostly)"]),
    (LOOSE + "u32\n", ["t.rst:19: a row has no `Name`: `u32`"]),
    (LOOSE + LOOSE.splitlines()[7] + "\n" + LOOSE.splitlines()[7].replace("read_mostly", "read_write ") + "\n",
     ["t.rst:20: the row of `gso_segs` contradicts the one in line 8"]),
    ("\n".join([*LOOSE.splitlines()[:5], ""]), ["t.rst:5: the table has no rows"]),
    ("\n".join(SIMPLE.splitlines()[:10]), ["t.rst:10: the table has no end: the line of `=` below it is missing"]),
    (LOOSE + "\n" + LOOSE.splitlines()[7] + "\n", ["t.rst:20: the row comes after the end of the table in line 19"]),
    (SIMPLE + "\n\n" + SIMPLE, ["t.rst:27: the row comes after the end of the table in line 17"]),
    (SIMPLE.replace("fastpath_tx", "fastpath__x").replace("fastpath_rx", "fastpath_tx").replace("fastpath__x", "fastpath_rx"),
     ["t.rst:6: the columns are not in the order Type, Name, fastpath_tx_access, fastpath_rx_access, Comments"]),
    (LOOSE.replace("Type", "Naem").replace("Name", "Type").replace("Naem", "Name"),
     ["t.rst:5: the columns are not in the order Type, Name, fastpath_tx_access, fastpath_rx_access, Comments"]),
    (SIMPLE.replace("gso_segs         read", "segments_of_the_gso"),
     ["t.rst:9: a word extends over two columns: `u16                     segments_of_the_gso_mostly                             t`"]),
    (SIMPLE.replace("======================= ================", "========================================", 1), ["t.rst:5: 4 columns in the border, 5 in the header"]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "text_message"), MISTAKES)
def test_mistakes(text, text_message):
    with pytest.raises(RuleFileError) as caught:
        parse(text, "t.rst")
    assert list(caught.value.messages) == text_message


@given(st.text(alphabet=st.sampled_from("=- \n.;:[]uT1é_\t"), max_size=200), st.integers(0, 19))
def test_whatever_stands_there_is_read_or_refused(rubbish, at):
    for text in (LOOSE, SIMPLE):
        lines = text.splitlines()
        lines.insert(at, rubbish)
        try:
            text_message = [row.path for row in parse("\n".join(lines), "t.rst", "s").rows]
        except RuleFileError as error:
            text_message = [message for message in error.messages if message.startswith("t.rst:")]
        assert text_message


@pytest.mark.parametrize(("text", "rows"), [(LOOSE, LOOSE_ROWS), (SIMPLE, SIMPLE_ROWS)])
def test_the_rule_file_says_what_the_table_says(text, rows):
    table = parse(text, "Documentation/t.rst")
    written = rules.rule_file(table, "Documentation/t.rst")
    pack = rule_file.parse(written, "t.toml")
    (intent,) = pack.structs
    text_message: dict[str, dict[str, str]] = {}
    for access in intent.accesses:
        text_message.setdefault(access.path, {})[access.side] = access.access
    assert list(text_message) == [row.path for row in rows]
    assert {path: (by.get("tx", ""), by.get("rx", "")) for path, by in text_message.items()} == {row.path: row.accesses for row in rows}
    assert all(rule.evidence == ("Documentation/t.rst",) and rule.struct == table.struct for rule in pack.rules)
    assert [(rule.kind.name, rule.severity.value) for rule in pack.rules] == [
        ("complete", "warning"), ("access", "warning"), ("lines", "note"), ("lines", "note"), ("lines", "note"),
    ]  # fmt: skip


def test_odd_letters_in_comments_are_no_harm():
    text = LOOSE.replace("tcp_xmit_size_goal", 'a "b" \\ # \x01\x7fé\u2028')
    assert tomllib.loads(rules.rule_file(parse(text, 'a"\\\x7f.rst'), 'a"\\\x7f.rst'))


class TestCommand:
    def test_stdout(self):
        done = run("rules", "import", "net_cachelines", "fixtures/net_cachelines/simple.rst")
        path = "fixtures/net_cachelines/simple.rst"
        assert (done.returncode, done.stdout) == (0, rules.rule_file(parse(SIMPLE, path), path))
        assert done.stderr.splitlines() == [f"{note.replace('t.rst', path)}; left out" for note in LEFT_OUT]

    def test_a_file_is_not_overwritten_unasked(self, tmp_path):
        target, command = tmp_path / "t.toml", ("rules", "import", "net_cachelines", "fixtures/net_cachelines/loose.rst")
        assert run(*command, "--output", target).returncode == 0
        first = target.read_text()
        target.write_text("# mine\n")
        done = run(*command, "--output", target)
        assert (done.returncode, target.read_text()) == (2, "# mine\n")
        assert "t.toml exists already; --force overwrites it" in done.stderr
        assert run(*command, "--output", target, "--force").returncode == 0
        assert target.read_text() == first

    def test_what_could_not_stand_in_a_rule_file(self, tmp_path):
        done = run("rules", "import", "net_cachelines", "fixtures/net_cachelines/loose.rst", "--struct", "tcp sock")
        assert (done.returncode, done.stdout) == (2, "")
        assert "--struct 'tcp sock': is not the name of a struct" in done.stderr
        path = os.fsdecode(bytes(tmp_path) + b"/\xff.rst")
        shutil.copy(FOLDER / "loose.rst", path)
        assert run("rules", "import", "net_cachelines", path, "--output", tmp_path / "t.toml").returncode == 0
        assert rule_file.load([str(tmp_path / "t.toml")])[0].rules[0].evidence == (f"{tmp_path}/?.rst",)

    @pytest.mark.parametrize(
        ("content", "text_message"),
        [
            (None, "t.rst: no such file or directory"),
            (b"a\n\xff\n", "t.rst:2: not UTF-8 (byte 0xff)"),
            (b"\n" * ((1 << 20) + 1), "t.rst: longer than 1048576 bytes, so it is not such a table"),
            (b"nothing", "t.rst: no table with the columns Type, Name, fastpath_tx_access, fastpath_rx_access, Comments"),
        ],
    )
    def test_what_cannot_be_read(self, content, text_message, tmp_path):
        if content is not None:
            (tmp_path / "t.rst").write_bytes(content)
        done = run("rules", "import", "net_cachelines", "t.rst", cwd=tmp_path, PYTHONPATH=str(ROOT))
        assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{text_message}\n")

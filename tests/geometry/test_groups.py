"""The groups that structs mark, through every reader: what the compiler's offsetof says of the marks and the members."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layoutlint.geometry import groups
from layoutlint.geometry.group_marks import Marker, Use, parse_marker, parse_use
from layoutlint.geometry.layout import Layout
from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from tests.harness.command import ROOT
from tests.oracles.c_probe import compile_c, need

SOURCE = (ROOT / "fixtures/kinds/group.c").read_text()
MEMBERS = {
    ("crowded", "crowded_read_txrx"): ("mtu", "flags"),
    ("crowded", "crowded_read_rx"): ("backlog",),
    ("crowded", "crowded_write_rx"): ("received", "names"),
    ("tidy", "tidy_read_txrx"): ("mtu", "flags"),
    ("tidy", "tidy_read_rx"): ("backlog",),
    ("tidy", "tidy_write_rx"): ("received", "dropped"),
}
STRUCTS = ("crowded", "tidy", "unfinished")


def build(compiler: str, *flags: str, btf: bool = False):
    def make(folder: Path) -> Path:
        used = "".join(f"struct {name} {name};\n" for name in STRUCTS)
        made = compile_c(compiler, SOURCE + used, folder / "object.o", "-g", "-c", *flags)
        if btf:
            subprocess.run([need("pahole"), "-J", str(made)], check=True, capture_output=True)
        return made

    return make


def source(folder: Path) -> Path:
    (folder / "group.h").write_text(SOURCE)
    return folder / "group.h"


INPUTS = {
    "header": (source, None),
    "gcc, DWARF": (build("gcc"), "dwarf"),
    "clang, DWARF": (build("clang"), "dwarf"),
    "gcc, BTF of pahole": (build("gcc", btf=True), "btf"),
    "clang, BTF": (build("clang", "--target=bpf"), "btf"),
}


def describe(folder: Path) -> dict[tuple[str, str], tuple[int, int, tuple[str, ...]]]:
    """Each group's begin and end as gcc says, with the members that it says are between them."""
    asked = "".join(
        f'\tprintf("%zu %zu", offsetof(struct {struct}, __cacheline_group_begin__{group}),\n'
        f"\t\toffsetof(struct {struct}, __cacheline_group_end__{group}));\n"
        + "".join(
            f"\tif (offsetof(struct {struct}, {name}) >= offsetof(struct {struct}, __cacheline_group_begin__{group}) &&\n"
            f"\t    offsetof(struct {struct}, {name}) + sizeof(((struct {struct} *)0)->{name}) <=\n"
            f'\t    offsetof(struct {struct}, __cacheline_group_end__{group}))\n\t\tprintf(" {name}");\n'
            for name in ("mtu", "flags", "backlog", "received", "names" if struct == "crowded" else "dropped")
        )
        + "\tputs(\"\");\n"
        for struct, group in MEMBERS
    )
    text = f"#include <stddef.h>\n#include <stdio.h>\n{SOURCE}\nint main(void)\n{{\n{asked}\treturn 0;\n}}\n"
    program = compile_c("gcc", text, folder / "program")
    lines = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout.splitlines()
    words = [line.split() for line in lines]
    return {key: (int(w[0]), int(w[1]), tuple(w[2:])) for key, w in zip(MEMBERS, words, strict=True)}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", INPUTS)
def test_every_input_shows_them(name, tmp_path):
    make, reader = INPUTS[name]
    reading = read(str(make(tmp_path)), Wanted(frozenset(STRUCTS)), ReadOptions(reader=reader))
    found = {struct.name: groups.find_groups(Layout(struct)) for struct in reading.structs}
    assert {
        (name, group.name): (group.begin.offset, group.end.offset, tuple(place.path for place in group.members))
        for name, marked in found.items() for group in marked.complete
    } == describe(tmp_path)  # fmt: skip
    assert {key: members for key, (_, _, members) in describe(tmp_path).items()} == MEMBERS
    assert [len(found[name].faults) for name in STRUCTS] == [0, 0, 2]


FAULTS = [
    # the members, the faults
    ("BEGIN long a; END", []),
    ("long a; BEGIN END long b;", []),
    ("long a; END long b; BEGIN", ["group `x` begins at 16, behind its end at 8"]),
    ("long a; END char b; BEGIN", ["group `x` begins at 9, behind its end at 8"]),
    ("long a; BEGIN long b;", ["group `x` begins at 8 and does not end"]),
    ("long a; END long b;", ["group `x` ends at 8 and does not begin"]),
]


@pytest.mark.parametrize(("members", "faults"), FAULTS, ids=[row[0] for row in FAULTS])
def test_faults(members, faults, tmp_path):
    marks = {word: f"unsigned char __cacheline_group_{word.lower()}__x[0];" for word in ("BEGIN", "END")}
    text = "".join(f"{marks.get(word, word)} " for word in members.split())
    (tmp_path / "s.h").write_text(f"struct s {{ {text} }};\n")
    (struct,) = read(str(tmp_path / "s.h"), Wanted(frozenset("s")), ReadOptions()).structs
    found = groups.find_groups(Layout(struct))
    assert list(found.faults) == faults
    assert len(found.complete) == (not faults)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("__cacheline_group_begin__tcp_sock_read_tx", Marker("begin", "tcp_sock_read_tx")),
        ("__cacheline_group_end__icmp", Marker("end", "icmp")),
        ("__cacheline_group_pad__icmp", Marker("pad", "icmp")),
        ("cacheline_group_begin__x", None),
        ("__cacheline_group_begin__", None),
        (None, None),
    ],
)
def test_marker(name, message):
    assert parse_marker(name) == message


TX, RX, BOTH = frozenset({"tx"}), frozenset({"rx"}), frozenset({"tx", "rx"})


@pytest.mark.parametrize(
    ("group", "struct", "message"),
    [
        ("tcp_sock_read_tx", "tcp_sock", Use(False, TX)),
        ("sock_write_rxtx", "sock", Use(True, BOTH)),
        ("netns_ipv4_read_txrx", "netns_ipv4", Use(False, BOTH)),
        ("Qdisc_read_mostly", "Qdisc", Use(False)),
        ("Qdisc_write", "Qdisc", Use(True)),
        ("read_write", "idpf_rx_queue", Use(True)),
        ("cold", "idpf_rx_queue", None),
        ("icmp", "netns_ipv4", None),
        ("frag", "page_pool", None),
        ("read_ctl_fast", "read_ctl", None),
        ("tx_queue_read_rx", "tx_queue", Use(False, RX)),
    ],
)
def test_what_a_name_says(group, struct, message):
    assert parse_use(group, struct) == message

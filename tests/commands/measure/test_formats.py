"""The formats of `measure`, on measurements that no machine made."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from layoutlint.commands.measure import json as json_format
from layoutlint.commands.measure import svg, text
from layoutlint.measurement.experiment import Role
from layoutlint.model.record import replace
from tests.harness import json_schemas
from tests.measurement.sample import (
    BASES,
    COMPARED,
    REFUSED,
    REPLAYED,
    SWEPT,
    access,
    arrangement,
    measurement,
    plan,
)

TEXT = """\
struct s, rule apart (separate)

before: before.h
  rule: `hits` shares a line
  placed: aligned to 8
  core 0: adds to `hits` at 0..7
  core 1: reads `limit` at 8..15 (assumed: no access is declared)

  core 0, million times all of its accesses a second, median (slowest..fastest round)
  by how often core 0 accesses:
  base                                 back to back         every 1 us
     0   violates, 1 line shared  11.0 (10.0..12.0)  11.0 (10.0..12.0)
     8   violates, 1 line shared  11.0 (10.0..12.0)  11.0 (10.0..12.0)
    16   violates, 1 line shared  11.0 (10.0..12.0)  11.0 (10.0..12.0)
    24   violates, 1 line shared  11.0 (10.0..12.0)  11.0 (10.0..12.0)
    32   violates, 1 line shared  11.0 (10.0..12.0)  11.0 (10.0..12.0)
    40   violates, 1 line shared  11.0 (10.0..12.0)  11.0 (10.0..12.0)
    48   violates, 1 line shared  11.0 (10.0..12.0)  11.0 (10.0..12.0)
    56   0 lines shared              101 (100..102)     101 (100..102)
  apart                              101 (100..102)     101 (100..102)
"""
END = """\
ratios of rates, median (least..most of the rounds)
  before: placements with a shared line to the other placements
    core 0: back to back 0.11 (0.10..0.12); every 1 us 0.11 (0.10..0.12)
    core 1: back to back 0.11 (0.10..0.12); every 1 us 0.11 (0.10..0.12)
  after: all placements to the same accesses on lines of their own
    core 0: back to back 1.00 (1.00..1.00), unclear; every 1 us 1.00 (1.00..1.00), unclear
    core 1: back to back 1.00 (1.00..1.00), unclear; every 1 us 1.00 (1.00..1.00), unclear
  the layout after to the layout before
    core 0: back to back 4.54 (4.39..4.71); every 1 us 4.54 (4.39..4.71)
    core 1: back to back 4.54 (4.39..4.71); every 1 us 4.54 (4.39..4.71)

control: two counters on one line 11.0 (10.0..12.0), on lines apart 101 (100..102): 9.18 times as
         fast
machine: Model of a processor, run by a hypervisor; cores 0 and 1 of 4 processors; lines of 64 bytes
compiler: /usr/bin/cc (cc 1.2)
run: 3 rounds in 1.2 s, 114 of 114 samples undisturbed; load before 0.50, taken by a hypervisor 0.1%
note: a note
"""


def test_text():
    rendered = text.render(COMPARED)
    assert rendered.startswith(TEXT)
    assert rendered.endswith(END)


def test_text_of_a_replay():
    """One number for all cores, which do as many accesses as their turns."""
    rendered = text.render(REPLAYED)
    assert rendered.startswith("struct s, replay of seen.json\n")
    assert "    all cores: back to back 4.54 (4.39..4.71); every 1 us 4.54 (4.39..4.71)\n\ncontrol: " in rendered


def test_text_of_a_mix():
    field = access("hits", "add", 0)
    mixed = Role((replace(field, times=3), access("limit", "load", 8)))
    own = plan(replace(arrangement(0, 8), roles=(mixed, mixed)))
    assert (
        "  cores 0 and 1: adds to `hits` at 0..7, 3 of 4 accesses\n"
        "                 reads `limit` at 8..15, 1 of 4 accesses\n"
    ) in text.render(measurement(own))
    assert [word.operation for word in mixed.words] == ["add", "add", "load", "add"]


def test_text_of_a_sweep():
    rendered = text.render(SWEPT)
    assert "  core 2, million objects a second, median (slowest..fastest round)\n" in rendered
    assert "    32    2 lines  11.0 (10.0..12.0)\n" in rendered
    assert "  placements on more lines than needed to the other placements\n    core 2: 0.11 (0.10..0.12)\n" in rendered
    assert "machine: processor ??; core 2 of 1 processor; lines of 64 bytes\n" in rendered


@pytest.mark.parametrize("measured", [COMPARED, REPLAYED, SWEPT, REFUSED], ids=["compared", "replayed", "swept", "refused"])
class TestEach:
    def test_json_is_valid(self, measured):
        rendered = json_format.render(measured)
        assert json_schemas.mistakes(rendered) == []
        document = json.loads(rendered)
        assert (document["exit"], document["refusal"]) == (3 if measured is REFUSED else 0, measured.refusal())
        assert [[each["base"] for each in layout["placements"]] for layout in document["layouts"]] == [[*BASES]] * len(document["layouts"])

    def test_svg_is_self_contained(self, measured):
        """No script, no reference, nothing that is loaded."""
        tree = ElementTree.fromstring(svg.render(measured))
        assert {each.tag.rpartition("}")[2] for each in tree.iter()} <= {"svg", "g", "rect", "line", "circle", "text", "title"}
        names = {name for each in tree.iter() for name in each.attrib}
        assert not {name for name in names if name.startswith("on") or "href" in name or "style" in name}

    def test_text_has_every_base(self, measured):
        for base in BASES:
            assert f"\n  {base:4} " in text.render(measured)


def test_svg_has_a_dot_for_each_rate():
    circles = [each for each in ElementTree.fromstring(svg.render(COMPARED)).iter() if each.tag.endswith("circle")]
    intervals = COMPARED.plan.experiment.intervals
    assert len(circles) == len(intervals) * (1 + 2 * (len(BASES) + 1))


HOSTILE = "s\x1b[31m<script>alert(1)</script>&\u202e\ud800::error::"


@pytest.mark.parametrize("render", [text.render, json_format.render, svg.render])
def test_hostile_names(render):
    from layoutlint.measurement.experiment import Role

    first = arrangement(0, 8, verdict=HOSTILE)
    field = replace(first.roles[0].fields[0], path=HOSTILE)
    named = replace(first, origin=HOSTILE, why=HOSTILE, roles=(Role((field,)), first.roles[1]))
    measured = measurement(plan(named), rule=HOSTILE, notes=(HOSTILE,))
    machine = replace(measured.machine, model=HOSTILE, compiler=HOSTILE, compiler_version=HOSTILE)
    rendered = render(replace(measured, struct=HOSTILE, machine=machine))
    assert rendered.encode("utf-8")
    assert all(letter.isprintable() or letter == "\n" for letter in rendered)
    assert not any(line.startswith("::") for line in rendered.splitlines())
    if render is svg.render:
        assert "<script" not in rendered
        ElementTree.fromstring(rendered)

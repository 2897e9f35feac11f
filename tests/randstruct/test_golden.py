"""Randomised layouts against what compilers did: every struct, build and kind of input, through the command."""

from __future__ import annotations

import re

import pytest

from tests.randstruct import golden
from tests.randstruct.golden import BUILDS, INPUTS

BUILD = pytest.mark.parametrize("build", BUILDS, ids=golden.name_of)
TELLING = [kind for kind in INPUTS if kind != "BTF"]
PACKED = {"packed", "packed_marked"}
"""Debug information does not state that their alignment is 1."""


@pytest.mark.one_in(13)
@pytest.mark.parametrize("kind", TELLING)
@BUILD
def test_every_struct(build, kind):
    path = golden.input_of(kind, build["source"])
    shown, message, status = golden.show(path, list(build["layouts"]), *golden.options(build, kind))
    wanted = {name: (one["size"], one["bit_offsets"]) for name, one in build["layouts"].items()}
    found = {
        name: (one["size"], {path: bit for path, bit in golden.bits(one).items() if path in wanted[name][1]})
        for name, one in shown.items()
    }
    assert found == wanted
    assert (status, "cannot be believed" in message) == (0, False)


@pytest.mark.one_in(4)
@pytest.mark.parametrize("build", golden.DRAWN, ids=golden.name_of)
def test_every_drawn_struct_in_c_text(build):
    """With bit-fields without a name, `packed` and `aligned` members, and `#pragma pack`."""
    path = golden.input_of("C", build["source"])
    shown, message, status = golden.show(path, list(build["layouts"]), *golden.options(build, "C"))
    assert (status, message) == (0, "")
    for name, wanted in build["layouts"].items():
        wanted = {"size": wanted["size"], "bit_offsets": wanted["bit_offsets"]}
        assert golden.place(shown[name], wanted) == wanted, name


def _vectors(shown):
    """The structs that can hold a vector: outside of kernels BTF has it as an array, where there is room for one."""
    lacking = re.compile(r"the size of `\w+` is not known")
    return {name for name, one in shown.items() if lacking.search(one["problem"] or "")}


SEEN = [build for build in golden.DRAWN if build["source"] == "drawn.c"]


@pytest.mark.one_in(7)
@pytest.mark.parametrize("kind", [kind for kind in INPUTS if kind != "C"])
@pytest.mark.parametrize("build", SEEN, ids=golden.name_of)
def test_drawn_structs_of_which_debug_information_hides_nothing(build, kind):
    """What it does not tell is unknown, and nothing that it tells is wrong; what is assumed is said."""
    path = golden.input_of(kind, build["source"])
    shown, message, _ = golden.show(path, list(build["layouts"]), *golden.options(build, kind))
    output = {name: one for name, one in shown.items() if one["problem"] is None}
    for name, one in output.items():
        wanted = {key: build["layouts"][name][key] for key in ("size", "bit_offsets")}
        assert golden.place(one, wanted) == wanted, name
    vectors = _vectors(shown) if kind == "BTF" else set()
    assert len(vectors) * 3 <= len(shown)
    assert (len(output) + len(vectors)) * 10 >= len(shown) * (7 if kind == "BTF" else 10)
    assert "this input does not show bit-fields without a name" in message


@pytest.mark.one_in(13)
@pytest.mark.parametrize("kind", TELLING)
@BUILD
def test_every_alignment(build, kind):
    path = golden.input_of(kind, build["source"])
    shown, _, _ = golden.show(path, list(build["layouts"]), *golden.options(build, kind))
    hidden = PACKED if build["mode"] is None and kind != "C" else set()
    aligned = {name: one["align"] for name, one in build["layouts"].items() if name not in hidden}
    found = {name: one["align"] or one["align_possible"] for name, one in shown.items() if name not in hidden}
    # What the debug information of a build that is not shuffled leaves open is a set, which has the right one.
    assert {name: aligned[name] if isinstance(align, list) and aligned[name] in align else align for name, align in found.items()} == aligned
    assert not (kind == "C" and any(isinstance(align, list) for align in found.values()))


@pytest.mark.one_in(4)
@BUILD
def test_btf_tells_the_same_or_nothing(build):
    """BTF does not have `aligned`, and pahole's has one length for all dimensions of an array, on which its place can depend.

    What it cannot tell is unknown, and nothing that it tells is wrong.
    """
    path = golden.input_of("BTF", build["source"])
    shown, message, status = golden.show(path, list(build["layouts"]), *golden.options(build, "BTF"))
    output = {name: one for name, one in shown.items() if one["problem"] is None}
    for name, one in output.items():
        wanted = build["layouts"][name]
        found = golden.bits(one)
        assert (one["size"], {path: found[path] for path in wanted["bit_offsets"]}) == (wanted["size"], wanted["bit_offsets"])
    assert set(build["layouts"]) - set(output) - _vectors(shown) <= {"aligned_member", "algn", "flex", "zero0", "big", "mixed"}
    assert len(output) > len(shown) // 2
    assert status == (3 if len(output) < len(shown) else 0), message


@pytest.mark.one_in(3)
@pytest.mark.parametrize("build", [build for build in BUILDS if build["mode"]], ids=golden.name_of)
def test_what_is_said_of_it(build):
    """Structs whose fields moved, at any depth, are shown as randomised, and those that are left alone are not."""
    path = golden.FOLDER / build["source"]
    plain, _, _ = golden.show(path, list(build["layouts"]))
    shown, _, _ = golden.show(path, list(build["layouts"]), *golden.options(build, "C"))
    moved = {name for name, one in shown.items() if golden.bits(one) != golden.bits(plain[name])}
    randomised = {name for name, one in shown.items() if one["randomised"] is not None}
    assert moved <= randomised
    assert {one["randomised"]["mode"] for one in shown.values() if one["randomised"]} == {build["mode"]}
    assert not randomised & {"list", "lock", "sem", "ops_fixed", "ops_mixed", "ops_no"}

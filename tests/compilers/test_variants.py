"""The DWARF and BTF readers on every way to build one rich source: what they say is what the compiler and pahole say.

Every struct of fixtures/variants is compared, field by field, with constants that the same compiler put into an object
(sizeof, offsetof, and for bit-fields an object in which they alone are set), and with pahole's listing. What differs is
in tests/compilers/variants/explained.py, with the debug information that shows why, or it is a failure.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.ctype import CType
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.structs import Field, Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers.dispatch import read
from tests.compilers.variants import explained
from tests.compilers.variants.build import Bench, Built, Variant, Workshop
from tests.compilers.variants.compare import with_compiler, with_pahole
from tests.compilers.variants.facts import Definition, Spot
from tests.compilers.variants.table import VARIANTS
from tests.harness import command
from tests.harness.build import X86_64
from tests.oracles import agreement, pahole
from tests.oracles.c_probe import need
from tests.real.kernels import Unavailable

NAMED = {variant.name: variant for variant in VARIANTS}
USUAL = {
    "gcc -gdwarf-5", "clang -gdwarf-5", "gcc -gdwarf-4 type units", "gcc -gdwarf-5 split program", "gcc -gdwarf-5 dwz", "gcc -m32",
    "clang-19 s390x-linux-gnu", "gcc pahole -J",
}  # fmt: skip
"""What a quick run tries: each way to build that is read by other code."""
EACH = [pytest.param(name, marks=() if name in USUAL else pytest.mark.exhaustive) for name in NAMED]
BY_COMMAND = ("gcc -gdwarf-5", "clang-19 -gdwarf-4 strict", "gcc -gdwarf-5 dwz", "gcc -m32", "clang-19 s390x-linux-gnu", "gcc zstd")
WITH_BTF = ("gcc pahole -J", "clang pahole -J", "clang-19 bpf BTF")


@pytest.fixture(scope="module")
def builds(request, tmp_path_factory) -> Iterator[dict[str, Future[Built]]]:
    """All variants that the selected tests ask for, built by two workers while the first are read."""
    workshop = Workshop(tmp_path_factory.mktemp("variants"))
    items = (item for item in request.session.items if item.module is request.module and hasattr(item, "callspec"))
    names = dict.fromkeys(item.callspec.params["name"] for item in items if "name" in item.callspec.params)
    with ThreadPoolExecutor(2) as pool:
        yield {name: pool.submit(workshop.build, NAMED[name]) for name in names}
        pool.shutdown(cancel_futures=True)


def build(builds: dict[str, Future[Built]], name: str) -> tuple[Variant, Built]:
    try:
        return NAMED[name], builds[name].result()
    except Unavailable as reason:
        pytest.skip(str(reason))


def readings(variant: Variant, made: Built, reader: str | None = None) -> list[Reading]:
    options = ReadOptions(reader=reader or variant.reader, debug_dirs=made.debug_dirs)
    return [read(str(path), Wanted(everything=True), options) for path in made.files]


def test_the_matrix_is_large():
    assert len(NAMED) == len(VARIANTS) >= 60


SEEN = [
    # what is changed in what the compiler says, key of the difference
    ({"size": 24}, "pair size"),
    ({"align": 2}, "pair align"),
    ({"name": "other"}, "other"),
    ({"spots": (("x", Spot(0, 32, False)),)}, "pair.y"),
    ({"spots": (("x", Spot(0, 32, False)), ("y", Spot(32, 32, False)), ("z", Spot(64, 32, False)))}, "pair.z"),
    ({"spots": (("x", Spot(0, 32, False)), ("y", Spot(33, 32, False)))}, "pair.y"),
    ({"spots": (("x", Spot(0, 32, False)), ("y", Spot(32, 31, False)))}, "pair.y"),
    ({"spots": (("x", Spot(0, 32, True)), ("y", Spot(32, 32, False)))}, "pair.x"),
]  # fmt: skip


@pytest.mark.parametrize(("change", "key"), SEEN, ids=[f"{key} {next(iter(change))}" for change, key in SEEN])
def test_a_difference_is_seen(change, key):
    pair = Definition("pair", 8, 4, (("x", Spot(0, 32, False)), ("y", Spot(32, 32, False))))
    members = (Field("x", CType("int"), 0, 32, align=4), Field("y", CType("int"), 32, 32, align=4))
    reading = Reading("a.o", "dwarf", X86_64, (Struct("pair", "struct", 64, None, members, X86_64),))
    assert with_compiler([reading], (pair,)).differences == {}
    assert key in with_compiler([reading], (replace(pair, **change),)).differences


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", EACH)
def test_what_is_read_is_what_was_compiled(builds, name):
    variant, made = build(builds, name)
    found = readings(variant, made)
    assert [unread for reading in found for unread in reading.unread] == []
    result = with_compiler(found, made.facts)
    assert result.structs > 75
    shall = explained.expectation(explained.FROM_COMPILER, variant, made)
    hidden = {key for key, message in result.differences.items() if explained.hides(variant, message)}
    assert len(hidden) < result.structs // 2
    assert {key: message for key, message in result.differences.items() if key not in shall | hidden} == {}
    assert shall - result.differences.keys() == set(), "explained, and no longer there"


@pytest.mark.parametrize("name", EACH)
def test_what_is_read_is_what_pahole_reads(builds, name):
    variant, made = build(builds, name)
    reason = explained.unlisted_reason(variant, made)
    if reason is not None:
        pytest.skip(f"pahole {reason}")
    shapes = [shape for path in made.files for shape in pahole.list_output(path, "-F", variant.reader)]
    result = with_pahole(readings(variant, made), shapes)
    assert result.structs > 70
    shall = explained.expectation(explained.FROM_PAHOLE, variant, made)
    assert {key: message for key, message in result.differences.items() if key not in shall} == {}
    assert shall - result.differences.keys() == set(), "explained, and no longer there"


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", WITH_BTF)
def test_dwarf_and_btf_of_one_build_say_the_same(builds, name):
    variant, made = build(builds, name)
    dwarf, btf = ([s for each in readings(variant, made, reader) for s in each.structs] for reader in ("dwarf", "btf"))
    several = {struct.name: [other for other in btf if other.name == struct.name] for struct in dwarf}
    apart = [
        line
        for struct in dwarf
        if struct.problem is None and struct.bit_size is not None and several[struct.name]
        for line in agreement.agreements(struct, several[struct.name], "dwarf", "btf")
    ]
    assert apart == []
    missing = {name for name, found in several.items() if not found}
    assert missing <= explained.expectation(explained.FROM_COMPILER, variant, made)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", BY_COMMAND)
def test_the_command_says_what_was_compiled(builds, name):
    _, made = build(builds, name)
    sizes = {(each.name, each.size) for each in made.facts}
    for path in made.files:
        output = command.run("show", path, "--all", "--format", "json")
        assert output.returncode == 0, output.stderr
        shown = {(struct["name"], struct["size"]) for struct in json.loads(output.stdout)["structs"]}
        assert ("shared", next(size for name, size in sizes if name == "shared")) in shown
        assert shown - {("in_parameters", 8)} <= sizes


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["gcc -gdwarf-4 in C++", "gcc -gdwarf-5 in C++", "gcc -gdwarf-4 in Rust", "gcc -gdwarf-5 in Rust"])
def test_units_in_other_languages_are_counted(builds, name):
    variant, made = build(builds, name)
    (reading,) = readings(variant, made)
    assert any(note.startswith(f"skipped 1 unit in {name.split()[-1]}") for note in reading.notes)


def test_an_archive_is_refused(tmp_path):
    bench = Bench(Variant("archive", need("gcc"), ("-g",)), tmp_path)
    bench.run(need("ar"), "rc", "all.a", *bench.compile())
    with pytest.raises(ReadError, match="archive"):
        read(str(tmp_path / "all.a"), Wanted(everything=True), ReadOptions())


def test_what_tcc_writes_is_no_dwarf(tmp_path):
    """tcc up to 0.9.27 writes stabs, which is said to be no debug information that is read."""
    bench = Bench(Variant("tcc", need("tcc"), ("-g",)), tmp_path)
    for path in bench.compile():
        with pytest.raises(ReadError, match="no debug information"):
            read(str(path), Wanted(everything=True), ReadOptions())

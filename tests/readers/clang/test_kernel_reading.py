"""The steps by which structs of a kernel are read: which headers are read together, and which files are tried. A small model stands for libclang."""

from __future__ import annotations

import os
import re
from itertools import pairwise
from pathlib import Path

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import MissingHeader, ReadOptions
from layoutlint.model.record import replace
from layoutlint.model.structs import Source, Struct
from layoutlint.model.target import TARGETS
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import parallel
from layoutlint.readers.clang.diagnostics import ErrorOrigin
from layoutlint.readers.clang.kernel import read
from layoutlint.readers.clang.kernel.read import _KernelReader
from layoutlint.readers.clang.kernel.tree import Tree
from layoutlint.readers.clang.parallel import UnitResults
from layoutlint.readers.clang.parse import ParsedUnit
from tests.harness.repository import write

INCLUDE = re.compile(r'#include (?:<(.*)>|"(.*)")')


def struct(name: str, problem: str | None = None, size: int | None = 64, file: str = "x.h", line: int = 1, aliases: tuple[str, ...] = ()) -> Struct:
    return Struct(name, "struct", size, 8, (), TARGETS[0], Source(file, line), "", aliases, problem)


class Model:
    """Parses units: a header has errors if it, or what it includes, has some; errors of `clashes` need two headers."""

    def __init__(self, errors=(), includes=(), clashes=(), structs=()):
        self.errors, self.includes, self.clashes, self.structs = dict(errors), dict(includes), dict(clashes), dict(structs)
        self.runs: list[tuple[list[str], bool]] = []

    def parse_each(self, units, wanted, options) -> UnitResults:
        return UnitResults(tuple(self._parse(unit, wanted) for unit in units), ())

    def _parse(self, unit, wanted) -> ParsedUnit:
        names = [match[1] or match[2] for match in INCLUDE.finditer(unit.text or "")] if unit.text is not None else [unit.main]
        self.runs.append((names, wanted != Wanted()))
        origins, structs = [], []
        for number, name in enumerate(names):
            directive = sum(len(line) for line in (unit.text or "").splitlines(keepends=True)[:number]) + 10
            for file in (name, *self.includes.get(name, ())):
                if file in self.errors:
                    origins.append(ErrorOrigin(f"include/{file}", 1, directive, self.errors[file]))
                structs += self.structs.get(file, ())
            if name in self.clashes and self.clashes[name] in names[:number]:
                origins.append(ErrorOrigin("include/shared.h", 1, directive, f"{name} clashes"))
        asked = tuple(each for each in dict.fromkeys(structs) if wanted.matches(each.name) or set(each.aliases) & wanted.names)
        return ParsedUnit(unit, TARGETS[0], asked, tuple(each.text for each in origins), tuple(origins))


def reader_of(top: Path, monkeypatch, wanted: Wanted | None = None, model: Model | None = None, **options) -> tuple[_KernelReader, Model]:
    model, wanted = model or Model(), wanted or Wanted(everything=True)
    monkeypatch.setattr(parallel, "run", model.parse_each)
    source = str(top)
    return _KernelReader(Tree(source, source, frozenset(), "x86", "x86_64-linux-gnu", "VERSION = 6\n"), wanted, ReadOptions(**options)), model


FINE, BAD = ["linux/a.h", "linux/b.h", "net/c.h"], "bad here"
TOGETHER = [
    # the headers, the model; those that are left out, those of each run
    (FINE, Model(), [], [FINE]),
    (FINE, Model({"linux/b.h": BAD}), ["linux/b.h"], [FINE, ["linux/a.h", "net/c.h"]]),
    (FINE, Model({"linux/d.h": BAD}, {"linux/b.h": ["linux/d.h"]}), ["linux/b.h"], [FINE, ["linux/a.h", "net/c.h"]]),
    (FINE, Model(clashes={"net/c.h": "linux/a.h"}), ["net/c.h"], [FINE, FINE[:2]]),
    (["linux/b.h"], Model({"linux/b.h": BAD}), [], [["linux/b.h"]]),
    ([], Model({"linux/b.h": BAD}), [], []),
    # all have an error of the tree: it does not count any more
    (FINE, Model({"linux/z.h": BAD}, {name: ["linux/z.h"] for name in FINE}), [], [FINE, ["linux/a.h"]]),
    # an error comes back although the header with it was left out: others include that as well
    (FINE, Model({"linux/b.h": BAD}, {"net/c.h": ["linux/b.h"]}), [], [FINE, ["linux/a.h", "net/c.h"], ["linux/b.h"]]),
]  # fmt: skip


@pytest.mark.parametrize(("headers", "model", "rejected", "runs"), TOGETHER, ids=range(len(TOGETHER)))
def test_headers_that_are_read_together(headers, model, rejected, runs, tmp_path, monkeypatch):
    write(tmp_path, {f"include/{name}": "" for name in (*FINE, "linux/z.h", "linux/d.h")})
    reader, _ = reader_of(tmp_path, monkeypatch, Wanted(frozenset(("s",))), model)
    top = f"{tmp_path}/include/"
    model.runs.clear()
    assert [each.removeprefix(top) for each in reader.run_together([top + name for name in headers])] == rejected
    assert [names for names, _ in model.runs] == runs


def test_how_often_headers_are_read(tmp_path, monkeypatch):
    """Each attempt finds one more header; the last one that is allowed keeps its errors."""
    headers = [f"linux/h{number:02}.h" for number in range(20)]
    for most, count in ((16, 15), (4, 3)):
        monkeypatch.setattr(read, "_MOST_ATTEMPTS", most)
        model = Model(clashes={name: before for before, name in pairwise(headers)})
        monkeypatch.setattr(model, "_parse", lambda unit, wanted, parse=model._parse: first_error(parse(unit, wanted)))
        reader, _ = reader_of(tmp_path, monkeypatch, Wanted(frozenset(("s",))), model)
        assert len(reader.run_together([f"{tmp_path}/include/{name}" for name in headers])) == min(count, 10)
        assert len(model.runs) == min(most, 11)
        assert (len(reader.outcome.parsed), len(reader.outcome.parsed[0].error_origins)) == (1, most < 11)
    reader.tree_errors.add("known")  # then they are read once, with their errors
    model.runs.clear()
    assert reader.run_together([f"{tmp_path}/include/{name}" for name in headers]) == []
    assert len(model.runs) == 1


def first_error(parsed: ParsedUnit) -> ParsedUnit:
    return replace(parsed, error_origins=parsed.error_origins[:1])


@pytest.mark.parametrize("everything", [False, True])
def test_everything_is_parsed_when_the_headers_are_known(everything, tmp_path, monkeypatch):
    """The search for headers that can be read together does without structs; no error counts as one of the tree."""
    wanted = Wanted(everything=True) if everything else Wanted(frozenset(("s",)))
    model = Model({"linux/b.h": BAD}, {"net/c.h": ["linux/b.h"]}, structs={"linux/a.h": [struct("s"), struct("t")]})
    reader, _ = reader_of(tmp_path, monkeypatch, wanted, model)
    rejected = reader.run_together([f"{tmp_path}/include/{name}" for name in FINE])
    if everything:
        assert [os.path.basename(each) for each in rejected] == ["b.h", "c.h"]
        assert model.runs == [(FINE, False), (["linux/a.h", "net/c.h"], False), (["linux/a.h"], False), (["linux/a.h"], True)]
        assert ([each.name for each in reader.outcome.structs], reader.tree_errors) == (["s", "t"], set())
    else:
        assert (rejected, [is_asked for _, is_asked in model.runs], reader.tree_errors) == ([], [True, True, False], {BAD})


def test_headers_with_errors_are_read_alone(tmp_path, monkeypatch):
    model = Model({"linux/b.h": "bad b", "net/c.h": "bad c"})
    reader, _ = reader_of(tmp_path, monkeypatch, Wanted(frozenset(("s",))), model)
    reader.read_public([f"{tmp_path}/include/{name}" for name in FINE])
    assert [names for names, _ in model.runs] == [FINE, ["linux/a.h"], ["linux/b.h", "net/c.h"], ["linux/b.h"], ["linux/b.h"], ["net/c.h"]]
    assert [each.unit.origin for each in reader.outcome.parsed] == [f"include/{name}" for name in ("linux/a.h", "linux/b.h", "net/c.h")]


TREE = {
    "include/linux/a.h": "struct a { int b; };\n", "include/net/n.h": "struct n { int b; };\n", "include/asm-generic/g.h": "struct g { char b; };\n",
    "include/asm-generic/only.h": "", "arch/x86/include/asm/g.h": "struct g { long b; };\n", "include/uapi/linux/u.h": "struct u { int b; };\n",
    "kernel/k.c": '#include "k.h"\nstruct k { int b; };\n', "kernel/k.h": "struct private { int b; };\n", "kernel/sub/deep.h": "struct deep { int b; };\n",
    "kernel/other.c": '  # include "../kernel/sub/deep.h"\n', "kernel/Makefile": "ccflags-y += -I$(srctree)/extra -DONE\n", "lonely/l.h": "struct l { int b; };\n",
    "kernel/notk.h": "", "kernel/uses.c": '#include "not.h"\n#include <k.h>\n',
}  # fmt: skip
PLACES = [
    # a path, its name in an include line, its place by that name
    ("include/linux/a.h", "linux/a.h"), ("include/asm-generic/g.h", "asm-generic/g.h"), ("arch/x86/include/asm/g.h", "asm/g.h"), ("include/uapi/linux/u.h", "linux/u.h"),
    ("kernel/k.h", None), ("includes/x.h", None),
]  # fmt: skip


@pytest.fixture
def kernel(tmp_path):
    write(tmp_path, TREE)
    return tmp_path


@pytest.mark.parametrize(("path", "name"), PLACES, ids=[row[0] for row in PLACES])
def test_names_of_headers(path, name, kernel, monkeypatch):
    reader, _ = reader_of(kernel, monkeypatch)
    file = str(kernel / path)
    assert reader.include_name(file) == name
    assert reader._directive(file) == (f"#include <{name}>\n" if name else f'#include "{file}"\n')
    assert reader.resolve(path) == (file if (kernel / path).exists() else None)
    assert name is None or reader.resolve(name) == file
    assert reader.resolve("gone.h") is None


def test_ranks_of_headers(kernel, monkeypatch):
    reader, _ = reader_of(kernel, monkeypatch)
    paths = ["kernel/k.h", "include/asm-generic/g.h", "include/net/n.h", "include/linux/b.h", "include/linux/a.h", "arch/x86/include/asm/g.h"]
    ranked = sorted((str(kernel / path) for path in paths), key=reader._rank)
    assert [reader._rank(path)[0] for path in ranked] == [0, 0, 1, 2, 2, 2]
    assert [path.removeprefix(f"{kernel}/") for path in ranked[:3]] == ["include/linux/a.h", "include/linux/b.h", "include/net/n.h"]


def test_generic_headers_are_those_of_the_architecture(kernel, monkeypatch):
    reader, _ = reader_of(kernel, monkeypatch)
    paths = ["include/asm-generic/g.h", "include/asm-generic/only.h", "arch/x86/include/asm/g.h", "include/linux/a.h"]
    resolved = [each.removeprefix(f"{kernel}/") for each in reader._resolve_generic([str(kernel / path) for path in paths])]
    assert resolved == ["arch/x86/include/asm/g.h", "include/asm-generic/only.h", "include/linux/a.h"]


UNITS = [
    # a file; the main file of its unit, its name, the text, flags at the end
    ("include/linux/a.h", "layoutlint-includes.c", "include/linux/a.h", "#include <linux/a.h>\n", ()),
    ("kernel/k.c", "kernel/k.c", "kernel/k.c", None, ("-ITOP/kernel", "-ITOP/extra", "-DONE")),
    ("kernel/k.h", "kernel/k.c", "kernel/k.c", None, ("-ITOP/kernel", "-ITOP/extra", "-DONE")),
    ("kernel/sub/deep.h", "kernel/other.c", "kernel/other.c", None, ("-ITOP/kernel", "-ITOP/kernel/sub", "-ITOP/extra", "-DONE")),
    ("lonely/l.h", "layoutlint-includes.c", "lonely/l.h", '#include "TOP/lonely/l.h"\n', ()),
    ("kernel/notk.h", "layoutlint-includes.c", "kernel/notk.h", '#include "TOP/kernel/notk.h"\n', ()),
]  # fmt: skip


@pytest.mark.parametrize(("file", "main", "origin", "text", "words"), UNITS, ids=[row[0] for row in UNITS])
def test_units_of_files(file, main, origin, text, words, kernel, monkeypatch):
    reader, _ = reader_of(kernel, monkeypatch, flags=("-DX", "-fnone"))
    unit = reader.unit_of(str(kernel / file))
    top = str(kernel)
    assert (unit.main, unit.origin, unit.text) == (f"{top}/{main}", origin, text and text.replace("TOP", top))
    assert unit.flags == ("-xc", *reader.tree.flags, *(word.replace("TOP", top) for word in words), "-D", "X")
    assert (unit.header, unit.directory, unit.problem is None) == (str(kernel / file) if text else None, top, False)
    assert (unit.has_given_flags, unit.with_marks, unit.shuffling_option) == (False, False, None)


def test_groups_of_headers(kernel, monkeypatch):
    reader, _ = reader_of(kernel, monkeypatch, with_marks=True)
    paths = [str(kernel / name) for name in ("include/linux/a.h", "kernel/k.h")]
    unit = reader.group(paths)
    assert (unit.text, unit.origin, unit.header) == (f'#include <linux/a.h>\n#include "{paths[1]}"\n', "2 headers", None)
    assert unit.with_marks
    assert unit.flags[-2:] == ("-DRANDSTRUCT", "-DRANDSTRUCT_PLUGIN")
    assert (reader.group([]).text, reader.group([]).origin) == ("", "0 headers")
    shuffled = replace(reader.tree, config=frozenset(("RANDSTRUCT",)))
    assert [replace(each, tree=shuffled).group([]).shuffling_option for each in (reader, replace(reader, options=ReadOptions()))] == [None, "CONFIG_RANDSTRUCT"]
    with pytest.raises(ReadError, match="0 headers: is compiled for the target x"):
        replace(reader, options=ReadOptions(flags=("--target=x",))).group([])


def test_headers_that_rules_name(kernel, monkeypatch):
    """Public ones together, the most used first; others each through a source; and folders that a tree lacks."""
    headers = (("n", "net/n.h"), ("a", "linux/a.h"), ("a", "include/linux/a.h"), ("private", "kernel/k.h"), ("other", "linux/none.h"), ("gone", "mm/slab.h"),
               ("unasked", "fs/x.h"), ("lost", "kernel/none.h"), ("far", "block/b.h"))  # fmt: skip
    wanted = Wanted(frozenset(("n", "a", "private", "other", "gone", "lost", "far")), headers=headers)
    reader, model = reader_of(kernel, monkeypatch, wanted)
    reader.read_named()
    assert [names for names, _ in model.runs] == [["linux/a.h", "net/n.h"], [f"{kernel}/kernel/k.c"]]
    assert (reader.given_up, reader.missing_headers) == ({"gone", "far"}, [MissingHeader("gone", "mm/slab.h"), MissingHeader("far", "block/b.h")])
    assert reader.missing_request().names == {"n", "a", "private", "other", "lost"}


REQUESTS = [
    # structs that were read, errors of the tree; names that are missing, and those without an error that other headers may lack
    ([], (), {"a", "b", "t"}, {"a", "b", "t"}),
    ([struct("a")], (), {"b", "t"}, {"b", "t"}),
    ([struct("a", size=None)], (), {"a", "b", "t"}, {"a", "b", "t"}),
    ([struct("a", "e")], (), {"b", "t"}, {"a", "b", "t"}),
    ([struct("a", "e")], ("e",), {"b", "t"}, {"b", "t"}),
    ([struct("s", aliases=("t", "b"))], (), {"a"}, {"a"}),
]


@pytest.mark.parametrize(("structs", "tree_errors", "missing", "sound"), REQUESTS, ids=range(len(REQUESTS)))
def test_what_is_still_missing(structs, tree_errors, missing, sound, tmp_path, monkeypatch):
    reader, model = reader_of(tmp_path, monkeypatch, Wanted(frozenset(("a", "b", "t", "up")), ("x*",)))
    reader.given_up.add("up")
    reader.tree_errors |= set(tree_errors)
    unit = model.parse_each([reader.group([])], Wanted(), None).parsed[0]
    reader.outcome = UnitResults((replace(unit, structs=tuple(structs)),), ())
    assert [reader.missing_request(is_sound) for is_sound in (False, True)] == [Wanted(frozenset(names), ("x*",)) for names in (missing, sound)]


DROPS = [
    # the structs of two units, `e` and `f` from errors; what is left without repetitions, and of failed definitions of `a` and `t`
    ([struct("a")], [struct("a", "e")], ["a"], ["a"]),
    ([struct("a")], [struct("a", "doubt", line=2)], ["a", "a doubt"], ["a", "a doubt"]),
    ([struct("a", "e")], [struct("a")], ["a"], ["a"]),
    ([struct("a", "e")], [struct("a", "f")], ["a e"], ["a e", "a f"]),
    ([struct("a", "e")], [struct("a", "f", line=2)], ["a e", "a f"], ["a e", "a f"]),
    ([struct("a", "e")], [struct("a", line=2)], ["a e", "a"], ["a"]),
    ([struct("b", "e")], [struct("b", line=2)], ["b e", "b"], ["b e", "b"]),
    ([struct("s", "e", aliases=("t",))], [struct("r", aliases=("t",))], ["s e", "r"], ["r"]),
    ([struct("a", size=None)], [struct("a", "e", line=2)], ["a", "a e"], ["a", "a e"]),
    ([struct("a"), struct("b", "e")], [struct("b", "f")], ["a", "b e"], ["a", "b e", "b f"]),
]


@pytest.mark.parametrize(("first", "second", "once", "sound"), DROPS, ids=range(len(DROPS)))
def test_definitions_that_are_dropped(first, second, once, sound, tmp_path, monkeypatch):
    reader, model = reader_of(tmp_path, monkeypatch)
    unit = model.parse_each([reader.group([])], Wanted(), None).parsed[0]
    errors = [tuple(each.problem for each in structs if each.problem in ("e", "f")) for structs in (first, second)]
    units = (replace(unit, structs=tuple(structs), errors=each) for structs, each in zip((first, second), errors, strict=True))
    before = UnitResults(tuple(units), ())
    for drop, left in ((reader._drop_repeated, once), (lambda: reader._drop_failed({"a", "t"}), sound)):
        reader.outcome = before
        drop()
        assert [" ".join(filter(None, (each.name, each.problem))) for unit in reader.outcome.parsed for each in unit.structs] == left


def test_files_are_tried_one_after_the_other(tmp_path, monkeypatch):
    """The first of each name, then the next for names that are still missing, at most four; or the next of all."""
    files = [f"{tmp_path}/include/linux/{letter}.h" for letter in "abcdef"]
    for every, runs in ((False, [["linux/a.h", "linux/f.h"], ["linux/b.h"], ["linux/c.h"], ["linux/d.h"]]),
                        (True, [["linux/a.h", "linux/f.h"], ["linux/a.h", "linux/b.h"], ["linux/c.h"], ["linux/d.h"], ["linux/e.h"]])):  # fmt: skip
        model = Model(structs={"linux/f.h": [struct("s")]})
        reader, _ = reader_of(tmp_path, monkeypatch, Wanted(frozenset(("s", "t"))), model)
        reader._try({"s": [files[5], files[0]], "t": files[:5]}, every)
        assert [names for names, _ in model.runs] == runs


def test_sources_that_define_missing_names(kernel, monkeypatch):
    model = Model(structs={f"{kernel}/kernel/k.c": [struct("k"), struct("private")]})
    reader, _ = reader_of(kernel, monkeypatch, Wanted(frozenset(("k", "private", "deep", "nowhere", "known"))), model)
    reader.in_no_text, reader.no_structs = {"k", "nowhere"}, {"known"}
    reader.search_private()
    assert [names for names, _ in model.runs] == [[f"{kernel}/kernel/{name}.c"] for name in ("k", "k", "other")]
    assert reader.in_no_text == {"nowhere"}
    assert reader.notes == ["no file of this tree defines struct deep", "no file of this tree defines struct nowhere"]


def test_headers_alone_have_no_sources(tmp_path, monkeypatch):
    write(tmp_path, {"include/linux/a.h": ""})
    reader, model = reader_of(tmp_path, monkeypatch, Wanted(frozenset(("b", "a", "known"))))
    reader.no_structs = {"known"}
    reader.search_private()
    assert (model.runs, reader.notes) == ([], ["no header of this tree defines struct a", "no header of this tree defines struct b"])


def test_names_of_something_else(kernel, monkeypatch):
    """Only if all headers with the name were read, and without an error."""
    reader, _ = reader_of(kernel, monkeypatch, Wanted(frozenset(("a", "n", "u", "k"))), Model({"net/n.h": BAD}, structs={"linux/u.h": [struct("u")]}))
    places = {name: [str(kernel / path)] for name, path in (("a", "include/linux/a.h"), ("n", "include/net/n.h"), ("u", "include/uapi/linux/u.h"), ("k", "kernel/k.h"))}
    reader.run([reader.group([path]) for name, (path,) in places.items() if name != "k"])
    reader._note_non_structs({**places, "other": places["a"]})
    assert reader.no_structs == {"a"}
    assert reader.notes == ["a, which include/linux/a.h names, is not a struct or union in this configuration"]
    assert [each.reason for each in reader.reading("in").unread] == ["struct k and 1 more not found, with errors: bad here"]


def test_everything_that_can_be_read_together(kernel, monkeypatch):
    write(kernel, {"include/linux/b.h": "", "include/net/z.h": ""})
    for errors, notes in (({}, []), ({"linux/b.h": "x", "net/n.h": "y"}, ["2 of 4 headers have errors if read with the others, and are left out, such as include/linux/b.h"])):
        reader, model = reader_of(kernel, monkeypatch, model=Model(errors))
        reader.read_everything()
        assert reader.notes == notes
        assert model.runs[0] == (["linux/a.h", "linux/b.h", "net/n.h", "net/z.h"], False)


def test_the_reading_of_a_kernel(kernel, monkeypatch):
    reader, model = reader_of(kernel, monkeypatch, Wanted(frozenset(("a", "b", "c"))))
    reader.in_no_text, reader.no_structs, reader.notes, reader.missing_headers = {"a"}, {"b"}, ["note"], [MissingHeader("c", "mm/c.h")]
    whole = reader.reading("in")
    assert [names for names, _ in model.runs] == [[]]
    assert (whole.path, whole.is_kernel, whole.kernel, whole.config, whole.missing_headers) == ("in", True, (6, 0, 0), frozenset(), tuple(reader.missing_headers))
    assert whole.notes == ("struct c is defined in mm/c.h, and this tree has no mm/", "note")
    noted = replace(reader, tree=replace(reader.tree, note="of the tree"))
    assert noted.reading("in").notes == ("of the tree", *whole.notes)


def test_names_that_a_kernel_makes_unnecessary():
    wanted = Wanted(frozenset(("a", "b")), ("p*", "q*"), unless=(("a", lambda _: True), ("p*", lambda _: True), ("b", lambda _: False), ("q*", lambda _: False)), arrays=lambda _: True)
    assert read._narrow(wanted, None) == replace(wanted, names=frozenset(("b",)), patterns=("q*",), arrays=None)


def test_names_with_several_headers_are_those_of_central_headers(kernel, monkeypatch):
    """So are names that no text defines, because macros write them; but not those that only kernels have."""
    everything = [struct(name) for name in ("two", "macro", "one", "ours")] + [struct("bad", "e"), struct("open", size=None), struct("r", aliases=("alias",))]
    wanted = Wanted(frozenset(("two", "bad", "open", "one", "macro", "ours", "alias")), kernel=frozenset(("ours",)))
    places = {"two": ["x.h", "y.h"], "bad": ["x.h", "y.h"], "open": ["x.h", "y.h"], "one": ["x.h"], "alias": ["x.h", "z.h"]}
    reader, model = reader_of(kernel, monkeypatch, wanted, Model(structs={"linux/fs.h": everything}))
    assert reader._settle_unclear(places, wanted) == places
    assert model.runs == []
    write(kernel, {"include/linux/fs.h": "", "include/linux/seqlock.h": ""})
    assert reader._settle_unclear({"one": ["x.h"]}, Wanted(frozenset(("one", "ours")))) == {"one": ["x.h"]}
    assert model.runs == []
    assert list(reader._settle_unclear(places, wanted)) == ["bad", "open", "one"]
    assert model.runs == [(["linux/fs.h", "linux/seqlock.h"], True)]
    assert [each.name for each in reader.outcome.structs] == ["two", "macro", "r"]
    assert [each.errors for each in reader.outcome.parsed] == [()]


def test_public_headers_that_define_missing_names(kernel, monkeypatch):
    model = Model(structs={"linux/a.h": [struct("a")], "net/n.h": [struct("n", "e")], "asm/g.h": [struct("g")], "linux/u.h": [struct("u")]})
    reader, _ = reader_of(kernel, monkeypatch, Wanted(frozenset(("a", "n", "g", "u", "k", "done"))), model)
    reader.outcome = UnitResults((replace(model.parse_each([reader.group([])], Wanted(), None).parsed[0], structs=(struct("done"),)),), ())
    model.runs.clear()
    reader.search_public()
    assert model.runs[0] == (["linux/a.h", "linux/u.h", "net/n.h", "asm/g.h"], True)
    assert (reader.in_no_text, reader.no_structs, reader.notes) == ({"k"}, set(), [])
    public = [path.removeprefix(f"{kernel}/") for path in reader._public_files()]
    assert public == [
        "include/linux/a.h", "include/net/n.h", "arch/x86/include/asm/g.h", "include/asm-generic/g.h", "include/asm-generic/only.h", "include/uapi/linux/u.h",
    ]  # fmt: skip
    reader, _ = reader_of(kernel, monkeypatch, Wanted(frozenset(("done",))), model)
    reader.outcome = UnitResults((replace(model.parse_each([reader.group([])], Wanted(), None).parsed[0], structs=(struct("done"),)),), ())
    model.runs.clear()
    reader.search_public()
    assert model.runs == []

"""Sources at the bounds of what is searched: on either side of each."""

from __future__ import annotations

import pytest

from layoutlint.sources.source_uses import functions
from layoutlint.sources.source_uses.element_owners import ArrayName, ElementOwners
from layoutlint.sources.source_uses.field_uses import FieldName, FieldUses
from layoutlint.sources.source_uses.functions import SourceFunctions


def read(**texts: str) -> SourceFunctions:
    return SourceFunctions(texts, texts)


@pytest.mark.parametrize(("count", "is_known"), [(200, True), (201, False)])
def test_many_functions_that_change_a_field(count, is_known):
    text = "".join(f"void f{n}(struct q *q) {{ q->a = 1; q->b = 2; x(); }}\n" for n in range(count))
    assert FieldUses(read(a=text)).is_always_with(FieldName("a", ("q",)), FieldName("b", ("q",))) is is_known


@pytest.mark.parametrize(("count", "callers"), [(20, {"g"}), (21, set())])
def test_functions_of_one_name(count, callers):
    sources = read(a="void f(int i) { x(); }\n" * count + "void g(void) { f(1); }\n")
    assert {each.name for each in sources.callers(sources.defined_functions("a")[0])} - {"f"} == callers


@pytest.mark.parametrize("count", [2000, 2001])
def test_files_with_many_functions(count):
    """Those with many are searched by whole words; a word in a longer one is none."""
    sources = read(a="void f(void) {}\n" * (count - 3) + "void a(void) { word(); }\nvoid b(void) { words(); }\nvoid c(void) { x = word; }\n")
    names = [each.name for each in sources.functions_with_word("word")]
    assert names == (["a", "b", "c"] if count == 2000 else ["a", "c"])
    assert [each.name for each in sources.functions_with_word("x")] == ["c"]
    assert sources.functions_with_word("none") == ()


@pytest.mark.parametrize(("most", "names"), [(60, {"a", "b"}), (59, set())])
def test_all_texts_are_read_or_none(monkeypatch, most, names):
    monkeypatch.setattr(functions, "_MOST_BYTES", most)
    assert read(a="x" * 20, b="y" * 40).texts().keys() == names


@pytest.mark.parametrize("most", [2, 1])
def test_words_in_many_files(monkeypatch, most):
    monkeypatch.setattr(functions, "_MOST_FILES", most)
    text = "void f(void) { word(); }\n"
    assert len(read(a=text, b=text, c="int x;\n").functions_with_word("word")) == (2 if most == 2 else 0)


@pytest.mark.parametrize("spaces", [0, 300, 3000])
def test_brackets_in_long_texts(monkeypatch, spaces):
    text = "f(a[1], (b), {c}" + " " * spaces + ", d)"
    ends = []
    for longest in (2500, 1 << 18):
        monkeypatch.setattr(functions, "_LONGEST", longest)
        ends.append([functions.closing(text, at) for at in (1, 3, 8, 13)])
        ends.append([functions.closing(text, 1, 5), functions.closing(text, 3, 1), functions.closing("f(a", 1)])
    assert ends[0] == ends[2] == [min(len(text) - 1, 2001), 5, 10, 15]
    assert ends[1] == ends[3] == [6, 4, 3]


@pytest.mark.parametrize(("length", "count"), [(100, 1), (101, 0)])
def test_long_functions(monkeypatch, length, count):
    monkeypatch.setattr(functions, "_LONGEST", 100)
    assert len([*functions.functions(f"void f() {{{' ' * (length - 10)}}}\n", "a")]) == count


@pytest.mark.parametrize(("file", "is_judged"), [("a.c", True), ("x/a.c", True), ("./a.c", True), ("c", False), ("ra.c", False), ("other.c", False), ("", True), ("y/src/a.c", True)])
def test_the_file_of_an_array(file, is_judged):
    texts = {"src/a.c": "long n[64]; struct w { int id; };\nvoid f(struct w *w) { n[sched_getcpu()]++; x(); y(); }\n"}
    reason = ElementOwners(SourceFunctions(texts, texts), lambda name: False, ()).reason(ArrayName("n", None, True, file))
    assert bool(reason) is is_judged

"""Structs that are defined inside expressions and types have file scope: libclang's and gcc's lists are the same."""

from __future__ import annotations

import subprocess

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import dispatch
from layoutlint.readers.clang import libclang
from tests.harness.tools import need

BODY = "struct {} {{ long a; char p[8]; long b; }}"
PLACES = {
    "enumerator": "enum {{ k1 = sizeof({}) }};", "union in an enumerator": "enum {{ k2 = sizeof(union {{ {} x; }}) }};", "array": "int v1[sizeof({})];",
    "typeof": "__typeof__({}) v2;", "member": "struct o1 {{ char x[sizeof({})]; }} v3;", "assertion": '_Static_assert(sizeof({}) > 0, "");',
    "alignment": "_Alignas({}) int v4;", "attribute": "int v5 __attribute__((aligned((sizeof({}) > 0) * 8)));", "width": "struct o2 {{ int x : (sizeof({}) > 8) + 1; }} v6;",
    "initial value": "int v7 = (int)sizeof({});", "selection": "int v8 = _Generic((char)0, char: sizeof({}), default: 2);", "compound literal": "void *v9 = &({}) {{0}};",
    "cast": "void *v10 = ({} *)0;", "offset": "unsigned long v11 = __builtin_offsetof({}, b);", "result": "{} f1(void);", "typedef": "typedef char t1[_Alignof({})];",
    "pointer to a function": "struct o3 {{ {} (*f)(void); }} v12;", "atomic type": "_Atomic({}) *v13;",
}  # fmt: skip


@pytest.mark.parametrize("is_native", [True, False])
def test_structs_in_expressions(tmp_path, monkeypatch, is_native):
    gcc = need("gcc", "-c")
    if not is_native:
        monkeypatch.setattr(libclang, "native", None)
    names = [f"s{number}" for number in range(len(PLACES))]
    lines = [place.format(BODY.format(name)) + f" struct {name} w{name};" for name, place in zip(names, PLACES.values(), strict=True)]
    (tmp_path / "a.c").write_text("\n".join(lines) + "\n")
    subprocess.run([gcc, "-w", "-g", "-c", "a.c"], cwd=tmp_path, check=True)
    read = [dispatch.read(str(tmp_path / name), Wanted(everything=True), ReadOptions()).structs for name in ("a.c", "a.o")]
    sizes = [{each.name: each.bit_size for each in structs if each.name in names} for structs in read]
    assert sizes[0] == sizes[1] == dict.fromkeys(names, 24 * 8)

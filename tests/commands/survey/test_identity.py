"""The identity of inputs: by content, or by build ids if the store says so."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from layoutlint.commands.survey.file_digests import content_digest
from layoutlint.commands.survey.identity import identify, state_of
from layoutlint.surveys.store import create_store, open_store
from tests.commands.survey.test_whole_surveys import ELF
from tests.harness.tools import need


@pytest.fixture(scope="module")
def files(tmp_path_factory) -> dict[str, Path]:
    """A library, its copy with a byte more, the same without debug information, and another library."""
    folder = tmp_path_factory.mktemp("files")
    made = {name: folder / f"{name}.so" for name in ("one", "longer", "stripped", "other")}
    for name, size in (("one", 4), ("other", 5)):
        words = [need("gcc"), "-g", "-shared", "-Wl,--build-id", "-x", "c", "-o", made[name], "-"]
        subprocess.run(words, input=f"struct q {{ char c[{size}]; }} q;".encode(), check=True)
    made["longer"].write_bytes(made["one"].read_bytes() + b"\0")
    subprocess.run([need("strip"), "-g", "-o", made["stripped"], made["one"]], check=True)
    return made


@pytest.mark.parametrize(("by_build_id", "groups"), [(False, ("one", "longer", "stripped", "other")), (True, ("one longer", "stripped", "other"))])
def test_files(files, by_build_id, groups):
    digests = {name: identify(str(path), content_digest, by_build_id).digest for name, path in files.items()}
    names_of = {digest: " ".join(name for name in digests if digests[name] == digest) for digest in digests.values()}
    assert tuple(names_of.values()) == groups


@pytest.mark.parametrize("by_build_id", [False, True])
def test_folders_of_modules(files, tmp_path, by_build_id):
    def identity(name: str) -> str:
        (tmp_path / name).mkdir()
        shutil.copy(files[name], tmp_path / name / "m.ko")
        return identify(str(tmp_path / name), content_digest, by_build_id).digest

    assert (identity("one") == identity("longer"), identity("other") == identity("stripped")) == (by_build_id, False)


def test_no_byte_is_read_for_a_digest(files):
    def refuse(path: str) -> str:
        raise AssertionError(path)

    assert identify(str(files["one"]), refuse, by_build_id=True).is_whole


def test_a_store_keeps_the_choice(tmp_path):
    pytest.importorskip("pyarrow")
    store = str(tmp_path / "store")
    assert [create_store(store, choice).by_build_id for choice in (False, True, False)] == [False, True, True]
    assert open_store(store).by_build_id


def count_bytes(path: str) -> str:
    """A digest of a file by its size: two of one size are alike."""
    return f"{len(Path(path).read_bytes())} bytes"


def test_what_each_sort_of_input_is(tmp_path, monkeypatch):
    """Its size, whether a file has its content, and whether that is all that decides what is read."""
    monkeypatch.chdir(tmp_path)
    for name, size in {"near": 8, "mods/a.ko": 16, "mods/b.ko": 24, "same/x.ko": 16, "same/y.ko": 24, "moved/a.ko": 24, "moved/b.ko": 16}.items():
        Path(name).parent.mkdir(exist_ok=True)
        Path(name).write_bytes(ELF + bytes(size))
    Path("source").mkdir()
    for name in ("s.c", "source/s.c"):
        Path(name).write_text("struct s { int a; };\n")
    found = {name: identify(name, count_bytes) for name in ("near", "s.c", "gone", "source", "mods", "same", "moved", "build-id:AB12cd34", "build-id:12")}
    assert {name: (each.size, each.is_whole, each.file, each.state and each.state[0]) for name, each in found.items()} == {
        "near": (72, True, "near", 72), "s.c": (21, False, "s.c", 21), "gone": (None, False, None, None), "source": (None, False, None, None),
        "mods": (168, True, None, None), "same": (168, True, None, None), "moved": (168, True, None, None),
        "build-id:AB12cd34": (None, True, None, None), "build-id:12": (None, False, None, None),
    }  # fmt: skip
    assert (found["near"].digest, found["s.c"].digest) == ("72 bytes", "21 bytes")
    assert len({each.digest for each in found.values()}) == len(found)
    assert identify("build-id:ab12CD34", count_bytes) == found["build-id:AB12cd34"]
    assert identify("./mods/../mods", count_bytes) == found["mods"]
    assert state_of("gone") is None

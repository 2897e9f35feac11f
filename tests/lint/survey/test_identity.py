"""The identity of inputs: by content, or by build ids if the store says so."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from layoutlint.lint.survey.file_digests import content_digest
from layoutlint.lint.survey.identity import identify
from layoutlint.lint.survey.store import create_store, open_store
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

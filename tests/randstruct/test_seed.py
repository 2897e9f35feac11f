"""Seeds: what is read, and what is said of what is none."""

from __future__ import annotations

from hashlib import sha256

import pytest

from layoutlint.errors import UsageError
from layoutlint.randstruct import seed

HEX = "0123456789abcdeffedcba98765432100f1e2d3c4b5a69788796a5b4c3d2e1f0"
HEADER = f"""/*
 * Exported for the plugin.
 */
const char *randstruct_seed = "{HEX}";
"""

READ = [
    # id, content of the file
    ("randstruct.seed", f"{HEX}\n"),
    ("without a newline", HEX),
    ("with blank lines", f"\n{HEX}\r\n\n"),
    ("randomize_layout_seed.h", HEADER),
    ("until 5.18", f'const char * randstruct_seed = "{HEX}";\n'),
    ("behind others in comments", f'/* randstruct_seed = "{HEX[::-1]}"\n */ // randstruct_seed = "{HEX[::-1]}"\n{HEADER}'),
    ("as an array", f'const char randstruct_seed[] = "{HEX}";\n'),
]


@pytest.mark.parametrize("content", [case[1] for case in READ], ids=[case[0] for case in READ])
def test_files(content, tmp_path):
    (tmp_path / "seed").write_text(content)
    assert seed.read_seed(str(tmp_path / "seed")).text == HEX


def test_digits():
    given = seed.read_seed(HEX)
    assert given.words == (0x0123456789ABCDEF, 0xFEDCBA9876543210, 0x0F1E2D3C4B5A6978, 0x8796A5B4C3D2E1F0)
    assert given.hash == sha256(HEX.encode()).hexdigest()


def test_capitals_are_kept_as_clang_has_them():
    assert seed.read_seed(HEX.upper()).text == HEX.upper()
    assert seed.read_seed(HEX.upper()).words == seed.read_seed(HEX).words


BAD = [
    # id, content of the file, what is said
    ("too short", HEX[1:], "seed:1: a seed is 64 hexadecimal digits; here are 63"),
    ("too long", HEX + "0", "seed:1: a seed is 64 hexadecimal digits; here are 65"),
    ("another character", HEX[:9] + "g" + HEX[10:], "seed:1: a seed is 64 hexadecimal digits; 'g' at position 10 is not one"),
    ("a prefix", "0x" + HEX[2:], "seed:1: a seed is 64 hexadecimal digits; 'x' at position 2 is not one"),
    ("empty", "", "seed: holds no seed: it is empty"),
    ("blank", "\n \n", "seed: holds no seed: it is empty"),
    ("two lines", f"{HEX}\n{HEX}\n", "seed:2: more than one line, and no `randstruct_seed` among them"),
    ("short in a header", HEADER.replace(HEX, HEX[:10]), "seed:4: a seed is 64 hexadecimal digits; here are 10"),
    ("in a comment only", f'// randstruct_seed = "{HEX}"\n', "seed:1: a seed is 64 hexadecimal digits; '/' at position 1 is not one"),
    ("short behind a comment", f"/*\n*/{HEADER.replace(HEX, HEX[1:])}", "seed:5: a seed is 64 hexadecimal digits; here are 63"),
    ("the hash", f'#define RANDSTRUCT_HASHED_SEED "{HEX}"\n', "seed:1: holds the hash of a seed, which does not reveal the seed"),
    ("large", "0" * 70_000, "seed: is larger than 65536 bytes: it is not a file with a seed"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "message"), [case[1:] for case in BAD], ids=[case[0] for case in BAD])
def test_bad_files(content, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "seed").write_text(content)
    with pytest.raises(UsageError) as error:
        seed.read_seed("seed")
    assert str(error.value) == message


GIVEN = [
    (HEX[1:], "--seed: a seed is 64 hexadecimal digits; here are 63"),
    ("", "--seed: a seed is 64 hexadecimal digits; here are 0"),
    ("none/randstruct.seed", "--seed: none/randstruct.seed: no such file"),
    ("none.seed", "--seed: none.seed: no such file"),
    ("é" * 64, "--seed: a seed is 64 hexadecimal digits; 'é' at position 1 is not one"),
]


@pytest.mark.parametrize(("given", "message"), GIVEN)
def test_bad_options(given, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError) as error:
        seed.read_seed(given)
    assert str(error.value) == message


def test_a_folder(tmp_path):
    with pytest.raises(UsageError, match="is a directory"):
        seed.read_seed(str(tmp_path))

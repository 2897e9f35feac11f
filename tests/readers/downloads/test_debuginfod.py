"""Debug information from servers, through the real command."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.harness.command import run
from tests.harness.tools import need
from tests.readers.btf.btf_blob import BASE
from tests.readers.downloads.servers import content, endless, redirect, serve

ID = "abcdef0123456789"
C = "struct ring { long head; char c; } r; int main(void) { return 0; }\n"


class Program(NamedTuple):
    stripped: Path
    debug: bytes


@pytest.fixture(scope="module")
def program(tmp_path_factory) -> Program:
    need("objcopy")
    folder = tmp_path_factory.mktemp("program")
    whole, debug, stripped = folder / "whole", folder / "debug", folder / "stripped"
    subprocess.run([need("gcc"), "-g", f"-Wl,--build-id=0x{ID}", "-xc", "-o", whole, "-"], input=C, text=True, check=True)
    subprocess.run(["objcopy", "--only-keep-debug", whole, debug], check=True)
    subprocess.run(["objcopy", "--strip-all", whole, stripped], check=True)
    return Program(stripped, debug.read_bytes())


def path_of(build_id: str, kind: str = "debuginfo") -> str:
    return f"/buildid/{build_id}/{kind}"


def show(word: object, url: str, *options: str, **environment: str):
    return run("show", str(word), *(options or ("ring",)), "--debuginfod", DEBUGINFOD_URLS=url, **environment)


def test_a_file_without_debug_information_is_completed(program):
    with serve({path_of(ID): content(program.debug)}) as server:
        assert run("show", program.stripped, "ring", DEBUGINFOD_URLS=server.url).returncode == 3
        assert server.asked == []
        done = show(program.stripped, f"ima:enforcing http://127.0.0.1:1 {server.url}/")
    assert (done.returncode, done.stdout.startswith("struct ring")) == (0, True)
    assert server.asked == [path_of(ID)]


@pytest.mark.parametrize("word", [f"build-id:{ID}", f"build-id:{ID.upper()}"])
def test_an_input_by_build_id(program, word):
    with serve({path_of(ID): content(program.debug)}) as server:
        done = show(word, server.url)
    assert (done.returncode, done.stdout.startswith("struct ring")) == (0, True)


def test_sections_are_enough_for_btf(program):
    with serve({path_of(ID, "section/.BTF"): content(BASE)}) as server:
        done = show(f"build-id:{ID}", server.url, "--all", "--reader", "btf")
    assert (done.returncode, done.stdout.startswith("struct ")) == (0, True)
    assert server.asked == [path_of(ID, "section/.BTF")]


def test_a_second_run_asks_no_server(program, tmp_path):
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    with serve({path_of(ID): content(program.debug)}) as server:
        first = show(f"build-id:{ID}", server.url, **cache)
        second = show(f"build-id:{ID}", server.url, **cache)
        assert (first.returncode, second.stdout) == (0, first.stdout)
        assert server.asked == [path_of(ID)]
        assert [path.name for path in (tmp_path / "cache/layoutlint/downloads").iterdir()] == [f"{ID}-debuginfo"]
        assert f"bytes of downloads: {len(program.debug)}" in run("cache", "info", **cache).stdout
        run("cache", "clear", **cache)
        assert list((tmp_path / "cache/layoutlint/downloads").iterdir()) == []


def test_a_kept_download_of_another_build_is_not_used(program, tmp_path):
    cache = {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    other = "11112222"
    with serve({path_of(ID): content(program.debug)}) as server:
        show(f"build-id:{ID}", server.url, **cache)
        downloads = tmp_path / "cache/layoutlint/downloads"
        (downloads / f"{ID}-debuginfo").rename(downloads / f"{other}-debuginfo")
        assert show(f"build-id:{other}", server.url, **cache).returncode == 3
        assert path_of(other) in server.asked


HOSTILE = {
    # answers, message
    "another build": (lambda debug: content(debug.replace(bytes.fromhex(ID), bytes(8))), "has the build id 0000000000000000, but"),
    "no ELF": (lambda debug: content(b"<html>"), "the answer cannot be read"),
    "nothing": (lambda debug: content(b""), "the answer is empty"),
    "truncated": (lambda debug: content(debug[:500], length=len(debug)), "the answer ends after 500 of"),
    "missing": (lambda debug: content(b"", 404), "does not have debuginfo of"),
    "broken": (lambda debug: content(b"", 500), "the server answers 500"),
    "loop": (lambda debug: redirect(path_of(ID)), "redirects too often"),
    "file": (lambda debug: redirect("file:///etc/passwd"), "the server redirects too often, or away from http"),
    "endless": (lambda debug: endless(bytes(1 << 20)), "has more than the 3,000,000 bytes that are downloaded"),
    "slow": (lambda debug: endless(b"x", 0.05), "the transfer does not end within 1 s"),
}


@pytest.mark.one_in(2)
@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_servers(program, name):
    answer, message = HOSTILE[name]
    limits = {"DEBUGINFOD_TIMEOUT": "1", "DEBUGINFOD_MAXSIZE": "3000000"}
    begun = time.monotonic()
    with serve({path_of(ID): answer(program.debug)}) as server:
        for word in (f"build-id:{ID}", program.stripped):
            done = show(word, server.url, **limits)
            assert done.returncode == 3
            assert message in done.stderr
    assert time.monotonic() - begun < 60


@pytest.mark.parametrize(("word", "environment", "status", "message"), [
    (f"build-id:{ID}", {}, 2, "--debuginfod needs servers: DEBUGINFOD_URLS="),
    (f"build-id:{ID}", {"DEBUGINFOD_URLS": "ftp://x"}, 2, "'ftp://x' is not an http or https server"),
    (f"build-id:{ID}", {"DEBUGINFOD_URLS": "http://127.0.0.1:1", "DEBUGINFOD_TIMEOUT": "x"}, 2, "DEBUGINFOD_TIMEOUT: 'x' is not a number"),
    (f"build-id:{ID}", {"DEBUGINFOD_URLS": "http://127.0.0.1:1"}, 3, "the server cannot be reached"),
    ("build-id:xyz", {"DEBUGINFOD_URLS": "http://127.0.0.1:1"}, 3, "is not a build id"),
    ("build-id:../../etc", {"DEBUGINFOD_URLS": "http://127.0.0.1:1"}, 3, "is not a build id"),
])  # fmt: skip
def test_mistakes(word, environment, status, message):
    done = run("show", word, "ring", "--debuginfod", **environment)
    assert (done.returncode, message in done.stderr) == (status, True)


def test_no_server_is_asked_without_the_option():
    done = run("show", f"build-id:{ID}", "ring", DEBUGINFOD_URLS="http://127.0.0.1:1")
    assert (done.returncode, "give --debuginfod" in done.stderr) == (3, True)


def test_a_supplementary_file_is_downloaded(program, tmp_path):
    dwz = need("dwz")
    paths = []
    for number in range(2):
        path = tmp_path / f"p{number}"
        source = C + "".join(f"struct s{n} {{ int member_{n}; struct ring r; }} v{n};\n" for n in range(60))
        subprocess.run([need("gcc"), "-g", f"-Wl,--build-id=0x{ID}0000000{number}", "-xc", "-o", path, "-"], input=source, text=True, check=True)
        paths.append(path)
    subprocess.run([dwz, "-m", tmp_path / "dwz.debug", *paths], check=True)
    content_of = (tmp_path / "dwz.debug").read_bytes()
    (tmp_path / "dwz.debug").unlink()
    note = subprocess.run(["readelf", "-n", paths[0]], capture_output=True, text=True, check=True)
    assert f"{ID}00000000" in note.stdout
    subprocess.run(["objcopy", f"--dump-section=.gnu_debugaltlink={tmp_path}/link", paths[0]], check=True)
    build_id = (tmp_path / "link").read_bytes().partition(b"\0")[2].hex()
    with serve({path_of(build_id): content(content_of)}) as server:
        done = show(paths[0], server.url)
    assert (done.returncode, done.stdout.startswith("struct ring")) == (0, True), done.stderr

"""Inputs that are named by a URL: what the file itself gives, or why there is none."""

from __future__ import annotations

import io
import json
import tarfile

import pytest

from layoutlint.errors import ReadError
from layoutlint.model.reading import DebugServers, ReadOptions
from layoutlint.readers.downloads import urls
from tests.commands.test_survey import RULES, btf
from tests.harness.command import WITHOUT_CACHE, run
from tests.readers.downloads.servers import content, endless, redirect, serve


def tar(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w") as archive:
        for name, data in members.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


ANSWERS = {
    "/near": content(btf(8)), "/far": content(btf(64)), "/a:b": content(btf(64)), "/empty": content(b""),
    "/ring.h": content(b"struct ring { long head, tail; };\n"), "/tar": content(tar(near=btf(8), far=btf(64))),
    "/moved": redirect("/far"), "/away": redirect("ftp://127.0.0.1/far"), "/short": content(btf(8), length=999),
    "/error": content(b"x", 500),
}  # fmt: skip


@pytest.fixture(scope="module")
def server():
    with serve(ANSWERS) as answering:
        yield answering


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rules.toml").write_text(RULES)
    (tmp_path / "near").write_bytes(btf(8))
    return tmp_path


def sizes(folder, url: str) -> list[int]:
    done = run("show", url, "ring", "--format", "json", cwd=folder)
    return [struct["size"] for struct in json.loads(done.stdout)["structs"]] if done.stdout else [done.stderr]


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("path", "expected"), [
    ("/near", [16]), ("/far", [72]), ("/moved", [72]), ("/a:b", [72]), ("/tar:near", [16]), ("/tar", [72, 16]),
])  # fmt: skip
def test_layouts(server, folder, path, expected):
    assert sizes(folder, server.url + path) == expected


def test_other_protocols_are_those_of_fsspec(folder):
    assert sizes(folder, f"file://{folder}/near") == [16]


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("url", "reason"), [
    ("SERVER/gone", "the server does not have it"),
    ("SERVER/gone:member", "the server does not have it"),
    ("SERVER/tar:gone", "the archive has no such member"),
    ("SERVER/empty", "the file is empty"),
    ("SERVER/ring.h", "is C text, which needs the headers around it"),
    ("SERVER/short", "the answer ends after"),
    ("SERVER/error", "the server answers 500"),
    ("SERVER/away", "the server redirects from http to ftp"),
    ("SERVER/near::x", "chains of URLs"),
    ("http://127.0.0.1:1/x", "the server cannot be reached"),
    ("file:///gone/x", "the server does not have it"),
    ("file:///etc", "cannot be read: IsADirectoryError"),
    ("strange://x/y", "cannot be read: ValueError Protocol not known"),
    ("http://[x", "cannot be read"),
])  # fmt: skip
def test_what_is_not_read(server, folder, url, reason):
    done = run("check", url.replace("SERVER", server.url), "--rules", "rules.toml", "--format", "json", cwd=folder)
    report = json.loads(done.stdout)
    assert (done.returncode, report["inputs"]) == (3, [])
    assert reason in report["unread"][0]["reason"]


@pytest.mark.parametrize(("limits", "answer", "reason"), [
    (DebugServers(seconds=1), endless(b"x", 0.2), "the transfer does not end within 1 s"),
    (DebugServers(most=1 << 20), endless(b"x" * 65536), "has more than the 1,048,576 bytes that are downloaded"),
])  # fmt: skip
def test_limits(limits, answer, reason):
    with serve({"/x": answer}) as answering, pytest.raises(ReadError) as raised:
        urls.fetch(f"{answering.url}/x", ReadOptions(servers=limits))
    assert reason in raised.value.reason


def test_each_run_downloads_again(server, folder, tmp_path):
    """Also with the cache: what a URL names can change."""
    cached = {**WITHOUT_CACHE, "LAYOUTLINT_NO_CACHE": "", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    for gap in (8, 64, 8):
        with serve({"/x": content(btf(gap))}) as answering:
            url = f"{answering.url}/x"
            for _ in range(2):
                done = run("show", url, "ring", "--format", "json", cwd=folder, **cached)
                assert json.loads(done.stdout)["structs"][0]["size"] == gap + 8
            assert answering.asked == ["/x", "/x"]


@pytest.mark.exhaustive
def test_a_survey(server, folder):
    """Workers download what they read; the second run does so again."""
    words = ("survey", f"{server.url}/near", f"{server.url}/tar:far", f"{server.url}/gone", "--rules", "rules.toml")
    for _ in range(2):
        done = run(*words, "--store", "store", "--workers", "1", "--format", "json", cwd=folder)
        report = json.loads(done.stdout)
        assert (done.returncode, report["new"], report["outcomes"]["complete"], report["outcomes"]["failed"]) == (1, 3, 2, 1)


def test_a_folder_named_as_a_protocol_is_a_path(folder):
    (folder / "x:").mkdir()
    (folder / "x:" / "near").write_bytes(btf(8))
    assert sizes(folder, "x://near") == [16]

"""What servers are asked, what becomes of their answers and which downloads are kept, with answers from a table."""

from __future__ import annotations

import io
import os
import struct
from email.message import Message
from pathlib import Path
from types import SimpleNamespace
from typing import IO
from urllib.error import HTTPError, URLError
from urllib.request import Request

import pytest

from layoutlint.errors import ReadError
from layoutlint.files import stored_files
from layoutlint.model.reading import DebugServers, ReadOptions
from layoutlint.readers.downloads import debuginfod, download_store, transfer
from layoutlint.readers.downloads.transfer import Bounds, NotOnServer, TransferError
from tests.readers.dwarf.dwarf_file import elf

ID = "abcdef0123456789"


def program(build_id: str) -> bytes:
    """A file with a build id, and no more."""
    content = bytes.fromhex(build_id)
    return elf({".note.gnu.build-id": struct.pack("<III4s", 4, len(content), 3, b"GNU\0") + content})


OTHER_ID = "00" * 8
ANSWERS: dict[str, bytes | Exception] = {
    "good": program(ID), "other": program(OTHER_ID), "none": elf({}), "damaged": b"\x7fELF", "empty": b"", "missing": NotOnServer(), "slow": TransferError("does not end"),
    "full": OSError("disk full"), "btf": b"\x9f\xeb\1\0", "big-endian btf": b"\xeb\x9f\1\0", "no btf": b"\x9f",
}  # fmt: skip


@pytest.fixture
def asked(tmp_path, monkeypatch) -> list[str]:
    """The URLs that were asked; servers are named by their answers. Downloads are kept in a folder of the test."""
    urls: list[str] = []

    def download(url: str, sink: IO[bytes], bounds: Bounds) -> None:
        urls.append(f"{url} within {bounds.seconds} and {bounds.total_seconds} s, {bounds.most} bytes")
        answer = ANSWERS[url.partition("://")[2].partition("/")[0]]
        if isinstance(answer, Exception):
            raise answer
        sink.write(answer)

    monkeypatch.setattr(transfer, "download", download)
    monkeypatch.setattr(stored_files, "_files", {}, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    yield urls
    for name in (f"build-id:{ID}", f"build-id:{ID}/section/.BTF"):
        if (stored := stored_files.find(name)) is not None:
            stored_files.drop(stored.store)


def options(*servers: str, reader: str | None = None, cache: bool = False) -> ReadOptions:
    return ReadOptions(cache=cache, reader=reader, servers=DebugServers(tuple(f"http://{name}" for name in servers), seconds=5, total_seconds=6, most=70))


FETCHES = [
    # servers, the reader, what is read, or why nothing is
    (("good",), None, "build-id:ID"), (("good/",), None, "build-id:ID"), (("missing", "other", "good", "none"), None, "build-id:ID"),
    ((), None, ""), (("missing",), None, "http://missing does not have debuginfo of ID"),
    (("other",), None, f"http://other: the answer has the build id {OTHER_ID}, but ID was requested"),
    (("none",), None, "http://none: the answer has the build id ??, but ID was requested"),
    (("damaged",), None, "http://damaged: the answer cannot be read: "), (("empty",), None, "http://empty: the answer is empty"),
    (("slow", "full", "slow"), None, "http://slow: does not end; http://full: disk full"),
    (("btf",), "btf", "build-id:ID/section/.BTF"), (("big-endian btf",), "btf", "build-id:ID/section/.BTF"), (("no btf", "missing", "good"), "btf", "build-id:ID"),
    (("no btf",), "btf", "http://no btf: the answer is no BTF; http://no btf: the answer cannot be read: "),
]  # fmt: skip


@pytest.mark.parametrize(("servers", "reader", "result"), FETCHES)
def test_what_servers_answer(servers, reader, result, asked):
    word = f"build-id:{ID}"
    try:
        found = debuginfod.input_file(word, options(*servers, reader=reader))
    except ReadError as error:
        found = str(error)[len(word) + 2 :]
    expected = result.replace("ID", ID)
    assert found.startswith(expected) if expected.endswith(": ") else found == expected
    names = [name.rstrip("/") for name in servers]
    kinds = ("section/.BTF", "debuginfo") if reader else ("debuginfo",)
    possible = [f"http://{name}/buildid/{ID}/{kind} within 5 and 6 s, 70 bytes" for kind in kinds for name in names]
    stop = next((number + 1 for number, url in enumerate(possible) if (url.startswith("http://good") and "debuginfo" in url) or (f"{found} ".startswith("build-id") and
                 "btf/" in url and "no btf" not in url and "section" in url)), len(possible))  # fmt: skip
    assert asked == possible[:stop]


MISTAKES = [
    # the input, whether there are servers, the reason
    ("build-id:abc", True, "is not a build id: write its hexadecimal digits, as `readelf -n` prints them"), ("build-id:ab", True, "is not a build id"),
    ("build-id:" + "ab" * 65, True, "is not a build id"), ("build-id:../..", True, "is not a build id"), ("build-id:abcd", False, "is on a server: give --debuginfod"),
]  # fmt: skip


@pytest.mark.parametrize(("word", "has_servers", "reason"), MISTAKES)
def test_mistakes(word, has_servers, reason, asked):
    with pytest.raises(ReadError, match=reason.replace("-", "[-]")):
        debuginfod.input_file(word, options("good") if has_servers else ReadOptions(cache=False))
    assert asked == []
    assert debuginfod.fetch("../..", "debuginfo", options("good"), []) is None


def test_downloads_are_kept_for_later_runs(asked, tmp_path):
    word, kept = f"build-id:{ID}", tmp_path / "layoutlint/downloads" / f"{ID}-debuginfo"
    assert debuginfod.input_file(word, options("good", cache=True)) == word
    assert (kept.read_bytes(), kept.stat().st_mode & 0o777, len(asked)) == (program(ID), 0o600, 1)
    assert debuginfod.input_file(word, options("missing", cache=True)) == word
    assert len(asked) == 1
    stored_files.drop(stored_files.find(word).store)
    assert debuginfod.input_file(word, options("missing", cache=True)) == word
    assert len(asked) == 1
    stored_files.drop(stored_files.find(word).store)
    with pytest.raises(ReadError, match="does not have"):
        debuginfod.input_file(word, options("missing", cache=False))
    kept.write_bytes(program(OTHER_ID))
    with pytest.raises(ReadError, match="does not have"):
        debuginfod.input_file(word, options("missing", cache=True))
    assert not kept.exists()
    assert debuginfod.fetch(ID, "section/.BTF", options("btf", cache=True), []) == f"{word}/section/.BTF"
    assert [path.name for path in kept.parent.iterdir()] == [f"{ID}-section-.BTF"]


@pytest.fixture
def store(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert download_store.location(create=False) is None
    path = download_store.location(create=True)
    assert path == str(tmp_path / "layoutlint/downloads")
    return Path(path)


def keep(name: str, size: int, age: int) -> None:
    with download_store.begin(may_keep=True) as file:
        file.write(bytes(size))
        os.utime(file.fileno(), (1000 - age,) * 2)
        assert download_store.keep(name, file) is not None


@pytest.mark.parametrize(("most", "left"), [(10, "bcd"), (9, "cd"), (7, "cd"), (6, "d"), (4, "d"), (3, "d"), (100, "abcd")])
def test_old_downloads_go(most, left, store, monkeypatch):
    """The newest one stays, however large."""
    for age, name in enumerate("cba"):
        keep(name, 3, age + 1)
    monkeypatch.setattr(download_store, "_MOST_BYTES", most)
    keep("d", 4, 0)
    assert "".join(sorted(path.name for path in store.iterdir())) == left
    assert download_store.usage() == (str(store), len(left), 3 * len(left) + 1)
    assert download_store.clear() == (str(store), len(left), 3 * len(left) + 1)
    assert download_store.usage() == (str(store), 0, 0)


def test_the_newest_stays_if_times_say_otherwise(store, monkeypatch):
    monkeypatch.setattr(download_store, "_MOST_BYTES", 3)
    keep("a", 3, 0)
    keep("b", 3, 9)
    assert sorted(path.name for path in store.iterdir()) == ["a", "b"]


def test_what_can_be_opened_again(store):
    keep("file", 3, 0)
    keep("empty", 0, 0)
    (store / "link").symlink_to("file")
    (store / "folder").mkdir()
    os.mkfifo(store / "pipe")
    found = {name: download_store.open_kept(name) for name in ("file", "empty", "link", "folder", "pipe", "missing")}
    assert {name for name, file in found.items() if file is not None} == {"file"}
    with found["file"] as file:
        assert (file.read(), download_store.usage().entries) == (bytes(3), 2)
    os.chmod(store, 0o750)
    assert (download_store.location(create=True), download_store.open_kept("file"), download_store.usage()) == (None, None, ("", 0, 0))
    assert download_store.clear() == ("", 0, 0)


def test_a_file_that_need_not_be_kept_has_no_name_there(store):
    with download_store.begin(may_keep=False) as file, download_store.begin(may_keep=True) as other:
        assert (os.fstat(file.fileno()).st_size, os.fstat(other.fileno()).st_size, list(store.iterdir())) == (0, 0, [])
        assert os.readlink(f"/proc/self/fd/{other.fileno()}").startswith(str(store))
        assert not os.readlink(f"/proc/self/fd/{file.fileno()}").startswith(str(store))


PIECE = 100 << 10
TRANSFERS = [
    # sizes of pieces, seconds that each takes, limits (seconds, in all, bytes), the error, when an alarm is set
    ([5, 5], 1, (9, 99, 10), None, []), ([5, 6], 1, (9, 99, 10), "has more than the 10 bytes that are downloaded", []),
    ([PIECE - 1, 1, PIECE], 3, (9, 99, 1 << 30), None, [9, 9]), ([PIECE, PIECE, PIECE], 3, (9, 10, 1 << 30), None, [7, 4, 1]),
    ([PIECE] * 4, 3, (9, 12, 1 << 30), "does not end within 12 s", [9, 6, 3]), ([PIECE] * 2, 4, (9, 8, 1 << 30), "does not end within 8 s", [4]),
    ([PIECE - 1] * 3, 3, (9, 99, 1 << 30), None, [9]),
]  # fmt: skip


@pytest.mark.parametrize(("sizes", "seconds", "limits", "error", "alarms"), TRANSFERS)
def test_transfers(sizes, seconds, limits, error, alarms, tmp_path, monkeypatch):
    """The alarm is set again as soon as enough has arrived."""
    log: list[int] = []
    left = limits[0]

    def alarm(value: int) -> int:
        nonlocal left
        if value:
            log.append(value)
        before, left = left, value
        return before

    def read(url: str):
        nonlocal left
        for number, size in enumerate(sizes):
            left = max(left - seconds, 0)
            yield bytes([number]) * size

    monkeypatch.setattr(transfer, "signal", SimpleNamespace(alarm=alarm))
    monkeypatch.setattr(transfer, "_read", read)
    with (tmp_path / "sink").open("wb") as sink:
        request = transfer._Transfer("http://x", sink.fileno(), Bounds(*limits))
        if error:
            with pytest.raises(TransferError, match=f"^{error}$"):
                transfer._transfer(request)
        else:
            transfer._transfer(request)
            assert (tmp_path / "sink").read_bytes() == b"".join(bytes([number]) * size for number, size in enumerate(sizes))
    assert log == alarms


FAILURES = [
    (200, TransferError("the server answers 200 (reason)")), (299, TransferError("the server answers 299 (reason)")), (404, NotOnServer()), (410, NotOnServer()),
    (403, TransferError("the server answers 403 (reason)")), (300, TransferError("the server redirects too often, or away from http")),
    (399, TransferError("the server redirects too often, or away from http")), (400, TransferError("the server answers 400 (reason)")), (500, TransferError("the server answers 500 (reason)")),
]  # fmt: skip


@pytest.mark.parametrize(("code", "failure"), FAILURES)
def test_answers_of_http(code, failure):
    found = transfer._http_failure(HTTPError("u", code, "reason", Message(), None))
    assert (type(found), str(found)) == (type(failure), str(failure))


@pytest.mark.parametrize(("old", "new", "is_followed"), [
    ("http", "http", True), ("http", "https", True), ("https", "https", True), ("https", "http", False), ("http", "ftp", False), ("http", "file", False), ("http", "", False),
])  # fmt: skip
def test_redirections(old, new, is_followed):
    redirects = transfer._Redirects()
    assert (redirects.max_redirections, redirects.max_repeats) == (5, 2)
    request, place = Request(f"{old}://a/b"), f"{new}://c/d" if new else "/c"
    if is_followed:
        assert redirects.redirect_request(request, None, 302, "", Message(), place).full_url == place
    else:
        with pytest.raises(TransferError, match=f"^the server redirects from {old} to {new or 'no protocol'}$"):
            redirects.redirect_request(request, None, 302, "", Message(), place)


class Answer(io.BytesIO):
    """An answer of HTTP whose header states a length."""

    def __init__(self, content: bytes, length: int | None) -> None:
        super().__init__(content)
        self.length = length


@pytest.mark.parametrize(("length", "is_whole"), [(None, True), (70_000, True), (69_999, False), (70_001, False), (0, False)])
def test_bodies(length, is_whole):
    pieces = []
    try:
        pieces.extend(transfer._body(Answer(bytes(70_000), length)))
        error = None
    except TransferError as raised:
        error = str(raised)
    assert error == (None if is_whole else f"the answer ends after 70,000 of {length:,} bytes")
    assert not is_whole or list(map(len, pieces)) == [65_536, 4464]


@pytest.mark.parametrize(("error", "text"), [
    (URLError("refused"), "the server cannot be reached: refused"), (ConnectionResetError("reset"), "the answer cannot be read: ConnectionResetError reset"),
    (ValueError("bad"), "the answer cannot be read: ValueError bad"), (HTTPError("u", 500, "no", Message(), None), "the server answers 500 (no)"),
])  # fmt: skip
def test_reading_http(error, text, monkeypatch):
    def fail(request: Request) -> None:
        assert (request.full_url, request.get_header("Accept-encoding")) == ("http://x/", "identity")
        raise error

    monkeypatch.setattr(transfer, "_opener", lambda: SimpleNamespace(open=fail))
    with pytest.raises(TransferError) as raised:
        next(transfer._read("http://x/"))
    assert str(raised.value) == text


@pytest.mark.parametrize(("url", "reader"), [("http://x", "http"), ("https://x", "http"), ("s3://x", "other"), ("httpx://x", "other")])
def test_which_protocols_need_no_other_package(url, reader, monkeypatch):
    monkeypatch.setattr(transfer, "_read_http", lambda url: "http")
    monkeypatch.setattr(transfer, "_read_other", lambda url: "other")
    assert transfer._read(url) == reader

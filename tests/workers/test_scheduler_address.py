"""Addresses of schedulers, and what a run says about those that nobody answers at."""

from __future__ import annotations

import errno
import socket
import threading
import time

import pytest

from layoutlint.errors import ReadError, UsageError
from layoutlint.workers.scheduler_address import parse_address
from tests.harness.command import run
from tests.harness.outside_words import system_words

ADDRESSES = [
    # as written, as understood
    ("tls://build.example.org:8786", "tls://build.example.org:8786"),
    ("tls://build.example.org", "tls://build.example.org:8786"),
    ("tcp://localhost:1", "tcp://localhost:1"),
    ("tcp://127.9.9.9:1", "tcp://127.9.9.9:1"),
    ("tcp://[::1]:1", "tcp://[::1]:1"),
]
MISTAKES = [
    # as written, what the message has
    ("localhost:8786", "is not an address such as tls://HOST:PORT"),
    ("tcp://", "is not an address such as tls://HOST:PORT"),
    ("tls://:8786", "is not an address such as tls://HOST:PORT"),
    ("ucx://host:1", "is not an address such as tls://HOST:PORT"),
    ("tcp://localhost:1/path", "is not an address such as tls://HOST:PORT"),
    ("tcp://user@localhost:1", "is not an address such as tls://HOST:PORT"),
    ("tcp://localhost:99999", "is not an address: "),
    ("tcp://localhost:x", "is not an address: "),
    ("tcp://[::1", "is not an address: "),
    ("", "is not an address such as tls://HOST:PORT"),
    ("tcp://10.0.0.1:1", "workers run whatever a scheduler sends"),
    ("tcp://localhost.example.org:1", "pass --insecure-scheduler"),
    ("tcp://127.0.0.1.example.org:1", "pass --insecure-scheduler"),
]


@pytest.mark.parametrize(("text", "address"), ADDRESSES)
def test_an_address_is_understood(text, address):
    assert str(parse_address(text, allow_insecure=False)) == address


@pytest.mark.parametrize(("text", "message"), MISTAKES)
def test_a_mistake_is_named(text, message):
    with pytest.raises(UsageError, match=r"^--scheduler: ") as error:
        parse_address(text, allow_insecure=False)
    assert message in str(error.value)


def test_tcp_to_other_machines_can_be_allowed():
    assert str(parse_address("tcp://10.0.0.1:1", allow_insecure=True)) == "tcp://10.0.0.1:1"


def test_a_name_that_cannot_be_one_is_an_error():
    with pytest.raises(ReadError, match="cannot be reached"):
        parse_address(f"tls://{'a' * 80}.invalid:1", allow_insecure=False).reach(1)


def test_options_that_do_not_belong_together(tmp_path):
    source = tmp_path / "ring.h"
    source.write_text("struct ring { int head; };\n")
    for words, message in (
        (("--insecure-scheduler",), "is for --scheduler"),
        (("--scheduler", "tcp://localhost:1", "--workers", "2"), "is for this machine"),
        (("--scheduler", "tcp://10.0.0.1:1"), "authenticates nobody"),
    ):
        result = run("survey", source, "--store", tmp_path / "store", *words)
        assert (result.returncode, message in result.stderr) == (2, True), result.stderr


def test_a_port_that_nobody_listens_at(tmp_path):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        source = tmp_path / "ring.h"
        source.write_text("struct ring { int head; };\n")
        address = f"tcp://127.0.0.1:{unused.getsockname()[1]}"
        result = run("survey", source, "--store", tmp_path / "store", "--scheduler", address)
    assert (result.returncode, result.stderr) == (3, f"layoutlint: {address}: cannot be reached: {system_words(errno.ECONNREFUSED)}\n")


def _listen(answer: bytes | None) -> str:
    """Listen at a port and answer with these bytes; with none at all, be silent."""
    listener = socket.socket()
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    connections = []

    def serve() -> None:
        while True:
            connection, _ = listener.accept()
            connections.append(connection)
            if answer is not None:
                connection.sendall(answer)
                connection.close()

    threading.Thread(target=serve, daemon=True).start()
    return f"127.0.0.1:{listener.getsockname()[1]}"


IMPOSTORS = [
    # protocol, what listens there answers, what the message has
    ("tcp", None, "no scheduler of Dask answers within 10 s"),
    ("tcp", b"HTTP/1.1 400 Bad Request\r\n\r\n", "no scheduler of Dask answers: the server is another program, or has another version"),
    ("tcp", b"", "no scheduler of Dask answers: "),
    ("tcp", bytes(100), "no scheduler of Dask answers: "),
    ("tcp", b"\xff" * 4096, "no scheduler of Dask answers: "),
    ("tls", b"", "no certificates: set distributed.comm.tls.ca-file"),
]


@pytest.mark.exhaustive
@pytest.mark.parametrize(("protocol", "answer", "message"), IMPOSTORS)
def test_something_else_listens_there(tmp_path, protocol, answer, message):
    source = tmp_path / "ring.h"
    source.write_text("struct ring { int head; };\n")
    started = time.monotonic()
    result = run("survey", source, "--store", tmp_path / "store", "--scheduler", f"{protocol}://{_listen(answer)}")
    assert result.returncode == 3
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert time.monotonic() - started < 60

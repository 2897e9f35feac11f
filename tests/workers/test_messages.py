"""Messages between executors and servers, in the process of the test."""

from __future__ import annotations

import os
import pickle
import tempfile

import pytest

from layoutlint.model.task import Failure, Limits, Outcome, Task
from layoutlint.workers import attempt, messages
from layoutlint.workers.messages import Reply, TaskRequest
from tests.harness.outside_words import words_of
from tests.workers import task_functions
from tests.workers.task_functions import Poisoned

LIMITS = Limits(1.5, 3 << 20)
MESSAGES = (b"", b"a", bytes(255), bytes(256), b"x" * 65_537)


def test_a_message_is_complete_with_its_last_byte():
    whole = b"".join(map(messages.with_length, (b"abc", b"", b"d")))
    assert whole == b"\3" + bytes(7) + b"abc" + bytes(8) + b"\1" + bytes(7) + b"d"
    for end in range(len(whole) + 1):
        buffer = bytearray(whole[:end])
        assert (messages.is_complete(buffer), messages.complete_message(buffer)) == ((True, b"abc") if end >= 11 else (False, None))
    assert messages.complete_message(bytearray(whole[11:])) == b""


def test_what_is_sent_is_received():
    with tempfile.TemporaryFile(buffering=0) as file:
        for message in (*MESSAGES, bytes((1 << 20) + 1)):
            messages.send(file.fileno(), message)
        file.seek(0)
        assert [messages.receive(file.fileno()) for _ in range(7)] == [*MESSAGES, bytes((1 << 20) + 1), None]
        file.truncate(file.seek(-3, os.SEEK_END))
        file.seek(sum(8 + len(message) for message in MESSAGES))
        assert messages.receive(file.fileno()) is None


class Text(Exception):
    """An exception whose text is what it is given."""

    def __str__(self) -> str:
        return self.args[0]


ERRORS = [
    # an exception, its line
    (ValueError("a"), "ValueError: a"), (ValueError(), "ValueError"), (ValueError(" \n "), "ValueError"), (ValueError("a\n\t b  c"), "ValueError: a b c"),
    (Text(1), "Text"), (Text("x" * 1993), "Text: " + "x" * 1993), (Text("x" * 1994), "Text: " + "x" * 1994), (Text("x" * 1995), "Text: " + "x" * 1994),
]  # fmt: skip


@pytest.mark.parametrize(("error", "line"), ERRORS, ids=range(len(ERRORS)))
def test_errors_in_one_line(error, line):
    assert messages.one_line(error) == line


def test_tasks_and_requests():
    task = Task("name", task_functions.square, [5], LIMITS)
    message = messages.encode_task(task, ("a", "b"))
    request = messages.decode_request(message)
    function, argument = pickle.dumps(task_functions.square, 5), pickle.dumps([5], 5)
    assert request == TaskRequest(("a", "b"), function, argument, 1.5, 3 << 20)
    assert type(messages.decode_request(messages.encode_task(Task("", len, "", Limits(2, 3)), ())).seconds) is float
    bad = Task("name", task_functions.square, lambda: 1, LIMITS)
    refused = messages.encode_task(bad, ())
    assert refused == Outcome(bad, None, Failure("refused", refused.failure.message), 0, 0, 0, 0)


OUTCOMES = [
    # the kind and the content of a reply, the value, the failure
    (None, pickle.dumps(5), 5, None),
    ("timed-out", b"ends \xff late", None, Failure("timed-out", "ends \\xff late")),
    (None, pickle.dumps(Poisoned()), None, Failure("refused", f"returns what cannot be read: ValueError: {words_of(int, 'no number')}")),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "content", "value", "failure"), OUTCOMES)
def test_outcomes_of_replies(kind, content, value, failure):
    reply = Reply(kind, content, 1.5, 0.5, 7, 2)
    task = Task("name", task_functions.square, 1, LIMITS)
    assert messages.decode_reply(messages.encode_reply(reply)) == reply
    assert messages.outcome(task, reply) == Outcome(task, value, failure, 1.5, 0.5, 7, 2)


class Unpicklable:
    def __init__(self, error: BaseException) -> None:
        self.error = error

    def __reduce__(self):
        raise self.error


def fail(error: BaseException) -> None:
    raise error


CONTENTS = [
    # what a function returns, or raises, what the task writes
    (lambda value: value + 1, b"v" + pickle.dumps(6, 5)),
    (lambda value: bytes(85), b"v" + pickle.dumps(bytes(85), 5)),
    (lambda value: bytes(86), b"rreturns more than 0 MB"),
    (lambda value: fail(MemoryError()), b"m"),
    (lambda value: fail(SystemExit(3)), b"eends its process (status 3)"),
    (lambda value: fail(KeyboardInterrupt("a\nb\udcff")), b"eraises KeyboardInterrupt: a b\\udcff"),
    (lambda value: Unpicklable(MemoryError()), b"m"),
    (lambda value: Unpicklable(ValueError("\udcff")), b"rreturns a value that cannot be pickled: ValueError: \\udcff"),
]  # fmt: skip


@pytest.mark.parametrize(("function", "content"), CONTENTS, ids=range(len(CONTENTS)))
def test_what_a_task_writes(function, content, monkeypatch):
    monkeypatch.setattr(attempt, "MOST_BYTES", 100)
    monkeypatch.setattr(attempt, "_TOO_LARGE", b"returns more than 0 MB")
    assert attempt._content(function, TaskRequest((), b"", pickle.dumps(5), 1, 1)) == content

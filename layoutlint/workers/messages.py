"""The messages between an executor and a task server: a length, and bytes that marshal or pickle made."""

from __future__ import annotations

import marshal
import os
import pickle

from layoutlint.model.record import Record
from layoutlint.model.task import Failure, FailureKind, Outcome, Task

LENGTH = 8
"""The bytes of the length before a message."""


class TaskRequest(Record, frozen=True):
    """One task, as its server gets it."""

    modules: tuple[str, ...]
    """Modules that the server imports before it forks, so that no task needs to."""
    function: bytes
    argument: bytes
    seconds: float
    memory: int


class Reply(Record, frozen=True):
    """The end of all attempts at a task."""

    kind: FailureKind | None
    """None for a value."""
    content: bytes
    """The value, pickled; the message of a failure."""
    seconds: float
    processor_seconds: float
    memory: int
    attempts: int


def encode_task(task: Task, modules: tuple[str, ...]) -> bytes | Outcome:
    """Return the message for a task, or its outcome if it cannot be pickled."""
    try:
        function = pickle.dumps(task.function, pickle.HIGHEST_PROTOCOL)
        argument = pickle.dumps(task.argument, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        failure = Failure("refused", f"cannot be sent to a process: {one_line(error)}")
        return Outcome(task, None, failure, 0, 0, 0, 0)
    return marshal.dumps((modules, function, argument, float(task.limits.seconds), task.limits.memory))


def decode_request(message: bytes) -> TaskRequest:
    """Return what `encode_task` encoded."""
    return TaskRequest(*marshal.loads(message))


def encode_reply(reply: Reply) -> bytes:
    """Return the message of a reply."""
    values = reply.kind, reply.content, reply.seconds, reply.processor_seconds, reply.memory, reply.attempts
    return marshal.dumps(values)


def decode_reply(message: bytes) -> Reply:
    """Return what `encode_reply` encoded."""
    return Reply(*marshal.loads(message))


def with_length(message: bytes) -> bytes:
    """Return a message with its length before it."""
    return len(message).to_bytes(LENGTH, "little") + message


def is_complete(buffer: bytearray) -> bool:
    """Return whether a buffer holds a message."""
    return LENGTH <= len(buffer) >= LENGTH + int.from_bytes(buffer[:LENGTH], "little")


def complete_message(buffer: bytearray) -> bytes | None:
    """Return the first message of a buffer; None until it is complete."""
    end = LENGTH + int.from_bytes(buffer[:LENGTH], "little")
    return bytes(memoryview(buffer)[LENGTH:end]) if is_complete(buffer) else None


def receive(source: int) -> bytes | None:
    """Wait for a message; None if the other side has ended."""
    length = _read(source, LENGTH)
    return None if length is None else _read(source, int.from_bytes(length, "little"))


def _read(source: int, count: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < count:
        part = os.read(source, min(count - len(parts), 1 << 20))
        if not part:
            return None
        parts += part
    return bytes(parts)


def send(sink: int, message: bytes) -> None:
    """Write a message whole. Raises BrokenPipeError if the other side has ended."""
    rest = memoryview(with_length(message))
    while rest:
        rest = rest[os.write(sink, rest) :]


_LONGEST = 2000


def one_line(error: BaseException) -> str:
    """Return the type and the text of an exception, which may be damaged itself, in one line."""
    try:
        text = " ".join(str(error).split())
    except Exception:
        text = ""
    name = type(error).__name__
    return f"{name}: {text}"[:_LONGEST] if text else name


def outcome(task: Task, reply: Reply) -> Outcome:
    """Return the outcome that a reply states."""
    value, failure = None, None
    if reply.kind is not None:
        failure = Failure(reply.kind, reply.content.decode(errors="backslashreplace"))
    else:
        try:
            value = pickle.loads(reply.content)
        except Exception as error:
            failure = Failure("refused", f"returns what cannot be read: {one_line(error)}")
    return Outcome(
        task, value, failure, reply.seconds, reply.processor_seconds, reply.memory, reply.attempts
    )


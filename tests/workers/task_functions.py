"""What tasks do in the tests: functions that servers import."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path

from layoutlint.errors import ReadError


def square(number: int) -> int:
    return number * number


def spin(seconds: float) -> float:
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass
    return seconds


def sleep(seconds: float) -> str:
    time.sleep(seconds)
    return "slept"


def ignore_signals(seconds: float) -> None:
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGALRM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    time.sleep(seconds)


def die(number: int) -> None:
    os.kill(os.getpid(), number)
    time.sleep(60)


def die_once(folder: str) -> str:
    try:
        Path(folder, "tried").mkdir()
    except FileExistsError:
        return "second attempt"
    os.kill(os.getpid(), signal.SIGSEGV)
    return "not reached"


def kill_server(_: object) -> None:
    os.kill(os.getppid(), signal.SIGKILL)
    time.sleep(60)


def leave(status: int) -> None:
    os._exit(status)


def exit_politely(status: int) -> None:
    sys.exit(status)


def raise_error(text: str) -> None:
    raise ReadError("a file", text)


def fill(size: int) -> int:
    """Take memory in pieces, as a reader of something endless does."""
    pieces = [b"x" * (1 << 20) for _ in range(0, size, 1 << 20)]
    time.sleep(60)
    return len(pieces)


def fill_in_children(size: int) -> None:
    for _ in range(4):
        if os.fork() == 0:
            fill(size // 4)
    time.sleep(60)


def share_with_forks(size: int) -> str:
    """Fill pages, and share them with forks: they count once."""
    content = bytearray(size)
    content[::4096] = b"x" * len(content[::4096])
    for _ in range(4):
        if os.fork() == 0:
            time.sleep(1)
            os._exit(len(content) == 0)
    time.sleep(0.6)
    return "shared"


def allocate(size: int) -> int:
    return len(bytes(size))


def map_file(path: str) -> int:
    """Read a file that is mapped: its pages are the system's."""
    import mmap

    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        total = sum(content[at] for at in range(0, len(content), 4096))
        time.sleep(0.2)
        return total


def return_unpicklable(_: object) -> object:
    return lambda: None


class Poisoned:
    """A value that is pickled, and cannot be read."""

    def __reduce__(self):
        return (int, ("no number",))


def return_poisoned(_: object) -> object:
    return Poisoned()


def return_bytes(size: int) -> bytes:
    return bytes(size)


def write_streams(_: object) -> str:
    print("to stdout" * 1000, flush=True)
    print("to stderr" * 1000, file=sys.stderr, flush=True)
    os.write(1, b"to descriptor 1")
    return "written"


def count_descriptors(_: object) -> int:
    return len(os.listdir("/proc/self/fd"))


def detach(argument: tuple[str, float]) -> str:
    """Start a process that leaves the session and the parent, and writes its number."""
    path, seconds = argument
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            Path(path).write_text(str(os.getpid()))
            time.sleep(60)
        os._exit(0)
    while not Path(path).exists() or not Path(path).read_text():
        time.sleep(0.01)
    time.sleep(seconds)
    return "detached"


def describe_process(_: object) -> dict[str, object]:
    """What the process of a task has from its server."""
    import faulthandler
    import resource
    import tempfile

    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)]
    return {
        "group": os.getpgid(0) == os.getpid(),
        "signals": handlers == [signal.SIG_DFL] * 3,
        "core": resource.getrlimit(resource.RLIMIT_CORE)[0] <= 1,
        "data": resource.getrlimit(resource.RLIMIT_DATA)[0] >> 20,
        "out of memory": Path("/proc/self/oom_score_adj").read_text(),
        "folder": os.environ["TMPDIR"] == tempfile.gettempdir(),
        "faults": faulthandler.is_enabled(),
    }


def write_temporary_file(size: int) -> str:
    import tempfile

    with tempfile.NamedTemporaryFile(delete=False) as file:
        file.write(bytes(size))
    os._exit(3)


def write_number(argument: tuple[str, int]) -> int:
    """Write a row, whole, as a survey does."""
    folder, number = argument
    time.sleep(0.02)
    temporary = Path(folder, f".{number}.{os.getpid()}")
    temporary.write_text(str(number))
    temporary.rename(Path(folder, str(number)))
    return number


def temporary_folder(_: object) -> str:
    import tempfile

    return tempfile.gettempdir()


def replace_themselves(count: int) -> None:
    """Start processes each of which starts its successor and ends, so that their numbers change all the time."""
    for _ in range(count):
        if os.fork() == 0:
            end = time.monotonic() + 30
            while time.monotonic() < end:
                if os.fork():
                    os._exit(0)
                os.setsid()
                time.sleep(0.002)
            os._exit(0)
    time.sleep(60)


def kill_worker(_: object) -> None:
    """Kill the process that started the server."""
    server = os.getppid()
    worker = int(Path(f"/proc/{server}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(worker, signal.SIGKILL)
    time.sleep(60)

"""What the process of libclang may do: read regular files, and nothing else."""

from __future__ import annotations

import ctypes
import errno
import os
import re
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from layoutlint.workers import permissions

FORBIDDEN: list[tuple[str, Callable[[], object]]] = [
    ("run a program", lambda: os.execv("/bin/true", ["true"])),
    ("run a program by a descriptor", lambda: os.execve(os.open("/bin/true", os.O_RDONLY), ["true"], {})),
    ("start a process", os.fork),
    ("start a program", lambda: os.posix_spawn("/bin/true", ["true"], {})),
    ("kill a process", lambda: os.kill(os.getppid(), signal.SIGCONT)),
    ("make a file", lambda: os.open("new", os.O_CREAT)),
    ("write a file", lambda: os.open("old", os.O_WRONLY)),
    ("write and read a file", lambda: os.open("old", os.O_RDWR)),
    ("append to a file", lambda: os.open("old", os.O_APPEND | os.O_WRONLY)),
    ("empty a file", lambda: os.open("old", os.O_TRUNC)),
    ("shorten a file", lambda: os.truncate("old", 0)),
    ("make a temporary file", lambda: os.open(".", os.O_TMPFILE | os.O_RDWR)),
    ("make a file in memory", lambda: os.memfd_create("x")),
    ("delete a file", lambda: os.unlink("old")),
    ("rename a file", lambda: os.rename("old", "new")),
    ("link a file", lambda: os.link("old", "new")),
    ("make a symbolic link", lambda: os.symlink("old", "new")),
    ("make a folder", lambda: os.mkdir("new")),
    ("delete a folder", lambda: os.rmdir("folder")),
    ("make a pipe with a name", lambda: os.mkfifo("new")),
    ("change a mode", lambda: os.chmod("old", 0)),
    ("change an owner", lambda: os.chown("old", os.getuid(), os.getgid())),
    ("change times", lambda: os.utime("old")),
    ("set an attribute", lambda: os.setxattr("old", "user.x", b"")),
    ("use the network", lambda: socket.socket()),
    ("use a socket", lambda: socket.socket(socket.AF_UNIX)),
    ("watch another process", lambda: _ptrace(os.getppid())),
]


def _ptrace(process: int) -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.ptrace(16, process, 0, 0):  # PTRACE_ATTACH
        raise OSError(ctypes.get_errno(), "ptrace")


SINK = [0]
"""Where a child tells what it did."""


def run_in_child(work: Callable[[], object]) -> str:
    """What some work says in a fork, or which error it meets."""
    source, sink = os.pipe()
    SINK[0] = sink
    process = os.fork()
    if process == 0:
        try:
            message = str(work())
        except OSError as error:
            message = errno.errorcode.get(error.errno or 0, "?")
        os.write(sink, message.encode())
        os._exit(0)
    os.close(sink)
    with os.fdopen(source) as output:
        message = output.read()
    os.waitpid(process, 0)
    return message


@pytest.fixture
def working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old").write_text("old")
    (tmp_path / "folder").mkdir()
    return tmp_path


@pytest.fixture
def refusing(working_folder):
    if run_in_child(permissions.refuse_calls) != "True":
        pytest.skip("no seccomp here, or a machine whose system calls are not known")
    return working_folder


@pytest.mark.one_in(2)
@pytest.mark.parametrize("work", [row[1] for row in FORBIDDEN], ids=[row[0] for row in FORBIDDEN])
def test_what_is_forbidden(work, refusing):
    assert run_in_child(lambda: (permissions.refuse_calls(), work())) == "EPERM"
    assert sorted(path.name for path in refusing.iterdir()) == ["folder", "old"]
    assert (refusing / "old").read_text() == "old"


def test_what_is_not(refusing):
    def work() -> str:
        permissions.refuse_calls()
        done = []
        thread = threading.Thread(target=lambda: done.append(Path("old").read_text()))
        thread.start()
        thread.join()
        return f"{done} {os.listdir('folder')} {os.stat('old').st_size}"

    assert run_in_child(work) == "['old'] [] 3"


REFUSED = ["execve", "execveat", "kill", "tkill", "rt_sigqueueinfo", "rt_tgsigqueueinfo", "pidfd_send_signal", "ptrace", "process_vm_writev", "openat2", "memfd_create", "truncate", "ftruncate", "renameat", "renameat2", "linkat", "symlinkat", "unlinkat", "mkdirat", "mknodat", "fchmod", "fchmodat", "fchmodat2", "fchown", "fchownat", "utimensat", "setxattr", "lsetxattr", "fsetxattr", "removexattr", "lremovexattr", "fremovexattr", "socket", "socketpair", "bind", "connect", "accept", "accept4", "sendto", "sendmsg", "sendmmsg", "mount", "umount2", "pivot_root", "chroot", "unshare", "setns", "bpf", "perf_event_open", "io_uring_setup", "io_uring_enter", "io_uring_register", "add_key", "request_key", "keyctl", "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "userfaultfd"]
ONLY_X86 = ["fork", "vfork", "creat", "rename", "link", "symlink", "unlink", "mkdir", "rmdir", "mknod", "chmod", "chown", "lchown", "utime", "utimes", "futimesat"]
HEADERS = {
    "x86_64": ("/usr/include/x86_64-linux-gnu/asm/unistd_64.h", [*REFUSED, *ONLY_X86], ["open", "openat"]),
    "aarch64": ("/usr/include/asm-generic/unistd.h", REFUSED, ["openat"]),
}
LATER = {"fchmodat2": 452}
"""Calls that headers of Debian 12 do not have."""


@pytest.mark.parametrize("machine", HEADERS)
def test_the_numbers_are_those_of_the_system(machine):
    """Names of the numbers, from the headers of the kernel."""
    path, refused, opens = HEADERS[machine]
    if not Path(path).exists():
        pytest.skip(f"no {path} here")
    found = re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)$", Path(path).read_text(), re.MULTILINE)
    numbers = LATER | {name: int(number) for name, number in found}
    calls = permissions._MACHINES[machine]
    assert sorted(calls.refused) == sorted(numbers[name] for name in refused)
    assert [number for number, _ in calls.opens] == [numbers[name] for name in opens]
    assert (calls.clone, calls.clone3) == (numbers["clone"], numbers["clone3"])


@pytest.mark.skipif(sys.platform != "linux", reason="names of open files are Linux's")
def test_inherited_files_are_gone(working_folder):
    source, sink = os.pipe()
    kept = os.open("old", os.O_RDONLY)

    def work() -> str:
        permissions.leave_descriptors(kept, *SINK)
        with open(f"/proc/self/fd/{kept}") as file:
            text = file.read()
        return f"{text} {os.path.isdir(f'/proc/self/fd/{source}')} {os.path.isdir('/proc/self/fd/0')}"

    assert run_in_child(work) == "old True True"
    for number in (source, sink, kept):
        os.close(number)

"""The permissions of a process that runs libclang: read files that end, and write its result to the parent.

This comes on top of the list of flags that libclang accepts (readers/clang/flags.py). The system refuses to
run programs, to write files and to use the network (seccomp(2), on Linux), and a thread ends the process if
it reads a pipe or a device.
"""

from __future__ import annotations

import _thread
import ctypes
import os
import platform
import struct
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from stat import S_ISDIR, S_ISFIFO, S_ISREG

from layoutlint.model.record import Record, replace

_LOOK_SECONDS = 0.05
_NULL = (1, 3)
"""The device number of /dev/null, which is empty (Documentation/admin-guide/devices.txt)."""


# System calls by architecture: arch/x86/entry/syscalls/syscall_64.tbl, include/uapi/asm-generic/unistd.h.
class _SystemCalls(Record, frozen=True):
    """Numbers of system calls."""

    architecture: int
    """AUDIT_ARCH_* of include/uapi/linux/audit.h."""
    opens: tuple[tuple[int, int], ...]
    """open and openat, each with the index of its name argument; the flags follow it."""
    clone: int
    clone3: int
    refused: tuple[int, ...]


_X86_64 = _SystemCalls(
    0xC000003E, opens=((2, 0), (257, 1)), clone=56, clone3=435,
    refused=(
        41, 42, 43, 44, 46, 49, 53, 57, 58, 59, 62, 76, 77, 82, 83, 84, 85, 86, 87, 88, 90, 91, 92, 93,
        94, 101, 129, 132, 133, 155, 161, 165, 166, 175, 176, 188, 189, 190, 197, 198, 199, 200, 235,
        246, 248, 249, 250, 258, 259, 260, 261, 263, 264, 265, 266, 268, 272, 280, 288, 297, 298, 307,
        308, 311, 313, 316, 319, 320, 321, 322, 323, 424, 425, 426, 427, 437, 452,
    ),
)  # fmt: skip
_GENERIC = _SystemCalls(
    0xC00000B7, opens=((56, 1),), clone=220, clone3=435,
    refused=(
        5, 6, 7, 14, 15, 16, 33, 34, 35, 36, 37, 38, 39, 40, 41, 45, 46, 51, 52, 53, 54, 55, 88, 97, 104,
        105, 106, 117, 129, 130, 138, 198, 199, 200, 202, 203, 206, 211, 217, 218, 219, 221, 240, 241,
        242, 268, 269, 271, 273, 276, 279, 280, 281, 282, 294, 424, 425, 426, 427, 437, 452,
    ),
)  # fmt: skip
"""`refused`: execve, execveat, fork, vfork, kill, tkill, queued signals, pidfd_send_signal, ptrace,
process_vm_writev; creat, openat2, memfd_create, truncate, rename, link, symlink, unlink, mkdir, rmdir, mknod,
chmod, chown, utime, setxattr, removexattr and their kin; socket, socketpair, bind, connect, accept, sendto,
sendmsg and their kin; mount, pivot_root, chroot, unshare, setns, bpf, perf_event_open, io_uring, keys,
modules, kexec, userfaultfd."""
_MACHINES = {
    "x86_64": _X86_64,
    "aarch64": _GENERIC,
    "riscv64": replace(_GENERIC, architecture=0xC00000F3),
    "loongarch64": replace(_GENERIC, architecture=0xC0000102),
}
"""By `uname -m`; all of them pass the low half of an argument first."""
_WRITES = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_CLONE_THREAD = 0x10000
_X32 = 0x40000000
_EPERM, _ENOSYS = 1, 38
_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 38, 22, 2
# linux/bpf_common.h: BPF_LD|BPF_W|BPF_ABS, BPF_JMP|BPF_JEQ|BPF_K, JSET, JGE, BPF_RET|BPF_K
_LOAD, _IF_EQUAL, _IF_SET, _IF_LEAST, _RETURN = 0x20, 0x15, 0x45, 0x35, 0x06
_ALLOW, _ERROR = 0x7FFF0000, 0x00050000
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16
"""Offsets in struct seccomp_data; the machines above store the low half of an argument first."""


def refuse_calls() -> bool:
    """Make the system refuse this process and its future threads to run programs, write files or use the
    network.

    Return whether it does.
    """
    calls = _MACHINES.get(platform.machine()) if sys.platform == "linux" and sys.maxsize > 1 << 32 else None
    if calls is None:
        return False
    code = b"".join(_program(calls))
    libc = ctypes.CDLL(None, use_errno=True)
    filters = ctypes.create_string_buffer(code, len(code))
    program = struct.pack("HxxxxxxP", len(code) // 8, ctypes.addressof(filters))
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0):
        return False
    return not libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, program, 0, 0)


def _program(calls: _SystemCalls) -> Iterator[bytes]:
    """Yield the instructions of the filter."""
    refuse, allow = _operation(_RETURN, _ERROR | _EPERM), _operation(_RETURN, _ALLOW)
    yield _operation(_LOAD, _ARCHITECTURE)
    yield _operation(_IF_EQUAL, calls.architecture, 1)
    yield refuse
    yield _operation(_LOAD, _NUMBER)
    yield _operation(_IF_LEAST, _X32, 0, 1)
    yield refuse
    for number in calls.refused:
        yield _operation(_IF_EQUAL, number, 0, 1)
        yield refuse
    yield _operation(_IF_EQUAL, calls.clone3, 0, 1)
    yield _operation(_RETURN, _ERROR | _ENOSYS)  # its flags are in memory; the C library then uses clone
    for number, name in calls.opens:
        yield _operation(_IF_EQUAL, number, 0, 4)
        yield _operation(_LOAD, _ARGUMENTS + 8 * (name + 1))
        yield _operation(_IF_SET, _WRITES, 0, 1)
        yield refuse
        yield allow
    yield _operation(_IF_EQUAL, calls.clone, 0, 4)
    yield _operation(_LOAD, _ARGUMENTS)
    yield _operation(_IF_SET, _CLONE_THREAD, 1, 0)
    yield refuse
    yield allow
    yield allow


def _operation(code: int, value: int, if_true: int = 0, if_false: int = 0) -> bytes:
    """Return a struct sock_filter (linux/filter.h)."""
    return struct.pack("HBBI", code, if_true, if_false, value)


def leave_descriptors(*exceptions: int) -> None:
    """Replace each open file by a folder, except those kept and the pipe that reports the parent's end.

    A text could read them as /proc/self/fd/N: pipes to other processes, an empty /dev/stdin.
    """
    folder = os.open(os.sep, os.O_RDONLY | os.O_CLOEXEC)
    for number, _ in list(_descriptors()):
        with suppress(OSError):
            if number not in (1, 2, folder, *exceptions) and not _signals(number):
                os.dup2(folder, number, inheritable=False)


def _signals(descriptor: int) -> bool:
    """Return whether a descriptor sends this process a signal."""
    import fcntl

    return bool(fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ASYNC)


def watch_files(report: Callable[[str], None], idle: _thread.LockType | None = None) -> None:
    """Call `report`, from a thread, with the name of a pipe or device as soon as this process opens one.

    While the process holds `idle`, nothing is looked at.
    """
    may_look = idle or _thread.allocate_lock()
    open_before = {number for number, _ in _descriptors()}

    def look() -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            with may_look:
                pass
            for name in (*_open_endless_files(open_before), *_blocking_pipes()):
                report(name)
                return

    _thread.start_new_thread(look, ())


def _descriptors() -> Iterator[tuple[int, os.stat_result]]:
    try:
        numbers = [int(name) for name in os.listdir("/proc/self/fd")]
    except OSError:  # no /proc
        numbers = list(range(64))
    for number in numbers:
        with suppress(OSError):
            yield number, os.fstat(number)


def _open_endless_files(ignored: set[int]) -> Iterator[str]:
    """Yield open files without an end."""
    for number, state in _descriptors():
        if number in ignored or not is_endless(state):
            continue
        try:
            yield os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            yield "a file"


def is_endless(state: os.stat_result) -> bool:
    """Return whether reading a file may never end."""
    is_null = (os.major(state.st_rdev), os.minor(state.st_rdev)) == _NULL
    return not (S_ISREG(state.st_mode) or S_ISDIR(state.st_mode) or is_null)


def _blocking_pipes() -> Iterator[str]:
    """Yield pipes whose opening a thread waits for: open(2) returns only when a writer comes."""
    calls = _MACHINES.get(platform.machine())
    arguments = dict(calls.opens) if calls else {}
    with suppress(OSError):
        for thread in os.listdir("/proc/self/task"):
            with suppress(OSError, ValueError):
                with open(f"/proc/self/task/{thread}/syscall", encoding="ascii") as file:
                    number, *values = file.read().split()
                if number.isdecimal() and int(number) in arguments:
                    name = _string_at(int(values[arguments[int(number)]], 16))
                    if S_ISFIFO(os.stat(name).st_mode):
                        yield os.fsdecode(name)


def _string_at(address: int) -> bytes:
    """Return the string at an address of this process."""
    with open("/proc/self/mem", "rb", buffering=0) as memory:
        memory.seek(address)
        return memory.read(4096).partition(b"\0")[0]

"""A text that lacks a standard header is told which one: as the compiler's own headers have the names."""

from __future__ import annotations

import subprocess

import pytest

from layoutlint.readers.clang import standard_names
from tests.harness.command import run
from tests.harness.tools import need

MEMBERS = (
    "size_t x", "max_align_t x", "uint32_t x", "int_fast16_t x", "uintptr_t x", "va_list x", "FILE *x", "div_t x", "char x[PATH_MAX]",
    "char x[CHAR_BIT]", "time_t x", "struct timespec x", "struct timeval x", "ssize_t x", "pid_t x", "sigset_t x", "struct sigaction x",
    "jmp_buf x", "wchar_t x", "char16_t x", "pthread_t x", "pthread_mutex_t x", "pthread_rwlock_t x", "sem_t x", "mtx_t x", "atomic_long x",
    "atomic_uint_fast32_t x", "socklen_t x", "struct sockaddr_storage x", "struct sockaddr_in6 x", "struct sockaddr_un x",
    "struct iovec x", "struct stat x", "struct pollfd x", "struct epoll_event x", "DIR *x", "struct termios x", "regex_t x",
)  # fmt: skip


@pytest.mark.one_in(8)
@pytest.mark.parametrize("member", MEMBERS)
def test_the_named_header_mends_it(tmp_path, member):
    path = tmp_path / "s.h"
    path.write_text(f"struct s {{ {member}; }};\n")
    done = run("show", path, "s")
    assert done.returncode == 3
    header = done.stderr.partition("-include ")[2].partition("`")[0]
    assert header, done.stderr
    assert run("show", path, "s", "--", "-include", header).returncode == 0
    subprocess.run([need("gcc"), "-D_GNU_SOURCE", "-include", header, "-fsyntax-only", "-x", "c", path], check=True)


@pytest.mark.parametrize("message", [
    "unknown type name 'my_t'", "use of undeclared identifier 'N'", "field has incomplete type 'struct gone'", "expected ';'",
    "unknown type name 'pthread_tt'", "unknown type name 'myuint32_t'", "field has incomplete type 'struct timespec2'",
])  # fmt: skip
def test_other_names(message):
    assert standard_names.remedy(message) is None

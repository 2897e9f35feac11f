"""The headers in which C and POSIX declare names that texts use without including them."""

from __future__ import annotations

import re
from typing import Final

_BY_HEADER: Final = {
    "stddef.h": "size_t ptrdiff_t max_align_t offsetof",
    "stdint.h": r"u?int(?:_fast|_least)?(?:8|16|32|64)_t u?int(?:ptr|max)_t SIZE_MAX U?INT\w+_(?:MAX|MIN|C)",
    "stdarg.h": "va_list",
    "stdio.h": "FILE fpos_t BUFSIZ FILENAME_MAX",
    "stdlib.h": "div_t ldiv_t",
    "limits.h": "PATH_MAX NAME_MAX IOV_MAX U?(?:CHAR|SHRT|INT|LONG|LLONG)_(?:MAX|MIN|BIT)",
    "time.h": "time_t clock_t timer_t struct(?:tm|timespec|itimerspec)",
    "sys/time.h": "suseconds_t struct(?:timeval|itimerval)",
    "sys/types.h": "ssize_t off_t pid_t uid_t gid_t mode_t dev_t ino_t nlink_t blksize_t blkcnt_t id_t key_t",
    "signal.h": "sig_atomic_t sigset_t siginfo_t stack_t structsigaction",
    "setjmp.h": "jmp_buf sigjmp_buf",
    "wchar.h": "wchar_t wint_t mbstate_t",
    "uchar.h": "char16_t char32_t",
    "locale.h": "locale_t structlconv",
    "pthread.h": r"pthread_(?:\w+_)?t",
    "semaphore.h": "sem_t",
    "threads.h": "mtx_t cnd_t thrd_t tss_t once_flag",
    "stdatomic.h": r"atomic_\w+ memory_order",
    "sys/socket.h": "socklen_t sa_family_t struct(?:sockaddr|sockaddr_storage|msghdr|linger)",
    "netinet/in.h": "in_addr_t in_port_t struct(?:in_addr|in6_addr|sockaddr_in|sockaddr_in6)",
    "sys/un.h": "structsockaddr_un",
    "sys/uio.h": "structiovec",
    "sys/stat.h": "structstat",
    "poll.h": "nfds_t structpollfd",
    "sys/epoll.h": "structepoll_event epoll_data_t",
    "dirent.h": "DIR structdirent",
    "termios.h": "tcflag_t speed_t cc_t structtermios",
    "regex.h": "regex_t regmatch_t",
    "complex.h": "complex",
    "stdbool.h": "bool",
}
"""Patterns of names. A word `struct` is directly before its tag, as in `_NAME`."""
_NAME: Final = re.compile(
    r"(?:unknown type name|use of undeclared identifier|\w+ has incomplete (?:element )?type)"
    r" '(struct )?(\w+)'"
)
_HEADERS: Final = {
    header: re.compile("|".join(f"(?:{pattern})" for pattern in patterns.split()))
    for header, patterns in _BY_HEADER.items()
}
_SINCE_C23: Final = "C has it since C23 (-std=gnu23), and before that in <stdbool.h>"

OF_ALIGNAS: Final = (
    "C has it since C23 (-std=gnu23), and before that in <stdalign.h>; `_Alignas` compiles since C11"
)


def remedy(message: str) -> str | None:
    """Return where C or POSIX declares the name that a message of clang misses; None for another message."""
    found = _NAME.match(message)
    if found is None:
        return None
    name = "".join(filter(None, found.groups())).replace(" ", "")
    header = next((header for header, names in _HEADERS.items() if names.fullmatch(name)), None)
    if header is None:
        return None
    return _SINCE_C23 if name == "bool" else f"include <{header}> before it, or add `-include {header}`"

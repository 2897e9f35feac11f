"""How often functions run, estimated from the calls between them, or known from a profile."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from fnmatch import fnmatchcase

from layoutlint.model.record import Record, field
from layoutlint.model.uses import plain_name
from layoutlint.sources.whole_program import rare_work
from layoutlint.sources.whole_program.phases import Phase, phase_of
from layoutlint.sources.whole_program.program import Program

ENTRIES = (
    r"__(?:x64|arm64|s390x?|riscv|se)_sys(?>\w*?_)\w+|sys_\w+|ksys_\w+",
    r"handle_mm_fault|do_user_addr_fault|exc_page_fault|do_page_fault",
    r"__do_softirq|handle_softirqs|net_rx_action|net_tx_action|run_timer_softirq|rcu_core|tasklet_action\w*|blk_done_softirq",
    r"scheduler_tick|sched_tick|update_process_times|schedule|__schedule|try_to_wake_up|hrtimer_interrupt",
    r"ip_rcv|ip6?_input|__netif_receive_skb\w*|netif_receive_skb\w*|napi_gro_receive|dev_queue_xmit|__dev_queue_xmit|submit_bio\w*|bio_endio|blk_mq_complete_request",
    r"exit_to_user_mode\w*|task_work_run|main|worker_thread|kthread",
)
"""The functions at which work arrives: system calls, faults, interrupts, packets, blocks, time."""
_ENTRY = re.compile("|".join(ENTRIES))
_HOT_SYSTEM_CALLS = re.compile(
    r".*sys_(?:read|write|pread64|pwrite64|readv|writev|open|openat|close|stat|newstat|newfstatat|fstat|lseek|mmap\w{0,64}|"
    r"munmap|brk|futex\w{0,64}|poll|ppoll|select|epoll_\w{1,64}|recv\w{0,64}|send\w{0,64}|accept4?|execve|clone\d?|fork|vfork|exit\w{0,64}|wait4|"
    r"nanosleep|clock_\w{1,64}|sched_yield|getpid|io_uring_enter|access|faccessat|unlink\w{0,64}|rename\w{0,64}|fsync|dup\d?|fcntl)"
)
_ROUNDS = 24
_LEAST = 1e-6
_STATIC_SHARE, _PROFILED = 0.05, 100.0
"""How much the calls count beside a profile, and the heat of a function that has all samples."""
_KEPT = 0.55
"""The share of a function's heat that each of its calls passes on."""
_MOST = 64.0
_PHASE_SHARES = {
    Phase.SETUP: 0.1, Phase.TEARDOWN: 0.15, Phase.SHOWING: 0.02, Phase.SETTING: 0.02, Phase.FAILING: 0.02,
    Phase.NORMAL: 1.0,
}  # fmt: skip


class EntryPoints(Record, frozen=True):
    """The functions where work arrives, and their weights in a profile."""

    is_kernel: bool
    own: Mapping[str, float] = field(default_factory=dict)
    """Names or patterns of entry points with their weights, from rule files; they come first."""
    profile: Mapping[str, float] = field(default_factory=dict)
    """The share of samples in each function, by name; if there is one, it decides most."""


def heat_of_functions(
    program: Program, entries: EntryPoints, of_threads: Mapping[str, float] | None = None
) -> Mapping[str, float]:
    """Return the heat of each function: how often it runs, in runs of an entry point.

    `of_threads` is the heat without a profile, if a program says where its threads begin.
    """
    edges = {} if of_threads else edges_of(program, entries.is_kernel)
    total = of_threads or spread(entry_weights(program, edges, entries), edges)
    if not entries.profile:
        return total
    return {
        key: value * _STATIC_SHARE + _PROFILED * entries.profile.get(plain_name(key), 0.0)
        for key, value in total.items()
    }


def entry_weights(
    program: Program, edges: Mapping[str, Mapping[str, float]], entries: EntryPoints
) -> dict[str, float]:
    """Return how often each function runs apart from calls in the program."""
    called = {target for targets in edges.values() for target in targets}
    has_main = any(plain_name(key) == "main" for key in program.functions)
    return {
        key: _entry_weight(key, key not in called and not has_main, key in program.referenced, entries)
        for key in program.functions
    }


def spread(own: Mapping[str, float], edges: Mapping[str, Mapping[str, float]]) -> dict[str, float]:
    """Return the heat of functions that run on their own so often, and whenever others call them."""
    total = dict(own)
    for _ in range(_ROUNDS):
        following = dict(own)
        for key, targets in edges.items():
            given = min(total.get(key, 0.0), _MOST) * _KEPT
            if given > _LEAST:
                for target, weight in targets.items():
                    following[target] = following.get(target, 0.0) + given * weight
        total = following
    return total


def _entry_weight(key: str, is_root: bool, is_stored: bool, entries: EntryPoints) -> float:
    name = plain_name(key)
    for pattern, weight in entries.own.items():
        if fnmatchcase(name, pattern):
            return weight
    if not entries.is_kernel:
        share = _PHASE_SHARES[phase_of(name)]
        return 1.0 if name == "main" else 0.5 * share if is_stored else 0.2 * share if is_root else 0.0
    if _HOT_SYSTEM_CALLS.fullmatch(name):
        return 1.0
    if _ENTRY.fullmatch(name):
        return 0.3 if "sys_" in name else 2.0
    return 0.05 * _PHASE_SHARES[phase_of(name)] if is_root else 0.0


def _phase_share(name: str, is_kernel: bool) -> float:
    share = _PHASE_SHARES[phase_of(name)]
    return share if is_kernel else share * rare_work.share_of_name(name)


def edges_of(program: Program, is_kernel: bool) -> dict[str, dict[str, float]]:
    """Return how often each function calls others, for each call of it."""
    edges: dict[str, dict[str, float]] = {}
    for key, function in program.functions.items():
        out: dict[str, float] = defaultdict(float)
        for call in function.calls:
            targets = program.targets(call)
            for target in targets:
                out[target] += call.weight / len(targets) ** 0.5
        for target, stored in function.targets:
            is_callback = stored is None and target in program.functions and target not in out
            if is_callback and not program.is_followed(key, target):
                out[target] += 0.2
        edges[key] = {
            target: min(weight, 4.0) * _phase_share(plain_name(target), is_kernel)
            for target, weight in out.items()
            if target != key
        }
    return edges

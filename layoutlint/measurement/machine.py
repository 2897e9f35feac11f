"""The machine that measures: its cores, caches, load and compiler."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator

from layoutlint import files
from layoutlint.model.record import Record
from layoutlint.model.target import UNAMES
from layoutlint.phrases import quantity

_CPUS = "/sys/devices/system/cpu"
_PROC = "/proc"
_COMPILERS = ("cc", "gcc", "clang")
_MOST = 1 << 20
"""Bytes that are read of a file of the system: cpuinfo of a thousand processors has more."""
_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20}


class CannotMeasure(Exception):
    """Raised if this machine cannot tell what was asked; the text has the numbers."""


class Machine(Record, frozen=True):
    """The properties of the machine that a reader of a measurement needs."""

    model: str
    """The name of the processor; empty if the system does not state it."""
    is_virtual: bool
    """Whether the processor states that a hypervisor runs it."""
    cores: tuple[int, ...]
    """The logical processors that measured, each on a physical core of its own."""
    available: int
    """Logical processors on which this process may run."""
    line_size: int
    second_level: int | None
    """Bytes of the second-level cache of a core; None if the system does not state it."""
    compiler: str
    """The path of the compiler."""
    compiler_version: str


def choose_cores(number: int, chosen: tuple[int, ...] = (), root: str = _CPUS) -> tuple[int, ...]:
    """Return logical processors on different physical cores: those chosen, or the first ones.

    Raises CannotMeasure if there are too few, or if the system does not state which are one core.
    """
    allowed = allowed_processors()
    cores = _physical_cores(allowed, root)
    if chosen:
        return _check_chosen(number, chosen, allowed, cores)
    if len(cores) < number:
        shared = f", which are hardware threads of {quantity(len(cores), 'core')}"
        threads = shared if len(allowed) > 1 else ""
        raise CannotMeasure(
            f"{number} cores are needed, and this process may use {quantity(len(allowed), 'processor')}"
            f"{threads}: {_spell_cpus(allowed)}"
        )
    return tuple(siblings[0] for siblings in cores[:number])


def count_cores(root: str = _CPUS) -> int:
    """Return the number of physical cores on which this process may run; 0 if it is unknown."""
    try:
        return len(_physical_cores(allowed_processors(), root))
    except CannotMeasure:
        return 0


def _check_chosen(
    number: int, chosen: tuple[int, ...], allowed: tuple[int, ...], cores: list[tuple[int, ...]]
) -> tuple[int, ...]:
    for cpu in chosen:
        if cpu not in allowed:
            raise CannotMeasure(f"this process may not use processor {cpu}, only {_spell_cpus(allowed)}")
    if len(chosen) < number:
        raise CannotMeasure(f"{number} cores are needed, and {quantity(len(chosen), 'processor')} chosen")
    core_of = {cpu: siblings for siblings in cores for cpu in siblings}
    own = chosen[:number]
    if len({core_of[cpu] for cpu in own}) < number:
        raise CannotMeasure(f"the processors {_spell_cpus(own)} are hardware threads of one core")
    return own


def allowed_processors() -> tuple[int, ...]:
    """Return the logical processors on which this process may run. Raises CannotMeasure."""
    try:
        return tuple(sorted(os.sched_getaffinity(0)))
    except (AttributeError, OSError) as error:
        raise CannotMeasure("this system does not let a process choose its processors") from error


def _physical_cores(allowed: tuple[int, ...], root: str) -> list[tuple[int, ...]]:
    """Return the allowed processors of each physical core, in order."""
    cores: dict[object, list[int]] = {}
    for cpu in allowed:
        cores.setdefault(_siblings(cpu, root), []).append(cpu)
    return [tuple(each) for each in cores.values()]


def _siblings(cpu: int, root: str) -> object:
    """Return a key for the physical core of a processor."""
    topology = f"{root}/cpu{cpu}/topology"
    for name in ("core_cpus_list", "thread_siblings_list"):  # the second is the old name
        text = _read(f"{topology}/{name}")
        if re.fullmatch(r"[0-9,-]+", text):
            return text
    package, core = _read(f"{topology}/physical_package_id"), _read(f"{topology}/core_id")
    if not (package.isdecimal() and core.isdecimal()):
        raise CannotMeasure(f"{topology} does not state the core of processor {cpu}")
    return package, core


def cache_sizes(cpu: int, root: str = _CPUS) -> tuple[int | None, int | None]:
    """Return the bytes of a cache line and of the second-level cache; None for what is not stated."""
    line, second = None, None
    for index in range(8):
        folder = f"{root}/cpu{cpu}/cache/index{index}"
        level, kind = _read(f"{folder}/level"), _read(f"{folder}/type")
        if level == "1" and kind in ("Data", "Unified"):
            line = _bytes(_read(f"{folder}/coherency_line_size"))
        if level == "2" and kind in ("Data", "Unified"):
            second = _bytes(_read(f"{folder}/size"))
    return line or _sysconf_number("SC_LEVEL1_DCACHE_LINESIZE"), second or _sysconf_number(
        "SC_LEVEL2_CACHE_SIZE"
    )


def _sysconf_number(name: str) -> int | None:
    """Return a number of sysconf; None if it states none."""
    try:
        return os.sysconf(name) or None
    except (ValueError, OSError):
        return None


def _bytes(text: str) -> int | None:
    match = re.fullmatch(r"([0-9]{1,9})([KM]?)", text)
    return int(match[1]) * _UNITS[match[2]] if match else None


def processor(root: str = _PROC) -> tuple[str, bool]:
    """Return the name of the processor, empty if it is not stated, and whether a hypervisor runs it."""
    text = _read(f"{root}/cpuinfo")
    names = re.search(r"^(?:model name|cpu model|Processor|uarch)\s*:[ \t]*(.+)$", text, re.M)
    flags = re.search(r"^flags\s*:(.*)$", text, re.M)
    return (names[1].strip() if names else ""), bool(flags and " hypervisor" in flags[1])


def foreign_layouts(targets: Iterable[str]) -> Iterator[str]:
    """Yield a sentence for each architecture of a layout that is not this machine's."""
    name = os.uname().machine
    own = UNAMES.get(name, name)
    for target in dict.fromkeys(targets):
        if target != own and not target.startswith("unknown"):
            yield f"the layout is of {target}, and the accesses are measured on {own}"


def stolen_ticks(root: str = _PROC) -> tuple[int, int]:
    """Return the time that a hypervisor took from the processors, and all time; 0, 0 if unknown (ticks)."""
    match = re.match(r"cpu\s+((?:[0-9]+ ?)+)", _read(f"{root}/stat"))
    times = tuple(map(int, match[1].split())) if match else ()
    return (times[7], sum(times[:8])) if len(times) > 7 else (0, 0)


def load() -> float | None:
    """Return the average number of processes that ran in the last minute; None if the system keeps none."""
    try:
        return round(os.getloadavg()[0], 2)
    except (AttributeError, OSError):
        return None


def search_path() -> str:
    """Return the absolute folders of PATH: a relative one can be in a hostile tree."""
    folders = os.environ.get("PATH", os.defpath).split(os.pathsep)
    return os.pathsep.join(folder for folder in folders if os.path.isabs(folder))


def find_compiler() -> str:
    """Return the path of a C compiler. Raises CannotMeasure."""
    from shutil import which

    for name in _COMPILERS:
        path = which(name, path=search_path())
        if path is not None:
            return path
    raise CannotMeasure(f"no C compiler ({', '.join(_COMPILERS)}) is in a folder of PATH; install one")


def _read(path: str) -> str:
    """Return the text of a file of the system, without white space around it; empty if there is none."""
    try:
        return files.read_start(path, _MOST).decode("utf-8", "replace").strip()
    except OSError:
        return ""


def _spell_cpus(cpus: Iterable[int]) -> str:
    return ", ".join(map(str, cpus))

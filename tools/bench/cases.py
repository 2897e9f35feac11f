"""What is measured, and what must hold of it: the commands of each tool on one vmlinux, and the limits.

Every limit is an upper one on layoutlint's share of another tool's figure: "eight times faster" is a share of 1/8.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from tests.harness.command import ROOT
from tests.real import kernels
from tools.bench import peers, sources
from tools.bench.process import Command

FINDINGS = (0, 1)
"""Exit statuses of a `check` that did its work."""
JOBS = RULED, EVERY, TWO, ONE, AROUND, BTF, HEADERS, SMALL, MANY, FOLDER, SAMPLES, START = (
    "structs of the rules", "every struct", "two kernels", "one struct", "what embeds a struct", "from BTF", "from a header",
    f"{sources.SMALL} small units", f"{sources.MANY} units", "a folder of a kernel", f"{sources.SAMPLES:,} samples",
    "start-up",
)  # fmt: skip
WITHOUT_KERNEL = (SMALL, MANY)
"""The jobs that need no kernel, and no tool that has to be built."""
"""What is asked of the tools; cases of one job stand beside each other."""
HEADER = "linux/fs.h"
EMBEDDED = ("rw_semaphore", "spinlock", "address_space")
"""Structs whose containers are asked for: of 55 structs, of 500, and of 11."""
DATABASE = "compile_commands.json"
FOLDER_OF_KERNEL, LARGEST = "mm", "mm/vmscan.c"
LOOK_UP = Path(__file__).with_name("look_up.py")
CONSOLE_SCRIPT = Path(sys.executable).with_name("layoutlint")


@dataclass(frozen=True, slots=True)
class Inputs:
    """What the tools read: a vmlinux, the struct that is looked up in it, and where an interpreted copy of the
    package is, if the one that is measured is compiled."""

    vmlinux: Path
    struct: str = "address_space"
    interpreted: Path | None = None


@dataclass(frozen=True, slots=True)
class Case:
    """One command of one tool. `command` raises Unavailable, of peers or of kernels, where it cannot be run."""

    key: str
    tool: str
    what: str
    job: str
    command: Callable[[], Command]


@dataclass(frozen=True, slots=True)
class Limit:
    """What must hold: a quantity of one case is at most `limit` times that of another, or at most `limit` itself.

    With `is_more` it is at most `limit` more than that of the other.
    """

    ours: str
    theirs: str | None
    quantity: str
    """`wall` or `cpu`, in seconds, or `private` or `resident`, in MB."""
    limit: float
    demand: str
    """The limit in words."""
    is_more: bool = False


LIMITS = (
    Limit("check", "layout-audit", "wall", 0.7, "at most 0.7 times"),
    Limit("check", "pahole-sizes", "wall", 1 / 8, "at least 8 times faster"),
    Limit("check", "pahole-sizes", "private", 1 / 10, "at most a tenth"),
    Limit("show-all", "pahole", "wall", 1 / 4, "at least 4 times faster"),
    Limit("diff", "checks", "wall", 2, "at most 2 s more", is_more=True),
    Limit("show", "drgn", "wall", 1.3, "at most 1.3 times"),
    *(Limit(f"containers-{name}", "check", "wall", 0.3, "at most 0.3 s more", is_more=True) for name in EMBEDDED),
    Limit("containers-btf", "check-btf", "wall", 0.3, "at most 0.3 s more", is_more=True),
    Limit("check-btf", "padlock", "wall", 1.5, "at most 1.5 times"),
    Limit("check-header", "libclang", "wall", 3, "at most 3 times"),
    Limit("check-ring", "parse-ring", "cpu", 0.15, "at most 0.15 s more", is_more=True),
    Limit("infer-small", "parse-small", "cpu", 0.6, "at most 0.6 times"),
    Limit("check-many", "parse-many", "cpu", 0.6, "at most 0.6 times"),
    Limit("check-since", "parse-reached", "cpu", 0.7, "at most 0.7 times"),
    Limit("check-generic", "infer-many", "cpu", 1.1, "at most 1.1 times"),
    Limit("infer-folder", "parse-folder", "cpu", 0.45, "at most 0.45 times"),
    Limit("infer-unit", "parse-unit", "resident", 1.2, "at most 1.2 times"),
    Limit("evidence", "mawk", "cpu", 3, "at most 3 times"),
    Limit("evidence", None, "resident", 200, "within 200 MB"),
    Limit("version", None, "wall", 0.12, "within 0.12 s"),
)


def cases(inputs: Inputs) -> tuple[Case, ...]:
    """All cases, in the order in which a round runs them."""
    found = (*_dwarf(inputs), *_two_kernels(inputs), *_btf(inputs), *_headers(), *small(), *_folder(), *_samples(), *_start_up())
    return tuple(sorted(found, key=lambda case: JOBS.index(case.job)))


def layoutlint(*arguments: str, shows: str, folder: Path = ROOT) -> Command:
    """The command line of the package in a folder, by the interpreter that runs the bench."""
    statuses = FINDINGS if arguments[0] in ("check", "diff") else (0,)
    return Command((sys.executable, "-m", "layoutlint", *_cold_arguments(arguments)), shows, statuses, folder)


def _cold_arguments(arguments: tuple[str, ...]) -> tuple[str, ...]:
    """The arguments of a run that reads its input, whatever ran before; only commands with inputs have the option."""
    return arguments if arguments[0].startswith("-") else (arguments[0], "--no-cache", *arguments[1:])


def check(vmlinux: Path, inputs: Inputs, folder: Path = ROOT) -> Command:
    """`check` by the shipped rules, from DWARF."""
    return layoutlint("check", "-v", "--reader", "dwarf", str(vmlinux), shows=inputs.struct, folder=folder)


def show(vmlinux: Path, inputs: Inputs, folder: Path = ROOT) -> Command:
    """`show` of one struct, from DWARF."""
    return layoutlint("show", "--reader", "dwarf", str(vmlinux), inputs.struct, shows=inputs.struct, folder=folder)


def containers(vmlinux: Path, reader: str, name: str) -> Command:
    """`containers` of a struct of Linux."""
    return layoutlint("containers", "--reader", reader, str(vmlinux), name, shows=f"struct {name}")


def layout_audit(vmlinux: Path, inputs: Inputs) -> Command:
    """layout-audit on the structs whose names hold one text: it takes no list of names."""
    words = ("inspect", "--filter", inputs.struct, "-o", "json", str(vmlinux))
    return Command((*peers.layout_audit().words, *words), inputs.struct)


def pahole(vmlinux: Path, inputs: Inputs, *options: str) -> Command:
    """pahole on all structs."""
    return Command((*peers.pahole().words, *options, str(vmlinux)), inputs.struct)


def drgn(vmlinux: Path, inputs: Inputs) -> Command:
    """drgn's look-up of one struct."""
    return Command((*peers.drgn().words, str(LOOK_UP), str(vmlinux), inputs.struct), f"struct {inputs.struct} {{")


def _dwarf(inputs: Inputs) -> tuple[Case, ...]:
    vmlinux, struct = inputs.vmlinux, inputs.struct
    all_json = ("show", "--reader", "dwarf", "--all", "--format", "json", str(vmlinux))
    found = [
        Case("check", "layoutlint", "check -v", RULED, lambda: check(vmlinux, inputs)),
        Case("layout-audit", "layout-audit", f"inspect --filter {struct} -o json", RULED, lambda: layout_audit(vmlinux, inputs)),
        Case("pahole-sizes", "pahole", "-F dwarf --sizes -j2", RULED,
             lambda: pahole(vmlinux, inputs, "-F", "dwarf", "--sizes", "-j2")),
        Case("show-all", "layoutlint", "show --all --format json", EVERY, lambda: layoutlint(*all_json, shows=f'"{struct}"')),
        Case("pahole", "pahole", "-F dwarf", EVERY, lambda: pahole(vmlinux, inputs, "-F", "dwarf")),
        Case("show", "layoutlint", f"show {struct}", ONE, lambda: show(vmlinux, inputs)),
        Case("drgn", "drgn", f"look-up of {struct}", ONE, lambda: drgn(vmlinux, inputs)),
    ]  # fmt: skip
    found += [
        Case(f"containers-{name}", "layoutlint", f"containers {name}", AROUND, partial(containers, vmlinux, "dwarf", name))
        for name in EMBEDDED
    ]
    copy = inputs.interpreted
    if copy is not None:
        found += [
            Case("check-interpreted", "layoutlint, interpreted", "check -v", RULED, lambda: check(vmlinux, inputs, copy)),
            Case("show-interpreted", "layoutlint, interpreted", f"show {struct}", ONE, lambda: show(vmlinux, inputs, copy)),
        ]
    return tuple(found)


def _two_kernels(inputs: Inputs) -> tuple[Case, ...]:
    return (
        Case("diff", "layoutlint", "diff --format json", TWO, lambda: _diff(inputs)),
        Case("checks", "layoutlint", "check -v of each", TWO, lambda: _checks(inputs)),
    )  # fmt: skip


def _diff(inputs: Inputs) -> Command:
    """`diff` of the vmlinux and of Debian's newest one: of all their structs."""
    sides = str(inputs.vmlinux), str(kernels.fetch("newest"))
    return layoutlint("diff", "--reader", "dwarf", "--format", "json", *sides, shows=f'"{inputs.struct}"')


def _checks(inputs: Inputs) -> Command:
    """`check` of each of the two, one after the other."""
    one = check(inputs.vmlinux, inputs)
    both = str(inputs.vmlinux), str(kernels.fetch("newest"))
    script = 'old=$1 new=$2; shift 2; "$@" "$old"; test $? -le 1 && "$@" "$new"'
    return replace(one, words=("sh", "-c", script, "sh", *both, *one.words[:-1]))


def _btf(inputs: Inputs) -> tuple[Case, ...]:
    vmlinux = str(inputs.vmlinux)
    return (
        Case("check-btf", "layoutlint", "check -v --reader btf", BTF,
             lambda: layoutlint("check", "-v", "--reader", "btf", vmlinux, shows=inputs.struct)),
        Case("containers-btf", "layoutlint", f"containers --reader btf {EMBEDDED[0]}", BTF,
             lambda: containers(inputs.vmlinux, "btf", EMBEDDED[0])),
        Case("padlock", "padlock", "bpf --no-cache --json", BTF,
             lambda: Command((*peers.padlock().words, "bpf", "--no-cache", "--json", vmlinux), f'"{inputs.struct}"')),
        Case("pahole-btf", "pahole", "-F btf --sizes", BTF,
             lambda: pahole(inputs.vmlinux, inputs, "-F", "btf", "--sizes")),
    )  # fmt: skip


def _headers() -> tuple[Case, ...]:
    return (
        Case("check-header", "layoutlint", f"check -v {HEADER}", HEADERS, _check_header),
        Case("check-tree", "layoutlint", "check of a header tree", HEADERS,
             lambda: layoutlint("check", str(kernels.fetch("next-headers")), shows="kept")),
        Case("libclang", "libclang", f"parse of {HEADER}", HEADERS, _parse),
    )  # fmt: skip


def _check_header() -> Command:
    """The header of a header package, whose common part lies beside the configured one."""
    tree = kernels.fetch("next-headers")
    header = next(tree.parent.glob(f"*-common/include/{HEADER}"))
    return layoutlint("check", "-v", str(header), "--", f"O={tree}", shows="address_space")


def _parse() -> Command:
    tree = kernels.fetch("next-headers")
    return Command((sys.executable, "-m", "tools.bench.parse", str(tree), HEADER), folder=ROOT)


def small() -> tuple[Case, ...]:
    """What is made for the bench."""
    home = peers.home() / "sources"
    folder, many = home / "small", home / "many"
    return (
        Case("check-ring", "layoutlint", "check ring.h", SMALL, lambda: _in_folder(sources.small_header(home / "ring").parent, "check", "ring.h", shows="ring")),
        Case("parse-ring", "libclang", "parse of ring.h", SMALL, lambda: _parse_header(home / "ring")),
        Case("infer-small", "layoutlint", "infer compile_commands.json", SMALL, lambda: _in_folder(sources.small_units(folder).parent, "infer", DATABASE, shows="units read")),
        Case("parse-small", "libclang", "parse", SMALL, lambda: _parse_units(folder, (str(sources.small_units(folder)),))),
        Case("check-many", "layoutlint", "check compile_commands.json", MANY, lambda: _in_folder(sources.many_units(many).parent, "check", DATABASE, shows="h3_7")),
        Case("check-since", "layoutlint", "check compile_commands.json --since HEAD~1", MANY,
             lambda: _in_folder(sources.many_units(many).parent, "check", DATABASE, "--since", "HEAD~1", shows="can read")),
        Case("check-generic", "layoutlint", "check --pack generic compile_commands.json", MANY,
             lambda: _in_folder(sources.many_units(many).parent, "check", "--pack", "generic", DATABASE, shows="structs by clang")),
        Case("infer-many", "layoutlint", "infer compile_commands.json", MANY, lambda: _in_folder(sources.many_units(many).parent, "infer", DATABASE, shows="units read")),
        Case("parse-many", "libclang", "parse", MANY, lambda: _parse_units(many, (str(sources.many_units(many)),))),
        Case("parse-reached", "libclang", f"parse of the {sources.REACHED} units that changed", MANY,
             lambda: _parse_units(many, (str(sources.many_units(many)),), (), tuple(f"u{number}.c" for number in range(sources.REACHED)))),
    )  # fmt: skip


def _in_folder(folder: Path, *arguments: str, shows: str) -> Command:
    """A command in the folder of a project."""
    command = layoutlint(*arguments, shows=shows, folder=folder)
    return replace(command, statuses=(0, 1)) if arguments[0] == "infer" else command


def _parse_header(folder: Path) -> Command:
    sources.small_header(folder)
    script = "import clang.cindex as c; c.Index.create().parse('ring.h', ['-xc'])"
    return Command((sys.executable, "-c", script), folder=folder)


def _parse_units(folder: Path, inputs: tuple[str, ...], flags: tuple[str, ...] = (), names: tuple[str, ...] = ()) -> Command:
    return Command((sys.executable, "-m", "tools.bench.parse_units", str(sources.parses(folder, inputs, flags, names))), folder=ROOT)


def _folder() -> tuple[Case, ...]:
    return (
        Case("infer-folder", "layoutlint", f"infer {FOLDER_OF_KERNEL}", FOLDER, lambda: _infer_kernel(FOLDER_OF_KERNEL)),
        Case("parse-folder", "libclang", f"parse of {FOLDER_OF_KERNEL}", FOLDER, lambda: _parse_kernel(FOLDER_OF_KERNEL)),
        Case("infer-unit", "layoutlint", f"infer {LARGEST}", FOLDER, lambda: _infer_kernel(LARGEST)),
        Case("parse-unit", "libclang", f"parse of {LARGEST}", FOLDER, lambda: _parse_kernel(LARGEST)),
    )


def _infer_kernel(path: str) -> Command:
    tree, build = kernels.fetch("source"), kernels.fetch("headers")
    return layoutlint("infer", str(tree / path), "--", f"O={build}", shows="units read")


def _parse_kernel(path: str) -> Command:
    tree, build = kernels.fetch("source"), kernels.fetch("headers")
    return _parse_units(peers.home() / "sources", (str(tree / path),), (f"O={build}",))


def _samples() -> tuple[Case, ...]:
    folder = peers.home() / "sources" / "samples"
    return (
        Case("evidence", "layoutlint", "evidence samples.txt", SAMPLES, lambda: _evidence(folder)),
        Case("mawk", "mawk", "{n[$6]++}", SAMPLES, lambda: _mawk(folder)),
    )


def _evidence(folder: Path) -> Command:
    samples = sources.samples(folder)
    base = f"shards={sources.SAMPLED:#x}"
    return layoutlint("evidence", samples.name, "--in", "shards", "--base-of", base, shows="struct shard", folder=folder)


def _mawk(folder: Path) -> Command:
    if shutil.which("mawk") is None:
        raise peers.Unavailable("mawk is not installed")
    samples = sources.samples(folder)
    return Command(("mawk", "{n[$6]++} END {for (k in n) print k, n[k]}", samples.name), folder=folder)


def _start_up() -> tuple[Case, ...]:
    return (
        Case("python", "Python", "-c pass", START, lambda: Command((sys.executable, "-c", "pass"))),
        Case("version", "layoutlint", "--version", START, lambda: layoutlint("--version", shows="layoutlint")),
        Case("script", "layoutlint", "--version, console script", START, _console_script),
    )


def _console_script() -> Command:
    if not CONSOLE_SCRIPT.exists():
        raise peers.Unavailable("the interpreter's environment has no console script of layoutlint")
    return Command((str(CONSOLE_SCRIPT), "--version"), "layoutlint")

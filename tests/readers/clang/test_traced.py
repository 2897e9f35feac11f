"""What reading C text does to the system, as strace shows it: no program, no library from elsewhere, no file written."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from layoutlint.readers.clang import cross_target, flags, option_table
from tests.harness.command import ROOT
from tests.harness.effort import IS_FULL
from tests.readers.clang.test_flags import DEFINING, DOUBTFUL, REFUSED, UNKNOWN
from tests.readers.clang.test_loading import COMMANDS, hostile_checkout  # noqa: F401
from tests.readers.clang.test_options import COMMON

pytestmark = pytest.mark.exhaustive
CALLS = (
    "execve,execveat,fork,vfork,open,openat,openat2,creat,rename,renameat,renameat2,unlink,unlinkat,mkdir,mkdirat,rmdir,"
    "link,linkat,symlink,symlinkat,mknod,mknodat,chmod,fchmod,fchmodat,truncate,ftruncate,socket,connect"
)
_CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)", re.MULTILINE)
_NAME = re.compile(r'"((?:[^"\\]|\\.)*)"')
_SYSTEM = ("/lib/", "/lib64/", "/usr/lib/", "/usr/lib64/", "/usr/local/lib/", "/etc/")
TOOLS = (
    "amdgpu-arch", "nvptx-arch", "offload-arch", "clang", "clang-18", "cc1", "gcc", "cc", "as", "ld", "ld.lld", "lld", "xcrun",
    "llvm-link", "opt", "clang-offload-bundler", "ptxas", "fatbinary", "x86_64-linux-gnu-gcc", "x86_64-linux-gnu-as",
)  # fmt: skip
SYSTEMS = (
    "", "-linux-gnu", "-unknown-linux-gnu", "-unknown-linux-musl", "-none-elf", "-unknown-elf", "-none-eabi", "-linux-gnueabihf",
    "-linux-android21", "-unknown-freebsd13.0", "-unknown-netbsd", "-unknown-openbsd7.3", "-pc-windows-msvc", "-w64-mingw32",
    "-pc-windows-gnu", "-apple-darwin22", "-apple-macosx13.0.0", "-apple-ios16", "-unknown-fuchsia", "-pc-solaris2.11",
    "-unknown-haiku", "-unknown-hurd-gnu", "-rtems", "-unknown-uefi", "-unknown-dragonfly", "-pc-cygwin",
)  # fmt: skip
PROCESSORS = (*cross_target.NAMES, "i686", "armv7", "thumbv7em", "arm64", "amd64", "ppc64le", "sparcv9", "mips64r6")
PARSE = """
import json, sys
from layoutlint.errors import ReadError
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import c_units, libclang, parse
import os
libclang.library()
here, parsed = os.getcwd(), 0
for words in json.load(sys.stdin):
    try:
        parse.read(c_units.unit("x.h", tuple(words), here, (here,)), Wanted(everything=True))
        parsed += 1
    except ReadError as error:
        pass
print(parsed)
"""
"""In one process, and without the filter of system calls: the flags themselves are what is looked at."""


def trace(folder: Path, *command: str, text: str = "") -> tuple[str, subprocess.CompletedProcess[str]]:
    """What strace says of a command."""
    if shutil.which("strace") is None:
        pytest.skip("no strace here")
    log = folder / "trace"
    # Without HOME, Python asks the system for it through a socket; case files are unpacked in a folder of their own.
    temporary = folder / "temporary"
    temporary.mkdir(exist_ok=True)
    environment = {
        "PATH": f"{folder}:{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(folder),
        "TMPDIR": str(temporary),
        "LAYOUTLINT_NO_CACHE": "1",  # what the cache writes is traced in tests/readers/cache
    }
    done = subprocess.run(
        ["strace", "-f", "--seccomp-bpf", "-y", "-s", "4096", "-o", log, "-e", f"trace={CALLS}", sys.executable, "-P", *command],
        cwd=folder, env=environment, input=text, capture_output=True, text=True, timeout=1500,
    )  # fmt: skip
    if "PTRACE" in done.stderr:
        pytest.skip(f"strace does not work here: {done.stderr.splitlines()[0]}")
    return log.read_text(errors="replace"), done


def judge(log: str, folder: Path) -> None:
    """Nothing ran but the interpreter, nothing was loaded from elsewhere, and nothing was written."""
    programs, libraries, written = [], [], []
    inside = (
        *_SYSTEM,
        *(f"{Path(prefix).resolve()}/" for prefix in {sys.prefix, sys.base_prefix, str(ROOT)}),
        *_packages(),
    )
    for call, arguments, result in _CALL.findall(log):
        name = (_NAME.findall(arguments) or [""])[-1]
        if (
            (name.startswith(f"{folder}/temporary/") or f"<{folder}/temporary/" in arguments)
            and not call.startswith("exec")
            and ".so" not in name
        ):
            continue
        if call.startswith("exec"):
            programs.append(name or arguments)
        elif call in ("open", "openat"):
            if (
                int(result) >= 0
                and re.search(r"\.so(\.|$)", name)
                and not os.path.realpath(name).startswith(inside)
            ):
                libraries.append(name)
            if re.search("O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", arguments) and name not in (
                "/dev/null",
                "/dev/tty",
            ):
                written.append(arguments)
        else:
            written.append(f"{call}({arguments}")
    assert len(programs) == 1, programs
    assert libraries == []
    assert written == []
    assert not list(folder.glob("ran*"))


def _packages() -> tuple[str, ...]:
    return tuple(f"{os.path.realpath(path)}/" for path in sys.path if path.endswith("-packages"))


@pytest.fixture
def tools_folder(tmp_path):
    """A folder with programs of all names that compilers run."""
    for tool in TOOLS:
        (tmp_path / tool).write_text(f"#!/bin/sh\ntouch '{tmp_path}/ran-{tool}'\necho gfx906\n")
        (tmp_path / tool).chmod(0o755)
    (tmp_path / "x.h").write_text("struct s { long a, b; };\n")
    (tmp_path / "more.h").write_text("#define MORE 1\n")
    for name in (
        "clang.cfg",
        "x86_64-unknown-linux-gnu-clang.cfg",
        "x86_64-linux-gnu.cfg",
        "words",
        "nested",
    ):
        (tmp_path / name).write_text("-DX -O2\n")
    (tmp_path / "inc").mkdir()
    return tmp_path


def _let_through() -> list[tuple[str, ...]]:
    """Flags, of all lists of the tests and of all options that the newest compilers list, with the targets."""
    from tests.oracles import flag_oracle

    kinds = [flag_oracle.installed_compilers(kind) for kind in (flag_oracle.GCCS, flag_oracle.CLANGS)]
    listed = [word for kind in kinds for one in kind[0 if IS_FULL else -1 :] for word in flag_oracle.options(one)]
    passed = [
        word
        for word in dict.fromkeys(listed)
        if option_table.is_passed(word) or word in option_table.MACROS or word in option_table.RENAMED
    ]
    given = [row[0] for row in (*DEFINING, *UNKNOWN, *REFUSED, *DOUBTFUL)]
    # Tool chains differ by system, and a few by processor.
    pairs = {(processor, system) for processor in PROCESSORS for system in SYSTEMS
             if IS_FULL or system in SYSTEMS[:2] or processor in ("x86_64", "aarch64", "armv7")}  # fmt: skip
    targets = [f"--target={processor}{system}" for processor, system in sorted(pairs)]
    shapes = [(target,) for target in targets if flags.is_target(target[9:])]
    more = [(target, *words) for target in ("--target=aarch64-linux-gnu", "--target=x86_64-apple-darwin22", "--target=x86_64-pc-windows-msvc")
            for words in (("-fopenmp",), ("-fsanitize=address",), ("-march=native",), ("-mcpu=native",), ("-flto",), ("-g", "-O3", "-c"))]  # fmt: skip
    every = [*given, *((word,) for word in (*passed, *COMMON)), *shapes, *more]
    return [words for words in every if not any(word.startswith("@") for word in words)]


def test_no_flag_runs_a_program_or_writes_a_file(tools_folder):
    every = _let_through()
    log, done = trace(tools_folder, "-c", PARSE, text=json.dumps(every))
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 0.6 * len(every)
    judge(log, tools_folder)


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_no_command_does(words, hostile_checkout):  # noqa: F811
    log, done = trace(hostile_checkout, "-m", "layoutlint", *words)
    assert done.returncode in (0, 3), done.stderr
    judge(log, hostile_checkout)
    (hostile_checkout / "trace").unlink()


def test_the_cases_of_all_packs_do_not(tmp_path):
    log, done = trace(tmp_path, "-m", "layoutlint", "rules", "test")
    assert done.returncode in (0, 1), done.stderr
    judge(log, tmp_path)


FIXTURES = sorted(path for path in (ROOT / "fixtures").rglob("*") if path.suffix in (".c", ".h"))


def test_the_fixtures_do_not(tmp_path):
    """Each folder of fixtures with C text, all of its structs."""
    for folder in sorted({path.parent for path in FIXTURES}):
        log, done = trace(tmp_path, "-m", "layoutlint", "show", "--all", str(folder))
        assert done.returncode in (0, 3), done.stderr
        judge(log, tmp_path)

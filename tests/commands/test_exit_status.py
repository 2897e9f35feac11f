"""Whatever a run lacks, its status is not that of findings, and it says what it lacks."""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.harness.command import ROOT
from tests.readers.elf.test_elf import tool

pytestmark = pytest.mark.usefixtures("own_processes")

KEPT = '[[rule]]\nid = "r"\nstruct = "q"\nkind = "together"\nfields = ["a", "b"]\nwhy = "w"\n'
COMMANDS = {
    "version": ("--version",),
    "rules": ("rules", "check", "r.toml"),
    "header": ("check", "q.h", "--rules", "r.toml", "--no-packs"),
    "object": ("check", "q.o", "--rules", "r.toml", "--no-packs"),
    "objects": ("check", "q.o", "p.o", "--rules", "r.toml", "--no-packs", "-j2"),
    "show": ("show", "q.o", "q"),
    "test": ("rules", "test", "r.toml"),
    "output": ("check", "q.o", "--rules", "r.toml", "--no-packs", "--output", "json=out.json"),
}


@pytest.fixture(scope="module")
def tree(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("status")
    for name in ("q.h", "q.c", "p.c"):
        (folder / name).write_text("struct q { int a, b; };\n" + (f"struct q {name[0]};\n" if name != "q.h" else ""))
    (folder / "r.toml").write_text(KEPT)
    for name in ("q", "p"):
        subprocess.run([tool("gcc"), "-g", "-c", f"{name}.c", "-o", f"{name}.o"], cwd=folder, check=True)
    return folder


def python(tree: Path, *words: str, limit=None, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Python without what pip puts in front of it: `site` reads files of its own."""
    code = "import sys; sys.path[:0] = {!r}; from layoutlint.__main__ import main; main()"
    paths = [str(ROOT), *(path for path in sys.path if "site-packages" in path)]
    return subprocess.run(
        [sys.executable, "-I", "-S", "-c", code.format(paths), *words], cwd=tree, capture_output=True, preexec_fn=limit,
        env={"PATH": os.environ["PATH"], **environment}, timeout=120,
    )  # fmt: skip


def never_a_finding(done: subprocess.CompletedProcess[bytes]) -> None:
    assert done.returncode in (0, 3, 4), (done.returncode, done.stderr[-500:])
    if done.returncode:
        assert done.stdout or b"layoutlint: " in done.stderr
        assert b"Traceback" not in done.stderr


def starts(limit) -> bool:
    """Whether Python itself does, with what it imports at once."""
    return not subprocess.run([sys.executable, "-I", "-S", "-c", "import os, sys"], capture_output=True, preexec_fn=limit).returncode


@pytest.mark.one_in(6)
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(
    "number", [5, 8, *(pytest.param(number, marks=pytest.mark.exhaustive) for number in (4, 6, 7, 10, 12, 16, 20))]
)
def test_descriptors(tree, command, number):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (number, number))

    if not starts(limit):
        pytest.skip("Python itself does not start")
    never_a_finding(python(tree, *COMMANDS[command], limit=limit))


@pytest.mark.one_in(5)
@pytest.mark.parametrize("command", ["version", "rules", "header", "object", "show"])
@pytest.mark.parametrize(
    "megabytes", [16, 40, 100, *(pytest.param(each, marks=pytest.mark.exhaustive) for each in (14, 18, 20, 24, 28, 32, 60))]
)
def test_memory(tree, command, megabytes):
    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))

    if not starts(limit):
        pytest.skip("Python itself does not start")
    never_a_finding(python(tree, *COMMANDS[command], limit=limit))


@pytest.mark.parametrize("command", ["header", "objects", "object"])
def test_processes(tree, command):
    """A user who may start no more; root may always."""
    nobody = 65534

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_NPROC, (0, 0))
        if os.getuid() == 0:
            os.setuid(nobody)

    if os.getuid() == 0 and not os.access(sys.executable, os.X_OK):
        pytest.skip("nobody may not start this Python")
    try:
        done = python(tree, *COMMANDS[command], limit=limit)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"nobody may not start this Python: {error}")
    if b"layoutlint" not in done.stderr + done.stdout:
        pytest.skip("nobody may not read this Python")
    never_a_finding(done)


SURROUNDINGS = [
    # id, variables
    ("no HOME", {}),
    ("HOME that is not there", {"HOME": "/nonexistent"}),
    ("TMPDIR that is not there", {"TMPDIR": "/nonexistent"}),
    ("TMPDIR that is a file", {"TMPDIR": "/etc/hostname"}),
    ("broken locale", {"LC_ALL": "xx_YY.none", "LANG": "none"}),
    ("terminal without a name", {"TERM": "", "COLUMNS": "none", "LINES": "-1"}),
]


@pytest.mark.one_in(6)
@pytest.mark.parametrize("variables", [row[1] for row in SURROUNDINGS], ids=[row[0] for row in SURROUNDINGS])
@pytest.mark.parametrize("command", COMMANDS)
def test_surroundings(tree, command, variables):
    done = python(tree, *COMMANDS[command], **variables)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.one_in(2)
@pytest.mark.parametrize("command", ["rules", "header", "object", "show", "test"])
def test_a_working_folder_that_is_gone(tree, tmp_path, command):
    gone = tmp_path / "gone"
    shutil.copytree(tree, gone)
    script = 'cd "$0" && rm -r "$0" && exec "$@"'
    words = ["sh", "-c", script, gone, sys.executable, "-c", "from layoutlint.__main__ import main; main()", *COMMANDS[command]]
    done = subprocess.run(words, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (3, b"layoutlint: .: the working directory does not exist; change to another one\n")


@pytest.mark.one_in(5)
@pytest.mark.parametrize("streams", ["<&-", "2>&-", "<&- 2>&-", ">&-", "<&- >&-", ">&- 2>&-", "<&- >&- 2>&-"])
@pytest.mark.parametrize("command", ["header", "object", "objects", "test", "output"])
def test_closed_streams(tree, command, streams):
    script = f'exec "$@" {streams}'
    words = ["sh", "-c", script, "sh", sys.executable, "-c", "from layoutlint.__main__ import main; main()", *COMMANDS[command]]
    done = subprocess.run(words, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)}, cwd=tree)
    assert done.returncode == (2 if ">&-" in streams.replace("2>&-", "") else 0)


BROKEN = [
    # id, what is done before main is called, its status
    ("a module that is missing", "sys.modules['layoutlint.cli'] = None", 4),
    ("a module that is broken", "sys.modules['click'] = None", 4),
    ("no memory at start", "import builtins\nclass M(dict):\n  pass\ndef f(*a, **k): raise MemoryError\nbuiltins.__import__ = f", 4),
    ("an exit with words", "import types; m = types.ModuleType('layoutlint.cli'); m.main = lambda: sys.exit('words'); sys.modules['layoutlint.cli'] = m; import layoutlint; layoutlint.cli = m", 4),
    ("an interrupt", "import types, layoutlint\ndef f(): raise KeyboardInterrupt\nm = types.ModuleType('layoutlint.cli'); m.main = f; sys.modules['layoutlint.cli'] = layoutlint.cli = m", 130),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("before", "status"), [row[1:] for row in BROKEN], ids=[row[0] for row in BROKEN])
def test_what_fails_before_the_command_line(tree, before, status):
    code = f"import sys\nfrom layoutlint.__main__ import main\n{before}\nmain()"
    done = subprocess.run([sys.executable, "-c", code], cwd=tree, capture_output=True, env={**os.environ, "PYTHONPATH": str(ROOT)})
    assert (done.returncode, b"Traceback" in done.stderr) == (status, False)

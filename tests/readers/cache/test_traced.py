"""Under strace: every file that a kept run asked the system about is among the answers that are kept with it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import pytest

from tests.commands.test_cache import PROJECT, share, write
from tests.harness.command import ROOT
from tests.harness.tools import need
from tests.readers.btf.btf_blob import INT, STRUCT, blob, record

CALL = re.compile(r'^\d+ +(\w+)\((?:AT_FDCWD[^,]*, |\d+(?:<[^>]*>)?, )?"([^"]*)"[^\n]*\) += (-?\d+)', re.MULTILINE)
CALLS = "%file,readlink,readlinkat"
FILES = PROJECT | {
    "ring.c": '#include "ring.h"\n#include <stddef.h>\nstruct ring ring; /* head and tail share no cache line */\n',
    "compile_commands.json": json.dumps([{"file": "ring.c", "directory": ".", "arguments": ["cc", "@flags", "ring.c"]}]),
    "flags": "-Iinclude -Imissing",
    "builds/matrix.toml": '[defaults]\ninput = "ring.h"\nflags = ["-Iinclude"]\n[axis.pad.small]\nflags = ["-DPAD=8"]\n'
    '[axis.pad.large]\nflags = ["-DPAD=64"]\n',
    "seed": "0" * 64,
    "rules/some.toml": PROJECT["layoutlint.toml"],
    "more/unused.h": "struct unused { int x; };\n",
    "more/linked.h": "struct linked { int x; };\n",
}
COMMANDS = [
    "ring.h -- -Ifirst -Iinclude",
    "ring.c -- -Iinclude -include more/unused.h",
    "compile_commands.json",
    ".",
    "ring.so",
    "stripped.so --debug-dir .",
    "ring.so ring.c --sources . --comments -- -Iinclude",
    "ring.so --randstruct gcc-full --seed seed --kernel-version 6.12 --randomized ring",
    "--matrix builds/matrix.toml",
    "ring.h --rules rules -- -Iinclude",
    "blob",
    "missing.h.c.so",
]
IGNORED = re.compile(
    r"/(?:proc|dev|selinux)(?:/|$)|.*/(?:\.new-[\d-]+|[0-9a-f]{64})$|.*\.pyc$|.*/(?:__pycache__|site-packages|lib-dynload)(?:/|$)|/etc/(?:ld\.so|localtime|ssl)"
    r"|.*\.so(?:\.\d+)*$|.*/(?:glibc-hwcaps|tls|x86_64|haswell|avx512_1)(?:/|$)|.*pyvenv\.cfg$|.*/\.(?:git|hg|svn|jj|bzr)$|.*/crtbegin\.o$|/usr/lib/ssl/"
)
"""Of the interpreter, of the dynamic linker, and objects of GCC that the driver looks at for linking."""
DRIVER = re.compile(r"/(?:lib\w*|usr|opt|etc|include)(?:/|$)")
"""Where libclang's driver looks for libraries, and for GCC's folders, which are listed."""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    need("strace")
    need("objcopy")
    folder = write(tmp_path / "project", FILES)
    (folder / "include/link.h").symlink_to("../more/linked.h")
    program = share(folder)
    (folder / "ring.c").write_text(FILES["ring.c"])
    subprocess.run(["objcopy", "--only-keep-debug", program, "ring.debug"], cwd=folder, check=True)
    words = ["--strip-debug", "--add-gnu-debuglink=ring.debug", program, "stripped.so"]
    subprocess.run(["objcopy", *words], cwd=folder, check=True)
    (folder / "blob").write_bytes(blob(record(0, INT, 8, 64) + record(1, STRUCT, 8, 6, 1, 0, vlen=1)))
    return folder


def trace(project: Path, command: str) -> tuple[set[str], dict | None]:
    """The paths that a run asked about, and the answers that it kept with its output; None without any."""
    cache, log = project.parent / ".hidden", project.parent / "trace"
    cache.mkdir(exist_ok=True)
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(project.parent / "home"), "XDG_CACHE_HOME": str(cache),
        "PYTHONPATH": str(ROOT), "PYTHONDONTWRITEBYTECODE": "1", "LAYOUTLINT_DEBUG": "1",
    }  # fmt: skip
    python = [sys.executable, "-P", "-m", "layoutlint", "check"]
    done = subprocess.run(
        ["strace", "-f", "-s", "4096", "-o", log, "-e", f"trace={CALLS}", *python, *command.split()],
        cwd=project, env=environment, capture_output=True, text=True,
    )  # fmt: skip
    if "PTRACE" in done.stderr:
        pytest.skip(f"strace does not work here: {done.stderr.splitlines()[0]}")
    assert done.returncode in (0, 1, 3), done.stderr
    text = re.sub(r"^(\d+) (.*) <unfinished \.\.\.>$", r"\1 \2) = 0", log.read_text(errors="replace"), flags=re.MULTILINE)
    calls = [(call, os.path.join(project, name)) for call, name, _ in CALL.findall(text) if name]
    started = max((n for n, (_, name) in enumerate(calls) if name.endswith("commands/replay.py")), default=0)
    kept = None
    for entry in (cache / "layoutlint").glob("*") if (cache / "layoutlint").exists() else ():
        content = entry.read_bytes()[19 + 32 :]
        end = 4 + int.from_bytes(content[:4], "little")
        if content[end : end + 1] in b"013":  # an output begins with its exit status
            kept = json.loads(zlib.decompress(content[4:end]))
    return {name for call, name in calls[started:] if call != "execve"}, kept


def coverage_of(answers: dict) -> tuple[set[str], set[str], set[str]]:
    """The paths of the answers, those that are missing, and the folders whose entries are known."""
    paths, missing, listed = set(), set(), set()
    for folder, kept in answers["folders"].items():
        names = {name for name, *_ in kept.get("contents", ())} | {*kept.get("kinds", ()), *kept.get("linked", ()), *kept.get("plain", ())}
        paths |= {folder, *(os.path.join(folder, name) for name in names)}
        missing |= {os.path.join(folder, name) for name, kind in kept.get("kinds", {}).items() if kind == "absent"}
        if "listing" in kept:
            listed.add(folder)
    paths |= {path for path, _ in (*answers["links"], *answers["states"])}
    return paths | set(map(os.path.normpath, paths)), missing, listed


@pytest.mark.one_in(4)
@pytest.mark.parametrize("command", COMMANDS)
def test_the_answers_are_complete(command, project):
    asked, answers = trace(project, command)
    if answers is None:
        assert command.startswith("missing"), "nothing was kept"
        return
    paths, missing, listed = coverage_of(answers)
    above = {parent for path in paths for parent in map(str, Path(path).parents)}
    above |= {str(parent) for parent in project.parents} | {os.path.expanduser("~"), str(ROOT)}
    inside = (f"{ROOT}/layoutlint", sys.prefix, sys.base_prefix, str(project.parent / ".hidden"), str(project.parent / "trace"))

    def is_known(path: str) -> bool:
        plain = os.path.normpath(path)
        return (
            bool({path, plain} & (paths | above))
            or os.path.dirname(plain) in listed
            or any(str(parent) in missing for parent in Path(plain).parents)
            or IGNORED.match(plain) is not None
            or plain.startswith(inside)
            or (DRIVER.match(plain) is not None and not plain.startswith(("/usr/include/", "/usr/local/include/")))
        )

    assert sorted(path for path in asked if not is_known(path)) == []
    assert shutil.which("strace")

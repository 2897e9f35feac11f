"""`--query-driver` on the command line: reports, exit statuses, the cache, workers, and databases of hostile projects."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import pytest

import layoutlint
from tests.harness.command import run
from tests.harness.tools import need

ANSWER = r"""
cat >&2 <<END
Target: TARGET
#include "..." search starts here:
#include <...> search starts here:
End of search list.
END
echo '#define __GNUC__ 13'
echo '#define WIDTH COUNT'
"""
RULES = '[[rule]]\nid = "small"\nstruct = "q*"\nkind = "size"\nmax = 8\nwhy = "it is copied"\n'
SOURCE = "#ifndef WIDTH\n#define WIDTH 1\n#endif\nstruct q { char c[WIDTH]; long l; };\n"


def compiler(path: Path, count: int = 20, target: str = "x86_64-linux-gnu", script: str | None = None) -> None:
    """Make a compiler that defines WIDTH, and notes each run."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = ANSWER.replace("COUNT", str(count)).replace("TARGET", target) if script is None else script
    path.write_text(f'#!/bin/sh\necho run >>"{path}.log"\n{text}')
    path.chmod(0o755)


def runs(path: Path) -> int:
    """Return how often a compiler ran."""
    log = Path(f"{path}.log")
    return len(log.read_text().splitlines()) if log.exists() else 0


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with a source and a rule, and a folder of compilers beside it."""
    folder = tmp_path / "project"
    (folder / ".git").mkdir(parents=True)
    (folder / "q.c").write_text(SOURCE)
    (folder / "layoutlint.toml").write_text(RULES)
    compiler(tmp_path / "bin/gcc")
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:{os.environ['PATH']}")
    return folder


def database(folder: Path, *commands: str) -> None:
    """Write a database with one source for each command."""
    entries = []
    for number, command in enumerate(commands):
        name = f"q{number}.c" if number else "q.c"
        (folder / name).write_text(SOURCE.replace("struct q ", f"struct q{number or ''} "))
        entries.append({"directory": ".", "file": name, "command": f"{command} -c {name}"})
    (folder / "compile_commands.json").write_text(json.dumps(entries))


def check(folder: Path, *words: str, **environment: str):
    return run("check", "compile_commands.json", "-v", *words, cwd=folder, **environment)


def test_the_report_names_the_compiler_and_its_answer_decides(project, tmp_path):
    database(project, "ccache gcc")
    done = check(project, "--query-driver", f"{tmp_path}/bin/*")
    assert done.returncode == 1
    assert "by clang, x86_64, from gcc" in done.stdout
    assert "32" in run("show", "q.c", "q", "--query-driver", f"{tmp_path}/bin/*", cwd=project).stdout
    assert "by clang, x86_64\n" in check(project).stdout


def test_a_real_cross_compiler(project):
    path = need("arm-none-eabi-gcc", "-c")
    (project / "q.c").write_text("#include <sys/reent.h>\nstruct q { struct _reent r; };\n")
    without, done = (
        (project / "compile_commands.json").write_text(json.dumps([{"directory": ".", "file": "q.c", "command": f"arm-none-eabi-gcc {words} -c q.c"}]))
        and check(project, *more)
        for words, more in (("-mcpu=cortex-m4", ()), ("-mcpu=cortex-m4 --specs=nano.specs", ("--query-driver", os.path.realpath(path))))
    )
    assert (without.returncode, "by clang, arm, from arm-none-eabi-gcc" in without.stdout) == (1, True)
    assert (done.returncode, "by clang, arm, from arm-none-eabi-gcc" in done.stdout) == (1, True)


def test_a_missing_header_of_a_cross_compiler_names_the_option(project):
    database(project, "riscv64-unknown-elf-gcc")
    (project / "q.c").write_text("#include <sys/nowhere.h>\nstruct q { struct nowhere r; };\n")
    done = check(project)
    assert done.returncode == 3
    assert "`--query-driver '/usr/bin/*riscv64-unknown-elf-gcc*'`" in " ".join(done.stdout.split())


HOSTILE = [
    # the compiler of a database, and PATH before the trusted folder
    ("./gcc", ""), ("tools/gcc", ""), ("PLACE/project/gcc", ""), ("gcc", ".:"), ("gcc", ":"), ("gcc", "tools:"), ("gcc", "PLACE/project:"), ("PLACE/link", ""),
    ("'./a\nb-gcc'", ""), ("sh -c gcc", ""), ("$(./gcc)", ""), ("`./gcc`", ""), ("env PATH=. ./gcc", ""),
]  # fmt: skip


@pytest.mark.parametrize(("word", "before"), HOSTILE, ids=range(len(HOSTILE)))
def test_no_program_of_the_project_runs(word, before, project, tmp_path, monkeypatch):
    planted = [project / name for name in ("gcc", "tools/gcc", "a\nb-gcc")]
    for path in planted:
        compiler(path)
    (tmp_path / "link").symlink_to(project / "gcc")
    (tmp_path / "bin/gcc").unlink()
    monkeypatch.setenv("PATH", before.replace("PLACE", str(tmp_path)) + os.environ["PATH"])
    database(project, word.replace("PLACE", str(tmp_path)))
    done = check(project, "--query-driver", f"{tmp_path}/**", "--query-driver", "**/project/**")
    assert [runs(path) for path in planted] == [0, 0, 0]
    assert not done.stderr.startswith("Traceback")


def test_flags_that_would_run_or_write_do_nothing(project, tmp_path):
    (tmp_path / "bin/gcc").unlink()
    path = need("gcc")
    (project / "x.specs").write_text("*invoke_as:\n")
    words = f"-o {tmp_path}/out -MD -MF {tmp_path}/dep -save-temps -wrapper touch,{tmp_path}/wrapped -B. -specs=x.specs -fdump-tree-all -aux-info {tmp_path}/aux"
    before = sorted(tmp_path.rglob("*"))
    database(project, f"{path} {words}")
    check(project, "--query-driver", os.path.realpath(path))
    assert [each.name for each in sorted(tmp_path.rglob("*")) if each not in before] == ["compile_commands.json"]


@pytest.mark.parametrize(("script", "reason"), [
    ("echo 'unknown flag' >&2\nexit 1", "unknown flag"), ("echo hello", "hello"), ("head -c 2000000 /dev/zero", "gives more than 1,048,576 bytes"),
])  # fmt: skip
def test_a_compiler_without_an_answer_is_status_3(script, reason, project, tmp_path):
    compiler(tmp_path / "bin/bad-gcc", script=script)
    (project / "layoutlint.toml").write_text(RULES.replace("8", "80"))
    database(project, "bad-gcc", "gcc", "bad-gcc")
    done = check(project, "--query-driver", f"{tmp_path}/bin/*")
    assert done.returncode == 3
    assert reason in " ".join((done.stdout + done.stderr).split())
    assert runs(tmp_path / "bin/bad-gcc") == 1


def test_an_unknown_machine_is_refused(project, tmp_path):
    compiler(tmp_path / "bin/gcc", target="avr")
    database(project, "gcc")
    done = check(project, "--query-driver", f"{tmp_path}/bin/*")
    assert done.returncode == 3
    assert "for avr, which is not known here" in " ".join((done.stdout + done.stderr).split())


def test_a_compiler_that_was_not_asked_is_noted(project, tmp_path):
    compiler(tmp_path / "bin/arm-none-eabi-gcc")
    database(project, "gcc", "arm-none-eabi-gcc")
    done = check(project, "--query-driver", f"{tmp_path}/bin/gcc")
    assert "--query-driver: not asked: arm-none-eabi-gcc:" in " ".join(done.stdout.split())
    mistake = check(project, "--query-driver", "gcc")
    assert (mistake.returncode, "'/usr/bin/gcc'" in mistake.stderr) == (2, True)


@pytest.mark.parametrize("jobs", ["1", "4"])
def test_many_units_ask_once(jobs, project, tmp_path):
    database(project, *["gcc -O2", "gcc -O1"] * 6)
    done = check(project, "--query-driver", f"{tmp_path}/bin/*", "--jobs", jobs)
    assert (done.returncode, runs(tmp_path / "bin/gcc")) == (1, 2)


def test_the_cache_forgets_another_compiler(project, tmp_path):
    database(project, "gcc")
    place = tmp_path / "bin/gcc"
    for path in (place, project / "q.c", project / "compile_commands.json"):
        os.utime(path, (1_600_000_000, 1_600_000_000))
    words = ("--query-driver", f"{tmp_path}/bin/*")

    def size(*more: str) -> int:
        done = run("show", "q.c", "q", "--format", "json", *more, cwd=project, XDG_CACHE_HOME=str(tmp_path / "cache"))
        return json.loads(done.stdout)["structs"][0]["size"]

    assert [size(*words), size(*words), size(), size(*words)] == [32, 32, 16, 32]
    first = runs(place)
    compiler(place, 40)
    assert (size(*words), runs(place)) == (48, first + 1)


def test_python_has_the_option(project, tmp_path, monkeypatch):
    database(project, "gcc")
    monkeypatch.chdir(project)
    (struct,) = layoutlint.read("q.c", ["q"], query_drivers=[f"{tmp_path}/bin/*"])
    assert struct.size == 32
    assert layoutlint.check(["compile_commands.json"], ["layoutlint.toml"], query_drivers=[f"{tmp_path}/bin/*"]).exit_status == 1


@pytest.mark.usefixtures("own_processes")  # a process keeps what a compiler says
def test_commands_that_read_c_have_the_option(project, tmp_path):
    database(project, "gcc")
    words = ("--query-driver", f"{tmp_path}/bin/*")
    for command in (("containers", "q.c", "q"), ("infer", "q.c"), ("accesses", "q.c"), ("snapshot", "q.c", "--output", str(tmp_path / "s.json"))):
        before = runs(tmp_path / "bin/gcc")
        run(*command, *words, cwd=project)
        assert runs(tmp_path / "bin/gcc") == before + 1, command


def test_init_offers_the_compiler(project):
    database(project, "gcc")
    done = run("init", "--dry-run", cwd=project)
    assert "--query-driver" in done.stdout.splitlines()[-1]


def test_the_advised_option_asks_a_compiler_that_is_a_link(tmp_path):
    need("gcc", "-c")
    (tmp_path / "q.c").write_text("#if __has_builtin(__builtin_addcb)\nstruct q { char a; int b; };\n#else\nstruct q { char a; };\n#endif\n")
    entry = {"directory": str(tmp_path), "file": "q.c", "arguments": ["gcc", "-c", "q.c"]}
    (tmp_path / "compile_commands.json").write_text(json.dumps([entry]))
    advised = " ".join(run("show", "compile_commands.json", "q", cwd=tmp_path).stderr.split())
    glob = re.search(r"`--query-driver '([^']+)'`", advised)[1]
    assert "not asked" not in run("show", "compile_commands.json", "q", "--query-driver", glob, cwd=tmp_path).stderr

"""Command lines that the documents show without their output: each is run here, or a row names the test that does it.

tests/project/test_shown_examples.py runs those with output.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.harness.command import ROOT, WITHOUT_CACHE
from tests.harness.shown_examples import IDENTITY, examples, provide
from tests.project.test_command_lines import LINES, PAGES

pytestmark = pytest.mark.usefixtures("own_processes")


@dataclass(frozen=True)
class Run:
    """What a command line needs, and what it does.

    `needs` is as the comment `examples:` of a page, `before` are commands of a shell. `words` replaces words of the page
    that its reader replaces, too; `more` is behind them. `prints` is a pattern in the output.
    """

    status: int
    prints: str
    needs: str = ""
    before: str = "true"
    words: tuple[tuple[str, str], ...] = ()
    more: str = ""


KERNELS = [f"vmlinux-{version}=fixtures/kernel_layouts/linux-{version}.json" for version in ("6.1", "6.12", "7.2")]
VMLINUX = KERNELS[2].replace("vmlinux-7.2", "vmlinux")
FIXED = "ring.h=docs/example/ring-fixed.h layoutlint.toml=docs/example/layoutlint.toml"
RING = "ring.h=docs/example/ring.h layoutlint.toml=docs/example/layoutlint.toml"
COMMITS = "include/linux/fs.h=fixtures/shown/diff/old/ring.h new.h=fixtures/shown/diff/new/ring.h git"
COMMIT = "git init -q -b main && git add -A && git commit -q -m old && git update-ref refs/remotes/origin/main HEAD && git tag v6.8"
CHANGE = f"{COMMIT} && cp new.h include/linux/fs.h && git commit -q -a -m new && git tag v6.9"
DATABASE = """echo '[{"directory": ".", "file": "ring.c", "arguments": ["cc", "-Inew", "ring.c"]}]' > compile_commands.json"""
PROJECT = "new=fixtures/shown/diff/new ring.c=fixtures/shown/diff/ring.c"
SNAPSHOT = "layoutlint snapshot ring.h --struct ring --output"
STORE = "layoutlint survey run vmlinux* --store store; true"
SURVEY = f"pyarrow {VMLINUX}"
BUILDS = '[build.b64]\ninput = "queue.h"\n\n[build.b32]\ninput = "queue.h"\ntarget = "i386"\n'
UART = "struct uart { char mode; int rate; char state; char rx[64]; }; struct uart it;"
RINGS = "struct ring { long head, tail; }; struct ring it;"
QUEUE = "struct queue { long head, tail; }; struct queue it;"
WIDE = "struct queue { long head; char gap[64]; long tail; }; struct queue it;"

RUNS: dict[tuple[str, str], Run] = {
    ("README.md", "show firmware.elf uart --line-size 32"): Run(0, "3 lines of 32", "gcc", f"echo '{UART}' | gcc -g -c -x c - -o firmware.elf"),
    ("README.md", "check --pack generic build/compile_commands.json"): Run(0, "guessed: generic", PROJECT, f"{DATABASE}; mkdir build; mv compile_commands.json ring.c new build"),
    ("README.md", "check ring.h -- -Iinclude"): Run(1, "ring-sides-apart", RING),
    ("docs/contributing/address-space.md", "check vmlinux --struct address_space"): Run(1, "at-risk in 2 of 8 placements", VMLINUX),
    ("docs/contributing/address-space.md", "check vmlinux --rules containers.toml"): Run(
        1, "address_space", f"{VMLINUX} containers.toml=fixtures/address_space/containers.toml"
    ),
    ("docs/contributing/address-space.md", "containers vmlinux address_space"): Run(
        0, "inode", "fixtures/address_space=fixtures/address_space fixtures/upstream_fixes=fixtures/upstream_fixes gcc",
        "gcc -g -c -fno-eliminate-unused-debug-types fixtures/address_space/inodes-after.c -o vmlinux",
    ),
    ("docs/annotations.md", "check ring.c"): Run(1, "separate", "ring.c=fixtures/annotations/ring-comments.c"),
    ("docs/annotations.md", "check vmlinux --sources ~/src/linux"): Run(
        1, "separate", "src/linux/ring.c=fixtures/annotations/ring-comments.c gcc", "(cd src/linux && gcc -g -c ring.c -o ~/vmlinux)"
    ),
    ("docs/annotations.md", "check ~/src/linux --comments"): Run(
        1, "comment/s/b", before="mkdir -p src/linux; printf 'struct s {\\n\\tlong a;\\n\\t/* --- cacheline 1 boundary (64 bytes) --- */\\n\\tlong b;\\n};\\n' > src/linux/s.c"
    ),
    ("docs/inputs.md", "show libring.a ring"): Run(0, "head", "gcc", f"echo '{RINGS}' | gcc -g -c -x c - -o ring.o && ar rc libring.a ring.o"),
    ("docs/ci.md", "init"): Run(0, "layoutlint.toml", PROJECT),
    ("docs/kernel.md", "check vmlinux"): Run(1, "address-space-i-mmap-apart-from-rwsem", VMLINUX),
    ("docs/ci.md", "rules asserts --c11 layoutlint.toml --in ring.h"): Run(0, "_Static_assert", FIXED),
    ("docs/ci.md", "rules asserts --c11 ring --in ring.h"): Run(0, "_Static_assert.sizeof.struct ring. ==", FIXED),
    ("docs/ci.md", "rules asserts --form build-bug-on address_space --in vmlinux"): Run(0, "BUILD_BUG_ON.offsetof.struct address_space, i_mmap", VMLINUX),
    ("docs/kernel.md", "diff vmlinux-6.1 vmlinux-6.12"): Run(0, "struct address_space", " ".join(KERNELS)),
    ("docs/diff.md", "diff --git v6.8..v6.9 include/linux/fs.h"): Run(0, "ring", COMMITS, CHANGE),
    ("docs/diff.md", "diff --git origin/main..HEAD"): Run(0, "ring", COMMITS, CHANGE),
    ("docs/diff.md", "check --since origin/main"): Run(1, "compared with origin/main: new", f"{FIXED} bad.h=docs/example/ring.h git", f"{COMMIT}; cp bad.h ring.h; git add ring.h"),
    ("docs/servers.md", "check --pack generic compile_commands.json --uses compile_commands.json"): Run(0, "guessed: generic", PROJECT, DATABASE),
    ("docs/servers.md", "infer compile_commands.json"): Run(0, "ring", PROJECT, DATABASE),
    ("docs/servers.md", "infer compile_commands.json --format toml"): Run(0, r'kind = "separate"', PROJECT, DATABASE),
    ("docs/embedded.md", "rules asserts --c11 layoutlint.toml --in uart.h"): Run(0, "_Static_assert.offsetof"),
    ("docs/embedded.md", "rules asserts --c11 descriptor --in uart.h"): Run(0, "_Static_assert.sizeof.struct descriptor"),
    ("docs/embedded.md", "suggest firmware.elf --smallest"): Run(0, "struct uart", "gcc", f"echo '{UART}' | gcc -g -c -x c - -o firmware.elf"),
    ("docs/evidence.md", "tune fs.h address_space --profile c2c.txt --write"): Run(
        0, r"805 \(62 %\) fall away", "c2c.txt=fixtures/profiles/c2c-address-space-before.txt fs.h=fixtures/profiles/address-space.h", more="--no-measure"
    ),
    ("docs/evidence.md", "measure docs/example/ring.h ring --write head --read tail"): Run(0, "int main", "docs=docs gcc", more="--dry-run"),
    ("docs/evidence.md", "measure vmlinux address_space --rule address-space-i-mmap-apart-from-rwsem"): Run(0, "int main", f"{VMLINUX} gcc", more="--dry-run"),
    ("docs/evidence.md", "measure --before old.o --after new.o queue --write head --write tail"): Run(
        0, "int main", "gcc", f"echo '{QUEUE}' | gcc -g -c -x c - -o old.o; echo '{WIDE}' | gcc -g -c -x c - -o new.o", more="--dry-run"
    ),
    ("docs/evidence.md", "measure --before old.h --after new.h address_space --evidence c2c.json"): Run(
        0, "int main", "c2c.txt=fixtures/profiles/c2c-address-space-before.txt old.h=fixtures/profiles/address-space.h",
        "cp old.h new.h; layoutlint evidence c2c.txt --in old.h --struct address_space --format json > c2c.json", more="--dry-run",
    ),
    ("docs/contributing/measured.md", "measure vmlinux address_space --rule address-space-i-mmap-apart-from-rwsem --lock i_mmap_rwsem.count --write i_mmap"): Run(
        0, "int main", f"{VMLINUX} gcc", more="--dry-run"
    ),
    (
        "docs/contributing/measured.md",
        "measure --before docs/measure/rw-semaphore-5.1.h --after docs/measure/rw-semaphore-5.2.h"
        " rw_semaphore --sweep --lock count --write owner --stores --seconds 30 --rounds 9",
    ): Run(0, "int main", "docs=docs gcc", more="--dry-run"),
    ("docs/kernel-rules.md", "rules import net_cachelines Documentation/networking/net_cachelines/tcp_sock.rst --output tcp_sock.toml"): Run(
        0, "", "Documentation/networking/net_cachelines=fixtures/net_cachelines/7.2"
    ),
    ("docs/kernel-rules.md", "check vmlinux --rules tcp_sock.toml"): Run(
        1, "tcp_sock-sides", f"{VMLINUX} t.rst=fixtures/net_cachelines/7.2/tcp_sock.rst", "layoutlint rules import net_cachelines t.rst --output tcp_sock.toml"
    ),
    ("docs/editors.md", "show address_space.h address_space --format svg --base 56"): Run(0, "<svg", "address_space.h=docs/pictures/address_space.h"),
    ("docs/editors.md", "check vmlinux --html page.html"): Run(1, "at-risk", VMLINUX),
    ("docs/editors.md", "show vmlinux --all --html page.html"): Run(0, "", VMLINUX),
    ("docs/editors.md", "diff OLD NEW --html page.html"): Run(1, "worse", " ".join(KERNELS), words=(("OLD", "vmlinux-6.1"), ("NEW", "vmlinux-7.2"))),
    ("docs/editors.md", "history BUILD... STRUCT --html page.html"): Run(
        0, "i_mmap", " ".join(KERNELS), words=(("BUILD...", "vmlinux-6.1 vmlinux-7.2"), ("STRUCT", "address_space"))
    ),
    ("docs/ci.md", "check compile_commands.json --policy-from origin/main"): Run(1, "ring-sides-apart", f"{RING} ring.c=docs/example/ring.h git", f"{DATABASE}; {COMMIT}"),
    ("docs/snapshot.md", "diff layouts.json vmlinux"): Run(0, "struct ring", f"{RING} new.h=docs/example/ring-fixed.h gcc", f"{SNAPSHOT} layouts.json; (cat new.h; echo 'struct ring it;') | gcc -g -c -x c - -o vmlinux"),
    ("docs/snapshot.md", "diff old.json new.json"): Run(0, "ring", f"{RING} new.h=docs/example/ring-fixed.h", f"{SNAPSHOT} old.json; cp new.h ring.h; {SNAPSHOT} new.json"),
    ("docs/snapshot.md", "check layouts.json --rules layoutlint.toml"): Run(1, "ring-sides-apart", RING, f"{SNAPSHOT} layouts.json"),
    ("docs/snapshot.md", "show layouts.json ring"): Run(0, "cached_tail", RING, f"{SNAPSHOT} layouts.json"),
    ("docs/contributing/start-to-finish.md", "check vmlinux"): Run(1, "at-risk in 2 of 8 placements", VMLINUX),
    ("docs/suggest.md", "suggest --matrix builds.toml queue.h queue --rules queue.toml"): Run(0, "moves", "ortools", f"echo '{BUILDS}' > builds.toml"),
    ("docs/survey.md", "survey run builds/*/vmlinux --store store"): Run(1, "2 inputs", f"pyarrow {VMLINUX}", "mkdir -p builds/a builds/b; cp vmlinux builds/a; cp vmlinux builds/b"),
    ("docs/survey.md", "survey run job.toml --store store --workers 8"): Run(1, "1 input: 1 new", SURVEY, "echo 'inputs = [\"vmlinux\"]' > job.toml"),
    ("docs/survey.md", "survey report store"): Run(0, "address-space-i-mmap-apart-from-rwsem", SURVEY, STORE),
    ("docs/survey.md", "survey report store --rule 'tcp-*' --struct 'tcp_*' --format json"): Run(0, '"schema"', SURVEY, STORE),
    ("docs/survey.md", "survey report store --format csv"): Run(0, "at-risk", SURVEY, STORE),
    ("docs/survey.md", "history store address_space --pair i_mmap i_mmap_rwsem"): Run(0, "i_mmap", SURVEY, STORE),
    ("docs/survey.md", "history store address_space --input '*arm64*'"): Run(0, "arm64", SURVEY, f"mv vmlinux vmlinux-arm64; {STORE}"),
}
"""By page and command line."""

ELSEWHERE: dict[tuple[str, str], tuple[str, str]] = {
    ("README.md", "check /sys/kernel/btf/vmlinux"): ("depends on the running kernel", "tests/real/test_verdicts.py::test_the_running_kernel"),
    ("docs/inputs.md", "check linux-image-6.1.0-50-cloud-amd64-dbg_6.1.176-1_amd64.deb"): ("800 MB to download", "tests/readers/archives/test_archives.py::test_every_kind_of_archive"),
    ("docs/inputs.md", "check linux.deb:usr/lib/debug/boot/vmlinux-6.1.0-50-cloud-amd64"): ("800 MB to download", "tests/readers/archives/test_archives.py::test_reports_name_archive_and_member"),
    ("docs/kernel.md", "diff --git v6.8..topic include/linux/fs.h --build build"): ("needs a history of Linux", "tests/project/test_kernel_recipe.py::test_two_commits"),
    ("docs/kernel.md", "diff /usr/src/linux-headers-6.1.0-50-amd64 /usr/src/linux-headers-6.12.107+deb13-amd64 --struct sk_buff"): (
        "needs two kernels", "tests/real/test_diff.py::test_header_trees"
    ),
    ("docs/kernel.md", "check /lib/modules/$(uname -r)"): ("needs modules of the running kernel", "tests/real/test_modules.py::test_the_folder_tells_what_its_modules_tell_alone"),
    ("docs/kernel.md", "check vmlinux --slabs slabs.json"): ("depends on the running kernel", "tests/commands/test_slabs.py::test_commands_take_the_kernel_or_a_file_of_it"),
    ("docs/kernel.md", "containers vmlinux address_space --slabs slabs.json"): ("depends on the running kernel", "tests/commands/test_slabs.py::test_commands_take_the_kernel_or_a_file_of_it"),
    ("docs/kernel.md", "check /sys/kernel/btf/vmlinux"): ("depends on the running kernel", "tests/real/test_verdicts.py::test_the_running_kernel"),
    ("docs/kernel.md", "check /usr/src/linux-headers-$(uname -r)"): ("needs a kernel", "tests/real/test_verdicts.py::test_header_trees_say_what_the_binaries_say"),
    ("docs/diff.md", "diff --patch series.mbox linux --build build"): ("needs a kernel", "tests/project/test_kernel_recipe.py::test_two_commits"),
    ("docs/diff.md", "bisect address-space-i-mmap-apart-from-rwsem v6.12..v7.2 --build build"): (
        "needs a history of Linux", "tests/real/test_bisect.py::test_the_version_in_which_a_rule_got_worse"
    ),
    ("docs/survey.md", "survey run job.toml --store /shared/store --scheduler tls://build.example.org:8786"): ("needs a cluster", "tests/commands/test_survey_with_tls.py::test_the_commands_with_tls"),
    ("docs/survey.md", "survey run /srv/vmlinux/* --store /srv/store --scheduler tls://127.0.0.1:8786"): ("needs a cluster", "tests/commands/test_survey_with_tls.py::test_the_commands_with_tls"),
    ("docs/inputs.md", "check compile_commands.json --query-driver '/usr/bin/*gcc*'"): ("needs gcc", "tests/commands/test_query_driver.py::test_a_real_cross_compiler"),
    ("docs/survey.md", "survey run job.toml --store store --scheduler tls://build.example.org:8786"): ("needs a cluster", "tests/commands/test_survey_with_tls.py::test_the_commands_with_tls"),
    ("docs/inputs.md", "check /usr/bin/program --pack generic --debuginfod"): ("needs a network", "tests/readers/downloads/test_debuginfod.py::test_a_file_without_debug_information_is_completed"),
    ("docs/inputs.md", "show build-id:4e1ad18c8ac1b8a1b9c1c9d7ed25f1d0e4a3fd27 ring --debuginfod"): ("needs a network", "tests/readers/downloads/test_debuginfod.py::test_an_input_by_build_id"),
    ("docs/inputs.md", "show https://example.org/vmlinux-dbg.deb:usr/lib/debug/vmlinux address_space"): ("needs a network", "tests/readers/downloads/test_urls.py::test_layouts"),
    ("docs/servers.md", "check --pack generic vmlinux --uses linux/mm --uses linux/fs -- O=build"): ("needs a built kernel", "tests/real/test_generic.py::test_the_ten_highest_are_those_of_the_document"),
    ("docs/ci.md", "check build/compile_commands.json --policy-from origin/main"): (
        "needs a build system", "tests/commands/test_policy_flags.py::test_a_database_that_a_step_made"
    ),
    ("docs/servers.md", "infer linux/mm linux/kernel -- O=build"): ("needs a built kernel", "tests/real/test_clang_trees.py::test_a_private_struct_from_sources_alone"),
    ("docs/servers.md", "infer linux/mm vmlinux -- O=build"): ("needs a built kernel", "tests/commands/test_infer.py::test_layouts_of_a_compiled_file"),
    ("docs/randomised-layouts.md", "show vmlinux path file_operations --randstruct gcc-full --seed scripts/basic/randstruct.seed --randomized path,file_operations"): (
        "needs a built kernel", "tests/randstruct/test_builds.py::test_a_seed_that_is_given_overrides"
    ),
    ("docs/kernel.md", "check mynic.h --kernel /usr/src/linux-headers-6.1.0-56-amd64"): ("needs the headers of a kernel", "tests/real/test_drivers.py::test_check_of_a_driver"),
    ("docs/kernel.md", "check mynic.h --kernel running"): ("needs the headers of a kernel", "tests/readers/clang/test_outside_kernel.py::test_ways_to_name_a_tree"),
    ("docs/randomised-layouts.md", "check vmlinux --randstruct gcc-full --kernel-version 6.12 --randomized address_space,inode"): (
        "needs a kernel", "tests/real/test_randomised.py::test_shares_are_those_of_many_seeds"
    ),
    ("docs/servers.md", "check ./server --objects objects.txt"): ("needs a program that runs", "tests/commands/test_objects.py::test_gdb_prints_the_addresses"),
    ("docs/servers.md", "init"): ("one run of the page", "tests/project/test_tutorial_projects.py::test_the_steps"),
    ("docs/servers.md", "check --pack generic compile_commands.json"): ("one run of the page", "tests/project/test_tutorial_projects.py::test_the_steps"),
    ("docs/servers.md", "rules check layoutlint.toml"): ("one run of the page", "tests/project/test_tutorial_projects.py::test_the_steps"),
    ("docs/servers.md", "check compile_commands.json"): ("one run of the page", "tests/project/test_tutorial_projects.py::test_the_steps"),
}  # fmt: skip
"""By page and command line: why it is not run as it is, and which test runs the same on what tests have."""


def lines_without_output() -> set[tuple[str, str]]:
    """Return the pages and command lines that no example runs."""
    steps = {str(page.relative_to(ROOT)): "\n".join(step.command for each in examples(page) for step in each.steps) for page in PAGES}
    shown = {page: re.sub(r"\\\n", " ", text) for page, text in steps.items()}
    return {(page, re.sub(r"\s{2,}", " ", line)) for page, line in LINES if line not in shown[page]}


def test_every_command_line_has_its_test():
    listed = {*RUNS, *ELSEWHERE}
    assert (lines_without_output() - listed, listed - lines_without_output()) == (set(), set())
    assert not set(RUNS) & set(ELSEWHERE)


@pytest.mark.parametrize(("reason", "test"), ELSEWHERE.values())
def test_the_other_tests_exist(reason, test):
    file, _, name = test.partition("::")
    assert re.search(rf"^def {name}\(", (ROOT / file).read_text(), re.MULTILINE), reason


@pytest.mark.one_in(8)
@pytest.mark.parametrize(("place", "row"), RUNS.items(), ids=[f"{page} {line}" for page, line in RUNS])
def test_it_does_what_it_is_shown_for(place: tuple[str, str], row: Run, tmp_path: Path):
    page, line = place
    provide(row.needs.split(), tmp_path)
    for step in {step for example in examples(ROOT / page) for step in example.steps if step.file}:
        if not (tmp_path / step.file).exists():
            (tmp_path / step.file).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / step.file).write_text(step.text)
    for word, other in row.words:
        line = re.sub(rf"(?<!\S){re.escape(word)}(?!\S)", other, line)
    done = subprocess.run(
        ["bash", "-c", f"{{ {row.before}; }} > {shlex.quote(str(tmp_path / 'before.log'))} 2>&1; layoutlint {line} {row.more}"], cwd=tmp_path,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120,
        env={"PATH": f"{tmp_path}/bin:{os.environ['PATH']}", "HOME": str(tmp_path), **IDENTITY, **WITHOUT_CACHE},
    )  # fmt: skip
    assert done.returncode == row.status, done.stdout
    assert re.search(row.prints, done.stdout), done.stdout

"""Builds that say of themselves that they are randomised: refused, or held against what the command line says."""

from __future__ import annotations

import json
import shutil
import subprocess
from hashlib import sha256

import pytest

from layoutlint.model.reading import ReadOptions
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from layoutlint.workers import pool
from tests.harness.command import run
from tests.oracles.c_probe import compile_c, need
from tests.randstruct.test_check import check, rules

SEED = "0123456789abcdef02468ace13579bdffedcba9876543210ffeeddccbbaa9988"
OTHER = SEED[::-1]
PLUGIN = "int plugin_is_GPL_compatible;\nint plugin_init(void *info, void *version) { return 0; }\n"
"""Of a plugin GCC records the name and the arguments, whatever it does."""
SOURCE = """
struct path { char a; long b; short c; };
struct plain { char a; long b; };
struct calls { int (*one)(void); int (*two)(void); };
struct holder { char before; struct path path; };
struct inner { long x; };
struct cred { char a; struct inner inner; };
struct plain plain; struct calls calls; struct holder holder; struct cred cred;
"""
MODULE = f"""{SOURCE}
char vermagic[] __attribute__((section(".modinfo"))) = "vermagic=6.1.0-9 SMP mod_unload RANDSTRUCT_{sha256(SEED.encode()).hexdigest()}";
char this_module[8] __attribute__((section(".gnu.linkonce.this_module")));
"""


@pytest.fixture
def plugin(tmp_path):
    return compile_c("gcc", PLUGIN, tmp_path / "randomize_layout_plugin.so", "-shared", "-fPIC")


@pytest.fixture
def full(plugin, tmp_path):
    return compile_c("gcc", SOURCE, tmp_path / "full.o", "-g", "-c", f"-fplugin={plugin}")


@pytest.fixture
def performance(plugin, tmp_path):
    mode = "-fplugin-arg-randomize_layout_plugin-performance-mode"
    return compile_c("gcc", SOURCE, tmp_path / "performance.o", "-g", "-c", f"-fplugin={plugin}", mode)


@pytest.fixture
def module(tmp_path):
    return compile_c("gcc", MODULE, tmp_path / "module.ko", "-g", "-c")


@pytest.fixture
def module_of_clang(tmp_path):
    return compile_c("clang", MODULE, tmp_path / "module.ko", "-g", "-c")


@pytest.fixture
def plain(tmp_path):
    return compile_c("gcc", SOURCE, tmp_path / "plain.o", "-g", "-c")


STRUCTS = ("path", "plain", "calls", "holder", "inner")
OUTCOMES = {
    # Linux marks `path`; `calls` has pointers to functions only; `holder` has a `path` inside, and `inner` is in `cred`.
    "full": ["unknown", "kept", "unknown", "unknown", "unknown"],
    "performance": ["unknown", "kept", "unknown", "unknown", "unknown"],
    "module": ["unknown", "kept", "unknown", "unknown", "unknown"],
    "module_of_clang": ["kept"] * 5,
    "plain": ["kept"] * 5,
}


def sizes(tmp_path):
    rows = [(name, name, "size", "max_lines = 9") for name in STRUCTS]
    return rules(tmp_path / "rules.toml", rows, [("inner", "embedded")])


@pytest.mark.parametrize("build", list(OUTCOMES))
def test_declared_order_is_not_taken_for_that_of_a_shuffled_build(build, request, tmp_path):
    found = check(request.getfixturevalue(build), sizes(tmp_path), status=(0, 3))
    assert [found[name]["outcome"] for name in STRUCTS] == OUTCOMES[build]


def compile_alone(path):
    return [path]


def compile_package(path):
    """With the .dwo files in a package."""
    subprocess.run([need("dwp"), "-e", str(path), "-o", f"{path}.dwp"], check=True)
    for part in path.parent.glob("*.dwo"):
        part.unlink()
    return [path]


def compile_shared(path):
    """With what two files have in common in a third one."""
    copy = path.with_name("copy")
    shutil.copy(path, copy)
    subprocess.run([need("dwz"), "-m", str(path.with_name("common")), str(path), str(copy)], check=True)
    return [path, copy]


ELSEWHERE = [
    # id, flags, what becomes of the program
    ("a .dwo file", ("-g", "-gsplit-dwarf", "-c"), compile_alone),
    ("a .dwo file of a program", ("-g", "-gsplit-dwarf", "-DMAIN"), compile_alone),
    ("a package of them", ("-gsplit-dwarf", "-gdwarf-4", "-DMAIN"), compile_package),
    ("a supplementary file", ("-g", "-DMAIN"), compile_shared),
    ("among the entries", ("-g", "-c", "-fno-merge-debug-strings"), compile_alone),
    ("among those of a .dwo file", ("-g", "-c", "-fno-merge-debug-strings", "-gsplit-dwarf"), compile_alone),
    ("behind sections of types", ("-gdwarf-5", "-c", "-fno-merge-debug-strings", "-fdebug-types-section"), compile_alone),
    ("in a compressed section", ("-g", "-c", "-fno-merge-debug-strings", "-gz"), compile_alone),
]  # fmt: skip


@pytest.mark.one_in(3)
@pytest.mark.parametrize(("flags", "then"), [case[1:] for case in ELSEWHERE], ids=[case[0] for case in ELSEWHERE])
def test_the_sign_stands_elsewhere(flags, then, plugin, tmp_path):
    text = f"{SOURCE}\n#ifdef MAIN\nint main(void) {{ return 0; }}\n#endif\n"
    path = compile_c("gcc", text, tmp_path / "shuffled", *flags, f"-fplugin={plugin}")
    for each in then(path):
        found = check(each, sizes(tmp_path), status=(0, 3))
        assert [found[name]["outcome"] for name in STRUCTS] == OUTCOMES["full"]


@pytest.mark.one_in(2)
@pytest.mark.parametrize("jobs", [1, 3])
@pytest.mark.parametrize("modes", [("",), ("", "-fplugin-arg-randomize_layout_plugin-performance-mode")])
def test_one_unit_of_many_says_it_among_its_entries(plugin, modes, jobs, tmp_path, monkeypatch):
    """Whichever process reads that; performance mode is the whole build's where one unit names it."""
    monkeypatch.setattr(pool, "_UNIT_OF_WORK", 1)
    flags = ("-gdwarf-4", "-fPIC", "-c", "-fno-merge-debug-strings")
    parts = [compile_c("gcc", f"struct s{n} {{ int a; }} s{n};", tmp_path / f"{n}.o", *flags) for n in range(8)]
    for number, mode in enumerate(modes):
        words = (*flags, f"-fplugin={plugin}", *((mode,) if mode else ()))
        parts.append(compile_c("gcc", f"struct p{number} {{ int a; }} p{number};", tmp_path / f"p{number}.o", *words))
    subprocess.run([need("gcc"), "-shared", "-nostdlib", *map(str, parts), "-o", str(tmp_path / "all.so")], check=True)
    (reading,), _ = inputs.read((str(tmp_path / "all.so"),), Wanted(frozenset({"s1"})), ReadOptions(jobs=jobs))
    assert reading.shuffled is not None
    assert reading.shuffled.mode == ("gcc-full" if len(modes) == 1 else "gcc-performance")


def test_another_text_among_the_entries_is_no_sign(tmp_path):
    source = tmp_path / "randomize_layout_plugin.so.c"
    source.write_text("struct one { int a; } one;\n")
    subprocess.run([need("gcc"), "-gdwarf-4", "-fno-merge-debug-strings", "-c", source, "-o", tmp_path / "one.o"], check=True)
    assert b"randomize_layout_plugin.so" in (tmp_path / "one.o").read_bytes()
    (reading,), _ = inputs.read((str(tmp_path / "one.o"),), Wanted(frozenset({"one"})), ReadOptions())
    assert reading.shuffled is None


SAID = [
    ("full", "(DW_AT_producer names randomize_layout_plugin.so), and its debug information has the declared one: give --randstruct gcc-full"),
    ("performance", "give --randstruct gcc-performance, with the --seed if it is known"),
    ("module", "(its vermagic says RANDSTRUCT_)"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "message"), SAID)
def test_the_reason_says_what_to_do(build, message, request, tmp_path):
    found = check(request.getfixturevalue(build), sizes(tmp_path), status=(3,))
    assert message in found["path"]["message"]
    assert "the layout of a container is unreliable" in found["inner"]["message"]


def seed_words(mode, seed):
    return ("--randstruct", mode, "--seed", seed, "--kernel-version", "6.12")


CONTRADICTIONS = [
    # build, options, exit status, what is said
    ("module", seed_words("gcc-full", OTHER), 3, "the seed of SHA-256 " + sha256(SEED.encode()).hexdigest()),
    ("module", seed_words("clang", SEED), 2, "--randstruct clang: "),
    ("module_of_clang", seed_words("clang", SEED), 2, "clang's debug information has the order of its build: leave --randstruct out"),
    ("full", ("--randstruct", "gcc-performance", "--kernel-version", "6.12"), 2, "was built with gcc-full"),
    ("performance", seed_words("gcc-full", SEED), 2, "was built with gcc-performance"),
]  # fmt: skip


@pytest.mark.parametrize(("build", "options", "status", "message"), CONTRADICTIONS)
def test_another_build_than_the_command_line_says(build, options, status, message, request, tmp_path):
    done = run("check", request.getfixturevalue(build), "--rules", sizes(tmp_path), "--no-packs", *options)
    assert (done.returncode, done.stdout) == (status, "")
    assert message in done.stderr


@pytest.mark.parametrize(("build", "mode"), [("full", "gcc-full"), ("performance", "gcc-performance"), ("module", "gcc-full")])
@pytest.mark.parametrize("seed", [(), ("--seed", SEED)])
def test_what_linux_marks_needs_no_names(build, mode, seed, request, tmp_path):
    found = check(request.getfixturevalue(build), sizes(tmp_path), "--randstruct", mode, "--kernel-version", "6.12", *seed)
    assert {name: finding["outcome"] for name, finding in found.items()} == dict.fromkeys(STRUCTS, "kept")
    shuffled = [bool(found[name]["placements"]["orders"] or found[name]["randomised"]) for name in STRUCTS]
    assert shuffled == [True, False, True, True, False]


def test_a_comparison_does_not_take_the_declared_order_for_the_real_one(full, tmp_path):
    rules = tmp_path / "r.toml"
    rules.write_text('[[rule]]\nid = "r"\nstruct = "plain"\nkind = "size"\nmax = 1\nwhy = "w"\n')
    done = run("diff", full, full, "--rules", rules, "--format", "json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["status"]) == (3, "not-compared")
    assert "GCC randomised its layouts, and its debug information has the declared order" in {
        each["reason"] for each in found["not_compared"]
    }

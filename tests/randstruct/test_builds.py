"""Kernel build trees that randomise: mode, seed and hash are taken from them, and held against them."""

from __future__ import annotations

from hashlib import sha256

import pytest

from layoutlint.randstruct.kernel_tree import PLUGIN, SEEDS
from tests.harness.command import run
from tests.oracles.c_probe import compile_c
from tests.randstruct import golden
from tests.randstruct.test_plugins import OLD

SEED = "0123456789abcdeffedcba98765432100f1e2d3c4b5a69788796a5b4c3d2e1f0"
OTHER = "f" * 64
HASH = sha256(SEED.encode()).hexdigest()
SOURCE = """
struct marked { char a; long b; short c; void *d; int e; } __attribute__((randomize_layout));
struct tail { char a; long b; short c; char last[1]; } __attribute__((randomize_layout));
"""
FULL, PERFORMANCE = "CONFIG_RANDSTRUCT=y\nCONFIG_RANDSTRUCT_FULL=y\n", "CONFIG_RANDSTRUCT_PERFORMANCE=y\n"
GCC, CLANG = "CONFIG_CC_IS_GCC=y\nCONFIG_GCC_PLUGIN_RANDSTRUCT=y\n", "CONFIG_CC_IS_CLANG=y\n"


@pytest.fixture
def tree(tmp_path):
    """A build folder of Linux 6.12 with GCC, as far as it says how it randomises, and a source in it."""
    write(tmp_path, "include/config/auto.conf", FULL + GCC)
    write(tmp_path, "include/config/kernel.release", "6.12.40\n")
    write(tmp_path, SEEDS[0], f"{SEED}\n")
    write(tmp_path, "drivers/here/structs.c", SOURCE)
    return tmp_path


def write(tree, name, text):
    path = tree / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def show(tree, *options, struct="marked"):
    return run("show", tree / "drivers/here/structs.c", struct, *options)


def fields(done):
    return [line for line in done.stdout.splitlines() if line.startswith("   ")]


def expectation(tree, *options, struct="marked"):
    """What the options alone give, for the same source elsewhere."""
    away = tree.parent / "away"
    away.mkdir(exist_ok=True)
    (away / "structs.c").write_text(SOURCE)
    return fields(run("show", away / "structs.c", struct, *options))


MODES = [
    # id, configuration, file of the seed, mode
    ("full", FULL + GCC, SEEDS[0], "gcc-full"),
    ("performance", PERFORMANCE + GCC, SEEDS[0], "gcc-performance"),
    ("clang", FULL + CLANG, SEEDS[0], "clang"),
    ("until 5.18", "CONFIG_GCC_PLUGIN_RANDSTRUCT=y\n", SEEDS[1], "gcc-full"),
    ("performance until 5.18", "CONFIG_GCC_PLUGIN_RANDSTRUCT=y\nCONFIG_GCC_PLUGIN_RANDSTRUCT_PERFORMANCE=y\n", SEEDS[1], "gcc-performance"),
]  # fmt: skip


@pytest.mark.one_in(2)
@pytest.mark.parametrize(("config", "file", "mode"), [case[1:] for case in MODES], ids=[case[0] for case in MODES])
def test_mode_and_seed_are_found(config, file, mode, tree):
    write(tree, "include/config/auto.conf", config)
    (tree / SEEDS[0]).unlink()
    write(tree, file, f'const char *randstruct_seed = "{SEED}";\n' if file.endswith(".h") else SEED)
    done = show(tree)
    assert done.returncode == 0
    assert f"fields are in the order of {tree / file}" in done.stderr
    assert fields(done) == expectation(tree, "--randstruct", mode, "--seed", SEED, "--kernel-version", "6.12.40")


def test_a_seed_that_is_given_overrides(tree):
    done = show(tree, "--seed", OTHER)
    assert (done.returncode, fields(done)) == (0, expectation(tree, "--randstruct", "gcc-full", "--seed", OTHER))


def test_two_files_that_contradict_each_other(tree):
    """Which one the plugin was built with cannot be told; clang has no plugin."""
    write(tree, SEEDS[1], f'const char *randstruct_seed = "{SEED.upper()}";\n')
    assert show(tree).returncode == 0
    write(tree, SEEDS[1], f'const char *randstruct_seed = "{OTHER}";\n')
    done = show(tree)
    assert (done.returncode, done.stdout) == (2, "")
    assert f"{tree / SEEDS[0]} and {tree / SEEDS[1]} have different seeds: give the build's seed with --seed" in done.stderr
    assert show(tree, "--seed", OTHER).returncode == 0
    write(tree, "include/config/auto.conf", FULL + CLANG)
    assert fields(show(tree)) == expectation(tree, "--randstruct", "clang", "--seed", SEED)


def test_a_build_that_does_not_randomise(tree):
    write(tree, "include/config/auto.conf", "CONFIG_RANDSTRUCT_NONE=y\n")
    done = show(tree)
    assert (done.returncode, done.stderr) == (0, "")
    assert fields(done) == expectation(tree)


def test_the_source_tells_what_the_plugin_does(tree):
    version = ("--randstruct", "gcc-full", "--seed", SEED, "--kernel-version")
    assert fields(show(tree, struct="tail")) == expectation(tree, *version, "6.12.40", struct="tail")
    write(tree, PLUGIN, OLD)
    assert fields(show(tree, struct="tail")) == expectation(tree, *version, "4.14.1", struct="tail")
    folder = expectation(tree, *version, str(tree), struct="tail")
    assert folder == expectation(tree, *version, "4.14.1", struct="tail") != expectation(tree, *version, "6.12", struct="tail")


@pytest.mark.parametrize("header", ["randstruct_hash.h", "randomize_layout_hash.h"])
def test_the_hash_in_a_generated_header(header, tree):
    write(tree, f"include/generated/{header}", f'#define RANDSTRUCT_HASHED_SEED "{HASH}"\n')
    assert show(tree).returncode == 0
    done = show(tree, "--seed", OTHER)
    assert done.returncode == 3
    assert HASH in done.stderr
    assert sha256(OTHER.encode()).hexdigest() in done.stderr


MAGIC = ["RANDSTRUCT_", "RANDSTRUCT_PLUGIN_"]


@pytest.mark.parametrize("magic", MAGIC)
def test_the_hash_in_a_module(magic, tmp_path):
    info = f'static const char v[] __attribute__((section(".modinfo"), used)) = "vermagic=6.12.40 SMP {magic}{HASH}";\n'
    module = "struct module { long a; char b; } __this_module __attribute__((section(\".gnu.linkonce.this_module\")));\n"
    path = compile_c("gcc", SOURCE.replace("randomize_layout", "unused") + info + module + "struct marked m;\n", tmp_path / "module.ko", "-g", "-c")
    options = ("--randstruct", "gcc-full", "--randomized", "marked")
    assert run("show", path, "marked", *options, "--seed", SEED).returncode == 0
    done = run("show", path, "marked", *options, "--seed", OTHER)
    assert done.returncode == 3
    assert f"was built with the seed of SHA-256 {HASH}" in done.stderr


def test_clangs_debug_information_has_the_order_already(tree):
    write(tree, "include/config/auto.conf", FULL + CLANG)
    path = tree / "drivers/here/structs.o"
    compile_c(golden.newest_clang(), SOURCE + "struct marked m;\n", path, "-g", "-c", f"-frandomize-layout-seed={SEED}")
    done = run("show", path, "marked")
    assert (done.returncode, done.stderr) == (0, "")
    assert "random order" not in done.stdout

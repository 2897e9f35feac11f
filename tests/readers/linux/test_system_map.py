"""Addresses of variables from System.map, which has no sizes: only what holds whatever these are is a verdict."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from layoutlint.intent.toml import rule_file
from layoutlint.lint.options import Options
from layoutlint.lint.run import check
from tests.harness.tools import need
from tests.readers.linux.test_config import DEBIAN, RELEASE

CODE = """
__attribute__((section(".modinfo"), used)) static const char info[] = "a=b";
extern const char linux_banner[];
const char linux_banner[] = "%s";
__attribute__((aligned(64))) long first = 1;
long second = 2;
__attribute__((aligned(64))) char third[64] = { 1 };
__attribute__((aligned(64))) char fourth = 1;
__attribute__((aligned(64))) long fifth = 1;
void _start(void) { }
"""
RULES = """
variables = {{ {written} = {{ access = "hot-write" }}, {read} = {{ access = "hot-read" }} }}
[[rule]]
id = "apart"
kind = "neighbours"
variables = ["{written}"]
why = "they are written on their own"
"""
PAIRS = [
    # what is written, what is read, the outcome with symbols, and with System.map alone
    ("first", "second", "broken", "broken"),
    ("first", "third", "kept", "kept"),
    ("third", "fifth", "kept", "kept"),
]


@pytest.fixture(scope="module")
def vmlinux(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("boot")
    (folder / "a.c").write_text(CODE % DEBIAN)
    path = folder / f"vmlinux-{RELEASE}"
    subprocess.run([need("gcc", "-nostdlib"), "-g", "-O0", "-static", "-nostdlib", "-fno-toplevel-reorder", "a.c", "-o", path], cwd=folder, check=True)
    symbols = subprocess.run([need("nm"), "-n", path], capture_output=True, text=True, check=True).stdout
    (folder / f"System.map-{RELEASE}").write_text(symbols)
    subprocess.run([need("strip"), "-s", path, "-o", folder / "stripped"], check=True)
    return path


def outcome(path: Path, folder: Path, written: str, read: str) -> tuple[str, str]:
    (folder / "r.toml").write_text(RULES.format(written=written, read=read))
    packs = rule_file.load([str(folder / "r.toml")])
    report = check([str(path)], packs, (), Options())
    [finding] = (*report.findings, *report.kept_findings)
    return finding.verdict.outcome.value, finding.verdict.message


@pytest.mark.parametrize(("written", "read", "known", "mapped"), PAIRS)
def test_what_holds_whatever_the_sizes_are(vmlinux, tmp_path, written, read, known, mapped):
    assert outcome(vmlinux, tmp_path, written, read)[0] == known
    assert outcome(vmlinux.with_name("stripped"), tmp_path, written, read)[0] == mapped


def test_where_sizes_decide_the_rule_is_unknown(tmp_path):
    """Of two bytes on lines of their own the first may reach the line of the second, for all that the map says."""
    need("gcc", "-nostdlib")
    (tmp_path / "a.c").write_text(CODE.replace("aligned(64))) char fourth = 1;\n__attribute__((aligned(64))) long fifth", "aligned(64))) char fourth = 1;\n__attribute__((section(\".data\"))) char gap[70]; __attribute__((aligned(2))) short fifth") % DEBIAN)
    path = tmp_path / f"vmlinux-{RELEASE}"
    subprocess.run(["gcc", "-static", "-nostdlib", "-fno-toplevel-reorder", "-O0", "a.c", "-o", path], cwd=tmp_path, check=True)
    symbols = subprocess.run([need("nm"), "-n", path], capture_output=True, text=True, check=True).stdout
    kept = [line for line in symbols.splitlines(keepends=True) if not line.endswith(" gap\n")]
    (tmp_path / f"System.map-{RELEASE}").write_text("".join(kept))
    subprocess.run([need("strip"), "-s", path], check=True)
    found, message = outcome(path, tmp_path, "fourth", "fifth")
    assert (found, message) == (
        "unknown",
        "the sizes of variables are not known: broken if each reaches to the next, kept if they are small; check a vmlinux with symbols",
    )


OTHERS = [
    # what is wrong with the map, how
    ("another build's", lambda text: "".join(f"{int(line[:16], 16) + 64:016x}{line[16:]}\n" for line in text.splitlines() if line[:16].strip())),
    ("no banner", lambda text: text.replace("linux_banner", "banner")),
    ("no map", lambda text: "\x00" * 100),
]


@pytest.mark.parametrize("change", [case[1] for case in OTHERS], ids=[case[0] for case in OTHERS])
def test_another_map_does_not_count(vmlinux, tmp_path, change):
    stripped = tmp_path / f"vmlinux-{RELEASE}"
    stripped.write_bytes(vmlinux.with_name("stripped").read_bytes())
    text = vmlinux.with_name(f"System.map-{RELEASE}").read_text()
    (tmp_path / f"System.map-{RELEASE}").write_text(change(text))
    found, message = outcome(stripped, tmp_path, "first", "second")
    assert found == "unknown"
    assert "it has no symbol table" in message

"""What an installation consists of: `.ci/run` installs a wheel and uses it; here its description is compared with the files."""

from __future__ import annotations

import configparser
import os
import re
import stat
import subprocess
from pathlib import Path

import pytest

from layoutlint import __version__
from tests.harness.command import ROOT, run

SETUP = configparser.ConfigParser()
SETUP.read(ROOT / "setup.cfg")


def words(section: str, key: str) -> list[str]:
    return SETUP[section][key].split()


def test_every_package_is_listed():
    found = {
        ".".join(path.parent.relative_to(ROOT).parts)
        for path in (ROOT / "layoutlint").rglob("__init__.py")
    }  # fmt: skip
    assert {name for name in words("options", "packages") if name != "layoutlint.rulepacks"} == found


def test_every_package_ships_the_declarations_that_say_what_is_compiled():
    assert SETUP["options.package_data"]["*"] == "*.pxd, *.pyx"


def test_headers_for_machines_without_a_c_library_ship():
    package = ROOT / "layoutlint/readers/clang"
    patterns = SETUP["options.package_data"]["layoutlint.readers.clang"].split(", ")
    shipped = [file for pattern in patterns for file in package.glob(pattern)]
    assert sorted(shipped) == sorted([*package.rglob("*.h"), *package.rglob("*.txt")])


def test_the_version_stands_in_one_place():
    assert run("--version").stdout.startswith(f"layoutlint {__version__} (")
    assert SETUP["metadata"]["version"] == "attr: layoutlint.__version__"


def test_the_changelog_knows_the_version_or_what_comes():
    assert re.search(rf"^## \[(Unreleased|{re.escape(__version__)})\]", (ROOT / "CHANGELOG.md").read_text(), re.M)


COMMANDS = dict(re.findall(r"<!-- (\w+) -->\n```sh\n(.*?)\n```\n", (ROOT / "README.md").read_text(), re.S))


def test_the_readme_has_two_commands_that_are_complete_in_themselves():
    assert list(COMMANDS) == ["run", "tests"]
    assert [command for command in COMMANDS.values() if "python3 -m venv .venv" not in command] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_the_checks_run_them_to_the_letter(name):
    extract = re.search(r"command=\$\((.*)\)$", (ROOT / ".ci/run").read_text(), re.M)
    assert extract is not None
    shell = ["bash", "-c", extract[1], "bash", name]
    output = subprocess.run(shell, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert output.rstrip("\n") == COMMANDS[name]


def test_the_checks_can_be_run():
    assert os.stat(ROOT / ".ci/run").st_mode & stat.S_IXUSR


def test_the_licence_ships():
    assert SETUP["metadata"]["license"] == "MIT"
    assert (ROOT / SETUP["metadata"]["license_files"].strip()).read_text().startswith("MIT License")


def test_rules_are_found_from_any_folder(tmp_path: Path):
    assert run("rules", "list", cwd=tmp_path).stdout == run("rules", "list").stdout

"""The extension for VS Code: what it starts, and that it can be packaged."""

from __future__ import annotations

import json
import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

from tests.harness.command import ROOT

FOLDER = ROOT / "docs" / "editors" / "vscode"
pytestmark = pytest.mark.exhaustive
STUBS = """
const Module = require("module"), load = Module._load;
const values = { command: "layoutlint", arguments: ["--baseline", "b.toml"], inlayHints: "lines", delay: 20 };
const stubs = {
  vscode: { workspace: { getConfiguration: () => ({ get: (name) => values[name] }) } },
  "vscode-languageclient/node": {
    LanguageClient: class {
      constructor(id, name, server, options) { this.given = { id, server, options }; }
      start() { console.log(JSON.stringify(this.given)); }
      stop() { console.log("stopped"); }
    },
  },
};
Module._load = (name, ...rest) => stubs[name] ?? load(name, ...rest);
const extension = require(process.argv[1]);
extension.deactivate();
extension.activate();
extension.deactivate();
"""


def need(program: str) -> str:
    """The path of a program; skips without it."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    return path


def npm(*words: str, cwd: Path) -> None:
    """Run npm or npx; skip where packages cannot be had."""
    done = subprocess.run([need(words[0]), *words[1:]], cwd=cwd, capture_output=True, text=True, timeout=300)
    if done.returncode and any(word in done.stderr for word in ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT")):
        pytest.skip("no network")
    assert done.returncode == 0, done.stderr + done.stdout


def test_it_starts_the_server_with_its_settings():
    done = subprocess.run([need("node"), "-e", STUBS, str(FOLDER / "extension.js")], capture_output=True, text=True, check=True)
    given, stopped = done.stdout.splitlines()
    row = json.loads(given)
    assert row["server"] == {"command": "layoutlint", "args": ["lsp", "--baseline", "b.toml"]}
    assert row["options"]["initializationOptions"] == {"inlayHints": "lines", "delay": 20}
    assert stopped == "stopped"


def test_it_can_be_packaged(tmp_path: Path):
    folder = tmp_path / "vscode"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("node_modules"))
    shutil.copy(ROOT / "LICENSE", folder)
    npm("npm", "install", "--no-audit", "--no-fund", "--omit=dev", cwd=folder)
    npm("npx", "--yes", "@vscode/vsce", "package", "--allow-missing-repository", "-o", str(tmp_path / "x.vsix"), cwd=folder)
    names = zipfile.ZipFile(tmp_path / "x.vsix").namelist()
    assert {"extension/extension.js", "extension/node_modules/vscode-languageclient/node.js"} <= set(names)

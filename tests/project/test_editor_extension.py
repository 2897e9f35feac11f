"""The extension for VS Code: what it starts, and that it can be packaged."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
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

DRIVER = """
// In the place of the editor: the settings, and a client that speaks to the server by the packages of the extension.
const Module = require("module"), load = Module._load, path = require("path"), { spawn } = require("child_process");
const [folder, command, file, text] = process.argv.slice(1);
const rpc = require(path.join(folder, "node_modules/vscode-languageserver-protocol/node"));
const values = { command, arguments: ["--rules", path.join(path.dirname(file), "rules.toml")], inlayHints: "lines", codeLens: false, delay: 10 };
const uri = require("url").pathToFileURL(file).href;
class LanguageClient {
  constructor(id, name, server, options) { Object.assign(this, { server, options }); }
  async start() {
    this.child = spawn(this.server.command, this.server.args, { cwd: path.dirname(file), stdio: ["pipe", "pipe", "inherit"] });
    this.ended = new Promise((resolve) => this.child.on("exit", resolve));
    const link = this.link = rpc.createMessageConnection(new rpc.StreamMessageReader(this.child.stdout), new rpc.StreamMessageWriter(this.child.stdin));
    link.onRequest((method, given) => method === "workspace/configuration" ? given.items.map(() => values) : null);
    const published = new Promise((resolve) => link.onNotification("textDocument/publishDiagnostics", resolve));
    link.listen();
    await link.sendRequest("initialize", { processId: process.pid, rootUri: null, capabilities: {}, initializationOptions: this.options.initializationOptions });
    await link.sendNotification("initialized", {});
    await link.sendNotification("textDocument/didOpen", { textDocument: { uri, languageId: "c", version: 1, text } });
    const { diagnostics } = await published, textDocument = { uri };
    const range = { start: { line: 0, character: 0 }, end: { line: 9, character: 0 } };
    const hints = await link.sendRequest("textDocument/inlayHint", { textDocument, range });
    const lenses = await link.sendRequest("textDocument/codeLens", { textDocument });
    const hover = await link.sendRequest("textDocument/hover", { textDocument, position: { line: 0, character: 9 } });
    console.log(JSON.stringify({ codes: diagnostics.map((each) => each.code), hints: hints.map((each) => each.label), lenses: lenses?.length ?? 0, hover: hover.contents.value }));
  }
  async stop() {
    await this.link.sendRequest("shutdown");
    await this.link.sendNotification("exit");
    console.log(await this.ended);
  }
}
const stubs = {
  vscode: { workspace: { getConfiguration: () => ({ get: (name) => values[name] }) } },
  "vscode-languageclient/node": { LanguageClient },
};
Module._load = (name, ...rest) => stubs[name] ?? load(name, ...rest);
const extension = require(path.join(folder, "extension.js"));
(async () => { await extension.activate(); await extension.deactivate(); process.exit(0); })();
"""
TEXT = "struct ring {\n\tlong head;\n\tlong tail;\n\tlong rest[14];\n\tlong last;\n};\n"
RULES = '[[rule]]\nid = "apart"\nstruct = "ring"\nkind = "separate"\nfields = [["head"], ["tail"]]\nwhy = "w"\n'


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


def test_its_settings_reach_the_real_server(tmp_path: Path):
    """An unsaved text is judged; the hints are those of lines only, and there are no lenses, as the settings say."""
    pytest.importorskip("pygls")
    folder = tmp_path / "vscode"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("node_modules"))
    node = need("node")
    npm("npm", "install", "--no-audit", "--no-fund", "--omit=dev", cwd=folder)
    (tmp_path / "rules.toml").write_text(RULES)
    command = str(Path(sys.executable).with_name("layoutlint"))
    words = [node, "-e", DRIVER, str(folder), command, str(tmp_path / "ring.h"), TEXT]
    done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    answers, status = done.stdout.splitlines()
    values = json.loads(answers)
    assert (values["codes"], values["lenses"]) == (["apart"], 0)
    assert values["hints"] == ["128 \N{MIDDLE DOT} line 2"]
    assert "struct ring" in values["hover"]
    assert status == "0"


def test_it_can_be_packaged(tmp_path: Path):
    folder = tmp_path / "vscode"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("node_modules"))
    shutil.copy(ROOT / "LICENSE", folder)
    npm("npm", "install", "--no-audit", "--no-fund", "--omit=dev", cwd=folder)
    npm("npx", "--yes", "@vscode/vsce", "package", "--allow-missing-repository", "-o", str(tmp_path / "x.vsix"), cwd=folder)
    names = zipfile.ZipFile(tmp_path / "x.vsix").namelist()
    assert {"extension/extension.js", "extension/node_modules/vscode-languageclient/node.js"} <= set(names)

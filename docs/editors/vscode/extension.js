// Starts `layoutlint lsp` for C files and rule files.
"use strict";

const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

function settings() {
  const own = workspace.getConfiguration("layoutlint");
  const names = ["inlayHints", "codeLens", "hover", "delay"];
  return Object.fromEntries(names.map((name) => [name, own.get(name)]));
}

function activate() {
  const own = workspace.getConfiguration("layoutlint");
  const server = { command: own.get("command"), args: ["lsp", ...own.get("arguments")] };
  client = new LanguageClient("layoutlint", "layoutlint", server, {
    documentSelector: [
      { scheme: "file", language: "c" },
      { scheme: "untitled", language: "c" },
      { scheme: "file", pattern: "**/*.h" },
      { scheme: "file", pattern: "**/*.toml" },
    ],
    initializationOptions: settings(),
    synchronize: { configurationSection: "layoutlint" },
  });
  return client.start();
}

function deactivate() {
  return client === undefined ? undefined : client.stop();
}

module.exports = { activate, deactivate };

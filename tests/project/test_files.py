"""What a run asks about files goes through `layoutlint.files`, so that the cache knows about it."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path

from tests.harness.command import ROOT

PACKAGES = ("intent", "lint", "geometry", "judgement", "kinds", "randstruct", "readers", "reports", "sources")
ASKED = {
    "os": {"walk", "stat", "lstat", "scandir", "listdir", "access", "readlink", "open", "environ", "getenv"},
    "os.path": {
        "exists", "lexists", "isfile", "isdir", "islink", "realpath", "samefile", "getsize", "getmtime", "getctime",
        "expanduser", "expandvars", "ismount",
    },
    "glob": {"glob", "iglob"},
    "shutil": {"which"},
}  # fmt: skip
NAMES = set().union(*ASKED.values())
METHODS = {"rglob", "glob", "iterdir", "is_file", "is_dir", "read_text", "read_bytes", "open"}
ALLOWED = {
    # processes of this run, and their descriptors
    "workers/child.py": {"open"},
    "workers/attempt.py": {"open", "environ"},
    "workers/descendants.py": {"open", "listdir"},
    "workers/server.py": {"open"},
    # a limit that is part of the key, and members of archives
    "readers/archives/limits.py": {"environ"},
    # downloads that are kept beside the cache
    "readers/downloads/transfer.py": {"open"},
    "readers/downloads/download_store.py": {"open", "lstat", "scandir", "is_file"},
    "workers/permissions.py": {"open", "listdir", "stat", "readlink"},
    "workers/guard.py": {"environ", "stat"},
    "workers/sandbox.py": {"open"},
    "workers/temporary_folder.py": {"open", "scandir", "listdir", "lexists"},
    # the cache itself, and what it compares
    "readers/cache/answers.py": {"stat", "islink", "realpath"},
    "readers/cache/folder.py": {"open", "environ", "stat", "lstat", "listdir", "isdir", "realpath", "lexists"},
    "readers/cache/keys.py": {"stat", "scandir", "isdir", "is_dir", "environ"},
    # log the answers on their own
    "readers/clang/lookups.py": {"stat", "listdir", "open"},
    "readers/clang/libclang.py": {"open", "stat"},
    # git is asked under --policy-from and --staged, whose reports are not kept
    "revisions/git.py": {"realpath", "lexists", "environ", "which"},
    "revisions/change.py": {"environ"},
    "revisions/git_index.py": {"lstat", "stat", "readlink"},
    "revisions/staged_tree.py": {"lexists"},
    "revisions/tree_copies.py": {"lexists"},
    # trees that `diff` writes, and the parts of a patch
    "revisions/exported_tree.py": {"open"},
    "revisions/patched_tree.py": {"open"},
    "intent/policy.py": {"walk", "isdir", "isfile", "realpath", "lexists", "environ"},
    # of files whose content or folder is logged
    "readers/elf/elf_file.py": {"stat"},
    "readers/modules/find.py": {"islink"},
    "readers/clang/text_search.py": {"islink"},
    # the store of a survey, which keeps no output; and the inputs of its job
    "surveys/store.py": {"open", "access"},
    "commands/survey/survey_file.py": {"glob"},
    # a temporary file of `init`, which keeps no output
    "commands/init/first_rules.py": {"open"},
    # of the package, whose files are part of every key; and the working folder of this process
    "geometry/slab_caches.py": {"open"},
    "readers/clang/option_table.py": {"open"},
    "readers/clang/compiler_answer.py": {"open"},
    "readers/clang/gcc_macros.py": {"open"},
    "reports/show/c.py": {"open"},
}


@cache
def questions(path: Path) -> set[str]:
    """The functions by which a module asks about files, wherever it calls or passes them on."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Attribute) and node.attr in NAMES and node.attr in ASKED.get(ast.unparse(node.value), ()):
            found.add(node.attr)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in METHODS:
            found |= {node.func.attr} if ast.unparse(node.func.value) not in ("files", "self", "document") else set()
        elif isinstance(node, ast.Name) and node.id == "open":
            found.add("open")
    return found


def test_files_are_asked_about_in_one_module():
    direct = {}
    for package in PACKAGES:
        for path in sorted((ROOT / "layoutlint" / package).rglob("*.py")):
            name = str(path.relative_to(ROOT / "layoutlint"))
            more = questions(path) - ALLOWED.get(name, set())
            if more:
                direct[name] = more
    assert direct == {}, "use layoutlint.files"


def test_the_exceptions_are_needed():
    assert {
        name: calls - questions(ROOT / "layoutlint" / name)
        for name, calls in ALLOWED.items()
        if calls - questions(ROOT / "layoutlint" / name)
    } == {}

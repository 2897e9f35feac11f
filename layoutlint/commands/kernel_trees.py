"""The kernel tree that `--kernel` names, or `--kernel-version` if it has a folder."""

from __future__ import annotations

import os

import click

from layoutlint import files
from layoutlint.randstruct.kernel_tree import PLUGIN

RUNNING = "running"
"""The word for the build folder of the running kernel."""
_OF_RUNNING = "/lib/modules/{release}/build"
_VERSION_HINT = "--kernel-version X.Y states a version"
_TREE_HINT = "--kernel names a tree"


def apply(ctx: click.Context) -> None:
    """Make the options of a command on kernel trees one statement: an absolute path, and the version.

    Raises UsageError for what is neither a tree nor a version, and for two trees.
    """
    params = ctx.params
    stated, version = params.get("kernel_tree"), params.get("kernel_version")
    named = None if stated is None else _tree(stated)
    of_version = None if version is None else _tree_of_version(version)
    if named and of_version and files.real_path(named) != files.real_path(of_version):
        raise click.UsageError(f"--kernel {stated} contradicts --kernel-version {version}")
    if "kernel_tree" in params:
        params["kernel_tree"] = named or of_version
    if "kernel_version" in params and version is None:
        params["kernel_version"] = named


def _tree(stated: str) -> str:
    """Return the folder that `--kernel` names."""
    from layoutlint.readers.clang.kernel import tree

    path = stated if stated != RUNNING else _build_of_running()
    option = f"--kernel {stated!r}: " if stated != RUNNING else f"--kernel {RUNNING}: {path}: "
    if not files.is_folder(path):
        from layoutlint.commands.options import no_folder_reason

        raise click.UsageError(f"{option}{no_folder_reason(path)}{_remedy(stated)}; {_VERSION_HINT}")
    if not tree.is_kernel(path):
        raise click.UsageError(f"{option}{tree.no_kernel_reason(path)}; {_VERSION_HINT}")
    return os.path.abspath(path)


def _build_of_running() -> str:
    return os.environ.get("KDIR") or _OF_RUNNING.format(release=os.uname().release)


def _remedy(stated: str) -> str:
    if stated != RUNNING:
        return ""
    if os.environ.get("KDIR"):
        return " (KDIR)"
    return f" (install linux-headers-{os.uname().release}, or set KDIR)"


def _tree_of_version(text: str) -> str | None:
    """Return the tree that `--kernel-version` names; None for a version, or only the source of a plugin."""
    from layoutlint.readers.linux import version

    if not files.is_folder(text):
        if version.release_version(text.removeprefix("v")) is None:
            raise click.UsageError(f"--kernel-version {text!r}: expected X.Y, such as 6.12; {_TREE_HINT}")
        return None
    from layoutlint.readers.clang.kernel import tree

    if tree.is_kernel(text):
        return os.path.abspath(text)
    if not files.is_file(os.path.join(text, PLUGIN)):
        raise click.UsageError(f"--kernel-version {text!r}: {tree.no_kernel_reason(text)}; {_TREE_HINT}")
    return None

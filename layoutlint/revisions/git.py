"""Files of a commit, read through git without running any program that a repository can name.

A repository under check may be hostile, and its configuration can name programs: hooks, file-system monitors,
filters, remote helpers. So only `rev-parse`, `merge-base`, `rev-list`, `ls-files`, `ls-tree`,
`diff-index --cached`, `diff-tree` and `cat-file` are called, and `apply` outside of the repository. They run
none of these, except to fetch the objects of a partial clone: all protocols are denied, and no object is
fetched.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cache, lru_cache
from typing import IO, Final

from layoutlint import files
from layoutlint.errors import ReadError, UsageError
from layoutlint.model.record import Record, replace
from layoutlint.workers import program

_LARGEST: Final = 1 << 24
"""The most bytes of a file, or of a list of files."""
_LARGEST_LIST: Final = 1 << 26
"""The most bytes of a list of all files of a repository; Linux v7.2 has 4 million."""
_LARGEST_INDEX: Final = 1 << 28
"""The most bytes of a list of all files with what the index knows of them."""
_LARGEST_MERGE: Final = 1 << 16
"""The most bytes of the list of the commits that are being merged; Linux once merged 66 at once."""
_SECONDS_OF_STREAM: Final = 600
_LIMITS: Final = program.Limits(seconds=60, output=_LARGEST, messages=4096)
_HARDENING: Final = (
    "--no-replace-objects", "--no-optional-locks", "--literal-pathspecs", "--no-pager",
    "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.attributesFile=/dev/null",
    "-c", "core.sshCommand=false", "-c", "core.gitProxy=", "-c", "core.pager=cat", "-c", "credential.helper=",
    "-c", "diff.external=", "-c", "protocol.allow=never", "-c", "safe.bareRepository=explicit",
    "-c", "gc.auto=0", "-c", "maintenance.auto=false", "-c", "advice.graftFileDeprecated=false",
)  # fmt: skip
_ENVIRONMENT: Final = {
    "GIT_ALLOW_PROTOCOL": "none",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_GRAFT_FILE": os.devnull,
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ASKPASS": "",
    "LC_ALL": "C",
}
_INHERITED: Final = ("HOME", "XDG_CONFIG_HOME", "GIT_CEILING_DIRECTORIES")
"""The user's own configuration decides whose repositories are trusted (`safe.directory`)."""
_INDEX: Final = "GIT_INDEX_FILE"
_RAW: Final = ("--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=dirty", "-z")
"""Options that list differences with modes and ids. Working trees of submodules are left alone."""
_NO_REPOSITORY = "not a git repository (or any"
"""What git says in a folder without a repository around it; other messages name a broken one."""
_NO_CHECKOUT: Final = ("bare repository", "must be run in a work tree")
"""What git says where there is no working tree; its messages are those of the C locale."""
_CAUSES: Final = ("fatal: ", "error: ")
_ASIDES: Final = ("hint: ", "warning: ")
"""The beginnings of git's messages on failures, and of others."""
_TRUST: Final = "; if you trust it, run `git config --global --add safe.directory` with this folder"
_COMMIT: Final = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
UNKNOWN_EDITS: Final = "?"
"""The letter of a commit whose edits cannot be listed."""
_SHORTEST_ID: Final = 40
"""The letters of an id; a merge has a letter of status for each parent, far fewer."""
_FILE, _PROGRAM, _LINK, _SUBMODULE = "100644", "100755", "120000", "160000"
_NO_MODE = "000000"
"""The mode that git shows for a file which one side of a difference lacks."""


class Blob(Record, frozen=True):
    """A file in the tree of a commit."""

    mode: str
    id: str
    repository: str = ""
    """The top of the submodule that has it; empty for the repository itself."""

    @property
    def is_plain(self) -> bool:
        """Whether it is a file, and no link or submodule."""
        return self.mode in (_FILE, _PROGRAM)

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return self.mode == _LINK

    @property
    def is_submodule(self) -> bool:
        """Whether it is the commit of a submodule."""
        return self.mode == _SUBMODULE


class Commit(Record, frozen=True):
    """A commit of the repository around the working folder."""

    name: str
    """As the user names it."""
    id: str
    top: str
    """The real path of the top of the working tree."""
    tree_folder: str = ""
    """The folder whose paths are those of the tree, if it is not the top."""

    def path_in_tree(self, path: str) -> str | None:
        """Return the path of a file below the top; None for a file outside of the working tree."""
        # Only the folder is resolved: a link in place of a file is that file.
        folder, name = os.path.split(os.path.normpath(os.path.abspath(path)))
        real = os.path.join(os.path.realpath(folder), name)
        top = self.tree_folder or self.top
        if real == top:
            return ""
        return real[len(top) + 1 :] if real.startswith(f"{top}{os.sep}") else None

    def files(self, path: str) -> dict[str, str]:
        """Return the mode of each file at or below a path of the tree; raises UsageError."""
        return {name: blob.mode for name, blob in self.blobs(path).items()}

    def blobs(self, path: str = "") -> dict[str, Blob]:
        """Return the files at or below a path of the tree; raises UsageError."""
        words = ("ls-tree", "-r", "-z", "--full-tree", self.id, *(("--", path) if path else ()))
        output = _run(self.top, *words, limits=replace(_LIMITS, output=_LARGEST_LIST))
        entries = (entry.partition(b"\t") for entry in output.split(b"\0") if entry)
        return {os.fsdecode(name): Blob(*head.decode().split()[::2]) for head, _, name in entries}

    def link_above(self, folder: str) -> tuple[str, str] | None:
        """Return the first part of a folder's path that is a link in the tree, and its target; None without.

        Raises UsageError.
        """
        parts = folder.split("/")
        prefixes = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
        output = _run(self.top, "ls-tree", "-z", "--full-tree", self.id, "--", *prefixes)
        for head, _, name in (entry.partition(b"\t") for entry in output.split(b"\0") if entry):
            mode, _, blob = head.decode().split()
            if mode == _LINK:
                return os.fsdecode(name), os.fsdecode(_run(self.top, "cat-file", "blob", blob))
        return None

    def content(self, path: str) -> bytes | None:
        """Return a file of the commit; None if it is missing. Raises UsageError if it is no plain file."""
        mode = self.files(path).get(path)
        if mode is None:
            return None
        if mode not in (_FILE, _PROGRAM):
            raise UsageError(f"{path} is a link or a submodule in {self.name}, and cannot be read from there")
        name = f"{self.id}:{path}"
        size = int(_run(self.top, "cat-file", "-s", name) or 0)
        if size > _LARGEST:
            raise UsageError(f"{path} has {size:,} bytes in {self.name}, more than the {_LARGEST:,} allowed")
        return _run(self.top, "cat-file", "blob", name)


def commit(revision: str, option: str = "--policy-from", allows_bare: bool = False) -> Commit:
    """Return the commit that a revision names; raises UsageError, with the option that names it, for none.

    With `allows_bare`, the repository may lack a working tree.
    """
    if not revision or revision.startswith("-") or not revision.isprintable():
        raise UsageError(f"{option} {revision!r} is not a revision: give a branch, a tag or a commit")
    top = top_folder(option, allows_bare)
    result = _commit(top, revision)
    if result is None:
        raise UsageError(
            f"{option} {revision!r}: this repository has no such commit; fetch it first "
            f"(`git fetch origin {revision}`)"
        )
    return result


def revision_range(text: str, option: str) -> tuple[Commit, Commit]:
    """Return the two commits of `A..B`, or of `A...B` the last one that both share, and B.

    A missing side is HEAD, as for git. The repository may be bare. Raises UsageError.
    """
    old, dots, new = text.partition("...")
    if not dots:
        old, dots, new = text.partition("..")
    if not dots:
        raise UsageError(f"{option} {text!r} is not a range of revisions: write A..B, such as v6.8..v6.9")
    commits = commit(old or "HEAD", option, True), commit(new or "HEAD", option, True)
    if dots == "..":
        return commits
    return fork_point(commits[0].top, commits[0].id, commits[1].id) or commits


def halving_commits(top: str, bad: str, goods: Sequence[str]) -> list[str]:
    """Return the commits that a bad one contains and no good one, those that halve them best first.

    Raises UsageError.
    """
    words = ("rev-list", "--bisect-all", bad, "--not", *goods, "--")
    output = _run(top, *words, limits=replace(_LIMITS, output=_LARGEST_LIST))
    return [line.split(b" ", 1)[0].decode() for line in output.splitlines() if line]


def parents_between(good: Commit, bad: Commit) -> dict[str, tuple[str, ...]]:
    """Return the commits that one commit contains and another does not, with their parents, oldest first.

    Raises UsageError.
    """
    words = ("rev-list", "--topo-order", "--reverse", "--parents", bad.id, "--not", good.id, "--")
    output = _run(bad.top, *words, limits=replace(_LIMITS, output=_LARGEST_LIST)).decode()
    rows = (line.split() for line in output.splitlines())
    return {commit_id: tuple(parents) for commit_id, *parents in rows}


def edited_paths(top: str, commits: Sequence[str]) -> Iterator[tuple[str, str, str]]:
    """Yield the commit, a letter (`A` added, `D` deleted, `M` modified ...) and the path of each edit.

    A merge edits what differs from all its parents; it has a letter for each. If git cannot list the edits of
    a commit, as in a partial clone, its letter is UNKNOWN_EDITS. Raises UsageError.
    """
    words = "".join(f"{commit}\n" for commit in commits).encode()
    options = ("--stdin", "-c", "-r", "--root", "--name-status", *_RAW[2:], "--always")
    with _stream(("diff-tree", *options), top, words) as output:
        commit = letters = ""
        left = dict.fromkeys(commits)
        for word in _words(output):
            if letters:
                yield commit, letters, os.fsdecode(word)
                letters = ""
            elif len(word) >= _SHORTEST_ID:
                commit = word.decode()
                left.pop(commit, None)
            else:
                letters = word.decode()
    yield from ((each, UNKNOWN_EDITS, "") for each in left)


def _words(output: IO[bytes]) -> Iterator[bytes]:
    """Yield the words of an output that end with a NUL."""
    rest = b""
    while piece := output.read(1 << 16):
        *words, rest = (rest + piece).split(b"\0")
        yield from words


@contextmanager
def _stream(words: Sequence[str], top: str, given: bytes) -> Iterator[IO[bytes]]:
    """Run git with an input, and hand out its output; raises UsageError."""
    command = (*_command(top), *words)
    try:
        with program.stream(command, top, _environment(), given, _SECONDS_OF_STREAM) as output:
            yield output
    except OSError as error:
        raise UsageError(f"git cannot be run: {(error.strerror or str(error)).lower()}") from error
    except program.LimitExceeded as error:
        raise UsageError(f"git {words[0]} {error}") from error


def describe(commit: Commit) -> tuple[str, str]:
    """Return the date (`2024-05-12`) and the subject of a commit; raises UsageError."""
    output = _run(commit.top, "cat-file", "commit", commit.id).decode(errors="replace")
    head, _, message = output.partition("\n\n")
    committer = next((line for line in head.splitlines() if line.startswith("committer ")), "")
    seconds = committer.rsplit(" ", 2)[-2] if committer.count(" ") > 2 else "0"
    known = int(seconds) if seconds.isdecimal() and len(seconds) < 12 else 0
    return f"{datetime.fromtimestamp(known, UTC):%Y-%m-%d}", message.partition("\n")[0]


def contents(
    commit: Commit, blobs: Sequence[tuple[str, str]], most: int
) -> Iterator[tuple[str, bytes | None]]:
    """Yield the content of files, given as name and id of the blob; None for one with more than `most` bytes.

    Raises UsageError if git fails.
    """
    if not blobs:
        return
    words = "".join(f"{blob}\n" for _, blob in blobs).encode()
    with _stream(("cat-file", "--batch"), commit.top, words) as output:
        for name, _ in blobs:
            yield name, _next_content(output, most, commit)


def _next_content(output: IO[bytes], most: int, commit: Commit) -> bytes | None:
    """Return the next file of `cat-file --batch`; raises UsageError if it is missing."""
    head = output.readline(1 << 12).split()
    if len(head) != 3 or head[1] != b"blob":
        raise UsageError(
            f"{commit.name}: this repository lacks one of its files; in a partial clone, fetch them first "
            "(`git fetch --refetch --no-filter`)"
        )
    size = int(head[2])
    if size <= most:
        content = output.read(size)
    else:
        content = None
        while size > 0 and (piece := output.read(min(size, 1 << 20))):
            size -= len(piece)
    output.read(1)
    return content


def is_bare(folder: str) -> bool:
    """Return whether a folder is a repository itself, and no working tree."""
    has_parts = all(os.path.lexists(os.path.join(folder, name)) for name in ("HEAD", "objects", "refs"))
    return has_parts and not os.path.lexists(os.path.join(folder, ".git"))


def _own_bare_folder(folder: str, option: str) -> str:
    """Return the real path of a bare repository; raises UsageError if another user can change it.

    git does not check this for a repository that is named, as a bare one is here.
    """
    if not _is_own(folder):
        raise UsageError(f"the repository {folder} belongs to another user; clone it first", option)
    return os.path.realpath(folder)


def _is_own(folder: str) -> bool:
    return not hasattr(os, "geteuid") or files.status_of(folder).st_uid == os.geteuid()


def top_folder(option: str, allows_bare: bool = False) -> str:
    """Return the real path of the top of the working tree around this folder.

    With `allows_bare`, this folder may be a bare repository, which is then returned. Raises UsageError, which
    names the option that needs it.
    """
    folder = os.getcwd()
    if is_bare(folder):
        if allows_bare:
            return _own_bare_folder(folder, option)
        raise _lack_of_files(folder, option)
    try:
        output = _run(folder, "rev-parse", "--show-toplevel")
    except UsageError as error:
        if _NO_REPOSITORY in str(error):
            raise UsageError(f"{folder} is not in a git repository", option) from error
        if not any(words in str(error) for words in _NO_CHECKOUT):
            raise
        raise _lack_of_files(folder, option) from error
    top = os.path.realpath(os.fsdecode(output).removesuffix("\n"))
    if top != _holder(folder):
        raise UsageError(
            f"the configuration of this repository puts its working tree into {top} "
            "(core.worktree); run in a separate checkout",
            option,
        )
    return top


def _lack_of_files(folder: str, option: str) -> UsageError:
    return UsageError(
        f"{folder} is in a bare repository, which has no files; run in a checkout "
        "(`git worktree add ../checkout`)",
        option,
    )


def parents(top: str) -> tuple[Commit, ...]:
    """Return the parents of the next commit: HEAD, in a merge also the others; () for the first commit.

    Raises UsageError if git's list of the others cannot be read.
    """
    commits = (_commit(top, "HEAD"), *_merged_commits(top))
    return tuple(commit for commit in commits if commit is not None)


def _merged_commits(top: str) -> Iterator[Commit | None]:
    """Yield the commits that are being merged: `git merge` can merge any number at once."""
    path = os.fsdecode(_run(top, "rev-parse", "--git-path", "MERGE_HEAD")).removesuffix("\n")
    try:
        ids = files.read_all(os.path.join(top, path), _LARGEST_MERGE).decode(errors="replace").split()
    except FileNotFoundError:
        return
    except OSError as error:
        raise UsageError(f"MERGE_HEAD cannot be read: {files.error_reason(error)}") from error
    for commit_id in filter(_COMMIT.fullmatch, ids):
        commit = _commit(top, commit_id)
        name = "MERGE_HEAD" if len(ids) == 1 else f"MERGE_HEAD {commit_id[:12]}"
        yield None if commit is None else replace(commit, name=name)


def fork_point(top: str, old: str, new: str) -> tuple[Commit, Commit] | None:
    """Return the last commit that two revisions share, and the second; None if one is not in the repository.

    A shallow clone can lack the shared commit: the first revision then takes its place.
    """
    commits = _commit(top, old), _commit(top, new)
    if commits[0] is None or commits[1] is None:
        return None
    try:
        shared = _run(top, "merge-base", commits[0].id, commits[1].id).decode().strip()
    except UsageError:
        shared = ""
    return (Commit(old, shared, top) if _COMMIT.fullmatch(shared) else commits[0]), commits[1]


def patched_paths(patch: str, shown: str, *words: str) -> frozenset[str]:
    """Return the paths that a patch changes, below the folder to which it applies; raises ReadError.

    `words` are further options of `git apply`.
    """
    output = _apply(os.path.dirname(patch), patch, shown, "--numstat", "-z", *words)
    return frozenset(os.fsdecode(row.split(b"\t", 2)[-1]) for row in output.split(b"\0") if row)


def apply_patch(patch: str, shown: str, folder: str, *words: str) -> None:
    """Apply a patch to the files below a folder outside of repositories; raises ReadError if it does not fit.

    `words` are further options of `git apply`.
    """
    _apply(folder, patch, shown, *words)


def _apply(folder: str, patch: str, shown: str, *words: str) -> bytes:
    """Run `git apply` outside of any repository; raises ReadError with its first message."""
    command = (_git(), *_HARDENING, "apply", "--whitespace=nowarn", *words, "--", patch)
    environment = {**_environment(), "GIT_CEILING_DIRECTORIES": os.path.dirname(os.path.realpath(folder))}
    try:
        result = program.run(command, folder, environment, _LIMITS)
    except OSError as error:
        raise ReadError(shown, f"git cannot be run: {(error.strerror or str(error)).lower()}") from error
    except program.LimitExceeded as error:
        raise ReadError(shown, f"git apply {error}") from error
    if result.status:
        message = _cause(result.messages)
        reason = message.removeprefix("error: ") or f"status {result.status}"
        raise ReadError(shown, f"does not apply: {reason}")
    return result.output


def staged_differences(commit: Commit) -> Iterator[tuple[str, Blob | None, Blob | None]]:
    """Yield the paths whose content in the index differs from a commit, with both; None if one lacks it."""
    yield from _differences(commit.top, "diff-index", "--cached", *_RAW, commit.id, "--")


def commit_differences(old: Commit, new: Commit) -> Iterator[tuple[str, Blob | None, Blob | None]]:
    """Yield the paths whose content differs between two commits, with the two; None if one lacks it."""
    yield from _differences(new.top, "diff-tree", "-r", *_RAW, old.id, new.id, "--")


def _differences(top: str, *words: str) -> Iterator[tuple[str, Blob | None, Blob | None]]:
    """Yield the rows that git prints for `--raw`: `:MODE MODE ID ID LETTER`, and the path."""
    output = _run(top, *words, limits=replace(_LIMITS, output=_LARGEST_LIST), with_index=True)
    parts = output.split(b"\0")[:-1]
    for head, path in zip(parts[::2], parts[1::2], strict=True):
        modes_and_ids = head.decode().lstrip(":").split()[:4]
        old, new = map(_blob, modes_and_ids[:2], modes_and_ids[2:])
        yield os.fsdecode(path), old, new


def _blob(mode: str, blob_id: str) -> Blob | None:
    return None if mode == _NO_MODE else Blob(mode, blob_id)


def indexed_blobs(top: str) -> dict[str, Blob]:
    """Return the files in the index; one with conflicts has its last stage. Raises UsageError."""
    words = ("ls-files", "--cached", "--stage", "-z", "--full-name")
    output = _run(top, *words, limits=replace(_LIMITS, output=_LARGEST_LIST), with_index=True)
    entries = (entry.partition(b"\t") for entry in output.split(b"\0") if entry)
    return {os.fsdecode(name): Blob(*head.decode().split()[:2]) for head, _, name in entries}


def tracked_paths(top: str) -> frozenset[str]:
    """Return the paths of all files in the index."""
    return _paths(top, "ls-files", "--cached", "-z", "--full-name")


def own_paths(top: str) -> frozenset[str]:
    """Return the paths of all files in the index, and of others that git does not ignore."""
    return _paths(top, "ls-files", "--cached", "--others", "--exclude-standard", "-z", "--full-name")


def index_listing(top: str, is_own: bool = True) -> tuple[bytes, str]:
    """Return the entries of the index with what it knows of their files, and its place. Raises UsageError.

    Of a submodule (`is_own` false), the commit that git is making has no index.
    """
    words = ("ls-files", "--cached", "--stage", "--debug", "-z", "--full-name")
    listing = _run(top, *words, limits=replace(_LIMITS, output=_LARGEST_INDEX), with_index=is_own)
    path = os.fsdecode(_run(top, "rev-parse", "--git-path", "index", with_index=is_own)).removesuffix("\n")
    return listing, os.path.join(top, path)


def untracked_paths(top: str, is_own: bool = True) -> frozenset[str]:
    """Return the paths of files that are not in the index, and of folders without any that is, with a `/`."""
    return _paths(top, "ls-files", "--others", "--directory", "-z", "--full-name", is_own=is_own)


def untracked_files(top: str, is_own: bool = True) -> frozenset[str]:
    """Return the paths of all files that are not in the index, ignored ones too."""
    return _paths(top, "ls-files", "--others", "-z", "--full-name", is_own=is_own)


def _paths(top: str, *words: str, is_own: bool = True) -> frozenset[str]:
    output = _run(top, *words, limits=replace(_LIMITS, output=_LARGEST_LIST), with_index=is_own)
    return frozenset(os.fsdecode(name) for name in output.split(b"\0") if name)


def commit_in(top: str, commit_id: str) -> Commit | None:
    """Return the commit with an id in a repository; None if that lacks it, or is not to be trusted."""
    if is_bare(top) and not _is_own(top):
        return None
    return _commit(top, commit_id) if _COMMIT.fullmatch(commit_id) else None


def kept_submodule(top: str, path: str) -> str | None:
    """Return the repository that git keeps of a submodule which is not checked out; None without one."""
    if is_bare(top):
        return None
    modules = _modules_folder(top)
    folder = os.path.realpath(os.path.join(modules, path))
    return folder if folder.startswith(f"{modules}{os.sep}") and is_bare(folder) else None


@lru_cache(maxsize=64)
def _modules_folder(top: str) -> str:
    """Return the real path of the repositories that git keeps; asked once for thousands of submodules."""
    kept = os.fsdecode(_run(top, "rev-parse", "--git-path", "modules")).removesuffix("\n")
    return os.path.realpath(os.path.join(top, kept))


def _commit(top: str, revision: str) -> Commit | None:
    """Return the commit that a revision names; None if there is none."""
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    try:
        commit_id = _run(top, *words).decode().strip()
    except UsageError:
        return None
    return Commit(revision, commit_id, top) if _COMMIT.fullmatch(commit_id) else None


def _holder(folder: str) -> str:
    """Return the real path of the nearest folder, from this one up, that contains a `.git`.

    With `core.worktree` a repository names any other: its rule files would count as outside of the change.
    """
    folder = os.path.realpath(folder)
    while not os.path.lexists(os.path.join(folder, ".git")) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    return folder


def _run(folder: str, *words: str, limits: program.Limits | None = None, with_index: bool = False) -> bytes:
    """Return the output of git; raises UsageError with its first message, or if it exceeds its limits.

    `with_index`: the index is the one of the commit that git is making (`git commit -a`, `git commit FILE`).
    """
    environment = _environment()
    if with_index and _INDEX in os.environ:
        environment[_INDEX] = os.path.join(folder, os.environ[_INDEX])
    try:
        result = program.run((*_command(folder), *words), folder, environment, limits or _LIMITS)
    except OSError as error:
        raise UsageError(f"git cannot be run: {(error.strerror or str(error)).lower()}") from error
    except program.LimitExceeded as error:
        raise UsageError(f"git {words[0]} {error}") from error
    if result.status:
        message = _cause(result.messages)
        remedy = _TRUST if "dubious ownership" in message else ""
        raise UsageError(f"git {words[0]} failed: {message or f'status {result.status}'}{remedy}")
    return result.output


def _cause(messages: bytes) -> str:
    """Return the line of git's messages that says why it failed: not a hint or a warning before it."""
    lines = messages.decode(errors="replace").strip().split("\n")
    causes = (line for line in lines if line.startswith(_CAUSES))
    return next(causes, None) or next((line for line in lines if not line.startswith(_ASIDES)), lines[0])


def _command(folder: str) -> tuple[str, ...]:
    """Return the words that run git in a folder; it finds a bare repository only if that is named."""
    # Its configuration can name a working tree, as that of a submodule does, which need not be there.
    named = (f"--git-dir={folder}", f"--work-tree={folder}") if is_bare(folder) else ()
    return (_git(), *_HARDENING, *named)


def _environment() -> dict[str, str]:
    environment = {name: os.environ[name] for name in _INHERITED if name in os.environ}
    return environment | {"PATH": _path(), **_ENVIRONMENT}


def _path() -> str:
    """Return the search path without relative folders: a checkout must not bring its own git."""
    return os.pathsep.join(filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep)))


@cache
def _git() -> str:
    """Return the path of git; raises UsageError if there is none."""
    import shutil

    path = shutil.which("git", path=_path())
    if path is None:
        raise UsageError("git is needed, and is not on the search path")
    return path

"""Recording of layouts: the reading of a snapshot, from one or several inputs of one build."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

from layoutlint import files
from layoutlint.comparison.acceptance import matches
from layoutlint.errors import ReadError, UsageError, did_you_mean
from layoutlint.geometry.layout import Layout
from layoutlint.judgement import namesakes
from layoutlint.judgement.rule import Pack
from layoutlint.lint import query
from layoutlint.lint.missing_name import unmatched_globs
from layoutlint.lint.options import Options
from layoutlint.lint.reading import Inputs, embedded_names, read_inputs
from layoutlint.model.paths import is_pattern
from layoutlint.model.reading import SNAPSHOT_OF, Chosen, Reading
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Struct, hidden_name
from layoutlint.model.wanted import Wanted
from layoutlint.readers import inputs
from layoutlint.readers.clang.kernel.tree import enclosing_tree
from layoutlint.readers.snapshot.decode import decode
from layoutlint.readers.snapshot.encode import encode


class Request(Record, frozen=True):
    """The structs that a snapshot is to have."""

    everything: bool = False
    globs: tuple[str, ...] = ()
    """Names and patterns."""
    containers_of: tuple[str, ...] = ()
    """Structs whose containers it is to have, beside those that rules need."""
    packs: tuple[Pack, ...] = ()
    """The packs whose rules name structs, if rules choose."""
    kernel_packs: tuple[Pack, ...] = ()
    """Likewise, for kernels only."""
    before: frozenset[str] | None = None
    """The structs of the snapshot that is written again; None for a new one."""
    types: bool = False
    """Whether it is to hold types, too."""
    may_use: tuple[str, ...] = ()
    """Patterns of the reserved members whose bytes others may use."""
    new_globs: tuple[str, ...] = ()
    """Those of `may_use` that the former snapshot lacks: they must match a member."""


class Recording(Record, frozen=True):
    """A snapshot as text, and what it lacks."""

    text: str
    structs: int
    """Number of structs that rules can judge."""
    troubles: tuple[str, ...]
    """What could not be recorded, as sentences."""
    notes: tuple[str, ...]


def record(paths: tuple[str, ...], request: Request, options: Options) -> Recording:
    """Read the chosen structs of some inputs, and return their snapshot.

    Raises ReadError if nothing can be read, and UsageError for inputs of several builds.
    """
    wanted, embedded = _structs_to_record(paths, request, options)
    read_result = _read(paths, wanted, embedded, options)
    if not read_result.readings:
        raise ReadError(read_result.unread[0].origin, read_result.unread[0].reason)
    readings = [
        _narrow_alignments(reading, read_result, number, request, embedded)
        for number, reading in enumerate(read_result.readings)
    ]
    chosen = _choice(readings, wanted, request, embedded)
    merged = replace(_merge(readings), holds_types=request.types, may_use=request.may_use)
    _refuse_idle_globs(merged, request)
    names = _FileNames(paths, merged.reader)
    merged = replace(merged, structs=tuple(names.without_lines(struct) for struct in merged.structs))
    text = encode(merged, chosen, names.stable)
    _refuse_unreadable(text, paths)
    missing = _unmatched_names(paths, request, merged, options)
    layouts = (f"{text}; all are recorded" for text in namesakes.sentences(merged.structs))
    merged = replace(merged, notes=(*merged.notes, *layouts, *_vanished_structs(request, merged)))
    troubles = (*missing, *_unreliable(merged, request), *map(str, read_result.unread))
    return Recording(text, _count(merged), tuple(dict.fromkeys(troubles)), merged.notes)


def _refuse_unreadable(text: str, paths: tuple[str, ...]) -> None:
    """Raise ReadError for a snapshot that no command could read: its input contradicts itself."""
    try:
        decode(text.encode("utf-8", "surrogatepass"), "the snapshot")
    except ReadError as error:
        raise ReadError(", ".join(paths), f"cannot be recorded: {error.reason}") from error


def _refuse_idle_globs(reading: Reading, request: Request) -> None:
    """Raise UsageError for a pattern that matches no member of the recorded structs."""
    if not request.new_globs:
        return
    layouts = (Layout(struct) for struct in reading.structs if struct.bit_size is not None)
    members = {(each.struct.name, place.path) for each in layouts for place in each.walk_fields()}
    for glob in request.new_globs:
        if not any(matches(glob, *member) for member in members):
            names = {
                ".".join((struct, *path.split("."))[-1 - glob.count(".") :]) for struct, path in members
            }
            raise UsageError(f"--may-use: no member matches `{glob}`{did_you_mean(glob, names)}")


def _structs_to_record(
    paths: tuple[str, ...], request: Request, options: Options
) -> tuple[Wanted, frozenset[str]]:
    """Return what is read, and the names of structs whose containers are read too."""
    if request.everything:
        # Typedefs are known only if they are asked for by name.
        return Wanted(
            inputs.names(paths, options.read), everything=True, annotated=options.intents.annotations
        ), frozenset()
    packs = request.packs + request.kernel_packs
    wanted = query.structs_to_read(request.packs, request.kernel_packs, {}, options)
    patterns = {glob for glob in request.globs if is_pattern(glob)}
    wanted = replace(
        wanted,
        names=wanted.names | set(request.globs) - patterns,
        patterns=tuple(sorted({*wanted.patterns, *patterns})),
        unless=(),
        annotated=options.intents.annotations,
    )
    return wanted, embedded_names(packs) | set(request.containers_of)


def _read(paths: tuple[str, ...], wanted: Wanted, embedded: frozenset[str], options: Options) -> Inputs:
    """Read inputs, with the layouts of a build that randomises them by a known seed."""
    options = replace(options, read=replace(options.read, finds_omissions=True))
    if embedded:
        wanted = replace(wanted, with_containers=embedded, embedded=tuple(sorted(embedded)))
    if options.randomised is not None:
        from layoutlint.lint import random_build

        result = random_build.read(paths, wanted, embedded, options)
        return replace(result, readings=[replace(each, shuffled=None) for each in result.readings])
    result = read_inputs(paths, wanted, embedded, options.read)
    if any(reading.shuffled for reading in result.readings):
        from layoutlint.lint import random_build

        result = random_build.mark_unknown_orders(result, embedded, options.read)
    return result


def _narrow_alignments(
    reading: Reading, inputs: Inputs, number: int, request: Request, embedded: frozenset[str]
) -> Reading:
    """Return a reading with the alignments that the uses of structs leave possible."""
    surroundings = inputs.surroundings.select(number)
    structs = reading.structs
    if not request.everything and not request.packs and not request.kernel_packs and not embedded:
        structs = tuple(filter(Chosen(request.globs).has, structs))
    return replace(reading, structs=tuple(map(surroundings.settle, structs)))


def _choice(
    readings: list[Reading], wanted: Wanted, request: Request, embedded: frozenset[str]
) -> Chosen | None:
    """Return what the snapshot says it has; None for everything. Raises UsageError for nothing."""
    if any(reading.chosen is not None for reading in readings):  # which others there are is not known
        present = {struct.name for reading in readings for struct in reading.structs}
        return Chosen(tuple(sorted(present)), tuple(sorted(embedded)))
    if request.everything:
        return None
    names: set[str] = set()
    for reading in readings:
        own = wanted.narrow(reading.is_kernel)
        names |= own.names | set(own.patterns)
        if request.packs or request.kernel_packs:
            names |= {struct.name for struct in reading.structs if struct.annotations}
    if not names:
        raise UsageError("no rule names a struct; name some with --struct, give --rules, or record --all")
    return Chosen(tuple(sorted(names)), tuple(sorted(embedded)))


def _merge(readings: list[Reading]) -> Reading:
    """Return one reading for all. Raises UsageError for readings of several builds."""
    first = readings[0]
    facts: tuple[tuple[str, Callable[[Reading], object]], ...] = (
        ("targets", lambda each: each.target.name),
        ("versions of Linux", lambda each: each.kernel),
        ("kernel configurations", lambda each: (each.config, each.options)),
        ("kinds: one is a Linux kernel", lambda each: each.is_kernel),
        ("layouts: one is randomised", lambda each: each.shuffled),
    )
    for other in readings[1:]:
        for name, fact in facts:
            if fact(first) != fact(other):
                raise UsageError(
                    f"{first.path} and {other.path} have different {name}; write a snapshot for each"
                )
    reader = " and ".join(sorted({each.reader.removeprefix(SNAPSHOT_OF) for each in readings}))
    return replace(
        first,
        reader=reader,
        structs=tuple(struct for each in readings for struct in each.structs),
        compilers=tuple(sorted({name for each in readings for name in each.compilers})),
        omissions=tuple(dict.fromkeys(part for each in readings for part in each.omissions)),
        notes=tuple(dict.fromkeys(note for each in readings for note in each.notes)),
    )


def _count(reading: Reading) -> int:
    known = (s for s in reading.structs if s.bit_size is not None and s.problem is None)
    return sum(not struct.is_hidden for struct in known)


def _unmatched_names(
    paths: tuple[str, ...], request: Request, reading: Reading, options: Options
) -> Iterator[str]:
    """Yield the names and patterns that no struct of the inputs has, for a new snapshot."""
    if request.before is not None:
        return
    for _, sentence in unmatched_globs(request.globs, reading.structs, paths, options.read):
        yield f"{', '.join(paths)}: {sentence}"


def _vanished_structs(request: Request, reading: Reading) -> Iterator[str]:
    """Yield the structs of the former snapshot that are not there any more."""
    names = {struct.name for struct in reading.structs if struct.bit_size is not None}
    for name in sorted((request.before or frozenset()) - names):
        yield f"struct {name} no longer exists"


def _unreliable(reading: Reading, request: Request) -> Iterator[str]:
    """Yield the structs with an unreliable layout; unions whose members no compiler states are left out."""
    for struct in reading.structs:
        if struct.problem and not (struct.omits_members and request.everything):
            yield f"the layout of {struct.aggregate} {struct.name} is unreliable: {struct.problem}"


class _FileNames:
    """Names of source files that are the same on every machine, and in every working folder."""

    def __init__(self, paths: tuple[str, ...], reader: str) -> None:
        folder = files.real_path(os.curdir)
        above = (os.path.dirname(files.real_path(path)) for path in paths)
        tops = (_repository(each) for each in (*above, folder))
        self._top = next(filter(None, tops), None)
        self._is_relative_to_folder = reader == "clang" and not any(map(_is_tree, paths))
        self._folder = folder
        self._known: dict[str, str] = {}

    def stable(self, name: str) -> str:
        """Return a path from the top of the repository or of the build, else the name without folders."""
        if name not in self._known:
            self._known[name] = self._stable(name)
        return self._known[name]

    def without_lines(self, struct: Struct) -> Struct:
        """Return a struct; one that no rule can name has a name without line, or number of a type."""
        if not struct.is_hidden:
            return struct
        tag = struct.name.rpartition("(")[0].rstrip()
        place = None if struct.source is None else self.stable(struct.source.file)
        return replace(struct, name=hidden_name(tag or None, place))

    def _stable(self, name: str) -> str:
        path = os.path.normpath(name)
        if self._is_relative_to_folder:
            path = os.path.normpath(os.path.join(self._folder, path))
        if os.path.isabs(path):
            inside = self._top is not None and path.startswith(f"{self._top}{os.sep}")
            return os.path.relpath(path, self._top) if inside else os.path.basename(path)
        return os.path.basename(path) if path.startswith(os.pardir) else path


def _is_tree(path: str) -> bool:
    return files.is_folder(path) or enclosing_tree(path) is not None


def _repository(folder: str) -> str | None:
    """Return the top of the repository around a folder; None without one."""
    while not files.exists(os.path.join(folder, ".git")):
        if folder == os.path.dirname(folder):
            return None
        folder = os.path.dirname(folder)
    return folder

"""Reading the structs of a Linux kernel tree, from as few translation units as possible."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property

from layoutlint import files
from layoutlint.model.reading import MissingHeader, Reading, ReadOptions, Unread
from layoutlint.model.record import Record, field, replace
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import parallel, text_search, unit_listings
from layoutlint.readers.clang.file_names import name_without_links, relative_to
from layoutlint.readers.clang.kept_listings import UnitListing
from layoutlint.readers.clang.kernel import missed_headers, units
from layoutlint.readers.clang.kernel.includes import Includes
from layoutlint.readers.clang.kernel.makefile import Added, Makefiles
from layoutlint.readers.clang.kernel.tree import Tree
from layoutlint.readers.clang.parse import Unit
from layoutlint.readers.clang.unit_layouts import Definition

_SOURCES = (
    "init", "kernel", "mm", "fs", "ipc", "lib", "block", "io_uring", "net", "security", "crypto", "virt",
    "drivers", "sound",
)  # fmt: skip
"""Folders of sources, in the order of the search for a struct."""
_PUBLIC_FIRST = ("linux", "net")
_CENTRAL = ("linux/mm.h", "linux/fs.h", "linux/seqlock.h")
"""Headers that give nearly all sources the definitions that depend on the configuration."""
_MOST_CANDIDATES = 4
"""The most files that are tried for a name that no header defines."""
_MOST_ATTEMPTS = 16
"""The most units that are parsed to find the headers that can be read together; the last keeps its errors.
All 3,000 headers of Linux 6.1 take 7."""
_MOST_ATTEMPTS_WITH_ERRORS = 3
"""The same for a tree that itself has errors."""
_NONE = frozenset[str]()
_SYNTHETIC = "layoutlint-includes.c"


def read(tree: Tree, path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of a configured kernel; raises ReadError if it is another build than
    requested.
    """
    empty_reading = _KernelReader(tree, Wanted(), options).reading(path)
    options.refuse_other(empty_reading)
    reader = _KernelReader(tree, _narrow(wanted, empty_reading), options)
    reader.read_named()
    if wanted.everything:
        reader.read_everything()
    else:
        reader.search_public()
        reader.search_private()
    return reader.reading(path)


def _narrow(wanted: Wanted, reading: Reading) -> Wanted:
    """Return the request without names that are unnecessary for a tree, whose other facts `reading` has."""
    left_out = {name for name, is_left_out in wanted.unless if is_left_out(reading)}
    patterns = tuple(pattern for pattern in wanted.patterns if pattern not in left_out)
    return replace(wanted, names=wanted.names - left_out, patterns=patterns, arrays=None)


def read_file(tree: Tree, file: str, path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """Return the requested structs of one kernel header or source, with the flags of its tree."""
    reader = _KernelReader(tree, replace(wanted, arrays=None), options)
    reader.run([reader.unit_of(os.path.abspath(file))])
    return reader.reading(path)


def units_of(tree: Tree, sources: Iterable[str], options: ReadOptions) -> Iterator[Unit]:
    """Yield the units of sources of a kernel, with the flags of the tree."""
    reader = _KernelReader(tree, Wanted(), options)
    return (reader.unit_of(source) for source in sources)


class _KernelReader(Record, dict=True):
    """Reads the requested structs of one tree step by step."""

    tree: Tree
    wanted: Wanted
    options: ReadOptions
    outcome: parallel.UnitResults = field(default_factory=lambda: parallel.UnitResults((), ()))
    notes: list[str] = field(default_factory=list)
    missing_headers: list[MissingHeader] = field(default_factory=list)
    """The headers of requested structs, in folders that the tree lacks."""
    given_up: set[str] = field(default_factory=set)
    """Names that are certainly not in this tree."""
    no_structs: set[str] = field(default_factory=set)
    """Names that headers of the tree define as something else."""
    in_no_text: set[str] = field(default_factory=set)
    """Names that no file seems to define."""
    tree_errors: set[str] = field(default_factory=set)
    """Errors in headers that others include: no choice of headers avoids them."""

    @cached_property
    def includes(self) -> Includes:
        """The include lines of the tree's files."""
        return Includes(self.tree)

    @cached_property
    def makefiles(self) -> Makefiles:
        """The makefiles of the tree."""
        return Makefiles(self.tree, self.options.flag_files)

    def reading(self, path: str) -> Reading:
        """Return the Reading of all units so far."""
        if not self.outcome.parsed and not self.outcome.failed:
            # Nothing requested was found; an empty unit still shows the target.
            self.run([self.group([])])
        self._drop_repeated()
        # A name that no text defines cannot be missing because of an error.
        wanted = replace(self.wanted, names=self.wanted.names - self.in_no_text - self.no_structs)
        notes = [*map(str, self.missing_headers), *self.notes]
        notes = notes if self.tree.note is None else [self.tree.note, *notes]
        result = parallel.reading(path, self.outcome, wanted, notes, is_configured=True)
        return replace(
            result,
            config=self.tree.config,
            is_kernel=True,
            kernel=self.tree.version,
            missing_headers=tuple(self.missing_headers),
        )

    def run(self, parts: Sequence[Unit]) -> None:
        """Parse units and add their results."""
        self.outcome = self.outcome.plus(parallel.run(parts, self.wanted, self.options))

    def read_named(self) -> None:
        """Read the headers that rule files name: those below include/ together, others through a source."""
        public, private = [], []
        for name, header in self.wanted.headers:
            if not self.wanted.matches(name):
                continue
            at = self.resolve(header)
            if at is None:
                self._give_up_missing(name, header)
            elif self.include_name(at) is not None:
                public.append(at)
            else:
                private.append(at)
        self.read_public(sorted(set(public), key=self._rank))
        self.run([self.unit_of(at) for at in sorted(set(private))])

    def _give_up_missing(self, name: str, header: str) -> None:
        """Give a name up if the tree lacks the whole folder of its header; else it is searched for later."""
        top = header.partition("/")[0]
        if top in _SOURCES and not files.is_folder(os.path.join(self.tree.source, top)):
            self.given_up.add(name)
            self.missing_headers.append(MissingHeader(name, header))

    def resolve(self, header: str) -> str | None:
        """Return the file of an include name, or of a path inside the tree; None if there is none."""
        for folder in (*self.tree.folders, self.tree.source, self.tree.build):
            at = os.path.join(folder, header)
            if files.is_file(at):
                return at
        return None

    def include_name(self, file: str) -> str | None:
        """Return how kernel sources include a file (`linux/fs.h`); None outside the include folders."""
        for folder in sorted(self.tree.folders, key=len, reverse=True):
            if file.startswith(folder + os.sep):
                return file[len(folder) + 1 :]
        return None

    def read_public(self, headers: Sequence[str]) -> None:
        """Read headers in one unit; those with errors there in another, and with errors there each alone."""
        rejected = self.run_together(headers)
        if len(rejected) > 1:
            rejected = self.run_together(rejected)
        self.run([self.group([header]) for header in rejected])

    def run_together(self, headers: Sequence[str]) -> list[str]:
        """Parse one unit of the headers that can be read together; return the others.

        If it is known that the tree itself has errors, it is one unit of them all, with its errors.
        """
        accepts_errors = len(headers) == 1 or bool(self.tree_errors)
        reasons: dict[str, frozenset[str]] = {}
        outcomes: dict[tuple[str, ...], parallel.UnitResults] = {}
        wanted, options = self.wanted, self.options
        if wanted.everything:  # the structs are read when the headers are known
            wanted, options = Wanted(), replace(options, finds_omissions=False)
        for attempt in range(_MOST_ATTEMPTS):
            remaining = tuple(header for header in headers if reasons.get(header, _NONE) <= self.tree_errors)
            if not remaining:
                break
            unit = self.group(remaining)
            if remaining not in outcomes:
                outcomes[remaining] = parallel.run([unit], wanted, options)
            culprits = self._find_culprits(remaining, unit, outcomes[remaining])
            most = _MOST_ATTEMPTS_WITH_ERRORS if self.tree_errors else _MOST_ATTEMPTS
            if accepts_errors or attempt >= most - 1 or not culprits:
                if wanted is not self.wanted:
                    outcomes[remaining] = parallel.run([unit], self.wanted, self.options)
                self.outcome = self.outcome.plus(outcomes[remaining])
                break
            self._learn_tree_errors(culprits, reasons, len(culprits) == len(remaining))
            reasons |= {header: reasons.get(header, _NONE) | errors for header, errors in culprits.items()}
        return [header for header in headers if header not in remaining]

    def _learn_tree_errors(
        self, culprits: dict[str, frozenset[str]], reasons: dict[str, frozenset[str]], is_in_all: bool
    ) -> None:
        """Add to `tree_errors` what a header shows alone, if all have errors, or an error came back after
        its culprit was rejected: then it is in a header that others include as well.
        """
        if self.wanted.everything:
            return  # most headers of a tree are sound, and the others are left out
        errors = frozenset[str]().union(*culprits.values())
        suspects = [header for header, earlier in reasons.items() if not earlier.isdisjoint(errors)]
        if suspects or is_in_all:
            unit = self.group([(suspects or list(culprits))[0]])
            for parsed in parallel.run([unit], Wanted(), self.options).parsed:
                self.tree_errors |= {origin.text for origin in parsed.error_origins}

    def _find_culprits(
        self, headers: Sequence[str], unit: Unit, outcome: parallel.UnitResults
    ) -> dict[str, frozenset[str]]:
        """Return the headers that contain or lead to errors, with these; errors of the tree do not count."""
        by_name = {name_without_links(self.tree.roots, header): header for header in headers}
        text = (unit.text or "").encode(errors="surrogateescape")
        culprits: dict[str, frozenset[str]] = {}
        for origin in (each for parsed in outcome.parsed for each in parsed.error_origins):
            if origin.text in self.tree_errors or (origin.file not in by_name and origin.directive < 0):
                continue
            number = text[: origin.directive].count(b"\n")
            header = by_name[origin.file] if origin.file in by_name else headers[number]
            culprits[header] = culprits.get(header, _NONE) | {origin.text}
        return culprits

    def group(self, headers: Sequence[str]) -> Unit:
        """Return one unit that includes some headers."""
        text = "".join(map(self._directive, headers))
        shown = [relative_to(self.tree.roots, header) for header in headers]
        origin = shown[0] if len(shown) == 1 else f"{len(shown)} headers"
        main = os.path.join(self.tree.source, _SYNTHETIC)
        unit = self._unit(main, origin, Added(), text)
        return replace(unit, header=headers[0]) if len(headers) == 1 else unit

    def _directive(self, header: str) -> str:
        name = self.include_name(header)
        return f"#include <{name}>\n" if name else f'#include "{header}"\n'

    def _unit(self, main: str, origin: str, own: Added, text: str | None) -> Unit:
        return units.make(self.makefiles, self.options, own, main, origin, text)

    def unit_of(self, file: str) -> Unit:
        """Return the unit for a file's structs: a public header by itself, others through a source."""
        if file.endswith(".h") and self.include_name(file) is not None:
            return self.group([file])
        source = file if file.endswith(".c") else self._includer(file)
        if source is None:
            return self.group([file])
        folders = tuple(f"-I{folder}" for folder in dict.fromkeys(map(os.path.dirname, (source, file))))
        own = self.makefiles.of_source(source)
        own = replace(own, flags=(*folders, *own.flags))
        return self._unit(source, relative_to(self.tree.roots, source), own, None)

    def _includer(self, header: str) -> str | None:
        """Return the first source near a private header that includes it, after the headers that it needs."""
        name = re.escape(os.fsencode(os.path.basename(header)))
        include = re.compile(rb'^\s*#\s*include\s+"[^"]*\b' + name + rb'"', re.MULTILINE)
        folder = os.path.dirname(header)
        for root in (folder, os.path.dirname(folder)):
            for source in text_search.files_below([root], (".c",)):
                if include.search(text_search.content(source)):
                    return source
        return None

    def missing_request(self, is_sound: bool = False) -> Wanted:
        """Return the request for what is not read yet, or with `is_sound` not yet without an error that other
        headers may lack.
        """
        doubtful = {s.problem for s in self.outcome.structs} - {None, *self.tree_errors} if is_sound else ()
        defined = [s for s in self.outcome.structs if s.bit_size is not None and s.problem not in doubtful]
        names = {name for struct in defined for name in (struct.name, *struct.aliases)}
        patterns = tuple(p for p in self.wanted.patterns)
        return Wanted(self.wanted.names - names - self.given_up, patterns)

    def search_public(self) -> None:
        """Read headers below include/ and arch/*/include that define missing or unreliable structs."""
        missing = self.missing_request(is_sound=True)
        if not missing.names and not missing.patterns:
            return
        self.options.progress("searching headers", 0, 1)
        search = missed_headers.HeaderSearch(self._public_files(), missing)
        places = text_search.definitions(search.mentioning, missing, stop_when_found=False)
        self._add_missed(places, search, missing)
        self.in_no_text = set(missing.names) - places.keys()
        places = {
            name: self._drop_unconfigured(self._resolve_generic(files)) for name, files in places.items()
        }
        self._try(self._settle_unclear(places, missing), every=True)
        self._note_non_structs(places)

    def _add_missed(
        self, places: dict[str, list[str]], search: missed_headers.HeaderSearch, missing: Wanted
    ) -> None:
        """Add the headers that define a requested struct, although no text of theirs plainly does."""
        known = {file for found in places.values() for file in found}
        others = missed_headers.other_files(self.tree.folders)
        try:
            missed = search.find(others, known)
        except missed_headers.TooManyMacros:
            reason = "too many macros can make a requested struct: request fewer or longer names"
            self.outcome = self.outcome.plus(parallel.UnitResults((), (Unread(self.tree.source, reason),)))
            return
        units = {self.group([file]): file for file in missed}
        listings = unit_listings.list_units(list(units), self.options)
        failed = tuple(each for each in listings.values() if isinstance(each, Unread))
        self.outcome = self.outcome.plus(parallel.UnitResults((), failed))
        defined = {
            file: listing.requested_definitions(missing)
            for unit, file in units.items() if isinstance(listing := listings[unit], UnitListing)
        }  # fmt: skip
        # A definition counts for its header, and for those that include it if it is none without them.
        shown = {(name, files.real_path(file)) for name, found in places.items() for file in found}
        for file, found in defined.items():
            shown |= {(name, at) for name, at, _ in found if at == files.real_path(file)}
        added = set[Definition]()
        for file, found in defined.items():
            for each in found:
                name, at, _ = each
                if at == files.real_path(file) or ((name, at) not in shown and each not in added):
                    added.add(each)
                    places.setdefault(name, []).append(file)

    def _public_files(self) -> Iterator[str]:
        """Yield the headers of the include folders, the most used first."""
        first = [os.path.join(self.tree.source, "include", name) for name in _PUBLIC_FIRST]
        yielded: set[str] = set()
        for root in (*first, *self.tree.folders):
            for file in text_search.files_below([root], (".h",)):
                if file not in yielded:
                    yielded.add(file)
                    yield file

    def _resolve_generic(self, files: list[str]) -> list[str]:
        """Return the files with each asm-generic/x.h replaced by this architecture's asm/x.h, if any."""
        resolved = []
        for file in files:
            _, generic, name = file.partition(f"{os.sep}asm-generic{os.sep}")
            resolved.append((self.resolve(f"asm/{name}") if generic else None) or file)
        return list(dict.fromkeys(resolved))

    def _drop_unconfigured(self, files: list[str]) -> list[str]:
        """Return the files without those that the configuration leaves out, unless none would remain."""
        names = {file: self.include_name(file) for file in files} if len(files) > 1 else {}
        remaining = self.includes.drop_replaced(name for name in names.values() if name is not None)
        return [file for file in files if names.get(file) is None or names[file] in remaining] or files

    def _is_left_out(self, file: str) -> bool:
        name = self.include_name(file)
        return name is not None and self.includes.is_left_out(name)

    def _settle_unclear(self, places: dict[str, list[str]], missing: Wanted) -> dict[str, list[str]]:
        """Read names with several headers as most sources see them, and return the other names.

        Headers for other configurations still parse by themselves, and macros write definitions
        (seqcount_spinlock_t) that no text contains.
        """
        unclear = {name for name, files in places.items() if len(files) > 1}
        unclear |= missing.names - self.wanted.kernel - places.keys()
        central = [header for header in map(self.resolve, _CENTRAL) if header is not None]
        if not unclear or not central:
            return places
        wanted = Wanted(frozenset(unclear))
        outcome = parallel.run([self.group(central)], wanted, self.options)
        usable = [struct for struct in outcome.structs if struct.bit_size is not None and not struct.problem]
        settled = {name for struct in usable for name in (struct.name, *struct.aliases)}
        parsed = tuple(replace(one, structs=tuple(usable), errors=()) for one in outcome.parsed)
        self.outcome = self.outcome.plus(parallel.UnitResults(parsed, ()))
        return {name: files for name, files in places.items() if name not in settled}

    def search_private(self) -> None:
        """Read sources and their private headers that define missing names, in a tree that has them."""
        missing = replace(self.missing_request(), patterns=())
        if not missing.names:
            return
        if not files.is_folder(os.path.join(self.tree.source, "kernel")):
            unresolved = missing.names - self.no_structs
            self.notes += [f"no header of this tree defines struct {name}" for name in sorted(unresolved)]
            return
        self.options.progress("searching sources", 0, 1)
        roots = [f"arch/{self.tree.arch}", *_SOURCES]
        candidates = text_search.files_below(
            [os.path.join(self.tree.source, root) for root in roots], (".h", ".c")
        )
        places = text_search.definitions(candidates, missing)
        self.in_no_text -= places.keys()
        self._try(places)
        unresolved = self.missing_request().names - self.no_structs
        self.notes += [f"no file of this tree defines struct {name}" for name in sorted(unresolved)]

    def _try(self, places: dict[str, list[str]], every: bool = False) -> None:
        """Parse files that seem to define names: the first of each, then the next for names still missing.

        With `every` all files are read, and each reliable definition is kept.
        """
        most = max(map(len, places.values()), default=0)
        for attempt in range(most if every else _MOST_CANDIDATES):
            still_missing = self.missing_request()
            wanted = [paths for name, paths in places.items() if every or still_missing.matches(name)]
            candidates = {paths[attempt] for paths in wanted if attempt < len(paths)}
            if not candidates:
                break
            public = [file for file in candidates if self.include_name(file) is not None]
            self.read_public(sorted(public, key=self._rank))
            self.run([self.unit_of(file) for file in sorted(candidates.difference(public))])
        if every:
            self._drop_failed({name for name, files in places.items() if len(files) > 1})

    def _drop_repeated(self) -> None:
        """Remove definitions of a unit with errors that another unit read without, or before it."""
        reliable = [s for s in self.outcome.structs if s.bit_size is not None and not s.problem]
        kept = {(s.name, s.source): s for s in reliable}
        failed = [s for unit in self.outcome.parsed for s in unit.structs if s.problem]
        self._drop({s for s in failed if kept.setdefault((s.name, s.source), s) != s})

    def _drop_failed(self, names: set[str]) -> None:
        """Remove definitions with errors, from headers of other configurations, if another is sound."""
        reliable = [s for s in self.outcome.structs if s.bit_size is not None and not s.problem]
        sound = {name for s in reliable for name in (s.name, *s.aliases)}
        failed = {
            s for unit in self.outcome.parsed if any(unit.without_warnings(unit.errors)) for s in unit.structs
            if s.problem and not sound.isdisjoint(names.intersection((s.name, *s.aliases)))
        }  # fmt: skip
        self._drop(failed)

    def _drop(self, structs: set[Struct]) -> None:
        if structs:
            parsed = (
                replace(unit, structs=tuple(s for s in unit.structs if s not in structs))
                for unit in self.outcome.parsed
            )
            self.outcome = parallel.UnitResults(tuple(parsed), self.outcome.failed)

    def _note_non_structs(self, places: dict[str, list[str]]) -> None:
        """Note names of something other than a struct, such as gfp_t, or of one that an option disables.

        All headers with these names were read without an error.
        """
        parsed_text = "".join(parsed.unit.text or "" for parsed in self.outcome.parsed if not parsed.errors)
        for name in sorted(self.missing_request().names.intersection(places)):
            if not all(self._directive(header) in parsed_text for header in places[name]):
                continue
            place = relative_to(self.tree.roots, places[name][0])
            self.no_structs.add(name)
            self.notes.append(f"{name}, which {place} names, is not a struct or union in this configuration")

    def read_everything(self) -> None:
        """Read every struct of the headers below include/linux and include/net that can be read together."""
        include = os.path.join(self.tree.source, "include")
        roots = [os.path.join(include, name) for name in _PUBLIC_FIRST]
        # If headers define the same, the later ones have the errors.
        headers = sorted(
            text_search.files_below(roots, (".h",)),
            key=lambda file: (self._is_left_out(file), self._rank(file)),
        )
        rejected = self.run_together(headers)
        if rejected:
            self.notes.append(
                f"{len(rejected)} of {len(headers)} headers have errors if read with the others, and are "
                f"left out, such as {relative_to(self.tree.roots, rejected[0])}"
            )

    def _rank(self, file: str) -> tuple[int, str]:
        name = self.include_name(file) or file
        top = name.partition(os.sep)[0]
        return (_PUBLIC_FIRST.index(top) if top in _PUBLIC_FIRST else len(_PUBLIC_FIRST)), name


def build_folder(words: Iterable[str]) -> tuple[str | None, tuple[str, ...]]:
    """Return the build folder that `O=FOLDER` names among the flags, as for make, and the other flags."""
    folder, rest = None, []
    for word in words:
        if word.startswith("O="):
            folder = word[2:]
        else:
            rest.append(word)
    return folder, tuple(rest)

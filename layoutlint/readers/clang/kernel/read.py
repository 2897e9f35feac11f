"""The structs of a Linux kernel tree, from as few translation units as will do."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from layoutlint.errors import ReadError
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.structs import Struct
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import flags, parallel, text_search
from layoutlint.readers.clang.file_names import relative_to
from layoutlint.readers.clang.kernel import makefile
from layoutlint.readers.clang.kernel.includes import Includes
from layoutlint.readers.clang.kernel.tree import Tree
from layoutlint.readers.clang.parse import Unit

_SOURCES = (
    "init", "kernel", "mm", "fs", "ipc", "lib", "block", "io_uring", "net", "security", "crypto", "virt",
    "drivers", "sound",
)  # fmt: skip
"""Folders of sources, in the order in which a struct is sought there."""
_PUBLIC_FIRST = ("linux", "net")
_CENTRAL = ("linux/mm.h", "linux/fs.h", "linux/seqlock.h")
"""Headers from which nearly all sources get the definitions that depend on the configuration."""
_MOST_CANDIDATES = 4
"""Files that are tried for a name before it is given up."""
_SYNTHETIC = "layoutlint-includes.c"
_SHUFFLING = ("-DRANDSTRUCT", "-DRANDSTRUCT_PLUGIN")
"""With these the macros of Linux (compiler_types.h; until 5.18 the second) are the attributes."""


def read(tree: Tree, path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """The wanted structs of a configured kernel; raises ReadError for one of another build than asked."""
    told = _KernelReader(tree, Wanted(), options).reading(path)
    options.refuse_other(told)
    reader = _KernelReader(tree, _without(wanted, told), options)
    reader.read_named()
    if wanted.everything:
        reader.read_everything()
    else:
        reader.search_public()
        reader.search_private()
    return reader.reading(path)


def _without(wanted: Wanted, told: Reading) -> Wanted:
    """What is asked for in a tree of which the rest is known: what it is not asked for need not be sought."""
    left_out = {name for name, is_left_out in wanted.unless if is_left_out(told)}
    patterns = tuple(pattern for pattern in wanted.patterns if pattern not in left_out)
    return replace(wanted, names=wanted.names - left_out, patterns=patterns)


def read_file(tree: Tree, file: str, path: str, wanted: Wanted, options: ReadOptions) -> Reading:
    """One header or source of a kernel, with the flags of its tree."""
    reader = _KernelReader(tree, wanted, options)
    reader.run([reader.unit_of(os.path.abspath(file))])
    return reader.reading(path)


@dataclass
class _KernelReader:
    tree: Tree
    wanted: Wanted
    options: ReadOptions
    outcome: parallel.Outcome = field(default_factory=lambda: parallel.Outcome((), ()))
    notes: list[str] = field(default_factory=list)
    given_up: set[str] = field(default_factory=set)
    """Names that are known not to be in this tree."""
    no_structs: set[str] = field(default_factory=set)
    """Names that its headers give to something else."""
    in_no_text: set[str] = field(default_factory=set)
    """Names that none of its files seems to define."""
    includes: Includes = field(init=False)

    def __post_init__(self) -> None:
        self.includes = Includes(self.tree)

    def reading(self, path: str) -> Reading:
        if not self.outcome.parsed and not self.outcome.failed:
            # Nothing wanted is here; an empty unit still tells the target.
            self.run([self.group([])])
        self._drop_repeated()
        # What no text defines, in this configuration, cannot have been lost to an error.
        wanted = replace(self.wanted, names=self.wanted.names - self.in_no_text - self.no_structs)
        told = parallel.reading(path, self.outcome, wanted, self.notes, is_configured=True)
        return replace(told, config=self.tree.config, is_kernel=True, kernel=self.tree.version)

    def run(self, parts: Sequence[Unit]) -> None:
        """Parse units and add what they gave."""
        self.outcome = self.outcome.plus(parallel.run(parts, self.wanted, self.options))

    def read_named(self) -> None:
        """The headers that rule files name, in one unit; those outside include/ through a source."""
        public, private = [], []
        for name, header in self.wanted.headers:
            if not self.wanted.matches(name):
                continue
            at = self.resolve(header)
            if at is None:
                self._absent(name, header)
            elif self.include_name(at) is not None:
                public.append(at)
            else:
                private.append(at)
        self.read_public(sorted(set(public), key=self._rank))
        self.run([self.unit_of(at) for at in sorted(set(private))])

    def _absent(self, name: str, header: str) -> None:
        """A header that is not there is searched for, unless the tree lacks its whole folder."""
        top = header.partition("/")[0]
        if top in _SOURCES and not os.path.isdir(os.path.join(self.tree.source, top)):
            self.given_up.add(name)
            self.notes.append(f"struct {name} is defined in {header}, and this tree has no {top}/")

    def resolve(self, header: str) -> str | None:
        """The file that an include name, or a path inside the tree, means."""
        for folder in (*self.tree.folders, self.tree.source, self.tree.build):
            at = os.path.join(folder, header)
            if os.path.isfile(at):
                return at
        return None

    def include_name(self, file: str) -> str | None:
        """How kernel sources include a file (`linux/fs.h`); None for one outside the searched folders."""
        for folder in sorted(self.tree.folders, key=len, reverse=True):
            if file.startswith(folder + os.sep):
                return file[len(folder) + 1 :]
        return None

    def read_public(self, headers: Sequence[str]) -> None:
        """Headers in one unit, except those that have errors there: each of these in its own."""
        apart = self.run_together(headers)
        self.run([self.group([header]) for header in apart])

    def run_together(self, headers: Sequence[str]) -> list[str]:
        """Parse one unit of the headers that bear one another; the others are returned."""
        left, apart = list(headers), list[str]()
        wanted = Wanted() if self.wanted.everything else self.wanted
        while left:
            unit = self.group(left)
            new = parallel.run([unit], wanted, self.options)
            blamed = self._blamed(left, unit, new)
            if not blamed or len(headers) == 1:
                self.outcome = self.outcome.plus(
                    new if wanted is self.wanted else parallel.run([unit], self.wanted, self.options)
                )
                break
            apart += [header for number, header in enumerate(left) if number in blamed]
            left = [header for number, header in enumerate(left) if number not in blamed]
        return apart

    def _blamed(self, headers: Sequence[str], unit: Unit, new: parallel.Outcome) -> set[int]:
        """Which headers of a group have errors: those in which one stands, else those that lead to one."""
        numbers = {relative_to(self.tree.roots, header): number for number, header in enumerate(headers)}
        text = (unit.text or "").encode(errors="surrogateescape")
        found = set()
        for file, offset in (place for one in new.parsed for place in one.blamed):
            if file in numbers:
                found.add(numbers[file])
            elif offset >= 0:
                found.add(text[:offset].count(b"\n"))
        return found

    def group(self, headers: Sequence[str]) -> Unit:
        """One unit that includes some headers."""
        text = "".join(map(self._directive, headers))
        shown = [relative_to(self.tree.roots, header) for header in headers]
        origin = shown[0] if len(shown) == 1 else f"{len(shown)} headers"
        main = os.path.join(self.tree.source, _SYNTHETIC)
        return self._unit(main, origin, (), text)

    def _directive(self, header: str) -> str:
        name = self.include_name(header)
        return f"#include <{name}>\n" if name else f'#include "{header}"\n'

    def _unit(self, main: str, origin: str, more: tuple[str, ...], text: str | None) -> Unit:
        marks = self.options.marks
        added = flags.normalised(self.options.flags)
        if added.refusal is not None:
            raise ReadError(origin, added.refusal)
        words = ("-xc", *self.tree.flags, *(_SHUFFLING if marks else ()), *more, *added.kept)
        # Where fields are put into their order afterwards, the declared one is what is asked for.
        shuffled_by = None if marks else self.tree.shuffled_by
        return Unit(
            main, words, self.tree.build, self.tree.roots, origin, text, added.problem, added.doubts,
            shuffled_by, marks,
        )  # fmt: skip

    def unit_of(self, file: str) -> Unit:
        """The unit that gives a file's structs: a public header by itself, others through a source."""
        if file.endswith(".h") and self.include_name(file) is not None:
            return self.group([file])
        source = file if file.endswith(".c") else self._includer(file)
        if source is None:
            return self.group([file])
        folders = tuple(f"-I{folder}" for folder in dict.fromkeys(map(os.path.dirname, (source, file))))
        more = (*folders, *makefile.added(source, self.tree.source))
        return self._unit(source, relative_to(self.tree.roots, source), more, None)

    def _includer(self, header: str) -> str | None:
        """The first source beside a private header that includes it: it knows what must come before."""
        name = re.escape(os.fsencode(os.path.basename(header)))
        include = re.compile(rb'^\s*#\s*include\s+"[^"]*\b' + name + rb'"', re.MULTILINE)
        folder = os.path.dirname(header)
        for root in (folder, os.path.dirname(folder)):
            for source in text_search.files([root], (".c",)):
                if include.search(text_search.content(source)):
                    return source
        return None

    def missing(self, is_sound: bool = False) -> Wanted:
        """What is asked for by name or pattern and not read yet, or not yet without an error."""
        defined = [s for s in self.outcome.structs if s.bit_size is not None and not (is_sound and s.problem)]
        found = {name for struct in defined for name in (struct.name, *struct.aliases)}
        patterns = tuple(p for p in self.wanted.patterns)
        return Wanted(self.wanted.names - found - self.given_up, patterns)

    def search_public(self) -> None:
        """Headers below include/ and arch/*/include that define what is missing, or was not read well."""
        missing = self.missing(is_sound=True)
        if not missing.names and not missing.patterns:
            return
        self.options.progress("searching headers", 0, 1)
        places = text_search.definitions(self._public_files(), missing, stop_when_found=False)
        self.in_no_text = set(missing.names) - places.keys()
        places = {name: self._configured(self._for_machine(files)) for name, files in places.items()}
        self._try(self._without_settled(places, missing), every=True)
        self._tell_no_structs(places)

    def _public_files(self) -> Iterator[str]:
        first = [os.path.join(self.tree.source, "include", name) for name in _PUBLIC_FIRST]
        seen: set[str] = set()
        for root in (*first, *self.tree.folders):
            for file in text_search.files([root], (".h",)):
                if file not in seen:
                    seen.add(file)
                    yield file

    def _for_machine(self, files: list[str]) -> list[str]:
        """The files with asm-generic/x.h as this architecture has it: its own asm/x.h includes it or not."""
        found = []
        for file in files:
            _, generic, name = file.partition(f"{os.sep}asm-generic{os.sep}")
            found.append((self.resolve(f"asm/{name}") if generic else None) or file)
        return list(dict.fromkeys(found))

    def _configured(self, files: list[str]) -> list[str]:
        """Of several files without those that the configuration leaves out, unless that leaves none."""
        names = {file: self.include_name(file) for file in files} if len(files) > 1 else {}
        left = self.includes.alternatives(name for name in names.values() if name is not None)
        return [file for file in files if names.get(file) is None or names[file] in left] or files

    def _is_left_out(self, file: str) -> bool:
        name = self.include_name(file)
        return name is not None and self.includes.left_out(name)

    def _without_settled(self, places: dict[str, list[str]], missing: Wanted) -> dict[str, list[str]]:
        """Take names of several headers as most sources see them: headers for other configurations remain
        parsable by themselves, and macros write definitions (seqcount_spinlock_t) that no text holds."""
        unclear = {name for name, files in places.items() if len(files) > 1}
        unclear |= missing.names - self.wanted.kernel - places.keys()
        central = [at for at in map(self.resolve, _CENTRAL) if at is not None]
        if not unclear or not central:
            return places
        wanted = Wanted(frozenset(unclear))
        given = parallel.run([self.group(central)], wanted, self.options)
        usable = [struct for struct in given.structs if struct.bit_size is not None and not struct.problem]
        settled = {name for struct in usable for name in (struct.name, *struct.aliases)}
        parsed = tuple(replace(one, structs=tuple(usable), errors=()) for one in given.parsed)
        self.outcome = self.outcome.plus(parallel.Outcome(parsed, ()))
        return {name: files for name, files in places.items() if name not in settled}

    def search_private(self) -> None:
        """Sources and their private headers, in a tree that has them; names only."""
        missing = replace(self.missing(), patterns=())
        if not missing.names:
            return
        if not os.path.isdir(os.path.join(self.tree.source, "kernel")):
            left = missing.names - self.no_structs
            self.notes += [f"no header of this tree defines struct {name}" for name in sorted(left)]
            return
        self.options.progress("searching sources", 0, 1)
        roots = [f"arch/{self.tree.arch}", *_SOURCES]
        below = text_search.files([os.path.join(self.tree.source, root) for root in roots], (".h", ".c"))
        places = text_search.definitions(below, missing)
        self.in_no_text -= places.keys()
        self._try(places)
        left = self.missing().names - self.no_structs
        self.notes += [f"no file of this tree defines struct {name}" for name in sorted(left)]

    def _try(self, places: dict[str, list[str]], every: bool = False) -> None:
        """Parse files in which names seem to be defined: the first of each, the next for what is left.

        With `every` they are all read, and each definition that can be believed stands for itself.
        """
        for attempt in range(_MOST_CANDIDATES):
            left = self.missing()
            wanted = [paths for name, paths in places.items() if every or left.matches(name)]
            files = {paths[attempt] for paths in wanted if attempt < len(paths)}
            if not files:
                break
            public = [file for file in files if self.include_name(file) is not None]
            self.read_public(sorted(public, key=self._rank))
            self.run([self.unit_of(file) for file in sorted(files.difference(public))])
        if every:
            self._drop_failed({name for name, files in places.items() if len(files) > 1})

    def _drop_repeated(self) -> None:
        """Leave out definitions that a unit with errors repeats of a header that others read without."""
        believed = [s for s in self.outcome.structs if s.bit_size is not None and not s.problem]
        sound = {(s.name, s.source) for s in believed}
        self._drop({s for s in self.outcome.structs if s.problem and (s.name, s.source) in sound})

    def _drop_failed(self, names: set[str]) -> None:
        """Leave out definitions with errors, from headers of other configurations, where another is sound."""
        believed = [s for s in self.outcome.structs if s.bit_size is not None and not s.problem]
        sound = {name for s in believed for name in (s.name, *s.aliases)}
        failed = {
            s for s in self.outcome.structs
            if s.problem and not sound.isdisjoint(names.intersection((s.name, *s.aliases)))
        }  # fmt: skip
        self._drop(failed)

    def _drop(self, structs: set[Struct]) -> None:
        if structs:
            parsed = (
                replace(one, structs=tuple(s for s in one.structs if s not in structs))
                for one in self.outcome.parsed
            )
            self.outcome = parallel.Outcome(tuple(parsed), self.outcome.failed)

    def _tell_no_structs(self, places: dict[str, list[str]]) -> None:
        """Names of something else than a struct, such as gfp_t, or of one that depends on an option that is
        off: all headers that name them were read, and without an error."""
        read = "".join(one.unit.text or "" for one in self.outcome.parsed if not one.errors)
        for name in sorted(self.missing().names.intersection(places)):
            if not all(self._directive(header) in read for header in places[name]):
                continue
            at = relative_to(self.tree.roots, places[name][0])
            self.no_structs.add(name)
            self.notes.append(f"{name}, which {at} names, is no struct or union in this configuration")

    def read_everything(self) -> None:
        """Every struct of the headers below include/linux and include/net that can be read together."""
        include = os.path.join(self.tree.source, "include")
        roots = [os.path.join(include, name) for name in _PUBLIC_FIRST]
        # Of headers that define the same, the later ones are those that have the errors.
        headers = sorted(
            text_search.files(roots, (".h",)), key=lambda file: (self._is_left_out(file), self._rank(file))
        )
        apart = self.run_together(headers)
        if apart:
            self.notes.append(
                f"of {len(headers)} headers {len(apart)} are left out, which have errors beside the others, "
                f"such as {relative_to(self.tree.roots, apart[0])}"
            )

    def _rank(self, file: str) -> tuple[int, str]:
        name = self.include_name(file) or file
        top = name.partition(os.sep)[0]
        return (_PUBLIC_FIRST.index(top) if top in _PUBLIC_FIRST else len(_PUBLIC_FIRST)), name


def build_folder(words: Iterable[str]) -> tuple[str | None, tuple[str, ...]]:
    """The build folder that `O=FOLDER` names among the flags, as for make, and the other flags."""
    folder, rest = None, []
    for word in words:
        if word.startswith("O="):
            folder = word[2:]
        else:
            rest.append(word)
    return folder, tuple(rest)

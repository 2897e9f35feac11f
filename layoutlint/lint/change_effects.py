"""The structs in files that include a changed file, and the rules that a change can affect."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cached_property

from layoutlint import files
from layoutlint.errors import UsageError
from layoutlint.intent.changed_rules import changed_overrides, changed_rules
from layoutlint.judgement.rule import VARIABLES, Pack, Rule, StructIntent
from layoutlint.lint import definers
from layoutlint.lint.definers import C_SUFFIXES, Definers
from layoutlint.lint.options import ChangeScope, Options
from layoutlint.lint.reading import embedded_names
from layoutlint.model.flag_files import ON_DISK
from layoutlint.model.reading import Touched, Unread
from layoutlint.model.record import Record, replace
from layoutlint.model.structs import Source
from layoutlint.model.wanted import Wanted
from layoutlint.readers.clang import text_search
from layoutlint.readers.clang.kernel import tree as kernel_tree
from layoutlint.readers.clang.kernel.read import build_folder
from layoutlint.revisions.change import Change, Difference, is_under_pre_commit

_MACRO = re.compile(rb"^[ \t]*#[ \t]*(?:define|undef)[ \t]+(\w+)", re.MULTILINE)
_PACKING = re.compile(rb"#[ \t]*pragma[ \t]+pack|\b_Pragma\b")
_WORD = re.compile(rb"\w+")
_HINTS = "(staged change)"


class Affected(Record, frozen=True):
    """The structs and rules that a run judges for a change."""

    inputs: tuple[str, ...]
    packs: tuple[Pack, ...]
    """Rule files with the affected rules alone."""
    kernel_packs: tuple[Pack, ...]
    scope: ChangeScope
    touched: Touched | None = None
    """The files that decide which units of a database are read; None to read all."""


class Names(Record, frozen=True):
    """The file names on the command line, which pre-commit appends."""

    changed: tuple[str, ...]
    """Absolute paths of C files and rule files: they count as changed."""
    whole: tuple[str, ...]
    """Other inputs, as given: they are judged whole."""
    is_selection: bool
    """Whether other changed files are not judged for themselves: a filter of pre-commit leaves them out."""
    given: tuple[str, ...] = ()
    """The C files among them that a person names, not pre-commit: they are judged with all they include."""


def split_names(names: Iterable[str], are_inputs: bool = False) -> Names:
    """Return file names by what they are to a change.

    `are_inputs` says that people chose them, as with `--since`: C files among them are judged whole too.
    """
    names = tuple(names)
    suffixes = (".toml",) if are_inputs else (*C_SUFFIXES, ".toml")
    changed = tuple(name for name in names if name.endswith(suffixes) and not files.is_folder(name))
    whole = tuple(name for name in names if name not in changed)
    paths, by_hand = tuple(map(_absolute, changed)), not is_under_pre_commit()
    given = tuple(path for path in paths if by_hand and path.endswith(C_SUFFIXES))
    return Names(paths, whole, bool(changed) or not by_hand, given)


def find(
    change: Change,
    names: Names,
    packs: tuple[Pack, ...],
    kernel_packs: tuple[Pack, ...],
    options: Options,
    removed: frozenset[str] = frozenset(),
    judges_all: bool = False,
) -> Affected:
    """Return what a change can affect; `removed` are the structs that people removed on purpose.

    Inputs that are given are judged whole: nothing is left out of them, apart from units of databases in
    which nothing can be new, unless `judges_all`. Raises ReadError for a kernel that is not configured, and
    UsageError if the repository has no rules.
    """
    changed = change.with_paths(names.changed)
    search = _Search(changed, names, packs, kernel_packs, options, removed, judges_all)
    if names.whole:
        return search.whole()
    parts = tuple(search.parts())
    if not packs and not any(part.structs or part.marked for part in parts):
        search.refuse_without_rules()
    return search.result(parts)


class _Search(Record, dict=True):
    """Searches what a change can affect."""

    change: Change
    names: Names
    packs: tuple[Pack, ...]
    kernel_packs: tuple[Pack, ...]
    options: Options
    removed: frozenset[str]
    judges_all: bool
    """Whether findings that were there before count too."""

    @cached_property
    def known_names(self) -> frozenset[str]:
        """The files before and after the change, and those that git does not track."""
        return self.change.tracked | self.change.paths | self.change.untracked

    @cached_property
    def changed_rules(self) -> tuple[frozenset[Rule], ...]:
        """The rules that differ from each parent."""
        return tuple(map(self._changed_rules, self.change.differences))

    @property
    def changed_rule_ids(self) -> tuple[frozenset[str], ...]:
        """The ids of the rules that differ from each parent."""
        return tuple(frozenset(rule.id for rule in rules) for rules in self.changed_rules)

    @property
    def changed_files(self) -> tuple[str, ...]:
        """The C files that differ, from the working folder: a struct can be from one that is gone."""
        return tuple(map(_from_working_folder, self._changed_paths))

    @property
    def _changed_paths(self) -> list[str]:
        return sorted(path for path in self.change.paths if path.endswith(C_SUFFIXES))

    def _changed_rules(self, difference: Difference) -> frozenset[Rule]:
        ids = frozenset[str]().union(*(changed_overrides(pack, difference) for pack in self.packs))
        rules = (rule for pack in self.packs + self.kernel_packs for rule in pack.rules if rule.id in ids)
        return frozenset(rules).union(*(changed_rules(pack, difference) for pack in self.packs))

    @cached_property
    def embedded_request(self) -> Wanted:
        """The structs whose verdicts depend on their containers."""
        return Wanted(patterns=tuple(sorted(embedded_names(self.packs + self.kernel_packs))))

    def refuse_without_rules(self) -> None:
        """Raise UsageError if C files changed, and the repository has no rules, annotations or snapshots."""
        if any(path.endswith(C_SUFFIXES) for path in self.change.paths):
            raise UsageError("no rules apply to these inputs; give some with --rules FILE or --pack NAME")

    def parts(self) -> Iterator[Definers]:
        """Yield the definers in each kernel tree with changes, and in the other files. Raises ReadError."""
        read = self.options.read
        words = tuple(word for each in read.nearer for word in each.flags)  # which have those of the run too
        build, other_words = build_folder(words or read.flags)
        is_outside = read.kernel_tree is not None
        roots = set() if other_words and not is_outside else self._kernel_roots()
        if is_outside:
            roots = {root for root in roots if kernel_tree.tree_at(root, build, read) is not None}
        for root in sorted(roots):
            inside = [path for path in self.change.tracked if path.startswith(f"{root}{os.sep}")]
            changed = [path for path in self.change.paths if path.startswith(f"{root}{os.sep}")]
            kernel = kernel_tree.tree_at(root, build, replace(read, flag_files=ON_DISK))
            if kernel is not None:
                packs = self.packs + self.kernel_packs
                yield definers.kernel_definers(kernel, inside, changed, self.known_names, packs)
        below = tuple(f"{root}{os.sep}" for root in roots)
        paths = frozenset(path for path in self.change.tracked if not below or not path.startswith(below))
        if paths or not below:
            part = definers.repository_definers(
                paths, self.known_names, self.packs, other_words, is_outside
            )
            own = sorted(filter(self.is_own, paths.intersection(self._changed_paths)))
            others = (path for path in sorted(paths) if path.endswith(C_SUFFIXES) and self.is_own(path))
            affected = (path for path in others if self.reaches(part, path))
            yield part.with_parsed(own, affected, paths, self.packs, self.options.read)

    def reaches(self, part: Definers, file: str) -> bool:
        """Return whether a file is or includes one that differs from each parent, also through others."""
        closure = part.inclusion.closure(file)
        return not any(closure.isdisjoint(difference.paths) for difference in self.change.differences)

    def _kernel_roots(self) -> set[str]:
        """Return the kernel trees with changed files, and the one that the repository is."""
        folders = {os.path.dirname(path) for path in self.change.paths if path.endswith(C_SUFFIXES)}
        trees = (kernel_tree.enclosing_tree(os.path.join(at, "_")) for at in {*folders, self.change.top})
        return {root for root in trees if root is not None}

    def whole(self) -> Affected:
        """Return the given inputs, which are judged whole, and the named files of the change."""
        inputs = (*self.names.whole, *filter(files.is_file, map(_from_working_folder, self._own_files())))
        unread = (*self.change.unread, *self._missing_names())
        scope = replace(self._scope(None, (), unread), is_whole=True)
        touched = Touched(self.change.paths) if self._decides_by_files() else None
        return Affected(inputs, self.packs, self.kernel_packs, scope, touched)

    def _decides_by_files(self) -> bool:
        """Return whether a finding on units that can read no changed file cannot be a new one, and is not
        wanted either.
        """
        options, inputs = self.options, frozenset(map(_absolute, self.names.whole))
        depends_on_more = any(self.changed_rules) or any(pack.guesses for pack in self.packs)
        wants_others = self.judges_all or options.intents.comments or options.strictness.unused
        every = (rule for pack in (*self.packs, *self.kernel_packs) for rule in pack.rules)
        depends_on_more |= any(rule.kind.traits.compares_definitions for rule in every)
        depends_on_more |= bool(options.guessing.uses or inputs & self.change.paths) or len(inputs) != 1
        return not (depends_on_more or wants_others)

    def result(self, parts: tuple[Definers, ...]) -> Affected:
        """Return what the change affects in some parts of the repository."""
        hits = [_Part(self, part).hits() for part in parts]
        rules = frozenset(rule for hit in hits for rule in hit.rules)
        is_kernel = bool(parts) and all(part.tree is not None for part in parts) and not self.names.given
        is_kernel = is_kernel and all(rule.shipped for rule in rules)
        structs = frozenset(name for hit in hits for name in hit.structs) if is_kernel else None
        required = tuple(self._required_rules(parts, rules))
        hints = tuple(intent for hit in hits for intent in hit.hints)
        packs = _keep_rules(self.packs, rules, structs)
        kernel_packs = _keep_rules(self.kernel_packs, rules, structs)
        unread = (*self.change.unread, *self._missing_names())
        unread += tuple(unread for part in parts for unread in part.unread)
        unread += () if self.names.given else tuple(self._moved_links())
        inputs = tuple(dict.fromkeys(_from_working_folder(file) for hit in hits for file in hit.inputs))
        added = (Pack(_HINTS, _HINTS, (), hints),) if hints else ()
        scope = replace(self._scope(structs, required, unread), definers=tuple(_definers(parts, rules)))
        return Affected(inputs, packs + added, kernel_packs, scope)

    def _scope(
        self,
        structs: frozenset[str] | None,
        required: tuple[tuple[Rule, str], ...],
        unread: tuple[Unread, ...],
    ) -> ChangeScope:
        return ChangeScope(
            structs,
            required,
            unread,
            self.changed_rule_ids,
            self.changed_files,
            tuple(_from_working_folder(path) for path in self._changed_paths if self.is_own(path)),
            tuple(map(_from_working_folder, self.names.given)),
            self.change.repositories,
            removed=self.removed,
        )

    def _missing_names(self) -> Iterator[Unread]:
        """Yield the names of no file, neither before nor after the change."""
        for name in map(_from_working_folder, sorted(self.change.missing_paths)):
            yield Unread(name, "no such file or directory")

    def _moved_links(self) -> Iterator[Unread]:
        """Yield the links to folders that lead elsewhere now: units can read unchanged files through them."""
        reason = "leads to another folder than before, and which files use it is not known: name the inputs"
        for difference in self.change.differences:
            for path in sorted(filter(files.is_link, difference.paths)):
                if files.is_folder(path) and difference.had_link(path):
                    yield Unread(_from_working_folder(path), reason)

    def _own_files(self) -> list[str]:
        return sorted(path for path in self.names.changed if path.endswith(C_SUFFIXES))

    def is_own(self, file: str) -> bool:
        """Return whether a file is judged for itself, or is not changed.

        In a merge, pre-commit passes only the files with conflicts, and never a deleted file or one of a
        submodule.
        """
        if file in self.change.inner_paths or file not in self.change.tracked:
            return True
        is_filtered = self.names.is_selection and len(self.change.differences) == 1
        return not is_filtered or file not in self.change.paths or file in self.names.changed

    def _required_rules(
        self, parts: tuple[Definers, ...], affected: frozenset[Rule]
    ) -> Iterator[tuple[Rule, str]]:
        """Yield the new rules, which must judge a struct, with the reason if none can be there."""
        pairs = [(pack, rule) for pack in self.packs for rule in pack.rules if self._needs_struct(rule)]
        found = [any(self.inputs_of(part, pack, rule.struct) for part in parts) for pack, rule in pairs]
        defined = {rule.id for (_, rule), is_defined in zip(pairs, found, strict=True) if is_defined}
        for (pack, rule), is_defined in zip(pairs, found, strict=True):
            if is_defined and rule in affected and all(rule in rules for rules in self.changed_rules):
                yield rule, ""
            elif rule.id not in defined and parts and self._is_new(rule):
                where = "the repository" if pack.scopes is None else " and ".join(pack.scopes)
                yield rule, f"no C file of {where} defines {rule.subject}"

    def _needs_struct(self, rule: Rule) -> bool:
        is_about_one = rule.struct != VARIABLES and rule.struct not in self.removed
        return is_about_one and not (rule.shipped or rule.guess)

    def inputs_of(self, part: Definers, pack: Pack, struct: str) -> list[str]:
        """Return the files in which rules of a pack judge a struct: those that define it.

        A rule file can be about a struct that is defined elsewhere: then they are its files that include it.
        """
        defining = part.files_of(struct)
        if pack.scopes is None and not pack.excluded:
            return defining
        own = list(filter(pack.applies_to, defining))
        if own or not defining:
            return own
        others = frozenset(defining)
        paths = (path for path in sorted(self.change.tracked) if path.endswith(C_SUFFIXES))
        below = filter(pack.applies_to, paths)
        return [path for path in below if not others.isdisjoint(part.inclusion.closure(path))]

    def _is_new(self, rule: Rule) -> bool:
        """Return whether a rule differs from each parent.

        A file that only the command line names, as `--all-files` of pre-commit does, has no new rules.
        """
        path = os.path.abspath(rule.source.file)
        pairs = zip(self.change.differences, self.changed_rules, strict=True)
        return all(rule in rules and path not in difference.named for difference, rules in pairs)


class _Hits(Record):
    """What a change affects in one part of a repository."""

    inputs: list[str]
    rules: set[Rule]
    structs: set[str]
    hints: list[StructIntent]


class _Part(Record, dict=True):
    """One part of a repository, and the change."""

    search: _Search
    part: Definers

    @property
    def _packs(self) -> tuple[Pack, ...]:
        """The rule files for this part."""
        return self.search.packs + (self.search.kernel_packs if self.part.tree is not None else ())

    @cached_property
    def rules_by_file(self) -> dict[str, list[Rule]]:
        """The rules on the structs that each file defines."""
        by_file: dict[str, list[Rule]] = {file: [] for file in self.part.marked}
        for pack in self._packs:
            rules = [rule for rule in pack.rules if rule.struct != VARIABLES]
            structs = {rule.struct for rule in rules}
            places = {struct: self.search.inputs_of(self.part, pack, struct) for struct in structs}
            for rule in rules:
                for file in places[rule.struct]:
                    by_file.setdefault(file, []).append(rule)
        for file, own in self.part.variables.items():
            by_file.setdefault(file, []).extend(own)
        return by_file

    @cached_property
    def _of_nearer_packs(self) -> frozenset[str]:
        """The files with rules of packs that do not apply to the whole tree."""
        packs = [pack for pack in self._packs if pack.scopes is not None]
        pairs = [
            (pack, struct)
            for pack in packs
            for struct in {rule.struct for rule in pack.rules if rule.struct != VARIABLES}
        ]
        return frozenset(path for pair in pairs for path in self.search.inputs_of(self.part, *pair))

    def hits(self) -> _Hits:
        """Return what the change affects."""
        hits = _Hits([], set(), set(), [])
        for file, rules in sorted(self.rules_by_file.items()):
            if self.search.is_own(file):
                self._add_definer(hits, file, rules)
        for file in sorted(self.search.change.paths):
            if not self._is_text(file) or not self.search.is_own(file):
                continue
            self._add_old_definer(hits, file)
            if files.is_file(file):
                self._add_context(hits, file)
        if self.part.tree is not None:
            hits.inputs[:] = self._kernel_inputs(hits, self.part.tree)
        given = [path for path in self.search.names.given if files.is_file(path)]
        if given:
            hits.inputs += given
            hits.rules |= {rule for pack in self._packs for rule in pack.rules}
        return hits

    def _is_text(self, file: str) -> bool:
        """Return whether a changed file is C: by its suffix, or below the include folders of a kernel, whose
        texts the search does not follow.
        """
        folders = self.part.tree.folders if self.part.tree is not None else ()
        return file.endswith(C_SUFFIXES) or any(file.startswith(f"{folder}{os.sep}") for folder in folders)

    def _add_definer(self, hits: _Hits, file: str, rules: list[Rule]) -> None:
        """Add a file if the change touches a file that it includes, or a rule on one of its structs."""
        closure = self.part.inclusion.closure(file)
        is_touched = self.search.reaches(self.part, file)
        affected = self._touched_rules(closure, rules)
        if is_touched:
            hits.structs |= text_search.names_defined(text_search.content(file))
        if affected or (is_touched and file in self.part.marked):
            self._add(hits, file, file, affected)

    def _touched_rules(self, closure: frozenset[str], rules: list[Rule]) -> set[Rule]:
        """Return the rules that differ from each parent, or whose struct includes a file that does."""
        differences, changed = self.search.change.differences, self.search.changed_rules
        is_touched = [not closure.isdisjoint(difference.paths) for difference in differences]
        return {
            rule for rule in rules
            if all(touched or rule in new for touched, new in zip(is_touched, changed, strict=True))
        }  # fmt: skip

    def _add_old_definer(self, hits: _Hits, file: str) -> None:
        """Add the rules that a changed file can concern; of shipped ones for kernels, by its structs."""
        rules = [rule for pack in self._packs for rule in pack.rules]
        if self.part.tree is None:
            hits.rules |= set(rules)
            return
        olds = (difference.old_content(file) for difference in self.search.change.differences)
        names = {name for old in olds if old for name in text_search.names_defined(old)}
        hits.structs |= names
        own = {rule for rule in rules if not rule.shipped and rule.struct != VARIABLES}
        hits.rules |= own | {rule for rule in rules if any(fnmatchcase(name, rule.struct) for name in names)}

    def _add_context(self, hits: _Hits, file: str) -> None:
        """Add a changed file that includes a definer, if its macros or containers can affect a layout."""
        text = text_search.content(file)
        if self.search.options.intents.comments:
            hits.inputs.append(file)
            hits.structs |= text_search.names_defined(text)
        closure = self.part.inclusion.closure(file)
        definers = sorted(closure.intersection(self.rules_by_file) - {file})
        macros = self._macros(file, text) if definers else frozenset()
        for definer in definers:
            used = _WORD.findall(text_search.content(definer))
            rules = self._touched_rules(closure, self.rules_by_file[definer])
            if macros is not None and macros.isdisjoint(used):
                rules = {rule for rule in rules if self.search.embedded_request.matches(rule.struct)}
                rules = {rule for rule in rules if rule.struct.encode() in text}
            if rules:
                self._add(hits, file, definer, rules)

    def _macros(self, file: str, text: bytes) -> frozenset[bytes] | None:
        """Return the macros that a changed file defines, or did before; None if it packs structs."""
        olds = (difference.old_content(file) for difference in self.search.change.differences)
        texts = [text, *filter(None, olds)]
        if any(map(_PACKING.search, texts)):
            return None
        return frozenset(name for each in texts for name in _MACRO.findall(each))

    def _add(self, hits: _Hits, file: str, definer: str, rules: set[Rule]) -> None:
        """Add rules on structs of a definer, to be judged in a file."""
        hits.inputs.append(file)
        hits.rules |= rules
        wanted = Wanted(patterns=tuple({rule.struct for rule in rules}))
        names = {name for name in self.part.structs.get(definer, ()) if wanted.matches(name)}
        hits.structs |= names
        if self.part.tree is not None:
            header = os.path.relpath(definer, self.part.tree.source)
            hits.hints += [StructIntent(name, Source(_HINTS), header) for name in sorted(names)]

    def _kernel_inputs(self, hits: _Hits, tree: kernel_tree.Tree) -> Iterator[str]:
        """Yield the tree, which reads the headers of many structs together, and files with annotations."""
        if hits.rules:
            yield tree.source
        yield from (
            file
            for file in dict.fromkeys(hits.inputs)
            if self.search.options.intents.comments
            or file in self.part.marked
            or file in self._of_nearer_packs
        )


def _definers(parts: tuple[Definers, ...], rules: Iterable[Rule]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield the structs of rules with the files that seem to define them, from the working folder."""
    for struct in sorted({rule.struct for rule in rules if rule.struct != VARIABLES}):
        paths = sorted({path for part in parts for path in part.files_of(struct)})
        if paths:
            yield struct, tuple(map(_from_working_folder, paths))


def _keep_rules(
    packs: tuple[Pack, ...], rules: frozenset[Rule], structs: frozenset[str] | None
) -> tuple[Pack, ...]:
    """Return packs with some of their rules, and without requests for annotations in other structs."""
    return tuple(
        replace(
            pack,
            rules=tuple(rule for rule in pack.rules if rule in rules),
            structs=tuple(
                replace(intent, annotated=intent.annotated and (structs is None or intent.struct in structs))
                for intent in pack.structs
            ),
        )
        for pack in packs
    )


def _absolute(path: str) -> str:
    """Return the real path of a file; a link in its place is that file."""
    folder, name = os.path.split(os.path.abspath(path))
    return os.path.join(files.real_path(folder), name)


def _from_working_folder(path: str) -> str:
    """Return a path as reports show it: relative to the working folder."""
    return os.path.relpath(path, files.real_path(os.getcwd()))

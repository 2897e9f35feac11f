"""Matrix files: TOML in, Builds out (docs/matrix.md). All mistakes are reported at once."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import product
from typing import TypedDict, TypeVar

from layoutlint.errors import RuleFileError, UsageError, did_you_mean
from layoutlint.intent.toml import table as toml
from layoutlint.intent.toml.document import content, parse
from layoutlint.intent.toml.table import Misfit, Notes, Table
from layoutlint.model import target
from layoutlint.model.build import Build, Randomised
from layoutlint.model.reading import Version
from layoutlint.model.structs import Source
from layoutlint.randstruct import options
from layoutlint.randstruct.kernel_tree import MODES
from layoutlint.readers.clang import cross_target, flags
from layoutlint.readers.linux import version

T = TypeVar("T")


class _Kernel(TypedDict):
    randomised: Randomised
    kernel: Version | None


BUILD_KEYS = (
    "input", "flags", "defines", "config", "target", "line_size", "min_align", "randstruct", "seed",
    "randomized", "kernel_version",
)  # fmt: skip
TOP_KEYS = ("defaults", "axis", "build", "exclude")
_MOST_BUILDS = 1000
_LARGEST = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*")
_OPTION = re.compile(r"--([a-z][a-z-]*)")
_DEFINE = re.compile(r"[A-Za-z_]\w*(?:\([^()]*\))?(?:=.*)?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Part:
    """What one table says of builds; None and () where it says nothing."""

    table: Table
    name: str = ""
    inputs: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    config: tuple[str, ...] | None = None
    target: str | None = None
    line_size: int | None = None
    min_align: int | None = None
    randstruct: str | None = None
    seed: str | None = None
    randomized: tuple[str, ...] = ()
    kernel_version: str | None = None


@dataclass(frozen=True, slots=True)
class _Plan:
    """The tables that a build is made of, and its name."""

    name: str
    parts: tuple[_Part, ...]
    is_combined: bool
    """Whether they are values of axes."""

    @property
    def table(self) -> Table:
        """Where messages point at."""
        return self.parts[-1].table

    def wrong(self, message: str) -> None:
        """Notes a mistake."""
        self.table.wrong(message)


def load(path: str, inputs: tuple[str, ...] = (), text: str | None = None) -> tuple[Build, ...]:
    """The builds of a matrix file, in its order; those that name no input are of `inputs`.

    `text` replaces what the file holds now. Raises RuleFileError with all mistakes of the file.
    """
    document = parse(content(path, through_pipe=True) if text is None else text, path)
    notes = Notes(document)
    builds = tuple(_Reader(Table(document.data, (), "a matrix", notes), path, inputs).builds())
    if not builds and not notes.mistakes:
        notes.wrong((), "there is no build: neither `[build.NAME]` nor `[axis.NAME.VALUE]`")
    if notes.mistakes:
        raise RuleFileError(tuple(f"{path}:{line}: {message}" for line, message in sorted(notes.mistakes)))
    return builds


@dataclass(slots=True)
class _Reader:
    """One file's tables turned into builds; mistakes go to its notes."""

    top: Table
    path: str
    inputs: tuple[str, ...]
    contradictions: set[tuple[str, str, str]] = field(default_factory=set)
    """A key and the two tables that contradict each other, noted once and not for each build."""

    def builds(self) -> Iterator[Build]:
        """Every build: those of the axes first, then those that are named."""
        self.top.only(TOP_KEYS, lambda key: " (a build is `[build.NAME]`)" if key == "builds" else "")
        defaults = self._part("defaults", self.top.table("defaults", "[defaults]"))
        axes = tuple(self._axes())
        one_by_one = tuple(self._named(self.top.table("build", "[build]"), "build"))
        if self._is_too_many(axes, one_by_one):
            return
        plans = [_Plan("-".join(p.name for p in parts), parts, True) for parts in product(*axes) if parts]
        plans += [_Plan(part.name, (part,), False) for part in one_by_one]
        plans = self._left(plans)
        self._refuse_same_names(plans)
        for plan in plans:
            build = self._build(plan, defaults)
            is_said = any("input" in part.table.data for part in (defaults, *plan.parts))
            if not build.inputs and not is_said:
                plan.wrong(f"build `{build.name}` has no `input`, and none was given beside the matrix")
            yield build

    def _axes(self) -> Iterator[tuple[_Part, ...]]:
        axes = self.top.table("axis", "[axis]")
        for name in axes.data:
            values = axes.table(name, f"[axis.{name}]")
            if not values.data:
                values.wrong(f"{values.called} has no values: each is a table `[axis.{name}.VALUE]`")
            yield tuple(self._named(values, f"axis.{name}"))

    def _named(self, tables: Table, prefix: str) -> Iterator[_Part]:
        """The tables below `[prefix]`, each with its name."""
        for name in tables.data:
            table = tables.table(name, f"[{prefix}.{name}]")
            if not _NAME.fullmatch(name):
                table.wrong(f"a build cannot be called `{name}`: letters, digits, `-`, `_`, `.` and `+`")
            yield self._part(name, table)

    def _part(self, name: str, table: Table) -> _Part:
        table.only(BUILD_KEYS, lambda key: _hint(table, key))
        on = table.get("config", toml.listed(toml.kernel_option, "kernel options"))
        self._refuse_both_ways(table, on or ())
        words = table.get("flags", toml.words) or ()
        return _Part(
            table,
            name,
            tuple(self._here(path) for path in table.get("input", _inputs) or ()),
            (
                *flags.anchored(words, os.path.dirname(self.path)),
                *(f"-D{define}" for define in table.get("defines", toml.listed(_define, "macros")) or ()),
            ),
            on,
            table.get("target", _target),
            table.get("line_size", _power_of_two),
            table.get("min_align", _power_of_two),
            table.get("randstruct", toml.choice(MODES)),
            self._file(table.get("seed", toml.text)),
            tuple(self._file(name) or name for name in table.get("randomized", toml.words) or ()),
            self._file(table.get("kernel_version", toml.text)),
        )

    def _file(self, text: str | None) -> str | None:
        """A text, or the file that it names from the folder of the matrix."""
        if text is None:
            return None
        at = self._here(text)
        if os.path.exists(at) or "/" in text:
            return at if os.sep in at else os.path.join(os.curdir, at)
        return text

    def _here(self, path: str) -> str:
        """A path of the file, which is relative to the folder that the file is in."""
        return os.path.normpath(os.path.join(os.path.dirname(self.path), path))

    def _refuse_both_ways(self, table: Table, options: tuple[str, ...]) -> None:
        for index, option in enumerate(options):
            if option.startswith("!") and option[1:] in options:
                table.wrong(f"`config` has `{option[1:]}` and `{option}`", "config", index)

    def _is_too_many(self, axes: tuple[tuple[_Part, ...], ...], one_by_one: tuple[_Part, ...]) -> bool:
        count = len(one_by_one)
        combinations = 1
        for values in axes:
            combinations *= len(values)
        count += combinations if axes else 0
        if count > _MOST_BUILDS:
            self.top.wrong(f"the matrix has {count:,} builds, and {_MOST_BUILDS:,} are the most")
        return count > _MOST_BUILDS

    def _build(self, plan: _Plan, defaults: _Part) -> Build:
        """What the tables of a build say together."""
        parts = plan.parts
        words = tuple(word for part in (defaults, *parts) for word in part.flags)
        target = self._one("target", lambda part: part.target, defaults, parts)
        self._refuse_other_target(target, words, plan)
        return Build(
            name=plan.name,
            source=Source(self.path, plan.table.line),
            inputs=self._one("input", lambda part: part.inputs, defaults, parts) or self.inputs,
            values=tuple(part.name for part in parts) if plan.is_combined else (),
            flags=words,
            target=target,
            config=self._config(defaults, parts),
            line_size=self._one("line_size", lambda part: part.line_size, defaults, parts),
            min_align=self._one("min_align", lambda part: part.min_align, defaults, parts),
            **self._kernel(plan, defaults),
        )

    def _kernel(self, plan: _Plan, defaults: _Part) -> _Kernel:
        """How a kernel is randomised, and its version."""
        parts = plan.parts
        said = Randomised(
            self._one("randstruct", lambda part: part.randstruct, defaults, parts),
            self._one("seed", lambda part: part.seed, defaults, parts),
            self._one("kernel_version", lambda part: part.kernel_version, defaults, parts),
            self._one("randomized", lambda part: part.randomized, defaults, parts),
        )
        kernel = None
        if said.kernel is not None and not os.path.isdir(said.kernel):
            kernel = version.of_release(said.kernel.removeprefix("v"))
            if kernel is None:
                self._once(
                    plan, f"`kernel_version` is `{said.kernel}`: wanted X.Y, such as 6.12, or a source"
                )
                return {"randomised": Randomised(), "kernel": None}
        try:  # what can be said to be wrong before the inputs are looked at
            options.randomisation(
                said.mode or MODES[0], said.seed, said.kernel if said.mode else None, said.marked, ()
            )
        except UsageError as error:
            self._once(plan, _OPTION.sub(lambda option: f"`{option[1].replace('-', '_')}`", str(error)))
        return {"randomised": said, "kernel": kernel}

    def _once(self, plan: _Plan, message: str) -> None:
        """Notes a mistake of many builds at the first of them."""
        if ("", "", message) not in self.contradictions:
            self.contradictions.add(("", "", message))
            plan.wrong(message)

    def _one(self, key: str, of: Callable[[_Part], T], defaults: _Part, parts: tuple[_Part, ...]) -> T:
        """The value of a key that has one: that of an axis or build, else the default."""
        stating = [part for part in parts if of(part)]
        for other in stating[1:]:
            if of(other) != of(stating[0]):
                self._contradiction(key, stating[0], other)
        return of(stating[0] if stating else defaults)

    def _config(self, defaults: _Part, parts: tuple[_Part, ...]) -> tuple[str, ...] | None:
        """Every option once; axes and builds go before defaults."""
        if all(part.config is None for part in (defaults, *parts)):
            return None
        found = {option.removeprefix("!"): option for option in defaults.config or ()}
        by: dict[str, _Part] = {}
        for part in parts:
            for option in part.config or ():
                name = option.removeprefix("!")
                if found.get(name) != option and by.get(name, part) is not part:
                    self._contradiction("config", by[name], part)
                found[name], by[name] = option, part
        return tuple(found.values())

    def _contradiction(self, key: str, one: _Part, other: _Part) -> None:
        pair = (key, one.table.called, other.table.called)
        if pair not in self.contradictions:
            self.contradictions.add(pair)
            other.table.wrong(f"`{key}` of {other.table.called} contradicts that of {one.table.called}", key)

    def _refuse_other_target(self, target: str | None, words: tuple[str, ...], plan: _Plan) -> None:
        triple = cross_target.stated(words)
        if triple is None or target is None or flags.architecture(triple, 64) == target:
            return
        pair = ("--target", target, triple)
        if pair not in self.contradictions:
            self.contradictions.add(pair)
            plan.wrong(
                f"`target` of build `{plan.name}` is `{target}`, and its `flags` have --target={triple}"
            )

    def _refuse_same_names(self, plans: list[_Plan]) -> None:
        first: dict[str, _Plan] = {}
        for plan in plans:
            other = first.setdefault(plan.name, plan)
            if other is not plan:
                plan.wrong(
                    f"two builds are called `{plan.name}`: the other is that of line {other.table.line}"
                )

    def _left(self, plans: list[_Plan]) -> list[_Plan]:
        """The builds that `exclude` does not take out."""
        patterns = self.top.get("exclude", toml.words) or ()
        for index, pattern in enumerate(patterns if plans else ()):
            if not any(fnmatchcase(plan.name, pattern) for plan in plans):
                hint = did_you_mean(pattern, [plan.name for plan in plans])
                self.top.wrong(f"`exclude` has `{pattern}`, which is no build{hint}", "exclude", index)
        left = [p for p in plans if not any(fnmatchcase(p.name, pattern) for pattern in patterns)]
        if plans and not left:
            self.top.wrong("`exclude` leaves no build", "exclude")
        return left


def _hint(table: Table, key: str) -> str:
    """TOML reads `[build.v6.12]` as a table in a table; a name with a dot is meant."""
    if not isinstance(table.data[key], dict) or not table.path:
        return ""
    return f' (quote a name with a dot: "{table.path[-1]}.{key}")'


def _inputs(value: object) -> tuple[str, ...]:
    return (toml.text(value),) if isinstance(value, str) else toml.words(value)


def _define(value: object) -> str:
    found = toml.text(value)
    if found.startswith("-D"):
        raise Misfit(f"cannot be `{found}`: write `{found[2:]}`")
    if not _DEFINE.fullmatch(found):
        raise Misfit(f"cannot be `{found}`: a macro, as `NAME` or `NAME=VALUE`")
    return found


def _target(value: object) -> str:
    found = toml.text(value)
    if found not in cross_target.NAMES:
        raise Misfit(f"cannot be `{found}`{target.meant(found, cross_target.NAMES)}")
    return found


def _power_of_two(value: object) -> int:
    found = toml.integer(value)
    if found < 1 or found & (found - 1) or found > _LARGEST:
        raise Misfit(f"must be a power of two up to {_LARGEST:,}, not {found}")
    return found

"""Reads matrix files: the builds of a matrix (docs/matrix.md), or all mistakes at once."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from itertools import product
from typing import TypedDict, TypeVar

from layoutlint import files
from layoutlint.errors import RuleFileError, UsageError, did_you_mean
from layoutlint.intent.toml import converters, document
from layoutlint.intent.toml.converters import Misfit
from layoutlint.intent.toml.table import Notes, Table
from layoutlint.model import target
from layoutlint.model.build import Build, RandomisationOptions
from layoutlint.model.reading import Version
from layoutlint.model.record import Record, field
from layoutlint.model.structs import Source
from layoutlint.randstruct import options
from layoutlint.randstruct.kernel_tree import MODES
from layoutlint.readers.clang import cross_target, flags
from layoutlint.readers.linux import version

T = TypeVar("T")


class _Kernel(TypedDict):
    randomised: RandomisationOptions
    kernel: Version | None


BUILD_KEYS = (
    "input", "flags", "defines", "config", "target", "line_size", "min_align", "randstruct", "seed",
    "randomized", "kernel_version",
)  # fmt: skip
TOP_KEYS = ("defaults", "axis", "build", "exclude")
_MOST_BUILDS = 1000
_LARGEST = 1 << 20
_NAME = re.compile(r"[A-Za-z0-9][\w.+-]*")
_KEYS = options.OptionNames("`seed`", "`kernel_version`", "`randomized`")
_DEFINE = re.compile(r"[A-Za-z_]\w*(?:\([^()]*\))?(?:=.*)?", re.DOTALL)


class _Stated(Record, frozen=True):
    """What one table states about builds; None and () for nothing."""

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


class _Plan(Record, frozen=True):
    """The name of a build, and the tables that define it."""

    name: str
    parts: tuple[_Stated, ...]
    is_combined: bool
    """Whether the tables are values of axes."""

    @property
    def table(self) -> Table:
        """The table that mistakes are reported at."""
        return self.parts[-1].table

    def report(self, message: str) -> None:
        """Note a mistake."""
        self.table.report(message)


def load(path: str, inputs: tuple[str, ...] = (), text: str | None = None) -> tuple[Build, ...]:
    """Return the builds of a matrix file, in order; builds without an input get `inputs`.

    `text` replaces the content of the file. Raises RuleFileError with all mistakes of the file.
    """
    toml = document.parse(document.read_text(path, through_pipe=True) if text is None else text, path)
    notes = Notes(toml)
    builds = tuple(_MatrixReader(Table(toml.data, (), "a matrix", notes), path, inputs).builds())
    if not builds and not notes.mistakes:
        notes.report((), "there is no build: neither `[build.NAME]` nor `[axis.NAME.VALUE]`")
    if notes.mistakes:
        raise RuleFileError(tuple(f"{path}:{line}: {message}" for line, message in sorted(notes.mistakes)))
    return builds


class _MatrixReader(Record):
    """Turns the tables of one file into builds; mistakes go to its notes."""

    top: Table
    path: str
    inputs: tuple[str, ...]
    contradictions: set[tuple[str, object, object]] = field(default_factory=set)
    """Keys with the two tables or values that contradict each other; each is noted for one build only."""
    reported: set[str] = field(default_factory=set)
    """Mistakes of many builds, each noted at the first of them."""

    def builds(self) -> Iterator[Build]:
        """Yield every build: combinations of axes first, then named builds."""
        self.top.allow_only(TOP_KEYS, lambda key: " (a build is `[build.NAME]`)" if key == "builds" else "")
        defaults = self._read_part("defaults", self.top.table("defaults", "[defaults]"))
        axes = tuple(self._axes())
        named = tuple(self._parts(self.top.table("build", "[build]", "[build.NAME]"), "build"))
        if self._is_too_many(axes, named):
            return
        plans = [
            _Plan("-".join(part.name for part in parts), parts, True) for parts in product(*axes) if parts
        ]
        plans += [_Plan(part.name, (part,), False) for part in named]
        plans = self._without_excluded(plans)
        self._refuse_same_names(plans)
        for plan in plans:
            build = self._make_build(plan, defaults)
            is_stated = any("input" in part.table.data for part in (defaults, *plan.parts))
            if not build.inputs and not is_stated:
                plan.report(f"build `{build.name}` has no `input`, and the command line names none")
            yield build

    def _axes(self) -> Iterator[tuple[_Stated, ...]]:
        axes = self.top.table("axis", "[axis]")
        for name in axes.data:
            values = axes.table(name, f"[axis.{name}]")
            if not values.data:
                values.report(f"{values.label} has no values: each is a table `[axis.{name}.VALUE]`")
            yield tuple(self._parts(values, f"axis.{name}"))

    def _parts(self, tables: Table, prefix: str) -> Iterator[_Stated]:
        """Yield the tables below `[prefix]`."""
        for name in tables.data:
            table = tables.table(name, f"[{prefix}.{name}]")
            if not _NAME.fullmatch(name):
                table.report(f"a build cannot be called `{name}`: letters, digits, `-`, `_`, `.` and `+`")
            yield self._read_part(name, table)

    def _read_part(self, name: str, table: Table) -> _Stated:
        table.allow_only(BUILD_KEYS, lambda key: _hint(table, key))
        config = table.get("config", converters.list_of(converters.kernel_option, "kernel options"))
        self._refuse_both_ways(table, config or ())
        words = table.get("flags", converters.words) or ()
        return _Stated(
            table,
            name,
            tuple(self._resolve(path) for path in table.get("input", _inputs) or ()),
            (
                *flags.make_absolute(words, os.path.dirname(self.path)),
                *(
                    f"-D{define}"
                    for define in table.get("defines", converters.list_of(_define, "macros")) or ()
                ),
            ),
            config,
            table.get("target", _target),
            table.get("line_size", _power_of_two),
            table.get("min_align", _power_of_two),
            table.get("randstruct", converters.choice(MODES)),
            self._file(table.get("seed", converters.text)),
            tuple(self._file(name) or name for name in table.get("randomized", converters.words) or ()),
            self._file(table.get("kernel_version", converters.text)),
        )

    def _file(self, word: str | None) -> str | None:
        """Return a text, or the path of the file that it names, relative to the folder of the matrix."""
        if word is None:
            return None
        path = self._resolve(word)
        if files.exists(path) or "/" in word:
            return path if os.sep in path else os.path.join(os.curdir, path)
        return word

    def _resolve(self, path: str) -> str:
        """Return a path in the matrix, which is relative to the folder of the matrix."""
        return os.path.normpath(os.path.join(os.path.dirname(self.path), path))

    def _refuse_both_ways(self, table: Table, options: tuple[str, ...]) -> None:
        for index, option in enumerate(options):
            if option.startswith("!") and option[1:] in options:
                table.report(f"`config` has `{option[1:]}` and `{option}`", "config", index)

    def _is_too_many(self, axes: tuple[tuple[_Stated, ...], ...], named: tuple[_Stated, ...]) -> bool:
        count = len(named)
        combinations = 1
        for values in axes:
            combinations *= len(values)
        count += combinations if axes else 0
        if count > _MOST_BUILDS:
            self.top.report(f"the matrix has {count:,} builds, more than the limit of {_MOST_BUILDS:,}")
        return count > _MOST_BUILDS

    def _make_build(self, plan: _Plan, defaults: _Stated) -> Build:
        """Return the build that its tables define together."""
        parts = plan.parts
        words = tuple(word for part in (defaults, *parts) for word in part.flags)
        target = self._value("target", lambda part: part.target, defaults, parts)
        self._refuse_other_target(target, words, plan)
        return Build(
            name=plan.name,
            source=Source(self.path, plan.table.line),
            inputs=self._value("input", lambda part: part.inputs, defaults, parts) or self.inputs,
            values=tuple(part.name for part in parts) if plan.is_combined else (),
            flags=words,
            target=target,
            config=self._merge_config(defaults, parts),
            line_size=self._value("line_size", lambda part: part.line_size, defaults, parts),
            min_align=self._value("min_align", lambda part: part.min_align, defaults, parts),
            **self._read_kernel(plan, defaults),
        )

    def _read_kernel(self, plan: _Plan, defaults: _Stated) -> _Kernel:
        """Return the randomisation of a kernel, and its version."""
        parts = plan.parts
        randomised = RandomisationOptions(
            self._value("randstruct", lambda part: part.randstruct, defaults, parts),
            self._value("seed", lambda part: part.seed, defaults, parts),
            self._value("kernel_version", lambda part: part.kernel_version, defaults, parts),
            self._value("randomized", lambda part: part.randomized, defaults, parts),
        )
        kernel = None
        if randomised.kernel is not None and not files.is_folder(randomised.kernel):
            kernel = version.release_version(randomised.kernel.removeprefix("v"))
            if kernel is None:
                self._report_once(
                    plan,
                    f"`kernel_version` is `{randomised.kernel}`: expected X.Y, such as 6.12, or a source",
                )
                return {"randomised": RandomisationOptions(), "kernel": None}
        try:  # mistakes that show without the inputs
            options.read_randomisation(
                randomised.mode or MODES[0],
                randomised.seed,
                randomised.kernel if randomised.mode else None,
                randomised.marked,
                (),
                _KEYS,
            )
        except UsageError as error:
            self._report_once(plan, str(error))
        return {"randomised": randomised, "kernel": kernel}

    def _report_once(self, plan: _Plan, message: str) -> None:
        """Note a mistake of many builds at the first of them."""
        if message not in self.reported:
            self.reported.add(message)
            plan.report(message)

    def _value(
        self, key: str, get: Callable[[_Stated], T], defaults: _Stated, parts: tuple[_Stated, ...]
    ) -> T:
        """Return the value of a key: that of the axis or build that states it, else the default."""
        stating = [part for part in parts if get(part)]
        for other in stating[1:]:
            if get(other) != get(stating[0]):
                self._contradiction(key, stating[0], other)
        return get(stating[0] if stating else defaults)

    def _merge_config(self, defaults: _Stated, parts: tuple[_Stated, ...]) -> tuple[str, ...] | None:
        """Return every kernel option once; axes and builds override the defaults."""
        if all(part.config is None for part in (defaults, *parts)):
            return None
        options = {option.removeprefix("!"): option for option in defaults.config or ()}
        origin: dict[str, _Stated] = {}
        for part in parts:
            for option in part.config or ():
                name = option.removeprefix("!")
                if options.get(name) != option and origin.get(name, part) is not part:
                    self._contradiction("config", origin[name], part)
                options[name], origin[name] = option, part
        return tuple(options.values())

    def _contradiction(self, key: str, first: _Stated, other: _Stated) -> None:
        pair = (key, first.table.path, other.table.path)
        if pair not in self.contradictions:
            self.contradictions.add(pair)
            other.table.report(f"`{key}` of {other.table.label} contradicts that of {first.table.label}", key)

    def _refuse_other_target(self, target: str | None, words: tuple[str, ...], plan: _Plan) -> None:
        triple = cross_target.stated_triple(words)
        if triple is None or target is None or flags.architecture(triple, 64) == target:
            return
        pair = ("--target", target, triple)
        if pair not in self.contradictions:
            self.contradictions.add(pair)
            plan.report(
                f"`target` of build `{plan.name}` is `{target}`, and its `flags` have --target={triple}"
            )

    def _refuse_same_names(self, plans: list[_Plan]) -> None:
        first: dict[str, _Plan] = {}
        for plan in plans:
            other = first.setdefault(plan.name, plan)
            if other is not plan:
                plan.report(f"two builds are called `{plan.name}`: the other is in line {other.table.line}")

    def _without_excluded(self, plans: list[_Plan]) -> list[_Plan]:
        """Return the builds that `exclude` leaves."""
        patterns = self.top.get("exclude", converters.words) or ()
        for index, pattern in enumerate(patterns if plans else ()):
            if not any(fnmatchcase(plan.name, pattern) for plan in plans):
                hint = did_you_mean(pattern, [plan.name for plan in plans])
                self.top.report(f"`exclude` has `{pattern}`, which matches no build{hint}", "exclude", index)
        remaining = [
            plan for plan in plans if not any(fnmatchcase(plan.name, pattern) for pattern in patterns)
        ]
        if plans and not remaining:
            self.top.report("`exclude` leaves no build", "exclude")
        return remaining


def _hint(table: Table, key: str) -> str:
    """Return a hint for `[build.v6.12]`, which TOML reads as a table in a table."""
    if not isinstance(table.data[key], dict) or not table.path:
        return ""
    return f' (quote a name with a dot: "{table.path[-1]}.{key}")'


def _inputs(value: object) -> tuple[str, ...]:
    return (converters.text(value),) if isinstance(value, str) else converters.words(value)


def _define(value: object) -> str:
    macro = converters.text(value)
    if macro.startswith("-D"):
        raise Misfit(f"cannot be `{macro}`: write `{macro[2:]}`")
    if not _DEFINE.fullmatch(macro):
        raise Misfit(f"cannot be `{macro}`: a macro, as `NAME` or `NAME=VALUE`")
    return macro


def _target(value: object) -> str:
    name = converters.text(value)
    if name not in cross_target.NAMES:
        raise Misfit(f"cannot be `{name}`{target.target_hint(name, cross_target.NAMES)}")
    return name


def _power_of_two(value: object) -> int:
    number = converters.integer(value)
    if number < 1 or number & (number - 1) or number > _LARGEST:
        raise Misfit(f"must be a power of two up to {_LARGEST:,}, not {number}")
    return number

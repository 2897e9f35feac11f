"""An input of a run, with the rule packs that judge it."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

from layoutlint.judgement.condition import When, exclusion_reason
from layoutlint.judgement.context import AreDecided, Companions, Owners
from layoutlint.judgement.lookup import Structs
from layoutlint.judgement.rule import Pack, Rule
from layoutlint.lint.embedding import Surroundings
from layoutlint.model.aligner import LINUX, PLAIN, Aligner
from layoutlint.model.reading import Reading, ReadOptions
from layoutlint.model.record import Record, replace

if TYPE_CHECKING:
    from layoutlint.kinds.stride import Stride
    from layoutlint.sources.source_uses.functions import SourceFunctions


class JudgedInput(Record, frozen=True, dict=True):
    """An input of a run, with the rule packs that judge it."""

    reading: Reading
    packs: tuple[Pack, ...]
    surroundings: Surroundings = Surroundings()
    """The structs that can contain those of the input."""

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of all packs, in their order."""
        return tuple(rule for pack in self.packs for rule in pack.rules)

    @cached_property
    def structs(self) -> Structs:
        """The structs of the input, by name."""
        return Structs(self.reading.structs)

    @property
    def aligner(self) -> Aligner:
        """What aligns declarations in its source: the macros of Linux, or C11.

        Without SMP, the macro for a line is empty.
        """
        if not self.reading.is_kernel:
            return PLAIN
        config = self.reading.config
        is_up = "!SMP" in self.reading.options or (config is not None and "SMP" not in config)
        return replace(LINUX, macro="") if is_up else LINUX

    def companions(self, read: ReadOptions) -> Companions | None:
        """Return what C sources show on fields that are changed together; None for a kernel or no sources."""
        functions = self._functions(read)
        if functions is None:
            return None
        from layoutlint.lint import companions  # few runs guess

        return companions.companions(self.reading, functions)

    def owners(self, pack: Pack, read: ReadOptions) -> Owners | None:
        """Return what C sources show on elements that threads write.

        None for a kernel, without sources, or if no rule of a pack needs it.
        """
        strides = (cast("Stride", rule.kind) for rule in pack.rules if rule.kind.name == "stride")
        needs = any(kind.per_thread for kind in strides)
        functions = self._functions(read) if needs else None
        if functions is None:
            return None
        from layoutlint.lint import thread_elements  # few runs guess

        return thread_elements.ThreadElements(self.reading, self.packs, functions)

    def _functions(self, read: ReadOptions) -> SourceFunctions | None:
        """Return the functions of the sources, searched once; None for a kernel or no sources."""
        if self.reading.is_kernel:
            return None
        if not self._sources:
            from layoutlint.lint import companions  # few runs guess

            self._sources.append(companions.source_functions(self.reading, read))
        return self._sources[0]

    def rules_on_pairs(self) -> AreDecided | None:
        """Return what the rules of packs that guess nothing decide about pairs of fields."""
        from layoutlint.lint import decided_pairs  # few runs guess

        rules = (rule for pack in self.packs if not pack.guesses for rule in pack.rules)
        return decided_pairs.decided_pairs(rule for rule in rules if not self.exclusion(rule.when))

    @cached_property
    def _sources(self) -> list[SourceFunctions | None]:
        return []

    @cached_property
    def _exclusions(self) -> dict[When, str | None]:
        return {}

    def exclusion(self, when: When) -> str | None:
        """Return the reason why conditions do not hold for the input; None if they hold, or may hold."""
        if when not in self._exclusions:
            self._exclusions[when] = exclusion_reason(when, self.reading)
        return self._exclusions[when]

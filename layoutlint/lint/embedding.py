"""The containers of structs in the inputs of a run."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from layoutlint.geometry.alignment_proofs import Proofs
from layoutlint.geometry.containers import Container, Index, TooManyContainers
from layoutlint.judgement.context import CannotTell
from layoutlint.model.record import Record, field
from layoutlint.model.structs import Struct
from layoutlint.model.target import Target

if TYPE_CHECKING:
    from layoutlint.lint.shown_places import ShownPlaces
    from layoutlint.randstruct.shape import Shape


class Surroundings(Record, frozen=True):
    """An index of the structs that can contain others; empty if no rule file declares embedded structs."""

    indices: dict[Target, Index] = field(default_factory=dict)
    proofs: Proofs | None = None
    """Alignments that uses of structs prove; None if layouts differ from the declared ones."""
    shown: ShownPlaces | None = None
    """The places at which inputs show structs; None if layouts differ from the declared ones."""

    def settle(self, struct: Struct) -> Struct:
        """Return a struct with the alignments that its uses prove; the first call reads the inputs again."""
        return struct if self.proofs is None else self.proofs.narrow_alignments(struct)

    def containers(self, struct: Struct, line_size: int | None = None) -> list[Container]:
        """Return every place in which a struct is embedded, in all inputs for its target; raises CannotTell.

        If fields can have many orders, places that are equal modulo `line_size` (bytes) count once.
        """
        index = self.indices[struct.target]
        typedefs = sorted(index.ambiguous_typedefs(struct.name))
        if typedefs:
            raise CannotTell(f"it is unknown which struct `{typedefs[0]}` means")
        definition = index.merged_definition(struct)
        untyped = index.field_without_type(struct.name, definition)
        if untyped is not None:
            name = f"{struct.aggregate} {struct.name}"
            raise CannotTell(f"the type of {untyped} is not in the input, and {name} may be there")
        try:
            return index.containers(struct.name, definition)
        except TooManyContainers as error:
            raise CannotTell(str(error)) from None

    def definitions(self, target: Target, names: Iterable[str]) -> list[Struct]:
        """Return every definition with a known layout that one of some names and patterns refers to."""
        structs = self.indices[target].definitions_like(names)
        return [s for s in structs if s.bit_size is not None and s.problem is None]

    def select(self, number: int) -> Surroundings:
        """Return the surroundings of the structs of one input, by its number in the order of reading."""
        return self

    @property
    def is_random(self) -> bool:
        """Whether the build randomises layouts."""
        return False

    def shape(self, struct: Struct) -> Shape | None:
        """Return the possible layouts of a struct of the input; None if it has its declared one.

        A build without a known seed can choose among several. Raises CannotTell.
        """
        return None

"""What can embed structs, and where."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from layoutlint.geometry.alignment_proofs import Proofs
from layoutlint.geometry.containers import Container, Index, TooManyWays
from layoutlint.judgement.context import CannotTell
from layoutlint.model.structs import Struct
from layoutlint.model.target import Target

if TYPE_CHECKING:
    from layoutlint.randstruct.shape import Shape


@dataclass(frozen=True, slots=True)
class Surroundings:
    """Everything that the inputs define, where a rule file says that a struct is embedded in it."""

    indices: dict[Target, Index] = field(default_factory=dict)
    proofs: Proofs | None = None
    """What uses of structs tell of alignments; None where structs do not stand as they are declared."""

    def settled(self, struct: Struct) -> Struct:
        """Return a struct with the alignments that its uses leave; the first time reads more inputs."""
        return struct if self.proofs is None else self.proofs.settled(struct)

    def containers(self, struct: Struct, line_size: int | None = None) -> list[Container]:
        """Every place in which a struct is embedded, in all inputs for its target; raises CannotTell.

        Of places in many orders of fields, those count once that are the same modulo `line_size`, in bytes.
        """
        index = self.indices[struct.target]
        left = sorted(index.unsettled(struct.name))
        if left:
            raise CannotTell(f"which struct `{left[0]}` stands for cannot be told")
        untyped = index.untyped(struct)
        if untyped is not None:
            called = f"{struct.aggregate} {struct.name}"
            raise CannotTell(f"the type of {untyped} is not in the input, and {called} may be there")
        try:
            return index.containers(struct.name, index.same(struct))
        except TooManyWays as error:
            raise CannotTell(str(error)) from None

    def answering(self, target: Target, names: Iterable[str]) -> list[Struct]:
        """Every definition that one of some names and patterns means, as far as its layout is known."""
        index = self.indices[target]
        wanted = tuple(names)
        found = {
            id(struct): struct
            for known in index.names
            if any(fnmatchcase(known, name) for name in wanted)
            for struct in index.definitions(known)
        }
        return [struct for struct in found.values() if struct.bit_size is not None and struct.problem is None]

    @property
    def is_random(self) -> bool:
        """Whether it is that of a build that randomises."""
        return False

    def shape(self, struct: Struct) -> Shape | None:
        """How a struct may be laid out in a build whose seed is not known; None where it is as declared.

        Raises CannotTell.
        """
        return None

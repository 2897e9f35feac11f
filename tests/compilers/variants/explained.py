"""What of the variants differs from what the compiler or pahole says, and the debug information that shows why.

Each row stands for all variants that it concerns: a test fails as well where one of its differences is not there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from tests.compilers.variants.build import Built, Variant

_Concerned = Callable[[Variant, Built], bool]


@dataclass(frozen=True, slots=True)
class Explained:
    """Differences that the variants of some compilers have, and why."""

    concerns: _Concerned
    keys: tuple[str, ...]
    why: str


def _compiler_versions(family: str, since: int = 0, until: int = 99, *readers: str) -> _Concerned:
    """Versions of a compiler, both ends included, read as DWARF where no other reader is named."""

    def concerns(variant: Variant, built: Built) -> bool:
        wanted = readers or ("dwarf",)
        return variant.family == family and since <= built.version <= until and variant.reader in wanted

    return concerns


def _naming(*names: str) -> _Concerned:
    return lambda variant, _: variant.name in names


def _gigantic(variant: Variant, built: Built) -> bool:
    return any(each.name == "gigantic" and each.size >= 1 << 32 for each in built.facts)


def _step(*steps: str) -> _Concerned:
    return lambda variant, _: variant.step in steps


def _dwz(variant: Variant, _: Built) -> bool:
    """What dwz moves into partial units; type units it leaves where they are."""
    return variant.step.startswith("dwz") and "-fdebug-types-section" not in variant.flags


def _flag(flag: str, family: str = "", step: str = "") -> _Concerned:
    return lambda variant, _: flag in variant.flags and family in variant.family and step in variant.step


def _unlinked_case(*machines: str) -> _Concerned:
    def concerns(variant: Variant, _: Built) -> bool:
        words = (variant.compiler, *variant.flags)
        return variant.step == "objects" and any(word.startswith(machines) for word in words)

    return concerns


def _places_bits_from_above(variant: Variant, built: Built) -> bool:
    """Whether clang up to 15 wrote DWARF 2 to 4, as clang 13 does where no version is asked for."""
    asked = [int(flag[-1]) for flag in variant.flags if flag.startswith("-gdwarf-")]
    version = asked[0] if asked else 4 if built.version <= 13 else 5
    return variant.family == "clang" and built.version <= 15 and version <= 4 and variant.reader == "dwarf"


FROM_COMPILER = (
    Explained(
        _compiler_versions("gcc"), ("transparent_t", "transparent.b.i", "transparent.b.v"),
        "gcc writes a union that a typedef makes transparent as a DW_TAG_union_type with DW_AT_byte_size (8) and no children",
    ),
    Explained(
        _compiler_versions("gcc", 0, 99, "btf"), ("transparent_t.i", "transparent_t.v"),
        "the same in BTF: `UNION 'transparent_t' size=8 vlen=0`",
    ),
    Explained(_naming("gcc pahole -J"), ("transparent.b.i", "transparent.b.v"), "the same, in a struct"),
    Explained(
        _compiler_versions("clang", 0, 15), ("atomic_odd.b",),
        "clang up to 15 pads the atomic struct of 3 bytes to 4, and writes the ordinary member as a bit-field: "
        "DW_AT_byte_size (3), DW_AT_bit_size (0x20), DW_AT_bit_offset (-24), DW_AT_data_member_location (2)",
    ),
    Explained(
        _compiler_versions("clang", 0, 15, "dwarf", "btf"), tuple(f"bits_whole.{name}" for name in "abcd"),
        "clang up to 15 writes a bit-field as wide as its type without DW_AT_bit_size, with DW_AT_data_member_location alone",
    ),
    Explained(
        _compiler_versions("clang", 0, 15), ("bits_whole_packed",),
        "such a bit-field in a packed struct: DW_AT_data_member_location (0), and its bits start at 3; the struct is unknown",
    ),
    Explained(
        _compiler_versions("clang", 0, 99, "dwarf", "btf"), ("in_parameters",),
        "clang places the struct of a parameter list at the top of the unit, where it is read",
    ),
    Explained(
        _compiler_versions("gcc", 14), ("in_parameters",),
        "gcc from 14 on places the struct of a parameter list at the top of the unit, where it is read",
    ),
    Explained(
        _naming("gcc -gbtf"), ("gigantic",),
        "BTF of gcc leaves out bit-fields from 2 MiB on, of which a gap is all that is seen; the struct is unknown",
    ),
    Explained(
        _compiler_versions("gcc", 0, 99, "btf"), ("in_parameters",),
        "BTF has no scopes: `STRUCT 'in_parameters'` stands beside all others",
    ),
    Explained(_naming("gcc pahole -J", "clang pahole -J"), ("only_local",), "BTF has no scopes: `STRUCT 'only_local'`"),
    Explained(
        _naming("clang pahole -J"), ("bits_whole_packed",),
        "pahole hands on what clang writes of a bit-field as wide as its type: `'b' type_id=5 bits_offset=0`; the struct is unknown",
    ),
    Explained(
        _naming("clang-19 bpf BTF"), ("only_behind_pointer",),
        "clang writes what stands behind a member's pointer as `FWD 'only_behind_pointer' fwd_kind=struct`",
    ),
)  # fmt: skip

def _hides_atomics(variant: Variant, built: Built) -> bool:
    """Whether clang from 16 on wrote a DWARF that has no DW_TAG_atomic_type."""
    is_old = bool({"-gdwarf-2", "-gdwarf-3", "-gstrict-dwarf"} & set(variant.flags)) and "-gdwarf-5" not in variant.flags
    return variant.family == "clang" and built.version >= 16 and is_old and variant.reader == "dwarf"


def _btf(variant: Variant, _: Built) -> bool:
    return variant.reader == "btf"


FROM_PAHOLE = (
    Explained(
        _btf, ("arrays.a", "plain.d"),
        "an array of 3 or 13 bytes can be a vector, which has 4 or 16: BTF writes both alike, and what follows leaves room",
    ),
    Explained(
        _hides_atomics, ("atomic_odd.b",),
        "DWARF before 5 has no DW_TAG_atomic_type: a struct of 3 bytes can be an atomic one, which has 4",
    ),
    Explained(
        _gigantic, ("gigantic size", "gigantic.body", "gigantic.after", "gigantic.more", "gigantic.last"),
        "pahole counts the elements of an array in 32 bits: DW_AT_upper_bound (0x13fffffff) is 1 GiB to it",
    ),
    Explained(
        _places_bits_from_above, ("atomic_odd.b",),
        "DW_AT_byte_size (3), DW_AT_bit_size (0x20), DW_AT_bit_offset (-24), DW_AT_data_member_location (2): bit "
        "16 + 24 - 32 + 24 = 32, where the compiler has it; to pahole it is 56",
    ),
    Explained(
        _step("in C++"), ("same size", "same.in_cpp"),
        "pahole lists the struct of this name in the DW_LANG_C_plus_plus_14 unit as well, which is not for a reader of C",
    ),
    Explained(
        _naming("gcc type units dwz"), ("holds_aligned.b", "holds_aligned.d"),
        "the member's type is a DW_TAG_structure_type with DW_AT_declaration and DW_AT_signature; pahole takes it for 0 bytes",
    ),
)  # fmt: skip

WITHOUT_PAHOLE = (
    # what pahole 1.24 cannot read, and what it does instead
    Explained(_flag("-gsplit-dwarf"), (), "prints nothing: it reads no .dwo files"),
    Explained(_flag("-fdebug-types-section", "gcc", "objects"), (), "prints nothing: it reads no .debug_types of gcc's objects"),
    Explained(_dwz, (), "prints nothing: it reads no DW_TAG_partial_unit"),
    Explained(_step("zstd"), (), "says that there is no DWARF: its libdw was built without zstd"),
    Explained(_step("build id"), (), "says that there is no DWARF: it looks in /usr/lib/debug alone"),
    Explained(
        _unlinked_case("mips64-", "--target=mips", "--target=loongarch64"), (),
        "takes DW_AT_producer's string for every name: its libdw knows no relocations of this machine",
    ),
)  # fmt: skip


def hides(variant: Variant, message: str) -> bool:
    """Whether a struct is unknown because gcc's own BTF has first members at 0 that stand behind unnamed bit-fields."""
    return variant.name == "gcc -gbtf" and message.startswith("unknown: BTF of gcc does not state")


def unlisted_reason(variant: Variant, built: Built) -> str | None:
    """Why pahole cannot be asked about a variant; None where it can."""
    return next((row.why for row in WITHOUT_PAHOLE if row.concerns(variant, built)), None)


def expectation(rows: tuple[Explained, ...], variant: Variant, built: Built) -> set[str]:
    """The differences that a variant shall have."""
    return {key for row in rows if row.concerns(variant, built) for key in row.keys}

"""The facts that each reader cannot know, because its input lacks them, and the effect (docs/losses.md)."""

from __future__ import annotations

from layoutlint.model.record import Record


class Loss(Record, frozen=True):
    """One fact of C that a reader's input lacks, always or sometimes."""

    reader: str
    """`dwarf`, `btf` or `clang`."""
    key: str
    """The fact in one word; a comparison of two readers skips the facts that either lacks."""
    fact: str
    """The fact that cannot be known, and why."""
    effect: str
    """The effect on the reader's structs."""


LOSSES: tuple[Loss, ...] = (
    Loss(
        "btf", "source",
        "the file and line of a declaration",
        "findings point at the rule",
    ),
    Loss(
        "btf", "stated-alignment",
        "`aligned` and `packed`",
        "a rule is unknown if its verdict depends on them",
    ),
    Loss(
        "btf", "atomic",
        "`_Atomic`; pahole up to 1.24 drops the type with it, 1.30 writes no BTF of such a file",
        "the type lacks it, or is `void` of unknown size (`??`); the offset is right",
    ),
    Loss(
        "btf", "zero-length",
        "whether an array without length is `[]` or `[0]`",
        "both are `[]`",
    ),
    Loss(
        "btf", "dimensions",
        "the dimensions of `x[2][3]`",
        "one dimension with all elements; `x[1]` is unknown if it depends on the dimensions",
    ),
    Loss(
        "btf", "vector",
        "whether a type is a vector or an array",
        "an array; outside kernels, the size is unknown (`??`) if a padded vector of three would "
        "also fit",
    ),
    Loss(
        "btf", "whole-bit-field",
        "whether a member as wide as its type is a bit-field",
        "an ordinary member; its size is unknown if no alignment explains the gap behind it",
    ),
    Loss(
        "btf", "complex",
        "complex numbers, and before pahole 1.22 floating point",
        "an integer or a type of the same size, perhaps of a larger alignment",
    ),
    Loss(
        "btf", "local",
        "which function a struct is local to, and which unit it comes from",
        "definitions of one name differ only by their members",
    ),
    Loss(
        "btf", "unused",
        "structs that nothing uses; in gcc's BTF local ones, in Linux's those of other languages",
        "a rule that names them does not find them; if they can embed a struct with a rule, `check` says so",
    ),
    Loss(
        "btf", "language",
        "which language a struct comes from (pahole converts all)",
        "C++ and Rust look like C. If the DWARF or the symbols of the file, or names such as `ring<int>`, "
        "show another language, `check` reports its structs as not covered, and `show` has a note",
    ),
    Loss(
        "btf", "machine",
        "the machine, in a raw blob that is not the running kernel's",
        "the target is `unknown64-le` or the like, with lines of 64 bytes, and a note",
    ),
    Loss(
        "btf", "large",
        "offsets from 2 MiB on in structs with bit-fields; sizes and offsets from 512 MiB on",
        "a larger struct with bit-fields is unknown; others if members overlap; from 4 GiB on, an array can "
        "look empty",
    ),
    Loss(
        "btf", "unnamed",
        "unnamed bit-fields before the first member, in BTF of gcc (`-gbtf`, and for BPF)",
        "a struct is unknown if its first member could be behind some",
    ),
    Loss(
        "btf", "reduced",
        "the members that `bpftool gen min_core_btf` left out",
        "structs with gaps are unknown, if such gaps or pointers without a target show it",
    ),
    Loss(
        "btf", "loaded",
        "the members of a struct that the loader of a BPF program places (CO-RE)",
        "the struct is unknown, and those that contain it or are inside it",
    ),
    Loss(
        "btf", "distilled",
        "members of vmlinux's structs, in a module built apart from its kernel (.BTF.base)",
        "such a member has a size and no members of its own; a note states this",
    ),
    Loss(
        "dwarf", "stated-alignment",
        "`packed`, and `aligned` and `#pragma pack` of some compilers",
        "a rule is unknown if its verdict depends on them",
    ),
    Loss(
        "dwarf", "bit-field-of-clang",
        "whether a member as wide as its type is a bit-field, up to clang 15",
        "an ordinary member; its size is unknown if no alignment explains the gap behind it, and the "
        "struct is unknown if members overlap",
    ),
    Loss(
        "dwarf", "atomic-before-5",
        "`_Atomic`, before DWARF 5",
        "the type lacks it; the offset is right. A size that clang may have rounded up is unknown (`??`), "
        "and so is a rule if its verdict depends on it",
    ),
    Loss(
        "dwarf", "transparent-union",
        "the members of a union that a typedef makes transparent, for gcc",
        "rules on the union are unknown; `show --all` leaves it out, with a note",
    ),
    Loss(
        "dwarf", "local",
        "structs local to functions",
        "`check` reports those that a rule could apply to as not covered, with exit status 3. Containers of "
        "embedded structs count",
    ),
    Loss(
        "dwarf", "source-of-dwo",
        "the files of declarations, in a `.dwo` or `.dwp` alone",
        "structs and fields outside type units have no place",
    ),
    Loss(
        "clang", "gcc-bit-fields",
        "gcc's layout where it differs from clang's, if "
        "[no compiler is known](inputs.md#the-compiler-of-a-build): bit-fields with `aligned` below "
        "the alignment of their type or under `#pragma pack`, several "
        "`aligned`, `__int128` on s390x",
        "the layout is clang's",
    ),
    Loss(
        "clang", "local",
        "structs local to functions, or in their parameter lists",
        "`check` reports those that a rule could apply to, and those that can embed its struct, as not "
        "covered, with exit status 3",
    ),
)  # fmt: skip

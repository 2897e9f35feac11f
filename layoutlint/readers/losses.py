"""The facts that each reader cannot know, because its input lacks them, and the effect (docs/readers.md)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Loss:
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
        "the file and line of a declaration: BTF has neither for types",
        "no place stands beside structs and fields; findings point at the rule",
    ),
    Loss(
        "btf", "stated-alignment",
        "`aligned` and `packed`, on structs, members and typedefs: BTF has offsets and sizes only",
        "a struct has every alignment that its members, gaps and size allow; where the verdict depends on "
        "which, it is unknown",
    ),
    Loss(
        "btf", "atomic",
        "`_Atomic`: BTF has no such kind, and pahole up to 1.24 drops the type with it",
        "the type is spelled without it, or is `void` and its size unknown (`??`); the offset is right",
    ),
    Loss(
        "btf", "zero-length",
        "whether an array without length was written `[]` or `[0]`: both have no elements",
        "both are `[]`",
    ),
    Loss(
        "btf", "dimensions",
        "the dimensions of `x[2][3]`, where pahole made the BTF: it writes one array of 6",
        "one dimension with all elements; `x[1]`, where that depends on the dimensions, is unknown",
    ),
    Loss(
        "btf", "vector",
        "whether a type is a vector or an array: both are arrays",
        "an array, whose natural alignment is that of an element; where a vector of three, which is padded, "
        "would fit as well, and the file is no kernel, its size is unknown (`??`)",
    ),
    Loss(
        "btf", "whole-bit-field",
        "whether a bit-field as wide as its type, where such a member would stand, is one: pahole drops it",
        "an ordinary member of the same place and size; "
        "its size is unknown with a gap behind it that no alignment explains",
    ),
    Loss(
        "btf", "complex",
        "complex numbers, and before pahole 1.22 floating point: BTF has no kind for the first",
        "an integer or a type of the same size, whose natural alignment can be more than the true one",
    ),
    Loss(
        "btf", "local",
        "which function a struct is local to, and which unit it comes from",
        "every definition of a name stands for itself, told apart by its members only",
    ),
    Loss(
        "btf", "unused",
        "structs that nothing uses, and units in other languages (the kernel leaves out Rust)",
        "they are not there: a rule that names them is not found",
    ),
    Loss(
        "btf", "machine",
        "the machine, in a raw blob that is not the running kernel's",
        "the target is `unknown64-le` or the like, with lines of 64 bytes; a note says so",
    ),
    Loss(
        "btf", "large",
        "sizes and offsets from 512 MiB on: BTF counts bits, bytes and elements in 32 bits, or fewer",
        "members that overlap, which makes the struct unknown; from 4 GiB on an array can look empty",
    ),
    Loss(
        "btf", "distilled",
        "members of vmlinux's structs, in a module that was built apart from its kernel (.BTF.base)",
        "such a member has its size and no members of its own; a note says so",
    ),
    Loss(
        "dwarf", "stated-alignment",
        "`packed` and, but for clang 19 and later, `#pragma pack`; `aligned` on a bit-field that clang "
        "compiled, on anything before gcc 8 or under `-gstrict-dwarf` before DWARF 5, and on "
        "strict-alignment targets on structs that gcc keeps in registers",
        "a struct has every alignment that its members, gaps and size allow; where the verdict depends on "
        "which, it is unknown",
    ),
    Loss(
        "dwarf", "bit-field-of-clang",
        "that a bit-field as wide as its type is one, where clang up to 15 compiled it",
        "an ordinary member; its size is unknown with a gap behind it that no alignment explains (it may "
        "start inside its byte), and the struct where members overlap",
    ),
    Loss(
        "dwarf", "atomic-before-5",
        "`_Atomic`, before DWARF 5",
        "the type is spelled without it; size and offset are right",
    ),
    Loss(
        "dwarf", "transparent-union",
        "the members of a union that a typedef makes transparent, where gcc compiled it (up to 16 at least)",
        "rules on the union are unknown; `show --all` leaves it out, and says so",
    ),
    Loss(
        "dwarf", "local",
        "structs local to functions: only what stands at the top level of a unit is read, as by pahole",
        "they are not there; `check` reports those that a rule could apply to as not covered, exit status 3",
    ),
    Loss(
        "dwarf", "source-of-dwo",
        "the files of declarations, in a `.dwo` or `.dwp` given by itself: the program has their names",
        "no place stands beside structs and fields that no type unit holds",
    ),
    Loss(
        "clang", "gcc-bit-fields",
        "what gcc does where it differs from clang: bit-fields with `aligned` under `#pragma pack`, "
        "`__int128` on s390x",
        "the layout is clang's",
    ),
    Loss(
        "clang", "local",
        "structs local to functions: bodies are not parsed",
        "they are not there; `check` reports those that a rule could apply to as not covered, exit status 3",
    ),
)  # fmt: skip


def loses(reader: str, key: str) -> bool:
    """Return whether a reader lacks a fact."""
    return any((loss.reader, loss.key) == (reader, key) for loss in LOSSES)

"""Which names of functions, macros, types and words of comments count: a text with each of them on a line of its own.

The text in `golden/` is for review: `pytest --rewrite-goldens` writes it.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from layoutlint import api
from layoutlint.model.record import replace
from layoutlint.sources.order_uses import scan
from layoutlint.sources.order_uses.scan import Expansions
from layoutlint.sources.order_uses.subject import Subject
from tests.harness.command import ROOT


def words(text: str, sign: str | None = None) -> list[str]:
    return text.split(sign)


CALLS = words(
    "memset memcpy memmove memcmp memchr memzero memzero_explicit memcpy_toio memcpy_fromio memcpy_and_pad memset32 memset64 memset_p memset_l memdup memdup_user memcopy memfoo _memcpy __memcpy "
    "__builtin_memcpy builtin_memcpy nla_put nla_put_u32 bpf_perf_event_output bpf_ringbuf_output sg_init_one sg_set_buf skb_put_data bcmp bcopy bzero explicit_bzero copy_to_user copy_from_user copy_to_iter "
    "copy_from_sockptr __copy_to_user copy_in_user kernel_read kernel_write kmemdup jhash jhash2 xxhash crc32 crc32c crc32_le read write fread fwrite pread pwrite pread64 pwrite64 send recv sendto recvfrom "
    "sendmsg readv reads xwrite"
)
ASSERTIONS = words(
    "_Static_assert static_assert staticassert my_static_assert_x BUILD_BUG_ON BUILD_BUG_ON_MSG BUILD_ASSERT compiletime_assert C_ASSERT CTASSERT MY_STATIC_ASSERT COMPILE_ASSERT ASSERT_OFFSET ASSERT_MY_OFFSET "
    "CHECK_OFFSET CHECK_FIELD_OFFSET CHECK_OFFS MY_CHECK_OFFS CACHELINE_ASSERT_X StaticAssertStmt StaticAssertDecl FOO_MATCH ASSERT_STRUCT ASSERT_STRUCT_X assert asserts ASSERT foo BUG_ON OFFSET DEFINE DEFINE_OFFSET "
    "ASM_OFFSET OFF OFFSETS ENTRY BLANK _ASM_FOO TI_OFFSET DEFN DEF _ASM"
)
OFFSETS = words("offsetof __builtin_offsetof offsetofend __builtin_offsetofend OFFSETOF MY_OFFSETOF_X my_offset_of struct_offset offset_of_x offset sizeof_field")
RANGES = words("range my_range Range_of RANGE MY_RANGES between Between_two after set_after startat till_end from from_to rang CACHELINE_ASSERT_GROUP_MEMBER CACHELINE_ASSERT_GROUP_SIZE CACHELINE_GROUP ASSERT_OFFSET MY_ASSERT_OFFSETS CHECK_OFFSET_X foo")
COPIES = words("memcpy memset kmemdup kvmemdup bcmp bcopy bzero copy_to_user copy_from_user copy_struct_from_user copy_in copy_out copyin copyout my_hash hashes crc crc32 csum csum_partial vread vwrite read rewrite copy foo")
TYPES = words(
    "void|char|u8|s8|__u8|uint8_t|int8_t|unsigned char|signed char|byte|uchar|u_char|guint8|gpointer|unsigned|signed|short|int|long|ushort|u_int|u_long|uint16_t|int32_t|uint64_t|uintptr_t|intptr_t|u16|s32|u64|__u16|__s64|"
    "__le16|__be32|__le64|size_t|unsigned int|signed long|long long|unsigned long int|long unsigned int|guint16|gint32|uint32|int64|float|double|bool|other_t|struct h|struct other|union either|enum kind",
    "|",
)
SIZES = words("ASSERT_SIZE CHECK_SIZE EXPECT_SIZE assert_size my_check_sizes expect_my_size ASSERT_STRUCT_SIZE CHECK_LENGTH SIZE_ASSERT")
PASSES = words("_IO _IOR _IOW _IOWR _IORW _IOC _IOC_SIZE MY_IOWR MY_IOCTL IOCTL_X IOR IOW IOWR IOX DRM_IOW DRM_IOCTL_DEF")
NOTES = ["BPF_CORE_READ(p, b)", "BPF_CORE_READ_INTO(&x, p, b)", "bpf_core_read(&x, 8, &p->b)", "bpf_core_field_exists(p->b)", "bpf_core_type_size(struct s)", "bpf_core_other(p)", '\n#include "vmlinux.h"', "\n#include <vmlinux.h>", "\n# include <vmlinux.hpp>"]
MAPS = words("mmap mmap64 shmat ioremap ioremap_wc memremap early_memremap dma_alloc_coherent malloc dma_alloc")
FREES = words("free kfree kvfree vfree xfree zfree sfree afree kzfree free_sized")
COMMENTS = [
    "must be first", "must be the first", "has to be first", "have to be at the top", "needs to be at the beginning", "need to stay first", "should always be first", "shall remain at offset 0", "must come at the start", "must go first", "must appear first",
    "must reside at offset zero", "must sit at the very top", "must be kept as the first", "keep first", "keep this first", "keep at the top", "keep it at the beginning", "keep this member at the start", "keep a b c d first", "first", "first member", "first field!", "- first element",
    "first thing", "is first", "must be firstly", "must be last", "has to be at the end", "must stay at the very end", "keep this last", "keep at the bottom", "keep it at the end", "last", "should be at the bottom", "do not reorder", "don't re-order", "do not rearrange", "don't re-arrange",
    "do not move", "do not separate", "don't change the order", "do not change this layout", "do not change their order", "do not change", "order is important", "order of members matters", "the order of a b c d e must", "order has to", "order should not", "order is", "must be in this order",
    "must be kept in the same order", "must remain in that order", "must be adjacent", "must be contiguous", "must be consecutive", "must be next to", "layout must match", "offsets of these should be the same", "offset has to stay", "order have to not change", "layout must be kept",
    "layout of x y z should not change", "hardcoded in assembly", "hard-coded in the assembler", "known to asm", "used by entry.S", "accessed from assembly code", "must match the struct", "must match layout", "must match the asm", "must match definition", "must match", "for assembly",
]  # fmt: skip
MARKS = words("__packed _packed __PACKED PACKED __attribute_packed__ __packed2__ __packed__ packed QEMU_PACKED ATTR_PACKED __packet RH_KABI_RESERVE kabi_reserve ANDROID_OEM_DATA ANDROID_VENDOR_DATA ANDROID_BACKPORT_USE ANDROID_OTHER __randomize_layout __no_randomize_layout __aligned")


def statements() -> Iterator[str]:
    yield from (f"{name}(&p->b, q, 16);" for name in CALLS)
    yield from (f"{name}(f, p, sizeof(*p));" for name in CALLS)
    yield from (f"{name}(&p->b, q, (char *)&p->e - (char *)&p->b);" for name in CALLS)
    yield from (f"{name}(offsetof(struct s, b) == OTHER);" for name in ASSERTIONS)
    yield from (f"static_assert({name}(struct s, b) == OTHER);" for name in OFFSETS)
    yield from (f"{name}(struct s, b, d);" for name in RANGES)
    yield from (f"{name}(p, offsetof(struct s, d));" for name in COPIES)
    yield from (f"{name}(offsetof(struct s, d), q);" for name in COPIES)
    yield from (f"x = ({each} *)p;" for each in TYPES)
    yield from (f"(({each} *)p)[1] = 0;" for each in TYPES)
    yield from (f"*({each} *)&p->a = 0;" for each in TYPES)
    yield from (f"x = ({each} *)p + 8;" for each in TYPES)
    yield from (f"{name}(struct s, 64);" for name in SIZES)
    yield from (f"x = {name}('x', 1, struct s);" for name in PASSES)
    yield from (f"p = (struct s *){name}(1);" for name in MAPS)
    yield from (f"{name}(&p->a);" for name in FREES)


@pytest.fixture(scope="module")
def subject() -> Subject:
    (layout,) = (each for each in api.read(str(ROOT / "fixtures/bodies/subject.h")) if each.struct.name == "s")
    return Subject(replace(layout.struct, source=None), ("s_t",))


def kinds_of(text: str, subject: Subject) -> dict[int, list[str]]:
    """Return what is found in each line of a text."""
    with open("text.c", "w") as file:
        file.write(text)
    found = scan.search_file("text.c", subject, Expansions({}, frozenset()))
    kinds: dict[int, list[str]] = {}
    for use in (*found.uses, *found.by_text, *found.unresolved, *found.casts, *found.overlays):
        name = f"{use.kind}{' (note)' * use.is_note}" if hasattr(use, "kind") else type(use).__name__.lower()
        kinds.setdefault(use.line or 0, []).append(name)
    return {line: sorted(set(own)) for line, own in kinds.items()}


def test_names(subject, golden, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    own = list(statements())
    body = "".join(f"\t{each}\n" for each in own)
    found = kinds_of(f"void f(struct s *p, struct s *q) {{\n{body}}}\n", subject)
    lines = [f"{each} {', '.join(found.get(number, ['-']))}" for number, each in enumerate(own, 2)]
    for each in NOTES:
        notes = kinds_of(f"void f(struct s *p) {{ {each}; }}", subject)
        lines.append(f"{each.strip()} {sorted({kind for kinds in notes.values() for kind in kinds})}")
    golden("names.txt", "".join(f"{line}\n" for line in lines))


def test_words_of_definitions(subject, golden, monkeypatch, tmp_path):
    """Comments at members, and marks before and behind a definition."""
    monkeypatch.chdir(tmp_path)
    lines = []
    for each in COMMENTS:
        found = kinds_of(f"struct s {{\n\tchar a; /* {each} */\n\tlong b;\n}};\n", subject)
        lines.append(f"{each}: {', '.join(kind for kinds in found.values() for kind in kinds) or '-'}")
    for each in MARKS:
        for text in (f"struct s {{\n\tchar a;\n\tlong b;\n}} {each};\n", f"struct {each} s {{\n\tchar a;\n\tlong b;\n}};\n", f"struct s {{\n\tchar a;\n\tlong b;\n\t{each}(1)\n}};\n"):
            found = kinds_of(text, subject)
            lines.append(f"{' '.join(text.split())} {', '.join(kind for kinds in found.values() for kind in kinds) or '-'}")
    golden("words.txt", "".join(f"{line}\n" for line in lines))

"""The verdicts on `address_space` in all its states, each with its reason: docs/contributing/address-space.md.

    python -m tests.real.address_space > docs/contributing/address-space.md

writes the page from the table here; tests/real/test_address_space.py runs the command of every cell.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class State:
    """One form that address_space had, and where to find it: C text, or a kernel by name."""

    title: str
    i_mmap: str
    i_mmap_rwsem: str
    alone: str
    """Input for the struct by itself."""
    inside: str
    """Input with the inodes that hold it."""


STATES = {
    "6.1": State("Linux 6.1", "72..87", "88..127", "cloud", "cloud"),
    "before": State("6.8-rc2, before the patch", "72..87", "120..159",
                    "upstream_fixes/address_space-before.c", "address_space/inodes-before.c"),
    "after": State("with the patch", "72..87", "144..183",
                   "upstream_fixes/address_space-after.c", "address_space/inodes-after.c"),
    "6.12": State("Linux 6.12", "72..87", "144..183", "next", "next"),
    "7.2": State("Linux 7.2", "64..79", "120..151", "newest", "newest"),
}  # fmt: skip

PLACES = {
    # column: (rule, title, what is known of where it starts)
    "alone": ("alone", "by itself", "aligned to 8: 8 bases"),
    "everywhere": ("everywhere", "wherever it is embedded", "`placement = \"embedded\"`: all containers"),
    "inode": ("inode", "`inode`", "a slab cache with a constructor"),
    "shmem": ("shmem", "`shmem_inode_info`", "a slab cache with a constructor"),
    "ext4": ("ext4", "`ext4_inode_info`", "a slab cache with a constructor"),
    "bdev": ("bdev", "`bdev_inode`, the largest", "SLAB_HWCACHE_ALIGN"),
}


@dataclass(frozen=True, slots=True)
class Cell:
    """What is to be found: the bases of the object that the rule is about, at which it fails, of how many."""

    failing: tuple[int, ...]
    bases: int
    stride: int | None = None
    """From one object of its cache to the next, where it is in one."""

    @property
    def outcome(self) -> str:
        return "kept" if not self.failing else "broken" if len(self.failing) == self.bases else "at-risk"

    @property
    def text(self) -> str:
        """As the table says it: "at-risk 2 of 8"."""
        return self.outcome if self.outcome == "kept" else f"{self.outcome} {len(self.failing)} of {self.bases}"


SEVEN = (0, 8, 16, 24, 32, 48, 56)
CELLS = {
    ("6.1", "alone"): Cell(SEVEN, 8),
    ("6.1", "everywhere"): Cell(SEVEN, 8),
    ("6.1", "inode"): Cell((0,), 1, 640),
    ("6.1", "shmem"): Cell((0, 16, 48), 4, 784),
    ("6.1", "ext4"): Cell((0, 16, 24, 32, 40, 48, 56), 8, 1192),
    ("6.1", "bdev"): Cell((0,), 1),
    ("before", "alone"): Cell((0, 48, 56), 8),
    ("before", "everywhere"): Cell((0, 48, 56), 8),
    ("before", "inode"): Cell((0, 8, 16), 8, 632),
    ("before", "shmem"): Cell((0, 8, 16), 8, 760),
    ("before", "ext4"): Cell((32,), 4, 1168),
    ("before", "bdev"): Cell((0,), 1),
    ("after", "alone"): Cell((), 8),
    ("after", "everywhere"): Cell((), 8),
    ("after", "inode"): Cell((), 8, 632),
    ("after", "shmem"): Cell((), 8, 760),
    ("after", "ext4"): Cell((), 4, 1168),
    ("after", "bdev"): Cell((), 1),
    ("6.12", "alone"): Cell((), 8),
    ("6.12", "everywhere"): Cell((), 8),
    ("6.12", "inode"): Cell((), 8, 632),
    ("6.12", "shmem"): Cell((), 8, 760),
    ("6.12", "ext4"): Cell((), 4, 1168),
    ("6.12", "bdev"): Cell((), 1),
    ("7.2", "alone"): Cell((0, 56), 8),
    ("7.2", "everywhere"): Cell((0, 56), 8),
    ("7.2", "inode"): Cell((16, 24), 8, 568),
    ("7.2", "shmem"): Cell((16, 24), 8, 696),
    ("7.2", "ext4"): Cell((48,), 4, 1072),
    ("7.2", "bdev"): Cell((0,), 1),
}
"""What the command says of each state in each place; the rows and columns of the page."""

SEED = "0123456789abcdeffedcba98765432100f1e2d3c4b5a69788796a5b4c3d2e1f0"
MODES = ("gcc-full", "gcc-performance", "clang")
PLUGINS = {"6.1": "6.1.176", "before": "6.8", "after": "6.9", "6.12": "6.12.107", "7.2": "7.2.13"}
"""Whose plugin it is, for each state."""


@dataclass(frozen=True, slots=True)
class Chance:
    """The share of all orders and bases in which the rule fails, and the error where orders were drawn."""

    share: float
    error: float = 0.0

    @property
    def text(self) -> str:
        """In percent."""
        return f"at-risk {self.share:.1%}" if not self.error else f"at-risk {self.share:.1%} ± {self.error:.1%}"


ALL = tuple(range(0, 64, 8))
SHUFFLED = {
    # (state, place, mode): without a seed, with SEED
    ("6.1", "alone", "gcc-full"): (Chance(0.33308), Cell((), 8)),
    ("6.1", "alone", "gcc-performance"): (Chance(0.8125), Cell((*SEVEN[:3], 32, 40, 48, 56), 8)),
    ("6.1", "alone", "clang"): (Chance(0.35373), Cell((0, 8, 40, 48, 56), 8)),
    ("before", "alone", "gcc-full"): (Chance(0.33308), Cell(ALL[1:], 8)),
    ("before", "alone", "gcc-performance"): (Chance(0.63542), Cell((16, 24, 32, 40), 8)),
    ("before", "alone", "clang"): (Chance(0.35373), Cell((), 8)),
    ("after", "alone", "gcc-full"): (Chance(0.33308), Cell((8, 16, 24, 32), 8)),
    ("after", "alone", "gcc-performance"): (Chance(0.29259), Cell(ALL[2:], 8)),
    ("after", "alone", "clang"): (Chance(0.35373), Cell((0, 8, 16, 32, 40, 48, 56), 8)),
    ("6.12", "alone", "gcc-full"): (Chance(0.33308), Cell((8, 16, 24, 32), 8)),
    ("6.12", "alone", "gcc-performance"): (Chance(0.29259), Cell(ALL[2:], 8)),
    ("6.12", "alone", "clang"): (Chance(0.35373), Cell((0, 8, 16, 32, 40, 48, 56), 8)),
    ("7.2", "alone", "gcc-full"): (Chance(0.39051), Cell((0, 8, 16, 24, 32, 40, 56), 8)),
    ("7.2", "alone", "gcc-performance"): (Chance(0.63542), Cell((16, 24, 32, 40, 48), 8)),
    ("7.2", "alone", "clang"): (Chance(0.41654), Cell((0, 8, 56), 8)),
    ("6.12", "inode", "gcc-full"): (Chance(0.33083, 0.02438), Cell((32, 48), 4, 688)),
    ("6.12", "inode", "gcc-performance"): (Chance(0.29951, 0.02014), Cell((0, 24, 32, 40, 48, 56), 8, 680)),
    ("6.12", "inode", "clang"): (Chance(0.35754, 0.02624), Cell((0, 8, 16, 24, 32, 40, 56), 8, 648)),
    ("6.12", "bdev", "gcc-full"): (Chance(0.34314, 0.03113), Cell((), 1)),
    ("6.12", "bdev", "gcc-performance"): (Chance(0.31856, 0.03113), Cell((), 1)),
    ("6.12", "bdev", "clang"): (Chance(0.36902, 0.03113), Cell((0,), 1)),
}
"""What the command says with `--randstruct MODE`; `address_space` and `inode` are marked."""

REASONS = """\
- **6.1.** `i_mmap` ends where `i_mmap_rwsem` begins, so only base 40 separates them. Inodes of `inode_cache` are 640 bytes
  apart, so every inode starts on a line, and the two fields share a line in all of them.
- **Before the patch.** 32 bytes lie between the fields.
- **With the patch, and in 6.12.** The last word of `i_mmap` starts 64 bytes before `i_mmap_rwsem`, so no line holds bytes of both.
- **7.2.** `i_mmap_rwsem` starts 56 bytes after `i_mmap`, so bases 0 and 56 fail. `bdev_inode` puts its `address_space` at base 56.
  Inodes of ext4 are 1072 bytes apart, a multiple of 16, so one base of four fails.
"""


SHUFFLED_HEAD = f"""\
## Randomised

With CONFIG_RANDSTRUCT, the compiler chooses the order of the fields of `address_space` and `inode`. In each pair of columns, the first
verdict is the share of all orders and bases at which the rule fails. The second is for one build, with the seed
`{SEED}`.
"""

SHUFFLED_REASONS = """\
- **No seed.** In the full mode and with clang, any order is possible. The shares are exact, except in containers, where orders are
  sampled with the stated error.
- **Performance mode** keeps fields close to their declared neighbours, so fields that are far apart mostly stay apart.
- **With a seed** there is one order, so a rule is kept by luck.
- To keep the rule in every build, give each side its own struct, aligned to the line: alignments survive the shuffle.
"""


def page() -> str:
    """The page, in Markdown."""
    shuffled = (SHUFFLED_HEAD, shuffled_table(), "", "Why:", "", SHUFFLED_REASONS)
    return "\n".join((HEAD, table(), "", "Why:", "", REASONS, *shuffled, TAIL))


def shuffled_table() -> str:
    """The table of randomised layouts."""
    rows = ["| | where | " + " | ".join(f"`{mode}`, no seed | with it" for mode in MODES) + " |"]
    rows.append("|---" * (2 + 2 * len(MODES)) + "|")
    for name, place in dict.fromkeys((state, place) for state, place, _ in SHUFFLED):
        cells = [cell.text for mode in MODES for cell in SHUFFLED[name, place, mode]]
        rows.append(f"| **{STATES[name].title}** | {PLACES[place][1]} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


def table() -> str:
    """The table of states and places."""
    titles = [f"{title}" for _, title, _ in PLACES.values()]
    known = [what for _, _, what in PLACES.values()]
    rows = ["| | `i_mmap` | `i_mmap_rwsem` | " + " | ".join(titles) + " |", "|---" * (3 + len(titles)) + "|"]
    rows.append("| *where it starts* | | | " + " | ".join(f"*{what}*" for what in known) + " |")
    for name, state in STATES.items():
        cells = [CELLS[name, place].text for place in PLACES]
        rows.append(f"| **{state.title}** | {state.i_mmap} | {state.i_mmap_rwsem} | " + " | ".join(cells) + " |")
    return "\n".join(rows)


HEAD = """\
# One struct, many places: `address_space`

*Explanation:* the verdicts of one shipped rule for five forms of a struct, in each place where objects can be.

Whether `i_mmap` shares a cache line with `i_mmap_rwsem` depends on the order of the fields and on where the object is. The kernels
are Debian's cloud kernels for x86-64; the patch is [that of Linux 6.9](kernel-findings.md#the-changes).
"""

TAIL = """\
## On a running kernel

Linux 6.18 with a generic configuration, x86-64: `layoutlint containers /sys/kernel/btf/vmlinux address_space --slabs live`. By
itself, an `address_space` there can start at 8 places of a line.

| container | cache | bytes from one object to the next | starts at |
|---|---|---|---|
| `inode` | inode_cache | 624 | 8, 24, 40, 56 |
| `shmem_inode_info` | shmem_inode_cache | 752 | 8, 24, 40, 56 |
| `tracefs_inode` | tracefs_inode_cache | 656 | 8, 24, 40, 56 |
| `bdev_inode` | bdev_cache | 1,536 | 0 |
| `mqueue_inode_info` | mqueue_inode_cache | 960 | 0 |
| `ovl_inode` | ovl_inode | 704 | 24 |
| `xfs_inode` | xfs_inode | 1,024 | 48 |
| `dax_device`, `debugfs_inode_info`, `fuse_inode`, `socket_alloc`, `squashfs_inode_info` | dax_cache, ... | 768, 640, 896, 832, 704 | 56 |
| `btrfs_inode`, `erofs_inode`, `ext4_inode_info`, `hugetlbfs_inode_info`, `proc_inode` | btrfs_inode, ... | 1,016, 696, 1,128, 632, 696 | all 8 |

The shipped rule is kept there: in 6.18, `i_mmap` and `i_mmap_rwsem` are far apart. Inodes of pipes, sockets and block devices start at
one place each, so a change that is harmless in `inode_cache` can hit all of them.

## Commands

    layoutlint check vmlinux --struct address_space      # by itself, as the shipped pack does
    layoutlint check vmlinux --rules containers.toml     # in its containers
    layoutlint containers vmlinux address_space          # which containers there are

`fixtures/address_space/containers.toml` states how the containers are allocated, for kernels that do not run here. Of one that runs,
`--slabs live` needs no such file: with `placement = "embedded"` alone, each container is judged where its cache has objects. [randomised-layouts.md](../randomised-layouts.md) has the options for randomised builds."""


def main() -> None:
    """Print the page."""
    print(page())


if __name__ == "__main__":
    main()

"""The verdicts on `address_space` in all its states, each with its reason: docs/address-space.md.

    python -m tests.real.address_space > docs/address-space.md

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
                    "seeds/address_space-before.c", "address_space/inodes-before.c"),
    "after": State("with the patch", "72..87", "144..183",
                   "seeds/address_space-after.c", "address_space/inodes-after.c"),
    "6.12": State("Linux 6.12", "72..87", "144..183", "next", "next"),
    "7.2": State("Linux 7.2", "64..79", "120..151", "newest", "newest"),
}  # fmt: skip

PLACES = {
    # column: (rule, title, what is known of where it starts)
    "alone": ("alone", "by itself", "aligned to 8, nothing else said: 8 bases"),
    "everywhere": ("everywhere", "wherever it is embedded", "`placement = \"embedded\"`: all containers in the input"),
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

REASONS = """\
- **6.1.** `i_mmap` ends where `i_mmap_rwsem` begins. Only a line that starts exactly between them parts the two: the base 40
  of eight. Inodes of `inode_cache` stand 640 bytes from one another, ten lines, so that every one of them starts on a line:
  there the two share in *every* inode, and so they do in every `bdev_inode`.
- **Before the patch** 32 bytes lie between them. In three of eight bases the last word of one and the first of the other
  still meet; in `bdev_inode`, which always starts on a line, they always do.
- **With the patch, and in 6.12**, the last word of `i_mmap` starts 64 bytes before the first of `i_mmap_rwsem`, and both are
  aligned to 8: no line holds something of both, wherever the object is. The verdict does not need to know where it lives.
- **7.2.** `rw_semaphore` is 32 bytes and stands 56 behind `i_mmap`: two bases of eight are left, 0 and 56. By itself that
  looks like a small risk; but `bdev_inode` puts its `address_space` at one of the two always, 1336 = 20 * 64 + 56. The
  cache of ext4 names a place for the free pointer since then, so that its inodes stand 1072 bytes from one another,
  a multiple of 16, and one base of four fails.
"""


def page() -> str:
    """The page, in Markdown."""
    return "\n".join((HEAD, table(), "", "Why:", "", REASONS, TAIL))


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

Does `i_mmap` share a cache line with `i_mmap_rwsem`? The answer depends on the order of the fields, and as much on where
the object sits. Here are the verdicts on the rule that is shipped for it, for the forms that the struct had and the
places that it is found in. `layoutlint check` says each of them: from debug information of Debian's cloud kernels for
x86-64, and for the two sides of the patch ("[PATCH] fs/address_space: move i_mmap_rwsem to mitigate a false sharing with
i_mmap.", Jonas Zhou, 2024-02-02) from `fixtures/seeds`, inside inodes of the sizes of 6.12 (`fixtures/address_space`).
"""

TAIL = """\
## How to ask

By itself, as the shipped pack does:

    layoutlint check vmlinux --struct address_space

In its containers, with a rule file that says where those come from, such as `fixtures/address_space/containers.toml`:

    layoutlint check vmlinux --rules containers.toml
    layoutlint containers vmlinux address_space

`/sys/kernel/slab/inode_cache/slab_size` has the stride of the running kernel, which the columns of slab caches follow."""


def main() -> None:
    """Print the page."""
    print(page())


if __name__ == "__main__":
    main()

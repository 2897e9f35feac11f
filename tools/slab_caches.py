"""The names of Linux's slab caches, by struct: `python -m tools.slab_caches TREE VERSION` writes the table."""

from __future__ import annotations

import re
import sys
from pathlib import Path

from layoutlint.sources.allocations import sources

PATH = Path(__file__).resolve().parents[1] / "layoutlint" / "geometry" / "slab_caches.txt"
HEAD = """# The slab caches of structs in Linux {}, made from its sources by tools/slab_caches.py:
# struct, cache, file. KMEM_CACHE names a cache like its struct; such caches are left out.
# `struct+` has longer objects than its struct: the sizes of their ends depend on the machine.
"""
LONGER = {"task_struct": "fork_init() in kernel/fork.c: the state of the FPU", "mm_struct": "mm_cache_init() in kernel/fork.c: masks of CPUs"}
MORE = ("xa_node radix_tree_node lib/radix-tree.c", "debugfs_inode_info debugfs_inode_cache fs/debugfs/inode.c")
"""What a macro names in the call, and what newer versions have."""
_PROTO = re.compile(r'\.name\s*=\s*"([^"\n]+)",(?:[^{}]{0,4000}?)\.obj_size\s*=\s*sizeof\(struct (\w+)\)')


def rows(tree: Path) -> list[str]:
    """Return the lines of the table, sorted."""
    found: dict[tuple[str, str], str] = {}
    for path in sorted(tree.rglob("*.c")):
        if path.parts[len(tree.parts)] in ("tools", "samples", "Documentation", "scripts"):
            continue
        text, name = path.read_text("latin-1"), str(path.relative_to(tree))
        calls = [(call.struct, call.cache) for call in sources.find(text, name) if call.cache and "%" not in call.cache]
        for struct, cache in (*calls, *((proto[2], proto[1]) for proto in _PROTO.finditer(text))):
            if struct and struct != cache and " " not in cache:
                found.setdefault((struct, cache), name)
    longer = [f"{struct}+ {struct} {why.split()[2].rstrip(':')}" for struct, why in LONGER.items()]
    return sorted([*MORE, *longer, *(f"{struct} {cache} {name}" for (struct, cache), name in found.items())])


if __name__ == "__main__":
    PATH.write_text(HEAD.format(sys.argv[2]) + "\n".join(rows(Path(sys.argv[1]).resolve())) + "\n")

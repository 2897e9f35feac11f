"""Inputs of which tests make pages."""

from __future__ import annotations

import base64
import json
import re
import zlib
from pathlib import Path
from typing import Any

ADDRESS_SPACE = """
struct xarray { unsigned int xa_lock, xa_flags; void *xa_head; };
struct rw_semaphore { long count, owner; unsigned int osq, wait_lock; void *first_waiter; };
struct rb_root_cached { void *rb_node, *rb_leftmost; };
struct address_space {
	void *host;
	struct xarray i_pages;
	struct rw_semaphore invalidate_lock;
	unsigned int gfp_mask;
	int i_mmap_writable;
	struct rb_root_cached i_mmap; /* layoutlint: hot-write */
	unsigned long nrpages, writeback_index;
	const void *a_ops;
	unsigned long flags;
	unsigned int wb_err, i_private_lock;
	struct rw_semaphore i_mmap_rwsem; /* layoutlint: hot-write, contended */
};
struct inode { long i_state; struct address_space i_data; };
struct holder { struct inode inode; };
struct odd {
	unsigned a : 3, b : 5;
	union { int x; void *p; };
	char big[900];
	short tail[];
};
"""
RULES = """
[[rule]]
id = "apart"
struct = "address_space"
kind = "separate"
fields = [["i_mmap"], ["i_mmap_rwsem"]]
why = "many wait for `i_mmap_rwsem` </script><script>alert(1)</script>"

[[rule]]
id = "size"
struct = "odd"
kind = "size"
max = 4096
why = "it has to fit"

[[rule]]
id = "pairs"
struct = "address_space"
kind = "separate"
line_pairs = true
fields = [["host"], ["i_mmap"]]
why = "the next line is read too"
"""


def write(folder: Path) -> tuple[str, str, str]:
    """Write the sources; return the arguments of `check`."""
    (folder / "fs.h").write_text(ADDRESS_SPACE)
    (folder / "rules.toml").write_text(RULES)
    return "fs.h", "--rules", "rules.toml"


def data(page: str) -> dict[str, Any]:
    """The data in a page."""
    packed = re.search(r'id="data">([^<]*)<', page)
    assert packed is not None
    values: dict[str, Any] = json.loads(zlib.decompress(base64.b64decode(packed[1])))
    return values

"""What code in profiles accesses, by its function and file, and the members of fields that it can access."""

from __future__ import annotations

import pytest

from layoutlint.commands.evidence.code_types import expected_objects, parts_of
from layoutlint.model.ctype import CType
from layoutlint.model.record import replace
from layoutlint.readers.profiles.records import Code
from tests.harness.build import member

TYPES = [
    # symbol, file, is it the kernel, types that it accesses
    ("_raw_spin_lock", "", True, {"spinlock", "raw_spinlock", "lockref"}),
    ("_raw_spin_lock", "", False, set()),
    ("mutex_lock", "errseq.c:280", True, {"mutex", "errseq_t"}),
    ("down_write.isra.0", "", True, {"rw_semaphore"}),
    ("pthread_mutex_lock", "", False, {"pthread_mutex_t"}),
    ("__pthread_mutex_unlock", "", False, {"pthread_mutex_t"}),
    ("pthread_mutex_lock", "", True, set()),
    ("pthread_rwlock_rdlock.part.0", "", False, {"pthread_rwlock_t"}),
    ("pthread_spin_lock@@GLIBC_2.34", "", False, {"pthread_spinlock_t"}),
    (" pthread_spin_lock ", "", False, {"pthread_spinlock_t"}),
    ("my_pthread_spin_lock", "", False, set()),
    ("anything", "errseq.c:280", True, {"errseq_t"}),
    ("anything", "errseq.c", True, {"errseq_t"}),
    ("anything", "errseq.c:280", False, set()),
    ("anything", "main.c:1", True, set()),
]


@pytest.mark.parametrize(("symbol", "source", "is_kernel", "types"), TYPES)
def test_expected_objects(symbol, source, is_kernel, types):
    code = Code(symbol=symbol, source=source, is_kernel=is_kernel)
    found = set().union(*(objects.types for objects in expected_objects(code)))
    assert found >= types
    assert bool(found) == bool(types)


def field(spelling: str):
    return replace(member("x", 0, 16, member("count", 0, 8), member("owner", 8, 8)), type=CType(spelling))


OBJECTS = expected_objects(Code(symbol="pthread_mutex_lock", source="", is_kernel=False))[0]


@pytest.mark.parametrize(("spelling", "members", "parts"), [
    ("pthread_mutex_t", (), ["x"]), ("const volatile pthread_mutex_t", (), ["x"]), ("struct pthread_mutex_t", (), ["x"]),
    ("pthread_mutex_t *", (), None), ("pthread_mutex_t2", (), None), ("pthread_mutex_t", ("owner",), ["owner"]),
    ("pthread_mutex_t", ("gone",), ["x"]), ("int", ("owner",), None),
])  # fmt: skip
def test_parts(spelling, members, parts):
    found = parts_of(field(spelling), OBJECTS._replace(members=frozenset(members)))
    assert (found and [each.name for each in found]) == parts

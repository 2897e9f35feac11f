"""`guards`, as one table; tests/geometry/test_placement.py holds it against a model that lays out every byte."""

from __future__ import annotations

from layoutlint.kinds.guards import Guards
from tests.harness.build import member, struct
from tests.kinds.cases import (  # fmt: skip
    AT_RISK,
    BROKEN,
    EVERY8,
    KEPT,
    ONCE,
    Case,
    Refusal,
    Untold,
    assert_refused,
    cannot_tell,
    check,
    table,
)
from tests.kinds.structs import EMPTY, HIDDEN, LINES, NESTED, TAIL, WORDS

WAITING = ": each CPU that tries the lock takes the data's line from the one that holds it"
PAIR16 = struct("pair", 16, member("lock", 0, 8), member("root", 8, 8), align=16)
FAR = struct("far", 136, member("lock", 0, 8), member("near", 8, 8), member("pad", 16, 48), member("far", 128, 8))
# Of Linux on x86-64, before and after "fs/address_space: move i_mmap_rwsem to mitigate a false sharing with i_mmap".
I_MMAP_BEFORE = struct("address_space", 192, member("i_mmap", 72, 16), member("i_mmap_rwsem", 120, 40))
I_MMAP_AFTER = struct("address_space", 192, member("i_mmap", 72, 16), member("i_mmap_rwsem", 144, 40))


def keys(lock: str, *data: str, contended: bool) -> dict[str, object]:
    return {"lock": lock, "data": data, "contended": contended}


CASES = [
    Case("contended, before the patch", I_MMAP_BEFORE, keys("i_mmap_rwsem", "i_mmap", contended=True), AT_RISK, (0, 48, 56),
         "contended: `i_mmap_rwsem` at 120..159 shares a line with `i_mmap` at 72..87 in 3 of 8 placements" + WAITING,
         advice="move `i_mmap_rwsem` at least 24 bytes further from `i_mmap`, "
                "or start it on a line of its own (`____cacheline_aligned_in_smp`)"),
    Case("contended, after it", I_MMAP_AFTER, keys("i_mmap_rwsem", "i_mmap", contended=True), KEPT, (),
         "contended: `i_mmap_rwsem` at 144..183 and `i_mmap` at 72..87 share no line in any placement: "
         "a second miss without waiters, no line that is pulled away with them"),
    Case("uncontended, after it", I_MMAP_AFTER, keys("i_mmap_rwsem", "i_mmap", contended=False), BROKEN, EVERY8,
         "uncontended: `i_mmap_rwsem` at 144..183 is not on one line with `i_mmap` at 72..87 in all 8 placements: "
         "who takes the lock does not find the data on its line, and waits for another",
         advice="112 bytes do not fit on a line of 64: bring them within 64 bytes"),
    Case("uncontended neighbours, cut at one base", WORDS, keys("a", "b", contended=False), AT_RISK, (56,),
         "uncontended: `a` at 0..7 is not on one line with `b` at 8..15 in 1 of 8 placements: "
         "who takes the lock does not find the data on its line, and waits for another",
         advice="align the struct to 16 bytes, so that no base cuts the bytes 0..15, "
                "or accept it with `tolerate = 0.125`"),
    Case("uncontended neighbours that an alignment holds", PAIR16, keys("lock", "root", contended=False), KEPT, (),
         "uncontended: `lock` at 0..7 and `root` at 8..15 are on one line in all 4 placements: "
         "one miss for both, but waiters would pull it away"),
    Case("contended neighbours that an alignment holds", PAIR16, keys("lock", "root", contended=True), BROKEN, (0, 16, 32, 48),
         "contended: `lock` at 0..7 shares a line with `root` at 8..15 in all 4 placements" + WAITING),
    Case("which of several share", FAR, keys("lock", "near", "far", contended=True), AT_RISK, tuple(range(0, 56, 8)),
         "contended: `lock` at 0..7 shares a line with `near` at 8..15 in 7 of 8 placements" + WAITING),
    Case("which of several do not", FAR, keys("lock", "near", "far", contended=False), BROKEN, EVERY8,
         "uncontended: `lock` at 0..7 is not on one line with `far` at 128..135 in all 8 placements; "
         "`near` at 8..15 in 1 of 8 placements: who takes the lock does not find the data on its line, and waits for another"),
    Case("all but the lock", NESTED, keys("lock", "*", contended=False), AT_RISK, (16, 24, 32, 40, 48, 56),
         "uncontended: `lock` at 8..47 is not on one line with `a` at 0..7 in 5 of 8 placements; "
         "`z` at 48..55 in 5 of 8 placements: who takes the lock does not find the data on its line, and waits for another"),
    Case("the word that is tried", NESTED, keys("lock.count", "a", contended=False), AT_RISK, (56,),
         "uncontended: `lock.count` at 8..15 is not on one line with `a` at 0..7 in 1 of 8 placements: "
         "who takes the lock does not find the data on its line, and waits for another"),
    Case("one line of an aligned object", LINES, keys("a", "b", contended=True), BROKEN, ONCE,
         "contended: `a` at 0..7 shares a line with `b` at 8..15 in its only placement" + WAITING),
    Case("a lock that is empty", EMPTY, keys("lock", "a", "b", contended=False), KEPT, (),
         "`lock` at 8, empty: in this configuration there is nothing to take"),
    Case("data that is empty", EMPTY, keys("a", "lock", contended=False), KEPT, (),
         "uncontended: `a` at 0..7 and `lock` at 8, empty are on one line in all 8 placements: "
         "one miss for both, but waiters would pull it away"),
    Case("a flexible array by its first byte", TAIL, keys("length", "body", contended=False), AT_RISK, (48, 56),
         "uncontended: `length` at 0..7 is not on one line with `body` at 16 and beyond in 2 of 8 placements: "
         "who takes the lock does not find the data on its line, and waits for another"),
]  # fmt: skip
REFUSALS = [
    Refusal("no data", keys("lock", contended=True), "`data` needs at least one field"),
    Refusal("twice", keys("lock", "a", "a", contended=True), "`data` names `a` twice"),
    Refusal("itself", keys("lock", "lock", contended=True), "`lock` in `data` is the lock, or overlaps it"),
    Refusal("a part", keys("lock", "lock.owner", contended=False), "`lock.owner` in `data` is the lock, or overlaps it"),
    Refusal("around it", keys("sem.lock", "sem", contended=False), "`sem` in `data` is the lock, or overlaps it"),
    Refusal("a pattern", keys("*lock", "a", contended=False), "`lock` needs exactly one field, and no pattern"),
]  # fmt: skip
UNTOLD = [
    Untold("misspelt lock", WORDS, keys("lock", "a", contended=True), "struct words has no field `lock` (it has `a`, `b`, `c`, `d`)"),
    Untold("misspelt data", WORDS, keys("a", "bb", contended=True), "struct words has no field `bb` (did you mean `b`?)"),
    Untold("size not known", HIDDEN, keys("a", "b", contended=True), "the size of `b` is not known"),
    Untold("a pattern that means the lock alone", NESTED, keys("lock", "l*", contended=True),
           "`data` means no field besides the lock, `lock` at 8..47"),
]  # fmt: skip


@table(CASES)
def test_guards(case):
    check(Guards, case)


@table(REFUSALS)
def test_parameters_that_make_no_sense(case):
    assert_refused(Guards, case)


@table(UNTOLD)
def test_cannot_tell(case):
    cannot_tell(Guards, case)

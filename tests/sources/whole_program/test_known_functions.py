"""What functions that are known by name do to their arguments."""

from __future__ import annotations

import pytest

from layoutlint.model.uses import Effect, FunctionEffect
from layoutlint.sources.whole_program.known_functions import KnownFunctions


@pytest.mark.parametrize(("name", "effect", "arguments"), [
    ("_raw_spin_lock_irqsave", Effect.LOCK, (0,)), ("down_write_killable", Effect.LOCK, (0,)), ("up_read", Effect.LOCK, (0,)),
    ("mutex_trylock", Effect.LOCK, (0,)), ("pthread_mutex_lock", Effect.LOCK, (0,)), ("mutex_init", None, (0,)),
    ("atomic_long_add_return", Effect.ATOMIC, ()), ("atomic_read", Effect.READ, (0,)), ("refcount_inc_not_zero", Effect.ATOMIC, ()),
    ("list_add_tail", Effect.WRITE, (0, 1)), ("list_empty", Effect.READ, (0,)), ("set_bit", Effect.ATOMIC, (1,)),
    ("test_bit", Effect.READ, (0, 1)), ("rte_spinlock_lock", Effect.LOCK, (0,)), ("wake_up", Effect.LOCK, (0,)),
    ("vma_interval_tree_insert", Effect.WRITE, (0, 1)), ("__memset_chk", Effect.WRITE, (0,)),
])  # fmt: skip
def test_known_functions(name, effect, arguments):
    assert KnownFunctions().find(name) == (effect, arguments, ())


def test_copies_read_their_source():
    assert KnownFunctions().find("memcpy") == (Effect.WRITE, (0,), (1,))


@pytest.mark.parametrize("name", ["update_block", "lockdown", "reads", "upload", "download_file", "memory"])
def test_names_that_only_look_like_it(name):
    assert KnownFunctions().find(name) is None


def test_own_rows_come_first():
    own = KnownFunctions([FunctionEffect("mutex_lock", Effect.READ, (1,))])
    assert own.find("mutex_lock") == (Effect.READ, (1,), ())

"""Functions whose effect on what they are given is known by their name.

Their bodies are left out: what a lock does inside is not what its user does. A project adds its own in a rule
file (docs/servers.md).
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Iterable
from functools import lru_cache
from typing import NamedTuple

from layoutlint.model.uses import Effect, FunctionEffect


class Effects(NamedTuple):
    """The effects of a function on its arguments."""

    effect: Effect | None
    """None for setting up: nobody else sees the object yet."""
    arguments: tuple[int, ...]
    """The positions of the arguments; none for all that are addresses."""
    reads: tuple[int, ...] = ()
    """The positions of others, which are read."""

    def writes(self, position: int) -> bool:
        """Return whether the function writes what an argument points to."""
        is_one = not self.arguments or position in self.arguments
        return self.effect is not None and self.effect.writes and is_one and position not in self.reads


_TABLE: tuple[tuple[str, Effect | None, tuple[int, ...]], ...] = (
    # Linux: set up, and asked without writing
    (r"\w*(?:_init|init_\w+|INIT_\w+|_initialize)(?:_key|_rcu_head|_percpu)?", None, (0,)),
    (r"_*h?r?timer_(?:setup|init)\w*", None, (0,)),
    (
        r"(?:raw_|arch_|__)?atomic(?:64|_long)?_(?:read|read_\w+)|(?:refcount|kref)_read|__lockref_is_\w+",
        Effect.READ, (0,),
    ),
    (r"(?:raw_|arch_)?atomic(?:64|_long)?_set(?:_release)?|refcount_set(?:_release)?", Effect.WRITE, (0,)),
    (
        r"(?:mutex|spin|rwsem|raw_spin|rw)_is_(?:locked|contended)|lockdep_\w+|waitqueue_active",
        Effect.READ, (0,),
    ),
    (r"(?:raw_)?read_seq\w*|seqcount_\w*read\w*|__read_seq\w*|read_seqretry", Effect.READ, (0,)),
    (
        r"(?:hlist|list|plist|llist|rb|hlist_nulls|hlist_bl)_(?:empty\w*|is_\w+|first\w*|entry\w*|"
        r"next\w*|unhashed\w*)",
        Effect.READ, (0,),
    ),
    (
        r"(?:_|arch_)*(?:test_bit|test_bit_acquire)|bitmap_(?:empty|full|weight)|find_\w+_bit",
        Effect.READ, (0, 1),
    ),
    (r"\w*interval_tree_\w*iter_(?:first|next)|rb_first\w*|rb_last|RB_EMPTY_\w+", Effect.READ, (0, 1)),
    (r"percpu_counter_(?:read\w*|sum\w*|compare)|percpu_ref_is_\w+", Effect.READ, (0,)),
    # Linux: locks
    (
        r"_*(?:raw_|arch_|rt_|queued_|native_)*(?:spin|read|write|rw|mutex|ww_mutex|bit_spin|rwlock)_(?:try)?(?:un)?lock(?!_prefetch)\w*",
        Effect.LOCK, (0,),
    ),
    (r"_*(?:raw_)*(?:spin|read|write)_(?:lock|unlock|trylock)(?!_prefetch)\w*", Effect.LOCK, (0,)),
    (
        r"_*(?:down|up)(?:_(?:read|write|interruptible|killable|trylock|timeout)\w*)?|"
        r"downgrade_write",
        Effect.LOCK, (0,),
    ),
    (r"(?:raw_)?write_seq\w+|(?:do_)?(?:raw_)?write_seqcount\w*", Effect.LOCK, (0,)),
    (r"hlist_bl_(?:un)?lock|osq_(?:un)?lock|(?:seq|bit)_lock\w*", Effect.LOCK, (0,)),
    (
        r"_*wake_up\w*|add_wait_queue\w*|remove_wait_queue|prepare_to_wait\w*|finish_wait|"
        r"complete(?:_all)?|swake_up\w*",
        Effect.LOCK, (0,),
    ),
    # Linux: counters, bits, lists
    (r"(?:raw_|arch_)?atomic(?:64|_long)?_\w+", Effect.ATOMIC, ()),
    (r"_*(?:refcount|kref|lockref|rcuref)_\w+", Effect.ATOMIC, ()),
    (r"(?:arch_|__)?(?:test_and_)?(?:set|clear|change|assign)_bit\w*", Effect.ATOMIC, (1,)),
    (r"_*(?:arch_|raw_|sync_)*(?:try_)?(?:cmp)?xchg\w*", Effect.ATOMIC, ()),
    (r"percpu_ref_\w+|this_cpu_\w+|__?percpu_\w+", Effect.READ, ()),
    (r"percpu_counter_(?:add|sub|inc|dec|set)\w*", Effect.WRITE, (0,)),
    (
        r"_*(?:hlist|list|plist|hlist_nulls|hlist_bl)_(?:add|del|move|replace|splice\w*_init|rotate|"
        r"swap|cut|bulk|unhash(?!ed))\w*",
        Effect.WRITE, (0, 1),
    ),
    (r"_*(?:llist)_(?:add|del)\w*", Effect.ATOMIC, (0, 1)),
    (
        r"_*rb_(?:insert|erase|link|replace|add)\w*|\w*interval_tree_\w*(?:insert|remove)\w*",
        Effect.WRITE, (0, 1),
    ),
    (
        r"(?:__)?mod_timer\w*|add_timer\w*|(?:try_to_)?del_timer\w*|timer_(?:delete|shutdown|reduce)\w*|"
        r"hrtimer_(?:start|(?:try_to_)?cancel(?!_wait)|restart|forward|set|add|sleeper_start)\w*",
        Effect.WRITE, (0,),
    ),
    (r"(?:queue|mod|schedule|cancel)_(?:delayed_)?work\w*", Effect.ATOMIC, (0, 1)),
    (r"call_rcu\w*|kfree_rcu\w*|kvfree_rcu\w*", Effect.WRITE, (0,)),
    (
        r"(?:xa|xas(?!_(?:set|clear)_mark)|idr|ida|radix_tree|mas|mtree)_(?:store|insert|erase|alloc|remove|"
        r"delete|set|clear|cmpxchg|free)\w*",
        Effect.WRITE, (0,),
    ),
    (r"(?:xa|xas|idr|ida|radix_tree|mas|mtree)_\w+", Effect.READ, (0,)),
    # C and POSIX
    (
        r"pthread_(?:mutex|spin|rwlock)_\w*lock|pthread_cond_(?:wait|timedwait|signal|broadcast)|"
        r"sem_(?:wait|trywait|timedwait|post)",
        Effect.LOCK, (0,),
    ),
    (r"mtx_(?:lock|trylock|timedlock|unlock)|cnd_(?:wait|signal|broadcast|timedwait)", Effect.LOCK, (0,)),
    (
        r"__atomic_clear|__sync_lock_release(?:_\d+)?|atomic_flag_clear(?:_explicit)?",
        Effect.SHARED_STORE, (0,),
    ),
    (r"atomic_(?:load|load_explicit)|__c11_atomic_load|__atomic_load(?:_n)?", Effect.READ, (0,)),
    (r"(?:__c11_|__)?atomic_\w+|__sync_\w+", Effect.ATOMIC, ()),
    (r"(?:__)?(?:builtin_)?(?:__)?memset(?:_\w+)?|(?:explicit_)?bzero|memzero_explicit", Effect.WRITE, (0,)),
    (r"(?:__builtin_(?:__)?)?v?sn?printf(?:_chk)?|v?scnprintf", Effect.WRITE, (0,)),
    (r"__builtin_[us]?(?:add|sub|mul)(?:l|ll)?_overflow", Effect.WRITE, (2,)),
    (
        r"(?:__builtin_)?(?:strn?len|strn?(?:case)?cmp|strn?casecmp|strr?chr|strstr|memchr(?:_inv)?|bcmp)",
        Effect.READ, (0, 1),
    ),
    (
        r"uv_(?:mutex|rwlock|sem|cond)_\w+|g_(?:mutex|rec_mutex|rw_lock)_\w+|rte_(?:spinlock|rwlock|"
        r"ticketlock)_\w*lock\w*",
        Effect.LOCK, (0,),
    ),
    (r"rte_atomic\w+_(?:read)", Effect.READ, (0,)),
    (r"rte_atomic\w+", Effect.ATOMIC, ()),
)  # fmt: skip


_COPIES = (
    (r"_*list_splice(?:_tail)?", Effects(Effect.WRITE, (1, 2), (0,))),
    (r"(?:__)?(?:builtin_)?(?:__)?mem(?:cpy|move)(?:_\w+)?", Effects(Effect.WRITE, (0,), (1,))),
    (
        r"(?:__builtin_(?:__)?)?(?:str[nls]?(?:cpy|cat)(?:_pad)?|stpn?cpy)(?:_chk)?",
        Effects(Effect.WRITE, (0,), (1,)),
    ),
    (r"(?:__)?(?:builtin_)?memcmp", Effects(Effect.READ, (0, 1))),
)


class KnownFunctions:
    """The table, with what a project adds before it."""

    def __init__(self, own: Iterable[FunctionEffect] = ()) -> None:
        added = [
            (re.compile(fnmatch.translate(each.name)), Effects(each.effect, each.arguments))
            for each in own
            if not each.is_thread
        ]
        table = [(re.compile(pattern), Effects(effect, arguments)) for pattern, effect, arguments in _TABLE]
        self._rows = (*added, *table, *((re.compile(pattern), known) for pattern, known in _COPIES))
        self._own = added
        self.find = lru_cache(1 << 16)(self._find)
        """Returns what is known of a function with a name; None for nothing."""

    def is_own(self, name: str) -> bool:
        """Return whether the project says what a function does."""
        return any(pattern.fullmatch(name) for pattern, _ in self._own)

    def _find(self, name: str) -> Effects | None:
        for pattern, known in self._rows:
            if pattern.fullmatch(name):
                return known
        return None

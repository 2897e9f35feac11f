"""Functions that run when an object is not shared yet, or when nobody waits: recognised by their names."""

from __future__ import annotations

import re
from enum import Enum
from functools import lru_cache

from layoutlint.model.uses import words_of


class Phase(Enum):
    """When a function runs."""

    SETUP = "setup"
    """Before others see the object: its writes meet nobody."""
    TEARDOWN = "teardown"
    SHOWING = "showing"
    """For people: files of statistics, messages, debugging."""
    SETTING = "setting"
    """Changes of a configuration, which people make."""
    FAILING = "failing"
    NORMAL = "normal"


_PHASES = (
    (Phase.SETUP, "init|initcall|initialize|setup|set_up|probe|register|ctor|boot|bootup|configure"),
    (Phase.TEARDOWN, "destroy|teardown|unregister|cleanup|shutdown|dtor|fini|kill_sb|offline|suspend|resume"),
    (Phase.SHOWING,
     "show|seq|dump|print|debug|debugfs|sysfs|stats?|proc|trace|tracing|warn|store|report|fdinfo|selftest|test"),
    (Phase.SETTING,
     "ioctl|sysctl|ethtool|rtnl|rtm|nl|netlink|genl|hotplug|"
     "(?:dev|netdev|device|inetaddr|cpu|memory)_(?:event|notifier|notify|callback)|mount|umount|remount|quotactl|swapon|swapoff|fill_super|reconfigure"),
    (Phase.FAILING, r"error|err|fail|failed|abort|panic|oops|bug|corrupt\w*|oom|bad|poison\w*|failure"),
)  # fmt: skip
_PATTERNS = tuple((phase, re.compile(rf"(?:^|_)(?:{words})(?:_|$)")) for phase, words in _PHASES)


@lru_cache(1 << 16)
def phase_of(name: str) -> Phase:
    """Return the phase that the words of a function's name suggest; the earlier row wins."""
    words = words_of(name)
    for phase, pattern in _PATTERNS:
        if pattern.search(words):
            return phase
    return Phase.NORMAL

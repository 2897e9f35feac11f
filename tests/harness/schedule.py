"""Which process of pytest does which files."""

from __future__ import annotations

from typing import Any

from xdist.scheduler import LoadFileScheduling


class Files(LoadFileScheduling):
    """Forgets files that are done. xdist counts the tests of all files that a process had, four times for each test."""

    def mark_test_complete(self, node: Any, item_index: int, duration: float = 0) -> None:
        super().mark_test_complete(node, item_index, duration)
        files = self.assigned_work[node]
        file = self._split_scope(self.registered_collections[node][item_index])
        if all(files[file].values()):
            del files[file]

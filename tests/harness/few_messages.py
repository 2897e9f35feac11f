"""What a process of pytest tells the one that began it: how each test ended. xdist tells six things of a test, which takes as long as
most tests; of them the summary uses one, and the schedule another.
"""

from __future__ import annotations

from typing import Any

import pytest

_UNUSED = {"logstart", "logfinish"}
"""What only `-v` prints."""


def send_few(config: pytest.Config) -> None:
    """Begin this, if nothing that was asked for lists more than how tests ended."""
    is_enough = config.option.verbose <= 0 and not config.option.durations and not config.option.xmlpath
    for plugin in config.pluginmanager.get_plugins() if is_enough else ():
        if type(plugin).__name__ == "WorkerInteractor":
            config.pluginmanager.register(FewMessages(plugin))
            return


class FewMessages:
    """A plugin for a process of xdist."""

    def __init__(self, interactor: Any) -> None:
        self._send = interactor.sendevent
        interactor.sendevent = self._send_useful

    def _send_useful(self, name: str, **words: Any) -> None:
        if name not in _UNUSED and not (name == "testreport" and "outcome" not in words["data"]):
            self._send(name, **words)

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_to_serializable(self, report: object) -> dict[str, Any] | None:
        """Give what is sent of a part of a test that passed: of its setup and teardown nothing."""
        if type(report) is not pytest.TestReport or not report.passed or report.sections or report.user_properties:
            return None
        kept = ("nodeid", "location", "outcome", "when", "duration", "start", "stop")
        fields = {name: getattr(report, name) for name in kept} if report.when == "call" else {}
        return fields and {"$report_type": "TestReport", "keywords": {}, "longrepr": None, **fields}

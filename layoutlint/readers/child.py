"""A fork of this process, which has all that it has read so far, and a pipe for what it tells."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import BinaryIO, NoReturn

Tell = Callable[[BinaryIO], None]
"""What a child does; it writes what came of it."""


class Child:
    """A process that does some work, and tells what came of it. Raises OSError where none can be had."""

    def __init__(self, tell: Tell) -> None:
        self.source, sink = os.pipe()
        """Where it is heard; at an end when the process is."""
        self._pid: int | None = None
        here = os.getpid()
        try:
            self._pid = os.fork()
            if self._pid == 0:
                os.close(self.source)  # else it would wait for ever for a parent that is gone to read
                _serve(tell, sink)
        except OSError:
            os.close(self.source)
            raise
        finally:
            if os.getpid() != here:  # interrupted before it began
                os._exit(1)
            os.close(sink)

    def status(self) -> int:
        """How it ended, as os.waitstatus_to_exitcode has it; waits for that, and can be asked once."""
        if self._pid is None:
            raise ChildProcessError
        _, status = os.waitpid(self._pid, 0)
        self._pid = None
        return os.waitstatus_to_exitcode(status)

    def end(self) -> None:
        """Ends the process, if it has not ended."""
        os.close(self.source)
        if self._pid is not None:
            try:
                os.kill(self._pid, 9)
            finally:
                self.status()


def _serve(tell: Tell, sink: int) -> NoReturn:
    """What a child does; what goes wrong in it is for its parent to tell."""
    try:
        with os.fdopen(sink, "wb") as told:
            tell(told)
    except BaseException:
        os._exit(1)
    os._exit(0)

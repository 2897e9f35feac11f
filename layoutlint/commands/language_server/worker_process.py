"""A worker process of the server: started when it is needed, and again after it died."""

from __future__ import annotations

import asyncio
import os
import pickle
import signal
from contextlib import suppress

import layoutlint
from layoutlint.commands.language_server.requests import Failure, Request, Response
from layoutlint.commands.language_server.worker import LENGTH, frame
from layoutlint.workers.program import interpreter_command

SECONDS = 150.0
"""The time for one request; libclang has 120 seconds for one unit."""
_ATTEMPTS = 2
_PROGRAM = (
    "import sys; sys.path.append({folder!r}); "
    "from layoutlint.commands.language_server import worker; worker.main()"
)


class WorkerProcess:
    """A process that answers one request at a time."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._turn = asyncio.Lock()

    @property
    def pid(self) -> int | None:
        """The process, if it runs."""
        return None if self._process is None else self._process.pid

    async def answer(self, request: Request) -> Response:
        """Return the response to a request; a Failure if the process dies twice, or takes too long."""
        async with self._turn:
            for _ in range(_ATTEMPTS):
                try:
                    return await asyncio.wait_for(self._exchange(request), SECONDS)
                except TimeoutError:
                    await self.end()
                    return Failure(f"the text could not be judged within {SECONDS:.0f} s")
                except (OSError, asyncio.IncompleteReadError):
                    await self.end()
                except BaseException:  # the answer of this request must not be read as that of the next
                    self._kill()
                    raise
            return Failure("the process that judges the text ended twice")

    async def _exchange(self, request: Request) -> Response:
        process = self._process or await self._start()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(frame(request))
        await process.stdin.drain()
        head = await process.stdout.readexactly(LENGTH)
        content = await process.stdout.readexactly(int.from_bytes(head, "little"))
        response: Response = pickle.loads(content)
        return response

    async def _start(self) -> asyncio.subprocess.Process:
        """Start the process; it imports nothing from the working folder, which can be hostile."""
        folder = os.path.dirname(os.path.dirname(os.path.abspath(layoutlint.__file__)))
        self._process = await asyncio.create_subprocess_exec(
            *interpreter_command(_PROGRAM.format(folder=folder)),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
        )  # fmt: skip
        return self._process

    def _kill(self) -> None:
        if self._process is not None and self._process.returncode is None:
            with suppress(ProcessLookupError):  # Process.kill would reap it, which its watcher complains of
                os.kill(self._process.pid, signal.SIGKILL)
        self._process = None

    async def end(self) -> None:
        """End the process."""
        process = self._process
        self._kill()
        if process is not None:
            await process.wait()

"""QEMU's monitor: the only module that knows qemu.qmp."""

import asyncio
import logging
import socket
from collections.abc import Mapping
from typing import Any

from qemu.qmp import QMPClient, QMPError

from fsyncgate.errors import MachineLost

TIMEOUT = 30.0
"""Seconds until a monitor that does not answer counts as lost."""

_COPY = "copy"
"""QEMU's name of the file that takes a copy of a disk."""

logging.getLogger("qemu.qmp").setLevel(logging.CRITICAL)


class Monitor:
    """A connection to one QEMU, over a socket whose other end QEMU inherited."""

    def __init__(self, connection: socket.socket) -> None:
        """Shake hands. Raises MachineLost when QEMU is gone or does not answer."""
        # It ends what is under way in order when Ctrl-C comes.
        self._runner = asyncio.Runner()
        self._client = QMPClient("fsyncgate")
        try:
            self._run(self._client.connect(connection))
        except BaseException:
            self._runner.close()
            raise

    def execute(self, command: str, **arguments: Any) -> Any:
        """Run one command and return its answer; underscores in names stand for hyphens."""
        named = {name.replace("_", "-"): value for name, value in arguments.items()}
        return self._run(self._client.execute(command, named))

    def unplug(self, device: str) -> None:
        """Take a device out, and return when QEMU's own event says that it is gone.

        Raises MachineLost if the guest does not let go of it.
        """
        self._run(self._unplug(device), late="The guest did not let go of a disk")

    def save(self, state: str) -> None:
        """Stop the guest and write everything but its memory to the pipe command of `state`."""
        self.execute("stop")
        self._run(self._migrate("migrate", state))

    def load(self, state: str) -> None:
        """Read back what `save` wrote and let the guest go on."""
        self._run(self._migrate("migrate-incoming", state))
        self.execute("cont")

    def add_changes(self, drive: str, target: str) -> None:
        """Write everything that has changed on a drive with `snapshot=on` into the file `target`."""
        self._run(self._add_changes(drive, target))

    def close(self) -> None:
        """Leave the connection; never raises."""
        try:
            self._runner.run(asyncio.wait_for(self._client.disconnect(), TIMEOUT))
        except (QMPError, OSError, EOFError, TimeoutError):
            pass
        finally:
            self._runner.close()

    async def _migrate(self, command: str, state: str) -> None:
        """Move the state, and return when QEMU's own event says that it is done."""
        wanted = [{"capability": name, "state": True} for name in ("x-ignore-shared", "events")]
        await self._client.execute("migrate-set-capabilities", {"capabilities": wanted})
        with self._client.listener("MIGRATION") as events:
            await self._client.execute(command, {"uri": state})
            async for event in events:
                status = _status(event)
                if status == "completed":
                    return
                if status in {"failed", "cancelled"}:
                    raise MachineLost(f"QEMU could not move the machine's state: migration '{status}'.")

    async def _unplug(self, device: str) -> None:
        with self._client.listener("DEVICE_DELETED") as events:
            await self._client.execute("device_del", {"id": device})
            async for event in events:
                if _device(event) == device:
                    return

    async def _add_changes(self, drive: str, target: str) -> None:
        """Back up the top layer, and return when QEMU's own event says that it is done."""
        blocks: Any = await self._client.execute("query-block")
        node = next(one["inserted"] for one in blocks if one["device"] == drive)["node-name"]
        await self._client.execute("blockdev-add", {"driver": "file", "filename": target, "node-name": _COPY})
        try:
            with self._client.listener("BLOCK_JOB_COMPLETED") as events:
                await self._client.execute(
                    "blockdev-backup", {"job-id": _COPY, "device": node, "target": _COPY, "sync": "top"}
                )
                data: Any = (await events.get())["data"]
            if "error" in data:
                raise MachineLost(f"QEMU could not copy the disk: {data['error']}.")
        finally:
            await self._client.execute("blockdev-del", {"node-name": _COPY})

    def _run(self, coroutine: Any, *, late: str = "QEMU's monitor did not answer") -> Any:
        try:
            return self._runner.run(asyncio.wait_for(coroutine, TIMEOUT))
        except TimeoutError:
            raise MachineLost(f"{late} within {TIMEOUT:.0f} s.") from None
        except (QMPError, OSError, EOFError) as error:
            raise MachineLost(f"QEMU's monitor failed: {error}.") from None


def _status(event: Mapping[str, Any]) -> str:
    """Return what a MIGRATION event says."""
    return str(event["data"]["status"])


def _device(event: Mapping[str, Any]) -> str:
    """Return the device that an event tells of; empty if it has no name."""
    return str(event["data"].get("device", ""))

"""Fetch kernels in the background while others run."""

import threading
from collections.abc import Callable, Sequence

from fsyncgate.cache import Cache, Stopped
from fsyncgate.errors import FsyncgateError
from fsyncgate.kernels.catalogue import Spec
from fsyncgate.kernels.fetch import fetch


class Prefetcher:
    """A thread that fetches kernels one after the other; close it, or use it in a `with` block.

    It only warms the cache: who needs a kernel calls `fetch` itself, which waits on the lock if this thread
    is at it. So an error here (no network) is not lost: `fetch` meets it again, where it can be told.
    """

    def __init__(
        self, specs: Sequence[Spec], cache: Cache, *, say: Callable[[str], None] = lambda _: None
    ) -> None:
        """Begin at once, in the order of `specs`; `say` hears, from the thread, what it does."""
        self._stop = threading.Event()
        self._status = ""
        self._told = say
        self._thread = threading.Thread(
            target=self._work, args=(list(specs), cache), name="prefetch", daemon=True
        )
        self._thread.start()

    @property
    def status(self) -> str:
        """What it does just now, for a progress display; empty when it is done."""
        return self._status

    def close(self) -> None:
        """Stop, with a download that is under way, and wait for the thread: some tenths of a second."""
        self._stop.set()
        self._thread.join()

    def __enter__(self) -> "Prefetcher":
        """Return itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()

    def _work(self, specs: list[Spec], cache: Cache) -> None:
        for spec in specs:
            if self._stop.is_set():
                break
            try:
                fetch(spec, cache, progress=self._say, stop=self._stop)
            except Stopped:
                break
            except FsyncgateError:
                continue
        self._say("")

    def _say(self, text: str) -> None:
        self._status = text
        self._told(text)

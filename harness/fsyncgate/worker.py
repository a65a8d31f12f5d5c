"""A process that runs cases for another one: it ends when that one does, at once and without a word."""

import ctypes
import os
import signal
from types import FrameType

from fsyncgate.errors import INTERRUPTED

_PR_SET_PDEATHSIG = 1
_DEAF = {signal.SIGINT}


def begin() -> None:
    """Die with the controlling process, and at Ctrl-C; machines die with their worker."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGINT, _leave)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _DEAF)


def deaf() -> None:
    """Hold Ctrl-C back in this process and those it starts.

    A worker that is not up yet would answer with a traceback.
    """
    signal.pthread_sigmask(signal.SIG_BLOCK, _DEAF)


def listening() -> None:
    """Hear Ctrl-C again."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _DEAF)


def _leave(_number: int, _frame: FrameType | None) -> None:
    os._exit(INTERRUPTED)

"""Lessons are played on real machines, and what they say must come true."""

import os
import pty
import select
from pathlib import Path

import pytest
from tests.vm.conftest import Host

from fsyncgate.lesson.text import lessons

pytestmark = pytest.mark.vm

OWN = """\
+++
fault = "data-eio"
filesystem = "ext4-ordered"
+++
# My own

Guess: `0` or `"EIO"`?

```python answers ANSWER
file = volume.file("f").filled_with(OLD)
f = file.open()
f.write(NEW)
fault.arm(file.data)
f.fsync()
```

## Questions

1. Is it?

   It is.
"""


def own(host: Host, answer: str) -> Path:
    file = host.folder / "mine.md"
    file.write_text(OWN.replace("ANSWER", answer))
    return file


@pytest.mark.parametrize("number", lessons())
def test_a_lesson_comes_true(host: Host, number: int) -> None:
    status, command = host.run("fsyncgate", "lesson", str(number), "--auto")
    assert status == 0, command.out + command.err
    page = (host.folder / f"lesson-{number}.html").read_text()
    assert lessons()[number].title in page
    assert not host.left_behind()


def test_a_lesson_that_does_not_come_true_is_found_out(host: Host) -> None:
    status, command = host.run("fsyncgate", "lesson", own(host, "0"), "--auto")
    assert status == 1
    assert "→ 'EIO'" in command.out
    assert "The lesson was written where this is 0" in command.out


def test_a_reader_at_a_terminal_guesses_and_is_told(host: Host) -> None:
    leader, follower = pty.openpty()
    host.prefix = ["sh", "-c", 'exec "$@" <&1', "sh"]
    command = host.start("fsyncgate", "lesson", own(host, '"EIO"'), terminal=follower)
    os.close(follower)
    shown = b""

    def until(prompt: bytes, key: bytes = b"") -> None:
        """Read until the prompt; press a key until it is noticed: going raw drops what was typed."""
        nonlocal shown
        while prompt not in shown:
            if select.select([leader], [], [], 0.2)[0]:
                shown += os.read(leader, 4096)
            elif key:
                os.write(leader, key)

    until(b"Your guess")
    assert b"\xe2\x86\x92 'EIO'" not in shown  # nobody is told before the guess
    os.write(leader, b"1\n")
    until(b"press a key to do it")
    until(b"You thought 0.", b" ")
    until(b"for the answer")
    until(b"It is.", b" ")
    assert command.wait() == 0
    os.close(leader)


@pytest.mark.parametrize("which", ["99", "no-such.md"])
def test_a_lesson_that_is_not_there(host: Host, which: str) -> None:
    status, command = host.run("fsyncgate", "lesson", which)
    assert status == 2
    assert f"There is no lesson '{which}'." in command.err

"""The prompt in front of a broken disk, driven through a pipe and through a terminal."""

import os
import pty

import pytest
from tests.vm.conftest import KERNEL, Host

pytestmark = pytest.mark.vm

TYPED = """\
file = volume.file("f").filled_with(OLD)
f = file.open(); f.write(NEW)
with fault.on(file.data): f.fsync()

f.fsync(), file.hot(), file.cold()
guest.root.call("getuid").value
guest.root.call("no_such_call")
volume.process.end(); volume.process.open("/mnt/f")
"""
ANSWERS = ("4096", "'EIO'", "(0, 'NEW', 'OLD')", "System call 'no_such_call' is not known.", "unknown actor")


def test_typed_into_a_pipe(host: Host) -> None:
    (host.folder / "typed").write_text(TYPED)
    host.prefix = ["sh", "-c", 'exec "$@" <typed', "sh"]
    status, command = host.run("fsyncgate", "shell", "--kernel", KERNEL)
    assert status == 0
    for answer in ANSWERS:
        assert answer in command.out + command.err
    assert not host.left_behind()


def test_typed_at_a_terminal(host: Host) -> None:
    leader, follower = pty.openpty()
    host.prefix = ["sh", "-c", 'exec "$@" <&1', "sh"]
    command = host.start("fsyncgate", "shell", "--kernel", KERNEL, "--fs", "xfs", terminal=follower)
    os.close(follower)
    shown = b""

    def until(prompt: bytes) -> None:
        nonlocal shown
        while not shown.endswith(prompt):
            shown += os.read(leader, 4096)

    until(b">>> ")
    os.write(leader, b'file = volume.file("f").filled_with(OLD); file.hot()\n')
    until(b"'OLD'\r\n>>> ")
    os.write(leader, b"exit()\n")
    assert command.wait() == 0
    os.close(leader)
    assert b"Traceback" not in shown
    assert not host.left_behind()

"""The guest agent as an ordinary process of this host: the same program, over stdin and stdout."""

import os
import select
import signal
import socket
import struct
import subprocess
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fsyncgate.errors import GuestError, MachineLost, UsageError
from fsyncgate.guest.actor import Actor, ActorLost, Guest
from fsyncgate.guest.arguments import InOut, Out, Words
from fsyncgate.guest.channel import Channel
from fsyncgate.guest.frame import HEADER_SIZE, MAX_BODY, REPLY, Decoder, Frame, Op, encode
from fsyncgate.guest.numbers import number_of

SOURCE = Path(__file__).parents[2] / "vms" / "agent"
PAGE = 4096
READ_WRITE, SHARED = 3, 1


@pytest.fixture(scope="session")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("agent") / "agent"
    subprocess.run(["make", "-s", "-C", SOURCE, f"OUT={out}"], check=True)
    return out


@contextmanager
def running(program: Path) -> Generator[tuple[subprocess.Popen[bytes], socket.socket], None, None]:
    """Start an agent; it ends when the socket is closed, which happens here at the latest."""
    ours, theirs = socket.socketpair()
    with theirs:
        process = subprocess.Popen([program, "--stdio"], stdin=theirs.fileno(), stdout=theirs.fileno())
    with process, ours:
        yield process, ours


@pytest.fixture
def guest(program: Path) -> Iterator[Guest]:
    with running(program) as (_, link):
        yield Guest(Channel(link), timeout=10)


@pytest.fixture
def actor(guest: Guest) -> Actor:
    return guest.root


def new_file(actor: Actor, path: Path, content: bytes = b"") -> int:
    path.write_bytes(content)
    return actor.call("open", str(path), os.O_RDWR).must("open")


def pipe(actor: Actor) -> tuple[int, int]:
    ends = actor.call("pipe2", Out(8), 0).out[0]
    return int.from_bytes(ends[:4], "little"), int.from_bytes(ends[4:], "little")


# Calls and their buffers


def test_a_call_carries_buffers_both_ways(actor: Actor, tmp_path: Path) -> None:
    fd = new_file(actor, tmp_path / "f")
    assert fd == 3
    assert actor.call("pwrite64", fd, b"hello", 5, 0).value == 5
    answer = actor.call("pread64", fd, Out(8), 8, 0)
    assert (answer.value, answer.out, answer.data) == (5, (b"hello\0\0\0",), b"hello")
    assert (tmp_path / "f").read_bytes() == b"hello"


def test_an_error_is_an_answer(actor: Actor) -> None:
    answer = actor.call("fsync", 77)
    assert (answer.value, answer.ok, answer.error) == (-1, False, "EBADF")
    with pytest.raises(GuestError, match="could not sync it: EBADF"):
        answer.must("sync it")


def test_a_bad_address_is_an_error_not_a_crash(actor: Actor) -> None:
    assert actor.call("write", pipe(actor)[1], 0x10, 4).error == "EFAULT"
    with pytest.raises(GuestError, match="EFAULT"):
        actor.read_memory(0x10, 4)
    with pytest.raises(GuestError, match="EFAULT"):
        actor.write_memory(0x10, b"data")
    assert actor.call("getpid").value == actor.pid


def test_an_unknown_call_is_refused_by_name(actor: Actor) -> None:
    with pytest.raises(UsageError, match="'fsynch'"):
        actor.call("fsynch", 3)


@pytest.mark.parametrize("size", [1 << 20, MAX_BODY - 200])
def test_large_buffers_in_both_directions(actor: Actor, size: int) -> None:
    data = bytes(range(256)) * (size // 256)
    at = actor.reserve(len(data))
    actor.write_memory(at, data)
    assert actor.read_memory(at, len(data)) == data
    assert actor.call("getpid", Out(len(data))).value == actor.pid


def test_buffers_beyond_the_arena_or_a_frame_are_the_users_error(actor: Actor) -> None:
    with pytest.raises(UsageError, match="longer than"):
        actor.call("read", 0, Out(MAX_BODY), MAX_BODY)
    with pytest.raises(UsageError, match="do not fit"):
        actor.call("read", 0, Out(9 << 20), 1)
    with pytest.raises(UsageError, match="at most 6"):
        actor.call("getpid", *range(7))


def test_large_buffers_are_aligned_for_direct_io(actor: Actor) -> None:
    def addresses(*words: bytes, align: int = 0) -> tuple[int, ...]:
        return struct.unpack("<2Q", actor.call("getpid", Words(*words, back=True), align=align).out[0])

    assert addresses(b"a" * 512, b"b" * 4096)[0] % PAGE == 0
    assert addresses(b"a" * 512, b"b" * 4096)[1] % PAGE == 0
    assert addresses(b"a", b"b", align=1)[1] - addresses(b"a", b"b", align=1)[0] == 1


def test_what_was_sent_before_the_guest_reads_does_not_block_the_host(guest: Guest) -> None:
    """Both directions full at once: many large requests, whose answers nobody has read yet."""
    actors = [guest.root, guest.spawn(), guest.spawn()]
    data = bytes(2 << 20)
    under_way = [actor.submit("getpid", InOut(data)) for actor in actors for _ in range(4)]
    assert [len(pending.wait().out[0]) for pending in under_way] == [len(data)] * 12


# Memory


def test_a_mapping_is_written_and_read_as_memory(actor: Actor, tmp_path: Path) -> None:
    fd = new_file(actor, tmp_path / "f", b"old".ljust(PAGE))
    at = actor.call("mmap", 0, 2 * PAGE, READ_WRITE, SHARED, fd, 0).must("map")
    assert actor.read_memory(at, 3) == b"old"
    actor.write_memory(at, b"new")
    assert (tmp_path / "f").read_bytes()[:3] == b"new"
    with pytest.raises(GuestError, match="EFAULT"):  # beyond the end of the file: SIGBUS for a load
        actor.read_memory(at + PAGE, 1)
    assert actor.call("munmap", at, 2 * PAGE).ok


# Processes


def test_a_fork_shares_the_offset_and_has_its_own_table(actor: Actor, tmp_path: Path) -> None:
    fd = new_file(actor, tmp_path / "f", b"0123456789")
    child = actor.fork()
    assert child.pid == child.call("getpid").value != actor.pid
    assert child.call("read", fd, Out(4), 4).data == b"0123"
    assert actor.call("read", fd, Out(4), 4).data == b"4567"
    assert actor.call("close", fd).ok
    assert child.call("read", fd, Out(4), 4).data == b"89"
    grandchild = child.fork()
    assert child.call("kill", actor.pid, signal.SIGKILL).ok
    assert grandchild.call("lseek", fd, 0, os.SEEK_CUR).value == 10


def test_a_spawned_actor_inherits_nothing(guest: Guest, tmp_path: Path) -> None:
    fd = new_file(guest.root, tmp_path / "f")
    assert guest.spawn().call("fsync", fd).error == "EBADF"


def test_a_fork_has_its_own_copy_of_the_memory(actor: Actor) -> None:
    at = actor.reserve(4)
    actor.write_memory(at, b"mine")
    child = actor.fork()
    child.write_memory(at, b"ours")
    assert (actor.read_memory(at, 4), child.read_memory(at, 4)) == (b"mine", b"ours")


def test_an_open_file_is_passed_through_a_socket(guest: Guest, tmp_path: Path) -> None:
    sender = guest.root
    ends = sender.call("socketpair", socket.AF_UNIX, socket.SOCK_STREAM, 0, Out(8)).out[0]
    left, right = struct.unpack("<ii", ends)
    receiver = sender.fork()
    fd = new_file(sender, tmp_path / "f", b"shared")
    assert receiver.call("fsync", fd).error == "EBADF"
    control = struct.pack("<QiiiI", 20, socket.SOL_SOCKET, socket.SCM_RIGHTS, fd, 0)
    message = Words(0, 0, Words(b"x", 1), 1, control, len(control), 0)
    assert sender.call("sendmsg", left, message, 0).value == 1
    message = Words(0, 0, Words(Out(1), 1), 1, Out(24), 24, 0, back=True)
    header, data, control = receiver.call("recvmsg", right, message, 0).out
    assert data == b"x"
    assert struct.unpack("<7Q", header)[5] == 24
    passed = struct.unpack("<QiiiI", control)[3]
    assert receiver.call("read", passed, Out(6), 6).data == b"shared"
    assert sender.call("lseek", fd, 0, os.SEEK_CUR).value == 6


def test_a_blocked_actor_stops_no_other(guest: Guest) -> None:
    reader = guest.root
    out, into = pipe(reader)
    writer = reader.fork()
    blocked = reader.submit("read", out, Out(5), 5)
    then = reader.submit("getpid")
    assert writer.call("getpid").value == writer.pid
    assert not blocked.done()
    assert not then.done()
    assert writer.call("write", into, b"later", 5).value == 5
    assert blocked.wait().data == b"later"
    assert then.wait().value == reader.pid


def test_a_time_out_is_a_lost_machine_and_says_so(guest: Guest) -> None:
    out, into = pipe(guest.root)
    writer = guest.root.fork()
    blocked = guest.root.submit("read", out, Out(1), 1)
    with pytest.raises(MachineLost, match=r"did not answer within 0.01 s"):
        blocked.wait(0.01)
    writer.call("write", into, b"x", 1)
    assert blocked.wait().data == b"x"


def test_a_killed_actor_loses_its_request_and_is_reported(guest: Guest) -> None:
    victim = guest.spawn()
    out, _ = pipe(victim)
    blocked = [victim.submit("read", out, Out(1), 1) for _ in range(3)]
    assert guest.root.call("kill", victim.pid, signal.SIGKILL).ok
    for pending in blocked:
        with pytest.raises(ActorLost, match=r"ended by signal 9 before it answered 'read'") as lost:
            pending.wait()
        assert lost.value.status == signal.SIGKILL
    assert (victim.exited, guest.root.exited) == (signal.SIGKILL, None)
    assert guest.pids == {1: guest.root.pid}
    with pytest.raises(GuestError, match="unknown actor"):
        victim.call("getpid")


def test_exit_is_a_call_like_others(guest: Guest) -> None:
    with pytest.raises(ActorLost, match="with code 3"):
        guest.spawn().call("exit_group", 3)
    assert guest.root.call("getpid").ok


def test_fork_as_a_plain_call_leaves_one_actor(actor: Actor) -> None:
    child = actor.call("fork").must("fork")
    assert actor.call("wait4", child, Out(4), 0, 0).value == child
    assert actor.call("getpid").value == actor.pid


@pytest.mark.parametrize(("name", "arguments"), [("vfork", ()), ("munmap", (0x1000, (1 << 47) - 0x2000))])
def test_an_actor_that_ruins_itself_ruins_nobody_else(
    guest: Guest, name: str, arguments: tuple[int, ...]
) -> None:
    victim = guest.spawn()
    try:
        victim.call(name, *arguments)
    except ActorLost:
        assert victim.exited is not None
    assert guest.spawn().call("getpid").ok


def test_a_closed_link_ends_the_actor(guest: Guest) -> None:
    victim = guest.spawn()
    with pytest.raises(ActorLost):
        victim.call("close_range", 3, 0xFFFFFFFF, 0)
    assert victim.exited is not None
    assert guest.root.call("getpid").ok


# Commands


def test_a_command_gives_its_output_and_status(actor: Actor) -> None:
    done = actor.run("sh", "-c", "cat; echo out; echo err >&2; exit 5")
    assert (done.code, done.output, done.ok) == (5, b"out\nerr\n", False)
    assert actor.run("true").ok
    assert actor.run("sh", "-c", "kill -9 $$").code == -9


def test_a_command_has_the_actors_descriptors(actor: Actor, tmp_path: Path) -> None:
    fd = new_file(actor, tmp_path / "f")
    assert actor.run("sh", "-c", f"echo text >&{fd}").ok
    assert (tmp_path / "f").read_text() == "text\n"
    for standard in range(3):
        assert actor.call("close", standard).ok
    assert actor.run("sh", "-c", "cat; echo out; echo err >&2").output == b"out\nerr\n"


def test_a_command_that_does_not_exist_says_so(actor: Actor) -> None:
    done = actor.run("/nonexistent")
    assert (done.code, done.output) == (127, b"exec '/nonexistent': No such file or directory\n")


def test_much_output_is_kept_up_to_a_mebibyte(actor: Actor) -> None:
    done = actor.run("head", "-c", "3000000", "/dev/zero")
    assert done.ok
    assert len(done.output) == 1 << 20


def test_a_daemon_left_behind_does_not_hold_up_the_answer(actor: Actor, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "fifo")
    done = actor.run("sh", "-c", f"read x <{tmp_path}/fifo & echo started")
    assert done.output == b"started\n"
    (tmp_path / "fifo").write_text("\n")


# Attaching, ending


def test_actors_are_found_again_by_number(guest: Guest) -> None:
    """As after a restore: another channel to the same agent."""
    second = guest.spawn()
    guest.channel.submit(7, Op.HELLO)  # its answer is stale by then
    again = Guest.attach(guest.channel, guest.pids)
    assert again.pids == {1: guest.root.pid, 2: second.pid}
    assert again.spawn().id == 3
    with pytest.raises(GuestError, match="unknown actor"):
        Guest.attach(guest.channel, [1, 9])


def test_a_frame_that_another_host_left_unfinished_is_left_behind(
    program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fsyncgate.guest.actor._GREETING_EVERY", 0.05)
    with running(program) as (_, link):
        with Channel(link.dup()) as first:
            pids = Guest(first).pids
        link.setblocking(True)
        link.sendall(encode(Frame(5, 1, Op.CALL, bytes(3 << 20)))[:1000])
        assert Guest.attach(Channel(link), pids, timeout=10).root.call("getpid").value == pids[1]


def test_end_of_file_ends_every_process(program: Path) -> None:
    with running(program) as (process, link), ExitStack() as stack:
        guest = Guest(Channel(link))
        child = guest.root.fork()
        out, into = pipe(guest.root)
        running_command = guest.root.fork()
        guest.channel.submit(running_command.id, Op.RUN, b"sh\0-c\0echo $$ >&%d; exec sleep 1000\0" % into)
        command = int(guest.root.call("read", out, Out(20), 20).data)
        pids = [child.pid, guest.root.pid, running_command.pid, command]
        ends = [os.pidfd_open(pid) for pid in pids]
        for end in ends:
            stack.callback(os.close, end)
        guest.close()
        assert process.wait(10) == 0
        for end in ends:
            assert select.select([end], [], [], 10)[0]


def test_a_guest_that_goes_away_is_a_lost_machine(program: Path) -> None:
    with running(program) as (process, link):
        guest = Guest(Channel(link))
        out, _ = pipe(guest.root)
        blocked = guest.root.submit("read", out, Out(1), 1)
        process.kill()
        process.wait()
        with pytest.raises(MachineLost, match="closed the channel"):
            blocked.wait()
        with pytest.raises(MachineLost, match="closed the channel"):
            guest.root.call("getpid")
        assert blocked.done()


def test_a_pair_of_pipes_serves_as_well(program: Path) -> None:
    process = subprocess.Popen([program, "--stdio"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    with process, Channel((os.dup(process.stdout.fileno()), os.dup(process.stdin.fileno()))) as channel:
        process.stdin.close()
        assert Guest(channel).root.call("write", 1, b"", 0).ok
    assert process.returncode == 0


# Damage


class Wire:
    """A raw link to an agent."""

    def __init__(self, link: socket.socket) -> None:
        self.link = link
        self.decoder = Decoder()
        self.marks = 0

    def until_hello(self, data: bytes) -> list[Frame]:
        """Send `data`, then greet supervisor and actor 1; return the frames beside their two answers."""
        self.marks += 2
        marks = {0xF0000000 + self.marks + actor for actor in (0, 1)}
        hello = b"".join(encode(Frame(mark, mark % 2, Op.HELLO)) for mark in sorted(marks))
        # Damage may have announced a longer body than it had: padding ends it.
        self.link.sendall(data + bytes(PADDING) + hello)
        frames: list[Frame] = []
        while marks:
            received = self.link.recv(1 << 16)
            assert received
            for frame in self.decoder.feed(received):
                if frame.request in marks:
                    assert frame.op == Op.HELLO | REPLY
                    marks.remove(frame.request)
                else:
                    frames.append(frame)
        return frames


PADDING = 4096
GETPID = struct.pack("<7QII", number_of("getpid"), *[0] * 6, 0, 0)


@pytest.fixture(scope="module")
def wire(program: Path) -> Iterator[Wire]:
    with running(program) as (_, link):
        link.settimeout(10)
        wire = Wire(link)
        frames = wire.until_hello(encode(Frame(1, 0, Op.SPAWN, b"\1\0\0\0")))
        while not any(frame.request == 1 for frame in frames):  # the actor may answer before its maker
            frames = wire.until_hello(b"")
        yield wire


def padded(answers: list[Frame]) -> list[tuple[int, int, bytes]]:
    """Drop the complaint about the padding, which is the last."""
    assert answers[-1].request == 0
    return [(frame.request, frame.op, frame.body) for frame in answers[:-1]]


@pytest.mark.parametrize(
    ("frame", "why"),
    [
        (Frame(5, 0, 99), b"unknown operation"),
        (Frame(5, 1, Op.REFUSED), b"unknown operation"),
        (Frame(5, 9, Op.CALL, GETPID), b"unknown actor"),
        (Frame(5, 0, Op.CALL, GETPID), b"the supervisor only spawns"),
        (Frame(5, 1, Op.SPAWN, b"\5\0\0\0"), b"only the supervisor spawns"),
        (Frame(5, 0, Op.SPAWN, b"\1\0\0\0"), b"an actor with this number exists"),
        (Frame(5, 1, Op.FORK, b"\1\0\0\0"), b"an actor with this number exists"),
        (Frame(5, 1, Op.FORK, b"\5"), b"the body is not the number of an actor"),
        (Frame(5, 0, Op.HELLO, b"\5"), b"the body of HELLO is too long"),
    ],
)
def test_the_supervisor_says_why_it_refuses(wire: Wire, frame: Frame, why: bytes) -> None:
    assert padded(wire.until_hello(encode(frame))) == [(5, Op.REFUSED, why)]


@pytest.mark.parametrize(
    ("op", "body", "why"),
    [
        (Op.CALL, GETPID[:-1], b"the body of CALL is too short"),
        (Op.CALL, GETPID + b"\0", b"the body of CALL is too long"),
        (Op.CALL, GETPID[:56] + b"\1\0\0\0\0\0\0\0", b"CALL counts more buffers than its body holds"),
        (Op.CALL, GETPID[:56] + b"\0\0\0\0\1\0\0\0", b"CALL counts more buffers than its body holds"),
        (Op.CALL, GETPID[:56] + b"\xff" * 8, b"CALL counts more buffers than its body holds"),
        (
            Op.CALL,
            GETPID[:56] + b"\1\0\0\0\0\0\0\0" + bytes(8) + b"\xff" * 4,
            b"a buffer of CALL reaches beyond its body",
        ),
        (
            Op.CALL,
            GETPID[:56] + b"\0\0\0\0\1\0\0\0" + bytes(8) + b"\xff" * 4,
            b"the answer would be too long",
        ),
        (Op.RUN, b"", b"the arguments of RUN do not end with NUL"),
        (Op.RUN, b"true", b"the arguments of RUN do not end with NUL"),
    ],
)
def test_an_actor_says_why_it_refuses(wire: Wire, op: Op, body: bytes, why: bytes) -> None:
    answers = wire.until_hello(encode(Frame(6, 1, op, body)))
    assert [(f.op, f.body) for f in answers if f.request == 6] == [(Op.REFUSED, why)]


def test_a_damaged_or_too_long_body_is_refused_by_request(wire: Wire) -> None:
    damaged = encode(Frame(8, 1, Op.CALL, GETPID))[:-1] + b"!"
    assert padded(wire.until_hello(damaged)) == [(8, Op.REFUSED, b"the body is damaged")]
    header = bytearray(encode(Frame(9, 1, Op.CALL))[: HEADER_SIZE - 4])
    header[4:8] = (MAX_BODY + 1).to_bytes(4, "little")
    whole = bytes(header) + checksum(bytes(header))
    assert padded(wire.until_hello(whole)) == [(9, Op.REFUSED, b"the body is too long")]


def checksum(data: bytes) -> bytes:
    """The CRC that the codec puts into a frame whose body is `data`."""
    return encode(Frame(0, 0, 0, data))[20:24]


def test_a_run_of_garbage_is_refused_once(wire: Wire) -> None:
    garbage = b"fsgt" * 100
    hello = encode(Frame(3, 0, Op.HELLO))
    answers = wire.until_hello(garbage + hello + garbage[:50] + hello)
    assert [(f.request, f.op) for f in answers] == [
        (0, Op.REFUSED),
        (3, Op.HELLO | REPLY),
        (0, Op.REFUSED),
        (3, Op.HELLO | REPLY),
        (0, Op.REFUSED),
    ]


FRAME = encode(Frame(5, 1, Op.CALL, GETPID))


@st.composite
def damages(draw: st.DrawFn) -> bytes:
    """A frame for getpid, damaged in one way: nothing that is left is another valid call."""
    at = draw(st.integers(0, len(FRAME) - 1))
    junk = draw(st.binary(max_size=99))
    number = draw(st.integers(10, 2**32 - 1))
    flipped = bytearray(FRAME)
    flipped[at] ^= 1 << draw(st.integers(0, 7))
    counts = struct.pack("<II", *draw(st.permutations([number, 0])))
    return draw(
        st.sampled_from(
            [
                FRAME,
                junk,
                FRAME[:at],
                FRAME[at:],
                FRAME[:at] + FRAME[at + 1 :],
                FRAME[:at] + junk + FRAME[at:],
                bytes(flipped),
                encode(Frame(5, 1, number, junk)),
                encode(Frame(5, number, Op.CALL, junk)),
                encode(Frame(5, 1, Op.CALL, GETPID[: at % len(GETPID)])),
                encode(Frame(5, 1, Op.CALL, GETPID[:56] + counts + junk)),
            ]
        )
    )


@settings(max_examples=150, deadline=None)
@given(st.lists(damages(), max_size=8))
def test_after_any_damage_the_agent_answers(wire: Wire, damage: list[bytes]) -> None:
    for frame in wire.until_hello(b"".join(damage)):
        assert frame.op in {Op.REFUSED, Op.CALL | REPLY, Op.HELLO | REPLY}

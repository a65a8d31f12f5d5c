"""The codec of the agent's protocol: any frame survives, any damage is left behind."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fsyncgate.guest.frame import HEADER_SIZE, MAX_BODY, Decoder, Frame, encode

U32 = st.integers(0, 2**32 - 1)
FRAMES = st.lists(st.builds(Frame, U32, U32, U32, st.binary(max_size=100)), max_size=6)
GARBAGE = st.binary(max_size=80)


def fed(data: bytes, cuts: list[int]) -> tuple[Decoder, list[Frame]]:
    """Feed `data`, cut at the given places."""
    decoder = Decoder()
    edges = [0, *sorted(cut for cut in cuts if cut < len(data)), len(data)]
    frames = [f for a, b in pairwise(edges) for f in decoder.feed(data[a:b])]
    return decoder, frames


def test_a_frame_is_28_bytes_and_its_body() -> None:
    header = "66736774 01000000 01000000 02000000 03000000 8316dc8c f8770d21"
    assert encode(Frame(1, 2, 3, b"x")) == bytes.fromhex(header) + b"x"


@given(FRAMES, st.lists(st.integers(0, 800)))
def test_frames_survive_any_cutting(frames: list[Frame], cuts: list[int]) -> None:
    decoder, received = fed(b"".join(encode(frame) for frame in frames), cuts)
    assert received == frames
    assert decoder.skipped == 0


@given(FRAMES, st.data())
def test_frames_survive_garbage_between_them(frames: list[Frame], data: st.DataObject) -> None:
    stream = b"".join(data.draw(GARBAGE) + encode(frame) for frame in frames)
    garbage = len(stream) - sum(len(encode(frame)) for frame in frames)
    decoder, received = fed(stream, data.draw(st.lists(st.integers(0, 1000))))
    assert received == frames
    assert decoder.skipped == garbage


@given(FRAMES.filter(bool), st.data())
def test_one_wrong_bit_costs_one_frame(frames: list[Frame], data: st.DataObject) -> None:
    index = data.draw(st.integers(0, len(frames) - 1))
    damaged = bytearray(encode(frames[index]))
    bit = data.draw(st.integers(0, 8 * len(damaged) - 1))
    damaged[bit // 8] ^= 1 << bit % 8
    stream = [encode(frame) for frame in frames]
    stream[index] = bytes(damaged)
    _, received = fed(b"".join(stream), data.draw(st.lists(st.integers(0, 800))))
    assert received == frames[:index] + frames[index + 1 :]


def test_a_body_may_be_4_mib_and_no_longer() -> None:
    longest = Frame(1, 1, 2, bytes(MAX_BODY))
    assert Decoder().feed(encode(longest)) == [longest]
    with pytest.raises(ValueError, match="longer than 4194304"):
        encode(Frame(1, 1, 2, bytes(MAX_BODY + 1)))


def test_an_incomplete_frame_waits() -> None:
    decoder = Decoder()
    whole = encode(Frame(7, 1, 2, b"body"))
    assert decoder.feed(whole[: HEADER_SIZE + 3]) == []
    assert decoder.feed(whole[HEADER_SIZE + 3 :]) == [Frame(7, 1, 2, b"body")]

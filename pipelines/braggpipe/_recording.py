"""Reads recordings of bragg-tap without copying their pixels.  Format: bragg-recording(5)."""
from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from typing import Any

import numpy

from braggpipe._frame import Experiment, Frame, Frames, Loop, experiment_of, frame_of
from braggpipe._wire import EXPERIMENT, FRAME, Message

MAGIC = b"\x89bragg\r\n"


class Recording(Frames):
    """The frames of a recording, in the order in which they were recorded.

    Pixels stay in the file, which is mapped into memory, until a program reads them.
    Raises ValueError if the file is not a recording, or if a frame is corrupt.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.data = numpy.memmap(path, numpy.uint8, "r").data
        first = next(self._messages(), None)
        if self.data[:8] != MAGIC or not first or first.kind != EXPERIMENT:
            raise ValueError(f"{path}: is no whole recording of bragg-tap")
        self._experiment = experiment_of(first.keys)

    def __reduce__(self) -> Any:
        """Pickles only the path: the other process opens the file again."""
        return Recording, (os.path.abspath(self.path),)

    @property
    def experiment(self) -> Experiment:
        return self._experiment

    def _messages(self) -> Iterator[Message]:
        data, at = self.data, 64
        while at + 64 <= len(data):
            head = bytes(data[at:at + 64])
            length, _, _, kind, count = struct.unpack("<QQQII", head[8:40])
            if head[:8] != b"braggrec" or kind == 0:
                return
            if length < 64 or at + length > len(data):
                return  # the recording is truncated: its complete frames remain
            parts: list[Any] = []
            begin = at + (64 + 8 * count + 63) // 64 * 64
            for (size,) in struct.iter_unpack("<Q", data[at + 64:at + 64 + 8 * count]):
                parts.append(data[begin:begin + size])
                begin += (size + 63) // 64 * 64
            yield Message(parts)
            at += length

    def __iter__(self) -> Iterator[Frame]:
        return Loop(self._loop())

    def _loop(self) -> Iterator[Frame]:
        for message in self._messages():
            if message.kind == FRAME:
                if not message.is_whole():
                    raise ValueError(f"{os.path.basename(self.path)}: frame {message.frame} is damaged")
                yield frame_of(message.frame, message.keys, message.payload, self._experiment)

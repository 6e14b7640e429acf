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
_HEAD = struct.Struct("<8sQQQII")  # start of a record: mark, length, time, frame number, kind, parts


class Recording(Frames):
    """The frames of a recording, in the order in which they were recorded.

    An index in [] counts the frames in this order, from 0.  The file is mapped into memory: pixels
    are read from the disk when a program uses them.
    Raises ValueError if the file is not a recording, or if a frame is corrupt.
    """

    def __init__(self, path: str) -> None:
        self.path = path
        self.data = numpy.memmap(path, numpy.uint8, "r").data
        records = list(self._records()) if self.data[:8] == MAGIC else []
        if not records or records[0][1] != EXPERIMENT:
            raise ValueError(f"{path}: is not a complete recording of bragg-tap")
        self.first = self._message(records[0][0])  #: the experiment message
        self._experiment = experiment_of(self.first.keys, self.first.payload)
        self.places = [at for at, kind, _ in records if kind == FRAME]
        self.numbers = [number for _, kind, number in records if kind == FRAME]  #: in the order of the file

    def __reduce__(self) -> Any:
        """Pickles only the path: the other process opens the file again."""
        return Recording, (os.path.abspath(self.path),)

    @property
    def experiment(self) -> Experiment:
        return self._experiment

    def __len__(self) -> int:
        return len(self.places)

    def __getitem__(self, index: int) -> Frame:
        """Returns the frame at a place in the order of the file, from 0."""
        message = self._message(self.places[index])
        if not message.is_whole():
            raise ValueError(f"{os.path.basename(self.path)}: frame {message.frame} is corrupt")
        return frame_of(message.frame, message.keys, message.payload, self._experiment)

    def _records(self) -> Iterator[tuple[int, int, int]]:
        """Yields place, kind and frame number of each complete record."""
        data, at = self.data, 64
        while at + 64 <= len(data):
            mark, length, _, number, kind, _ = _HEAD.unpack(data[at:at + 40])
            if mark != b"braggrec" or kind == 0:
                return
            if length < 64 or at + length > len(data):
                return  # the recording is truncated: its complete frames remain
            yield at, kind, number
            at += length

    def _message(self, at: int) -> Message:
        """Returns the message of the record at this place of the file."""
        data, parts = self.data, list[Any]()
        *_, count = _HEAD.unpack(data[at:at + 40])
        begin = at + (64 + 8 * count + 63) // 64 * 64
        for (size,) in struct.iter_unpack("<Q", data[at + 64:at + 64 + 8 * count]):
            parts.append(data[begin:begin + size])
            begin += (size + 63) // 64 * 64
        return Message(parts)

    def __iter__(self) -> Iterator[Frame]:
        return Loop(self._loop())

    def _loop(self) -> Iterator[Frame]:
        for index in range(len(self)):
            yield self[index]

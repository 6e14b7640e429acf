"""Dataset: simulated or stored frames by index, for training, validation and test."""
from __future__ import annotations

import bisect
import collections
import itertools
import operator
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy

from braggpipe import _live, _recording, _simulate
from braggpipe._frame import Frame
from braggpipe._wire import ranges

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from braggpipe._options import SetOptions

#: frames of each part, by their number modulo 100; a longer set has the same frames in each part
PARTS = {None: range(100), "train": range(80), "validation": range(80, 90), "test": range(90, 100)}
_RUN = 2000  # most frames of one pipeline: their numbers are an argument of bragg-orient, of limited length


def _only(numbers: Sequence[int]) -> str:
    """Returns a list of numbers for bragg-orient --only."""
    return ",".join(f"{one['first']}-{one['last']}" for one in ranges(numbers))


class _Simulated:
    """Frames that are computed when they are read.  Numbers are 0 to `frames` - 1."""

    def __init__(self, frames: int, part: range, options: dict[str, Any]) -> None:
        _simulate.commands(_simulate.STAGES, options)  # a wrong option is an error now, not in a worker process
        self.frames, self.part, self.options = frames, part, options
        self.name = "a simulation"
        self.shown: set[str] = set()  # warnings of the programs that were printed

    def below(self, number: int) -> int:
        """Returns how many frames of the part have a smaller number."""
        hundreds, rest = divmod(min(number, self.frames), 100)
        return hundreds * len(self.part) + min(max(rest - self.part.start, 0), len(self.part))

    def number(self, index: int) -> int:
        hundreds, rest = divmod(index, len(self.part))
        return 100 * hundreds + self.part.start + rest

    def compute(self, numbers: Sequence[int]) -> Iterator[Frame]:
        """Yields the frames with these numbers, which are ascending, from one pipeline."""
        early: dict[int, Frame] = {}
        with _live.simulate({**self.options, "frames": self.frames, "only": _only(numbers)}, self.shown) as frames:
            loop = iter(frames)
            for number in numbers:
                while number not in early:
                    frame = next(loop, None)
                    if frame is None:
                        raise _live.Error(f"the pipeline ended without frame {number}")
                    early[frame.number] = frame
                yield early.pop(number)


class _Stored:
    """Frames of a recording or of an NXmx file, in the order of their numbers."""

    def __init__(self, path: str, part: range) -> None:
        self.name = self.path = path
        self.opened, self.pid = self._open(path), os.getpid()
        places = sorted((number, place) for place, number in enumerate(self.opened.numbers) if number % 100 in part)
        self.numbers: list[int] = [number for number, _ in places]
        self.places = [place for _, place in places]
        self.frames = self.numbers[-1] + 1 if places else 0

    @staticmethod
    def _open(path: str) -> Any:
        from braggpipe import open as open_frames

        opened = open_frames(path)
        if not hasattr(opened, "numbers"):
            opened.close()
            raise ValueError(f"{path}: a data set cannot read this file; expected a recording of bragg-tap or an NXmx file")
        return opened

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "opened": None, "pid": 0}  # another process opens the file again

    def below(self, number: int) -> int:
        return bisect.bisect_left(self.numbers, number)

    def number(self, index: int) -> int:
        return self.numbers[index]

    def compute(self, numbers: Sequence[int]) -> Iterator[Frame]:
        if self.pid != os.getpid():
            self.opened, self.pid = self._open(self.path), os.getpid()
        for number in numbers:
            yield self.opened[self.places[self.below(number)]]


class Dataset:
    """Frames by index, for PyTorch's DataLoader: dataset[i] is computed when it is read.

        train = braggpipe.Dataset(200, split="train", random=True, detpixels=64, ncells=10)
        print(len(train), train[7].image.sum())
        for frame in braggpipe.Dataset(100, split="test", random=True, detpixels=64, ncells=10):
            print(frame.number)

    Frame number k depends only on the options and on k.  Number of workers, order, epoch and batch
    size do not change the frame, and no frame has to be stored.  The class does not need PyTorch.

    Arguments:
        frames: number of frames of the whole set, before the split, or the name of a recording of
            bragg-tap or of an NXmx file.
        split: "train", "validation" or "test": frames 0 to 79, 80 to 89 and 90 to 99 of each hundred.
            Sets with the same options and different splits share no frame, and a larger set keeps
            the parts of a smaller one.  None: all frames.
        item: function(frame) that makes what dataset[i] returns, such as a pair of arrays.  It must
            be a function of a module if worker processes are spawned.  None: Frame.detach.
        block: number of frames that are computed together, because the start of a pipeline takes
            about as long as ten small frames.
        keep: number of blocks that are kept in memory.
        options: options of braggpipe.simulate.

    A loop over the set runs one pipeline, which is the fastest way.  For random order, pass
    sampler=braggpipe.BlockShuffle(dataset) to the DataLoader.  A shuffle of single frames would
    compute a whole block for each frame: set block=1 for such a shuffle.  With several workers,
    batch_size should be `block`.

    Raises ValueError if the split is empty, and TypeError if no program has an option of that name.
    Access to a frame raises IndexError for an index out of range, and braggpipe.Error if a program
    fails.
    """

    def __init__(self, frames: int | str | os.PathLike[str], *, split: str | None = None, item: Callable[[Frame], Any] | None = None,
                 block: int = 20, keep: int = 4, **options: Unpack[SetOptions]) -> None:
        if split not in PARTS:
            raise ValueError(f"split={split!r} is unknown; expected 'train', 'validation', 'test' or None")
        if block < 1 or keep < 1:
            raise ValueError(f"block={block} and keep={keep} must be at least 1")
        if "only" in options:
            raise TypeError("a data set chooses the frames itself: leave the option 'only' out")
        self._source: _Simulated | _Stored
        if isinstance(frames, (str, os.PathLike)):
            if options:
                raise TypeError(f"{os.fspath(frames)}: stored frames have no options of a simulation (got {', '.join(options)})")
            self._source = _Stored(os.fspath(frames), PARTS[split])
        else:
            if operator.index(frames) < 0:
                raise ValueError(f"frames={frames} must be at least 0")
            self._source = _Simulated(operator.index(frames), PARTS[split], dict(options))
        self.split, self.block, self.keep = split, block, keep
        self._item = item or Frame.detach
        self._length = self._source.below(self._source.frames)
        if split and not self._length:
            part = PARTS[split]
            raise ValueError(f"split={split!r} is empty: it has frames {part.start} to {part.stop - 1} of each hundred. Use more frames")
        self._blocks: collections.OrderedDict[int, dict[int, Any]] = collections.OrderedDict()
        self.started = 0  #: number of pipelines that this process has started for the set

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_blocks": collections.OrderedDict(), "started": 0}

    def __len__(self) -> int:
        return self._length

    def number(self, index: int) -> int:
        """Returns the number of a frame in the run of all frames.  Raises IndexError."""
        place = operator.index(index)
        if not -self._length <= place < self._length:
            raise IndexError(f"index {place} is out of range: the set has {self._length} frames")
        return self._source.number(place % self._length)

    def __repr__(self) -> str:
        return f"<braggpipe.Dataset: {self._source.name}, split: {self.split}, frames: {self._length}>"

    def __getitem__(self, index: int | slice) -> Any:
        """Returns the item of a frame.  A slice, such as dataset[:10], returns the list of its items."""
        if isinstance(index, slice):
            return self.__getitems__(range(*index.indices(self._length)))
        number = self.number(index)
        at = number // self.block
        if at not in self._blocks:
            self._blocks[at] = self._compute([one for one in map(self._source.number, self.indices_of(at))])
            while len(self._blocks) > self.keep:
                self._blocks.popitem(last=False)
        self._blocks.move_to_end(at)
        return self._blocks[at][number]

    def __getitems__(self, indices: Sequence[int]) -> list[Any]:
        """Returns the items of a batch, computed by one pipeline.  PyTorch calls it from version 2 on."""
        numbers = [self.number(index) for index in indices]
        found = {number: self._blocks[number // self.block][number] for number in numbers if number // self.block in self._blocks}
        missing = sorted(set(numbers) - set(found))
        for at in range(0, len(missing), _RUN):
            found.update(self._compute(missing[at:at + _RUN]))
        return [found[number] for number in numbers]

    def indices_of(self, block: int) -> range:
        """Returns the indices of the frames of a block: numbers from block * self.block on."""
        return range(self._source.below(block * self.block), self._source.below((block + 1) * self.block))

    def _compute(self, numbers: list[int]) -> dict[int, Any]:
        self.started += isinstance(self._source, _Simulated)
        return {frame.number: self._item(frame) for frame in self._source.compute(numbers)}

    def __iter__(self) -> Iterator[Any]:
        return self.loop()

    def loop(self, start: int = 0, stop: int | None = None) -> Iterator[Any]:
        """Yields the items with the indices from `start` to before `stop`, in this order.

        One pipeline computes them, which is faster than access by index.
        """
        stop = self._length if stop is None else min(stop, self._length)
        for at in range(start, stop, _RUN):
            self.started += isinstance(self._source, _Simulated)
            for frame in self._source.compute([self._source.number(index) for index in range(at, min(at + _RUN, stop))]):
                yield self._item(frame)


class BlockShuffle:
    """A random order of the indices of a Dataset, for the argument `sampler` of PyTorch's DataLoader.

        dataset = braggpipe.Dataset(60, random=True, detpixels=64, ncells=10)
        for index in braggpipe.BlockShuffle(dataset, seed=3):
            image = dataset[index].image

    Blocks are in random order, and so are the frames of each block.  Each block is then computed
    once, by one pipeline.

    Arguments:
        dataset: a Dataset, or a list of them.  The indices are then those of PyTorch's
            ConcatDataset of the list.
        seed: number that selects the orders.  The order depends only on the seed and the epoch.

    Each loop is the next epoch, counted from 0, and has another order.  set_epoch(n) sets the epoch
    of the next loop.
    """

    def __init__(self, dataset: Dataset | Sequence[Dataset], seed: int = 0) -> None:
        self.dataset, self.seed, self.epoch = dataset, seed, 0
        self._sets = [dataset] if isinstance(dataset, Dataset) else list(dataset)

    def set_epoch(self, epoch: int) -> None:
        """Sets the epoch of the next loop.  Equal epochs have equal orders."""
        self.epoch = epoch

    def __len__(self) -> int:
        return sum(map(len, self._sets))

    def __iter__(self) -> Iterator[int]:
        draw = numpy.random.default_rng([self.seed, self.epoch])
        self.epoch += 1
        counts = [-(-(one.number(-1) + 1) // one.block) if len(one) else 0 for one in self._sets]
        blocks = [0, *itertools.accumulate(counts)]  # number of blocks before each set
        indices = [0, *itertools.accumulate(map(len, self._sets))]
        for block in draw.permutation(blocks[-1]).tolist():
            which = bisect.bisect_right(blocks, block) - 1
            inside = draw.permutation(self._sets[which].indices_of(block - blocks[which]))
            yield from cast("list[int]", (indices[which] + inside).tolist())

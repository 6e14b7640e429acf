"""A small U-Net that finds spots in images, as a baseline for networks of your own.  It needs the package torch.

    python3 -m braggpipe.unet train SOURCE NET.pt
    python3 -m braggpipe.unet find NET.pt SOURCE PEAKS.tsv

The first command trains a network with the frames of a source, and the second one writes the spots
that the network finds as a table for bragg-score.  A source is anything that braggpipe.open takes,
such as run.nxs or a shell pipeline.  For training the frames need the ground truth of each pixel:
bragg-intensity --reflections --labels, which recordings and pipelines have.

    UNet          the network
    samples       input and target images of frames
    train         trains a network
    find          the spots of a frame
    save, load    a network in a file
    write_peaks   a table of spots for bragg-score
"""
from __future__ import annotations

import argparse
import pickle
import sys
from collections.abc import Callable, Iterable
from typing import Any

import numpy

try:
    import torch
    from torch import nn
except ImportError:
    if __name__ == "__main__":
        sys.exit("braggpipe.unet: the package torch is missing. Run: apt install python3-torch")
    raise

from braggpipe import _export, open as open_frames
from braggpipe._frame import Array, Frame

__all__ = ["UNet", "find", "load", "main", "network_input", "samples", "save", "target", "train", "write_peaks"]

_RATE = 2e-3  # learning rate of the first step; the last one has none left
_WEIGHT = 4.0  # of a pixel of a spot in the loss: about one pixel in 100 belongs to a spot
_RARE = -4.0  # bias of the logits at the start, as most pixels belong to no spot
_AROUND = 10  # pixels on each side of a pixel whose mean is the background
_SPOT = 1.5  # three times the noise of a square root: pixels above belong to spots
_EMPTY = 0.2  # fraction of the patches without spot that are used, too


class UNet(nn.Module):
    """A U-Net of three levels.  It returns the logit of each pixel: above 0, the pixel is probably part of a spot.

    Arguments:
        width: number of features of the first level.  The second one has 2 and the third one 4 times as many.

    Images are tensors (batch, 1, slow, fast), see network_input.  Their edges are multiples of 4.
    """

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.width = width
        self.fine, self.middle, self.coarse = _block(1, width), _block(width, 2 * width), _block(2 * width, 4 * width)
        self.middle_up, self.fine_up = _block(6 * width, 2 * width), _block(3 * width, width)
        self.last = nn.Conv2d(width + 1, 1, 1)  # of the features and the image itself, so that training never loses the image
        nn.init.constant_(self.last.bias, _RARE)
        self.down, self.up = nn.MaxPool2d(2), nn.Upsample(scale_factor=2, mode="nearest")

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        """Returns the logits of all pixels, a tensor of the shape of `image`."""
        fine = self.fine(image)
        middle = self.middle(self.down(fine))
        coarse = self.coarse(self.down(middle))
        middle = self.middle_up(torch.cat([self.up(coarse), middle], 1))
        fine = self.fine_up(torch.cat([self.up(middle), fine], 1))
        return self.last(torch.cat([fine, image], 1))


def _block(inputs: int, outputs: int) -> Any:
    """Returns two convolutions.  LeakyReLU keeps a slope everywhere: with ReLU, training can end in a network that is constant."""
    return nn.Sequential(*(layer for count in (inputs, outputs) for layer in
                           (nn.Conv2d(count, outputs, 3, padding=1), nn.BatchNorm2d(outputs), nn.LeakyReLU(0.1))))


def network_input(frame: Frame) -> Array:
    """Returns the images of a frame for the network: (panels, slow, fast), float32.

    A pixel is the square root of its photons, minus the mean around it.  Square roots have the same
    noise at all count rates.  Masked pixels are 0.  Panels must have equal shapes.

    Raises ValueError if the panels have different shapes, or if the gain of the pixels is unknown.
    """
    photons = _panels(frame, _export.photons(frame))
    root = numpy.sqrt(numpy.maximum(photons, 0) + numpy.float32(0.375))
    good = _panels(frame, frame.experiment.mask) == 0
    return numpy.stack([_above_surroundings(panel, use) for panel, use in zip(root, good)])


def _above_surroundings(root: Array, good: Array) -> Array:
    """Returns an image minus its mean around each pixel.  The second mean is without the pixels of spots."""
    mean = _mean_around(root, good)
    mean = _mean_around(root, good & (root < mean + _SPOT))
    above: Array = numpy.where(good, root - mean, 0).astype("f4")
    return above


def _mean_around(image: Array, good: Array) -> Array:
    """Returns the mean of the good pixels in a square around each pixel."""
    total, number = _sum_around(numpy.where(good, image, 0.0)), _sum_around(good.astype("f8"))
    mean: Array = total / numpy.maximum(number, 1)
    return mean


def _sum_around(image: Array) -> Array:
    """Returns the sum of a square of 2 _AROUND + 1 pixels around each pixel."""
    for axis, size in enumerate(image.shape):
        sums = numpy.concatenate([numpy.zeros_like(image.take([0], axis)), image.cumsum(axis)], axis)
        at = numpy.arange(size)
        image = sums.take(numpy.minimum(at + _AROUND + 1, size), axis) - sums.take(numpy.maximum(at - _AROUND, 0), axis)
    return image


def target(frame: Frame, visible: float = 5.0) -> Array:
    """Returns what the network should find: (panels, slow, fast), float32, 1 in pixels of visible reflections and 0 elsewhere.

    Arguments:
        visible: reflections with z above this number are visible, see Frame.reflections.

    Raises ValueError if the frame has no labels.
    """
    if frame.labels is None or frame.reflections is None:
        raise ValueError(f"frame {frame.number} has no labels: use the options reflections=1 and labels=True")
    seen = numpy.concatenate([[False], frame.reflections["z"] > visible])
    return _panels(frame, seen[frame.labels].astype("f4"))


def _panels(frame: Frame, image: Array) -> Array:
    if len(frame.experiment.shape) == 1:
        raise ValueError(f"frame {frame.number} has panels of different shapes; expected equal shapes, because they become one array")
    return image.reshape(-1, *frame.experiment.panels[0].shape)


def samples(frames: Iterable[Frame], visible: float = 5.0) -> list[tuple[Array, Array]]:
    """Returns (input, target) of each panel of each frame, see network_input and target."""
    return [pair for frame in frames for pair in zip(network_input(frame), target(frame, visible))]


def train(pairs: list[tuple[Array, Array]], steps: int = 600, *, width: int = 8, seed: int = 1, size: int = 96, batch: int = 8,
          watch: Callable[[int, float], None] | None = None) -> UNet:
    """Trains a network.

    Arguments:
        pairs: (input, target) images, see samples.
        steps: number of steps.  The learning rate falls to 0 until the last one.
        width: see UNet.
        seed: the same seed, samples and version of PyTorch give the same network with one thread.
        size: edge of the square parts of images that are used for training, in pixels.
        batch: number of such parts in a step.
        watch: function that is called with the number of each step and its loss.

    On processors that other programs use too, torch.set_num_threads(1) is faster than several threads.

    Raises ValueError if no reflection is visible, or if an image is smaller than 8 pixels.
    """
    size = min([size, *(edge // 4 * 4 for image, _ in pairs for edge in image.shape)])
    if size < 8 or not any(mask.any() for _, mask in pairs):
        raise ValueError("the samples have no visible reflection. Use more fluence or larger crystals" if size >= 8 else
                         f"images of {size} pixels are too small; expected 8 or more")
    torch.manual_seed(seed)
    draw = numpy.random.default_rng(seed)
    net = UNet(width)
    loss_of = nn.BCEWithLogitsLoss(pos_weight=torch.tensor(_WEIGHT))
    optimizer = torch.optim.Adam(net.parameters(), _RATE)
    for step in range(steps):
        for group in optimizer.param_groups:
            group["lr"] = _RATE * (1 - step / steps)
        image, mask = (torch.from_numpy(numpy.stack(one)[:, None]) for one in zip(*(_part(pairs, size, draw) for _ in range(batch))))
        loss = loss_of(net(image), mask)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if watch:
            watch(step, float(loss))
    return net.eval()


def _part(pairs: list[tuple[Array, Array]], size: int, draw: numpy.random.Generator) -> tuple[Array, Array]:
    """Returns a random square of a random image, mirrored at random.  Most squares contain a spot."""
    while True:
        image, mask = pairs[draw.integers(len(pairs))]
        s, f = (int(draw.integers(0, n - size + 1)) for n in image.shape)
        part = numpy.s_[s:s + size, f:f + size]
        if mask[part].any() or draw.random() < _EMPTY:
            slow, fast = (int(draw.integers(2)) * 2 - 1 for _ in range(2))
            return image[part][::slow, ::fast].copy(), mask[part][::slow, ::fast].copy()


def find(net: UNet, frame: Frame, threshold: float = 0.3) -> Array:
    """Returns the spots of a frame: rows of fast, slow, panel and score.

    A spot is a maximum of the probability above the threshold.  Its position is the centroid of the
    signal around it, in pixels from the corner of the panel, as braggpipe.score expects.

    Arguments:
        net: a trained network.
        threshold: least probability of a spot.  A higher threshold gives fewer false spots and fewer spots.
    """
    rows = []
    for number, image in enumerate(network_input(frame)):
        logits = _logits(net, image)
        peak = nn.functional.max_pool2d(logits[None, None], 5, 1, 2)[0, 0]
        limit = float(numpy.log(threshold / (1 - threshold)))
        for s, f in ((logits == peak) & (logits > limit)).nonzero().tolist():
            rows.append((*_centroid(image, s, f), number, float(torch.sigmoid(logits[s, f]))))
    return numpy.array(rows, "f8").reshape(-1, 4)


def _logits(net: UNet, image: Array) -> torch.Tensor:
    """Returns the logits of an image of any size."""
    pad = [(0, -n % 4) for n in image.shape]
    with torch.no_grad():
        whole = net(torch.from_numpy(numpy.pad(image, pad))[None, None])[0, 0]
    return whole[:image.shape[0], :image.shape[1]].contiguous()


def _centroid(image: Array, s: int, f: int) -> tuple[float, float]:
    """Returns fast and slow of the centroid of 5 x 5 pixels around a pixel."""
    s0, f0 = max(s - 2, 0), max(f - 2, 0)
    around = image[s0:s + 3, f0:f + 3]
    weight = numpy.maximum(around, 0) ** 2  # about the photons above the background
    if not weight.any():
        return f + 0.5, s + 0.5
    slow, fast = numpy.indices(around.shape) + 0.5
    return float(f0 + (weight * fast).sum() / weight.sum()), float(s0 + (weight * slow).sum() / weight.sum())


def save(net: UNet, path: str) -> None:
    """Writes a network to a file."""
    torch.save({"braggpipe.unet": 1, "width": net.width, "state": net.state_dict()}, path)


def load(path: str) -> UNet:
    """Reads a network from a file of save.  Raises ValueError if the file is something else."""
    try:
        stored = torch.load(path, weights_only=True)  # a file from elsewhere runs no code
        net = UNet(stored["width"])
        net.load_state_dict(stored["state"])
    except (EOFError, KeyError, RuntimeError, TypeError, pickle.UnpicklingError) as error:
        raise ValueError(f"{path}: is no network of braggpipe.unet train") from error
    return net.eval()


def write_peaks(spots: Iterable[tuple[int, Array]], path: str) -> None:
    """Writes (frame number, spots) as a table of peaks for bragg-score.  The score of a frame is its number of spots."""
    with open(path, "w", encoding="ascii") as file:
        print("frame", "panel", "fast", "slow", "probability", "score", sep="\t", file=file)
        for number, rows in spots:
            for fast, slow, panel, score in rows:
                print(number, int(panel), f"{fast:.3f}", f"{slow:.3f}", f"{score:.4f}", len(rows), sep="\t", file=file)
            if not len(rows):
                print(number, "-", "-", "-", "-", 0, sep="\t", file=file)


# --- the commands ---------------------------------------------------------------


def main() -> None:
    """Runs the commands of this module."""
    options = _parser().parse_args()
    torch.set_num_threads(options.threads)
    _export.run("braggpipe.unet", lambda: _train(options) if options.command == "train" else _find(options))


def _parser() -> _export.Parser:
    parser = _export.Parser(prog="braggpipe.unet", description="Trains a small network that finds spots, and finds spots with it.",
                            epilog="See braggpipe-training(7).")
    commands = parser.add_subparsers(dest="command", required=True, metavar="train|find")
    one = commands.add_parser("train", help="train a network")
    one.add_argument("source", metavar="SOURCE", help="frames with labels: a recording, or a shell pipeline with bragg-intensity --reflections --labels")
    one.add_argument("net", metavar="NET", help="file of the network")
    one.add_argument("--steps", type=_export.count, default=600, metavar="N", help="number of training steps (600)")
    one.add_argument("--visible", type=float, default=5.0, metavar="Z", help="learn the reflections with z above Z (5)")
    one.add_argument("--width", type=_export.count, default=8, metavar="N", help="number of features of the first level (8)")
    one.add_argument("--seed", type=int, default=1, metavar="N", help="seed of all random numbers (1)")
    two = commands.add_parser("find", help="write the spots of frames")
    two.add_argument("net", metavar="NET", help="file of the network")
    two.add_argument("source", metavar="SOURCE", help="frames: a recording, an NXmx file or a shell pipeline")
    two.add_argument("peaks", metavar="PEAKS", help="table for bragg-score, PEAKS.tsv")
    two.add_argument("--threshold", type=_fraction, default=0.3, metavar="P", help="least probability of a spot, between 0 and 1 (0.3)")
    for command in (one, two):
        command.add_argument("--threads", type=_export.count, default=1, metavar="N", help="threads of PyTorch (1)")
    return parser


def _fraction(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0.0
    if not 0 < number < 1:
        raise argparse.ArgumentTypeError(f"is not between 0 and 1 (got {text})")
    return number


def _show(step: int, loss: float) -> None:
    if (step + 1) % 100 == 0:
        print(f"step {step + 1}: loss {loss:.4f}", file=sys.stderr)


def _train(options: argparse.Namespace) -> None:
    with _export.new_file(options.net) as part:
        with open_frames(options.source) as frames:
            pairs = samples(frames, options.visible)
        net = train(pairs, options.steps, width=options.width, seed=options.seed, watch=_show if sys.stderr.isatty() else None)
        save(net, part)
    print(f"{options.net}: trained with {len(pairs)} images in {options.steps} steps")


def _find(options: argparse.Namespace) -> None:
    net = load(options.net)
    with _export.new_file(options.peaks) as part, open_frames(options.source) as frames:
        spots = [(frame.number, find(net, frame, options.threshold)) for frame in frames]
        write_peaks(spots, part)
    print(f"{options.peaks}: {sum(len(rows) for _, rows in spots)} spots in {len(spots)} frames")


if __name__ == "__main__":
    main()

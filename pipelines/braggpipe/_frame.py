"""What a frame is to Python: pixels, the truth about them, and the experiment."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy
import numpy.typing

from braggpipe._wire import TYPES, Keys

Array = numpy.typing.NDArray[Any]

_ROW: Any = {"fast": "<f8", "slow": "<f8", "photons": "<f8", "phi": "<f8", "s": "<f8", "lattice": "<i4", "h": "<i4",
             "k": "<i4", "l": "<i4", "panel": "<i4", "pixels": "<i4", "peak": "<f4", "F2": "<f4", "background": "<f4"}
ROW = numpy.dtype({"names": list(_ROW), "formats": list(_ROW.values()), "itemsize": 80,
                   "offsets": [*range(0, 40, 8), *range(40, 76, 4)]})  #: of Frame.reflections


@dataclasses.dataclass(frozen=True)
class Panel:
    """A flat part of the detector.  Pixel (slow, fast) covers origin_m + (fast..fast+1) fast + (slow..slow+1) slow."""

    shape: tuple[int, int]  #: pixels along slow and fast
    first_pixel: int  #: of the frame's pixels, those of this panel begin here
    pixel_m: float  #: edge of a pixel, m
    origin_m: Array  #: (3,) where its first pixel's corner is, m, in the lab; the crystal is at 0
    fast: Array  #: (3,) unit vector along a row
    slow: Array  #: (3,) unit vector from row to row


@dataclasses.dataclass(frozen=True)
class Crystal:
    """One of the crystals that an experiment knows."""

    name: str
    cell: Array  #: (6,) a, b, c in A; alpha, beta, gamma in deg
    ncells: Array  #: (3,) unit cells along a, b, c


@dataclasses.dataclass(frozen=True)
class Lattice:
    """A crystal as it stood in the beam.  Vectors are in the lab, see Experiment."""

    crystal: int  #: which of Experiment.crystals
    name: str
    cell: Array  #: (6,) a, b, c in A; alpha, beta, gamma in deg
    rotation: Array  #: (3, 3) U: turns vectors of the crystal into those of the lab, before the spindle turns
    reciprocal_A: Array  #: (3, 3) rows a*, b*, c* in 1/A, before the spindle turns: hkl @ reciprocal_A is q
    weight: float  #: factor on the intensity


@dataclasses.dataclass(frozen=True)
class Truth:
    """How a frame was made."""

    seed: int
    wavelength_A: float  #: mean of what this frame's beam holds, A
    fluence: float  #: relative to Experiment.fluence_ph_m2
    phi_deg: float  #: where the spindle stood at the start, deg
    osc_deg: float  #: how far it turned, deg
    lattices: list[Lattice]  #: empty: a blank frame
    shift_m: Array  #: (3,) how far the detector stands from where the experiment has it, in the lab
    cell: int | None = None  #: of the memory that keeps the frame, as an AGIPD's; None: the detector has none


def _matrix(numbers: Sequence[float]) -> Array:
    return numpy.array(numbers, "f8").reshape(3, 3)


@dataclasses.dataclass(frozen=True, eq=False)
class Experiment:
    """What all frames of a run share.

    The lab is right-handed and has the crystal at its origin; which way its axes point is the convention's matter
    (mosflm, the default: the beam travels along x, the spindle is z), so take `beam`, `spindle` and the panels' vectors.
    """

    panels: list[Panel]
    crystals: list[Crystal]
    wavelength_A: float  #: A
    fluence_ph_m2: float  #: photons per square metre and frame
    beam: Array  #: (3,) unit vector of propagation
    spindle: Array  #: (3,) unit vector that the crystal is turned about, right-handed
    lineage: str  #: the same for all frames made in the same way
    history: str  #: a line for each stage: its name and options
    keys: Keys  #: all that bragg-wire(5) says; of a file: nothing

    def __getstate__(self) -> dict[str, Any]:
        """The fields alone: what else is kept here follows from them, and may be large."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @cached_property
    def count(self) -> int:
        """Pixels of a frame."""
        return sum(panel.shape[0] * panel.shape[1] for panel in self.panels)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Of Frame.image: (slow, fast), (panels, slow, fast), or (count,) where panels differ."""
        shapes = {panel.shape for panel in self.panels}
        if len(shapes) > 1:
            return (self.count,)
        (shape,) = shapes
        return shape if len(self.panels) == 1 else (len(self.panels), *shape)

    @cached_property
    def places(self) -> tuple[tuple[int, int], Array]:
        """Of Frame.assembled: its shape, and for each pixel of the frame its place in it."""
        first = self.panels[0]
        spots = []
        for panel in self.panels:
            s, f = numpy.mgrid[0:panel.shape[0], 0:panel.shape[1]].reshape(2, -1, 1) + 0.5
            at = (panel.origin_m - first.origin_m + panel.pixel_m * (f * panel.fast + s * panel.slow)) / first.pixel_m
            spots.append(numpy.floor(at @ numpy.stack([first.slow, first.fast], 1) + 1e-6).astype(int))
        spot = numpy.concatenate(spots)
        spot -= spot.min(0)
        rows, columns = (int(n) + 1 for n in spot.max(0))
        return (rows, columns), spot[:, 0] * columns + spot[:, 1]


class Frame:
    """A frame.

    .image is read only, and may lie in memory that the pipeline waits for: who keeps many frames copies what they need;
    copies are made anyway when more than a few are kept.

    Frames can be pickled and copied, and so pass between processes (multiprocessing.Pool, PyTorch's DataLoader).  The copy owns
    its pixels and holds the truth.
    """

    def __init__(self, number: int, experiment: Experiment, pixels: Array, recipe: Callable[[], Truth], is_adu: bool,
                 reflections: Array | None = None, labels: Array | None = None,
                 derivatives: Mapping[str, Array] | None = None, F_derivatives: tuple[Array, Array] | None = None,
                 derivative_pixels: Array | None = None) -> None:
        self.number = number  #: its number in the run
        self.experiment = experiment
        self.pixels = pixels  #: (count,) all pixels, panel after panel: float32, uint16, uint32 or int32
        self.unit = "ADU" if is_adu else "photons"  #: of the pixels
        #: (rows,) one a reflection, ascending by lattice, h, k, l; with the columns of bragg-wire(5): lattice, h, k, l,
        #: panel, fast, slow (centroid, px: pixel i covers i to i + 1), photons, peak, pixels, phi (deg), s (1/A), F2,
        #: background.  None: nobody asked bragg-intensity for --reflections
        self.reflections = reflections
        #: (pixels, values): by the structure factors of .reflections, row after row, of as many pixels as column pixels says:
        #: items of .pixels, uint32, and photons per electron, float32.  None without bragg-intensity --derivatives=F
        self.F_derivatives = F_derivatives
        self._labels, self._derivatives, self._derivative_pixels = labels, derivatives, derivative_pixels
        self._recipe = recipe

    def __getstate__(self) -> dict[str, Any]:
        """All that the frame is, in memory of its own: shared memory would be used again under the copy."""
        derivatives = None if self._derivatives is None else {name: numpy.array(one) for name, one in self._derivatives.items()}
        arrays = {name: None if one is None else numpy.array(one) for name, one in self._arrays().items()}
        F_derivatives = None if self.F_derivatives is None else tuple(numpy.array(one) for one in self.F_derivatives)
        return {"number": self.number, "experiment": self.experiment, "unit": self.unit, "truth": self.truth,
                "F_derivatives": F_derivatives, "_derivatives": derivatives, **arrays}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        truth = self.truth
        self._recipe = lambda: truth
        for one in [*self._arrays().values(), *(self.F_derivatives or ()), *(self._derivatives or {}).values()]:
            if one is not None:
                one.flags.writeable = False

    def _arrays(self) -> dict[str, Array | None]:
        return {name: getattr(self, name) for name in ("pixels", "reflections", "_labels", "_derivative_pixels")}

    def __repr__(self) -> str:
        return f"<braggpipe.Frame {self.number}: {' x '.join(map(str, self.image.shape))} {self.image.dtype} {self.unit}>"

    @property
    def image(self) -> Array:
        """The pixels as (slow, fast); (panels, slow, fast) for several panels of one shape; (count,) for others."""
        return self.pixels.reshape(self.experiment.shape)

    @property
    def analog(self) -> Array:
        """The analog plane of raw words of 32 bits, as bragg-noise --words=agipd makes them: uint16, of the shape of .image."""
        return self._half(0)

    @property
    def gain(self) -> Array:
        """The gain plane likewise, which tells the stage that a pixel is in."""
        return self._half(1)

    def _half(self, which: int) -> Array:
        if self.pixels.dtype != numpy.dtype("<u4"):
            raise ValueError(f"a frame of {self.pixels.dtype}, not of raw words of 32 bits: bragg-noise --gain-switching --words=agipd")
        return self.pixels.view("<u2")[which::2].reshape(self.experiment.shape)

    @property
    def labels(self) -> Array | None:
        """For each pixel of .image the row, from 1, of the reflection that gives it most photons, 0: none; None without
        bragg-intensity --labels."""
        return None if self._labels is None else self._labels.reshape(self.experiment.shape)

    @cached_property
    def derivatives(self) -> dict[str, Array] | None:
        """Derivatives of the expected photons, as the crystals scatter them, by parameters: of the shape of .image, float32,
        photons per unit that bragg-intensity(1) names.  None without bragg-intensity --derivatives."""
        if self._derivatives is None:
            return None
        return {name: self._whole(plane).reshape(self.experiment.shape) for name, plane in self._derivatives.items()}

    @property
    def sparse_derivatives(self) -> tuple[Array, Mapping[str, Array]] | None:
        """(pixels, values by parameter): of bragg-intensity --near-spots, items of .pixels, uint32, and the derivatives there,
        float32; .derivatives, which are 0 elsewhere, take as much memory as images.  None where .derivatives are of all pixels."""
        if self._derivatives is None or self._derivative_pixels is None:
            return None
        return self._derivative_pixels, self._derivatives

    def _whole(self, values: Array) -> Array:
        """Of all pixels."""
        if self._derivative_pixels is None:
            return values
        whole = numpy.zeros(self.experiment.count, "<f4")
        whole[self._derivative_pixels] = values
        whole.flags.writeable = False
        return whole

    def F_vjp(self, weights: Any) -> Array:
        """(rows,): for each row of .reflections the sum over pixels of weights, of the shape of .image, times the derivatives
        by its structure factor |F|: the gradient by F of a function of the image whose derivatives by pixels are the weights."""
        if self.F_derivatives is None or self.reflections is None:
            raise ValueError("a frame without derivatives by F: bragg-intensity --derivatives=F")
        given: Array = numpy.asarray(weights, "f8")
        if given.shape != self.experiment.shape:
            raise ValueError(f"weights have the shape {given.shape}, must have {self.experiment.shape}")
        pixels, values = self.F_derivatives
        rows = numpy.repeat(numpy.arange(self.reflections.size), self.reflections["pixels"])
        return numpy.bincount(rows, given.ravel()[pixels] * values, self.reflections.size)

    @property
    def panels(self) -> list[Array]:
        """(slow, fast) of each panel, parts of .pixels."""
        return [self.pixels[p.first_pixel:p.first_pixel + p.shape[0] * p.shape[1]].reshape(p.shape)
                for p in self.experiment.panels]

    @property
    def assembled(self) -> Array:
        """All panels in one image (slow, fast), at the places that they have on the first one's plane; 0 between them."""
        if len(self.experiment.panels) == 1:
            return self.image
        shape, places = self.experiment.places
        whole = numpy.zeros(shape[0] * shape[1], self.pixels.dtype)
        whole[places] = self.pixels
        return whole.reshape(shape)

    @cached_property
    def truth(self) -> Truth:
        """How the frame was made."""
        return self._recipe()


# --- from messages ------------------------------------------------------------


def _cell(crystal: Keys) -> Array:
    if crystal["has_cell"]:
        return numpy.concatenate([crystal["cell_A"], numpy.degrees(crystal["cell_rad"])])
    return _cell_of(_matrix(crystal["reciprocal_A"]))


def _own_cell(cell: Array, reciprocal_A: Array) -> Array:
    """Of a lattice: that of its crystal, unless its vectors say otherwise."""
    own = _cell_of(reciprocal_A)
    return cell if numpy.allclose(own, cell, rtol=1e-8, atol=0) else own


def _cell_of(reciprocal_A: Array) -> Array:
    if not numpy.linalg.det(reciprocal_A):
        return numpy.full(6, numpy.nan)
    a, b, c = numpy.linalg.inv(reciprocal_A).T
    edges = [float(numpy.linalg.norm(v)) for v in (a, b, c)]
    cosines = [b @ c / edges[1] / edges[2], a @ c / edges[0] / edges[2], a @ b / edges[0] / edges[1]]
    return numpy.array([*edges, *numpy.degrees(numpy.arccos(cosines))])


def experiment_of(keys: Keys) -> Experiment:
    """What the map of an experiment says."""
    panels = [Panel((p["slow_pixels"], p["fast_pixels"]), p["first_pixel"], p["pixel_m"], numpy.array(p["origin_m"]),
                    numpy.array(p["fast"]), numpy.array(p["slow"])) for p in keys["panels"]]
    crystals = [Crystal(c["name"], _cell(c), numpy.array(c["cells"])) for c in keys["crystals"]]
    beam = keys["beam"]
    return Experiment(panels, crystals, beam["wavelength_m"] * 1e10, beam["fluence_ph_m2"], numpy.array(beam["direction"]),
                      numpy.array(keys["spindle"]), keys["lineage"], keys["history"], keys)


def _memory_cell(number: int, pulses: Keys) -> int | None:
    return number % (pulses["train_pulses"] or 1) if pulses.get("has_cells") else None


def _truth(recipe: Keys, payload: Sequence[Any], experiment: Experiment) -> Truth:
    wavelength_A, fluence = experiment.wavelength_A, 1.0
    if recipe["nsources"]:
        sources = numpy.frombuffer(payload[recipe["sources"]], "<f8").reshape(-1, 5)
        fluence = float(sources[:, 4].mean())
        wavelength_A = float(numpy.average(sources[:, 3], weights=sources[:, 4] if fluence else None)) * 1e10
    lattices = []
    for one in recipe["lattices"]:
        crystal, reciprocal_A = experiment.crystals[one["crystal"]], _matrix(one["reciprocal_A"])
        lattices.append(Lattice(one["crystal"], crystal.name, _own_cell(crystal.cell, reciprocal_A), _matrix(one["rotation"]),
                                reciprocal_A, one["weight"]))
    return Truth(recipe["seed"], wavelength_A, fluence, float(numpy.degrees(recipe["phi_rad"])),
                 float(numpy.degrees(recipe["osc_rad"])), lattices, numpy.array(recipe.get("shift_m", [0.0] * 3), "f8"),
                 _memory_cell(recipe["id"], experiment.keys.get("pulse_ids", {})))


def _reflections(keys: Keys | None, payload: Sequence[Any]) -> tuple[Array | None, Array | None]:
    """Rows and labels."""
    if keys is None:
        return None, None
    rows, labels = (b"" if keys[name] is None else payload[keys[name]] for name in ("rows", "labels"))
    return numpy.frombuffer(rows, ROW), numpy.frombuffer(labels, "<u4") if keys["nlabels"] else None


def _F_derivatives(keys: Keys | None, payload: Sequence[Any]) -> tuple[Array, Array] | None:
    """Pixels of rows, and values."""
    if keys is None or "slopes" not in keys:
        return None
    pixels, values = (b"" if keys[name] is None else payload[keys[name]] for name in ("pixels", "slopes"))
    return numpy.frombuffer(pixels, "<u4"), numpy.frombuffer(values, "<f4")


def _array(part: int | None, payload: Sequence[Any], dtype: str) -> Array:
    return numpy.frombuffer(b"" if part is None else payload[part], dtype)


def _derivatives(keys: Keys, payload: Sequence[Any], count: int) -> tuple[dict[str, Array] | None, Array | None]:
    """Values, and of which pixels; None: of all."""
    planes, listed = keys.get("planes"), keys.get("planes_pixels")
    if planes is None:
        return None, None
    arrays = {one["name"]: _array(one["values"], payload, "<f4") for one in planes}
    pixels = None if listed is None else _array(listed["numbers"], payload, "<u4")
    if pixels is not None and pixels.size and not (numpy.diff(pixels.astype("i8"), append=count) > 0).all():
        raise ValueError("planes with a list of pixels that does not ascend within the image")
    size = count if pixels is None else pixels.size
    if len(arrays) != len(planes) or any(one.size != size for one in arrays.values()):
        raise ValueError("planes twice the same, or of another size than the image or their list of pixels")
    return arrays, pixels


def frame_of(number: int, keys: Keys, payload: Sequence[Any], experiment: Experiment, pixels: Array | None = None) -> Frame:
    """What a message says.  `pixels`, where they are given, lie in shared memory."""
    image, recipe = keys["image"], keys["recipe"]
    if pixels is None and image["pixels"] is None:
        pixels = numpy.zeros(0, "<f4")
    elif pixels is None:
        pixels = numpy.frombuffer(payload[image["pixels"]], TYPES[image["type"]])
    if image["count"] and not pixels.size == image["count"] == experiment.count:
        raise ValueError(f"frame {number} has {pixels.size} pixels, must have {experiment.count}")
    pixels.flags.writeable = False
    derivatives, listed = _derivatives(keys, payload, experiment.count)
    arrays = [None, *payload[1:]] if image["pixels"] == 0 else list(payload)  # the truth does not hold the pixels
    return Frame(number, experiment, pixels, lambda: _truth(recipe, arrays, experiment), image["unit"] == 1,
                 *_reflections(keys.get("reflections"), payload), derivatives,
                 _F_derivatives(keys.get("reflections"), payload), listed)


# --- sources of frames --------------------------------------------------------


class Loop:
    """An iterator over frames."""

    def __init__(self, frames: Iterator[Frame]) -> None:
        self._frames = frames

    def __iter__(self) -> Loop:
        return self

    def __next__(self) -> Frame:
        return next(self._frames)

    def __reduce__(self) -> Any:
        raise TypeError("a loop over frames cannot be pickled or copied: pickle its frames, or call braggpipe.open in the other "
                        "process")


class Frames:
    """Frames, one after the other: what braggpipe.open gives.

    Use it in a for loop; however the loop is left, what runs for it is stopped.  `with` and close() do the same.
    """

    @property
    def experiment(self) -> Experiment:
        """Of all frames; waits until it is known."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Frame]:
        raise NotImplementedError

    def close(self) -> None:
        """Stops what runs, and gives back what is held."""

    def __enter__(self) -> Frames:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

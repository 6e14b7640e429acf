"""Frames in Python: a frame has pixels, their ground truth, and the experiment of the run."""
from __future__ import annotations

import collections
import copy
import dataclasses
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import numpy
import numpy.typing

from braggpipe._wire import TYPES, Keys

Array = numpy.typing.NDArray[Any]

WIRE_ROW = numpy.dtype([*((name, "<f8") for name in ("fast", "slow", "photons", "phi", "s")),
                        *((name, "<i4") for name in ("lattice", "h", "k", "l", "panel", "pixels")),
                        *((name, "<f4") for name in ("peak", "F2", "background", "z", "wavelength")),
                        ("orders", "<i4")])  # of a message, see bragg-wire(5)
_NAMES: list[str] = [*(WIRE_ROW.names or ())]
WIRE_ROW_BEFORE = numpy.dtype([(name, WIRE_ROW[name]) for name in _NAMES[:-2]])  # of previous versions
ROW = numpy.dtype([*((name, WIRE_ROW[name]) for name in _NAMES[:-4]), ("background", "<f8"), ("z", "<f8"), ("wavelength", "<f8"),
                   ("orders", "<i4")])  #: type of a row of Frame.reflections
_WORD_OF_REASONS = numpy.array([1] + [2 * (k & 1) + 8 * (k & 2) + 64 * (k & 4) for k in range(1, 8)], "<u4")  # see Experiment.mask
_HC_EV_A = 12398.419843320026  # photon energy in eV times wavelength in A (CODATA 2018, exact)


@dataclasses.dataclass(frozen=True)
class Panel:
    """A flat panel of the detector.

    Pixel (i, j), for slow and fast, covers the points

        origin_m + pixel_m * ((j..j+1) * fast + (i..i+1) * slow)

    Vectors are in the laboratory frame, see Experiment.  Positions in pixels count from the corner
    of the panel: pixel i covers i to i + 1, and its centre is i + 0.5.  Such positions are `beam`, and
    the columns fast and slow of Frame.reflections.

    Attributes:
        shape: number of pixels along slow and fast.
        first_pixel: index of the first pixel of this panel in Frame.pixels.
        pixel_m: edge of a pixel, m.
        origin_m: (3,) corner of the first pixel, where slow = fast = 0, m; the crystal is at 0.
        fast: (3,) unit vector along a row.
        slow: (3,) unit vector from row to row.
        beam: (2,) fast and slow position in pixels where the direct beam meets the plane of the
            panel.  Other panels may contain this point.  NaN: the beam does not meet the plane.
    """

    shape: tuple[int, int]
    first_pixel: int
    pixel_m: float
    origin_m: Array
    fast: Array
    slow: Array
    beam: Array


@dataclasses.dataclass(frozen=True)
class Crystal:
    """One of the crystal forms of an experiment.

    Attributes:
        name: name of the crystal form.
        cell: (6,) unit cell: a, b, c in A; alpha, beta, gamma in deg.
        ncells: (3,) number of unit cells along a, b, c.
    """

    name: str
    cell: Array
    ncells: Array


@dataclasses.dataclass(frozen=True)
class Lattice:
    """One crystal in the beam, with its orientation.

    Vectors are in the laboratory frame, see Experiment.  Orientations are those before the spindle
    rotates.

    Attributes:
        crystal: index into Experiment.crystals.
        name: name of the crystal form.
        cell: (6,) unit cell: a, b, c in A; alpha, beta, gamma in deg.
        rotation: (3, 3) matrix U: rotates vectors of the crystal into the laboratory frame.
        reciprocal_A: (3, 3) rows a*, b*, c* in 1/A: hkl @ reciprocal_A is the vector q.
        weight: factor on the intensity.
        ncells: (3,) number of unit cells along a, b, c: of the crystal form, or of this crystal with
            bragg-orient --vary=size.
        mosaic_deg: mosaic spread of this crystal in degrees: half-width of its domains, or rms in
            closed form.  None without bragg-orient --vary=mosaic or mosaic-rms.
        b_factor_A2: B factor of this crystal beyond that in the structure factors, in A^2.  None without
            bragg-orient --vary=b-factor or resolution.
    """

    crystal: int
    name: str
    cell: Array
    rotation: Array
    reciprocal_A: Array
    weight: float
    ncells: Array
    mosaic_deg: float | None = None
    b_factor_A2: float | None = None


@dataclasses.dataclass(frozen=True)
class Truth:
    """The ground truth of a frame: the parameters with which the frame was simulated.

    Attributes:
        seed: seed of the random numbers of this frame.
        wavelength_A: mean wavelength of this frame, weighted with the spectrum, A.
        fluence: fluence of this frame, relative to Experiment.fluence_ph_m2, which is 1 for NXmx files.
        phi_deg: spindle angle at the start of the frame, deg.
        osc_deg: rotation of the spindle during the frame, deg.
        lattices: crystals in the beam; empty: a blank frame.
        shift_m: (3,) displacement of the detector from its place in the experiment, m.
        matter: amounts of matter that bragg-orient --vary gave this frame: water_m, air_m, ice_m,
            ice_crystal_A and scale, a factor on all matter.  Others are as bragg-background says.
        cell: memory cell of the detector that stores the frame, as in an AGIPD.  None: the detector
            has no memory cells.
    """

    seed: int
    wavelength_A: float
    fluence: float
    phi_deg: float
    osc_deg: float
    lattices: list[Lattice]
    shift_m: Array
    cell: int | None = None
    matter: dict[str, float] = dataclasses.field(default_factory=dict)

    @property
    def energy_eV(self) -> float:
        """Mean photon energy of this frame, eV: h c / wavelength_A."""
        return _HC_EV_A / self.wavelength_A


def _matrix(numbers: Sequence[float]) -> Array:
    return numpy.array(numbers, "f8").reshape(3, 3)


class Words:
    """The words of Experiment.mask, for all pixels of a frame.  They are compressed when they are pickled.

    Arguments:
        make: function that returns the words: (count,), uint32.  It is called when they are needed.
    """

    def __init__(self, make: Callable[[], Array]) -> None:
        self._make = make

    @cached_property
    def flat(self) -> Array:
        words = self._make()
        words.flags.writeable = False
        return words

    def __getstate__(self) -> bytes:
        return zlib.compress(self.flat.data, 1)

    def __setstate__(self, packed: bytes) -> None:
        self.__dict__["flat"] = numpy.frombuffer(zlib.decompress(packed), "<u4")


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Experiment:
    """The parameters that all frames of a run have in common.

    The laboratory frame is a right-handed coordinate system with the crystal at the origin.  The
    directions of its axes depend on the convention.  With mosflm, the default, the beam propagates
    along x and the spindle is z.  Use `beam`, `spindle` and the vectors of the panels, because they
    are right with every convention.

    Attributes:
        panels: panels of the detector.
        crystals: crystal forms.
        wavelength_A: wavelength, A.
        fluence_ph_m2: photons per square metre and frame.
        beam: (3,) unit vector along which the beam propagates.
        spindle: (3,) unit vector of the rotation axis, right-handed; NaN: stills of NXmx.
        lineage: identifier of how the frames were made; equal if stages and options are equal.
        history: one line per stage: its name and its options.
        keys: all keys of the experiment message, see bragg-wire(5); empty for an NXmx file.
        words: content of mask; None: no pixel is masked.
    """

    panels: list[Panel]
    crystals: list[Crystal]
    wavelength_A: float
    fluence_ph_m2: float
    beam: Array
    spindle: Array
    lineage: str
    history: str
    keys: Keys
    words: Words | None = None

    def __repr__(self) -> str:
        pixels = " + ".join(f"{count} of {slow} x {fast}" for (slow, fast), count in
                            collections.Counter(panel.shape for panel in self.panels).items())
        names = ", ".join(crystal.name or "without a name" for crystal in self.crystals)
        return f"<braggpipe.Experiment: panels: {pixels} pixels; {self.wavelength_A:.6g} A; crystals: {names}>"

    def __getstate__(self) -> dict[str, Any]:
        """Returns only the fields.  Cached properties may be large and follow from the fields."""
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @cached_property
    def count(self) -> int:
        """Number of pixels of a frame."""
        return sum(panel.shape[0] * panel.shape[1] for panel in self.panels)

    @cached_property
    def shape(self) -> tuple[int, ...]:
        """Shape of Frame.image.

        (slow, fast) for one panel, (panels, slow, fast) for several panels of equal shape, and
        (count,) for panels of different shapes.
        """
        shapes = {panel.shape for panel in self.panels}
        if len(shapes) > 1:
            return (self.count,)
        (shape,) = shapes
        return shape if len(self.panels) == 1 else (len(self.panels), *shape)

    @cached_property
    def mask(self) -> Array:
        """Why pixels are masked: uint32, shape of Frame.image.  0: the pixel is good.

            experiment = braggpipe.simulate(detector="pilatus-300k", beamstop=2, dead=0.001).experiment
            good = experiment.mask == 0
            print(good.mean())

        A word is a sum, as in the pixel_mask of NXmx files: 1 gap between modules, 2 dead pixel,
        16 noisy or hot pixel, 256 shadow, such as that of a beam stop.  All frames have this mask.
        """
        words = numpy.zeros(self.count, "<u4") if self.words is None else self.words.flat
        words.flags.writeable = False
        return words.reshape(self.shape)

    @cached_property
    def places(self) -> tuple[tuple[int, int], Array]:
        """Layout of Frame.assembled: its shape, and the flat index in it of each pixel."""
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
    """One frame: its image and its ground truth.

        for frame in braggpipe.simulate(frames=3, random=True):
            print(frame.number, frame.image.mean(), frame.truth.lattices[0].rotation)

    .image is read-only and may be in shared memory, which the pipeline uses again when the frame is
    released.  A program that keeps many frames should keep frame.detach(), or copies of the arrays
    that it needs.  If a program keeps more than a few frames, the module copies the pixels of each
    further frame, which costs time.

    .experiment.mask is 0 at the good pixels of .image, and says why the others are masked.

    Frames can be pickled and copied, and therefore passed to other processes
    (multiprocessing.Pool, PyTorch's DataLoader).  The copy has its own pixels and contains the
    ground truth.

    Attributes:
        number: number of the frame in the run.
        experiment: the Experiment of the run.
        pixels: (count,) all pixels, panel after panel: float32, uint16, uint32 or int32.
        unit: unit of the pixels, "ADU" or "photons".
        reflections: (rows,) structured array, one row per reflection, sorted by lattice, h, k, l.
            Columns (see bragg-wire(5)): lattice, h, k, l, panel, fast, slow (centroid in px; pixel i
            covers i to i + 1), photons, peak, pixels, phi (deg), s (1/A), F2, background, and z: the
            photons divided by the noise of their sum over `pixels` (counting, also of overlapping
            reflections, and readout).  A reflection with z above 5 is visible.  wavelength (A) is the
            wavelength of the beam that the reflection diffracts, and orders is the number of rows of its
            lattice on its ray, 1 for a reflection alone; 0 if a recording of a previous version does not
            have them.
            None: use the option reflections=1.
        F_derivatives: (pixels, values), derivatives by the structure factors |F| of .reflections.
            The rows follow each other, each with as many entries as its column `pixels` says.
            pixels: uint32 indices into .pixels; values: float32, photons per electron.
            None: use the option derivatives="F".
    """

    def __init__(self, number: int, experiment: Experiment, pixels: Array, recipe: Callable[[], Truth], is_adu: bool,
                 reflections: Array | None = None, labels: Array | None = None,
                 derivatives: Mapping[str, Array] | None = None, F_derivatives: tuple[Array, Array] | None = None,
                 derivative_pixels: Array | None = None) -> None:
        self.number, self.experiment, self.pixels = number, experiment, pixels
        self.unit = "ADU" if is_adu else "photons"
        self.reflections, self.F_derivatives = reflections, F_derivatives
        self._labels, self._derivatives, self._derivative_pixels = labels, derivatives, derivative_pixels
        self._recipe = recipe

    def detach(self) -> Frame:
        """Returns a copy of the frame that does not use memory of the pipeline.

            frames = [frame.detach() for frame in braggpipe.simulate(frames=3, random=True)]

        The copy has its own pixels and contains the ground truth.
        """
        return copy.copy(self)

    def __getstate__(self) -> dict[str, Any]:
        """Returns the frame with copies of its arrays.

        The pipeline would overwrite shared memory while the copy of the frame still uses it.
        """
        derivatives = None if self._derivatives is None else {name: numpy.array(one) for name, one in self._derivatives.items()}
        arrays = {name: None if one is None else one.copy() for name, one in self._arrays().items()}
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
        """The pixels as an array of the shape Experiment.shape, without a copy.

        The shape is (slow, fast) for one panel, (panels, slow, fast) for several panels of equal
        shape, and (count,) for panels of different shapes.
        """
        return self.pixels.reshape(self.experiment.shape)

    @property
    def analog(self) -> Array:
        """The analog image of raw 32-bit words (bragg-noise --words=agipd): uint16, shape of .image.

        Raises ValueError if the pixels are not raw 32-bit words.
        """
        return self._half(0)

    @property
    def gain(self) -> Array:
        """The gain image of raw 32-bit words, which encodes the gain level: uint16, like .analog.

        Raises ValueError if the pixels are not raw 32-bit words.
        """
        return self._half(1)

    def _half(self, which: int) -> Array:
        if self.pixels.dtype != numpy.dtype("<u4"):
            raise ValueError(f"frame {self.number} has pixels of type {self.pixels.dtype}; expected raw words of 32 bits. "
                             "Use bragg-noise --gain-switching --words=agipd")
        return self.pixels.view("<u2")[which::2].reshape(self.experiment.shape)

    @property
    def labels(self) -> Array | None:
        """Row of .reflections that contributes most photons to each pixel: uint32, shape of .image.

        Rows are counted from 1; 0 means no reflection.  None: bragg-intensity ran without --labels.
        """
        return None if self._labels is None else self._labels.reshape(self.experiment.shape)

    @cached_property
    def derivatives(self) -> dict[str, Array] | None:
        """Derivatives of the expected photons from the crystals, by parameter name.

        Each is a float32 array of the shape of .image, in photons per unit of the parameter; the
        units are listed in bragg-intensity(1).  None: bragg-intensity ran without --derivatives.
        """
        if self._derivatives is None:
            return None
        return {name: self._whole(plane).reshape(self.experiment.shape) for name, plane in self._derivatives.items()}

    @property
    def sparse_derivatives(self) -> tuple[Array, Mapping[str, Array]] | None:
        """Derivatives of bragg-intensity --near-spots as (pixels, values by parameter name).

        pixels: uint32 indices into .pixels.  values: float32 derivatives at these pixels, which are
        0 elsewhere.  They need less memory than .derivatives, which has an image per parameter.
        None: there are no derivatives, or they were computed for all pixels.
        """
        if self._derivatives is None or self._derivative_pixels is None:
            return None
        return self._derivative_pixels, self._derivatives

    def _whole(self, values: Array) -> Array:
        """Returns the values for all pixels: 0 where the sparse derivatives have no value."""
        if self._derivative_pixels is None:
            return values
        whole = numpy.zeros(self.experiment.count, "<f4")
        whole[self._derivative_pixels] = values
        whole.flags.writeable = False
        return whole

    def F_vjp(self, weights: Any) -> Array:
        """Returns the gradient by structure factors (vector-Jacobian product): (rows,), float64.

        Element i is the sum over pixels of `weights` times the derivative by the |F| of row i of
        .reflections, in units of `weights` times photons per electron.  If `weights` are the
        derivatives of a function by the pixels, the result is the gradient of this function by |F|.

        Raises ValueError without bragg-intensity --derivatives=F, or if `weights` do not have the
        shape of .image.
        """
        if self.F_derivatives is None or self.reflections is None:
            raise ValueError(f"frame {self.number} has no derivatives by F. Use bragg-intensity --derivatives=F")
        given: Array = numpy.asarray(weights, "f8")
        if given.shape != self.experiment.shape:
            raise ValueError(f"weights have the shape {given.shape}; expected {self.experiment.shape}, the shape of the image")
        pixels, values = self.F_derivatives
        rows = numpy.repeat(numpy.arange(self.reflections.size), self.reflections["pixels"])
        return numpy.bincount(rows, given.ravel()[pixels] * values, self.reflections.size)

    @property
    def panels(self) -> list[Array]:
        """One array (slow, fast) per panel: views of .pixels."""
        return [self.pixels[p.first_pixel:p.first_pixel + p.shape[0] * p.shape[1]].reshape(p.shape)
                for p in self.experiment.panels]

    @property
    def assembled(self) -> Array:
        """All panels in one image (slow, fast), projected onto the plane of the first panel.

        Pixels in the gaps between panels are 0.
        """
        if len(self.experiment.panels) == 1:
            return self.image
        shape, places = self.experiment.places
        whole = numpy.zeros(shape[0] * shape[1], self.pixels.dtype)
        whole[places] = self.pixels
        return whole.reshape(shape)

    @property
    def stacked(self) -> Array:
        """All panels in one image (slow, fast), one below the other, without a copy.

        Raises:
            ValueError: the panels have different widths.
        """
        widths = {panel.shape[1] for panel in self.experiment.panels}
        if len(widths) > 1:
            raise ValueError(f"panels have widths of {sorted(widths)} pixels; expected one width, because all panels become one array")
        return self.pixels.reshape(-1, *widths)

    @cached_property
    def truth(self) -> Truth:
        """The ground truth: the parameters with which the frame was simulated."""
        return self._recipe()


# --- from messages ------------------------------------------------------------


def _cell(crystal: Keys) -> Array:
    if crystal["has_cell"]:
        return numpy.concatenate([crystal["cell_A"], numpy.degrees(crystal["cell_rad"])])
    return _cell_of(_matrix(crystal["reciprocal_A"]))


def _own_cell(cell: Array, reciprocal_A: Array) -> Array:
    """Returns the cell of a lattice: that of its crystal, unless its reciprocal vectors differ."""
    own = _cell_of(reciprocal_A)
    return cell if numpy.allclose(own, cell, rtol=1e-8, atol=0) else own


def _cell_of(reciprocal_A: Array) -> Array:
    if not numpy.linalg.det(reciprocal_A):
        return numpy.full(6, numpy.nan)
    a, b, c = numpy.linalg.inv(reciprocal_A).T
    edges = [float(numpy.linalg.norm(v)) for v in (a, b, c)]
    cosines = [b @ c / edges[1] / edges[2], a @ c / edges[0] / edges[2], a @ b / edges[0] / edges[1]]
    return numpy.array([*edges, *numpy.degrees(numpy.arccos(cosines))])


def make_panel(shape: tuple[int, int], first_pixel: int, pixel_m: float, origin_m: Array, fast: Array, slow: Array,
               direction: Array) -> Panel:
    """Makes a Panel.  `direction` is the unit vector along which the beam propagates."""
    normal = numpy.cross(fast, slow)
    along = float(direction @ normal)
    distance_m = float(origin_m @ normal) / along if along else -1.0
    met = (distance_m * direction - origin_m) / pixel_m if distance_m > 0 else numpy.full(3, numpy.nan)
    return Panel(shape, first_pixel, pixel_m, origin_m, fast, slow, numpy.array([met @ fast, met @ slow]))


def _words(keys: Keys, payload: Sequence[Any], panels: list[Panel]) -> Words | None:
    """Returns the words of the mask that an experiment message contains."""
    masks = [None if p["mask"] is None else bytes(payload[p["mask"]]) for p in keys["panels"]]
    reasons = None if keys.get("reasons") is None else bytes(payload[keys["reasons"]])
    if not any(masks):
        return None

    def make() -> Array:
        words = numpy.ones(sum(p.shape[0] * p.shape[1] for p in panels), "<u4")
        if reasons is not None:
            words = _WORD_OF_REASONS[numpy.frombuffer(reasons, "u1") & 7]
        for panel, mask in zip(panels, masks):
            part = words[panel.first_pixel:panel.first_pixel + panel.shape[0] * panel.shape[1]]
            part[numpy.frombuffer(mask, "u1") != 0 if mask else slice(None)] = 0
        return words

    return Words(make)


def experiment_of(keys: Keys, payload: Sequence[Any]) -> Experiment:
    """Makes an Experiment from the keys and the payload of an experiment message."""
    beam = keys["beam"]
    panels = [make_panel((p["slow_pixels"], p["fast_pixels"]), p["first_pixel"], p["pixel_m"], numpy.array(p["origin_m"]),
                         numpy.array(p["fast"]), numpy.array(p["slow"]), numpy.array(beam["direction"])) for p in keys["panels"]]
    crystals = [Crystal(c["name"], _cell(c), numpy.array(c["cells"])) for c in keys["crystals"]]
    return Experiment(panels, crystals, beam["wavelength_m"] * 1e10, beam["fluence_ph_m2"], numpy.array(beam["direction"]),
                      numpy.array(keys["spindle"]), keys["lineage"], keys["history"], keys, _words(keys, payload, panels))


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
                                reciprocal_A, one["weight"], numpy.array(one.get("cells", crystal.ncells), "f8"),
                                float(numpy.degrees(one["spread_rad"])) if "spread_rad" in one else None, one.get("b_factor_A2")))
    return Truth(recipe["seed"], wavelength_A, fluence, float(numpy.degrees(recipe["phi_rad"])),
                 float(numpy.degrees(recipe["osc_rad"])), lattices, numpy.array(recipe.get("shift_m", [0.0] * 3), "f8"),
                 _memory_cell(recipe["id"], experiment.keys.get("pulse_ids", {})), dict(recipe.get("matter", {})))


def _reflections(keys: Keys | None, payload: Sequence[Any], experiment: Keys) -> tuple[Array | None, Array | None]:
    """Returns the rows and the labels of a frame message; None for each that is absent."""
    if keys is None:
        return None, None
    rows, labels, pixels = (b"" if keys[name] is None else payload[keys[name]] for name in ("rows", "labels", "pixels"))
    return (rows_of(_wire_rows(rows, keys), experiment, numpy.frombuffer(pixels, "<u4")),
            numpy.frombuffer(labels, "<u4") if keys["nlabels"] else None)


def _wire_rows(rows: Any, keys: Keys) -> Array:
    """Returns the rows of a message.  Raises ValueError if their size is not known."""
    size = keys.get("row_bytes", WIRE_ROW_BEFORE.itemsize)
    if size == WIRE_ROW.itemsize or not keys["count"]:
        return numpy.frombuffer(rows, WIRE_ROW)
    if size != WIRE_ROW_BEFORE.itemsize:
        raise ValueError(f"a message has reflections of {size} bytes; expected {WIRE_ROW.itemsize}. Another version of braggpipe made it")
    wire = numpy.zeros(keys["count"], WIRE_ROW)
    before = numpy.frombuffer(rows, WIRE_ROW_BEFORE)
    for name in WIRE_ROW_BEFORE.names or ():
        wire[name] = before[name]
    return wire


def _others(rows: Array, pixels: Array) -> Array:
    """Returns the photons of other rows in the pixels of each row, if each row has equal photons in all of its pixels."""
    owner = numpy.repeat(numpy.arange(len(rows)), rows["pixels"])
    own = (rows["photons"] / numpy.maximum(rows["pixels"], 1))[owner]
    return numpy.bincount(owner, numpy.bincount(pixels, own)[pixels] - own, len(rows))


def rows_of(wire: Array, experiment: Keys, pixels: Array | None = None) -> Array:
    """Returns the reflections of a message, with z for the readout noise of an experiment if z is 0.

    pixels: the listed pixels of all rows; None or empty: they are not listed.
    """
    rows = wire.astype(ROW)
    readout = experiment.get("readout_adu", 0.0) / abs(experiment.get("gain", 1.0))
    variance = rows["photons"] + rows["background"] + rows["pixels"] * readout ** 2
    if pixels is not None and len(pixels):
        variance = variance + _others(rows, pixels)
    computed = rows["photons"] / numpy.sqrt(variance, where=variance > 0, out=numpy.ones_like(variance))
    rows["z"] = numpy.where(rows["z"] == 0, computed, rows["z"])
    rows.flags.writeable = False
    return rows


def _F_derivatives(keys: Keys | None, payload: Sequence[Any]) -> tuple[Array, Array] | None:
    """Returns (pixels, values), see Frame.F_derivatives; None without derivatives by |F|."""
    if keys is None or "slopes" not in keys:
        return None
    pixels, values = (b"" if keys[name] is None else payload[keys[name]] for name in ("pixels", "slopes"))
    return numpy.frombuffer(pixels, "<u4"), numpy.frombuffer(values, "<f4")


def _array(part: int | None, payload: Sequence[Any], dtype: str) -> Array:
    return numpy.frombuffer(b"" if part is None else payload[part], dtype)


def _derivatives(keys: Keys, payload: Sequence[Any], count: int) -> tuple[dict[str, Array] | None, Array | None]:
    """Returns the values by parameter name, and the indices of their pixels (None: all pixels).

    Raises ValueError if sizes differ, a name appears twice or the indices do not ascend.
    """
    planes, listed = keys.get("planes"), keys.get("planes_pixels")
    if planes is None:
        return None, None
    arrays = {one["name"]: _array(one["values"], payload, "<f4") for one in planes}
    pixels = None if listed is None else _array(listed["numbers"], payload, "<u4")
    if pixels is not None and pixels.size and not (numpy.diff(pixels.astype("i8"), append=count) > 0).all():
        raise ValueError("the pixel indices of the derivative images do not ascend, or are outside the image")
    size = count if pixels is None else pixels.size
    if len(arrays) != len(planes) or any(one.size != size for one in arrays.values()):
        raise ValueError("a derivative image occurs twice, or its size is not that of the image or of the pixel indices")
    return arrays, pixels


def frame_of(number: int, keys: Keys, payload: Sequence[Any], experiment: Experiment, pixels: Array | None = None) -> Frame:
    """Makes a Frame from a frame message.

    `pixels` are the pixels if they are in shared memory; None: they are in `payload`.
    Raises ValueError if the number of pixels is not that of the experiment.
    """
    image, recipe = keys["image"], keys["recipe"]
    if pixels is None and image["pixels"] is None:
        pixels = numpy.zeros(0, "<f4")
    elif pixels is None:
        pixels = numpy.frombuffer(payload[image["pixels"]], TYPES[image["type"]])
    if image["count"] and not pixels.size == image["count"] == experiment.count:
        raise ValueError(f"frame {number} has {pixels.size} pixels; expected {experiment.count}")
    pixels.flags.writeable = False
    derivatives, listed = _derivatives(keys, payload, experiment.count)
    arrays = [None, *payload[1:]] if image["pixels"] == 0 else list(payload)  # the ground truth must not keep the pixels alive
    return Frame(number, experiment, pixels, lambda: _truth(recipe, arrays, experiment), image["unit"] == 1,
                 *_reflections(keys.get("reflections"), payload, experiment.keys), derivatives,
                 _F_derivatives(keys.get("reflections"), payload), listed)


# --- sources of frames --------------------------------------------------------


class Loop:
    """An iterator over frames.  It cannot be pickled."""

    def __init__(self, frames: Iterator[Frame]) -> None:
        self._frames = frames

    def __iter__(self) -> Loop:
        return self

    def __next__(self) -> Frame:
        return next(self._frames)

    def __reduce__(self) -> Any:
        raise TypeError("a loop over frames cannot be pickled or copied. Pickle its frames, or call braggpipe.open in the other "
                        "process")


class Frames:
    """A sequence of frames for a loop: the result of braggpipe.open and braggpipe.simulate.

        with braggpipe.open("lysozyme", set={"orient.frames": 2}) as frames:
            for frame in frames:
                print(frame)

    The programs that were started for the loop are stopped when the loop is left, also by an
    exception.  The end of a `with` block and close() do the same.

    Another loop over the same object gets the frames again: files are read again, and a pipeline
    runs again.  An endpoint gives its frames only once, because the loop did not start the pipeline,
    and has no len().  Otherwise len() is the number of frames.
    """

    @property
    def experiment(self) -> Experiment:
        """The experiment of all frames.  Waits until the experiment has arrived."""
        raise NotImplementedError

    def __iter__(self) -> Iterator[Frame]:
        raise NotImplementedError

    def close(self) -> None:
        """Stops the programs that were started for the loop, and releases files and memory."""

    def __enter__(self) -> Frames:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

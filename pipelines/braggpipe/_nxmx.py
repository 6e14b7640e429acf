"""Reads NXmx files of bragg-write.  Only this module needs h5py."""
from __future__ import annotations

import errno
import functools
import os
from collections.abc import Iterator
from typing import Any

import numpy

from braggpipe._frame import WIRE_ROW, WIRE_ROW_BEFORE, Array, Crystal, Experiment, Frame, Frames, Lattice, Loop, Panel, Truth, Words, make_panel, rows_of
from braggpipe._wire import sum_parts


_LENGTHS_M = {"m": 1.0, "mm": 1e-3, "um": 1e-6}


def _text(value: Any) -> str:
    return value.decode() if isinstance(value, bytes) else str(value)


def _length_m(axis: Any, offset: bool = False) -> float:
    unit = _text(axis.attrs.get("offset_units" if offset else "units", "m"))
    return float(_LENGTHS_M[unit]) if offset else float(numpy.ravel(axis[()])[0]) * _LENGTHS_M[unit]


def _place_m(file: Any, path: str) -> Array:
    """Returns the point (3,), m, to which the chain of transformations at `path` moves the origin."""
    point = numpy.zeros(3)
    while path != ".":
        axis = file[path]
        vector = numpy.array(axis.attrs["vector"], "f8")
        if _text(axis.attrs["transformation_type"]) == "translation":
            point = point + vector * _length_m(axis)
        else:
            turn = numpy.radians(float(numpy.ravel(axis[()])[0]))
            point = (point * numpy.cos(turn) + numpy.cross(vector, point) * numpy.sin(turn) +
                     vector * (vector @ point) * (1 - numpy.cos(turn)))
        point = point + numpy.array(axis.attrs["offset"], "f8") * _length_m(axis, True)
        path = _text(axis.attrs["depends_on"])
    return point


def _require_sources(file: Any, path: str, data: Any) -> None:
    """Raises an exception that names the file if a data file is missing or unreadable.

    HDF5 itself would fill the missing frames of a virtual data set with zeros.
    """
    if not data.is_virtual:
        return
    for name in dict.fromkeys(source.file_name for source in data.virtual_sources()):
        if name == ".":
            continue
        source = os.path.join(os.path.dirname(os.path.abspath(path)), name)
        if not os.path.isfile(source):
            raise FileNotFoundError(errno.ENOENT, f"{path}: the data file of some frames is missing", source)
        try:
            import h5py
            with h5py.File(source, "r") as opened:
                missing = data.name not in opened
        except OSError as error:
            raise OSError(f"{source}: is truncated or corrupt, and cannot be read as HDF5 ({error})") from error
        if missing:
            raise ValueError(f"{source}: the data set {data.name} is missing; {path} refers to it")


MATTER = ("water_m", "air_m", "ice_m", "ice_crystal_A", "scale")  #: columns of /entry/braggpipe/matter


class NXmx(Frames):
    """The frames of an NXmx file, in the order of the file.

    An index in [] counts the frames in this order, from 0.
    The ground truth is read from /entry/braggpipe, which bragg-write stores.  Vectors are converted
    to the laboratory frame of the pipeline.  Truth.fluence is in photons per square metre, because
    Experiment.fluence_ph_m2 is 1.

    Raises ImportError without h5py, and ValueError if the file has no frames of bragg-write.
    """

    def __init__(self, path: str) -> None:
        try:
            import h5py
            try:
                import hdf5plugin  # noqa: F401  (provides the filters without Debian's hdf5-filter-plugin)
            except ImportError:
                pass
        except ImportError as error:
            raise ImportError(f"{path}: reading NXmx files needs the package h5py. Run: pip install h5py (Debian: python3-h5py)") from error
        self.path, self.file = path, h5py.File(path)
        if "entry/braggpipe" not in self.file or "entry/data/data" not in self.file:
            raise ValueError(f"{path}: is not an NXmx file of bragg-write: /entry/braggpipe or /entry/data/data is missing")
        _require_sources(self.file, path, self.file["entry/data/data"])
        self.own = self.file["entry/braggpipe"]
        self.to_lab = numpy.linalg.inv(self.own["lab_to_nexus"][()])
        self._rows = self.own["frames"][()]
        self.numbers: list[int] = self._rows["number"].tolist()  #: numbers of the frames, in the order of the file
        numbers = self.numbers
        moves = self.own["detector_shift"][()] if "detector_shift" in self.own else numpy.zeros((len(numbers), 3))
        self.shift_m = dict(zip(numbers, moves @ self.to_lab.T))  # by frame number
        self.cell = dict(zip(numbers, self.own["cellId"][()].tolist())) if "cellId" in self.own else {}  # memory cell, by frame number
        amounts = self.own["matter"][()].tolist() if "matter" in self.own else [[]] * len(numbers)
        self.matter = {number: {name: value for name, value in zip(MATTER, row) if value == value}
                       for number, row in zip(numbers, amounts)}  # by frame number
        self.first_m = numpy.array(self.shift_m[numbers[0]] if numbers else numpy.zeros(3))
        self._experiment = self._read_experiment()

    def __reduce__(self) -> Any:
        """Pickles only the path: the other process opens the file again."""
        return NXmx, (os.path.abspath(self.path),)

    @functools.cached_property
    def _lattices(self) -> Any:
        """The table of lattices, read once: frames need it after the file is closed."""
        return self.own["lattices"][()]

    @functools.cached_property
    def _sizes(self) -> Any:
        """The unit cells along a, b, c of each lattice, read once.  None: those of its crystal."""
        return self.own["lattice_cells_along_axes"][()] if "lattice_cells_along_axes" in self.own else None

    @functools.cached_property
    def _spreads(self) -> Any:
        """The mosaic spread of each lattice in degrees, read once.  None: that of its crystal."""
        return self.own["lattice_mosaic_spread"][()] if "lattice_mosaic_spread" in self.own else None

    @functools.cached_property
    def _b_factors(self) -> Any:
        """The B factor of each lattice in A^2, read once.  None: lattices have none of their own."""
        return self.own["lattice_b_factor"][()] if "lattice_b_factor" in self.own else None

    @property
    def experiment(self) -> Experiment:
        return self._experiment

    def _panel(self, module: Any) -> Panel:
        """Returns the panel of a module.  The image contains the modules below each other."""
        fast, slow = module["fast_pixel_direction"], module["slow_pixel_direction"]
        corner_m = _place_m(self.file, _text(fast.attrs["depends_on"]))
        (row, _), (rows, columns) = module["data_origin"][()].tolist(), module["data_size"][()].tolist()
        along_fast, along_slow = (self.to_lab @ numpy.array(axis.attrs["vector"], "f8") for axis in (fast, slow))
        return make_panel((rows, columns), row * columns, _length_m(fast), self.to_lab @ corner_m - self.first_m, along_fast, along_slow,
                          self._beam())

    def _beam(self) -> Array:
        return numpy.array(self.to_lab @ numpy.array([0.0, 0.0, 1.0]))

    def _spindle(self) -> Array:
        """Returns the spindle (3,) of a rotation series; NaN for stills."""
        path = _text(self.file["entry/sample/depends_on"][()])
        if path == ".":
            return numpy.full(3, numpy.nan)
        axis = numpy.array(self.file[path].attrs["vector"], "f8")
        step = numpy.ravel(self.file[f"{path}_increment_set"][()])[0] if f"{path}_increment_set" in self.file else 0.0
        if step * self.own["frames"]["rotation_width"][0] < 0:  # bragg-write inverts the axis of a backward rotation
            axis = -axis
        return numpy.array(self.to_lab @ axis)

    def _words(self) -> Words | None:
        """Returns the words of the mask.  They are read now: frames need them after the file is closed."""
        if "entry/instrument/detector/pixel_mask" not in self.file:
            return None
        words: Array = self.file["entry/instrument/detector/pixel_mask"][()].astype("<u4").reshape(-1)
        return Words(lambda: words)

    def _read_experiment(self) -> Experiment:
        wavelengths_A = self.file["entry/instrument/beam/incident_wavelength"][()]
        crystals: list[Crystal] = []
        while f"crystal_{len(crystals)}" in self.own:
            one = self.own[f"crystal_{len(crystals)}"]
            crystals.append(Crystal(_text(one["name"][()]), one["cell"][()], one["cells_along_axes"][()]))
        detector = self.file["entry/instrument/detector"]
        panels = [self._panel(detector[name]) for name in sorted(detector) if name.startswith("module")]
        return Experiment(panels, crystals, float(numpy.mean(wavelengths_A)), 1.0,
                          self._beam(), self._spindle(),
                          _text(self.own["lineage"][()]), _text(self.own["history"][()]), {}, self._words())

    def _truth(self, row: Any) -> Truth:
        table = self._lattices
        crystals = self._experiment.crystals
        lattices = []
        for place in numpy.flatnonzero(table["frame"] == row["number"]):
            one, index = table[place], int(table[place]["crystal"])
            ncells = crystals[index].ncells if self._sizes is None else self._sizes[place]
            lattices.append(Lattice(index, crystals[index].name, numpy.array(one["cell"]),
                                    self.to_lab @ one["orientation"].reshape(3, 3),
                                    (self.to_lab @ one["a_matrix"].reshape(3, 3)).T, float(one["share"]),
                                    numpy.array(ncells, "f8"), None if self._spreads is None else float(self._spreads[place]),
                                    None if self._b_factors is None else float(self._b_factors[place])))
        return Truth(int(row["seed"]), float(row["wavelength"]), float(row["fluence"]),
                     float(row["rotation_start"]), float(row["rotation_width"]), lattices,
                     self.shift_m[int(row["number"])], self.cell.get(int(row["number"])), self.matter[int(row["number"])])

    @functools.cached_property
    def _ends(self) -> Array | None:
        """Row of /entry/reflections after the last row of each frame; None without reflections."""
        if "reflections" not in self.own:
            return None
        counts = self.own["reflections"][()]
        return numpy.cumsum(counts["rows"] if counts.dtype.names else counts, dtype="i8")

    def _reflections(self, index: int) -> Array | None:
        """Returns the reflections of the frame at an index of the file, as in a message; None if there are none."""
        if self._ends is None:
            return None
        first, end = int(self._ends[index - 1]) if index else 0, int(self._ends[index])
        rows = numpy.zeros(end - first, WIRE_ROW)
        table = self.file["entry/reflections"]
        for name in WIRE_ROW.names or ():
            if name in table:  # files of previous versions have no z, wavelength and orders
                rows[name] = table[name][first:end]
        return rows

    @functools.cached_property
    def _sums(self) -> Array | None:
        """Checksums of the images and of the ground truth of each frame; None: the file has none."""
        return self.own["checksums"][()] if "checksums" in self.own else None

    @functools.cached_property
    def _lattice_ends(self) -> Array:
        return numpy.cumsum(self._rows["lattices"], dtype="i8")

    @functools.cached_property
    def _pixel_ends(self) -> Array | None:
        """Pixel of the list of pixels after the last one of each frame; None if no pixels are listed."""
        return numpy.cumsum(self.own["reflections"]["pixels"], dtype="i8") if "reflection_pixels" in self.own else None

    def _truth_parts(self, index: int, rows: Array | None) -> Iterator[Any]:
        """Yields the bytes of the ground truth of a frame, as bragg-write forms their checksum."""
        row = self._rows[index:index + 1].copy()
        row["file"] = 0
        yield row.tobytes()
        end = int(self._lattice_ends[index])
        for place in range(end - int(row["lattices"][0]), end):
            yield self._lattices[place:place + 1].tobytes()
            if self._sizes is not None:
                yield self._sizes[place].tobytes()
            if self._spreads is not None:
                yield self._spreads[place].tobytes()
            if self._b_factors is not None:
                yield self._b_factors[place].tobytes()
        if rows is not None:
            yield rows if not rows.size or rows["orders"][0] else rows[list(WIRE_ROW_BEFORE.names or ())].astype(WIRE_ROW_BEFORE)
        if self._pixel_ends is not None:
            yield self.own["reflection_pixels"][int(self._pixel_ends[index - 1]) if index else 0:int(self._pixel_ends[index])]

    def _check(self, index: int, images: list[Any], rows: Array | None) -> None:
        """Raises ValueError if the frame does not have the checksums with which it was written."""
        if self._sums is None:
            return
        for what, parts, known in zip(("image", "ground truth"), (images, self._truth_parts(index, rows)), self._sums[index]):
            if sum_parts(parts) != known:
                raise ValueError(f"{self.path}: the {what} of frame {self.numbers[index]} is damaged: it has another checksum than when "
                                 "it was written. Write the frame again")

    def _derivatives(self, index: int) -> dict[str, Array] | None:
        """Returns the derivatives of the frame at an index of the file; None if there are none."""
        if "derivatives" not in self.own:
            return None
        names = _text(self.own["derivatives"][()]).split(",")
        planes = {name: self.file["entry/derivatives"][name][index].reshape(-1) for name in names}
        for plane in planes.values():
            plane.flags.writeable = False
        return planes

    def _labels(self, index: int) -> Array | None:
        if "labels" not in self.own:
            return None
        labels: Array = self.own["labels"][index].reshape(-1)
        labels.flags.writeable = False
        return labels

    def __iter__(self) -> Iterator[Frame]:
        return Loop(self._loop())

    def _loop(self) -> Iterator[Frame]:
        for index in range(len(self)):
            yield self[index]

    def __len__(self) -> int:
        return len(self.numbers)

    def __getitem__(self, index: int) -> Frame:
        """Returns the frame at a place in the order of the file, from 0."""
        self._sizes, self._spreads, self._b_factors  # read before the file can be closed
        self._lattices  # read before the file can be closed
        row = self._rows[index]
        index %= len(self)
        pixels = self.file["entry/data/data"][index].reshape(-1)
        pixels.flags.writeable = False
        rows, labels, derivatives = self._reflections(index), self._labels(index), self._derivatives(index)
        self._check(index, [pixels, *(derivatives or {}).values(), *([] if labels is None else [labels])], rows)
        return Frame(int(row["number"]), self._experiment, pixels, functools.partial(self._truth, row), pixels.dtype.kind != "f",
                     None if rows is None else rows_of(rows, self._experiment.keys), labels, derivatives=derivatives)

    def close(self) -> None:
        self.file.close()

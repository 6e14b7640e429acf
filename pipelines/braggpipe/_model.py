"""Model: one image as a function of parameters, with its gradient."""
from __future__ import annotations

import importlib
import os
import shlex
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy

from braggpipe import _live
from braggpipe._frame import Array, Frame
from braggpipe._recording import Recording

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from braggpipe._options import Options

_EDGES, _ANGLES, _ROTATIONS = ["a", "b", "c"], ["alpha", "beta", "gamma"], ["rot_x", "rot_y", "rot_z"]
#: indices into the unit cell (a, b, c, alpha, beta, gamma) that each cell parameter sets
_CELL = {**{f"cell_{name}": [at] for at, name in enumerate([*_EDGES, *_ANGLES])}, "cell_ab": [0, 1], "cell_abc": [0, 1, 2],
         "cell_angles": [3, 4, 5]}
_PLAIN = ["wavelength", "distance", "polarization", "thickness", "absorption", "phi0", "osc", "dispersion", "divergence_h",
          "divergence_v", "fudge", "mosaic"]  #: parameters that have the name of an option
_F_SOURCES = {"hkl", "mtz", "model", "default_F", "crystal", "geometry"}  #: options that give or may give structure factors
_INSTEAD = {"wavelength": ["energy"], "distance": ["close_distance"], "scale": ["flux", "exposure"]}  #: options that set the same quantity; a parameter replaces them


def _write_lysozyme(folder: str) -> str:
    """Writes the structure factors that ship with bragg-geometry as lines h k l F.  Returns the file.

    bragg-geometry takes them only with their own cell, and from a file with any cell.
    """
    recording, path = os.path.join(folder, "experiment.rec"), os.path.join(folder, "lysozyme.hkl")
    subprocess.run(f"bragg-geometry --quiet --detpixels=8 | bragg-tap --quiet --record={shlex.quote(recording)}", shell=True, check=True)
    message = Recording(recording).first
    table = message.keys["crystals"][0]["table"]
    F: Array = numpy.frombuffer(message.payload[table["F"]], "<f8")
    F = F.reshape(table["count"])  # h, k, l
    listed = numpy.argwhere(F)
    numpy.savetxt(path, numpy.column_stack([listed + table["min"], F[tuple(listed.T)]]), "%d %d %d %.9g")
    return path


class Model:
    """The expected photons of one frame as a function of parameters, with derivatives.

    Use it to fit parameters to an image with PyTorch, NumPy or SciPy.

        model = braggpipe.Model("rot,cell,distance", detpixels=256, pixel=0.4, ncells=10,
                                misset=(10, 20, 30), distance=100)
        data = model(model.start + 0.02)                  # float64, of the shape of Frame.image
        image = model(model.start)
        gradient = model.vjp(model.start, image - data)   # of 0.5 * ((image - data) ** 2).sum()
        function = model.torch()                          # tensors in, tensors out, for autograd

    Arguments:
        names: parameters, as a list or separated by commas.  They are names or groups of
            bragg-intensity --derivatives that an option can set: rot, cell, scale, mosaic, share.L,
            beam_x, beam_y, wavelength, distance, polarization, thickness, absorption, phi0, osc,
            dispersion, divergence_h, divergence_v, fudge.
        options: options of braggpipe.simulate, which give the start values and the quantities that
            are not parameters.  They must give exactly one frame.  Values that the programs choose
            from the options at the start, such as --oversample, stay fixed.  Without a crystal
            among the options, the structure factors are those of lysozyme, also in another cell.
            Structure factors of `wilson` depend on the cell, so cell parameters need a list (hkl).

    Values of parameters have the units of the options: A, deg, mm, um.  Three kinds of parameters are
    relative to the start:

    - rot_x, rot_y, rot_z: rotation vector of all lattices relative to the start, in deg, about the
      axes of the laboratory frame; 0 at the start.
    - scale: factor on the fluence, 1 at the start.
    - mosaic: factor on the mosaic spread, 1 at the start.

    Structure factors F cannot be parameters, because there are thousands of them.  With F among
    the names, F_vjp computes the gradient by structure factors.

    Attributes:
        names: names of the parameters, in the order of the values.
        start: (parameters,) values that belong to the options.
        experiment: the Experiment of the frame.
        images: number of images that the programs have computed.

    Each new set of values runs the programs once.  The last image and its derivatives are stored,
    so another call with the same values takes no time.

    Raises ValueError for a parameter that no option sets, and if the options do not give exactly one
    frame.  The errors of braggpipe.simulate can also occur.
    """

    def __init__(self, names: str | Sequence[str], **options: Unpack[Options]) -> None:
        words = names.split(",") if isinstance(names, str) else list(names)
        if "wilson" in options and any(word.startswith("cell") for word in words):
            raise ValueError("wilson: the structure factors change with the cell, which is a parameter; give a list of them (hkl)")
        self._asked = ",".join(dict.fromkeys("rot" if word in _ROTATIONS else word for word in words))
        self._frame: Frame | None = None  #: frame computed with the last values
        self._options: dict[str, Any] = {**options, "noise": False}
        self.images = 0  #: number of images that the programs have computed
        self._shown: set[str] = set()  # warnings of the programs that were printed
        self._values = self._image = self._jacobian = numpy.zeros(0)
        first = self._run(self._options)
        self.experiment = first.experiment
        self._truth, self._keys = first.truth, first.experiment.keys
        found = list(first.derivatives or {})
        self.names = [name for name in found if name not in _ROTATIONS or name in words or "rot" in words]  #: names of the parameters
        self._freeze()
        self.start: Array = numpy.array([self._start(name) for name in self.names])  #: values at the start
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        if _CELL.keys() & set(self.names) and not _F_SOURCES & self._options.keys():
            self._folder = tempfile.TemporaryDirectory(prefix="braggpipe-")
            self._options["hkl"] = _write_lysozyme(self._folder.name)
            self._options["cell"] = self.experiment.crystals[0].cell.tolist()

    def _run(self, options: dict[str, Any]) -> Frame:
        frames = list(_live.simulate({**options, "derivatives": self._asked}, self._shown))
        self.images += 1
        if len(frames) != 1:
            raise ValueError(f"a model has one frame; these options make {len(frames)} frames")
        return frames[0]

    def _freeze(self) -> None:
        """Fixes the values that the programs derive from other options, at those of the start."""
        panel = self._keys["panels"][0]
        self._options["oversample"] = self._keys["sampling"]["oversample"]
        if panel["absorption_1_m"] and panel["thickness_m"]:
            self._options["absorption"] = 1e6 / panel["absorption_1_m"]

    def _start(self, name: str) -> float:
        """Returns the value that a parameter had in the first image."""
        panel, beam = self._keys["panels"][0], self._keys["beam"]
        if name in _CELL:
            return float(self.experiment.crystals[0].cell[_CELL[name][0]])
        known = {"wavelength": beam["wavelength_m"] * 1e10, "distance": panel["distance_m"] * 1e3, "polarization": beam["kahn"],
                 "thickness": panel["thickness_m"] * 1e6, "absorption": self._options.get("absorption"),
                 "fudge": self._keys["crystals"][0]["fudge"], "phi0": self._truth.phi_deg, "osc": self._truth.osc_deg,
                 "beam_x": panel["beam_x_mm"], "beam_y": panel["beam_y_mm"], "scale": 1.0, "mosaic": 1.0,
                 **dict.fromkeys(_ROTATIONS, 0.0)}
        if name.startswith("share."):
            return self._shares()[int(name.partition(".")[2])]
        value = known.get(name, self._options.get(name))
        if value is None:
            raise ValueError(f"{name} is not a parameter of this model: no option sets it, or these options have no value for it")
        return float(value)

    def _shares(self) -> list[float]:
        """Returns the weights of all lattices.  As in --shares, the last one applies to further lattices."""
        given = self._options.get("shares", 1.0)
        shares = [float(one) for one in (given if numpy.iterable(given) else [given])]
        return [shares[min(at, len(shares) - 1)] for at in range(len(self._truth.lattices))]

    def _set(self, values: Array, folder: str) -> dict[str, Any]:
        """Returns the options for these values.  Files that they need are written into `folder`."""
        at = dict(zip(self.names, map(float, values)))
        replaced = {old for name in at for old in _INSTEAD.get(name, [])}
        options: dict[str, Any] = {key: one for key, one in self._options.items() if key not in replaced}
        options.update({name: at[name] for name in _PLAIN if name in at})
        if _CELL.keys() & at.keys():
            cell = self.experiment.crystals[0].cell.copy()
            for name in _CELL.keys() & at.keys():
                cell[_CELL[name]] = at[name]
            options["cell"] = cell.tolist()
        if {"beam_x", "beam_y"} & at.keys():
            options["beam_center"] = [at.get(name, self._start(name)) for name in ("beam_x", "beam_y")]
        if "scale" in at:
            options["fluence"] = self.experiment.fluence_ph_m2 * at["scale"]
        if "mosaic" in at:
            options["mosaic"] = self._options["mosaic"] * at["mosaic"]
        if any(name.startswith("share.") for name in at):
            options["shares"] = [at.get(f"share.{lattice}", share) for lattice, share in enumerate(self._shares())]
        if set(_ROTATIONS) & at.keys():
            turn = _rotation([numpy.radians(at.get(name, 0.0)) for name in _ROTATIONS])
            options["orientations"] = os.path.join(folder, "orientations.txt")
            numpy.savetxt(options["orientations"], [(turn @ one.rotation).ravel() for one in self._truth.lattices], "%.17g")
            options = {key: one for key, one in options.items() if key not in ("random", "misset")}
        return options

    def _compute(self, values: Any) -> None:
        new: Array = numpy.array(values, "f8").ravel()
        if new.shape != self.start.shape:
            raise ValueError(f"got {new.size} values; expected {len(self.names)}, one per parameter: {', '.join(self.names)}")
        if numpy.array_equal(new, self._values):
            return
        with tempfile.TemporaryDirectory() as folder:
            frame = self._frame = self._run(self._set(new, folder))
        planes = {name: plane.astype("f8") for name, plane in (frame.derivatives or {}).items()}
        at = dict(zip(self.names, new))
        if set(_ROTATIONS) & at.keys():
            bend = _bend([numpy.radians(at.get(name, 0.0)) for name in _ROTATIONS])
            turned = numpy.tensordot(bend.T, [planes[name] for name in _ROTATIONS], 1)
            planes.update(zip(_ROTATIONS, turned))
        for name in {"scale", "mosaic"} & at.keys():
            planes[name] /= at[name]
        self._jacobian = numpy.array([planes[name] for name in self.names])
        self._image, self._values = frame.image.astype("f8"), new

    def __call__(self, values: Any) -> Array:
        """Returns the image at these values: expected photons, float64, shape of Frame.image."""
        self._compute(values)
        return self._image.copy()

    def jacobian(self, values: Any) -> Array:
        """Returns the derivatives of the image: float64, shape (parameters, *shape of the image).

        They are in photons per unit of each parameter.
        """
        self._compute(values)
        return self._jacobian.copy()

    def vjp(self, values: Any, weights: Any) -> Array:
        """Returns the vector-Jacobian product: (parameters,), float64.

        Element i is the sum over pixels of `weights` times the derivative by parameter i.
        Raises ValueError if `weights` do not have the shape of the image.
        """
        self._compute(values)
        given: Array = numpy.asarray(weights, "f8")
        if given.shape != self._image.shape:
            raise ValueError(f"weights have the shape {given.shape}; expected {self._image.shape}, the shape of the image")
        return numpy.tensordot(self._jacobian, given, given.ndim)

    def F_vjp(self, values: Any, weights: Any) -> tuple[Array, Array]:
        """Returns (reflections, gradient): the gradient by structure factors.

        reflections: Frame.reflections at these values, with lattice, h, k, l, F2.
        gradient: (rows,), one element per reflection: the sum over pixels of `weights` times the
        derivative by its structure factor |F|, in units of `weights` times photons per electron.

        Only reflections with more than one photon are listed (option: reflections=PHOTONS).  Each
        is described by the pixels that contain 99 % of its photons.

        Raises ValueError if F is not among the names.
        """
        self._compute(values)
        if self._frame is None or self._frame.reflections is None:
            raise ValueError("this model has no derivatives by F. Add F to the names")
        return self._frame.reflections, self._frame.F_vjp(weights)

    def torch(self) -> Callable[[Any], Any]:
        """Returns the model as a PyTorch function, which autograd can differentiate.

        The function takes a tensor of values (parameters,) and returns the image as a tensor of the
        same type and device.  Its gradient is vjp; it can be differentiated only once.
        """
        torch: Any = importlib.import_module("torch")

        def forward(context: Any, values: Any) -> Any:
            context.save_for_backward(values)
            return torch.from_numpy(self(values.detach().cpu().numpy())).to(values)

        def backward(context: Any, gradient: Any) -> Any:
            (values,) = context.saved_tensors
            return torch.from_numpy(self.vjp(values.detach().cpu().numpy(), gradient.cpu().numpy())).to(values)

        once = torch.autograd.function.once_differentiable(backward)
        made = type("Image", (torch.autograd.Function,), {"forward": staticmethod(forward), "backward": staticmethod(once)})
        function: Callable[[Any], Any] = getattr(made, "apply")
        return function


def _cross(vector: Any) -> Array:
    x, y, z = vector
    return numpy.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])


def _rotation(vector: Any) -> Array:
    """Returns the rotation matrix (3, 3) of a rotation vector in rad."""
    angle, cross = float(numpy.linalg.norm(vector)), _cross(vector)
    turn: Array = numpy.eye(3) + numpy.sinc(angle / numpy.pi) * cross + 0.5 * numpy.sinc(angle / 2 / numpy.pi) ** 2 * cross @ cross
    return turn


def _bend(vector: Any) -> Array:
    """Returns the Jacobian (3, 3) of the rotation by its rotation vector, in rad.

    It converts a small change of the rotation vector into the small rotation that the change adds.
    Both are about axes of the laboratory frame.
    """
    angle, cross = float(numpy.linalg.norm(vector)), _cross(vector)
    third = (angle - numpy.sin(angle)) / angle ** 3 if angle > 1e-2 else 1 / 6 - angle ** 2 / 120
    bend: Array = numpy.eye(3) + 0.5 * numpy.sinc(angle / 2 / numpy.pi) ** 2 * cross + third * cross @ cross
    return bend

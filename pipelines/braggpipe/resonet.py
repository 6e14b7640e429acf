"""Training files for resonet, a network for the resolution, the number of lattices and other properties of an image.

    python3 -m braggpipe.resonet OUTPUT.h5 --frames=N [OPTION...]
    python3 -m braggpipe.resonet OUTPUT.h5 --from=SOURCE

The first command simulates N frames with the given options of the programs.  The second command takes
the frames of a source, as braggpipe.open does.  They need the table of reflections, for the resolution.
braggpipe-training(7) describes the file.  The command needs the package h5py.

    write    writes a file
    labels   the labels of a frame, by their names
    image    the image of a frame as the network expects it
    LABELS   names of the labels in their order
"""
from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

import numpy

from braggpipe import _export
from braggpipe._frame import Array, Frame, Lattice

__all__ = ["LABELS", "image", "labels", "main", "write"]

#: names of the columns of `labels`, in the order of resonet
LABELS = ["reso", "one_over_reso", "radius", "one_over_radius", "is_multi", "multi_lat_angle_sigma", "num_lat", "bg_scale", "beamstop_rad",
          "detdist", "wavelen", "beam_center_fast", "beam_center_slow", "cent_fast_train", "cent_slow_train", "Na", "Nb", "Nc", "pdb",
          "mos_spread", "xtal_scale", "r1", "r2", "r3", "r4", "r5", "r6", "r7", "r8", "r9", "pitch_deg", "yaw_deg", "bg_only"]
_GEOM = ["detdist", "wavelen", "pixsize", "xdim", "ydim"]
_VIEWS = ["quadrant", "center"]
_EDGE = 512  # pixels of a quadrant: the input of resonet
_MOST = 65025.0  # photons: the square root is at most 255
_TURNS = {"A": 2, "B": 3, "C": 1, "D": 0}  # quarter turns that bring the middle of the detector to the first pixel
_LIMIT = 95  # percentile of 1/d of the visible reflections that is the resolution


def labels(frame: Frame, view: str = "quadrant", visible: float = 5.0, block: int | None = None) -> dict[str, float]:
    """Returns the labels of a frame, by their names in LABELS.  NaN: the label is unknown or has no meaning.

    Arguments:
        view, block: see image.
        visible: reflections with z above this number count for the resolution, see Frame.reflections.

    Raises ValueError if the frame has no reflections.
    """
    factor, shape = _factor(frame, view, block), frame.experiment.places[0]
    (fast, slow), distance_mm, lattices = _beam(frame), _distance_m(frame) * 1e3, frame.truth.lattices
    edge = _edge(frame, view, factor)
    first = [(n // factor - edge) // 2 if view == "center" else n // 2 / factor for n in shape]
    row = {**dict.fromkeys(LABELS, numpy.nan), **_resolution(frame, distance_mm, factor, visible), **_tilts(frame)}
    row.update(num_lat=len(lattices), is_multi=len(lattices) > 1, bg_only=not lattices, detdist=distance_mm,
               wavelen=frame.truth.wavelength_A, beam_center_fast=fast, beam_center_slow=slow,
               cent_fast_train=fast / factor - first[1], cent_slow_train=slow / factor - first[0],
               bg_scale=_background(frame), beamstop_rad=numpy.nan if (frame.experiment.mask & 256).any() else -1)
    if lattices:
        row.update(_crystal(frame, lattices))
    return {name: float(value) for name, value in row.items()}


def _crystal(frame: Frame, lattices: list[Lattice]) -> dict[str, Any]:
    """Returns the labels of the first lattice, and how far the others are turned from it."""
    first = lattices[0]
    form = frame.experiment.crystals[first.crystal]
    turns = [numpy.degrees(numpy.arccos(numpy.clip((numpy.trace(first.rotation.T @ one.rotation) - 1) / 2, -1, 1))) for one in lattices]
    axes = _axes(frame) @ first.rotation
    return {"multi_lat_angle_sigma": numpy.std(turns), **dict(zip(("Na", "Nb", "Nc"), first.ncells)), "pdb": first.crystal,
            "mos_spread": _mosaic_deg(frame, first), "xtal_scale": (numpy.prod(first.ncells) / numpy.prod(form.ncells)) ** (1 / 3),
            **{f"r{i + 1}": value for i, value in enumerate(axes.ravel())}}


def _mosaic_deg(frame: Frame, lattice: Lattice) -> float:
    """Returns the mosaic spread of a lattice.  NaN: unknown, for NXmx files of several crystals."""
    if lattice.mosaic_deg is not None:
        return lattice.mosaic_deg
    domains = float(_export.option(frame, "orient", "mosaic") or 0)
    if keys := frame.experiment.keys:
        return float(numpy.degrees(numpy.mean(keys["crystals"][lattice.crystal].get("mosaic_rms_rad", 0.0)))) or domains
    if len(frame.experiment.crystals) > 1 and not domains:
        return numpy.nan
    rms = _export.option(frame, "geometry", "mosaic-rms")
    return float(numpy.mean([float(one) for one in rms.split(",")])) if rms else domains


def _background(frame: Frame) -> float:
    """Returns the factor on the background of this frame.  NaN: no factor describes it, or frames do not contain it."""
    matter = frame.truth.matter
    varies = any(float(_export.option(frame, "background", name) or default) != default for name, default in (("jitter", 0), ("ice-frames", 1)))
    varies = varies or any(name != "scale" for name in matter) or _export.option(frame, "background", "streak") not in ("", "0")
    return numpy.nan if varies else frame.truth.fluence * matter.get("scale", 1.0)


def _resolution(frame: Frame, distance_mm: float, factor: int, visible: float) -> dict[str, float]:
    """Returns the labels of the resolution: the spacing that 5 % of the visible reflections are below."""
    if frame.reflections is None:
        raise ValueError(f"frame {frame.number} has no reflections: use the option reflections=1")
    rows = frame.reflections[frame.reflections["z"] > visible]
    if not rows.size:
        return {}
    cells = numpy.stack([lattice.reciprocal_A for lattice in frame.truth.lattices])
    q = numpy.einsum("ni,nij->nj", numpy.stack([rows["h"], rows["k"], rows["l"]], 1).astype("f8"), cells[rows["lattice"]])
    one_over_d = float(numpy.percentile(numpy.linalg.norm(q, axis=1), _LIMIT))
    angle = 2 * numpy.arcsin(min(frame.truth.wavelength_A * one_over_d / 2, 1.0))
    radius = distance_mm * 1e-3 * numpy.tan(angle) / frame.experiment.panels[0].pixel_m / factor
    return {"reso": 1 / one_over_d, "one_over_reso": one_over_d, "radius": radius, "one_over_radius": 1 / radius}


# --- geometry -----------------------------------------------------------------


def _normal(frame: Frame) -> Array:
    """Returns the normal of panel 0, a unit vector along the beam."""
    panel = frame.experiment.panels[0]
    normal = numpy.cross(panel.fast, panel.slow)
    along: Array = normal * numpy.sign(normal @ frame.experiment.beam)
    return along


def _distance_m(frame: Frame) -> float:
    return float((frame.experiment.panels[0].origin_m + frame.truth.shift_m) @ _normal(frame))


def _beam(frame: Frame) -> tuple[float, float]:
    """Returns where the beam meets the assembled image, fast and slow, in pixels from its corner."""
    panel, beam, normal = frame.experiment.panels[0], frame.experiment.beam, _normal(frame)
    at = beam * (_distance_m(frame) / (beam @ normal)) - panel.origin_m - frame.truth.shift_m
    (_, columns), places = frame.experiment.places
    row, column = divmod(int(places[0]), columns)
    return float(at @ panel.fast) / panel.pixel_m + column, float(at @ panel.slow) / panel.pixel_m + row


def _tilts(frame: Frame) -> dict[str, float]:
    """Returns the rotations of the detector about its fast (pitch) and slow axis (yaw)."""
    panel, beam = frame.experiment.panels[0], frame.experiment.beam
    hand = numpy.sign(numpy.cross(panel.fast, panel.slow) @ beam)
    return {"pitch_deg": float(numpy.degrees(numpy.arcsin(hand * (panel.slow @ beam)))),
            "yaw_deg": float(numpy.degrees(numpy.arcsin(-hand * (panel.fast @ beam))))}


def _axes(frame: Frame) -> Array:
    """Returns the matrix that turns the laboratory frame into that of DIALS: x along fast, z towards the source."""
    z = -frame.experiment.beam
    x = frame.experiment.panels[0].fast
    x = x - (x @ z) * z
    x /= numpy.linalg.norm(x)
    return numpy.stack([x, numpy.cross(z, x), z])


# --- images -------------------------------------------------------------------


def _factor(frame: Frame, view: str, block: int | None) -> int:
    """Returns how many pixels of an edge become one: 2 for a quadrant of a Pilatus 6M, 4 for that of an Eiger 16M."""
    if view not in _VIEWS:
        raise ValueError(f"view={view!r} is unknown; expected {' or '.join(map(repr, _VIEWS))}")
    least = min(frame.experiment.places[0])
    factor = block or max(1, least // 2 // _EDGE) + (view == "center")
    if factor * 2 > least:
        raise ValueError(f"blocks of {factor} pixels are too large for {least} pixels; expected at most {least // 2}")
    return factor


def _edge(frame: Frame, view: str, factor: int) -> int:
    least = min(frame.experiment.places[0])
    if view == "quadrant":
        return min(_EDGE, least // 2 // factor)
    return (least // factor - 1) // 32 * 32 or least // factor


def image(frame: Frame, view: str = "quadrant", block: int | None = None) -> Array:
    """Returns the image of a frame as resonet prepares it: float32 square roots of photons, whole numbers up to 255.

    A block of pixels becomes one, which is their maximum.  Masked pixels are 0.

    Arguments:
        view: "quadrant" is a quarter of the detector, from its middle, of up to 512 x 512 pixels.  It is
            turned so that the middle of the detector is at the first pixel.  The quarter is A, B, C, D
            for frames 0, 1, 2, 3 and so on.
            "center" is the middle of the detector.
        block: edge of the blocks in pixels.  None: as in resonet, for a detector of about this size.
    """
    photons = _assembled(frame, _export.photons(frame))
    factor, part = _factor(frame, view, block), photons
    edge = _edge(frame, view, factor)
    if view == "center":
        part = _pool(part, factor)
        s, f = ((n - edge) // 2 for n in part.shape)
        part = part[s:s + edge, f:f + edge]
    else:
        quarter = "ABCD"[frame.number % 4]
        s, f = (n // 2 for n in part.shape)
        n = edge * factor
        part = part[s - n:s] if quarter in "AB" else part[s:s + n]
        part = part[:, f - n:f] if quarter in "AC" else part[:, f:f + n]
        part = numpy.rot90(_pool(part, factor), _TURNS[quarter])
    whole: Array = numpy.floor(numpy.sqrt(numpy.clip(part, 0, _MOST)))
    return whole


def _assembled(frame: Frame, photons: Array) -> Array:
    """Returns all panels in one image, as Frame.assembled does.  Masked pixels and gaps are 0."""
    shape, places = frame.experiment.places
    whole = numpy.zeros(shape[0] * shape[1], photons.dtype)
    whole[places] = numpy.where(frame.experiment.mask == 0, photons, 0).ravel()
    return whole.reshape(shape)


def _pool(image: Array, factor: int) -> Array:
    slow, fast = (n // factor for n in image.shape)
    pooled: Array = image[:slow * factor, :fast * factor].reshape(slow, factor, fast, factor).max((1, 3))
    return pooled


# --- the file -----------------------------------------------------------------


def write(frames: Iterable[Frame], path: str, *, view: str = "quadrant", visible: float = 5.0, block: int | None = None,
          dtype: str = "float32") -> int:
    """Writes a training file, and returns the number of its frames.

        frames = braggpipe.simulate(frames=4, random=True, detpixels=256, reflections=1)
        braggpipe.resonet.write(frames, "train.h5")

    Arguments:
        frames: frames of one experiment with reflections.
        view, visible, block: see image and labels.
        dtype: type of the images.  "uint16" makes smaller files, which resonet reads with
            convert_to_float=True.

    Raises FileExistsError if the file exists, and ValueError if there are no frames or they have no
    reflections.
    """
    h5py = _export.package("h5py", "apt install python3-h5py")
    with _export.new_file(path) as part, h5py.File(part, "w") as file:
        written = 0
        for frame in frames:
            picture = image(frame, view, block)
            row = labels(frame, view, visible, block)
            shape = frame.experiment.places[0]
            geom = {"pixsize": frame.experiment.panels[0].pixel_m * 1e3, "xdim": shape[1], "ydim": shape[0]}
            if not written:
                _create(file, frame, picture.shape, dtype)
            for name, value in (("images", picture), ("labels", [row[name] for name in LABELS]), ("frame", frame.number),
                                ("geom", [{**row, **geom}[name] for name in _GEOM])):
                file[name].resize(written + 1, 0)
                file[name][written] = value
            written += 1
        if not written:
            raise ValueError(f"{path}: there are no frames")
    return written


def _create(file: Any, frame: Frame, shape: tuple[int, ...], dtype: str) -> None:
    """Creates the data sets without frames, and those that all frames have in common."""
    file.create_dataset("images", (0, *shape), dtype, maxshape=(None, *shape), chunks=(1, *shape), compression="gzip", compression_opts=4, shuffle=True)
    for name, names in (("labels", LABELS), ("geom", _GEOM)):
        file.create_dataset(name, (0, len(names)), "f4", maxshape=(None, len(names))).attrs["names"] = names
    file["labels"].attrs["pdbmap"] = [crystal.name or f"crystal{i}" for i, crystal in enumerate(frame.experiment.crystals)]
    file.create_dataset("frame", (0,), "i8", maxshape=(None,))
    file["nominal_mask"] = _assembled(frame, numpy.ones(frame.experiment.shape, bool))
    file.attrs.update(lineage=frame.experiment.lineage, history=frame.experiment.history)


def main() -> None:
    """Runs the command of this module."""
    parser = _export.simulating("braggpipe.resonet", "Writes a training file for resonet.")
    parser.add_argument("output", metavar="OUTPUT", help="the file, OUTPUT.h5")
    parser.add_argument("--view", choices=_VIEWS, default="quadrant", help="part of the detector (quadrant)")
    parser.add_argument("--block", type=_export.count, metavar="N", help="edge of the squares of pixels that become one (as in resonet)")
    parser.add_argument("--visible", type=float, default=5.0, metavar="Z", help="reflections with z above Z count for the resolution (5)")
    parser.add_argument("--dtype", choices=["float32", "uint16"], default="float32", help="type of the images (float32)")
    options, rest = parser.parse_known_args()
    _export.run("braggpipe.resonet", lambda: _write(parser, options, rest))


def _write(parser: _export.Parser, options: argparse.Namespace, rest: list[str]) -> None:
    frames = _export.frames_of(parser, options, rest, reflections=True)
    written = write(frames, options.output, view=options.view, visible=options.visible, block=options.block, dtype=options.dtype)
    print(f"{options.output}: {written} frames")


if __name__ == "__main__":
    main()

"""Training sets for networks that find spots: shards of images and labels in the format safetensors.

    python3 -m braggpipe.shards OUTPUT --frames=N [OPTION...]
    python3 -m braggpipe.shards OUTPUT --from=SOURCE

The first command simulates N frames with the given options of the programs.  The second command takes
the frames of a source, as braggpipe.open does.  They need the ground truth of each pixel:
bragg-intensity --reflections --labels.  braggpipe-training(7) describes the files.  The command needs
the package safetensors.

    write    writes a set: a folder of shards with a description in the format Croissant
"""
from __future__ import annotations

import argparse
import csv
import dataclasses
import hashlib
import json
import os
import shutil
from collections.abc import Iterable, Mapping
from typing import Any

import numpy

from braggpipe import _export
from braggpipe._dataset import PARTS
from braggpipe._frame import Array, Experiment, Frame

__all__ = ["main", "write"]

_COLUMNS = {"number": ("sc:Integer", "number of the frame"), "split": ("sc:Text", "part of the set: train, validation or test"),
            "file": ("sc:Text", "shard that contains the frame"), "row": ("sc:Integer", "place of the frame in the shard, from 0"),
            "lattices": ("sc:Integer", "number of crystals in the beam; 0: a blank frame"),
            "reflections": ("sc:Integer", "number of reflections in the ground truth"),
            "visible": ("sc:Integer", "number of visible reflections, which have the label 1"),
            "wavelength_A": ("sc:Float", "mean wavelength in angstrom")}
_SPLITS = ("train", "validation", "test")
_CSV = "frames.csv"
# Of the context of Croissant 1.0, the terms that a description uses.  mlcroissant compares the context with its own.
_CR = ("citeAs", "column", "equivalentProperty", "extract", "field", "fileProperty", "fileObject", "fileSet", "format", "includes", "isLiveDataset", "jsonPath",
       "key", "md5", "parentField", "path", "recordSet", "references", "regex", "repeated", "replace", "samplingRate", "separator", "source", "subField",
       "transform")
_CONTEXT = {"@language": "en", "@vocab": "https://schema.org/", "cr": "http://mlcommons.org/croissant/", "dct": "http://purl.org/dc/terms/",
            "rai": "http://mlcommons.org/croissant/RAI/", "sc": "https://schema.org/", "conformsTo": "dct:conformsTo",
            "data": {"@id": "cr:data", "@type": "@json"}, "dataType": {"@id": "cr:dataType", "@type": "@vocab"},
            "examples": {"@id": "cr:examples", "@type": "@json"}, **{name: f"cr:{name}" for name in _CR}}


@dataclasses.dataclass
class _Shard:
    """The frames of a split that are not yet in a file."""

    split: str
    files: int = 0
    images: list[Array] = dataclasses.field(default_factory=list)
    labels: list[Array] = dataclasses.field(default_factory=list)
    rows: list[dict[str, Any]] = dataclasses.field(default_factory=list)


def write(frames: Iterable[Frame], path: str, *, per_shard: int = 16, visible: float = 5.0, name: str | None = None, license: str | None = None) -> int:
    """Writes a set of shards into a new folder, and returns the number of frames.

        frames = braggpipe.simulate(frames=4, random=True, detpixels=64, reflections=1, labels=True)
        braggpipe.shards.write(frames, "set", per_shard=2)

    A shard has the arrays image and label (frames, panels, slow, fast), float32, and number (frames),
    int64.  An image is in the unit of the frames.  A label is 1 in pixels of visible reflections and 0
    elsewhere.  Masked pixels have the label 0.  Each shard has frames of one split: frames 0 to 79 of
    each hundred are for training, 80 to 89 for validation and 90 to 99 for the test.

    Arguments:
        frames: frames of one experiment with reflections and labels.
        path: the folder.  It must not exist.
        per_shard: number of frames in a shard; the last one of a split can have fewer.
        visible: reflections with z above this number are visible, see Frame.reflections.
        name: name of the set in its description.  None: the name of the folder.
        license: address of the licence in the description.  None: the description has no licence.

    Raises FileExistsError if the folder exists, and ValueError if there are no frames, or frames have
    no labels or panels of different shapes.
    """
    save = _export.package("safetensors.numpy", "pip install safetensors").save_file
    with _export.new_file(path) as part:
        os.mkdir(part)
        try:
            rows, experiment = _write_shards(frames, part, per_shard, visible, save)
            if experiment is None:
                raise ValueError(f"{path}: there are no frames")
            with open(os.path.join(part, _CSV), "w", newline="", encoding="ascii") as file:
                table = csv.DictWriter(file, list(_COLUMNS), lineterminator="\n")
                table.writeheader()
                table.writerows(sorted(rows, key=lambda row: int(row["number"])))
            described = _description(part, name or os.path.basename(os.path.abspath(path)), license, experiment, visible)
            with open(os.path.join(part, "croissant.json"), "w", encoding="utf-8") as file:
                json.dump(described, file, indent=1)
        except BaseException:
            shutil.rmtree(part)
            raise
    return len(rows)


def _write_shards(frames: Iterable[Frame], folder: str, per_shard: int, visible: float, save: Any) -> tuple[list[dict[str, Any]], Experiment | None]:
    """Writes the shards, and returns the rows of the table of frames."""
    shards = {split: _Shard(split) for split in _SPLITS}
    rows: list[dict[str, Any]] = []
    experiment = None
    for frame in frames:
        experiment = frame.experiment
        shard = shards[next(split for split in _SPLITS if frame.number % 100 in PARTS[split])]
        row = _add(shard, frame, visible)
        rows.append(row)
        if len(shard.rows) == per_shard:
            _save(shard, folder, experiment, save)
    for shard in shards.values():
        if shard.rows and experiment:
            _save(shard, folder, experiment, save)
    return rows, experiment


def _add(shard: _Shard, frame: Frame, visible: float) -> dict[str, Any]:
    """Adds a frame to a shard, and returns its row of the table."""
    if frame.labels is None or frame.reflections is None:
        raise ValueError(f"frame {frame.number} has no labels: use the options reflections=1 and labels=True")
    if len(frame.experiment.shape) == 1:
        raise ValueError(f"frame {frame.number} has panels of different shapes; expected equal shapes, because they become one array")
    shape = (-1, *frame.experiment.panels[0].shape)
    seen = frame.reflections["z"] > visible
    label = numpy.concatenate([[False], seen])[frame.labels] & (frame.experiment.mask == 0)
    shard.images.append(frame.image.reshape(shape).astype("f4"))
    shard.labels.append(label.reshape(shape).astype("f4"))
    row = {"number": frame.number, "split": shard.split, "file": _name(shard), "row": len(shard.rows), "lattices": len(frame.truth.lattices),
           "reflections": seen.size, "visible": int(seen.sum()), "wavelength_A": round(frame.truth.wavelength_A, 9)}
    shard.rows.append(row)
    return row


def _name(shard: _Shard) -> str:
    return f"{shard.split}_{shard.files:05d}.safetensors"


def _save(shard: _Shard, folder: str, experiment: Experiment, save: Any) -> None:
    """Writes the frames of a shard to a file, and empties the shard."""
    arrays = {"image": numpy.stack(shard.images), "label": numpy.stack(shard.labels),
              "number": numpy.array([row["number"] for row in shard.rows], "i8")}
    path = os.path.join(folder, _name(shard))
    save(arrays, path, {"braggpipe": json.dumps({"lineage": experiment.lineage, "history": experiment.history})})  # two keys would have any order
    os.chmod(path, os.stat(folder).st_mode & 0o666)  # safetensors makes files that only their owner can read
    shard.files += 1
    shard.images, shard.labels, shard.rows = [], [], []


# --- the description ------------------------------------------------------------


def _description(folder: str, name: str, license: str | None, experiment: Experiment, visible: float) -> dict[str, Any]:
    """Returns the description of the files of a folder, as Croissant 1.0 defines it."""
    commands = " |\n".join(_commands(experiment))
    text = (f"Simulated X-ray diffraction images, and for each pixel whether it belongs to a visible reflection (z above {visible:g}). "
            f"The images were made by\n{commands}\nwith the lineage {experiment.lineage}.")
    files = [_file(folder, one) for one in sorted(os.listdir(folder))]
    fields = [{"@type": "cr:Field", "@id": f"frames/{column}", "name": column, "description": about, "dataType": kind,
               "source": {"fileObject": {"@id": _CSV}, "extract": {"column": column}}} for column, (kind, about) in _COLUMNS.items()]
    return {"@context": _CONTEXT, "@type": "sc:Dataset", "name": name, "conformsTo": "http://mlcommons.org/croissant/1.0",
            "description": text, "version": "1.0.0", **({"license": license} if license else {}),
            "citeAs": f"braggpipe, lineage {experiment.lineage}", "keywords": ["X-ray diffraction", "peak finding", "synthetic"],
            "rai:dataCollection": "The images are computed. Nothing was measured.", "distribution": files,
            "recordSet": [{"@type": "cr:RecordSet", "@id": "frames", "name": "frames", "description": "One record for each frame.",
                           "key": {"@id": "frames/number"}, "field": fields}]}


def _commands(experiment: Experiment) -> list[str]:
    """Returns the commands of the history: each program with its given options."""
    lines = []
    for line in filter(None, experiment.history.splitlines()):
        program, *words = line.split("\t")
        given = next((word.partition("=")[2] for word in words if word.startswith("options given=")), "")
        lines.append(f"{program} {given}".rstrip())
    return lines


def _file(folder: str, name: str) -> Mapping[str, Any]:
    path, digest = os.path.join(folder, name), hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return {"@type": "cr:FileObject", "@id": name, "name": name, "contentUrl": name, "contentSize": f"{os.path.getsize(path)} B",
            "encodingFormat": "text/csv" if name == _CSV else "application/octet-stream", "sha256": digest.hexdigest()}


def main() -> None:
    """Runs the command of this module."""
    parser = _export.simulating("braggpipe.shards", "Writes images and labels as shards of safetensors.")
    parser.add_argument("output", metavar="OUTPUT", help="the folder")
    parser.add_argument("--per-shard", type=_export.count, default=16, metavar="N", help="number of frames in a shard (16)")
    parser.add_argument("--visible", type=float, default=5.0, metavar="Z", help="reflections with z above Z are visible (5)")
    parser.add_argument("--set-name", help="name of the set in its description (name of the folder)")
    parser.add_argument("--license", metavar="URL", help="address of the licence in the description (none)")
    options, rest = parser.parse_known_args()
    _export.run("braggpipe.shards", lambda: _write(parser, options, rest))


def _write(parser: _export.Parser, options: argparse.Namespace, rest: list[str]) -> None:
    frames = _export.frames_of(parser, options, rest, reflections=True, labels=True)
    written = write(frames, options.output, per_shard=options.per_shard, visible=options.visible, name=options.set_name, license=options.license)
    print(f"{options.output}: {written} frames")


if __name__ == "__main__":
    main()

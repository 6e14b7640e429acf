"""training_files.py resonet FILE RECORDING | shards FOLDER RECORDING | croissant FOLDER: training sets against the frames that they were made from."""
import csv
import hashlib
import json
import os
import sys

import numpy

import braggpipe


def frames_of(path):
    return {frame.number: frame.detach() for frame in braggpipe.open(path)}


def near(value, wanted, what, within=1e-5):
    assert numpy.isnan(value) and numpy.isnan(wanted) or abs(value - wanted) <= within * max(1, abs(wanted)), (what, value, wanted)


# --- resonet ------------------------------------------------------------------


def corner_of(frame, photons):
    """The quarter of the image, pixel by pixel, as seen from the middle outwards, in squares of 2 x 2."""
    slow, fast = (n // 2 for n in photons.shape)
    up, left = frame.number % 4 < 2, frame.number % 2 == 0
    edge = min(512, min(photons.shape) // 2 // 2)
    image = numpy.zeros((edge, edge))
    for i in range(edge):
        for j in range(edge):
            # (i, j) counts away from the middle; a turn swaps the axes of the quarters B and C
            a, b = (j, i) if up != left else (i, j)
            s = [slow - 1 - 2 * a - k if up else slow + 2 * a + k for k in (0, 1)]
            f = [fast - 1 - 2 * b - k if left else fast + 2 * b + k for k in (0, 1)]
            image[i, j] = numpy.floor(numpy.sqrt(min(max(photons[y, x] for y in s for x in f), 65025)))
    return image


def resolution(frame):
    """The spacing that 5 % of the visible reflections are below, from the angles at which they hit the detector."""
    panel, wavelength = frame.experiment.panels[0], frame.truth.wavelength_A
    sines = []
    for row in frame.reflections:
        if row["z"] > 5:
            lattice = frame.truth.lattices[row["lattice"]]
            q = row["h"] * lattice.reciprocal_A[0] + row["k"] * lattice.reciprocal_A[1] + row["l"] * lattice.reciprocal_A[2]
            sines.append(numpy.linalg.norm(q))
    return 1 / numpy.percentile(sines, 95) if sines else numpy.nan


def resonet(path, recording):
    import h5py

    frames = frames_of(recording)
    with h5py.File(path) as file:
        names = list(file["labels"].attrs["names"])
        assert len(names) == 33 and list(file["geom"].attrs["names"]) == ["detdist", "wavelen", "pixsize", "xdim", "ydim"]
        assert list(file["labels"].attrs["pdbmap"]) == ["lysozyme"] and file["images"].dtype == "f4" == file["labels"].dtype
        assert file["images"].chunks == (1, *file["images"].shape[1:]) and sorted(file["frame"]) == sorted(frames)
        blanks = several = 0
        for number, image, row, geom in zip(file["frame"][:], file["images"][:], file["labels"][:], file["geom"][:]):
            frame, label = frames[number], dict(zip(names, map(float, row)))
            good = frame.experiment.mask == 0
            assert numpy.array_equal(file["nominal_mask"][:], good)
            photons = numpy.where(good, (frame.image.astype("f8") - 40) / 4, 0)  # adc_offset and gain of the test
            assert image.shape == (min(512, min(photons.shape) // 2 // 2),) * 2
            assert numpy.array_equal(image, corner_of(frame, photons)), number
            near(label["reso"], resolution(frame), "reso")
            near(label["one_over_reso"] * label["reso"], numpy.nan if numpy.isnan(label["reso"]) else 1, "one_over_reso")
            distance = 0.15 + frame.truth.shift_m[0]  # along x, the beam of the convention mosflm
            near(label["detdist"], 1e3 * distance, "detdist")
            near(label["radius"], distance * numpy.tan(2 * numpy.arcsin(frame.truth.wavelength_A / 2 / label["reso"])) / 0.0003 / 2, "radius", 1e-3)
            near(label["wavelen"], frame.truth.wavelength_A, "wavelen")
            # the laboratory y is against slow, and z along fast
            panel = frame.experiment.panels[0]
            near(label["beam_center_fast"], panel.beam[0] - frame.truth.shift_m @ panel.fast / 0.0003, "fast")
            near(label["beam_center_slow"], panel.beam[1] - frame.truth.shift_m @ panel.slow / 0.0003, "slow")
            near(label["cent_fast_train"], (label["beam_center_fast"] - photons.shape[1] / 2) / 2, "fast of the image")
            near(geom[2], 0.3, "pixsize")
            assert list(geom[3:]) == [photons.shape[1], photons.shape[0]]
            assert label["num_lat"] == len(frame.truth.lattices) and label["is_multi"] == (label["num_lat"] > 1)
            assert label["bg_only"] == (not frame.truth.lattices) and label["beamstop_rad"] == -1 and label["pitch_deg"] == label["yaw_deg"] == 0
            assert frame.truth.matter["scale"] in (2, 3)
            near(label["bg_scale"], frame.truth.fluence * frame.truth.matter["scale"], "bg_scale")
            blanks += label["bg_only"] == 1
            several += label["is_multi"] == 1
            if frame.truth.lattices:
                first = frame.truth.lattices[0]
                assert [label[name] for name in ("Na", "Nb", "Nc")] == list(first.ncells)
                near(label["mos_spread"], first.mosaic_deg, "mos_spread")
                near(label["xtal_scale"], (numpy.prod(first.ncells) / (12 * 11 * 25)) ** (1 / 3), "xtal_scale")
                matrix = numpy.array([label[f"r{i}"] for i in range(1, 10)]).reshape(3, 3)
                assert abs(matrix @ matrix.T - numpy.eye(3)).max() < 1e-5 and numpy.linalg.det(matrix) > 0
                fast, slow, beam = panel.fast, panel.slow, frame.experiment.beam
                assert abs(matrix - numpy.stack([fast, -slow, -beam]) @ first.rotation).max() < 1e-5
            else:
                assert all(numpy.isnan(label[name]) for name in ("reso", "radius", "Na", "pdb", "mos_spread", "xtal_scale", "r1", "r9"))
        assert blanks and several and len({tuple(one) for one in file["geom"][:]}) == len(frames)


# --- shards -------------------------------------------------------------------


def shards(folder, recording):
    from safetensors import safe_open

    frames, rows = frames_of(recording), list(csv.DictReader(open(os.path.join(folder, "frames.csv"))))
    assert [int(row["number"]) for row in rows] == sorted(frames)
    for row in rows:
        number = int(row["number"])
        frame = frames[number]
        part = "train" if number % 100 < 80 else "validation" if number % 100 < 90 else "test"
        assert row["split"] == part and row["file"].startswith(f"{part}_0000"), row
        with safe_open(os.path.join(folder, row["file"]), "numpy") as shard:
            at = int(row["row"])
            image, label = shard.get_tensor("image")[at], shard.get_tensor("label")[at]
            assert shard.get_tensor("number")[at] == number and set(shard.keys()) == {"image", "label", "number"}
            assert json.loads(shard.metadata()["braggpipe"])["lineage"] == frame.experiment.lineage
        assert image.dtype == label.dtype == "f4" and numpy.array_equal(image[0], frame.image)
        visible = {0: False, **{i + 1: z > 5 for i, z in enumerate(frame.reflections["z"])}}
        wanted = numpy.vectorize(lambda one: visible[one], otypes="f")(frame.labels) * (frame.experiment.mask == 0)
        assert numpy.array_equal(label[0], wanted), number
        assert int(row["visible"]) == sum(visible.values()) and int(row["reflections"]) == len(frame.reflections)
        assert int(row["lattices"]) == len(frame.truth.lattices) and abs(float(row["wavelength_A"]) - frame.truth.wavelength_A) < 1e-8
    assert {row["split"] for row in rows} == {"train", "validation", "test"} and sum(int(row["visible"]) for row in rows) > 10
    about = json.load(open(os.path.join(folder, "croissant.json")))
    assert about["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    assert {one["name"] for one in about["distribution"]} == set(os.listdir(folder)) - {"croissant.json"}
    for one in about["distribution"]:
        with open(os.path.join(folder, one["contentUrl"]), "rb") as file:
            content = file.read()
        assert hashlib.sha256(content).hexdigest() == one["sha256"] and one["contentSize"] == f"{len(content)} B"
    lineage = next(iter(frames.values())).experiment.lineage
    assert lineage in about["description"] and "bragg-orient --random" in about["description"] and lineage in about["citeAs"]


def croissant(folder):
    import mlcroissant

    records = list(mlcroissant.Dataset(os.path.join(folder, "croissant.json")).records("frames"))
    rows = list(csv.DictReader(open(os.path.join(folder, "frames.csv"))))
    assert len(records) == len(rows)
    for record, row in zip(records, rows):
        assert record["frames/number"] == int(row["number"]) and record["frames/visible"] == int(row["visible"])
        assert record["frames/split"] == row["split"].encode() and abs(record["frames/wavelength_A"] - float(row["wavelength_A"])) < 1e-9


{"resonet": resonet, "shards": shards, "croissant": croissant}[sys.argv[1]](*sys.argv[2:])

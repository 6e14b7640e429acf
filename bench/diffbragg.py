#!/usr/bin/python3
"""diffbragg.py FRAMES: compares bragg-refine with diffBragg of simtbx, if this Python has simtbx.

Both fit ten parameters of each still.  The crystal has no mosaic spread and Gaussian spots on a known
background.  The start is off by a tenth of a degree, its edges by 0.2 %, and it has half the cells.

Appends a line for each program to ./stats: frames, CPU time of all frames, evaluations, stills whose
errors are below six error bars of bragg-refine, and the rms of these errors over the error bars; or why
the program is missing.  The CPU time of bragg-refine is that of the whole process, the time of
diffBragg that of its minimiser.  diffBragg gets the same pixels as bragg-refine, chosen with the
ground truth, and has its own target, minimiser and usual sensitivities.
"""
import csv
import json
import subprocess
import sys
import time

try:
    import numpy as np
except ImportError as missing:
    print('{"stage":"bragg-refine","why":"%s"}' % missing, file=open("stats", "a", encoding="ascii"))
    sys.exit()

TO_DIALS = np.array([[0, 0, 1], [0, 1, 0], [-1, 0, 0]], float)  # from the simulator's lab
EDGE, CELLS, BACKGROUND = 1024, 20, 1.0
CELL, START = np.array([59.062, 68.451, 30.517]), np.array([59.18, 68.314, 30.578])
GEOMETRY = (f"bragg-geometry --quiet --shape=gauss --polarization=0 --detpixels={EDGE} --pixel=0.1 --distance=120 --oversample=2 "
            "--default-F=100 --cell=%s,90,90,90 --ncells=%d --fluence=%g")
TABLE = [f"rot_{axis}_deg" for axis in "xyz"] + [f"cell_{axis}_A" for axis in "abc"] + [f"ncells_{axis}" for axis in "abc"] + ["scale"]


def shell(line):
    subprocess.run(["sh", "-c", line], check=True)


def geometry(cell, cells, fluence):
    return GEOMETRY % (",".join(map(str, cell)), cells, fluence)


def rotation(axis, angle):
    """Returns the rotation about a unit vector."""
    cross = np.cross(np.eye(3), axis)
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * cross @ cross


def turned(degrees):
    """Returns the orientations of truth.tsv, rotated about random axes."""
    draw = np.random.default_rng(1)
    with open("truth.tsv", newline="") as table, open("turned", "w", encoding="ascii") as out:
        for row in csv.DictReader(table, delimiter="\t"):
            u = np.array([[float(row[f"u{i}{j}"]) for j in (1, 2, 3)] for i in (1, 2, 3)])
            axis = draw.normal(size=3)
            print(*(rotation(axis / np.linalg.norm(axis), np.radians(degrees)) @ u).ravel(), file=out)


def simulate(frames):
    scatters = 0.129342 / np.sqrt((1 + np.cos(t := np.arange(0, 1.3, 0.002)) ** 2) / 2 * np.cos(t) ** 3)  # as much everywhere
    np.savetxt("flat.stol", np.stack([np.sin(t / 2), scatters]).T)
    shell(f"{geometry(CELL, CELLS, 1e26)} | bragg-orient --quiet --frames={frames} --random --seed=5 --truth=truth.tsv | "
          "bragg-tap --quiet --record=true.rec && cut -f9-17 truth.tsv | sed 1d >upright")
    # 1 um of it is one photon in a pixel of 5 mrad; the stop hides the beam, whose spot diffBragg leaves out
    shell("bragg-replay --quiet true.rec | bragg-intensity --quiet | bragg-background --quiet --stol=flat.stol --molecular-weight=18 "
          f"--thickness={BACKGROUND * (0.005 * 120 / 0.1) ** 2} | bragg-noise --quiet --seed=3 --adc-offset=0 --beamstop=6 | "
          "bragg-tap --quiet --record=counts.rec && bragg-replay --quiet counts.rec | bragg-write --quiet 'counts_%d.raw'")
    turned(0.1)
    shell(f"{geometry(START, CELLS // 2, 5e25)} | bragg-orient --quiet --orientations=turned | bragg-tap --quiet --record=start.rec && "
          "bragg-replay --quiet start.rec | bragg-intensity --quiet --reflections | bragg-write --quiet --reflections=start.refl 'start_%d.raw'")
    shell(f"{geometry(CELL, 7, 1e26 * (CELLS / 7) ** 3)} | bragg-orient --quiet --orientations=upright --mosaic=0.2 --mosaic-domains=10 "
          "2>others | bragg-intensity --quiet | bragg-write --quiet 'blurred_%d.raw'")


def experiments(path):
    with open(path, encoding="ascii") as file:
        return json.load(file)["crystal"]


def rotation_deg(edges, frame):
    """Returns the rotation from the true crystal to these edges in DIALS's laboratory frame, in deg about the axes of the simulator."""
    with open("truth.tsv", newline="") as table:
        row = list(csv.DictReader(table, delimiter="\t"))[frame]
    true = np.linalg.inv(np.array([[float(row[f"{axis}s_{k}"]) for k in "xyz"] for axis in "abc"])).T
    left, _, right = np.linalg.svd((edges @ TO_DIALS).T @ np.linalg.inv(true.T))
    turn = left @ right
    return np.degrees([turn[2, 1] - turn[1, 2], turn[0, 2] - turn[2, 0], turn[1, 0] - turn[0, 1]]) / 2


def tell(who, **figures):
    with open("stats", "a", encoding="ascii") as file:
        print(json.dumps({"stage": who, **figures}, separators=(",", ":")), file=file)


def fitted(who, cpu_s, evaluations, pulls):
    """pulls[frames, parameters]: a still with one beyond six error bars is lost."""
    found = [frame for frame in pulls if max(abs(frame)) < 6]
    tell(who, frames=len(pulls), cpu_s=cpu_s, evaluations=evaluations, found=len(found),
         rms=float(np.sqrt(np.mean(np.square(found)))) if found else 0.0)


def ours():
    """Returns the errors over error bars of every frame, and the error bars."""
    shell("bragg-replay --quiet counts.rec | bragg-refine --quiet --threads=1 --start=start.rec --parameters=rot,cell,ncells,scale "
          f"--background={BACKGROUND} --table=ours.tsv --expt=ours.expt --stats=told >summary")
    with open("ours.tsv", newline="") as table:
        rows = list(csv.DictReader(table, delimiter="\t"))
    pulls, bars = [], np.array([[float(row["error_" + name]) for name in TABLE] for row in rows])
    for frame, (row, crystal) in enumerate(zip(rows, experiments("ours.expt"), strict=True)):
        found = np.array([float(row[name]) for name in TABLE])
        edges = np.array([crystal["real_space_" + axis] for axis in "abc"])
        errors = np.concatenate([rotation_deg(edges, frame), found[3:] - [*CELL, *[CELLS] * 3, 2]])
        pulls.append(errors / bars[frame])
    with open("told", encoding="ascii") as file:
        fitted("bragg-refine", json.loads(file.read())["cpu_s"], sum(int(row["steps"]) for row in rows), pulls)
    return bars


class Peer:
    """diffBragg with the crystal of a start, for these pixels."""

    def __init__(self, experiment, cells, pixels):
        from cctbx import crystal, miller
        from cctbx.array_family import flex
        from dxtbx.model import Crystal
        from simtbx.diffBragg.refiners.crystal_systems import OrthorhombicManager
        from simtbx.nanoBragg.nanoBragg_crystal import NBcrystal
        from simtbx.nanoBragg.sim_data import SimData

        its = NBcrystal(init_defaults=True)
        its.symbol, its.xtal_shape, its.n_mos_domains, its.isotropic_ncells, its.Ncells_abc = "P1", "gauss", 1, False, cells
        its.dxtbx_crystal = Crystal(*experiment.crystal.get_real_space_vectors(), "P1")
        everything = miller.build_set(crystal.symmetry((*CELL, 90, 90, 90), "P1"), anomalous_flag=True, d_min=1.2)
        its.miller_array = miller.array(everything, flex.double(everything.size(), 100.0)).set_observation_type_xray_amplitude()
        scene = SimData(use_default_crystal=True)
        scene.detector, scene.crystal = experiment.detector, its
        scene.beam.spectrum, scene.beam.unit_s0 = [(1.0, 1e12)], experiment.beam.get_unit_s0()
        scene.instantiate_diffBragg(oversample=2)
        self.scene, self.d, self.calls, self.n = scene, scene.D, 0, len(pixels)
        self.d.polarization, self.d.spot_scale = 0, 1
        self.u = np.array(its.dxtbx_crystal.get_U()).reshape(3, 3)
        self.cell = OrthorhombicManager(*START)
        for number in (0, 1, 2, 3, 4, 5, 9):  # rotations, edges, cells
            self.d.refine(number)
        self.d.Npix_to_allocate = self.n
        self.d.initialize_managers()
        self.pixels = flex.size_t(np.stack([0 * pixels, pixels % EDGE, pixels // EDGE]).T.ravel())

    def model(self, values):
        self.calls += 1
        for i in range(3):
            self.d.set_value(i, values[i])
        self.cell.variables = list(values[3:6])
        self.d.Bmatrix = self.cell.B_recipspace
        for i in range(3):
            self.d.set_ucell_derivative_matrix(3 + i, self.cell.derivative_matrices[i])
        self.d.set_ncells_values(tuple(values[6:9]))
        self.d.add_diffBragg_spots(self.pixels)
        planes = [self.d.get_derivative_pixels(i) for i in range(6)] + list(self.d.get_ncells_derivative_pixels())
        return self.d.raw_pixels_roi.as_numpy_array()[: self.n], np.array([plane.as_numpy_array()[: self.n] for plane in planes])

    def edges(self, values):
        """Returns the edges of the crystal with these values, as rows in DIALS's laboratory frame."""
        turn = np.eye(3)
        for axis, angle in zip(np.eye(3), values[:3]):  # it turns about the negative axes
            turn = turn @ rotation(-axis, angle)
        return (turn @ self.u @ np.diag(values[3:6])).T


def fit(peer, counts, scale):
    """diffBragg's target, parameters and minimiser: values, CPU time."""
    from scipy.optimize import minimize
    from simtbx.diffBragg.refiners.parameters import PositiveParameter, RangedParameter

    names = [RangedParameter(0, -np.pi, np.pi, sigma=1e-3) for _ in range(3)] + [RangedParameter(e, 0.9 * e, 1.1 * e) for e in START]
    names += [PositiveParameter(one) for one in (*[CELLS / 2] * 3, 0.5)]

    def target(x):
        values = [name.get_val(one) for name, one in zip(names, x)]
        image, planes = peer.model(values)
        mean = values[9] * scale * image + BACKGROUND
        off = counts - mean
        planes = scale * np.concatenate([values[9] * planes, image[None]])
        slopes = planes @ (0.5 / mean * (1 - 2 * off - off**2 / mean))
        return 0.5 * (np.log(mean) + off**2 / mean).sum(), np.array([name.get_deriv(*two) for name, *two in zip(names, x, slopes)])

    began = time.process_time()
    x = minimize(target, np.ones(len(names)), jac=True, method="L-BFGS-B", options={"ftol": 1e-10, "maxiter": 100000, "maxfun": 100000}).x
    return np.array([name.get_val(one) for name, one in zip(names, x)]), time.process_time() - began


def theirs(bars):
    from dxtbx.model.experiment_list import ExperimentListFactory

    where = np.arange(EDGE * EDGE)
    clear = np.hypot(where % EDGE - EDGE / 2, where // EDGE - EDGE / 2) > 40  # of the stop
    pulls, cpu_s, calls = [], 0.0, 0
    for frame, experiment in enumerate(ExperimentListFactory.from_json_file("start.expt", check_format=False)):
        start = np.fromfile(f"start_{frame}.raw", "<f4")
        bright = np.flatnonzero((start > 1) & clear)
        image, _ = Peer(experiment, (CELLS / 2,) * 3, bright).model([0, 0, 0, *START, *[CELLS / 2] * 3])
        assert np.corrcoef(image, start[bright])[0, 1] > 0.99999, "the two have different images"
        pixels = np.flatnonzero((np.fromfile(f"blurred_{frame}.raw", "<f4") > 1 / 3) & clear)
        peer = Peer(experiment, (CELLS / 2,) * 3, pixels)
        values, took_s = fit(peer, np.fromfile(f"counts_{frame}.raw", "<f4")[pixels].astype(float), 2 * np.median(start[bright] / image))
        errors = np.concatenate([rotation_deg(peer.edges(values), frame), values[3:9] - [*CELL, *[CELLS] * 3], [2 * values[9] - 2]])
        pulls.append(errors / bars[frame])
        cpu_s += took_s
        calls += peer.calls
    fitted("diffBragg", cpu_s, calls, pulls)


def main():
    simulate(int(sys.argv[1]))
    bars = ours()
    try:
        import simtbx.diffBragg  # noqa: F401
    except ImportError as error:
        tell("diffBragg", why=str(error).split("\n", maxsplit=1)[0].replace('"', "'"))
        return
    theirs(bars)


main()

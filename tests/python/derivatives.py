"""derivatives.py CHECK...: compares derivative images with differences of images, also behind other stages."""
import importlib.util
import sys

import numpy

import braggpipe

CELL = [45.0, 52.0, 61.0, 80.0, 95.0, 105.0]
BASE = dict(detpixels=32, pixel=3.0, ncells=4, cell=CELL, default_F=100, fluence=1e24, thickness=400, absorption=300, oversample=2, wavelength=1.1,
            polarization=0.6, beam_center=(47.0, 49.0), distance=90.0, misset=(0.0, 0.0, 20.0), phi0=3.0, osc=0.4, precision="double")
LEAST = 2.0  #: photons of pixels near spots
#: by the parameter: what changes it by so much, and the step
CHANGES = {
    "rot_z": (lambda h: {"misset": (0.0, 0.0, 20.0 + h)}, 5e-3),
    "cell_a": (lambda h: {"cell": [CELL[0] + h, *CELL[1:]]}, 1e-2),
    "cell_beta": (lambda h: {"cell": [*CELL[:4], CELL[4] + h, CELL[5]]}, 5e-3),
    "wavelength": (lambda h: {"wavelength": 1.1 + h}, 1e-4),
    "distance": (lambda h: {"distance": 90.0 + h}, 5e-3),
    "beam_x": (lambda h: {"beam_center": (47.0 + h, 49.0)}, 5e-3),
    "beam_y": (lambda h: {"beam_center": (47.0, 49.0 + h)}, 5e-3),
    "phi0": (lambda h: {"phi0": 3.0 + h}, 5e-3),
    "osc": (lambda h: {"osc": 0.4 + h}, 5e-3),
    "polarization": (lambda h: {"polarization": 0.6 + h}, 0.1),
    "thickness": (lambda h: {"thickness": 400.0 + h}, 5.0),
    "absorption": (lambda h: {"absorption": 300.0 + h}, 5.0),
    "scale": (lambda h: {"fluence": 1e24 * (1 + h)}, 0.1),
    "share.0": (lambda h: {"shares": 1 + h}, 0.1),
}


def one(**options):
    """Returns the frame that these options make."""
    (frame,) = braggpipe.simulate(noise=False, **{**BASE, **options})
    return frame


def apart(a, b):
    """rms of the difference over that of the second."""
    return float(numpy.sqrt(((a - b) ** 2).sum() / (b.astype("f8") ** 2).sum()))


def images():
    """Each derivative image is a difference of images.  Those of mixed precision are equal."""
    frame = one(derivatives=",".join(CHANGES))
    assert list(frame.derivatives) == list(CHANGES) and frame.derivatives["osc"].shape == (32, 32)
    for name, (change, step) in CHANGES.items():
        up, down = (one(**change(side * step)).image.astype("f8") for side in (1, -1))
        error = apart(frame.derivatives[name], (up - down) / (2 * step))
        assert error < 5e-4, (name, error)
    mixed = one(derivatives=",".join(CHANGES), precision="mixed")
    for name, plane in frame.derivatives.items():
        assert apart(mixed.derivatives[name], plane) < 1e-4, name
    assert one().derivatives is None


def exposed():
    """The derivatives of a rotation that is exposed in part are differences of images."""
    frame = one(derivatives="osc,phi0", exposed=0.4)
    for name, change in ("osc", lambda h: {"osc": 0.4 + h}), ("phi0", lambda h: {"phi0": 3.0 + h}):
        up, down = (one(exposed=0.4, **change(side * 5e-3)).image.astype("f8") for side in (1, -1))
        assert apart(frame.derivatives[name], (up - down) / 1e-2) < 5e-4, name


def harmonic():
    """With a third harmonic, derivatives are differences of images that contain the harmonic, for each parameter."""
    names = ["rot_z", "cell_a", "wavelength", "beam_x", "thickness", "absorption", "scale", "share.0"]
    beam = one(derivatives="wavelength,absorption")
    for own in {}, {"harmonic_absorption": 2000}:
        options = {"third_harmonic": 10, **own}
        frame = one(derivatives=",".join(names), **options)
        for name in names[2:6] if own else names:
            change, step = CHANGES[name]
            up, down = (one(**options, **change(side * step)).image.astype("f8") for side in (1, -1))
            error = apart(frame.derivatives[name], (up - down) / (2 * step))
            assert error < 5e-4, (own, name, error)
        assert apart(frame.derivatives["scale"], frame.image) < 1e-6
        assert all(apart(plane, frame.derivatives[name]) > 5e-3 for name, plane in beam.derivatives.items() if not own)
    near, = braggpipe.simulate(noise={"seed": 2}, **{**BASE, **options}, derivatives="rot,scale", near_spots=1e-3)
    assert (near.sparse_derivatives[0] == numpy.flatnonzero(frame.pixels >= numpy.float32(1e-3))).all() and 50 < near.sparse_derivatives[0].size < 900
    assert not numpy.array_equal(near.sparse_derivatives[0], numpy.flatnonzero(one().pixels >= numpy.float32(1e-3)))
    assert (near.derivatives["rot_z"] == frame.derivatives["rot_z"]).ravel()[near.sparse_derivatives[0]].all()


def counted():
    """After bragg-noise, derivatives are those of the counts: with point spread, sensitivities and dead pixels of each panel."""
    step, gain = 5e-3, 1e6
    for psf in dict(psf="gauss", psf_fwhm=1500), dict(psf="fiber", psf_fwhm=1200, psf_radius=9), dict(psf="none"):
        noise = dict(bits=32, adc_offset=0, no_poisson=True, calibration=0.1, dead=0.02, gain=gain, **psf)
        frame, up, down = (braggpipe.simulate(geom="two.geom", ncells=5, cell=CELL, default_F=100, fluence=1e28, misset=(10.0, 20.0, 30.0 + turn),
                                              precision="double", derivatives="scale,rot_z", noise=noise) for turn in (0, step, -step))
        (frame,), (up,), (down,) = frame, up, down
        scale, turned = frame.derivatives["scale"], frame.derivatives["rot_z"]
        assert apart(scale, frame.image / gain) < 1e-6 and (scale == 0).any() and (turned < 0).any(), psf
        error = apart(turned, (up.image.astype("f8") - down.image) / (2 * step * gain))
        assert error < 5e-4, (psf, error)


def structure_factors():
    """Derivatives by F are differences of images, at pixels with 99 % of the reflection.  Tests products and bragg-noise, too."""
    with open("F.hkl", "w") as table:
        table.write("".join(f"{h} {k} {l} {40 + 7 * abs(h) + 5 * abs(k) + 3 * abs(l)}\n" for h in range(-9, 10)
                            for k in range(-9, 10) for l in range(-9, 10)))
    options = {**BASE, "ncells": 9, "default_F": 0, "hkl": "F.hkl", "fluence": 1e27}
    frame = one(derivatives="F", **options)
    rows, (pixels, slopes) = frame.reflections, frame.F_derivatives
    assert frame.derivatives is None and pixels.size == slopes.size == rows["pixels"].sum() and rows.size > 20
    ends = numpy.cumsum(rows["pixels"])
    weights = numpy.random.default_rng(1).normal(size=frame.image.shape)
    gradient = frame.F_vjp(weights)
    for number in numpy.argsort(-rows["photons"])[[0, 3, 9]]:
        row, images = rows[number], []
        for step in 2.0, -2.0:
            with open("F.hkl") as table, open("step.hkl", "w") as changed:
                for line in table:
                    h, k, l, F = map(float, line.split())
                    same = [h, k, l] == [row["h"], row["k"], row["l"]]
                    changed.write(f"{h:.0f} {k:.0f} {l:.0f} {F + step * same}\n")
            images.append(one(**{**options, "hkl": "step.hkl"}).image.astype("f8"))
        difference = ((images[0] - images[1]) / 4).ravel()
        where = slice(ends[number] - row["pixels"], ends[number])
        assert apart(slopes[where], difference[pixels[where]]) < 1e-4, (row, apart(slopes[where], difference[pixels[where]]))
        assert slopes[where].sum() > 0.989 * difference.sum()
        assert abs(gradient[number] - (slopes[where] * weights.ravel()[pixels[where]]).sum()) < 1e-6 * slopes[where].sum()
    planes = one(derivatives="rot,F,scale", **options)
    assert list(planes.derivatives) == ["rot_x", "rot_y", "rot_z", "scale"] and (planes.F_derivatives[1] == slopes).all()
    noisy, = braggpipe.simulate(**{**options, "derivatives": "F,scale", "noise": {"calibration": 0.1, "dead": 0.1}})
    share = (noisy.derivatives["scale"] / planes.derivatives["scale"]).ravel()[pixels]
    assert numpy.allclose(noisy.F_derivatives[1] / slopes, share) and (share == 0).any() and share.std() > 0.05
    model = braggpipe.Model("cell,F", **options)
    found, product = model.F_vjp(model.start + 0, weights)
    assert model.names[0] == "cell_a" and (found["F2"] == rows["F2"]).all() and numpy.allclose(product, gradient)


def read(name):
    return sorted(braggpipe.open(name), key=lambda frame: frame.number)


def same(ones, others):
    for one, other in zip(ones, others, strict=True):
        assert one.number == other.number and list(one.derivatives) == list(other.derivatives)
        assert all(plane.tobytes() == other.derivatives[name].tobytes() for name, plane in one.derivatives.items())


def kept():
    """Later stages keep the derivative images, panel by panel, also if pixels are left out."""
    frames = read("photons.rec")
    for frame in frames:
        scale = frame.derivatives["scale"]
        assert scale.shape == frame.image.shape and scale.dtype == numpy.float32 and not scale.flags.writeable
        assert numpy.allclose(scale, frame.image, rtol=1e-5) and (frame.image > 0).any()
        assert (frame.image == 0).any() and (frame.derivatives["rot_x"][frame.image == 0] == 0).all()
        tilt = frame.derivatives["panel.1.tilt_s"]
        assert (tilt[0] == 0).all() and (tilt[1] != 0).any()
    assert list(frames[0].derivatives) == ["rot_x", "rot_y", "rot_z", "panel.1.tilt_s", "scale"]
    assert len(frames) == 3 and (frames[0].derivatives["rot_x"] != frames[1].derivatives["rot_x"]).any()
    for name in ("again.rec", "noise.rec", "fused.rec", "workers.rec", "vignette.rec"):
        same(read(name), frames)


def near_spots():
    """With --near-spots, derivatives of pixels with photons are equal to those without the option.  All others are 0."""
    frames = read("near.rec")
    for whole, near in zip(read("photons.rec"), frames, strict=True):
        lit = whole.image >= numpy.float32(LEAST)
        assert near.image.tobytes() == whole.image.tobytes() and 0.02 < lit.mean() < 0.8, lit.mean()
        for name, plane in near.derivatives.items():
            assert (plane[lit] == whole.derivatives[name][lit]).all() and not plane[~lit].any(), name
    same(read("near_fused.rec"), frames)
    blank, = read("near_blank.rec")
    assert not blank.image.any() and len(blank.derivatives) == 5 and not any(plane.any() for plane in blank.derivatives.values())


def listed():
    """Lists of pixels keep their bytes behind other stages.  A point spread and files store all pixels instead."""
    frames = read("near.rec")
    for frame in frames:
        pixels, values = frame.sparse_derivatives
        assert pixels.dtype == numpy.uint32 and (pixels == numpy.flatnonzero(frame.pixels >= LEAST)).all()
        assert list(values) == list(frame.derivatives) and all((frame.derivatives[name].ravel()[pixels] == one).all() for name, one in values.items())
        for name, plane in frame.derivatives.items():
            assert open(f"near_{frame.number}.{name}.raw", "rb").read() == plane.tobytes()
    for name in "near_fused.rec", "near_vignette.rec":
        for one, other in zip(read(name), frames, strict=True):
            assert one.sparse_derivatives[0].tobytes() == other.sparse_derivatives[0].tobytes(), name
    assert all(frame.sparse_derivatives is None for name in ("photons.rec", "near_psf.rec") for frame in read(name))
    for near, whole in zip(read("near_dead.rec"), read("dead.rec"), strict=True):
        pixels, values = near.sparse_derivatives
        assert all((whole.derivatives[name].ravel()[pixels] == one).all() for name, one in values.items()) and (values["scale"] == 0).any()
    for near, spread in zip(frames, read("near_psf.rec"), strict=True):
        lit = near.derivatives["scale"].sum()
        assert 0.8 * lit < spread.derivatives["scale"].sum() < 1.02 * lit and ((spread.derivatives["scale"] > 0) & (near.derivatives["scale"] == 0)).any()
    if importlib.util.find_spec("h5py"):
        same(read("near.nxs"), frames)


def kept_F():
    """Derivatives by F are equal for any number of threads, and behind a Python stage."""
    frames = read("F1.rec")
    assert all(frame.F_derivatives[0].size == frame.reflections["pixels"].sum() > 9 for frame in frames)
    for name in ("F3.rec", "Fv.rec"):
        for one, other in zip(read(name), frames, strict=True):
            assert all(mine.tobytes() == its.tobytes() for mine, its in zip(one.F_derivatives, other.F_derivatives))
        same(read(name), frames)


def files():
    """Raw files and NXmx contain the derivative images."""
    frames = read("photons.rec")
    for frame in frames:
        for name, plane in frame.derivatives.items():
            assert open(f"with_{frame.number}.{name}.raw", "rb").read() == plane.tobytes()
    if importlib.util.find_spec("h5py"):
        same(read("with.nxs"), frames)
        same(read("one.nxs"), frames)


def model():
    """braggpipe.Model: its image, its derivatives away from the start, and its refusals."""
    names = ["rot_x", "rot_z", "cell_b", "wavelength", "distance", "beam_y", "scale", "mosaic", "share.0"]
    options = {**BASE, "mosaic": 0.5, "mosaic_domains": 4}
    model = braggpipe.Model(names, **options)
    assert model.names == names and numpy.allclose(model.start, [0, 0, 52, 1.1, 90, 49, 1, 1, 1])
    assert apart(model(model.start), one(mosaic=0.5, mosaic_domains=4).image) < 1e-6 and model.images == 2
    at = model.start + [3, -2, 0.5, 0.01, 0.3, 0.2, 0.5, 0.2, 0.4]
    steps = [5e-3, 5e-3, 1e-2, 1e-4, 5e-3, 5e-3, 0.1, 1e-3, 0.1]
    planes, weights = model.jacobian(at), model(at) - 1
    assert planes.shape == (9, 32, 32) and numpy.allclose(model.vjp(at, weights), (planes * weights).sum((1, 2)))
    for number, step in enumerate(steps):
        move = numpy.eye(9)[number] * step
        error = apart(planes[number], (model(at + move) - model(at - move)) / (2 * step))
        assert error < 5e-4, (names[number], error)
    refused = [lambda: model(at[1:]), lambda: model.vjp(at, weights[1:]), lambda: braggpipe.Model("ncells", **BASE),
               lambda: braggpipe.Model("panel.0.tilt_f", **BASE), lambda: braggpipe.Model("scale", **BASE, frames=2),
               lambda: braggpipe.Model("cell_b", cell=[50, 60, 70, 90, 90, 90], wilson=20, detpixels=32, pixel=2)]
    for call in refused:
        try:
            call()
        except ValueError:
            continue
        raise AssertionError("not refused")
    shipped = braggpipe.Model("cell_b", detpixels=32, pixel=2, ncells=6, misset=(10, 20, 30))  # lysozyme, in other cells
    (frame,) = braggpipe.simulate(detpixels=32, pixel=2, ncells=6, misset=(10, 20, 30), noise=False)
    assert apart(shipped(shipped.start), frame.image) < 1e-6 and frame.image.max() > 0 and shipped.start == [68.451]
    plane, (up, down) = shipped.jacobian([68.6])[0], (shipped([68.6 + side * 0.01]) for side in (1, -1))
    assert apart(plane, (up - down) / 0.02) < 5e-3, apart(plane, (up - down) / 0.02)
    group = braggpipe.Model("rot,cell", **{**BASE, "cell": [50, 50, 70, 90, 90, 120]})
    assert group.names == ["rot_x", "rot_y", "rot_z", "cell_ab", "cell_c"] and group.start.tolist() == [0, 0, 0, 50, 70]


for check in sys.argv[1:]:
    globals()[check]()

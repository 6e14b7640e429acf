"""spectrum.py write: spectra as text and HDF5; profile IMAGE SPECTRUM: photons of the spot against the formula;
sensor IMAGE: photons of a reflection at 10 and 20 keV behind what 0.32 mm of silicon absorbs (NIST SRD 126);
dxtbx FILE: spectra of the frames of NXmx as dxtbx reads them, against the wavelengths of the ground truth."""
import sys

import h5py
import numpy

HC = 12398.42
RE2 = 7.94079e-30  # m^2, classical electron radius squared
MEAN = 12398.42  # where the middle of the rotation diffracts


def bumps(relative):
    shape = sum(height * numpy.exp(-0.5 * ((relative - at) / rms) ** 2)
                for at, rms, height in ((-0.45, 0.08, 1), (0.05, 0.15, 0.5), (0.5, 0.05, 0.8)))
    return shape / shape.sum()


def write():
    relative = numpy.linspace(-0.8, 0.8, 401)
    energy = MEAN * (1 + relative / 100)
    weight = bumps(relative)
    numpy.savetxt("bumps.txt", numpy.column_stack((energy, weight)), fmt="%.12g")
    # detectors of spectrometers see further out, and add something
    wide = numpy.linspace(-0.96, 0.96, 481)
    shots = numpy.tile(bumps(wide), (4, 1)) * 1e6 + 250
    shots[[0, 1, 3]] = shots[[0, 1, 3], ::-1]
    with h5py.File("shots.h5", "w") as file:
        file["energies"] = MEAN * (1 + wide / 100)
        file["weights"] = shots
    for unit, factor in ("keV", 1e-3), ("joules", 1.602176634e-19), ("angstrom", 1):
        with h5py.File(f"{unit}.h5", "w") as file:
            file["energies"] = MEAN * (1 + wide / 100) * factor
            file["energies"].attrs["units"] = unit
            file["weights"] = shots
    for name, values, options, unit in (("packed", shots, {"compression": "lzf"}, ""), ("watts", shots, {}, "W"),
                                        ("words", shots.astype("S9"), {}, ""), ("below", shots - numpy.where(numpy.arange(481) % 9, 250, 5250), {}, ""),
                                        ("noise", shots - 250 + numpy.where(numpy.arange(481) % 9, 40, -400), {}, "counts")):
        with h5py.File(f"{name}.h5", "w") as file:
            file["energies"] = MEAN * (1 + wide / 100)
            file.create_dataset("weights", data=values, **options).attrs["units"] = unit
    with h5py.File("other.h5", "w") as file:
        file["energies"] = numpy.arange(3.0)
        file["weights"] = numpy.zeros((2, 2, 2))


def profile(image, spectrum):
    """n(y) = S |dE/dy| dy  r_e^2 Phi lambda^3 / (V^2 sin 2theta) F^2 V_x 0.98444 / osc, E = hc / (2 d sin theta)."""
    pixels = numpy.fromfile(image, "<f4").reshape(12400, 9)[560:781].sum(1).astype(float)
    energy, weight = numpy.loadtxt(spectrum).T
    d, volume, crystal = 2.0, 100.0**3, (150 * 100.0) ** 3  # A, A^3
    y = 620.05 - (numpy.arange(560, 781) + 0.5) * 0.1  # mm
    two_theta = numpy.arctan2(y, 1000.0)
    at = HC / (2 * d * numpy.sin(two_theta / 2))
    steps = numpy.gradient(energy)
    density = numpy.interp(at, energy, weight / steps, left=0, right=0)  # of photons, 1/eV
    wave = HC / at
    slope = numpy.abs(numpy.gradient(at, y))
    expected = (density * slope * 0.1 * RE2 * 1e24 * wave**3 / (volume**2 * numpy.sin(two_theta)) * 100.0**2 * crystal *
                0.98444 / numpy.radians(0.5)) * 1e-10 * 1e10  # lambda^3 V_x / V^2 has the unit A^0
    ratio, worst = pixels.sum() / expected.sum(), numpy.sqrt(((pixels - expected) ** 2).mean()) / expected.max()
    print(f"total {ratio:.5f} of the formula, rms {worst:.4f} of the peak, {pixels.sum():.6g} photons")
    assert abs(ratio - 1) < 0.0005 and worst < 0.004


def sensor(image):
    """n = Phi/2 r_e^2 lambda^3 F^2 V_x 0.98444 / (V^2 sin 2theta osc) (1 - exp(-mu t / cos 2theta)), in the rows of each spot."""
    rows = numpy.fromfile(image, "<f4").reshape(600, 41).astype(float).sum(1)
    t, d, volume, crystal = 0.032, 2.0, 20.0**3, (15 * 20.0) ** 3  # cm, A, A^3
    for wave, cm2_g, found in ((0.619921, 4.464, rows[270:].sum()), (1.239842, 33.89, rows[:270].sum())):
        two_theta = 2 * numpy.arcsin(wave / (2 * d))
        photons = 0.5e30 * RE2 * wave**3 / (volume**2 * numpy.sin(two_theta)) * 100.0**2 * crystal * 0.98444 / numpy.radians(16)
        expected = photons * -numpy.expm1(-cm2_g * 2.33 * t / numpy.cos(two_theta))
        print(f"{wave} A: {found:.6g} photons, {found / expected:.5f} of the formula, {found / photons:.4f} caught")
        assert abs(found / expected - 1) < 0.003


def dxtbx(name):
    from dxtbx.format.FormatNexus import FormatNexus
    image = FormatNexus(name)
    truth = h5py.File(name)["entry/braggpipe/frames"]["wavelength"]
    spectra = [image.get_spectrum(i) for i in range(5)]
    means = []
    for i, spectrum in enumerate(spectra):
        energies, weights = (numpy.array(v) for v in (spectrum.get_energies_eV(), spectrum.get_weights()))
        means.append((weights * HC / energies).sum() / weights.sum())
        assert energies.size > 3 and abs(image.get_beam(i).get_wavelength() - truth[i]) < 1e-9
    print(f"mean wavelengths {means}, of the truth {truth.tolist()}")
    assert numpy.allclose(means, truth, rtol=1e-6, atol=0)
    if name == "diverging.nxs":  # five wavelengths, each of them once
        assert all(len(spectrum.get_energies_eV()) == len(set(spectrum.get_energies_eV())) == 5 for spectrum in spectra)
    if name == "measured.nxs":  # frame 4 takes the first spectrum again, and all are the same bumps
        energies, weights = (numpy.array(v) for v in (spectra[2].get_energies_eV(), spectra[2].get_weights()))
        fine = MEAN * (1 + numpy.linspace(-0.8, 0.8, 401) / 100)
        mean = (bumps(numpy.linspace(-0.8, 0.8, 401)) * fine).sum()
        rms = numpy.sqrt((bumps(numpy.linspace(-0.8, 0.8, 401)) * (fine - mean) ** 2).sum())
        ours = (weights * energies).sum() / weights.sum()
        assert abs(ours - mean) < 0.01 * rms and abs(numpy.sqrt((weights * (energies - ours) ** 2).sum() / weights.sum()) / rms - 1) < 0.01
    if name == "sase.nxs":
        assert len({round(mean, 7) for mean in means}) == 5


globals()[sys.argv[1]](*sys.argv[2:])

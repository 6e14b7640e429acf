"""Computes photons with the formulas of braggpipe-physics(7), written from the page alone.

    physics_page.py IMAGE KEY=VALUE...

The keys are options of bragg-geometry and bragg-orient.  Compares with IMAGE (float32), and prints the
largest error relative to the pixel and to a thousandth of the mean.  Fails above 2e-6, with diffuse
halos above 2 %.
"""
import sys

import numpy as np

AXES = {"+x": (1, 0, 0), "+y": (0, 1, 0), "+z": (0, 0, 1), "-x": (-1, 0, 0), "-y": (0, -1, 0), "-z": (0, 0, -1)}
# [1.3]: beam fast slow normal twotheta polar pivot
CONVENTIONS = {
    "mosflm": "+x +z -y +x -z +z beam", "denzo": "+x +z -y +x -z +z beam", "adxv": "+z +x -y +z -x +x beam",
    "xds": "+z +x +y +z +x +x sample", "dials": "+z +x +y +z +y +y sample",
}


def turn(v, axis, degrees):
    """[1.6]"""
    phi, u = np.radians(degrees), np.asarray(axis, float)
    return v * np.cos(phi) + np.cross(u, v) * np.sin(phi) + (1 - np.cos(phi)) * (v @ u)[..., None] * u


def reciprocal(cell):
    """[3.1], rows a*, b*, c* in 1/angstrom"""
    a, b, c = cell[:3]
    al, be, ga = np.radians(cell[3:])
    volume = a * b * c * np.sqrt(1 - np.cos(al)**2 - np.cos(be)**2 - np.cos(ga)**2 + 2 * np.cos(al) * np.cos(be) * np.cos(ga))
    lengths = b * c * np.sin(al) / volume, c * a * np.sin(be) / volume, a * b * np.sin(ga) / volume
    cos_as = (np.cos(be) * np.cos(ga) - np.cos(al)) / (np.sin(be) * np.sin(ga))
    cos_bs = (np.cos(ga) * np.cos(al) - np.cos(be)) / (np.sin(ga) * np.sin(al))
    cos_gs = (np.cos(al) * np.cos(be) - np.cos(ga)) / (np.sin(al) * np.sin(be))
    sin_gs = np.sqrt(1 - cos_gs**2)
    return np.array([[lengths[0], 0, 0], [lengths[1] * cos_gs, lengths[1] * sin_gs, 0],
                     [lengths[2] * cos_bs, lengths[2] * (cos_as - cos_bs * cos_gs) / sin_gs, 1 / c]])


def lattice(shape, hkl, n, fudge):
    """[3.7]; n cells along each axis"""
    dh = hkl - np.rint(hkl)
    r2 = ((n * dh)**2).sum(-1)
    total = n**3
    if shape == "square":
        return np.prod(np.sin(np.pi * n * hkl) / np.sin(np.pi * hkl), -1)
    if shape == "round":
        x = np.pi * np.sqrt(r2 * fudge)
        return 0.723601 * total * 3 * (np.sin(x) - x * np.cos(x)) / x**3
    if shape == "gauss":
        return total * np.exp(-fudge * r2 / 0.63)
    return np.where(fudge * r2 < 0.38083, total, 0.0)


def halos(option, numbers, hkl, cells, far):
    """[3.12]: hkl[..., 3], reflections up to `far` 1/angstrom, F = 1"""
    rows = reciprocal(numbers("cell", ""))
    sigma, gamma = (np.array(numbers(f"diffuse-{name}", "") * 3)[:3] for name in ("sigma", "gamma"))
    axes = np.array([np.cross(rows[1], rows[2]), np.cross(rows[2], np.cross(rows[1], rows[2])), rows[2]])
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    most = 1 + int(far / np.linalg.norm(rows, axis=1).min())
    h = np.stack(np.meshgrid(*[np.arange(-most, most + 1)] * 3, indexing="ij"), -1).reshape(-1, 3)
    g = h @ rows
    g = g[np.linalg.norm(g, axis=1) <= far]
    X = 4 * np.pi**2 * ((g @ axes.T * sigma)**2).sum(1)
    sums = np.zeros(hkl.shape[:-1])
    for at in np.ndindex(sums.shape):
        u = 4 * np.pi**2 * (((hkl[at] @ rows - g) @ axes.T * gamma)**2).sum(1)
        factor = 1.0
        for m in range(1, 13):
            factor = factor * X / m
            sums[at] += (factor * 8 * np.pi * (gamma / m).prod() / (1 + u / m**2)**2).sum()
    return cells**3 * abs(np.linalg.det(rows)) * sums


def image(option):
    number = lambda key, default: float(option.get(key, default))
    numbers = lambda key, default: [float(x) for x in option.get(key, default).split(",")]
    *axes, pivot = CONVENTIONS[option.get("convention", "mosflm")].split()
    beam, f, s, n, twotheta_axis, polar = (np.array(AXES[a], float) for a in axes)
    pixels, pixel = int(option["detpixels"]), number("pixel", "0.1") * 1e-3
    distance, centre = number("distance", "100") * 1e-3, np.array(numbers("beam-center", "")) * 1e-3
    # [1.4]
    F, S = {"mosflm": (centre[1] + pixel / 2, centre[0] + pixel / 2), "denzo": (centre[1], centre[0]),
            "adxv": (centre[0], pixels * pixel - centre[1])}.get(option.get("convention", "mosflm"), tuple(centre))

    def tilt(v):
        for axis, degrees in zip(np.eye(3), numbers("rotate", "0,0,0")):
            v = turn(v, axis, degrees)
        return v

    def swing(v):
        return turn(tilt(v), twotheta_axis, number("twotheta", "0"))

    # [1.7]
    f1, s1, n1 = swing(f), swing(s), swing(n)
    closest = distance * (beam @ (n1 if pivot == "beam" else tilt(n)))
    if pivot == "beam":
        corner = distance * beam - F * f1 - S * s1
    else:
        corner = swing(closest * n - F * f - S * s)
    # [3.3]
    rows = reciprocal(numbers("cell", ""))
    for axis, degrees in zip(np.eye(3), numbers("misset", "0,0,0")):
        rows = turn(rows, axis, degrees)
    v_star = rows[0] @ np.cross(rows[1], rows[2])
    direct = np.array([np.cross(rows[(i + 1) % 3], rows[(i + 2) % 3]) for i in range(3)]) / v_star * 1e-10

    k, layers = int(number("oversample", "1")), int(number("layers", "1"))
    mu, thickness = 1e6 / number("absorption", "1"), number("thickness", "0") * 1e-6
    waves, width = int(number("dispersion-steps", "1")), number("dispersion", "0")
    steps, osc, phi0 = int(number("phi-steps", "1")), number("osc", "0"), number("phi0", "0")
    middle, kahn = number("wavelength", "1") * 1e-10, number("polarization", "0.98")
    along = (np.arange(pixels * k) + 0.5) / k * pixel
    face = corner + along[None, :, None] * f1 + along[:, None, None] * s1
    total = np.zeros(face.shape[:2])
    for m in range(layers):
        place, capture = face, 1.0
        if thickness > 0:  # [1.10]
            sheet = thickness / layers
            depth = m * sheet + 1 / mu - sheet / np.expm1(mu * sheet)
            place = face + depth * n1
        r = np.linalg.norm(place, axis=-1)
        d = place / r[..., None]
        if thickness > 0:
            c = d @ n1
            capture = np.exp(-m * mu * sheet / c) - np.exp(-(m + 1) * mu * sheet / c)
        omega = pixel**2 * closest / r**3  # [1.9]
        # [2.6]
        b = np.cross(polar, beam)
        psi = np.arctan2(d @ b, d @ polar)
        c2 = (d @ beam)**2
        P = (1 + c2 - kahn * np.cos(2 * psi) * (1 - c2)) / 2
        for wave in range(waves):  # [2.2]
            wavelength = middle * (1 + (width / 100 * (wave / (waves - 1) - 0.5) if waves > 1 else 0))
            for step in range(steps):  # [3.5], about polar [1.3]
                cell = turn(direct, polar, phi0 + (step + 0.5) * osc / steps)
                hkl = (d - beam) / wavelength @ cell.T
                if "diffuse-sigma" in option:
                    far = 1.05 * max(np.linalg.norm(d - beam, axis=-1).ravel()) / wavelength * 1e-10
                    total += halos(option, numbers, hkl, number("ncells", ""), far) * P * omega * capture
                total += lattice(option.get("shape", "square"), hkl, number("ncells", ""), number("fudge", "1"))**2 * P * omega * capture
    total *= 7.94079248018965e-30 * number("fluence", "") * number("default-F", "")**2 / (k * k * waves * steps)
    return total.reshape(pixels, k, pixels, k).sum((1, 3))


def main(path, *options):
    want = image(dict(option.split("=", 1) for option in options))
    got = np.fromfile(path, "<f4").reshape(want.shape)
    error = np.abs(got - want) / (np.abs(want) + 1e-3 * want.mean())
    if any(option.startswith("diffuse") for option in options):
        # halos are interpolated: 2 % of their mean in the rms; everything else is exact
        bragg = image(dict(option.split("=", 1) for option in options if not option.startswith("diffuse")))
        error = (got - want) / (want - bragg).mean()
        print(f"halos {(got - bragg).mean() / (want - bragg).mean():.4f} of the formula, rms {np.sqrt((error**2).mean()):.3g}")
        return np.sqrt((error**2).mean()) > 0.02
    print(f"largest error {error.max():.2g}, sums {got.sum(dtype=float) / want.sum():.9f}, brightest {want.max():.3g}")
    return error.max() > 2e-6


sys.exit(int(main(*sys.argv[1:])))

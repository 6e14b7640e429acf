"""Figures of frames of electrons, for electrons.t: each command prints one line.

rotation TABLE   photons of whole reflections of silicon / kinematic formula: mean, rms, largest distance in px, number
lists EXPT   wavelength and probe of the beam of a list, as DIALS reads it
merged MERGED.mtz ELECTRON.mtz XRAY.mtz   R of merged amplitudes above 3 sigma and each calculated list, and their number
"""
import re
import subprocess
import sys

import numpy as np

HC_EV_A, REST_EV = 12398.41984, 510998.95
VOLTAGE, EDGE_A, CELLS, OSC_DEG, FLUENCE = 2e5, 5.431, 60, 24.0, 1e24
DISTANCE_M, PIXEL_M, PIXELS = 0.5, 55e-6, 512


def turn(degrees, axis):
    t, r = np.radians(degrees), np.eye(3)
    j, k = (axis + 1) % 3, (axis + 2) % 3
    r[j, j] = r[k, k] = np.cos(t)
    r[j, k], r[k, j] = -np.sin(t), np.sin(t)
    return r


def rotation(path):
    """The integrated intensity of a rotation: fluence gamma^2 F_e^2 lambda^3 V/(V_c^2 omega |u.(s0 x s)|)."""
    wave = HC_EV_A / np.sqrt(VOLTAGE * (VOLTAGE + 2 * REST_EV))
    gamma = 1 + VOLTAGE / REST_EV
    listed = subprocess.run(['gemmi', 'sfcalc', '--for=electron', '--dmin=0.85', 'si.cif'], capture_output=True, text=True, check=True).stdout
    F = {tuple(sorted(abs(int(x)) for x in m[:3])): float(m[3]) for m in re.findall(r'\(\s*(-?\d+)\s+(-?\d+)\s+(-?\d+)\)\s+([\d.]+)', listed)}
    table = np.genfromtxt(path, names=True)
    B = turn(11, 2) @ turn(7, 1) @ turn(3, 0) / EDGE_A
    axis, s0, phi = np.array([0, 0, 1.0]), np.array([1.0, 0, 0]), np.radians(np.linspace(-OSC_DEG / 2, OSC_DEG / 2, 24001))
    ratios, places = [], []
    for row in table:
        hkl = [int(row[k]) for k in 'hkl']
        g = B @ hkl
        q = np.stack([np.cos(phi) * g[0] - np.sin(phi) * g[1], np.sin(phi) * g[0] + np.cos(phi) * g[1], np.full_like(phi, g[2])], 1)
        e = np.linalg.norm(q + s0 / wave, axis=1) - 1 / wave
        x = np.nonzero(np.diff(np.sign(e)))[0]
        if len(x) != 1:
            continue
        i = x[0]
        f = e[i] / (e[i] - e[i + 1])
        at, here = phi[i] + f * (phi[i + 1] - phi[i]), q[i] + f * (q[i + 1] - q[i])
        speed = abs((e[i + 1] - e[i]) / (phi[i + 1] - phi[i]))
        if np.radians(OSC_DEG / 2) - abs(at) < 5 * 0.397 / (CELLS * EDGE_A) / speed:
            continue
        d = here + s0 / wave
        d /= np.linalg.norm(d)
        whole = (FLUENCE * 1e-20 * gamma**2 * F[tuple(sorted(abs(x) for x in hkl))]**2 * wave**3 * (CELLS * EDGE_A)**3 * 0.98444
                 / (EDGE_A**6 * np.radians(OSC_DEG) * abs(axis @ np.cross(s0, d))))
        if whole < 1e-3:
            continue
        ratios.append(row['photons'] / whole)
        t = DISTANCE_M / d[0]
        places.append(np.hypot(row['fast'] - (d[2] * t / PIXEL_M + PIXELS / 2), row['slow'] - (-d[1] * t / PIXEL_M + PIXELS / 2)))
    ratios = np.array(ratios)
    print('%.6f %.6f %.3f %d' % (ratios.mean(), ratios.std(), max(places), len(ratios)))


def lists(path):
    from dxtbx.model.experiment_list import ExperimentListFactory
    beam = ExperimentListFactory.from_json_file(path, check_format=False)[0].beam
    probe = str(beam.get_probe()) if hasattr(beam, 'get_probe') else 'old'
    print('%.7f %s' % (beam.get_wavelength(), probe))


def merged(path, *calculated):
    """sum |k F - Fc| / sum Fc of one scale k, the least-squares one; F is the root of a mean intensity."""
    from iotbx import mtz

    def arrays(name):
        return {a.info().labels[0]: a for a in mtz.object(name).as_miller_arrays()}
    means = arrays(path)['IMEAN'].map_to_asu()
    means = means.select(means.data() > 3 * means.sigmas())
    R, count = [], 0
    for name in calculated:
        observed, model = means.common_sets(arrays(name)['FC'].amplitudes().map_to_asu(), assert_is_similar_symmetry=False)
        F, Fc = np.sqrt(np.array(observed.data())), np.array(model.data())
        R.append(np.abs(F * (F @ Fc) / (F @ F) - Fc).sum() / Fc.sum())
        count = len(F)
    print('%.4f %.4f %d' % (*R, count))


{'rotation': rotation, 'lists': lists, 'merged': merged}[sys.argv[1]](*sys.argv[2:])

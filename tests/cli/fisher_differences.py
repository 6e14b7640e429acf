"""Compares error bars of bragg-fisher with error bars from differences of images.

    fisher_differences.py TABLE ALL PROGRAMS

The second way: images of the programs at shifted options, central differences, and numpy's inverse.
ALL is the output of bragg-fisher.
"""
import re
import subprocess
import sys

import numpy

BACKGROUND, READOUT, FRAMES = 0.7, 1.5, 3
BASE = {'cell_a': 70.0, 'cell_b': 80.0, 'cell_c': 90.0, 'scale': 1.0, 'distance': 90.0, 'x': 7.1, 'y': 6.9, 'phi0': 10.0}
STEP = {'cell_a': 2e-3, 'cell_b': 2e-3, 'cell_c': 2e-3, 'scale': 0.01, 'distance': 0.01, 'x': 2e-3, 'y': 2e-3, 'phi0': 2e-3}
NAME = {'x': 'beam_x', 'y': 'beam_y'}


def images(values):
    line = (f"bragg-geometry --quiet --detpixels=120 --pixel=0.12 --distance={values['distance']!r} --beam-center={values['x']!r},{values['y']!r} "
            f"--cell={values['cell_a']!r},{values['cell_b']!r},{values['cell_c']!r},90,90,90 --default-F=100 --ncells=6 --oversample=2 "
            f"--fluence={1e26 * values['scale']!r} | bragg-orient --quiet --frames={FRAMES} --random --seed=4 --phi0={values['phi0']!r} --osc=0.3 --phi-steps=2 | "
            "bragg-intensity --quiet --engine=reference | bragg-write --quiet --overwrite d_%d.raw")
    subprocess.run(line, shell=True, check=True)
    return numpy.array([numpy.fromfile(f'd_{i}.raw', '<f4').astype(float) for i in range(FRAMES)])


def slope(name):
    """Returns the central difference of fourth order."""
    at = {k: images({**BASE, name: BASE[name] + k * STEP[name]}) for k in (-2, -1, 1, 2)}
    return (8 * (at[1] - at[-1]) - (at[2] - at[-2])) / (12 * STEP[name])


LOCAL, SHARED = ['cell_a', 'cell_b', 'cell_c', 'phi0', 'scale', 'background'], ['distance', 'x', 'y']
image = images(BASE)
slopes = {n: slope(n) if n != 'background' else numpy.full_like(image, BACKGROUND) for n in LOCAL + SHARED}
mean = image + BACKGROUND + READOUT**2
n = FRAMES * len(LOCAL) + len(SHARED)
fisher = numpy.zeros((n, n))
for f in range(FRAMES):
    j = numpy.array([slopes[name][f] for name in LOCAL + SHARED])
    at = [f * len(LOCAL) + i for i in range(len(LOCAL))] + list(range(n - len(SHARED), n))
    fisher[numpy.ix_(at, at)] += (j / mean[f]) @ j.T
fisher[n - 3, n - 3] += 1 / 0.05**2  # --prior=distance:0.05
scale = 1 / numpy.sqrt(numpy.diag(fisher))
error = numpy.sqrt(numpy.diag(numpy.linalg.inv(fisher * numpy.outer(scale, scale)))) * scale

bad = 0


def check(name, got, wanted):
    global bad
    good = abs(got / wanted - 1) < 0.01
    bad += not good
    if not good:
        print(f'{name}: {got} instead of {wanted}')


with open(sys.argv[1], encoding='ascii') as file:
    title, *rows = [line.rstrip('\n').split('\t') for line in file]
for f, row in enumerate(rows):
    told = dict(zip(title, row))
    assert told['frame'] == str(f) and told['verdict'] == 'good', told
    units = {re.sub('_(A|deg|mm)$', '', k): v for k, v in told.items()}
    for i, name in enumerate(LOCAL):
        check(f'frame {f}, {name}', float(units[name]), error[f * len(LOCAL) + i])
with open(sys.argv[2], encoding='ascii') as file:
    told = {line.split()[0]: line.split() for line in file}
for i, name in enumerate(SHARED):
    check(f'all frames, {name}', float(told[NAME.get(name, name)][3]), error[n - 3 + i])
sys.exit(bad > 0)

"""Compares anomalous scattering with third-party programs.

anomalous.py formula MODEL OURS f' f'': with the direct sum of cctbx over all atoms.
anomalous.py measured MODEL OURS MERGED f' f'': Bijvoet differences that DIALS measured with those of the
    simulation.  Their map with the phases of cctbx must show the selenium atoms.
anomalous.py alike OURS OTHERS: compares two recordings.
OURS is a recording of recipes.  Prints lines of a name and a value.
"""
import os
import sys

import numpy
from iotbx import mtz, pdb

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
import factors


def structure(model, f1, f2):
    atoms = pdb.input(file_name=model).xray_structure_simple()
    atoms.scattering_type_registry(table="it1992")
    for atom in atoms.scatterers():
        if atom.element_symbol().upper() == "SE":
            atom.fp, atom.fdp = f1, f2
    return atoms


def formula(model, recording, f1, f2):
    calculated = structure(model, f1, f2).structure_factors(anomalous_flag=True, d_min=2.0, algorithm="direct").f_calc()
    ours = factors.read(recording)
    pairs = [(abs(value), ours[hkl]) for hkl, value in zip(calculated.indices(), calculated.data()) if hkl in ours]
    theirs, own = numpy.array(pairs).T
    print("reflections", len(pairs))
    print("missing", calculated.size() - len(pairs))
    print("rms_difference", numpy.sqrt(numpy.mean((theirs - own) ** 2) / numpy.mean(theirs**2)))


def alike(recording, other):
    ours, others = factors.read(recording), factors.read(other)
    pairs = numpy.array([(ours.get(hkl, 0.0), value) for hkl, value in others.items()]).T
    print("rms_difference", numpy.sqrt(numpy.mean((pairs[0] - pairs[1]) ** 2) / numpy.mean(pairs[1] ** 2)))


def measured(model, recording, merged, f1, f2):
    ours = factors.read(recording)
    found = {array.info().labels[0]: array for array in mtz.object(merged).as_miller_arrays()}
    pairs = next(array for array in found.values() if array.is_xray_amplitude_array() and array.anomalous_flag())
    plus, minus = pairs.map_to_asu().select_acentric().hemispheres_acentrics()
    indices = list(plus.indices())
    theirs = numpy.array([plus.data(), minus.data()])
    own = numpy.array([[ours[h] for h in indices], [ours[tuple(-i for i in h)] for h in indices]])
    scale = (theirs * own).sum() / (own**2).sum()
    difference, wanted = (theirs[0] - theirs[1]) / scale, own[0] - own[1]
    print("pairs", len(indices))
    print("correlation", numpy.corrcoef(difference, wanted)[0, 1])
    print("slope", (difference * wanted).sum() / (wanted**2).sum())
    print("same_sign", (difference * wanted > 0)[abs(wanted) > abs(wanted).mean()].mean())
    # The map of differences, a quarter of a turn behind the phases without anomalous scattering.
    atoms = structure(model, 0.0, 0.0)
    phases = plus.set(anomalous_flag=False).structure_factors_from_scatterers(atoms, algorithm="direct").f_calc()
    units = numpy.array([value / max(abs(value), 1e-9) for value in phases.data()])
    hkl, weights = [], []
    for operation in atoms.space_group():
        turn = numpy.array(operation.r().as_double()).reshape(3, 3)
        shift = numpy.array(operation.t().as_double())
        h = numpy.array(indices, float)
        hkl.append(h @ turn)
        weights.append(-1j * difference * units * numpy.exp(-2j * numpy.pi * h @ shift))
    hkl, weights = numpy.concatenate(hkl), numpy.concatenate(weights)

    def density(points):
        return 2 * (weights[None, :] * numpy.exp(-2j * numpy.pi * points @ hkl.T)).sum(1).real

    sigma = density(numpy.random.default_rng(1).random((500, 3))).std()
    sites = [atom.site for atom in atoms.scatterers() if atom.element_symbol().upper() == "SE"]
    others = [atom.site for atom in atoms.scatterers() if atom.element_symbol().upper() != "SE"]
    print("selenium_sigma", density(numpy.array(sites)).min() / sigma)
    print("others_sigma", density(numpy.array(others)).max() / sigma)


if __name__ == "__main__":
    what, *words = sys.argv[1:]
    if what == "alike":
        alike(*words)
    else:
        {"formula": formula, "measured": measured}[what](*words[:-2], *map(float, words[-2:]))

"""wilson.py RECORDING CELL SPACE-GROUP DMIN: structure factors of --wilson as cctbx sees them.

Prints lines of a name and a value.  The atoms are those that bragg-geometry(1) states.
"""
import os
import sys

from cctbx import crystal, miller, statistics
from cctbx.array_family import flex

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "python"))
import factors

PROTEIN = {"C": 0.632, "N": 0.174, "O": 0.189, "S": 0.005}
ATOM_A3 = 35.0


def moment(intensities, bins=8):
    """The mean of <I^2>/<I>^2 of shells of resolution."""
    intensities.setup_binner(n_bins=bins)
    shells = [intensities.select(intensities.binner().selection(i)).data() for i in intensities.binner().range_used()]
    return sum(flex.mean(I * I) / flex.mean(I) ** 2 for I in shells) / len(shells)


def special_mean(intensities, bins=8):
    """The mean intensity of reflections whose mean is a multiple of that of others, after division by it."""
    special = intensities.epsilons().data() > 1
    intensities.setup_binner(n_bins=bins)
    sum_, count = 0.0, 0
    for i in intensities.binner().range_used():
        shell = intensities.binner().selection(i)
        general = flex.mean(intensities.select(shell & ~special).data())
        sum_ += flex.sum(intensities.select(shell & special).data()) / general
        count += (shell & special).count(True)
    return sum_ / count


def main(recording, cell, group, dmin):
    symmetry = crystal.symmetry(unit_cell=cell, space_group_symbol=group)
    ours = factors.read(recording)
    everything = miller.set(symmetry, flex.miller_index(list(ours)), anomalous_flag=False).array(flex.double(list(ours.values())))
    merging = everything.merge_equivalents()
    unique = merging.array().set_observation_type_xray_amplitude()
    print("absent", everything.sys_absent_flags().data().count(True))
    print("spread_of_equivalents", merging.r_merge())
    print("missing", unique.complete_set(d_min=float(dmin)).size() - unique.size())
    expanded = unique.expand_to_p1().generate_bijvoet_mates()
    print("missing_equivalents", expanded.size() - everything.size())
    intensities = unique.as_intensity_array()
    intensities = intensities.customized_copy(data=intensities.data() / intensities.epsilons().data().as_double())
    centric = intensities.centric_flags().data()
    if centric.count(False) > 1000:
        print("acentric_moment", moment(intensities.select(~centric)))
    if centric.count(True) > 400:
        print("centric_moment", moment(intensities.select(centric)))
    if (intensities.epsilons().data() > 1).count(True) > 300:
        print("special_mean", special_mean(intensities))
    atoms = symmetry.unit_cell().volume() / ATOM_A3 / symmetry.space_group().order_z()
    unique.setup_binner(n_bins=20)
    plot = statistics.wilson_plot(unique, {element: part * atoms for element, part in PROTEIN.items()})
    print("B", plot.wilson_b)
    print("scale", plot.wilson_intensity_scale_factor)


main(*sys.argv[1:])

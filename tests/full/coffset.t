#!/bin/sh
# A detector that moves from frame to frame, as DIALS reads it: CBF, SMV and experiments have the place of each
# frame, NXmx that of the first.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
needs 'a detector that moves' python:dxtbx python:numpy

bragg-geometry --quiet --detpixels=150,120 --pixel=0.3 --ncells=6 --oversample=2 --beam-center=17,23 --distance=90 |
	bragg-orient --quiet --frames=3 --random --coffset=1.5 --coffset-jitter=400 --shift-jitter=150 --truth=t.tsv | bragg-intensity --quiet --reflections=1 |
	bragg-noise --quiet | bragg-write --quiet f_%d.cbf f_%d.img f.nxs --reflections=f.refl
check 'DIALS sees where it stood' /usr/bin/python3 -c "
import csv, numpy, dxtbx
from dxtbx.model.experiment_list import ExperimentListFactory
rows = list(csv.DictReader(open('t.tsv'), delimiter='\t'))
# from x along fast, y down and z along the beam to (x, -y, -z)
moved = numpy.array([[float(r['shift_x_mm']), -float(r['shift_y_mm']), -float(r['coffset_mm'])] for r in rows])
assert abs(moved[0] - moved[1]).max() > 0.1
def off(name, where, frame):
    found = where - (numpy.array([-23.15, 17.15, -90]) + moved[frame])
    print(name, where, found)
    assert abs(found).max() < 2e-5, (name, found)
listed = ExperimentListFactory.from_json_file('f.expt', check_format=False)
assert len(listed.detectors()) == 3
for k in range(3):
    off('cbf', numpy.array(dxtbx.load(f'f_{k}.cbf').get_detector()[0].get_origin()), k)
    off('img', numpy.array(dxtbx.load(f'f_{k}.img').get_detector()[0].get_origin()), k)
    off('expt', numpy.array(listed[k].detector[0].get_origin()), k)
off('nxs', numpy.array(ExperimentListFactory.from_filenames(['f.nxs'])[0].detector[0].get_origin()), 0)"
finish

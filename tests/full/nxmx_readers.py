"""nxmx_readers.py NAME...: compares NAME.nxs, as dxtbx reads it, with NAME_*.img and, if they exist, NAME_*.cbf.
Prints "NAME agrees" of each that is the same, and ends with an error if one is not.

dxtbx is known to read the SMV images rightly.
"""
import glob
import os
import sys
import traceback

import dxtbx
import numpy as np


def geometry(image):
    panel = image.get_detector()[0]
    return np.concatenate(
        [
            panel.get_origin(),
            panel.get_fast_axis(),
            panel.get_slow_axis(),
            panel.get_pixel_size(),
            panel.get_image_size(),
            image.get_beam().get_s0(),
        ]
    )


def compare(name):
    master = dxtbx.load(name + ".nxs")
    assert type(master).__name__ == "FormatNXmx", type(master)
    paths = sorted(glob.glob(name + "_*.img"))
    assert len(paths) == master.get_num_images() > 0, (paths, master.get_num_images())
    rotates = dxtbx.load(paths[0]).get_scan().get_oscillation()[1] != 0
    mask = master.get_static_mask()
    for i, path in enumerate(paths):
        smv = dxtbx.load(path)
        expected = smv.get_raw_data().as_numpy_array()
        assert 100 < expected.max() < master.get_detector()[0].get_trusted_range()[1], expected.max()
        assert np.array_equal(master.get_raw_data(i)[0].as_numpy_array(), expected), path
        assert np.allclose(geometry(master), geometry(smv), rtol=0, atol=1e-6), (geometry(master), geometry(smv))
        if rotates:
            scan, axis = master.get_scan(), master.get_goniometer().get_rotation_axis()
            start = scan.get_oscillation()[0] + i * scan.get_oscillation()[1]
            assert np.allclose((start, scan.get_oscillation()[1]), smv.get_scan().get_oscillation(), atol=1e-6)
            assert np.allclose(axis, smv.get_goniometer().get_rotation_axis(), atol=1e-6)
        else:
            assert master.get_scan() is None and master.get_goniometer() is None
        if os.path.exists(path[:-4] + ".cbf"):
            cbf = dxtbx.load(path[:-4] + ".cbf")
            excluded = cbf.get_raw_data().as_numpy_array() == -2
            assert np.array_equal(cbf.get_raw_data().as_numpy_array()[~excluded], expected[~excluded])
            good = mask[0].as_numpy_array() if mask else ~np.zeros_like(excluded)
            assert np.array_equal(good, ~excluded), "other pixels are masked in CBF"
            assert np.allclose(geometry(master), geometry(cbf), rtol=0, atol=1e-6)
            assert master.get_detector()[0].get_trusted_range() == cbf.get_detector()[0].get_trusted_range()
    done = 0
    for path in sorted(glob.glob(name + "_data_*.h5")):  # each is complete in itself
        part = dxtbx.load(path)
        for i in range(part.get_num_images()):
            assert part.get_raw_data(i)[0].all_eq(master.get_raw_data(done)[0]), path
            done += 1
    assert done == len(paths)


failed = 0
for name in sys.argv[1:]:
    try:
        compare(name)
        print(name, "agrees", flush=True)
    except Exception:
        print(name, file=sys.stderr)
        traceback.print_exc()
        failed = 1
sys.exit(failed)

"""Compares CBF frames, as third-party programs read them, with SMV images of the same frames.

    cbf_readers.py NAME:CLASS[:THICKNESS]...

The frames are NAME_*.cbf and NAME_*.img; dxtbx is known to read the SMV images rightly.  dxtbx must
choose its class CLASS for the CBF frames, with a sensor of THICKNESS mm and its parallax, as in
NAME.nxs.  The beam centre must be right in every convention of SMV.  Prints "NAME agrees" of each whose
readers agree, and ends with an error if one does not.
"""
import glob
import sys
import traceback

import dxtbx
import fabio
import numpy as np
import pycbf


def by_cbflib(path):
    handle = pycbf.cbf_handle_struct()
    handle.read_widefile(path.encode(), pycbf.MSG_DIGEST)
    handle.rewind_datablock()
    handle.find_category(b"array_data")
    handle.find_column(b"data")
    handle.rewind_row()
    return np.frombuffer(handle.get_integerarray_as_string(), np.int32)


def geometry(image):
    panel, beam = image.get_detector()[0], image.get_beam()
    return np.concatenate(
        [
            panel.get_origin(),
            panel.get_fast_axis(),
            panel.get_slow_axis(),
            panel.get_pixel_size(),
            panel.get_image_size(),
            [beam.get_wavelength()],
            beam.get_s0(),
            image.get_scan().get_oscillation(),
            image.get_goniometer().get_rotation_axis(),
        ]
    )


def smv_centres(path):
    """Returns the beam centre in mm from the first corner along fast and slow, in each convention of SMV."""
    text = open(path, "rb").read(4096).split(b"\f")[0].decode()
    keys = dict(line.rstrip(";").split("=", 1) for line in text.split("\n") if "=" in line)
    value = {k: float(v) for k, v in keys.items() if "CENTER" in k or "BEAM" in k[5:] or "ORG" in k}
    pixel, height = float(keys["PIXEL_SIZE"]), float(keys["PIXEL_SIZE"]) * int(keys["SIZE2"])
    return [
        [value["ADXV_CENTER_X"], height - value["ADXV_CENTER_Y"]],
        [value["DENZO_Y_BEAM"], value["DENZO_X_BEAM"]],
        [value["MOSFLM_CENTER_Y"] + pixel / 2, value["MOSFLM_CENTER_X"] + pixel / 2],
        [(value["XDS_ORGX"] - 0.5) * pixel, (value["XDS_ORGY"] - 0.5) * pixel],
        [value["BEAM_CENTER_X"] + pixel, height - value["BEAM_CENTER_Y"] + pixel],
    ]


def compare(name, kind, thickness=None):
    paths = sorted(glob.glob(name + "_*.cbf"))
    assert len(paths) == 3, paths
    for path in paths:
        smv = dxtbx.load(path.replace(".cbf", ".img"))
        cbf = dxtbx.load(path)
        assert type(cbf).__name__ == kind, type(cbf)
        expected = smv.get_raw_data().as_numpy_array()
        if name == "masked":
            excluded = (np.arange(expected.size) % 37 == 5).reshape(expected.shape)
            expected = np.where(excluded, -2, expected)
            assert not cbf.get_detector()[0].is_value_in_trusted_range(-2)
        assert expected.max() > 100, "an empty frame"
        panel = cbf.get_detector()[0]
        centres = smv_centres(path.replace(".cbf", ".img"))
        assert np.allclose(centres, panel.get_beam_centre(cbf.get_beam().get_s0()), atol=1e-6), centres
        if thickness is not None:
            far = panel.pixel_to_millimeter((0.0, 0.0))
            assert abs(panel.get_thickness() - thickness) < 1e-5, panel.get_thickness()
            assert (abs(far[0]) > 0.01) == (thickness > 0.01), far
            other = dxtbx.load(name + ".nxs").get_detector(0)[0]
            assert abs(other.get_thickness() - panel.get_thickness()) < 1e-9, other.get_thickness()
            assert np.allclose(other.pixel_to_millimeter((0.0, 0.0)), far, atol=1e-6), far
            for fast, slow, fast_end, slow_end in panel.get_mask() if name == "thick" else []:
                gap = (slice(slow, slow_end), slice(fast, fast_end))
                assert (cbf.get_raw_data().as_numpy_array()[gap] == -2).all(), "counts in a gap"
                expected[gap] = -2  # where SMV has 0
        assert np.array_equal(cbf.get_raw_data().as_numpy_array(), expected), "dxtbx"
        assert np.array_equal(fabio.open(path).data, expected), "fabio"
        assert np.array_equal(by_cbflib(path), expected.ravel()), "CBFlib"
        assert np.allclose(geometry(cbf), geometry(smv), atol=1e-6), (geometry(cbf), geometry(smv))
        assert cbf.get_detector()[0].get_trusted_range()[1] == (65534 if name == "thick" else 65535)


failed = 0
for argument in sys.argv[1:]:
    name, kind, *thickness = argument.split(":")
    try:
        compare(name, kind, *map(float, thickness))
        print(name, "agrees", flush=True)
    except Exception:
        print(name, file=sys.stderr)
        traceback.print_exc()
        failed = 1
sys.exit(failed)

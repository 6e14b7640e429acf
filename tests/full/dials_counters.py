"""dials_counters.py NAME:LARGEST:BITS...: what dxtbx and h5py find in NAME.nxs, NAME_0000.cbf and NAME_0000.img of a detector
that counts photons."""
import sys

import h5py
from dxtbx.model.experiment_list import ExperimentListFactory


def load(path):
    experiment = ExperimentListFactory.from_filenames([path])[0]
    pixels = experiment.imageset.get_raw_data(0)[0].as_numpy_array()
    trusted = experiment.imageset.get_mask(0)[0].as_numpy_array()
    return experiment.detector[0], pixels, trusted


for name, largest, bits in (argument.split(":") for argument in sys.argv[1:]):
    largest, bits = int(largest), int(bits)
    with h5py.File(f"{name}.nxs") as file:
        detector = file["entry/instrument/detector"]
        assert detector["saturation_value"][()] == largest, detector["saturation_value"][()]
        assert detector["underload_value"][()] == 0
        assert detector["bit_depth_readout"][()] == bits
        assert file["entry/data/data"].dtype.itemsize * 8 == bits
        gaps = detector["pixel_mask"][()] > 0
    assert gaps.any()
    for path in f"{name}.nxs", f"{name}_0000.cbf":
        panel, pixels, trusted = load(path)
        assert panel.get_pedestal() == 0 and panel.get_gain() == 1, path
        assert panel.get_trusted_range() == (-1, largest), (path, panel.get_trusted_range())
        assert not trusted[gaps].any(), path
        assert pixels[trusted].min() == 0 and largest / 4 < pixels[trusted].max() < largest, (path, pixels[trusted].max())
        assert (~trusted[~gaps]).any(), "the test needs saturated pixels"
    header = dict(line.rstrip(b";").split(b"=", 1) for line in open(f"{name}_0000.img", "rb").read(1024).split(b"\n") if b"=" in line)
    assert header[b"ADC_OFFSET"] == b"0" and int(header[b"CCD_IMAGE_SATURATION"]) == largest, header
    assert header[b"TYPE"] == {16: b"unsigned_short", 32: b"unsigned_long"}[bits], header
    if bits == 16:  # DIALS reads SMV as 16 bits
        panel, pixels, trusted = load(f"{name}_0000.img")
        assert panel.get_pedestal() == 0 and panel.get_trusted_range()[1] >= largest
        assert pixels.max() == largest

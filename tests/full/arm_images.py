#!/usr/bin/python3
"""Images of a detector on an arm turned by 2theta, in headers of beamlines, and their panels by dxtbx.

    arm_images.py write         full, tall, mini and lies_0001.cbf, saturn_0001.img, arm.nxs (from flat.nxs)
    arm_images.py same NXMX CBF SMV NXMX NXMX   the plane of polarization in CBF, or how they differ
    arm_images.py panel IMAGE   fast, slow, corner in mm, wavelength, start and width of the rotation, by dxtbx
"""
import struct
import sys

import numpy as np

FAST, SLOW, PIXEL = 487, 619, 0.172


def byte_offset(pixels):
    out, last = bytearray(), 0
    for value in pixels:
        step, last = int(value) - last, int(value)
        if -128 < step < 128:
            out += struct.pack("<b", step)
        elif -32768 < step < 32768:
            out += b"\x80" + struct.pack("<h", step)
        else:
            out += b"\x80\x00\x80" + struct.pack("<i", step)
    return bytes(out)


MINI = """# Detector: PILATUS 300K, S/N 3-0104, Diamond
# 2011-05-10T10:23:11.123
# Pixel_size 172e-6 m x 172e-6 m
# Silicon sensor, thickness 0.000320 m
# Exposure_time 0.4970000 s
# Exposure_period 0.5000000 s
# Count_cutoff 1048500 counts
# Wavelength 0.6889 A
# Detector_distance 0.08520 m
# Beam_xy (243.12, 307.91) pixels
# Start_angle 9.5 deg.
# Angle_increment 0.5 deg.
# Detector_2theta {twotheta} deg.
"""

# One line for each axis: name, type, equipment, dependence, vector, offset, setting
AXES = """GONIOMETER_OMEGA rotation goniometer . 1 0 0 . . . 9.5
GONIOMETER_KAPPA rotation goniometer GONIOMETER_OMEGA 0.64279 0 0.76604 . . . -20
GONIOMETER_PHI rotation goniometer GONIOMETER_KAPPA 1 0 0 . . . 30
SOURCE general source . 0 0 1 . . . .
GRAVITY general gravity . 0 -1 0 . . . .
DETECTOR_2THETA rotation detector . {axis} {arm} {twotheta}
DETECTOR_Z translation detector DETECTOR_2THETA 0 0 -1 0 0 0 85.2
DETECTOR_PITCH rotation detector DETECTOR_Z 0 1 0 0.3 -0.2 0 {pitch}
ELEMENT_Y translation detector DETECTOR_PITCH 0 -1 0 -41.82 52.96 0 .
ELEMENT_X translation detector ELEMENT_Y 1 0 0 0 0 0 .
"""


def cbf(name, twotheta, axis="1 0 0", arm="0 0 0", pitch=0, full=True, said=None):
    axes = [line.split() for line in AXES.format(axis=axis, arm=arm, twotheta=twotheta, pitch=pitch).splitlines()]
    moving = [a for a in axes if a[-1] != "."]
    text = "###CBF: VERSION 1.5, CBFlib v0.8.0 - PILATUS detectors\n\ndata_image_1\n\n"
    if full:
        text += "# the tables of imgCIF\n_diffrn.id DLS_I19-1\n_diffrn.crystal_id  'a crystal'\n\n"
        text += "loop_\n_diffrn_source.diffrn_id\n_diffrn_source.source\n_diffrn_source.type\n DLS_I19-1 synchrotron 'it''s I19'\n\n"
        text += "loop_\n_diffrn_radiation.diffrn_id\n_diffrn_radiation.wavelength_id\n_diffrn_radiation.monochromator\n"
        text += "_diffrn_radiation.polarizn_source_ratio\n_diffrn_radiation.polarizn_source_norm\n_diffrn_radiation.div_x_source\n"
        text += "_diffrn_radiation.div_y_source\n_diffrn_radiation.div_x_y_source\n DLS_I19-1 WAVELENGTH1 'Si 111' 0.8 0.0 0.08 0.01 0.00\n\n"
        text += "loop_\n_diffrn_radiation_wavelength.id\n_diffrn_radiation_wavelength.wavelength\n_diffrn_radiation_wavelength.wt\n WAVELENGTH1 0.6889 1.0\n\n"
        text += "loop_\n_diffrn_detector.diffrn_id\n_diffrn_detector.id\n_diffrn_detector.type\n_diffrn_detector.details\n_diffrn_detector.number_of_axes\n"
        text += " DLS_I19-1 PILATUS300K 'PILATUS 300K'\n;\n loop_ and _axis.id in a text are not tables\n;\n 3\n\n"
        text += "loop_\n_diffrn_detector_axis.detector_id\n_diffrn_detector_axis.axis_id\n"
        text += "".join(f" PILATUS300K {a[0]}\n" for a in axes if a[0].startswith("DETECTOR"))
        text += "\nloop_\n_diffrn_detector_element.id\n_diffrn_detector_element.detector_id\n ELEMENT1 PILATUS300K\n\n"
        text += "loop_\n_diffrn_data_frame.id\n_diffrn_data_frame.detector_element_id\n_diffrn_data_frame.array_id\n_diffrn_data_frame.binary_id\n FRAME1 ELEMENT1 ARRAY1 1\n\n"
        text += "loop_\n_diffrn_measurement.diffrn_id\n_diffrn_measurement.id\n_diffrn_measurement.number_of_axes\n_diffrn_measurement.method\n DLS_I19-1 GONIOMETER 3 rotation\n\n"
        text += "loop_\n_diffrn_measurement_axis.measurement_id\n_diffrn_measurement_axis.axis_id\n"
        text += "".join(f" GONIOMETER {a[0]}\n" for a in axes if a[0].startswith("GONIO"))
        text += "\nloop_\n_diffrn_scan.id\n_diffrn_scan.frame_id_start\n_diffrn_scan.frame_id_end\n_diffrn_scan.frames\n SCAN1 FRAME1 FRAME1 1\n\n"
        text += "loop_\n_diffrn_scan_axis.scan_id\n_diffrn_scan_axis.axis_id\n" + "".join(
            f"_diffrn_scan_axis.{n}\n" for n in ("angle_start", "angle_range", "angle_increment", "displacement_start", "displacement_range", "displacement_increment"))
        for a in moving:
            turns, step = a[1] == "rotation", 0.5 if a[0].endswith("OMEGA") else 0
            text += f" SCAN1 {a[0]} {a[-1] if turns else 0} {step} {step} {0 if turns else a[-1]} 0.0 0.0\n"
        text += "\nloop_\n_diffrn_scan_frame.frame_id\n_diffrn_scan_frame.frame_number\n_diffrn_scan_frame.integration_time\n_diffrn_scan_frame.scan_id\n_diffrn_scan_frame.date\n"
        text += " FRAME1 1 0.5 SCAN1 2011-05-10T10:23:11\n\nloop_\n_diffrn_scan_frame_axis.frame_id\n_diffrn_scan_frame_axis.axis_id\n_diffrn_scan_frame_axis.angle\n_diffrn_scan_frame_axis.displacement\n"
        for a in moving:
            text += f" FRAME1 {a[0]} {a[-1] if a[1] == 'rotation' else 0} {a[-1] if a[1] != 'rotation' else 0}\n"
        text += "\nloop_\n_axis.id\n_axis.type\n_axis.equipment\n_axis.depends_on\n_axis.vector[1] _axis.vector[2] _axis.vector[3]\n_axis.offset[1] _axis.offset[2] _axis.offset[3]\n"
        text += "".join(" " + " ".join(a[:-1]) + "\n" for a in axes)
        text += "\nloop_\n_array_structure_list.array_id\n_array_structure_list.index\n_array_structure_list.dimension\n_array_structure_list.precedence\n"
        text += f"_array_structure_list.direction\n_array_structure_list.axis_set_id\n ARRAY1 1 {FAST} 1 increasing ELEMENT_X\n ARRAY1 2 {SLOW} 2 increasing ELEMENT_Y\n\n"
        text += "loop_\n_array_structure_list_axis.axis_set_id\n_array_structure_list_axis.axis_id\n_array_structure_list_axis.displacement\n"
        text += f"_array_structure_list_axis.displacement_increment\n ELEMENT_X ELEMENT_X 0.01 {PIXEL}\n ELEMENT_Y ELEMENT_Y 0.0 {PIXEL}\n\n"
        text += "loop_\n_array_intensities.array_id\n_array_intensities.binary_id\n_array_intensities.linearity\n_array_intensities.gain\n_array_intensities.gain_esd\n"
        text += "_array_intensities.overload\n_array_intensities.undefined_value\n ARRAY1 1 linear 1.0 0.1 1048500 -1\n\n"
        text += "loop_\n_array_structure.id\n_array_structure.encoding_type\n_array_structure.compression_type\n_array_structure.byte_order\n"
        text += ' ARRAY1 "signed 32-bit integer" packed little_endian\n\nloop_\n_array_element_size.array_id\n_array_element_size.index\n_array_element_size.size\n'
        text += f" ARRAY1 1 {PIXEL}e-3\n ARRAY1 2 {PIXEL}e-3\n\n"
    image = np.random.default_rng(1).poisson(3, SLOW * FAST)
    image[:40] = -2
    data = byte_offset(image)
    text += '_array_data.header_convention "PILATUS_1.2"\n_array_data.header_contents\n;\n' + MINI.format(twotheta=twotheta if said is None else said) + ";\n\n_array_data.data\n;\n"
    text += "--CIF-BINARY-FORMAT-SECTION--\nContent-Type: application/octet-stream;\n     conversions=\"x-CBF_BYTE_OFFSET\"\nContent-Transfer-Encoding: BINARY\n"
    text += f"X-Binary-Size: {len(data)}\nX-Binary-ID: 1\nX-Binary-Element-Type: \"signed 32-bit integer\"\nX-Binary-Element-Byte-Order: LITTLE_ENDIAN\n"
    text += f"X-Binary-Number-of-Elements: {FAST * SLOW}\nX-Binary-Size-Fastest-Dimension: {FAST}\nX-Binary-Size-Second-Dimension: {SLOW}\nX-Binary-Size-Padding: 4095\n\n"
    end = b"\r\n--CIF-BINARY-FORMAT-SECTION----\r\n;\r\n"
    with open(name, "wb") as out:
        out.write(text.replace("\n", "\r\n").encode() + b"\x0c\x1a\x04\xd5" + data + bytes(4095) + end)


def saturn(name):
    header = {
        "HEADER_BYTES": 4096, "DIM": 2, "BYTE_ORDER": "little_endian", "TYPE": "unsigned_short", "Data_type": "unsigned short int", "SIZE1": 512, "SIZE2": 400,
        "SATURATED_VALUE": 65535, "DTREK_DATE_TIME": "12-May-2009 10:11:12",
        "DETECTOR_NUMBER": 1, "DETECTOR_NAMES": "CCD_", "CCD_DETECTOR_DESCRIPTION": "Rigaku Saturn 944", "CCD_DETECTOR_IDENTIFICATION": "Saturn 944",
        "CCD_DETECTOR_DIMENSIONS": "512 400", "CCD_DETECTOR_SIZE": "46.08 36", "CCD_DETECTOR_VECTORS": "1 0 0 0 1 0",
        "CCD_GONIO_NAMES": "RotZ RotX/Swing RotY TransX TransY TransZ/Dist", "CCD_GONIO_NUM_VALUES": 6, "CCD_GONIO_UNITS": "deg deg deg mm mm mm",
        "CCD_GONIO_VALUES": "1.5 -20 0.25 0.4 -0.3 50", "CCD_GONIO_VECTORS": "0 0 1 1 0 0 0 1 0 1 0 0 0 1 0 0 0 -1",
        "CCD_SPATIAL_BEAM_POSITION": "250.5 198.25", "CCD_SPATIAL_DISTORTION_TYPE": "Simple_spatial", "CCD_SPATIAL_DISTORTION_INFO": "250.5 198.25 0.09 0.09",
        "CCD_SPATIAL_DISTORTION_VECTORS": "1 0 0 -1", "CRYSTAL_GONIO_NAMES": "Omega Chi Phi", "CRYSTAL_GONIO_NUM_VALUES": 3, "CRYSTAL_GONIO_UNITS": "deg deg deg",
        "CRYSTAL_GONIO_VALUES": "-10 45 0", "CRYSTAL_GONIO_VECTORS": "1 0 0 0 1 0 1 0 0", "ROTATION": "-10 -9.5 0.5 20 0 0 0 0 0 0", "ROTATION_AXIS_NAME": "Omega", "ROTATION_VECTOR": "1 0 0",
        "SOURCE_VECTORS": "0 0 1 0 1 0", "SOURCE_POLARZ": "0.5 1 0 0", "SOURCE_WAVELENGTH": "1 1.5418", "SCAN_WAVELENGTH": "1.5418", "SCAN_ROTATION": "-10 -9.5 0.5 20",
    }
    text = "{\n" + "".join(f"{k}={v};\n" for k, v in header.items()) + "}\n\f"
    with open(name, "wb") as out:
        out.write(text.ljust(4096).encode() + np.random.default_rng(2).poisson(9, 512 * 400).astype("<u2").tobytes())


def arm(source, target):
    """A chain of NXmx with a two_theta of 20 deg above the distance."""
    import shutil

    import h5py

    shutil.copy(source, target)
    with h5py.File(target, "r+") as f:
        moves = f["entry/instrument/detector/transformations"]
        two = moves.create_dataset("two_theta", data=np.array([20.0]))
        for key, value in {"transformation_type": "rotation", "units": "deg", "depends_on": ".", "vector": np.array([-1.0, 0, 0]), "offset": np.zeros(3)}.items():
            two.attrs[key] = np.bytes_(value) if isinstance(value, str) else value
        for name in list(moves):
            on = moves[name].attrs["depends_on"]
            if name != "two_theta" and (on == b"." or on == "."):
                moves[name].attrs["depends_on"] = np.bytes_("/entry/instrument/detector/transformations/two_theta")


def show(numbers):
    print(" ".join(f"{x:.5f}".replace("-0.00000", "0.00000") for x in numbers))


def panel(name):
    import dxtbx

    image = dxtbx.load(name)
    p = image.get_detector()[0]
    scan = image.get_scan()
    return [*p.get_fast_axis(), *p.get_slow_axis(), *p.get_origin(), image.get_beam().get_wavelength(), *(scan.get_oscillation() if scan else (0, 0))]


def same(reference, cbf, smv, *played):
    """Compares files of one frame.  Masked pixels are those of CBF and NXmx."""
    import dxtbx
    import fabio
    from dxtbx.model.experiment_list import ExperimentListFactory

    for name in cbf, smv, *played:
        worst = np.abs(np.subtract(panel(name), panel(reference))).max()
        if not worst < 1e-5:
            print(f"{name}: differs by {worst}")
    one, two = (ExperimentListFactory.from_filenames([name])[0].imageset for name in (reference, cbf))
    good, image = one.get_mask(0)[0].as_numpy_array(), one.get_raw_data(0)[0].as_numpy_array()
    if not (good == two.get_mask(0)[0].as_numpy_array()).all():
        print("the masks differ")
    for pixels in two.get_raw_data(0)[0].as_numpy_array(), fabio.open(cbf).data, dxtbx.load(smv).get_raw_data().as_numpy_array():
        if not (pixels == image)[good].all() or not image[good].max() > 0:
            print("the pixels differ")
    beam = dxtbx.load(cbf).get_beam()
    print(f"{beam.get_polarization_fraction():.4f}", *(f"{abs(x):.3f}" for x in beam.get_polarization_normal()))


def main(what, *names):
    if what == "write":
        cbf("full_0001.cbf", 20)
        cbf("tall_0001.cbf", -12.5, axis="0 1 0", arm="0.5 -0.25 1", pitch=1.5)
        cbf("mini_0001.cbf", 20, full=False)
        cbf("lies_0001.cbf", 0, said=20)
        saturn("saturn_0001.img")
        arm("flat.nxs", "arm.nxs")
    elif what == "panel":
        show(panel(names[0]))
    elif what == "same":
        same(*names)


main(*sys.argv[1:])

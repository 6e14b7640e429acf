"""Writes small images that other programs could have written, into the working directory: CBF of a Pilatus, SMV of an ADSC."""


def cbf(path, header, pixels, width):
    """Writes an image in byte offsets; every difference here fits into one byte."""
    bytes_, last = b"", 0
    for pixel in pixels:
        bytes_, last = bytes_ + (pixel - last).to_bytes(1, "little", signed=True), pixel
    text = ["###CBF: VERSION 1.5, CBFlib v0.7.8", "", "data_run_1_00001", "", '_array_data.header_convention "PILATUS_1.2"',
            "_array_data.header_contents", ";", *("# " + line for line in header), ";", "", "_array_data.data", ";",
            "--CIF-BINARY-FORMAT-SECTION--", "Content-Type: application/octet-stream;", '     conversions="x-CBF_BYTE_OFFSET"',
            "Content-Transfer-Encoding: BINARY", f"X-Binary-Size: {len(bytes_)}", "X-Binary-ID: 1",
            'X-Binary-Element-Type: "signed 32-bit integer"', "X-Binary-Element-Byte-Order: LITTLE_ENDIAN",
            f"X-Binary-Number-of-Elements: {len(pixels)}", f"X-Binary-Size-Fastest-Dimension: {width}",
            f"X-Binary-Size-Second-Dimension: {len(pixels) // width}", "X-Binary-Size-Padding: 0", "", ""]
    with open(path, "wb") as out:
        out.write("\r\n".join(text).encode() + b"\x0c\x1a\x04\xd5" + bytes_ + b"\r\n--CIF-BINARY-FORMAT-SECTION----\r\n;\r\n")


def smv(path, width, height, **keys):
    text = "".join(f"{k}={v};\n" for k, v in dict(HEADER_BYTES=" 512", DIM=2, BYTE_ORDER="little_endian", TYPE="unsigned_short",
                                                   SIZE1=width, SIZE2=height, **keys).items())
    with open(path, "wb") as out:
        out.write(("{\n" + text + "}\n").ljust(512).encode() + bytes(2 * width * height))


header = ["Detector: PILATUS 60, S/N 60-0001", "2011-02-03T04:05:06.789", "Pixel_size 172e-6 m x 172e-6 m",
          "Silicon sensor, thickness 0.000320 m", "Exposure_time 0.2 s", "Exposure_period 0.2 s", "Count_cutoff 1048500 counts",
          "Wavelength 0.97950 A", "Detector_distance 0.15000 m", "Beam_xy (12.50, 6.25) pixels", "Start_angle 30.0000 deg.",
          "Angle_increment 0.1000 deg.", "Detector_2theta 0.0000 deg."]
pixels = [-1 if i % 30 == 7 else -2 if i == 100 else 3 for i in range(30 * 20)]
cbf("small.cbf", header, pixels, 30)
cbf("whole.cbf", header, [3] * 600, 30)
cbf("turned.cbf", [line.replace("2theta 0.0", "2theta 5.0") for line in header], pixels, 30)
cbf("blind.cbf", [line for line in header if "Beam_xy" not in line], pixels, 30)
cbf("cdte.cbf", [line.replace("Silicon", "CdTe") for line in header], pixels, 30)
cbf("words.cbf", [line.replace("Silicon", "Cadmium telluride") for line in header], pixels, 30)
cbf("twice.cbf", [*header, "Silicon sensor, thickness 0.000450 m"], pixels, 30)
cbf("odd.cbf", [line.replace("0.000320 m", "thin") for line in header], pixels, 30)
smv("adsc.img", 60, 40, PIXEL_SIZE=0.1, DISTANCE=180, WAVELENGTH=1.0332, BEAM_CENTER_X=1.5, BEAM_CENTER_Y=2.5, OSC_START=0, OSC_RANGE=1)
cbf("pilatus_0001.cbf", [line.replace("PILATUS 60", "PILATUS 100K").replace("12.50, 6.25", "210.25, 90.50") for line in header], [3] * (487 * 195), 487)
smv("adsc_0001.img", 768, 768, PIXEL_SIZE=0.2, DISTANCE=150, WAVELENGTH=0.98, BEAM_CENTER_X=70, BEAM_CENTER_Y=81, OSC_START=0, OSC_RANGE=1,
    PHI=0, TWOTHETA=0, DETECTOR_SN=911, DATE="Mon Nov 30 10:00:00 2020", TIME=1, AXIS="phi", CCD_IMAGE_SATURATION=65535)

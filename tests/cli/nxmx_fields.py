"""Verifies that an NXmx file has the fields that NXmx requires.

    nxmx_fields.py FILE BEGIN FIRST END

FILE has the frames FIRST to END - 1 of a series that begins BEGIN seconds after 1970.  Each frame has
an exposure of 1 s.
"""
import os
import sys
from datetime import datetime, timezone

import h5py
import numpy as np


def text(value):
    return (value[()] if isinstance(value, h5py.Dataset) else value).decode()


def time(seconds):
    return datetime.fromtimestamp(seconds, timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")


def same(name, got, expected):
    assert got == expected, f"{name} is {got!r}, not {expected!r}"


path, begin, first, end = sys.argv[1], *map(int, sys.argv[2:])
file = h5py.File(path, "r")
entry = file["entry"]
frames = entry["braggpipe/frames"]
rotates = frames["rotation_width"][0] != 0
same("number", frames["number"].tolist(), list(range(first, end)))

same("file_name", text(file.attrs["file_name"]), os.path.basename(path))
same("file_time", text(file.attrs["file_time"]), time(begin))
same("creator", text(file.attrs["creator"]), "braggpipe")
same("version", text(entry.attrs["version"]), "1.0")
same("definition", text(entry["definition"]), "NXmx")
assert "braggpipe" in text(entry["title"])
same("start_time", text(entry["start_time"]), time(begin + first))
for name in "end_time", "end_time_estimated":
    same(name, text(entry[name]), time(begin + end))
on = text(entry["sample/depends_on"])
same("depends_on", on, "/entry/sample/transformations/omega" if rotates else ".")
same("transformations", "transformations" in entry["sample"], rotates)

instrument = entry["instrument"]
same("short_name", text(instrument["name"].attrs["short_name"]), "braggpipe")
beam = instrument["beam"]
same("profile", text(beam["profile"]), "rectangular")
area = beam["incident_beam_size"][0] * beam["incident_beam_size"][1]
assert area > 0
same("total_flux units", text(beam["total_flux"].attrs["units"]), "Hz")
same("total_flux shape", beam["total_flux"].shape, beam["flux"].shape)
assert np.allclose(beam["total_flux"][()], frames["fluence"] * area, rtol=1e-12, atol=0)
detector = instrument["detector"]
same("distance_derived", (detector["distance_derived"].dtype, int(detector["distance_derived"][()])), (np.int8, 0))
same("data", detector["data"], entry["data/data"])

"""dials_viewer.py FILE.expt FILE.refl: what the reader of dials.image_viewer passes to its window, and how the window draws it."""
import sys

import dials.command_line.image_viewer as viewer

shown = {}
viewer.show_image_viewer = lambda **what: shown.update(what)
viewer.run(sys.argv[1:])
(table,), lists = shown["reflections"], shown["experiments"]
assert len(table) > 10 and len(lists) == 1 and lists[0][0].imageset.get_raw_data(0)[0].size() > 0
for row, _ in zip(table.rows(), range(50)):
    x0, x1, y0, y1, z0, z1 = row["bbox"]
    assert x0 <= row["xyzobs.px.value"][0] <= x1 and y0 <= row["xyzobs.px.value"][1] <= y1 and z0 < z1, row
    assert row["miller_index"] != (0, 0, 0) and row["panel"] == 0 and abs(row["xyzcal.px"][0] - row["xyzobs.px.value"][0]) < 5

"""dials_reflections.py NAME FRAMES: compares the reflections of a rotation with predictions of DIALS from its experiments."""
import sys

from dials.array_family import flex
from dxtbx.model.experiment_list import ExperimentListFactory
from scitbx import matrix

name, frames = sys.argv[1], int(sys.argv[2])
imported = ExperimentListFactory.from_json_file("imported.expt", check_format=False)[0]
distances, angles = flex.double(), flex.double()
for number in range(frames):
    table = flex.reflection_table.from_file(f"{name}_{number:04d}.refl")
    experiments = ExperimentListFactory.from_json_file(f"{name}_{number:04d}.expt", check_format=False)
    assert len(table) > 10 and list(table.experiment_identifiers().values()) == list(experiments.identifiers())
    table.assert_experiment_identifiers_are_consistent(experiments)
    experiment = experiments[0]
    panel, other = experiment.detector[0], imported.detector[0]
    for get in ("get_fast_axis", "get_slow_axis", "get_origin", "get_pixel_size"):
        assert (matrix.col(getattr(panel, get)()) - matrix.col(getattr(other, get)())).length() < 1e-6, get
    assert experiment.scan.get_image_range() == (number + 1, number + 1)
    assert abs(experiment.scan.get_oscillation()[0] - imported.scan.get_angle_from_image_index(number + 1)) < 1e-6
    axis = matrix.col(experiment.goniometer.get_rotation_axis())
    assert (axis - matrix.col(imported.goniometer.get_rotation_axis())).length() < 1e-6
    A, s0 = matrix.sqr(experiment.crystal.get_A()), matrix.col(experiment.beam.get_s0())
    for row in table.rows():
        if row["intensity.sum.value"] < 1000:
            continue
        s1 = s0 + (A * matrix.col(row["miller_index"])).rotate_around_origin(axis, row["xyzobs.mm.value"][2])
        x, y = panel.get_ray_intersection_px(s1)
        distances.append(((x - row["xyzobs.px.value"][0])**2 + (y - row["xyzobs.px.value"][1])**2)**0.5)
        angles.append(row["xyzobs.px.value"][2] - number)
print(f"# {len(distances)} reflections, median {flex.median(distances):.3f} px off")
assert len(distances) > 50 and flex.median(distances) < 0.3
assert flex.min(angles) >= 0 and flex.max(angles) <= 1

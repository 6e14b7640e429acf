"""score.py RECORDING: braggpipe.score gives the metrics of bragg-score for the same spots, and refuses what it cannot compare."""
import json
import math
import subprocess
import sys

import numpy

import braggpipe

frames = sorted((frame.detach() for frame in braggpipe.open(sys.argv[1])), key=lambda frame: frame.number)
assert {len(frame.truth.lattices) for frame in frames} >= {0, 2} and len(frames[0].experiment.panels) == 4
draw = numpy.random.default_rng(7)


def find(frame):
    """Returns displaced positions of most reflections, some of them twice, and false spots; none of frame 1."""
    rows = frame.reflections[(frame.reflections["photons"] > 15) & (draw.random(len(frame.reflections)) < 0.8)]
    true = numpy.stack([rows["fast"], rows["slow"], rows["panel"]], 1)
    true = numpy.concatenate([true, true[::7]])
    true[:, :2] += draw.normal(0.1, 0.7, (len(true), 2))
    false = numpy.stack([*draw.uniform(-5, 133, (2, 40)), draw.integers(0, 4, 40)], 1)
    return numpy.concatenate([true, false])[:0 if frame.number == 1 else None]


def metrics(option):
    ended = subprocess.run(["bragg-score", "--json=-", *option, sys.argv[1], "peaks.tsv"], capture_output=True, text=True, check=True)
    score = json.loads(ended.stdout)
    spots, found = score["spots"], score["found_px"]
    values = [spots["true"], spots["strong"], spots["found"], spots["recall"], spots["precision"], spots["distance_px_median"],
              spots["distance_px_mad"], found["fast"], found["slow"]]
    return [math.nan if value is None else value for value in values]


def own(score):
    assert score.right == round(score.precision * score.found)
    return [score.true, score.strong, score.found, score.recall, score.precision, score.distance_px_median, score.distance_px_mad, *score.offset_px]


def refused(error, text, *arguments, **options):
    try:
        braggpipe.score(*arguments, **options)
    except error as message:
        assert text in str(message), message
    else:
        raise AssertionError(f"nothing is refused; expected {text}")


found = {frame.number: find(frame) for frame in frames}
with open("peaks.tsv", "w") as file:
    file.write("frame\tfast\tslow\tpanel\n")
    for number, spots in found.items():
        file.writelines(f"{number}\t{fast!r}\t{slow!r}\t{panel:.0f}\n" for fast, slow, panel in spots.tolist())
for option, options in (([], {}), (["--strong=4"], {"strong_sigma": 4.0}), (["--hit=15,100"], {"strong_photons": 100})):
    theirs, mine = metrics(option), own(braggpipe.score(frames, list(found.values()), **options))
    assert numpy.allclose(theirs, mine, rtol=1e-9, atol=1e-12), (option, theirs, mine)
    assert 0.2 < mine[3] < 0.95 and 0.2 < mine[4] < 0.95 and 100 < mine[1] < mine[0], mine

# the forms of frames and spots
whole = braggpipe.score(frames, list(found.values()))
assert braggpipe.score(iter(frames), lambda frame: found[frame.number].tolist()) == whole
assert braggpipe.score(braggpipe.Dataset(sys.argv[1]), list(found.values())) == whole and whole.frames == len(frames)
one = next(frame for frame in frames if frame.number != 1 and len(frame.truth.lattices) == 1)
assert braggpipe.score(one, found[one.number]) == braggpipe.score([one], [found[one.number]])
perfect = braggpipe.score(one, one.reflections)
assert (perfect.recall, perfect.distance_px_median, perfect.offset_px) == (1.0, 0.0, (0.0, 0.0)), perfect
nothing = braggpipe.score(frames, lambda frame: [])
assert nothing.recall == 0 and math.isnan(nothing.precision) and math.isnan(nothing.distance_px_median) and nothing.found == 0
wrong = braggpipe.score(one, [(1e9, 0, 0)])  # that nothing is right is an answer, too
assert (wrong.precision, wrong.recall, wrong.right) == (0, 0, 0)

refused(ValueError, "no list of spots", frames, [found[0]])
refused(ValueError, "more lists of spots than frames", frames[:1], [found[0], found[0]])
refused(ValueError, "expected rows of (fast, slow, panel)", one, [(1, 2)])
refused(ValueError, "not a finite number", one, [(1, math.nan, 0)])
refused(ValueError, "on panel 4; expected a panel from 0 to 3", one, [(1, 2, 4)])
refused(TypeError, "without item=", [one.image], [[]])
bare = one.detach()
bare.reflections = None
refused(ValueError, "reflections=1", bare, [])

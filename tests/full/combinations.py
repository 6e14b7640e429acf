"""Random combinations of options, through the stages: the engines agree on images and on tables of reflections.

combinations.py SEED COUNT: prints what differs, with the options that show it, and how many were compared."""
import random
import subprocess
import sys

import numpy

GEOMETRY = [  # how often, and one of these
    (1.0, ["--detpixels=72", "--detpixels=72,96", "--detpixels=80"]),
    (1.0, ["--distance=60", "--distance=120"]),
    (1.0, ["--ncells=1", "--ncells=3", "--ncells=12", "--ncells=40", "--ncells=5,9,14"]),
    (1.0, ["--oversample=1", "--oversample=2"]),
    (1.0, ["--shape=square", "--shape=round", "--shape=gauss", "--shape=tophat"]),
    (1.0, ["--fluence=1e25", "--fluence=1e27"]),
    (0.3, ["--third-harmonic=0.5", "--third-harmonic=8"]),
    (0.3, ["--thickness=300 --layers=1", "--thickness=1000 --layers=3"]),
    (0.3, ["--rotate=5,-8,12", "--twotheta=25", "--curved"]),
    (0.2, ["--cut=2,2"]),
    (0.2, ["--dmin=2", "--dmin=4"]),
    (0.3, ["--dispersion=1 --dispersion-steps=3", "--divergence=2 --divergence-steps=2"]),
    (0.2, ["--roi=10,60,20,70"]),
    (0.3, ["--point-pixel", "--no-polarization", "--fudge=0.5", "--fudge=2"]),
    (0.2, ["--oversample-each-polarization", "--oversample-each-thickness", "--oversample-each-solid-angle"]),
    (0.2, ["--diffuse-sigma=0.3 --diffuse-gamma=20"]),
    (0.2, ["--interpolate=on"]),
]
ORIENT = [
    (0.4, ["--mosaic=0.5 --mosaic-domains=4"]),
    (0.3, ["--osc=0.5 --phi-steps=3"]),
    (0.3, ["--spectrum=sase", "--spectrum=gauss", "--spectrum=tophat", "--spectrum=pink", "--spectrum=twocolour"]),
    (0.3, ["--coffset=1.5", "--shift-jitter=300"]),
    (0.2, ["--lattices=2"]),
    (0.2, ["--cell-spread=1", "--beam-jitter=200"]),
]
ENGINES = {"reference": "reference", "mixed": "cpu", "threads": "cpu --threads=2", "baseline": "cpu --isa=baseline",
           "double": "cpu --precision=double"}
ERROR = {"mixed": 1e-5, "threads": 1e-5, "baseline": 1e-5, "double": 2e-7}  # the last: images are in single precision
FRAMES = 2


def choose(table):
    return " ".join(random.choice(texts) for often, texts in table if random.random() < often)


def run(line):
    """Returns the first error of a program, or None."""
    done = subprocess.run(["bash", "-o", "pipefail", "-c", line], capture_output=True, text=True)
    return (done.stderr.strip() or f"status {done.returncode}").split("\n")[0] if done.returncode else ""


def rows():
    """Returns photons and position of each reflection."""
    lines = [line.split() for line in open("truth.tsv")][1:]
    return {tuple(row[:5]): numpy.array(row[6:9], float) for row in lines}


def answer(engine):
    """Returns images and reflections; the message if a program refuses the options."""
    wrong = run(f"bragg-replay --quiet recipes.brg | bragg-intensity --quiet --engine={ENGINES[engine]} --reflections=1 | "
                "bragg-write --quiet --overwrite --reflections=truth.tsv %d.raw")
    return wrong or ([numpy.fromfile(f"{k}.raw", "f4").astype(float) for k in range(FRAMES)], rows())


def differs(true, got, error):
    """Returns what is wrong with `got`, or None."""
    for a, b in zip(true[0], got[0]):
        floor = 1e-3 * a.mean()
        worst = (abs(a - b) / numpy.maximum(a, floor)).max() if floor else abs(b).max()
        total = b.sum() / a.sum() - 1 if floor else 0.0
        if not worst < error or not abs(total) < 1e-6:
            return f"pixels {worst:.2g}, sum {total:.2g}"
    for key, (fast, slow, photons) in true[1].items():
        if photons > 10:
            fast_too, slow_too, photons_too = got[1].get(key, (0, 0, 0))
            if not (abs(photons_too / photons - 1) < 1e-4 and abs(fast_too - fast) < 1e-3 and abs(slow_too - slow) < 1e-3):
                return f"reflection {key}: {photons} and {photons_too} photons"
    return ""


def main(seed, count):
    random.seed(seed)
    frames = reflections = wrong = 0
    for _ in range(count):
        geometry, orient = choose(GEOMETRY), f"--random --seed={random.randrange(1000)} " + choose(ORIENT)
        line = f"bragg-geometry --pixel=0.5 {geometry} | bragg-orient --quiet --frames={FRAMES} {orient}"
        refused = run(f"{line} | bragg-tap --quiet --overwrite --record=recipes.brg")
        if refused:
            print(f"# refused: {refused}")
            continue
        answers = {engine: answer(engine) for engine in ENGINES}
        true = answers.pop("reference")
        for engine, got in answers.items():
            what = (isinstance(true, str) or isinstance(got, str)) and true != got and f"{true[:200]} and {got[:200]}"
            what = what or "" if isinstance(true, str) else what or differs(true, got, ERROR[engine])
            if what:
                wrong += 1
                print(f"{engine}: {what}: {line}")
        if not isinstance(true, str):
            frames += FRAMES
            reflections += len(true[1])
    print(f"# {frames} frames and {reflections} reflections compared")
    return 1 if wrong or frames < count else 0  # half of them may be refused


sys.exit(main(int(sys.argv[1]), int(sys.argv[2])))

"""score_lies.py NAME: corrupts the table NAME.refl in many ways.

For each corrupt table bragg-score prints one line and ends with status 3, or prints a score.
"""
import random
import shutil
import subprocess
import sys

good = open(f"{sys.argv[1]}.refl", "rb").read()
shutil.copy(f"{sys.argv[1]}.expt", "lie.expt")
draw = random.Random(7)
heads = [i for i in range(len(good)) if good[i] in b"\xdd\xdf\xce\xdb\xc6"][:400]
for trial in range(60):
    bad = bytearray(good)
    for _ in range(draw.choice((1, 1, 3))):
        at = draw.choice(heads) + draw.randrange(5) if draw.random() < 0.8 else draw.randrange(len(bad))
        bad[min(at, len(bad) - 1)] = draw.choice((0, 1, 0x7f, 0x80, 0xff, draw.randrange(256)))
    open("lie.refl", "wb").write(bad)
    done = subprocess.run(["bragg-score", "truth.nxs", "lie.refl"], capture_output=True, timeout=60)
    if done.returncode not in (0, 3) or (done.returncode == 3 and (done.stderr.count(b"\n") != 1 or done.stdout)):
        sys.exit(f"trial {trial}: status {done.returncode}: {done.stderr[:600]}")

"""score_figures.py JSON NAME=VALUE[~TOLERANCE]...: compares values of a JSON object.  VALUE may be `absent`."""
import json
import sys

score, status = json.load(open(sys.argv[1])), 0
for item in sys.argv[2:]:
    name, _, wanted = item.partition("=")
    wanted, _, tolerance = wanted.partition("~")
    got = score
    for key in name.split("."):
        got = got[key]
    if wanted == "absent":
        good = got is None and score["absent"][name]
    else:
        good = got is not None and abs(got - float(wanted)) <= float(tolerance or 1e-6)
    if not good:
        print(f"{name} is {got}, expected {wanted}")
        status = 1
sys.exit(status)

"""score_same.py ALL.json PART.json TOLERANCE: compares two scores.

All values in PART must be equal to those in ALL.  Prints the groups of which PART has only some
values.  PART may not contain the counts of such a group.
"""
import json
import sys


def flat(x, name=""):
    if isinstance(x, dict):
        for k, v in x.items():
            if not name and k in ("absent", "notes", "roc"):
                continue
            yield from flat(v, f"{name}.{k}" if name else k)
    else:
        yield name, x


whole, part = (dict(flat(json.load(open(p)))) for p in sys.argv[1:3])
tolerance = float(sys.argv[3])
lacks, wrong = {n.split(".")[0] for n, v in whole.items() if v is not None and part.get(n) is None}, []
for name, value in whole.items():
    if value is None:
        continue
    if part.get(name) is None or (name.endswith(".n") and name.split(".")[0] in lacks):
        continue
    if abs(part[name] - value) > tolerance * max(1.0, abs(value)):
        wrong.append(f"{name}: {part[name]}, must be {value}")
wrong += [f"{name}: {value}, must be absent" for name, value in part.items() if value is not None and whole.get(name) is None]
print(*sorted(lacks))
sys.exit("\n".join(wrong[:12]) if wrong else 0)

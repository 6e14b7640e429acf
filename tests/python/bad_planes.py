"""bad_planes.py short|name|twice: a stage that passes frames on with planes that are none."""
import sys

import braggpipe
from braggpipe._worker import Worker

send = Worker.send
wrong = sys.argv.pop(1)


def spoil(self, held, keys, payload, image):
    first, second = keys["planes"][:2]
    if wrong == "short":
        payload[first["values"]] = payload[first["values"]][:-4]
        first["count"] -= 1
    else:
        first["name"] = "../rot_x" if wrong == "name" else second["name"]
    send(self, held, keys, payload, image)


Worker.send = spoil
braggpipe.transform("bad_planes", lambda image, frame: image, braggpipe.parser(__doc__).parse_args())

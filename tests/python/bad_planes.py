"""bad_planes.py short|name|twice|behind|falls|less|nan: a stage that sends invalid derivative images.

The last four need derivative images of listed pixels.
"""
import struct
import sys

import braggpipe
from braggpipe._worker import Worker

send = Worker.send
wrong = sys.argv.pop(1)


def change(payload, part, item, form, value):
    """One item of an array."""
    array = bytearray(payload[part])
    struct.pack_into("<" + form, array, 4 * item, value)
    payload[part] = array


def spoil(self, held, keys, payload, image):
    first, second = keys["planes"][:2]
    listed = keys.get("planes_pixels", {})
    if wrong == "short":
        payload[first["values"]] = payload[first["values"]][:-4]
        first["count"] -= 1
    elif wrong == "behind":
        change(payload, listed["numbers"], listed["count"] - 1, "I", keys["image"]["count"])
    elif wrong == "falls":
        change(payload, listed["numbers"], 1, "I", 0)
    elif wrong == "less":
        listed["count"] -= 1
    elif wrong == "nan":
        change(payload, second["values"], 0, "f", float("nan"))
    else:
        first["name"] = "../rot_x" if wrong == "name" else second["name"]
    send(self, held, keys, payload, image)


Worker.send = spoil
braggpipe.transform("bad_planes", lambda image, frame: image, braggpipe.parser(__doc__).parse_args())

"""streams_client.py PROTOCOL|FAULT pull|sub bind|connect ENDPOINT SPOTS|TOPIC [FRAMES [METADATA]]: checks every part of a stream.

PROTOCOL is array, lclstreamer, jungfraujoch or npz (send_npz.py); with a colon and the pixel type behind it if that is not uint16.
The pixels must be those of a_0.raw and so on.  METADATA is the endpoint of --metadata.  Prints the frame numbers.
"""

import io
import json
import struct
import sys
import typing

import bslz4_blocks
import numpy
import zmq

protocol, kind, way, endpoint, more = sys.argv[1:6]
protocol, _, dtype_asked = protocol.partition(":")
COUNT = int(sys.argv[6]) if len(sys.argv) > 6 else 5
SHAPE = (40, 50)
socket = zmq.Context().socket(zmq.PULL if kind == "pull" else zmq.SUB)
socket.setsockopt(zmq.RCVTIMEO, 30000)
if kind == "sub":
    socket.setsockopt(zmq.SUBSCRIBE, more.encode())
side = zmq.Context.instance().socket(zmq.SUB)
side.setsockopt(zmq.RCVTIMEO, 10000)
side.setsockopt(zmq.SUBSCRIBE, b"")
if len(sys.argv) > 7:
    side.connect(sys.argv[7])
(socket.bind if way == "bind" else socket.connect)(endpoint)


def expected(frame):
    return numpy.fromfile(f"a_{frame}.raw", "<f4").reshape(SHAPE)


def array():
    parts = socket.recv_multipart()
    assert len(parts) == 2, len(parts)
    about = json.loads(parts[0])
    assert list(about)[:4] == ["htype", "type", "shape", "tags"] and about["htype"] == "array-1.0" and about["tags"] == []
    assert tuple(about["shape"]) == SHAPE, about["shape"]
    pixels = numpy.frombuffer(parts[1], about["type"]).reshape(SHAPE)
    assert (pixels == expected(about["frame"])).all()
    assert about["pulse_id"] == about["frame"] and about["is_good_frame"] is True and about["encoding"] == "none"
    assert abs(about["beam_energy"] - 9500) < 1e-6 and about["detector_distance"] == 0.1
    assert (about["beam_center_x"], about["beam_center_y"]) == (25, 20)
    spots = about.get("number_of_spots", 0)
    if int(more):
        assert about["detector_name"] == "JF-SIM" and isinstance(about["is_hit_frame"], bool)
        for x, y, intensity in zip(about["spot_x"], about["spot_y"], about["spot_intensity"], strict=True):
            fast, slow = int(x), int(y)
            near = pixels[max(slow - 1, 0) : slow + 2, max(fast - 1, 0) : fast + 2]
            assert near.max() > 0 and intensity > 0
            at = numpy.unravel_index(near.argmax(), near.shape)  # of the brightest pixel, whose middle is at .5
            array.off += [x - max(fast - 1, 0) - at[1] - 0.5, y - max(slow - 1, 0) - at[0] - 0.5]
        array.spots += spots
        array.hits += about["is_hit_frame"]
    else:
        assert "is_hit_frame" not in about and "spot_x" not in about
    return about["frame"]


array.spots = array.hits = 0
array.off, array.without_data = [], []


class Tag(typing.NamedTuple):
    number: int
    item: object


def cbor(data, at):
    """Decodes one item of CBOR at data[at:]; returns the item and the place after it.  A tag and its item are a Tag."""
    major, low = data[at] >> 5, data[at] & 31
    at += 1
    if major == 7:
        assert low in (20, 21, 27), low
        return (struct.unpack_from(">d", data, at)[0], at + 8) if low == 27 else (low == 21, at)
    size = {24: 1, 25: 2, 26: 4, 27: 8}.get(low, 0)
    n = int.from_bytes(data[at : at + size], "big") if size else low
    at += size
    if major in (0, 1):
        return (n if major == 0 else -1 - n), at
    if major in (2, 3):
        return (data[at : at + n] if major == 2 else data[at : at + n].decode()), at + n
    items = []
    if major == 6:
        item, at = cbor(data, at)
        return Tag(n, item), at
    assert major in (4, 5), major
    for _ in range(n * (major - 3)):
        item, at = cbor(data, at)
        items.append(item)
    return (items if major == 4 else dict(zip(items[::2], items[1::2]))), at


def unshuffle(data, dtype, shape=SHAPE, block=4096):
    return bslz4_blocks.unshuffle(data, dtype, shape, block)


def message():
    parts = socket.recv_multipart()
    if kind == "sub":
        assert parts.pop(0) == more.encode()
    assert len(parts) == 1
    item, end = cbor(parts[0], 1)
    assert end == len(parts[0]), "bytes after the map"
    return parts[0][:1], item


def lclstreamer_start():
    head, start = message()
    assert head == b"c" and start["type"] == "start" and start["run_number"] == "12", start
    assert start["shape"] == "40x50" and start["algorithm"] == "bitshuffle-lz4" and start["detector"]["material"] == "Si"
    assert len(start["polarization"]["axis"]) == 3 and 0.5 <= start["polarization"]["fraction"] <= 1
    return numpy.dtype(start["datatype"])


def lclstreamer(dtype):
    head, m = message()
    assert head == b"m" and m["type"] == "image" and m["run"] == "12", (head, m["type"])
    assert m["dtype"] == dtype.name and m["timestamp"] == str(m["frame_id"]) and m["message_id"] == m["frame_id"] + 1
    assert abs(m["photon_energy"] - 9500) < 1e-6 and m["photon_wavelength"] == 0 and set(m["beam_direction"].values()) == {0}
    pixels = unshuffle(m["compressed_data"], dtype)
    assert (pixels == expected(m["frame_id"])).all() and m["sum"] == pixels.sum(dtype=float)
    return m["frame_id"]


# --- Jungfraujoch: a map of Stream V2 with one channel

KINDS = {69: "<u2", 70: "<u4", 78: "<i4"}
NO_DATA = {"uint16": 65535, "uint32": 4294967295, "int32": -2147483648}
HEAD = ["type", "series_id", "series_unique_id", "image_id", "real_time", "series_date", "start_time", "stop_time"]


def jungfraujoch_message():
    parts = socket.recv_multipart()
    if kind == "sub":
        assert parts.pop(0) == more.encode()
    assert len(parts) == 1
    item, end = cbor(parts[0], 0)
    assert end == len(parts[0]) and item.number == 55799, "one map with the prefix"
    return item.item


def typed_array(channels):
    """Returns the array of the only channel, and how it is compressed."""
    assert list(channels) == ["default"], channels.keys()
    number, (shape, items) = channels["default"]
    dtype, data = numpy.dtype(KINDS[items.number]), items.item
    assert number == 40
    if not isinstance(data, Tag):
        return numpy.frombuffer(data, dtype).reshape(shape), "none"
    assert data.number == 56500 and data.item[:2] == ["bslz4", dtype.itemsize]
    total, block = struct.unpack_from(">QI", data.item[2])
    assert total == shape[0] * shape[1] * dtype.itemsize
    return unshuffle(data.item[2][12:], dtype, shape, block // dtype.itemsize), "bslz4"


def jungfraujoch_start():
    start = jungfraujoch_message()
    dtype = numpy.dtype(start["image_dtype"])
    assert start["type"] == "start" and start["series_id"] == 12 and start["channels"] == ["default"], start["type"]
    assert start["magic_number"] == 77 and start["error_value"] == NO_DATA[dtype.name] != start["saturation_value"]
    centre = start["beam_center_x"], start["beam_center_y"]
    assert start["detector_distance"] == 0.1 and numpy.allclose(start["detector_translation"], [0.0005 * centre[0], 0.0005 * centre[1], 0.1])
    assert (start["image_size_y"], start["image_size_x"]) == SHAPE and centre == (26, 21)
    assert abs(start["incident_energy"] - 9500) < 1e-6 and start["number_of_images"] == 5 and start["pixel_size_x"] == 0.0005
    assert not {"threshold_energy", "flatfield", "countrate_correction_lookup_table"} & set(start)
    mask, how = typed_array(start["pixel_mask"])
    assert how == "none" and mask.dtype == "<u4" and set(mask.ravel()) == {0, 2}  # 2: dead
    jungfraujoch_start.dead = mask > 0
    return dtype


def jungfraujoch(dtype):
    m = jungfraujoch_message()
    spots = 0 if kind == "sub" else int(more)
    truth = spots > 0
    assert list(m)[:8] == HEAD and m["type"] == "image" and m["series_id"] == 12, list(m)
    hit = [row for row in TRUTH if row["frame"] == str(m["image_id"])][0]
    cell = {"indexing_unit_cell"} if truth and hit["lattices"] != "0" else set()
    rest = {"xfel_pulse_id", "saturated_pixels", "spots", "data"} | cell | ({"laser_on"} if "laser" in hit else set()) | ({"spot_count", "indexing_result", "user_data"} if truth else set())
    assert set(m) == set(HEAD) | rest, set(m) ^ (set(HEAD) | rest)
    pixels, how = typed_array(m["data"])
    dead = jungfraujoch_start.dead
    assert pixels.shape == SHAPE and pixels.dtype == dtype and how == ("none" if dtype == "<u4" else "bslz4")
    assert (pixels == expected(m["image_id"]))[~dead].all() and (pixels[dead] == NO_DATA[dtype.name]).all()
    assert m["xfel_pulse_id"] == int(hit.get("pulse_id", m["image_id"])) and m["saturated_pixels"] == 0
    assert m.get("laser_on") == {"1": True, "0": False, None: None}[hit.get("laser")]
    if truth:
        assert m["indexing_result"] is (hit["lattices"] != "0") and m["spot_count"] == len(m["spots"]) <= spots
        assert m["user_data"] == {"scan": 3}
    else:
        assert m["spots"] == []
    if cell:
        edges = [1 / numpy.linalg.norm([float(hit[f"{axis}s_{i}"]) for i in "xyz"]) for axis in "abc"]
        assert list(m["indexing_unit_cell"]) == ["a", "b", "c", "alpha", "beta", "gamma"]
        assert numpy.allclose(list(m["indexing_unit_cell"].values()), [*edges, 90, 90, 90], atol=1e-3), (m["indexing_unit_cell"], edges)
    for spot in m["spots"]:
        assert list(spot) == ["x", "y", "intensity"] and spot["intensity"] > 0
        fast, slow = int(spot["x"]), int(spot["y"])
        near = numpy.where(pixels == NO_DATA[dtype.name], 0, pixels)[max(slow - 1, 0) : slow + 2, max(fast - 1, 0) : fast + 2]
        at = numpy.unravel_index(near.argmax(), near.shape)
        array.off += [spot["x"] - max(fast - 1, 0) - at[1] - 0.5, spot["y"] - max(slow - 1, 0) - at[0] - 0.5]
        array.spots += 1
    assert m.pop("data")
    array.without_data.append(m)
    return m["image_id"]


def metadata():
    """All images are on the second socket, too, without their data, in messages of at most ten."""
    images = []
    while len(images) < COUNT:
        part = side.recv()
        m, end = cbor(part, 0)
        assert m.number == 55799 and end == len(part), "bytes after the map"
        assert list(m.item) == ["type", "series_id", "series_unique_id", "images"] and m.item["type"] == "metadata"
        assert m.item["series_id"] == 12 and 0 < len(m.item["images"]) <= 10, m.item["series_id"]
        images += m.item["images"]
    assert images == array.without_data, (images[0], array.without_data[0])


def truths():
    names, *rows = (line.rstrip("\n").split("\t") for line in open("truth.tsv"))
    return [dict(zip(names, row)) for row in rows]


def jungfraujoch_faults():
    """Every image has the fault, which is the only one in it."""
    dtype = jungfraujoch_start()
    for _ in range(5):
        m = jungfraujoch_message()
        pixels, _ = typed_array(m["data"])
        numbers = [m[key] for key in ("xfel_pulse_id", "saturated_pixels")]
        found = {
            "type": pixels.dtype != dtype,
            "shape": pixels.shape == (SHAPE[0] // 2, SHAPE[1]),
            "large": pixels.shape == (SHAPE[0] * 2, SHAPE[1]),
            "header": "damaged" in numbers,
            "lie": numbers in ([m["image_id"] + 1, 0], [m["image_id"], 1]),
        }
        assert [name for name, true in found.items() if true] == [protocol[4:]], (found, numbers)


def faults():
    """Every message has a fault.  Returns the headers in which it is."""
    headers = []
    for _ in range(5):
        parts = socket.recv_multipart()
        if protocol == "empty":
            assert parts == [more.encode(), b""], parts
            continue
        about = json.loads(parts[0])
        dtype, (rows_sent, columns) = numpy.dtype(about["type"]), about["shape"]
        assert len(parts[1]) == dtype.itemsize * rows_sent * columns, "the message contradicts itself"
        if protocol == "type":
            assert about["type"] != "uint16", dtype
        elif protocol == "shape":
            assert about["shape"] == [20, 50], about["shape"]
        else:
            headers.append(about)
    return headers


FLAGS, TEXTS = {"is_good_frame", "is_hit_frame"}, {"endianness", "encoding", "source", "detector_name"}


def damaged(about):
    """Keys whose values have another type than they should."""
    for key, value in about.items():
        kind = bool if key in FLAGS else str if key in TEXTS or key in ("htype", "type") else list if key in ("shape", "tags") else (int, float)
        if not isinstance(value, kind) or (kind != bool and isinstance(value, bool)):
            yield key


if protocol in ("header", "lie", "shape", "type", "empty"):
    for about in faults():
        wrong = set(damaged(about))
        assert len(wrong) == (protocol == "header"), (protocol, wrong, about)
        if protocol == "lie":
            off = [abs(about["beam_energy"] / 9500 - 1) > 0.01, about["detector_distance"] != 0.1, about["pulse_id"] != about["frame"], about["saturated_pixels"] > 0]
            off += [about["beam_center_x"] != 25, about["beam_center_y"] != 20]
            assert sum(off) == 1, (off, about)
    COUNT, seen = 0, []
elif protocol == "lcls-type":
    dtype = lclstreamer_start()
    for _ in range(5):
        head, m = message()
        assert m["dtype"] != dtype.name
        unshuffle(m["compressed_data"], numpy.dtype(m["dtype"]))
    COUNT, seen = 0, []
elif protocol.startswith("jfj-"):
    jungfraujoch_faults()
    COUNT, seen = 0, []
elif protocol == "jungfraujoch":
    TRUTH = truths()
    dtype = jungfraujoch_start()
    assert dtype.name == (dtype_asked or "uint16"), dtype
    seen = [jungfraujoch(dtype) for _ in range(COUNT)]
    assert not array.off or (abs(numpy.mean(array.off)) < 0.25 and array.spots >= 3), (array.off, array.spots)
    assert kind == "sub" or not int(more) or array.spots
    if len(sys.argv) > 7:
        metadata()
    end = jungfraujoch_message()
    assert list(end) == HEAD[:3] and end["type"] == "end", end
elif protocol == "npz":
    names, *rows = (line.rstrip("\n").split("\t") for line in open("truth.tsv"))
    truth = {int(row[0]): dict(zip(names, row)) for row in rows}
    seen = []
    for size in (3, 2):
        with io.BytesIO(socket.recv()) as part:  # as socket_producer.py of peaknet-pipeline-ray reads it
            archive = numpy.load(part)
            data, numbers, wavelengths = archive["data"], archive["timestamp"] >> numpy.uint64(32), archive["wavelength"]
            assert data.dtype == "f4" and data.shape == (size, 1, *SHAPE) == tuple(archive["detector_data_original_shape"]), data.shape
        for number, image, wavelength in zip(numbers, data, wavelengths, strict=True):
            assert (image[0] == expected(number)).all() and abs(wavelength / float(truth[int(number)]["wavelength_A"]) - 1) < 1e-6
            seen.append(int(number))
    seen.sort()
elif protocol == "array":
    seen = [array() for _ in range(COUNT)]
    HITS = sum(int(row.split("\t")[1]) > 0 for row in open("truth.tsv").readlines()[1:])
    assert not int(more) or (array.hits == HITS in range(1, 5) and array.spots >= 3), (array.hits, HITS, array.spots)
    assert not int(more) or abs(numpy.mean(array.off)) < 0.25, array.off
else:
    dtype = lclstreamer_start()
    seen = [lclstreamer(dtype) for _ in range(COUNT)]
    head, stop = message()
    assert head == b"c" and stop["type"] == "stop" and stop["run"] == "12"
assert COUNT < 5 or seen == list(range(5)), seen
print(*seen, sep="\n")

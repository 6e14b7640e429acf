"""dectris1_clients.py CLIENT ENDPOINT FOLDER DETAIL BITS: a client of Stream V1 receives six images of 100 x 99 pixels.

CLIENT is libertem (libertem-dectris), mflow (psi-mflow) or dranspose.  Fails unless the client reads what was sent, and its
pixels are those of FOLDER/a_N.raw.
"""

import os
import sys
import tempfile
import time

import numpy

client, endpoint, folder, detail, bits = sys.argv[1:]
FRAMES, SHAPE, KIND = 6, (99, 100), numpy.dtype(f"uint{bits}")


def written(number):
    """Reads the pixels that bragg-write wrote as float32, which is exact for these counts."""
    while True:  # the writer may be a little behind
        try:
            return numpy.fromfile(f"{folder}/a_{number}.raw", "<f4").reshape(SHAPE)
        except (FileNotFoundError, ValueError):
            time.sleep(0.2)


def libertem():
    """Its receiver checks the numbers of frames and unpacks bslz4 and lz4."""
    import libertem_dectris

    place = os.path.join(tempfile.mkdtemp(), "socket")
    connection = libertem_dectris.DectrisConnection(
        endpoint, 4, place, num_slots=64, bytes_per_frame=SHAPE[0] * SHAPE[1] * 4, huge=False
    )
    connection.start_passive(10)
    config, series = connection.wait_for_arm(30)
    assert series == 7 and config.get_num_frames() == FRAMES, (series, config)
    assert config.get_trigger_mode() == libertem_dectris.TriggerMode.INTS
    cam, seen = libertem_dectris.CamClient(place), 0
    while seen < FRAMES:
        stack = connection.get_next_stack(max_size=4)
        if stack is None:
            continue
        count = min(len(stack), FRAMES - seen)
        assert tuple(stack.get_shape()) == SHAPE[::-1] or tuple(stack.get_shape()) == SHAPE
        pixels = numpy.zeros((count, *SHAPE), KIND)
        cam.decode_range_into_buffer(stack, pixels, 0, count)
        cam.done(stack)
        for image in pixels:
            assert (image == written(seen)).all(), f"image {seen} differs"
            seen += 1
    connection.close()


def mflow():
    """Its receiver has one function for each type of message."""
    import mflow

    stream = mflow.connect(endpoint, mflow.CONNECT, mflow.PULL, receive_timeout=30000)
    header = stream.receive().data
    assert header["header"] == {"htype": "dheader-1.0", "series": 7, "header_detail": detail}
    assert header["appendix"] == {"scan": 1}
    if detail != "none":
        assert header["part_2"]["nimages"] == FRAMES
    if detail == "all":
        assert len(header["part_6_raw"]) == 4 * SHAPE[0] * SHAPE[1] and header["part_7"]["shape"] == [2, 2]
    for number in range(FRAMES):
        image = stream.receive().data
        assert image["header"]["frame"] == number and image["appendix"] == {"image": True}
        assert image["part_2"]["encoding"] == "<" and image["part_2"]["shape"] == list(SHAPE[::-1])
        pixels = numpy.frombuffer(image["part_3_raw"], KIND).reshape(SHAPE)
        assert (pixels == written(number)).all(), f"image {number} differs"
        assert image["part_4"]["stop_time"] > image["part_4"]["start_time"]
    assert stream.receive().data["header"] == {"htype": "dseries_end-1.0", "series": 7}
    stream.disconnect()


def dranspose():
    """Its parser needs both appendices, and knows the type of each message."""
    import zmq
    from dranspose.data.eiger_legacy import EigerLegacyEnd, EigerLegacyHeader, EigerLegacyImage
    from dranspose.event import StreamData
    from dranspose.middlewares.eiger_legacy import parse

    socket = zmq.Context().socket(zmq.PULL)
    socket.setsockopt(zmq.RCVTIMEO, 30000)
    socket.connect(endpoint)
    packets = []
    while not packets or not isinstance(packets[-1], EigerLegacyEnd):
        parts = socket.recv_multipart(copy=False)
        packets.append(parse(StreamData(typ="EIGER_LEGACY", frames=parts)))
    header, *images, _ = packets
    assert isinstance(header, EigerLegacyHeader) and header.info["nimages"] == FRAMES
    assert len(images) == FRAMES and all(isinstance(i, EigerLegacyImage) for i in images)
    for number, image in enumerate(images):
        assert image.frame == number
        pixels = numpy.frombuffer(image.data["buffer"], KIND).reshape(SHAPE)
        assert (pixels == written(number)).all(), f"image {number} differs"


globals()[client]()

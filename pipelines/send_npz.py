#!/usr/bin/python3
"""A sink written in Python: sends frames as numpy archives, as LCLStreamer does for PeakNet.

A message is a file of numpy.savez with data (frame, 1, slow, fast) in float32, panels one below the other,
wavelength (A), timestamp (seconds in the upper 32 bits, which are the frame number) and
detector_data_original_shape. The client binds its PULL socket, and the pipeline waits for a client. Example:

bragg-geometry | bragg-orient --frames=20 --random | bragg-intensity | bragg-noise | pipelines/send_npz.py tcp://127.0.0.1:12321
"""
import io

import numpy
import zmq

import braggpipe

LINGER_MS, BATCH_MAX = 5000, 256

parser = braggpipe.parser(__doc__)
parser.add_argument("endpoint", help="where the client has bound its socket, tcp://127.0.0.1:PORT; another host needs --insecure")
parser.add_argument("--batch", type=int, default=1,
                    help="frames of a message; the last one may have fewer, and frames of a message that is not complete are lost if this program dies (1)")
options = parser.parse_args()
address, _, port = options.endpoint.rpartition(":")
if not (address.startswith("tcp://") and address != "tcp://" and port.isdigit() and 0 < int(port) < 65536):
    parser.error(f"the endpoint is malformed (got {options.endpoint}); expected tcp://ADDRESS:PORT")
if address not in ("tcp://127.0.0.1", "tcp://localhost") and not options.insecure:
    parser.error(f"frames to {options.endpoint} leave this host without encryption, because its clients have no keys. Use --insecure to allow it")
if not 1 <= options.batch <= BATCH_MAX:
    parser.error(f"--batch is out of range (got {options.batch}); expected 1 to {BATCH_MAX} frames")

context = zmq.Context()
socket = context.socket(zmq.PUSH)
socket.immediate, socket.sndhwm, socket.linger = True, 4, LINGER_MS  # no frame waits in a connection that is not there
socket.connect(options.endpoint)
waiting = []


def flush():
    if not waiting:
        return
    numbers, wavelengths, images = zip(*waiting)
    data = numpy.stack(images)[:, None]
    with io.BytesIO() as message:
        numpy.savez(message, data=data, wavelength=numpy.array(wavelengths), timestamp=numpy.array(numbers, "u8") << numpy.uint64(32),
                    detector_data_original_shape=numpy.array(data.shape))
        socket.send(message.getvalue())
    waiting.clear()


def send(frame):
    waiting.append((frame.number, frame.truth.wavelength_A, frame.stacked.astype("f4")))  # a copy: the pixels of a frame are gone later
    if len(waiting) == options.batch:
        flush()


try:
    braggpipe.sink("send_npz", send, options)
finally:
    flush()
    socket.close()
    context.term()  # waits until the client has the last frames

#!/usr/bin/python3
"""crystfel_client.py ENDPOINT req|sub COUNT GEOM TRUTH FILES

A strict stand-in for indexamajig: it stops where that program would misbehave (more
than one part, another type than <i4 and <f4, pixels shorter than the shape, a key
that begins another one, numbers that are not finite).  Frames must be those in
FILES (a template of SMV names); bright spots must lie where GEOM and TRUTH (of
bragg-orient, MOSFLM axes) say, within 0.05 pixels in the
median; where GEOM names a peak list, the same is asked of its peaks.
"""
import math
import re
import sys
import time

import msgpack
import numpy as np
import zmq

endpoint, kind, count, geom, truth, files = sys.argv[1:]
count = int(count)
sock = zmq.Context().socket(zmq.REQ if kind == 'req' else zmq.SUB)
sock.RCVTIMEO = 30000
if kind == 'sub':
    sock.subscribe(b'')
sock.connect(endpoint)


def find(table, key):
    """Compares as CrystFEL does: only as many characters as the stored key has."""
    return next(v for k, v in table.items() if key.startswith(k))


def read_geometry(path):
    top, panel = {}, {}
    for line in open(path):
        line = line.split(';')[0].strip()
        if line:
            key, value = re.fullmatch(r'([\w/]+) = (.+)', line).groups()
            (panel if key.startswith('p0/') else top)[key.removeprefix('p0/')] = value
    vector = lambda text: np.array([float(n) for n in re.fullmatch(
        r'([+-][\d.]+)x ([+-][\d.]+)y ([+-][\d.]+)z', text).groups()])
    assert top['photon_energy'] == 'beam_energy eV' and top['clen'] == 'detector_distance mm'
    return top, panel, vector(panel['fs']), vector(panel['ss'])


def check(frame):
    """Returns the image of one frame, and the other values that are needed."""
    for i, a in enumerate(frame):
        assert isinstance(a, str) and a, a
        assert not any(b.startswith(a) for b in frame if b != a), a
    for value in frame.values():
        assert not isinstance(value, (list, tuple))
        assert not isinstance(value, float) or math.isfinite(value)
    data = find(frame, panel['data'])
    assert set(data) == {'type', 'shape', 'data'} and data['type'] in ('<i4', '<f4')
    assert len(data['shape']) == 2 and isinstance(data['data'], bytes)
    assert len(data['data']) == 4 * data['shape'][0] * data['shape'][1]
    assert int(panel['max_fs']) + 1 == data['shape'][1] and int(panel['max_ss']) + 1 == data['shape'][0]
    assert isinstance(frame['event_id'], str) and isinstance(frame['source'], str)
    assert abs(frame['timestamp'] - time.time()) < 60
    energy, distance = find(frame, 'beam_energy'), find(frame, 'detector_distance')
    assert isinstance(energy, float) and isinstance(distance, float)
    return np.frombuffer(data['data'], data['type']).reshape(data['shape']), energy, distance


def read_peaks(frame, image):
    """Returns the peak list if GEOM names one: floats inside the image.  CrystFEL reads whole numbers as zero."""
    if 'peak_list' not in top:
        assert 'peak_list' not in frame
        return None
    peaks = find(frame, top['peak_list'])
    columns = [peaks[name] for name in ('fs', 'ss', 'intensity')]
    assert set(peaks) == {'fs', 'ss', 'intensity'} and len({len(c) for c in columns}) == 1
    assert all(isinstance(n, float) and math.isfinite(n) for c in columns for n in c)
    assert all(0 <= n < image.shape[1] for n in columns[0]) and all(0 <= n < image.shape[0] for n in columns[1])
    assert columns[2] == sorted(columns[2], reverse=True) and len(columns[2]) == 25
    return peaks


def offsets(image, energy, distance, reciprocal, peaks):
    """Returns observed minus predicted positions, in pixels, of the peaks or, without a peak list, of the bright spots."""
    res, wavelength = float(top['res']), 12398.42 / energy
    corner = np.array([float(panel['corner_x']), float(panel['corner_y']),
                       (distance / 1000 + float(panel['coffset'])) * res])
    plane = np.stack([fs, ss, corner], axis=1)
    def away(seen):
        ray = plane @ [*seen, 1]
        q = (ray / np.linalg.norm(ray) - [0, 0, 1]) / wavelength
        hkl = np.rint(np.linalg.solve(reciprocal.T, q))
        at = np.linalg.solve(plane, hkl @ reciprocal + np.array([0, 0, 1]) / wavelength)
        return seen - at[:2] / at[2]

    if peaks:
        return [away(np.array(p) + 0.5) for p in zip(peaks['fs'], peaks['ss'])]
    work, found = image.astype(float) - np.median(image), []
    for _ in range(40):
        s, f = np.unravel_index(work.argmax(), work.shape)
        window = np.s_[max(s - 4, 0):s + 5, max(f - 4, 0):f + 5]
        spot = work[window].copy()
        work[window] = 0
        if spot.shape != (9, 9) or spot[4, 4] < 200:
            continue
        spot[spot < 0] = 0
        y, x = np.mgrid[s - 4:s + 5, f - 4:f + 5] + 0.5
        found.append(away(np.array([(x * spot).sum(), (y * spot).sum()]) / spot.sum()))
    return found


top, panel, fs, ss = read_geometry(geom)
to_crystfel = np.array([[0, 0, 1], [0, -1, 0], [1, 0, 0]])  # from the MOSFLM axes
lines = [line.rstrip('\n').split('\t') for line in open(truth)]
table = {int(row[0]): dict(zip(lines[0], row)) for row in lines[1:]}
seen, differences = set(), []
for _ in range(count):
    if kind == 'req':
        sock.send(b'next')
    parts = sock.recv_multipart()
    assert len(parts) == 1, 'more than one part: the worker would hang for good'
    frame = msgpack.unpackb(parts[0], raw=False)
    image, energy, distance = check(frame)
    number = find(frame, 'frame_id')
    seen.add(number)
    while True:
        try:  # the writer may be a little behind
            pixels = np.fromfile(files % number, '<u2')[-image.size:].reshape(image.shape)
            break
        except FileNotFoundError:
            time.sleep(0.1)
    assert (image == pixels).all(), f'frame {number} differs'
    row = table[number]
    stars = np.array([[float(row[f'{a}s_{x}']) for x in 'xyz'] for a in 'abc'])
    differences += offsets(image, energy, distance, stars @ to_crystfel.T, read_peaks(frame, image))
assert len(seen) == count
middle = np.median(differences, axis=0)
print(f'{len(differences)} spots, offset {middle[0]:.3f} {middle[1]:.3f} pixels')
assert len(differences) > 10 * count and abs(middle).max() < 0.05

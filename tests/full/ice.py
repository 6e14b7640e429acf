"""ice.py photons IMAGE EDGE PIXEL_MM; frames COUNT SHARE RMS TEMPLATE; depth SPOT BOTH LAYERS."""
import sys

import numpy

RE2, CELL, DISTANCE_MM = 7.94079e-30, 128.23, 100.0


def photons(path, edge, pixel):
    """Phi r_e^2 (V/V_c^2) lambda^3 m F^2 / (4 sin theta), ring by ring."""
    edge, pixel = int(edge), float(pixel)
    image = numpy.fromfile(path, "<f4").reshape(edge, edge).astype(float)
    y, x = (numpy.indices((edge, edge)) + 0.5 - edge / 2) * pixel
    s = 2 * numpy.sin(0.5 * numpy.arctan(numpy.hypot(x, y) / DISTANCE_MM))
    sums = numpy.zeros(2)
    for d, m_F2, low, high in ((3.894, 1464, 0.24, 0.265), (3.661, 922, 0.265, 0.282), (3.438, 1113, 0.282, 0.33),
                               (2.667, 872, 0.33, 0.41), (2.248, 2378, 0.41, 0.464)):
        volume = 10e4 * 5e4 * 5e4  # A^3
        expected = 1e24 * RE2 * volume / CELL**2 * m_F2 / (4 * 0.5 / d)
        found = image[(s > low) & (s < high)].sum()
        sums += found, expected
        print(f"d {d}: {found:.6g} photons, {found / expected:.5f} of the formula")
        assert abs(found / expected - 1) < 0.0005 or pixel > 0.2, d  # rings reach into each other there
    print(f"together {sums[0] / sums[1]:.5f}")
    assert abs(sums[0] / sums[1] - 1) < (0.0005 if pixel < 0.2 else 0.005)


def frames(count, share, rms, template):
    images = [numpy.fromfile(template % k, "<f4").astype(float) for k in range(int(count))]
    water = numpy.array([image[20 * 40 + 23] for image in images])  # near the beam
    ring = numpy.array([numpy.sort(image)[-100:].sum() for image in images]) / water
    iced = (ring > ring.min() * 1.05).mean()
    spread = water.std() / water.mean()
    print(f"{iced:.3f} have ice, amounts vary by {spread:.3f}, mean {water.mean() / numpy.median(water):.3f} of the median")
    assert abs(iced - float(share)) < 0.08 and abs(spread / float(rms) - 1) < 0.25


def depth(spot_path, both_path, layers):
    """r = (L + z) tan 2theta, z = t/x - t/(e^x - 1) the mean depth of photons along the ray, x = mu t/cos 2theta."""
    spot, both = (numpy.fromfile(path, "<f4").reshape(400, 41).astype(float) for path in (spot_path, both_path))
    y, x = numpy.indices((400, 41))
    fast, slow = (x + 0.5) * 0.1 - 2.10, 38.05 - (y + 0.5) * 0.1
    radius = numpy.hypot(fast, slow)
    two_theta = 2 * numpy.arcsin(0.62 / (2 * 2.2485))
    path = 1.0 / 0.7 / numpy.cos(two_theta)
    expected = (DISTANCE_MM + 1 / path - 1 / numpy.expm1(path)) * numpy.tan(two_theta)

    def centre(image):
        here = abs(radius - expected) < 0.8
        floor = numpy.median(image[(abs(radius - expected) > 0.8) & (abs(radius - expected) < 1.2)])
        return (radius * (image - floor))[here].sum() / (image - floor)[here].sum()

    ring, at = centre(both - spot), centre(spot)
    print(f"{layers} layers: formula {expected:.4f} mm, ring {ring - expected:+.4f}, spot {at - expected:+.4f}")
    assert abs(ring - expected) < 0.005 and abs(at - expected) < 0.005 and abs(ring - at) < 0.005  # a twentieth of a pixel


globals()[sys.argv[1]](*sys.argv[2:])

"""Compares the photons of harmonic reflections in an image with the formula.

    harmonic_sums.py IMAGE SHARE SIGNAL BLOCKS

Orders 7, 8 and 9 are at a third of the wavelength, order 3 at the wavelength.  The formula is
share signal r_e^2 fluence lambda^3 F^2 V_x / (V^2 sin 2theta osc) 0.98444 stopped.
"""
import sys, numpy
RE2, EV = 7.94079248e-30, 12398.42 / 1.5
KEV, CM2_G = (5, 6, 8, 10, 15, 20, 30), (245.0, 147.0, 64.68, 33.89, 10.34, 4.464, 1.436)  # silicon, NIST

def stopped(energy_eV, two_theta):
    mu_1_m = 233 * numpy.exp(numpy.interp(numpy.log(energy_eV / 1e3), numpy.log(KEV), numpy.log(CM2_G)))
    return 1 - numpy.exp(-mu_1_m * 320e-6 / numpy.cos(two_theta))

def expected(h, F, wave, share):
    two_theta = 2 * numpy.arcsin(h * wave / 200)
    lorentz = wave**3 * 40**3 / (100**3 * numpy.sin(two_theta) * numpy.radians(2.6))
    return two_theta, share * RE2 * 1e26 * lorentz * F**2 * 0.98444 * stopped(EV * 1.5 / wave, two_theta)

name, share, signal, blocks = sys.argv[1], *(float(v) for v in sys.argv[2:5])
rows = numpy.fromfile(name, '<f4').astype(float).reshape(500, 31).sum(1)
y = 48.05 - (numpy.arange(500) + 0.5) * 0.1
for h, F in ((7, 60), (8, 80), (9, 50)):
    two_theta, photons = expected(h, F, 0.5, share * signal)
    if h == 9:
        photons += expected(3, 100, 1.5, 1)[1]
    at, photons = 1000 * numpy.tan(two_theta), photons * blocks
    near = abs(y - at) < 2.4
    found = rows[near].sum()
    print(h, photons, found, (rows * y)[near].sum() / found - at)
    assert abs(found / photons - 1) < (2e-3 if h < 9 else 1e-3), h
    assert abs((rows * y)[near].sum() / found - at) < 0.01, h

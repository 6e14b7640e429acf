#include "physics/beam/synchrotron.h"

#include <math.h>
#include <string.h>

#include "base/opt.h"
#include "base/portable_math.h"
#include "base/units.h"

/* --- filters ----------------------------------------------------------------------- */

const char *const filter_materials[FILTER_MATERIALS] = {"Al", "Be", "C", "Si"};

/* Densities, g/cm^3; carbon is graphite. */
static const double density[FILTER_MATERIALS] = {2.699, 1.848, 1.7, 2.33};

/* Mass attenuation in cm^2/g [Hubbell and Seltzer, NIST SRD 126], for the energies of keV[]. */
static const double keV[] = {2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 40, 50, 60, 80, 100, 150, 200};
enum { ROWS = sizeof keV / sizeof *keV };
static const double cm2_g[FILTER_MATERIALS][ROWS] = {
    {2263, 788.0, 360.5, 193.4, 115.3, 50.33, 26.23, 7.955, 3.441, 1.128, 0.5685, 0.3681, 0.2778,
     0.2018, 0.1704, 0.1378, 0.1223},
    {74.69, 21.27, 8.685, 4.369, 2.527, 1.124, 0.6466, 0.3070, 0.2251, 0.1792, 0.1640, 0.1554,
     0.1493, 0.1401, 0.1328, 0.1190, 0.1089},
    {302.6, 90.33, 37.78, 19.12, 10.95, 4.576, 2.373, 0.8071, 0.4420, 0.2562, 0.2076, 0.1871,
     0.1753, 0.1610, 0.1514, 0.1347, 0.1229},
    {2777, 978.4, 452.9, 245.0, 147.0, 64.68, 33.89, 10.34, 4.464, 1.436, 0.7012, 0.4385, 0.3207,
     0.2228, 0.1835, 0.1448, 0.1275},
};

/* Returns the attenuation of a material in 1/m, on straight lines between logarithms. */
static double attenuation_1_m(int material, double energy_eV)
{
    const double x = energy_eV / 1e3, *values = cm2_g[material];
    int i = 0;
    while (i < ROWS - 2 && x > keV[i + 1])
        i++;
    const double part = portable_log(x / keV[i]) / portable_log(keV[i + 1] / keV[i]);
    return 100.0 * density[material] * values[i] *
           portable_exp(part * portable_log(values[i + 1] / values[i]));
}

double filter_transmission(const struct filter *filters, int count, double energy_eV)
{
    double depths = 0.0;
    for (int i = 0; i < count; i++)
        depths += filters[i].thickness_m * attenuation_1_m(filters[i].material, energy_eV);
    return portable_exp(-depths);
}

static int find_material(const char *text, size_t length)
{
    int i = 0;
    while (i < FILTER_MATERIALS && (strlen(filter_materials[i]) != length ||
                                    strncmp(text, filter_materials[i], length) != 0))
        i++;
    return i;
}

enum status filter_parse(const char *text, struct filter *filters, int *count, struct error *e)
{
    enum { LONGEST = 32 };
    enum status s = STATUS_OK;
    *count = 0;
    for (const char *at = text, *next; at && !s; at = next) {
        char thickness[LONGEST] = "";
        double value_mm;
        int numbers;
        const char *comma = strchr(at, ','), *colon = strchr(at, ':');
        const size_t length = comma ? (size_t)(comma - at) : strlen(at);
        next = comma ? comma + 1 : NULL;
        const size_t name = colon ? (size_t)(colon - at) : length;
        const int material = find_material(at, name < length ? name : length);
        if (material == FILTER_MATERIALS || name >= length || length - name > LONGEST ||
            *count == FILTERS_MAX)
            return error_set(e, STATUS_USAGE,
                             "--filter=%s: expected up to %d filters MATERIAL:THICKNESS of Al, Be, "
                             "C or Si, such as --filter=Al:1mm",
                             text, FILTERS_MAX);
        memcpy(thickness, colon + 1, length - name - 1);
        s = parse_list(thickness, 1, 1e-4, 1e3, "mm", "--filter", &value_mm, &numbers, e);
        if (!s)
            filters[(*count)++] = (struct filter){material, mm_to_m(value_mm)};
    }
    return s;
}

/* --- bending magnets and wigglers -------------------------------------------------- */

/* Returns the integral of exp(-y cosh t) f(t) from 0 to infinity, where f is cosh(order t), which
 * makes it the Bessel function K of this order, or with `integrate` cosh(order t)/cosh t, which
 * makes it the integral of K from y to infinity.  The trapezoidal rule converges like exp(-100). */
static double bessel(double y, double order, bool integrate)
{
    static const double STEP = 0.1, DARK = 80.0;
    double sum = 0.0;
    for (int i = 0;; i++) {
        const double up = portable_exp(i * STEP), hyperbolic = 0.5 * (up + 1.0 / up);
        if (y * (hyperbolic - 1.0) > DARK)
            return STEP * sum * portable_exp(-y);
        const double high = portable_exp(order * i * STEP);
        const double term = portable_exp(-y * (hyperbolic - 1.0)) * 0.5 * (high + 1.0 / high);
        sum += (i ? 1.0 : 0.5) * (integrate ? term / hyperbolic : term);
    }
}

double synchrotron_photons(double y, bool vertical_sum)
{
    if (vertical_sum)
        return bessel(y, 5.0 / 3.0, true);
    const double K = bessel(0.5 * y, 2.0 / 3.0, false);
    return y * K * K;
}

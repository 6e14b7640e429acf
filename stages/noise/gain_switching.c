/* Makes gains, pedestals and memory cells of --gain-switching, and writes their calibration files.
 */
#include "gain_switching.h"

#include <inttypes.h>
#include <string.h>

#include "base/alloc.h"
#include "base/units.h"
#include "io/detectors/gain_files.h"
#include "model/beam.h"

/* Defaults, the ADC values at which a level is left, and the gain values of the AGIPD levels.  They
 * are round numbers of models, not those of certain detectors. */
static const struct {
    double gain_adu_keV[GAIN_STAGES], pedestal_adu[GAIN_STAGES], top_adu, bottom_adu;
} USUAL[] = {[WORDS_JUNGFRAU] = {{40, -1, -0.1}, {3000, 15000, 15000}, 15800, 3000},
             [WORDS_AGIPD] = {{7.5, 0.15, 0.03}, {5000, 5500, 5500}, 10000, 3000}};
static const double LEVELS_ADU[GAIN_STAGES] = {5500, 7500, 8500};

enum status gain_switching_check(struct gain_switching *w, bool has_gains, bool has_pedestals,
                                 struct error *e)
{
    if (!has_gains)
        memcpy(w->gain_adu_keV, USUAL[w->words].gain_adu_keV, sizeof w->gain_adu_keV);
    if (!has_pedestals)
        memcpy(w->pedestal_adu, USUAL[w->words].pedestal_adu, sizeof w->pedestal_adu);
    for (int i = 0; i < GAIN_STAGES && w->on; i++)
        if (w->gain_adu_keV[i] == 0.0)
            return error_set(e, STATUS_USAGE,
                             "--stage-gains: a gain is 0; expected gains other than 0");
    return STATUS_OK;
}

double gain_switching_energy_keV(const struct experiment *x, const struct recipe *r)
{
    return m_to_ev(incident_beam(x, r).mean_m) / 1000.0;
}

/* Sets *cells to the number of memory cells that the pulses of a train fill. STATUS_USAGE: a
 * train has more pulses than there are cells. */
static enum status count_cells(const struct experiment *x, uint64_t *cells, struct error *e)
{
    *cells = x->pulse_ids.train_pulses ? x->pulse_ids.train_pulses : 1;
    if (*cells <= MEMORY_CELLS_MAX)
        return STATUS_OK;
    return error_set(e, STATUS_USAGE,
                     "--words=agipd: a train has %" PRIu64
                     " pulses; expected at most %d, the number of memory cells. Reduce "
                     "bragg-orient --train-pulses",
                     *cells, MEMORY_CELLS_MAX);
}

/* Writes the gains, pedestals and thresholds of all cells to the calibration files. One image at
 * a time is in memory. */
static enum status write_cells(const struct gain_switching *w, uint64_t cells, int threads,
                               const struct experiment *x, struct error *e)
{
    const int64_t count = experiment_pixels(x);
    struct cell_files f;
    float *plane = mem_array((size_t)count, sizeof *plane);
    if (!plane)
        return error_memory(e, "the calibration");
    enum status s = cell_files_open(&f, w->files, x, cells, e);
    for (int stage = 0; stage < GAIN_STAGES && !s; stage++) {
        cell_files_gains(&f, stage, w->gain_adu_keV[0], w->stages.gain[stage], plane);
        for (uint64_t cell = 0; cell < cells; cell++) {
            memory_cells_pedestals(&w->cells, stage, cell, plane, count, threads);
            cell_files_offsets(&f, stage, cell, plane);
            if (stage > 0) {
                memory_cells_thresholds(&w->cells, stage, cell, plane, count, threads);
                cell_files_levels(&f, stage, cell, plane);
            }
        }
    }
    mem_free(plane);
    return s ? s : cell_files_commit(&f, x, e);
}

static enum status make_cells(struct gain_switching *w, uint64_t seed, int threads,
                              struct experiment *x, struct error *e)
{
    uint64_t cells;
    enum status s = count_cells(x, &cells, e);
    if (s)
        return s;
    w->cells =
        (struct memory_cells){.stages = &w->stages, .seed = seed, .spread_adu = w->cell_spread_adu};
    memcpy(w->cells.level_adu, LEVELS_ADU, sizeof LEVELS_ADU);
    s = memory_cells_make(&w->cells, experiment_pixels(x), threads, e);
    if (!s && w->files)
        s = write_cells(w, cells, threads, x, e);
    x->has_pulse_ids = x->pulse_ids.has_cells = true;
    x->adc_offset = LEVELS_ADU[0] * (1 << MEMORY_CELLS_SHIFT) + w->pedestal_adu[0];
    x->saturation = UINT32_MAX;
    return s;
}

enum status gain_switching_make(struct gain_switching *w, uint64_t seed, int threads,
                                struct experiment *x, struct error *e)
{
    if (!w->on)
        return STATUS_OK;
    struct gain_request r = {.gain_spread = w->spread[0],
                             .pedestal_spread = w->spread[1],
                             .top_adu = USUAL[w->words].top_adu,
                             .bottom_adu = USUAL[w->words].bottom_adu,
                             .seed = seed};
    memcpy(r.gain_adu_keV, w->gain_adu_keV, sizeof r.gain_adu_keV);
    memcpy(r.pedestal_adu, w->pedestal_adu, sizeof r.pedestal_adu);
    const enum status s = gain_stages_make(&w->stages, &r, experiment_pixels(x), threads, e);
    x->adc_offset = w->pedestal_adu[0];
    x->gain = w->gain_adu_keV[0] * m_to_ev(x->beam.wavelength_m) / 1000.0;
    x->saturation = UINT16_MAX;
    x->gain_switches = true;
    if (s)
        return s;
    if (w->words == WORDS_AGIPD)
        return make_cells(w, seed, threads, x, e);
    return w->files ? gain_files_write(w->files, x, w->stages.gain, w->stages.pedestal, e)
                    : STATUS_OK;
}

double gain_switching_full_word(const struct gain_switching *w)
{
    if (w->words == WORDS_AGIPD)
        return GAIN_STAGES_ADC_MAX;
    return w->gain_adu_keV[GAIN_STAGES - 1] > 0.0 ? UINT16_MAX : UINT16_MAX - GAIN_STAGES_ADC_MAX;
}

void gain_switching_free(struct gain_switching *w)
{
    memory_cells_free(&w->cells);
    gain_stages_free(&w->stages);
}

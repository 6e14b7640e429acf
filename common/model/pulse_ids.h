/*
 * How facilities number the pulses of their free-electron lasers: pure functions of the number of
 * a frame, each frame taking one pulse.
 *
 *     EuXFEL    trainId of ten trains a second, and pulseId, the place in the train in slots of
 *               4.5 MHz
 *     LCLS      seconds and nanoseconds, and fiducial, which counts the 360 Hz of the mains and
 *               begins anew at PULSE_FIDUCIALS
 *     SwissFEL  pulse_id, which counts 100 Hz
 *     SACLA     tag, which counts 60 Hz
 *
 * Where a detector keeps the pulses of a train in memory cells, cellId is the place of the frame's
 * pulse among them, counted from 0: 0 where there are no trains.
 *
 * With a pump laser, laser is 1 for pump_light frames and 0 for the next pump_dark frames, and so
 * on.
 */
#ifndef BRAGG_MODEL_PULSE_IDS_H
#define BRAGG_MODEL_PULSE_IDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum facility {
    FACILITY_NONE,
    FACILITY_EUXFEL,
    FACILITY_LCLS,
    FACILITY_SWISSFEL,
    FACILITY_SACLA,
};

enum {
    PULSE_NUMBERS_MAX = 5,
    PULSE_FIDUCIALS = 131040,  // 0x1ffe0
    PULSE_TRAIN_SLOTS = 2700,
};

struct pulse_ids {
    enum facility facility;
    uint64_t first;         // trainId, fiducial, pulse_id or tag of frame 0
    uint64_t step;          // ticks from one pulse to the next, of a train or of all
    uint64_t train_pulses;  // EuXFEL: that a train has; 0 counts as 1
    uint64_t start_s;       // LCLS: Unix time of frame 0
    bool has_cells;         // the detector has memory cells
    bool has_pump;          // a pump laser is used
    uint64_t pump_light;    // frames in a row with its light ...
    uint64_t pump_dark;     // ... and then without
};

struct pulse_number {
    const char *name;  // as the facility calls it, or cellId, or laser
    uint64_t value;
};

/* The place of a frame's pulse in its train, from 0. */
uint64_t pulse_place(const struct pulse_ids *p, uint64_t frame);

/* Whether the laser lights in a frame. */
bool pulse_lit(const struct pulse_ids *p, uint64_t frame);

/* The numbers of a frame, in the order of the list above; returns how many: of the facility none
 * for FACILITY_NONE. */
size_t pulse_numbers(const struct pulse_ids *p, uint64_t frame,
                     struct pulse_number list[PULSE_NUMBERS_MAX]);

#endif

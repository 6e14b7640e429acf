/*
 * Pulse numbers of free-electron lasers.  Each frame takes one pulse, and its numbers are pure
 * functions of the frame number:
 *
 *     EuXFEL    trainId counts ten trains a second; pulseId is the place in the train, in slots of
 *               4.5 MHz
 *     LCLS      seconds and nanoseconds; fiducial counts the 360 Hz of the mains and starts again
 *               at 0 after PULSE_FIDUCIALS
 *     SwissFEL  pulse_id counts 100 Hz
 *     SACLA     tag counts 60 Hz
 *
 * A detector may store the pulses of a train in memory cells.  cellId then is the place of the
 * frame's pulse in its train, counted from 0.  It is 0 if there are no trains.
 *
 * With a pump laser, `laser` is 1 for pump_light frames, then 0 for pump_dark frames, and so on.
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
    uint64_t step;          // ticks from one pulse to the next: of a train, or of the machine
    uint64_t train_pulses;  // EuXFEL: pulses in a train; 0 means 1
    uint64_t start_s;       // LCLS: Unix time of frame 0
    bool has_cells;         // the detector has memory cells
    bool has_pump;          // a pump laser is used
    uint64_t pump_light;    // number of consecutive frames with laser light
    uint64_t pump_dark;     // number of consecutive frames without it, which follow
};

struct pulse_number {
    const char *name;  // name that the facility uses, or cellId, or laser
    uint64_t value;
};

/* Returns the place of the frame's pulse in its train, counted from 0. */
uint64_t pulse_place(const struct pulse_ids *p, uint64_t frame);

/* Returns true if the pump laser illuminates the frame. */
bool pulse_lit(const struct pulse_ids *p, uint64_t frame);

/* Stores the numbers of a frame in list[], in the order of the table above.  Returns how many there
 * are.  FACILITY_NONE has no numbers of a facility. */
size_t pulse_numbers(const struct pulse_ids *p, uint64_t frame,
                     struct pulse_number list[PULSE_NUMBERS_MAX]);

#endif

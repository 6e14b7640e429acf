#include "model/pulse_ids.h"

enum { FIDUCIAL_HZ = 360 };
#define SECOND_NS UINT64_C(1000000000)

uint64_t pulse_place(const struct pulse_ids *p, uint64_t frame)
{
    return p->train_pulses ? frame % p->train_pulses : 0;
}

bool pulse_lit(const struct pulse_ids *p, uint64_t frame)
{
    const uint64_t period = p->pump_light + p->pump_dark;
    return p->has_pump && period && frame % period < p->pump_light;
}

static size_t facility_numbers(const struct pulse_ids *p, uint64_t frame, struct pulse_number *list)
{
    const uint64_t train = p->train_pulses ? p->train_pulses : 1, ticks = frame * p->step;
    switch (p->facility) {
    case FACILITY_EUXFEL:
        list[0] = (struct pulse_number){"trainId", p->first + frame / train};
        list[1] = (struct pulse_number){"pulseId", pulse_place(p, frame) * p->step};
        return 2;
    case FACILITY_LCLS:
        list[0] = (struct pulse_number){"seconds", p->start_s + ticks / FIDUCIAL_HZ};
        list[1] =
            (struct pulse_number){"nanoseconds", ticks % FIDUCIAL_HZ * SECOND_NS / FIDUCIAL_HZ};
        list[2] = (struct pulse_number){"fiducial", (p->first + ticks) % PULSE_FIDUCIALS};
        return 3;
    case FACILITY_SWISSFEL:
        list[0] = (struct pulse_number){"pulse_id", p->first + ticks};
        return 1;
    case FACILITY_SACLA:
        list[0] = (struct pulse_number){"tag", p->first + ticks};
        return 1;
    case FACILITY_NONE:
        break;
    }
    return 0;
}

size_t pulse_numbers(const struct pulse_ids *p, uint64_t frame,
                     struct pulse_number list[PULSE_NUMBERS_MAX])
{
    size_t n = facility_numbers(p, frame, list);
    if (p->has_cells)
        list[n++] = (struct pulse_number){"cellId", pulse_place(p, frame)};
    if (p->has_pump)
        list[n++] = (struct pulse_number){"laser", pulse_lit(p, frame)};
    return n;
}

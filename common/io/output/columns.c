#include "io/output/columns.h"

#include <string.h>

#define XYZ(name, unit, meaning)                          \
    {COLUMNS_LATTICE, name "_x", unit, meaning " x"},     \
        {COLUMNS_LATTICE, name "_y", unit, meaning " y"}, \
    {                                                     \
        COLUMNS_LATTICE, name "_z", unit, meaning " z"    \
    }
#define ROW(row)                                                                               \
    {COLUMNS_LATTICE, "u" row "1", "-", "U: crystal to laboratory, row " row " column 1"},     \
        {COLUMNS_LATTICE, "u" row "2", "-", "U: crystal to laboratory, row " row " column 2"}, \
    {                                                                                          \
        COLUMNS_LATTICE, "u" row "3", "-", "U: crystal to laboratory, row " row " column 3"    \
    }
#define LABORATORY " in laboratory axes, spindle at 0:"
#define BEAM " in beam axes, mid-frame:"

const struct column column_list[] = {
    {COLUMNS_LATTICE, "frame", "-", "frame number"},
    {COLUMNS_LATTICE, "lattices", "-", "lattices in the frame; 0: a blank"},
    {COLUMNS_LATTICE, "fluence", "-", "fluence / fluence of the experiment"},
    {COLUMNS_LATTICE, "wavelength_A", "A", "mean wavelength of the frame"},
    {COLUMNS_LATTICE, "lattice", "-", "number of the lattice in the frame, from 0"},
    {COLUMNS_LATTICE, "crystal", "-", "number of its crystal, from 0"},
    {COLUMNS_LATTICE, "name", "-", "name of the crystal"},
    {COLUMNS_LATTICE, "share", "-", "weight: factor on the photons of one block"},
    ROW("1"),
    ROW("2"),
    ROW("3"),
    XYZ("as", "1/A", "a*" LABORATORY),
    XYZ("bs", "1/A", "b*" LABORATORY),
    XYZ("cs", "1/A", "c*" LABORATORY),
    XYZ("astar", "1/A", "a*" BEAM),
    XYZ("bstar", "1/A", "b*" BEAM),
    XYZ("cstar", "1/A", "c*" BEAM),
    {COLUMNS_LATTICE, "panel_deg", "deg", "fast axis of panel 0, from beam x towards y"},
    {COLUMNS_SHIFT, "shift_x_mm", "mm", "detector displacement along beam x"},
    {COLUMNS_SHIFT, "shift_y_mm", "mm", "detector displacement along beam y"},
    {COLUMNS_SHIFT, "coffset_mm", "mm", "detector displacement along the beam"},
    {COLUMNS_HARMONIC, "third_harmonic", "-", "its photons / photons of the beam"},
    {COLUMNS_RUN, "run", "-", "number of the run, from 0"},
    {COLUMNS_RUN, "label", "-", "label of the run"},
    {COLUMNS_BEAM, "beam_x_urad", "urad", "beam direction, from beam z towards x"},
    {COLUMNS_BEAM, "beam_y_urad", "urad", "beam direction, from beam z towards y"},
    {COLUMNS_PULSE, "trainId", "-", "EuXFEL: number of the train"},
    {COLUMNS_PULSE, "pulseId", "-", "EuXFEL: slot of 4.5 MHz in the train"},
    {COLUMNS_PULSE, "seconds", "s", "LCLS: Unix time"},
    {COLUMNS_PULSE, "nanoseconds", "ns", "LCLS: time since that second"},
    {COLUMNS_PULSE, "fiducial", "-", "LCLS: count at 360 Hz"},
    {COLUMNS_PULSE, "pulse_id", "-", "SwissFEL: count at 100 Hz"},
    {COLUMNS_PULSE, "tag", "-", "SACLA: count at 60 Hz"},
    {COLUMNS_PULSE, "cellId", "-", "memory cell: place of the pulse in its train"},
    {COLUMNS_PULSE, "laser", "-", "pump laser; 1: on, 0: off"},
    {COLUMNS_MESSAGE, "sent_s", "s", "Unix time: message was taken or dropped"},
    {COLUMNS_MESSAGE, "rate_Hz", "Hz", "requested rate at that time; 0: none"},
    {COLUMNS_MESSAGE, "fate", "-", "taken, some, dropped or withheld"},
    {COLUMNS_MESSAGE, "fault", "-", "fault of the message, such as nan; -: none"},
    {COLUMNS_REFLECTION, "frame", "-", "frame number"},
    {COLUMNS_REFLECTION, "lattice", "-", "number of the lattice in the frame, from 0"},
    {COLUMNS_REFLECTION, "h", "-", "Miller index"},
    {COLUMNS_REFLECTION, "k", "-", "Miller index"},
    {COLUMNS_REFLECTION, "l", "-", "Miller index"},
    {COLUMNS_REFLECTION, "panel", "-", "panel with most of the photons, from 0"},
    {COLUMNS_REFLECTION, "fast", "px", "centroid in the panel; corner of pixel 0: 0"},
    {COLUMNS_REFLECTION, "slow", "px", "centroid in the panel; corner of pixel 0: 0"},
    {COLUMNS_REFLECTION, "photons", "photons", "expected in the frame, from this lattice"},
    {COLUMNS_REFLECTION, "peak", "photons", "expected in the brightest pixel"},
    {COLUMNS_REFLECTION, "pixels", "px", "brightest pixels that hold 99 % of the photons"},
    {COLUMNS_REFLECTION, "phi", "deg", "mean spindle angle of the photons; still: 0"},
    {COLUMNS_REFLECTION, "s", "1/A", "distance from the Ewald sphere; inside: > 0"},
    {COLUMNS_REFLECTION, "F2", "electrons^2", "squared structure factor"},
    {COLUMNS_REFLECTION, "background", "photons", "of other origin, in these brightest pixels"},
};

const size_t column_list_length = sizeof column_list / sizeof *column_list;

void columns_write_names(FILE *out, enum column_group group, const char *before)
{
    for (size_t i = 0; i < column_list_length; i++) {
        if (column_list[i].group != group)
            continue;
        fprintf(out, "%s%s", before, column_list[i].name);
        before = "\t";
    }
}

const struct column *columns_find(const char *name, bool of_reflections)
{
    for (size_t i = 0; i < column_list_length; i++)
        if ((column_list[i].group == COLUMNS_REFLECTION) == of_reflections &&
            strcmp(column_list[i].name, name) == 0)
            return &column_list[i];
    return NULL;
}

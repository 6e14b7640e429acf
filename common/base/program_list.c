#include "base/program_list.h"

#include <string.h>

// clang-format off
const struct listed_program program_list[] = {
    // name, summary, hints, recomputes
    {"geometry", "detector, beam, crystals, structure factors", true, true},
    {"orient", "parameters of each frame: orientation, rotation, pulses", true, true},
    {"intensity", "photons per pixel", true, true},
    {"background", "scattering of water, air, any material", true, true},
    {"noise", "photons to detector counts", true, true},
    {"write", "files and pictures", true, false},
    {"serve", "live frames for other programs, in their protocols", true, false},
    {"tap", "records, prints or counts what flows between stages", false, false},
    {"replay", "plays a recording or images, computes a frame again", false, false},
    {"run", "runs the pipeline of a file, or one that ships", true, false},
    {"top", "shows the progress of a running pipeline", false, false},
    {"view", "shows the images in a browser", false, false},
    {"report", "writes an HTML page about the frames of a stream", false, false},
    {"fisher", "predicts the error bars of an experiment", false, false},
    {"refine", "fits orientations, cells and more to images, with error bars", false, false},
    {"compare", "compares two images", false, false},
    {"score", "compares the results of an analysis with the ground truth", false, false},
    {"nanobragg", "nanoBragg's command line", false, false},
    {"nonbragg", "nonBragg's command line", false, false},
    {"noisify", "noisify's command line", false, false},
};
// clang-format on

const size_t program_list_length = sizeof program_list / sizeof *program_list;

const struct listed_program *program_list_find(const char *executable)
{
    static const char PREFIX[] = "bragg-";
    const size_t length = sizeof PREFIX - 1;
    if (strncmp(executable, PREFIX, length) != 0)
        return NULL;
    for (size_t i = 0; i < program_list_length; i++)
        if (strcmp(program_list[i].name, executable + length) == 0)
            return &program_list[i];
    return NULL;
}

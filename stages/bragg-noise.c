/* bragg-noise: from expected photons to the counts that a detector reads. */
#include "noise.h"

int main(int argc, char **argv)
{
    return stage_main(&stage_noise, argc, argv);
}

/* bragg-noise: turns expected photons into the counts that a detector reads; see noise.c. */
#include "base/program.h"
#include "noise.h"

int main(int argc, char **argv)
{
    program_sleeps(argv);
    return stage_main(&stage_noise, argc, argv);
}

/* bragg-noise: turns expected photons into the counts that a detector reads; see noise.c. */
#include "noise.h"

int main(int argc, char **argv)
{
    return stage_main(&stage_noise, argc, argv);
}

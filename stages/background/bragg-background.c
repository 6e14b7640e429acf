/* bragg-background: adds scattering by water, air, ice and other matter; see background.c. */
#include "background.h"
#include "base/program.h"

int main(int argc, char **argv)
{
    program_sleeps(argv);
    return stage_main(&stage_background, argc, argv);
}

/* bragg-background: adds scattering by water, air, ice and other matter; see background.c. */
#include "background.h"

int main(int argc, char **argv)
{
    return stage_main(&stage_background, argc, argv);
}

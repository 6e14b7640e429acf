/* bragg-background: adds what water, air and other amorphous matter scatter. */
#include "background.h"
#include "base/program.h"

int main(int argc, char **argv)
{
    program_sleeps(argv);
    return stage_main(&stage_background, argc, argv);
}

/* bragg-background: adds what water, air and other amorphous matter scatter. */
#include "background.h"

int main(int argc, char **argv)
{
    return stage_main(&stage_background, argc, argv);
}

/* A library to be preloaded: reading the numbers of an HDF5 file crashes, after words of another.
 * Some damaged files do that to some releases of the HDF5 library. */
#include <stdio.h>
#include <stdlib.h>

int H5Dread(void);
int H5Dread(void)
{
    (void)fputs("*** words of a library\n", stderr);
    abort();
}

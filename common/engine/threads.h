/* The threads of OpenMP. */
#ifndef BRAGG_ENGINE_THREADS_H
#define BRAGG_ENGINE_THREADS_H

/* Starts them, so many with the calling one, for all parallel loops of this thread to come.  Where
 * the system allows less the program ends now, see base/program.h, and not when others wait for
 * it.  They take no signals. */
void threads_start(int threads);

#endif

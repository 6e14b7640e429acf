/* Functions that --detector, --geom and --expt share. */
#ifndef BRAGG_STAGES_GEOMETRY_PANELS_H
#define BRAGG_STAGES_GEOMETRY_PANELS_H

#include "geometry_options.h"
#include "io/crystfel/geom.h"

/* Moves `count` panels with their masks into p->places, and sets the fields of *r that follow from
 * them.  STATUS_FAILED: out of memory. */
enum status geometry_take_panels(struct geom_panel *panels, size_t count, struct request *r,
                                 struct geometry_panels *p, struct error *e);

/* Sets the wavelength of the file `path`, unless an option gives it.  If the file has none
 * (wavelength_m 0), the default is kept and a warning is printed. */
void geometry_take_wavelength(const struct geometry_options *o, const char *path,
                              double wavelength_m, struct request *r);

/* Prints a warning that the settings `unused` of a file have no effect; nothing if `unused` is "".
 */
void geometry_report_unused(const char *path, const char *unused);

/* --detector: a built-in detector, or a file of pyFAI or NXmx, which its content tells apart. */
enum status geometry_detector(const struct geometry_options *o, struct request *r,
                              struct geometry_panels *p, struct error *e);

/* geometry_wants_list returns whether the command line has --detector=list.  geometry_list prints
 * the built-in detectors to stdout.  STATUS_FAILED: stdout cannot be written to. */
bool geometry_wants_list(int argc, char *const *argv);
enum status geometry_list(struct error *e);

#endif

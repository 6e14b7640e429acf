/* What --detector, --geom and --expt have in common. */
#ifndef BRAGG_STAGES_GEOMETRY_PANELS_H
#define BRAGG_STAGES_GEOMETRY_PANELS_H

#include "geometry_options.h"
#include "io/crystfel/geom.h"

/* Puts panels into p->places and what follows into *r; their masks move.  STATUS_FAILED when
 * memory is out. */
enum status geometry_take_panels(struct geom_panel *panels, size_t count, struct request *r,
                                 struct geometry_panels *p, struct error *e);

/* The wavelength that a file says where no option does; a warning with the default where the file
 * `path` does not say it either (wavelength_m 0). */
void geometry_take_wavelength(const struct geometry_options *o, const char *path,
                              double wavelength_m, struct request *r);

/* A warning for what a file says and we do not use; nothing where `unused` is "". */
void geometry_report_unused(const char *path, const char *unused);

/* --detector: a name, or a file of pyFAI or NXmx, whose kind its content says. */
enum status geometry_detector(const struct geometry_options *o, struct request *r,
                              struct geometry_panels *p, struct error *e);

/* Whether the command line asks for --detector=list; prints the list to stdout, STATUS_FAILED when
 * that cannot be written to. */
bool geometry_wants_list(int argc, char *const *argv);
enum status geometry_list(struct error *e);

#endif

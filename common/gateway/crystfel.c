/*
 * The messages that CrystFEL's indexamajig reads from ZeroMQ with --data-format=msgpack: one part
 * for each frame, which is a flat map with the key names of OM.
 *
 * indexamajig confuses a key with another key that begins with it, reads past the end of an image
 * that is too short, and uses the previous image if it does not know the type.  The check
 * of gateway/delivery.h refuses such messages.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/units.h"
#include "gateway/pack.h"
#include "gateway/protocol.h"

enum { VALUES_BYTES = 16384, PEAK_BYTES = 3 * 9 };

/* Adds the cell of the first lattice, and its reciprocal axes in 1/nm in CrystFEL's laboratory
 * frame, as in a stream of indexamajig.  Each number has its own key, because --copy-header
 * reads only single numbers.  All numbers are 0 in a blank frame.  Those of the cell are 0 if
 * the cell is not known. */
static void describe_lattice(const struct content_options *o, const struct experiment *x,
                             const struct recipe *r, struct delivery *d)
{
    static const char *const cell_keys[] = {"cell_length_a",   "cell_length_b",
                                            "cell_length_c",   "cell_angle_alpha",
                                            "cell_angle_beta", "cell_angle_gamma"};
    static const char *const axis_keys[] = {"astar_x", "astar_y", "astar_z", "bstar_x", "bstar_y",
                                            "bstar_z", "cstar_x", "cstar_y", "cstar_z"};
    static const double ANGSTROM_NM = 10;
    const struct lattice *l = r->nlattices ? r->lattices : NULL;
    double cell[6] = {0};
    if (l && l->crystal < x->ncrystals && x->crystals[l->crystal].has_cell)
        lattice_cell(x, l, cell);
    for (int i = 0; i < 6; i++)
        delivery_real(d, cell_keys[i], cell[i]);
    for (int i = 0; i < 9; i++) {
        const double *axis = l ? l->reciprocal_A + 3 * (i / 3) : NULL, *to = o->lab + 3 * (i % 3);
        delivery_real(d, axis_keys[i],
                      axis ? ANGSTROM_NM * (axis[0] * to[0] + axis[1] * to[1] + axis[2] * to[2])
                           : 0);
    }
}

static void crystfel_describe(const struct content_options *o, const struct experiment *x,
                              const struct frame *f, struct delivery *d)
{
    (void)snprintf(d->id_text, sizeof d->id_text, "%" PRIu64, f->recipe.id);
    delivery_int(d, "frame_id", (int64_t)f->recipe.id);
    delivery_text(d, "event_id", d->id_text);
    delivery_real(d, "timestamp", (double)d->time_ns / 1e9);
    delivery_text(d, "source", o->source);
    delivery_real(d, "beam_energy", probe_energy_eV(x->probe, d->beam.mean_m));
    delivery_real(d, "detector_distance", m_to_mm(x->panels[0].distance_m));
    delivery_truth(d, x, &f->recipe);
    if (o->truth)
        describe_lattice(o, x, &f->recipe, d);
}

/* Writes the shape of the image.  CrystFEL's images have two dimensions: all panels form one
 * slab along the slow axis. */
static void pack_slab(struct pack *p, const struct delivery *d)
{
    const size_t fast = d->shape[d->ndims - 1];
    msgpack_pack_array(&p->packer, 2);
    msgpack_pack_uint64(&p->packer, d->pixel_bytes / pixel_size(d->type) / fast);
    msgpack_pack_uint64(&p->packer, fast);
}

static void pack_peaks(struct pack *p, const struct delivery *d)
{
    static const char *const names[] = {"fs", "ss", "intensity"};
    pack_text(p, DELIVERY_PEAKS_KEY);
    pack_map(p, 3);
    for (int k = 0; k < 3; k++) {
        pack_text(p, names[k]);
        msgpack_pack_array(&p->packer, d->npeaks);
        for (size_t i = 0; i < d->npeaks; i++) {
            const double numbers[] = {d->peaks[i].fast, d->peaks[i].slow, d->peaks[i].intensity};
            msgpack_pack_double(&p->packer, numbers[k]);  // indexamajig reads integers as zero
        }
    }
}

static enum status crystfel_encode(const struct content_options *o, const struct delivery *d,
                                   struct message *m, struct error *e)
{
    (void)o;
    struct pack p;
    if (d->pixel_bytes > UINT32_MAX)
        return error_set(e, STATUS_INPUT, "an image of %zu bytes is too large for MessagePack",
                         d->pixel_bytes);
    pack_open(&p, VALUES_BYTES + d->npeaks * PEAK_BYTES + d->pixel_bytes);
    pack_map(&p, d->nvalues + (d->peaks ? 2 : 1));
    pack_values(&p, d);
    if (d->peaks)
        pack_peaks(&p, d);
    pack_text(&p, d->image_key);
    pack_map(&p, 3);
    pack_key_text(&p, "type", d->type == PIXEL_F32 ? "<f4" : "<i4");
    pack_text(&p, "shape");
    pack_slab(&p, d);
    pack_text(&p, "data");
    pack_bytes(&p, d->pixels, d->pixel_bytes);
    return pack_finish(&p, m, e);
}

const struct protocol protocol_crystfel = {
    .name = "crystfel",
    .versions = (const char *const[]){"1", NULL},
    .image_key = "detector_data",
    .source = "braggpipe",
    .allowed = 1 << PIXEL_F32 | 1 << PIXEL_I32,
    .otherwise = PIXEL_I32,
    .socket = GATEWAY_REP,
    .request = "next",
    .describe = crystfel_describe,
    .encode = crystfel_encode,
};

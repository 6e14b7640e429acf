#!/bin/sh
# The ground truth in DIALS' own files: its programs read it, and its models predict it.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
. "$BRAGG_TESTS/dials.sh"
scratch
needs DIALS dials.import
crystal --fluence=3e26 | bragg-orient --frames=6 --phi0=10 --osc=0.5 --phi-steps=10 --misset=10,5,3 |
	bragg-intensity --reflections=10 | bragg-background --water=0.002 | bragg-noise --seed=3 --adc-offset=0 |
	bragg-write --compression=gzip --reflections='truth_%04d.refl' truth.nxs 2>write.log || complain "$(cat write.log)"
check 'DIALS imports the images' quiet dials.import truth.nxs output.experiments=imported.expt
check 'models of DIALS predict the reflections of the table' /usr/bin/python3 "$BRAGG_TESTS/full/dials_reflections.py" truth 6
check 'dials.show shows them' sh -c 'dials.show truth_0002.expt truth_0002.refl >shown && grep -q "Reflection list contains" shown'
check 'dials.report reports them' quiet dials.report truth_0002.expt truth_0002.refl
check 'dials.combine_experiments puts frames together' quiet dials.combine_experiments truth_000?.expt truth_000?.refl
finish

#!/bin/sh
# Damaged files of every kind that programs read: each ends with a status, in time, in bounds of memory, and in one line.
#
# MUTATE_SECONDS is the time for each kind.  60 s are the rule: a run by hand and make soak keep it.  Under prove, as in
# make check-full, it is 0.8 s, because 26 kinds of 60 s, two at once, would take 13 minutes of CI.
# MUTATE_SEED repeats a run (default: the clock), MUTATE_FORMATS names the kinds that are mutated (all), MUTATE_JOBS is
# how many run at once (2), MUTATE_KEEP is the folder for files that fail (build/mutate).
# BRAGG_MUTATE is the build whose programs run (build/sanitize where it is, else those on PATH).
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
needs 'mutated files' /usr/bin/python3 /bin/bash
top=$(realpath "$BRAGG_TESTS/..")
usual=60
[ "${HARNESS_ACTIVE:-}" ] && usual=0.8
seconds=${MUTATE_SECONDS:-$usual} seed=${MUTATE_SEED:-$(date +%s)} jobs=${MUTATE_JOBS:-2}
keep=${MUTATE_KEEP:-$top/build/mutate} build=${BRAGG_MUTATE:-$top/build/sanitize}
programs=$PATH
if [ -x "$build/bin/bragg-score" ] && [ -x "$build/bin/bragg-geometry" ]; then
	programs=$build/bin:$PATH
	export BRAGG_SANITIZED=1
	note "programs are those of $build"
fi
echo "# MUTATE_SEED=$seed, $seconds s each" >&2
scratch

# --- the files as they are, by our own programs
crystal='--cell=40,45,50,90,90,90 --default-F=300 --ncells=20'
# shellcheck disable=SC2086 # words
source_of() { bragg-geometry --quiet --detpixels=60 --pixel=1 $crystal "$@" | bragg-orient --quiet --random --frames=3 --seed=3 | bragg-intensity --quiet --reflections=1; }
source_of | bragg-write --quiet --frames-per-file=2 n.nxs
source_of | bragg-write --quiet --scale=10 --reflections=run.refl a_%d.img
source_of | bragg-write --quiet --scale=10 --reflections=run.stream b_%d.cbf
source_of | bragg-write --quiet --reflections=run.tsv c_%d.raw
source_of | bragg-tap --record=r.rec >/dev/null
cp n.nxs one.nxs
awk 'BEGIN { for (h = -3; h < 4; h++) for (k = -3; k < 4; k++) for (l = -3; l < 4; l++) print h, k, l, 10 + h * h + k }' >list.hkl
printf '12390 1 2\n12400 2 1\n12410 1 0.5\n' >s.spectra
printf '0 2.5\n0.1 2.4\n0.2 2\n0.5 1\n1 0.1\n' >water.stol
printf 'p0/min_fs = 0\np0/max_fs = 59\np0/min_ss = 0\np0/max_ss = 59\np0/corner_x = -30\np0/corner_y = -30\np0/fs = +1x\np0/ss = +1y\np0/clen = 0.1\np0/res = 1000\nphoton_energy = 9000 eV\nbadx/min_x = 1\nbadx/max_x = 3\nbadx/min_y = 2\nbadx/max_y = 4\n' >d.geom
printf 'poni_version: 2.1\nDetector: Detector\nDetector_config: {"pixel1": 1e-3, "pixel2": 1e-3, "max_shape": [60, 60], "orientation": 3}\nDistance: 0.1\nPoni1: 0.03\nPoni2: 0.03\nRot1: 0\nRot2: 0\nRot3: 0\nWavelength: 1e-10\n' >d.poni
printf 'stages:\n  - {name: geometry, program: bragg-geometry, args: ["--detpixels=20"]}\n  - {name: orient, program: bragg-orient}\n  - {name: intensity, program: bragg-intensity, count: 2}\n  - {name: tap, program: bragg-tap, args: ["--count", "--hold=yes"]}\n' >p.yaml
printf '0.02 0 0\n0 0.02 0\n0 0 0.02\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n50 50 50 90 90 90\n0 0 0\n' >m.mat
cp "$BRAGG_TESTS/golden/lysozyme_6A.mtz" f.mtz
printf '# atoms\nSe 0.55 0.29 0.07 1 17.8\nFe 0.1 0.2 0.3\n' >f.sites
printf '%s\n' 'CRYST1   30.000   32.000   34.000  90.00  97.00  90.00 P 1 21 1      2' \
	'SCALE1      0.033333  0.000000  0.004093        0.00000' 'SCALE2      0.000000  0.031250  0.000000        0.00000' \
	'SCALE3      0.000000  0.000000  0.029633        0.00000' \
	'MTRIX1   1 -1.000000  0.000000  0.000000       30.00000' 'MTRIX2   1  0.000000 -1.000000  0.000000       30.00000' \
	'MTRIX3   1  0.000000  0.000000  1.000000        5.00000' \
	'ATOM      1  N   MET A  12      30.000  10.000   5.000  1.00 10.00           N' \
	'ANISOU    1  N   MET A  12     1500   2500   3500    300   -200    400       N' \
	'ATOM      2 SE  AMET A  12      12.634  19.986   2.235  0.50 17.81          SE' \
	'HETATM    3 SE   MET A 105      25.379  21.660   7.491  0.50 20.27          SE' END >f.pdb
printf '%s\n' data_x '_cell_length_a 7.9' '_cell_length_b 8.7' '_cell_length_c 10.9' '_cell_angle_alpha 90' '_cell_angle_beta 103' \
	'_cell_angle_gamma 90' "_symmetry_space_group_name_H-M 'P 21/n'" loop_ _symmetry_equiv_pos_as_xyz "'x,y,z'" \
	"'-x+1/2,y+1/2,-z+1/2'" "'-x,-y,-z'" "'x-1/2,-y-1/2,z-1/2'" loop_ _atom_site_label _atom_site_type_symbol _atom_site_fract_x \
	_atom_site_fract_y _atom_site_fract_z _atom_site_U_iso_or_equiv 'C1 C 0.1 0.2 0.3 0.03' 'Fe1 Fe3+ 0.7(1) 0.1 0.8 0.02' \
	loop_ _atom_site_aniso_label _atom_site_aniso_U_11 _atom_site_aniso_U_22 _atom_site_aniso_U_33 _atom_site_aniso_U_12 \
	_atom_site_aniso_U_13 _atom_site_aniso_U_23 'C1 0.01 0.02 0.03 0.001 0.002 0.003' >f.cif
export XDG_CACHE_HOME="$tap_scratch/cache"
models=
if has gemmi; then
	models=yes
	gemmi convert --to=mmcif f.pdb f.mmcif
fi
cp a_0.img mask.img
bragg-geometry --quiet --detpixels=60 --pixel=1 --cell=40,45,50,90,90,90 --default-F=0 | bragg-orient --quiet | bragg-intensity --quiet | bragg-write --quiet --scale=1 bad_%d.img
# Of its pixels every 50th is bad: a file that leaves none is refused.
{
	head -c 1536 bad_0.img
	awk 'BEGIN { for (i = 0; i < 3600; i++) printf i % 50 ? "10" : "00" }' | tr 01 '\000\001'
} >bad.img

# --- what reads them
sink='bragg-orient --quiet --random --frames=1 | bragg-intensity --quiet --threads=1 | bragg-tap --count'
piped() { echo "bragg-geometry --quiet $* | $sink; exit \${PIPESTATUS[0]}"; }
square="--detpixels=60 --pixel=1 $crystal"
list() {
	cat <<-END
		nximg|n_data_000001.h5|mkdir -p m; cp n.nxs m; cp n_data_000002.h5 m; cp \$FILE m/n_data_000001.h5; bragg-replay --quiet m/n.nxs | bragg-tap --count; exit \${PIPESTATUS[0]}
		nxdet|n.nxs|$(piped --detector=\$FILE "$crystal")
		nxscore|one.nxs|bragg-score \$FILE run.refl
		expt|run.expt|$(piped --expt=\$FILE --matrix=\$FILE --default-F=100 --ncells=5)
		rec|r.rec|bragg-replay --quiet \$FILE | bragg-tap --count; exit \${PIPESTATUS[0]}
		refl|run.refl|cp run.expt mutated-run.expt; bragg-score r.rec \$FILE
		stream|run.stream|bragg-score r.rec \$FILE
		key|run.tsv|bragg-score \$FILE run.stream
		peaks|run.tsv|bragg-score r.rec \$FILE
		hkl|list.hkl|$(piped "$square" --hkl=\$FILE)
		mat|m.mat|$(piped --detpixels=60 --pixel=1 --default-F=300 --ncells=20 --matrix=\$FILE)
		mtz|f.mtz|$(piped --detpixels=60 --pixel=1 --ncells=20 --mtz=\$FILE)
		sites|f.sites|$(piped --detpixels=60 --pixel=1 --ncells=20 --mtz=f.mtz --sites=\$FILE)
		pdb|f.pdb|$(piped --detpixels=60 --pixel=1 --ncells=5 --dmin=6 --model=\$FILE)
		mmcif|f.mmcif|$(piped --detpixels=60 --pixel=1 --ncells=5 --dmin=6 --model=\$FILE)
		cif|f.cif|$(piped --detpixels=60 --pixel=1 --ncells=5 --dmin=2 --model=\$FILE)
		poni|d.poni|$(piped "$crystal" --detector=\$FILE)
		geom|d.geom|$(piped "$crystal" --geom=\$FILE)
		yaml|p.yaml|bragg-run --quiet --dry-run \$FILE
		smv|a_0.img|bragg-replay --quiet \$FILE | bragg-tap --count; exit \${PIPESTATUS[0]}
		cbf|b_0.cbf|bragg-replay --quiet \$FILE | bragg-tap --count; exit \${PIPESTATUS[0]}
		mask|mask.img|$(piped "$square" --mask=\$FILE)
		spectra|s.spectra|bragg-geometry --quiet $square | bragg-orient --quiet --frames=2 --spectra=\$FILE | bragg-intensity --quiet --threads=1 | bragg-tap --count; exit \${PIPESTATUS[1]}
		stol|water.stol|bragg-geometry --quiet $square | bragg-orient --quiet --frames=1 | bragg-intensity --quiet --threads=1 | bragg-background --quiet --stol=\$FILE --thickness=0.1 --density=1 --molecular-weight=18 | bragg-tap --count; exit \${PIPESTATUS[3]}
		bad|bad.img|bragg-replay --quiet r.rec | bragg-noise --quiet --bad-pixels=\$FILE | bragg-tap --count; exit \${PIPESTATUS[1]}
		recompute|one.nxs|bragg-replay --recompute \$FILE:0
	END
}
list >formats

# one NAME: mutates files of a format for its time; its answer is in NAME.log
one() {
	mkdir "work-$1"
	grep "^$1|" formats | {
		IFS='|' read -r name file command
		(
			cp -r n.nxs n_data_* one.nxs run.* r.rec list.hkl f.* m.mat s.* d.* p.yaml mask.img bad.img a_0.* b_0.* water.stol "work-$name" 2>/dev/null
			cd "work-$name" || exit 1
			PATH=$programs /usr/bin/python3 "$BRAGG_TESTS/full/mutate.py" "$name" "$file" "$seconds" "$seed" "$keep" "$(grep "^$name|" ../formats | cut -d'|' -f3-)"
		) >"$name.log" 2>&1
		echo $? >"$name.status"
	}
}
if [ -z "$models" ]; then
	skip 'models of atoms' 'gemmi is missing'
	grep -v '^pdb|\|^mmcif|\|^cif|' formats >fewer && mv fewer formats
fi

# --- a file that libhdf5 1.10 reads for ever: a trial has 5 s of processor time.  One way to open HDF5 files is there for
# all programs (tests/cli/hdf5.t), so that one of them tells here.  tests/long/hdf5-hang.t asks the others.
if has python:h5py; then
	bragg-replay --quiet r.rec | bragg-noise --quiet --adc-offset=0 | bragg-write --quiet --compression=gzip good.nxs
	/usr/bin/python3 "$BRAGG_TESTS/cli/hdf5_damaged.py" good.nxs
	PATH=$programs timeout 120 /bin/bash -c 'bragg-replay hang/good.nxs | cat' >/dev/null 2>said
	is 'bragg-replay hang/good.nxs: one line' "$(sed 's/^bragg-[a-z]*: //' said)" 'hang/good.nxs: corrupt (reading it crashes or does not end)'
else
	skip 'a file that libhdf5 reads for ever' "$lack is missing"
fi

[ "${MUTATE_FORMATS:-}" ] || MUTATE_FORMATS=$(cut -d'|' -f1 formats)
running=0
for name in $MUTATE_FORMATS; do
	one "$name" &
	running=$((running + 1))
	[ $((running % jobs)) = 0 ] && wait
done
wait
for name in $MUTATE_FORMATS; do
	is "$name: $(tail -n 1 "$name.log")" "$(cat "$name.status")" 0
	[ "$(cat "$name.status")" = 0 ] || complain "$(cat "$name.log")"
done
finish

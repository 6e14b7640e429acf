# More fixtures of bad-input.t, which sources this in their folder.

# Tables
printf '\377\376' > utf16.hkl; printf '1 2 3 10\n' | sed 's/./&\x00/g' >> utf16.hkl
printf '1 2 3 10\0\n' > nul.hkl
awk 'BEGIN { for (i = 0; i < 5000; i++) printf "1 "; print "" }' > long.hkl
printf '1,2,3,10\n' > comma.hkl
printf 'h k l F\n1 2 3 10\n' > head.hkl
printf '1e1 2 3 10\n' > exp.hkl
printf '1 2 3 10%s\n' "$(printf '\302\240')" > nbsp.hkl
printf '0 0 0 1 1e-10 9\n' > six.src
printf -- '-1 0 0 -1 1e-10\n' > negative.src
printf -- '-1 0 0 1 1\n' > metre.src
printf -- '-1 0 0 0 1e-10\n-1 0 0 0 1e-10\n' > dark.src
printf -- 'nan 0 0 1 1e-10\n' > nan.src
printf '1e-9 0 0\n0 1e-9 0\n0 0 1e-9\n' > small.mat
printf '100000 0 0\n0 100000 0\n0 0 100000\n' > large.mat
printf '0.01 0 0 0 0.01 0 0 0\n' > eight.mat
printf '0.01 0 0\n0 0.01 0\n0 0 0.01\nmade by hand\n' > tail.mat
printf '0,01 0 0\n0 0,01 0\n0 0 0,01\n' > comma.mat
printf '0.01 0 0 5\n0 0.01 0 5\n0 0 0.01 5\n' > twelve.mat
printf '0.01 0 0\n0 0.01 0\n0 0 0.01\n0.1 0 0\n' > misset.mat
printf -- '-0.01 0 0\n0 0.01 0\n0 0 0.01\n' > left.mat
# a whole file of MOSFLM for 0.5 A
printf '0.01 0 0\n0 0.01 0\n0 0 0.01\n0 0 0\n1 0 0\n0 1 0\n0 0 1\n50 50 50 90 90 90\n0 0 0\n' > mosflm.mat
# gamma 120: a* and b* are 60 degrees apart, and the other way round
printf '0.02 0.01 0 0 0.017320508 0 0 0 0.03\n' > hexagonal.mat
printf '0.02 -0.01 0 0 0.017320508 0 0 0 0.03\n' > sixty.mat
printf '1 0 0 0 1 0 0 0 nan\n' > nan.rot
printf '0 0 0 0\n' > zero.rot
printf '2 0 0 0\n' > unnormal.rot
printf '1 0 0 0\n1 0 0 0 1 0 0 0 1\n' > mixed.rot
printf 'hello\n' > words.rot
printf '0 2\n0.1 3 4\n' > three.stol
printf '0 2\n0 3\n' > same.stol
printf -- '-0.1 2\n0.1 3\n' > below.stol
printf '0 nan\n' > nan.stol
printf '0 2\n0.1 1e10\n' > bright.stol
printf '0\n' > one.stol
printf '# Column 1: q_A^-1\n0 2\n0.1 3\n' > q.stol
printf '# Column 1: q_nm^-1\r\n0 2\r\n0.1 3\r\n' > nm.stol
printf '\357\273\277# 2th_deg I\n\n0 2\n10 3\n' > angle.stol
printf '# F(q) of water, against sin(theta)/lambda\n0 2\n5 3\n' > function.stol

# Tables of peaks, of frames and of lattices
printf 'frame fast slow\n0 1 2\n' > fine.tsv
printf 'frame fast slow\n0 1,5 2,5\n' > comma.tsv
printf 'frame fast slow\n0 1.5 2.5 once\n' > tail.tsv
printf '0 1.5 2.5 10 3\n' > five.tsv
printf 'frame Fast Slow\n0 1.5 2.5\n' > capital.tsv
printf 'frame fast slow fast\n0 1.5 2.5 3\n' > double.tsv
printf 'frame fast\n0 1.5\n' > half.tsv
printf 'frame fast slow\n0 1.5\n' > ragged.tsv
printf 'frame fast slow\n0 nan 2\n' > nan.tsv
printf 'frame fast slow colour\n0 1 2 red\n' > colour.tsv
bragg-geometry --quiet --detpixels=8 | bragg-orient --quiet --truth=truth.tsv | bragg-tap --quiet > ignored
sed '2s/$/\tmore/' truth.tsv > more.tsv
sed '2s/0\.0169/0,0169/g' truth.tsv > decimal.tsv

# Experiment lists
expt id.expt 's/ExperimentList/Reflections/'
expt empty1.expt 's/"experiment": \[.*\],/"experiment": [],/'
expt index.expt 's/"beam": 0/"beam": 7/'
expt float.expt 's/"beam": 0/"beam": 0.5/'
expt size0.expt 's/20, 20/0, 20/'
expt sizef.expt 's/20, 20/20.5, 20/'
expt sizeh.expt 's/20, 20/1e9, 20/'
expt pixel0.expt 's/0\.1, 0\.1/0, 0/'
expt oblong.expt 's/0\.1, 0\.1/0.1, 0.2/'
expt wave0.expt 's/"wavelength": 1.0/"wavelength": 0/'
expt waven.expt 's/"wavelength": 1.0/"wavelength": -1/'
expt dir0.expt 's/0, 0, 1/0, 0, 0/'
expt parallel.expt 's/0, -1, 0/1, 0, 0/'
expt string.expt 's/"wavelength": 1.0/"wavelength": "1.0"/'
expt nopanel.expt 's/"panels": \[.*/"panels": [/'
expt dup.expt 's/"wavelength": 1.0/"wavelength": 1.0, "wavelength": 2.0/'
{ cat good.expt; echo garbage; } > tail.expt
printf '[]\n' > list.expt; printf '{}\n' > object.expt; printf 'null\n' > null.expt; printf '{"a": "\\u0000"}\n' > nul.expt
sed 's/./&\x00/g' good.expt > utf16.expt

expt allbad.expt 's/"image_size"/"mask": [[0, 0, 20, 20]], &/'
expt mostbad.expt 's/"image_size"/"mask": [[0, 0, 20, 15]], &/'

# Geometry files of CrystFEL
printf 'clen = 0.1 m\nres = 10000\na/min_fs = 0\na/max_fs = 7\na/min_ss = 0\na/max_ss = 7\na/fs = x\na/ss = y\na/corner_x = -4\na/corner_y = -4\n' > good.geom
# geom NAME SED-COMMAND: that with a change
geom() {
	sed "$2" good.geom > "$1"
}
geom res0.geom 's/10000/0/'
geom resn.geom 's/10000/-1/'
geom clen0.geom 's/0.1 m/0/'
geom clenx.geom 's/0.1 m/0.1 furlong/'
geom clenpath.geom 's/0.1 m/\/LCLS\/clen/'
geom back.geom 's/max_fs = 7/max_fs = -1/'
geom huge.geom 's/max_fs = 7/max_fs = 2147483647/'
geom flatz.geom 's/fs = x/fs = 0x/'
geom par.geom 's/ss = y/ss = x/'
geom expr.geom 's/fs = x/fs = x*y/'
geom inf.geom 's/corner_x = -4/corner_x = 1e400/'
geom half.geom2 '/max_ss/d'
geom gname.geom 's/^a\//\//'
geom energy2.geom '1i photon_energy = -9'
geom energy3.geom '1i photon_energy = 1e30'
geom maxadu.geom '1i max_adu = many'
geom adu0.geom '1i adu_per_photon = 0'
geom nopanel.geom '$a bad1/min_fs = 0\nbad1/panel = b'
geom nospan.geom '$a bad1/panel = a'
geom badspan.geom '$a bad1/min_ss = 5\nbad1/max_ss = 4'
geom mixed.geom '$a bad1/min_ss = 5\nbad1/min_x = 4'
sed 's/./&\x00/g' good.geom > utf16.geom
head -c 100000 /dev/zero | tr '\0' 'a' > line.geom

# Pipelines
printf 'stages: 3\n' > scalar.yaml
printf 'stages: []\n' > none.yaml
printf 'stages:\n' > nothing.yaml
printf -- '- name: a\n' > list.yaml
printf 'stages:\n- name: geometry\n  name: orient\n' > twonames.yaml
printf 'stages:\n- &a {name: geometry}\n- *a\n' > alias.yaml
printf 'stages:\n- *a\n' > noanchor.yaml
printf 'stages:\n- name: geometry\n  count: +2\n- name: orient\n' > plus.yaml
printf 'stages:\n- name: geometry\n- name: orient\n- name: intensity\n  count: 0\n' > count0.yaml
printf 'stages:\n- name: geometry\n- name: orient\n- name: intensity\n  count: many\n' > many.yaml
printf 'stages:\n- name: ../geometry\n- name: orient\n' > path.yaml
printf 'stages:\n- name: ""\n' > noname.yaml
printf 'stages:\n- args: [x]\n' > anonymous.yaml
printf 'stages:\n- name: geometry\n  args: [[x]]\n' > argnest.yaml
printf 'stages:\n- name: geometry\n  args: [--in=x]\n- name: orient\n' > in.yaml
printf 'stages:\n- name: geometry\n  input: nobody\n- name: orient\n' > input.yaml
printf 'stages:\n- name: geometry\n  input: geometry\n- name: orient\n' > self.yaml
printf 'stages:\n- name: geometry\0\n' > nul.yaml
printf 'stages:\n- name: ge\377ometry\n' > latin.yaml
sed 's/./&\x00/g' good.yaml > utf16.yaml
printf 'stages:\n- name: geometry\n- name: orient\n...\n---\nstages:\n- name: orient\n' > docs.yaml
printf 'stages:\n- name: "geometry\n' > quote.yaml
printf 'stages: {name: a}\n' > map.yaml
{ echo stages:; i=0; while [ $i -lt 3000 ]; do echo "- name: s$i"; i=$((i + 1)); done; } > stages.yaml
{ printf 'stages:\n- name: geometry\n  args: ['; i=0; while [ $i -lt 3000 ]; do printf 'a,'; i=$((i + 1)); done; printf 'a]\n'; } > manyargs.yaml
head -c 100000 /dev/zero | tr '\0' '{' > deepmap.yaml
printf 'stages:\n- name: geometry\n- name: orient\n  after: geometry\n' > after.yaml
smv 0 8 128 > zero.img
smv -8 8 128 > minus.img
smv 8 8 129 > odd.img
smv 4096 4096 128 > claims.img
printf '{\nHEADER_BYTES=512;\n}\n' > bare.img
printf '{\nHEADER_BYTES=99999999999;\nSIZE1=8;\nSIZE2=8;\n}\n' > header.img
# mask NAME BYTES HEADER: SMV of 8 x 8 pixels with more lines in its header, and so many bytes 001
mask() {
	printf '{\nHEADER_BYTES=512;\nSIZE1=8;\nSIZE2=8;\n%s\n}' "$3" | dd bs=512 count=1 conv=sync 2> /dev/null > "$1"
	head -c "$2" /dev/zero | tr '\0' '\1' >> "$1"
}
mask mad.img 128 'TYPE=mad;'
mask signed.img 128 'TYPE=signed_short;'
mask motorola.img 128 'BYTE_ORDER=motorola;'
mask stack.img 128 'DIM=3;'
mask pck.img 128 'COMPRESSION=PCK;'
mask wider.img 256 'BYTE_ORDER=little_endian;'
mask more.img 130 'TYPE=unsigned_short;'
mask twosizes.img 128 'SIZE2=16;'
mask pixel.img 128 'PIXEL_SIZE=0.5;BYTE_ORDER=little_endian;'
mask narrow.img 128 'TYPE=float;'
{ mask half.img 16 '' && head -c 112 /dev/zero >> half.img; }
printf '1.0\n%.0s' 1 2 3 4 5 6 7 8 9 > floats.txt
printf '\357\273\2771\r\n\r\n0\r\n 1 \r\n0,5\r' > crlf.floats
# as whole numbers of 32 bits, and as floats of the other byte order
printf '\1\0\0\0%.0s' 1 2 3 4 > whole.floats
printf '\77\200\0\0%.0s' 1 2 3 4 > big.floats
head -c 7 /dev/zero > seven.bin
head -c 256 /dev/zero > zeros.bin
{ printf x; tail -c +20 recipes.rec; } > tail.rec # not what follows: a random byte may begin another format
head -c 63 recipes.rec > header63.rec

# Files of odd names: with a line that looks like a message, in Latin 1, and so long that they would hide what is wrong
odd=$(printf 'odd\nbragg-geometry: done')
latin=$(printf 'r\366ntgen')
long=$(printf '%0200d' 0)
long=$long/$long/$long/$long
mkdir -p "$long"
export odd latin long
for name in "$odd" "$latin" "$long/x" ' a  b ' "it's \"%s\" %n" 'a:b,c=d;e' -dash '*'; do
	cp good.mtz "./$name.mtz"
	cp unique.hkl "./$name.hkl"
	cp whole.hkl "./$name.good.hkl"
	cp hexagonal.mat "./$name.mat"
	cp flat.src "./$name.src"
	cp words.rot "./$name.rot"
	cp ragged.spectra "./$name.spectra"
	cp words.stol "./$name.stol"
done

# As other systems write text
printf '\357\273\2771 2 3 10\n' > bom.hkl
printf '1 2 3 10\r\n1 2 4 20\r\n' > crlf.hkl
{ printf '\357\273\277' && cat good.geom; } > bom.geom
sed 's/$/\r/' good.geom > crlf.geom
{ printf '\357\273\277' && cat good.expt; } > bom.expt

# Much of everything
bomb='x,x,x,x,x,x,x,x,x'
{
	printf 'a: &a [%s]\n' "$bomb"
	for pair in ab bc cd de ef; do
		printf '%s: &%s [%s]\n' "${pair#?}" "${pair#?}" "$(printf '%s' "$bomb" | sed "s/x/*${pair%?}/g")"
	done
	printf 'stages: [%s]\n' "$(printf '%s' "$bomb" | sed 's/x/*f/g')"
} > bomb.yaml
{ printf 'stages:\n- name: geometry\n  args: [' && head -c 2000000 /dev/zero | tr '\0' x && printf ']\n'; } > longarg.yaml
awk 'BEGIN { for (i = 0; i < 1400; i++) printf "%*s- \n", i, "" }' > deepblock.yaml
printf 'stages:\n- name: geometry\n- name: orient\nstages:\n- name: geometry\n- name: orient\n' > twostages.yaml

# Files of another kind than the one that is asked for
printf 'HEADER    HYDROLASE                               19-MAY-97   1AKI\nCRYST1   59.062   68.451   30.517  90.00  90.00  90.00 P 21 21 21    4\n' > kind.pdb
printf '# a comment\ndata_1AKI\n#\n_entry.id 1AKI\nloop_\n_atom_site.id\n' > kind.cif
printf 'data_r1akisf\n#\nloop_\n_refln.index_h\n' > kind-sf.cif
printf '\211HDF\r\n\032\n\0\0\0\0\0\0\0\0' > kind.h5
head -c 400 /dev/zero > hundred.raw
printf '###CBF: VERSION 1.5\n\0\0' > kind.cbf
printf '{\nHEADER_BYTES=  512;\nDIM=2;\n}' > kind.img
printf 'II*\0\010\0\0\0\0\0\0\0\0\0\0\0' > kind.tif
printf '!FORMAT=XDS_ASCII    MERGE=FALSE\n' > kind.HKL
printf 'CrystFEL reflection list version 2.0\n' > crystfel.hkl
printf 'Detector: Detector\nDistance: 0.1\nPoni1: 0.1\nPoni2: 0.1\n' > kind.poni
printf '\223\331\034dials::af::reflection_table\001\0' > kind.refl
sed 's/COLUMN FC                             F/COLUMN IMEAN                          J/' good.mtz > intensities.mtz
sed 's/COLUMN FC                             F/COLUMN FC                             R/' good.mtz > factors.mtz
printf '1 2 3 10\n' | gzip -n > kind.hkl.gz

# Tables of quantities
printf 'colour\nblue\n' > colour.vary
printf 'size size\n30 30\n' > twice.vary
printf 'size\n' > title.vary
printf 'size mosaic\n30 -\n' > gaps.vary
printf 'mosaic\n1\n91\n' > large.vary
printf 'size\n30 40\n' > wide.vary
printf 'size\n20\n20\n' > two.vary
printf 'a\n79\n' > edge.vary
printf 'mosaic\n1\n2\n' > spread.vary
printf 'mosaic-rms\n0.3\n-\n' > rms.vary

#!/bin/sh
# Last stages whose result is in their memory until the end: who dies takes no frame along.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
bragg-geometry --quiet --detpixels=24 --pixel=1.2 --ncells=6 --cell=70,80,90,90,90,90 --default-F=100 --fluence=1e26 |
	bragg-orient --quiet --frames=200 --random | bragg-tap --record=recipes.rec
cat >run.yaml <<YAML
stages:
- {name: replay, args: [--rate=200, $PWD/recipes.rec]}
- {name: fisher, args: [--parameters=scale, --table=bars.tsv], input: replay}
- {name: intensity, input: replay}
- {name: tap, args: [--count, --hold=yes], input: intensity}
- {name: report, args: [--hold, page.html], input: intensity}
- {name: write, args: [f_%05d.raw], input: intensity}
YAML

# killed PROGRAM...: each in the middle of a run; what that says is in ./said
killed() {
	rm -rf out
	bragg-run --workdir=out run.yaml >said 2>&1 &
	run=$!
	soon sh -c '[ "$(ls out/f_*.raw 2>/dev/null | wc -l)" -ge 20 ]' || return 1
	for program; do pkill -KILL -P $run -x "$program"; done
	wait $run
}
result() {
	echo "$(wc -l <out/bars.tsv) $(sed -n 's/^tap| \(frames=[0-9]*\).*/\1/p' said) $(grep -c '<td>frames seen</td><td>200</td>' out/page.html)"
}
check_status 'a run that nobody disturbs' 0 bragg-run --workdir=plain run.yaml
for programs in 'bragg-fisher bragg-tap bragg-report' bragg-replay; do
	check_status "killed: $programs" 0 killed $programs
	is "started again: $programs" "$(grep -c "killed by signal 9: started again" said)" "$(echo "$programs" | wc -w)"
	is 'nothing is missing' "$(result)" '201 frames=200 1'
	check 'the numbers of the fit are the same' cmp out/bars.tsv plain/bars.tsv
done

# --- nobody would wait for frames
only() { # PROGRAM ARGS
	cat >only.yaml <<YAML
stages:
- {name: replay, args: [$PWD/recipes.rec]}
- {name: intensity}
- {name: $1, args: $2}
YAML
	bragg-run --workdir=only only.yaml
}
check_status 'a tap that only watches' 3 only tap '[--count]'
is 'a pipeline with only a passive tap is refused in one line' "$(only tap '[--count]' 2>&1)" "bragg-run: only.yaml:4: the only sink 'tap' is passive, so the run would not wait for it. Add --hold=yes"
is 'a report' "$(only report '[p.html]' 2>&1 | sed 's/.*for it. //')" 'Add --hold'
check 'one that holds' only tap '[--count, --hold=yes]'
finish

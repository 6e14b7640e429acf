# Pipelines that fail, and what bragg-run says last, for tests/cli/run-blame.t and tests/full/run-blame.t.

# pipe FRAMES LAST...: a pipeline whose noise saturates, which it says at its end, with these lines
pipe() {
	pipe_frames=$1
	shift
	cat <<-END
		stages:
		  - {name: geometry, args: [--detpixels=32, --pixel=3.2, --ncells=5, --oversample=1, --fluence=1e32]}
		  - {name: orient, args: [--frames=$pipe_frames, --random, --dead-after=2]}
		  - {name: intensity, threads: 1}
		  - {name: noise, threads: 1}
	END
	printf '  - %s\n' "$@"
}

# run OPTION...: status and message
run() {
	status=0
	timeout 30 bragg-run "$@" 2>message || status=$?
}

# blamed NAME STATUS LINE VERDICT: these are the last two lines
blamed() {
	is "$1" "$status $(tail -n 2 message)" "$2 $3
bragg-run: stage $4"
}

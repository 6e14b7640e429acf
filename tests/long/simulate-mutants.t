#!/bin/sh
# What the simulator must see: the runtime with one fault more each time, at which a seed or a plan
# of the past must fail (tests/simulate).
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
top=$(realpath "$BRAGG_TESTS/..")
build=$(dirname "$(dirname "$(dirname "$(command -v simulate)")")")
scratch
made_with() {
	make -s -C "$top" --no-print-directory --eval "made_with: ; @echo '$1'" made_with
}
compile=$(made_with '$(CC) $(CPPFLAGS) $(CFLAGS_ALL)')
link=$(made_with '$(CC) $(LDFLAGS_ALL) $(SANITIZE)')
libraries=$(made_with "\$(patsubst %,$build/lib/libbragg-%.a,stage control link wire io model codec base)")
others=$(made_with '$(LIBS_io) $(LIBS_wire) $(LIBS_stage) $(addprefix -Wl$(,)--wrap=,$(SIMULATE_WRAPPED)) -lm')

# The simulator's own parts once more: those of the build are compiled to be one with the runtime.
mkdir parts
(cd "$top" && for source in tests/simulate/*.c; do
	$compile -c "$source" -o "$OLDPWD/parts/$(basename "$source" .c).o" || exit 1
done) 2>message
is 'the simulator compiles' "$(cat message)" ''

# found WHAT FILE SED [SIMULATE OPTION]: the file of common/, edited so, is found
found() {
	sed "$3" "$top/common/$2" >mutant.c
	if cmp -s mutant.c "$top/common/$2"; then
		is "$1: there is such a line" no yes
		return
	fi
	(cd "$top" && $compile -x c -c - -o "$OLDPWD/mutant.o") <mutant.c 2>message &&
		$link -o mutant mutant.o parts/*.o -Wl,--start-group $libraries -Wl,--end-group $others 2>>message || {
		is "$1: the mutant compiles" "$(cat message)" ''
		return
	}
	status=0
	timeout 300 ./mutant "${4:---past=300}" >said 2>&1 || status=$?
	check "$1: found" test $status != 0
	note "$(grep -m 1 '^seed' said || echo "status $status")"
}
found 'the barrier does not wait for who is awaited' control/roster.c 's/ && !s->awaited//' --seeds=1:20000
found 'credit of 8 for every size' link/credit.c 's/mib > 1 && credit > 2/0/' --seeds=1:2000
found 'hello waits for a process that vanished' link/hello.c 's/p->greeted_ns && endpoint_is_network(p->endpoint)/0/'
found 'who says nothing of frames is judged by them' control/reports.c 's/ || !p->acked.count//' --seeds=1:20000
found 'an intact copy is forgotten with a damaged one' link/connect.c 's/if (!ls->run->settings.order)/if (1)/'
found 'a heartbeat is answered before hello is' link/peer_loss.c 's/ && l->to_answer && !l->lost_ns/ \&\& l->to_answer/'
found 'who dies later is waited for less' control/fence.c '/^    if (s->broken_ns)$/,+1d'
found 'the end does not wait for who has frames in memory' control/source.c 's/holdings_are_in_doubt(s, now_ns)/0/'
found 'frames that were in memory are not computed again' control/fence.c 's/p->hello.in_memory/0/'
found 'who hears nothing does not connect anew' control/member.c 's/cut || is_half_open(me, now_ns)/cut/;/^static bool is_half_open/,/^}/d'
found 'nobody says that an unheard process is dead' control/source.c '/^    check_unheard/d' --past=1000
finish

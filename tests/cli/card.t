#!/bin/sh
# Images that stay on a card between stages: the same bytes, whoever comes, dies or lies.
. "${BRAGG_TESTS:-$(dirname "$0")/..}/lib.sh"
scratch
. "${BRAGG_TESTS:-$(dirname "$0")/..}/faults.sh"

edge=200  # 160 000 bytes an image
limits='--dead-after=3 --rejoin-timeout=20 --attempts=100'
mkdir card

# expected FRAMES: the digest of the frames that flow makes
expected() {
	fresh
	teststage first --pixels=$edge | teststage source --frames="$1" | teststage make --transport=inline |
		teststage relay --transport=inline | teststage file out
	digest out
}

# paths: how often what was done to an image where, as "make card 40"
paths() {
	[ ! -e card/log ] || sort card/log | awk '{ n[$1 " " $3]++ } END { for (i in n) print i, n[i] }' | sort | paste -sd, -
}

# piped [OPTION...]: makes frames on the card, the relay has the options
piped() {
	fresh
	rm -rf card/*
	teststage first --pixels=$edge | teststage source --frames=40 | teststage make --card=card --verbose 2>errors.make |
		teststage relay --verbose "$@" 2>errors.relay | teststage file out --verbose 2>errors.file
	digest out
}

expected=$(expected 40)
is 'no card after the first one: the same files' "$(piped)" "$expected"
is 'no card after the first one: all in memory' "$(paths)" 'make memory 40'
is 'a card: the same files' "$(piped --card=card)" "$expected"
is 'a card: nothing is said' "$(cat errors.* | grep -v 'photons a frame$')" ''
check 'a card: frames stay there' sh -c "[ '$(paths)' = 'make card 40,relay card 40' ] || echo '$(paths)' | grep -qx 'make card 3.,make memory .,relay card 3.,relay memory .'"
is 'a card: nothing is left there' "$(ls card)" log
is 'with another GPU the files stay the same' "$(mkdir -p other; piped --card=other)" "$expected"
is 'with another GPU all frames stay in GPU memory' "$(paths) $(grep -c memory other/log)" 'make memory 40 40'
is 'in messages: the same files' "$(piped --card=card --transport=inline)" "$expected"
is 'in messages: all in memory' "$(paths)" 'make memory 40'
is 'in order: the same files' "$(piped --card=card --order)" "$expected"
is 'in order: all in memory' "$(paths)" 'make memory 40,relay memory 40'

fresh
rm -rf card/*
teststage first --pixels=$edge | teststage source --frames=40 | teststage make --card=card | teststage hand --card=card |
	teststage relay --card=card | teststage file out
is 'images that are only handed on: the same files' "$(digest out)" "$expected"

fresh
rm -rf card/*
touch card/no-reserve
teststage first --pixels=$edge | teststage source --frames=40 | teststage make --card=card 2>errors.make | teststage relay --card=card |
	teststage file out
is 'a full card: the same files' "$(digest out)" "$expected"
is 'a full card: one line' "$(cat errors.make)" \
	'test-make: warning: the GPU has memory for only 0 images to pass on: card: it is full'

# net MS: a maker with the card, which pauses so long, relays as the caller starts them, one sink
net() {
	fresh
	rm -rf card/*
	stage first first --pixels=$edge --out="@ipc://$d/g" &
	stage source source --in="ipc://$d/g" --out="@ipc://$d/s" --frames=150 $limits &
	stage make make --in="ipc://$d/s" --out="@ipc://$d/1" --card=card --sleep="$1" &
	stage sink file out --in="@ipc://$d/x" &
}

# reader NAME [OPTION...]: a relay after the maker
reader() {
	reader_name=$1
	shift
	stage "$reader_name" relay --in="ipc://$d/1" --out="ipc://$d/x" "$@" &
}

on_card() {
	[ -e card/log ] && [ "$(grep -c 'relay .* card' card/log)" -ge "$1" ]
}

expected=$(expected 150)

# Two relays, one of which has no card: the maker cannot know who will get an image.
net 5
reader relay1 --card=card
reader relay2
settle
is 'one of a group has no card: the same files' "$(statuses source make relay1 relay2 sink) $(digest out)" "0 0 0 0 0 $expected"

# A tap that joins gets pixels that lie on the card when it comes, and others where it reads them.
net 20
reader relay1 --card=card
soon on_card 10
stage tap tap out2 --in="ipc://$d/1" --quiet &
settle
is 'a tap joins: the same files' "$(statuses source make relay1 sink) $(digest out)" "0 0 0 0 $expected"
check 'a tap joins: from then on in memory' grep -q 'make .* memory' card/log
(cd out2 && for one in *; do awk '{ exit !($3 == 40000 * $1 + 39999 * 20000) }' "$one" || echo "$one"; done) >wrong
is 'a tap that joins gets the right pixels' "$(cat wrong)" ''
check 'a tap that joins gets frames' test "$(find out2 -type f | wc -l)" -ge 5

# The one who reads on the card dies with images there, and one without takes its place.
net 5
reader relay1 --card=card --die-at=60
soon on_card 20
while [ ! -e relay1.status ]; do sleep 0.05; done
reader relay2
settle
is 'a process without a GPU replaces one that died: the same files' "$(statuses source make relay2 sink) $(digest out)" "0 0 0 0 $expected"
check 'a process without a GPU replaces one that died: in memory' grep -q 'make .* memory' card/log

# What cannot be opened is made again, and goes through memory.
net 5
touch card/no-open
reader relay1 --card=card
settle
is 'a card that refuses: the same files' "$(statuses source make relay1 sink) $(digest out)" "0 0 0 0 $expected"
is 'a card that refuses: one line' "$(cat errors.relay1)" \
	'test-relay: warning: images of test-make cannot be read on the GPU (card: it refuses); they are copied to the memory of the host'

# lied HOW [OPTION...]: a stranger between says of frame 60 that it is on the card
lied() {
	net 5
	command relay card 60 "ipc://$d/1" "ipc://$d/2" &
	helper=$!
	stage relay1 relay --in="ipc://$d/2" --out="ipc://$d/x" "$@" &
}
lied
settle_relay
is 'a false claim to a process without a GPU is one line' "$(statuses relay1) $(cat errors.relay1)" \
	'1 test-relay: test-make sent a frame on a GPU, which this process did not request'
lied --card=card
settle_relay
is 'a name that nothing has: the same files' "$(statuses source make relay1 sink) $(digest out)" "0 0 0 0 $expected"
is 'a name that nothing has: one line' "$(cat errors.relay1)" \
	'test-relay: warning: images of test-make cannot be read on the GPU (card: no such memory); they are copied to the memory of the host'
finish

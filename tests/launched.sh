# Images that a run on several hosts leaves in a folder, for tests/full/machines.t and slurm.t.

# digest FOLDER: one sum over all of them
digest() {
	(cd "$1" && sha256sum ./*.img) | sha256sum
}

# grown FOLDER COUNT: there are so many
grown() {
	[ "$(find "$1" -name '*.img' 2>/dev/null | wc -l)" -ge "$2" ]
}

# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the scripts that make and read the kernel tree share; sourced, not run.

set -euo pipefail
# Sorted lists are compared with comm; names must not depend on the locale.
export LC_ALL=C

REPO=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
BUILD=${BUILD:-$REPO/build}
BASE_TREE=${BASE_TREE:-$BUILD/linux-base}
TREE=${TREE:-$BUILD/linux}
PATCHES=${PATCHES:-$REPO/patches/linux-6.12}

# The parts of this repository that are laid over the kernel tree.
# shellcheck disable=SC2034
OVERLAY_TOPS=(mm include arch Documentation tools)

say() { printf '  %-8s%s\n' "$1" "$2"; }
warn() { printf '%s: warning: %s\n' "${0##*/}" "$1" >&2; }
die() { printf '%s: error: %s\n' "${0##*/}" "$1" >&2; exit 1; }

# One run at a time may change the trees.
lock_trees() {
	mkdir -p "$BUILD"
	exec 9>"$BUILD/.lock"
	flock 9
}

# "6.12.117" of a kernel tree, nothing where there is none.
kernel_version() {
	[ -f "$1/Makefile" ] || return 0
	awk '/^(VERSION|PATCHLEVEL|SUBLEVEL) = / { v = v s $3; s = "."; n++ }
	     n == 3 { print v; exit }' "$1/Makefile"
}

# The prepared tree is a git repository: a commit for the base, one for the
# overlay, one per patch. These refs say what was last made of the repository:
# refs/mcpage/{base,overlay,tip}. The index of the base is kept, so that later
# runs only look at file times.
tgit() { git --git-dir="$TREE/.git" --work-tree="$TREE" "$@"; }
in_index() { GIT_INDEX_FILE=$1 tgit "${@:2}"; }

# Files of the prepared tree that neither the base nor the overlay has.
GENERATED=(.gitignore .kunit/.kunitconfig localversion-mcpage)
is_generated() { [[ " ${GENERATED[*]} " == *" $1 "* ]]; }

# The overlay: tracked files and new ones that are not ignored, one a line.
overlay_files() {
	local file

	git -C "$REPO" ls-files -co --exclude-standard -- "${OVERLAY_TOPS[@]}" |
		sort -u | while IFS= read -r file; do
			[ ! -e "$REPO/$file" ] && [ ! -L "$REPO/$file" ] || echo "$file"
		done
}

series() {
	[ ! -f "$PATCHES/series" ] || sed 's/#.*//; s/[[:space:]]*$//; /^$/d' "$PATCHES/series"
}

# Commit tree $1 on $2 (may be empty) with the message on stdin. Dates and
# committer never change, so that equal content has equal ids. The author is
# taken from the environment, where it is set.
commit_tree() {
	local date='2024-11-17T22:15:08Z' who=mcpage mail=mcpage@invalid

	GIT_AUTHOR_NAME=${GIT_AUTHOR_NAME:-$who} \
	GIT_AUTHOR_EMAIL=${GIT_AUTHOR_EMAIL:-$mail} \
	GIT_AUTHOR_DATE=$date GIT_COMMITTER_DATE=$date \
	GIT_COMMITTER_NAME=$who GIT_COMMITTER_EMAIL=$mail \
		tgit commit-tree "$1" ${2:+-p "$2"}
}

# The head of patch file $1: sets author, email, subject; body is left in $2.
read_patch_head() {
	local info

	info=$(git mailinfo -k --encoding=UTF-8 "$2" /dev/null <"$1")
	author=$(sed -n 's/^Author: //p' <<<"$info")
	email=$(sed -n 's/^Email: //p' <<<"$info")
	subject=$(sed -n 's/^Subject: //p' <<<"$info")
	if [ -z "$author" ] || [ -z "$email" ] || [ -z "$subject" ]; then
		die "${1##*/} does not begin with From: NAME <MAIL> and Subject:"
	fi
}

# Scratch directory of the scripts that need one.
tmp=

# Say why a patch does not apply to the index $2.
explain_failure() {
	local patch=$1 index=$2 dir=$tmp/reject

	echo "${patch##*/}:" >&2
	sed 's/^/  /' "$tmp/errors" >&2
	rm -rf "$dir"
	mkdir -p "$dir"
	git apply --numstat "$patch" 2>/dev/null | cut -f3 |
		in_index "$index" checkout-index -q --prefix="$dir/" --stdin 2>/dev/null || :
	if (cd "$dir" && patch -p1 -f -s -F2 --dry-run) <"$patch" >/dev/null 2>&1; then
		die "${patch##*/} applies only with fuzz: its context has changed"
	fi
	die "${patch##*/} is rejected: what it changes has changed"
}

# apply_diff PATCH INDEX: zero fuzz; lines may have moved.
apply_diff() {
	in_index "$2" apply --cached --whitespace=nowarn "$1" 2>"$tmp/errors"
}

# apply_series OVERLAY_COMMIT: the commits of the series on it; sets tip.
apply_series() {
	local name patch index=$tmp/series.index subjects=$'\n' author email subject summary

	tip=$1
	in_index "$index" read-tree "$tip"
	while IFS= read -r name; do
		patch=$PATCHES/$name
		[ -f "$patch" ] || die "series names $name, which does not exist"
		read_patch_head "$patch" "$tmp/body"
		[[ $subjects != *$'\n'"$subject"$'\n'* ]] ||
			die "$name: another patch has the subject '$subject'"
		subjects+=$subject$'\n'
		summary=$(git apply --summary "$patch" 2>&1) || die "$name: $summary"
		[ -z "$summary" ] ||
			die "$name may only change files, new ones belong to the overlay:$summary"
		apply_diff "$patch" "$index" || explain_failure "$patch" "$index"
		tip=$({ echo "$subject"; echo; cat "$tmp/body"; } |
			GIT_AUTHOR_NAME=$author GIT_AUTHOR_EMAIL=$email \
				commit_tree "$(in_index "$index" write-tree)" "$tip")
	done < <(series)
	git --git-dir="$TREE/.git" diff --name-only "$1" "$tip" >"$tmp/patched"
}

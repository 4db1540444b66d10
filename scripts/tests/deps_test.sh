#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What scripts/deps does about missing packages, with commands of its own.
# Single quotes are for these commands.
# shellcheck disable=SC2016
# shellcheck source=tap.sh
. "$(dirname "$0")/tap.sh"

deps() { "$top/scripts/deps" "$@"; }

# fake NAME <<SCRIPT
fake() {
	{ echo '#!/bin/bash'; cat; } >"bin/$1"
	chmod +x "bin/$1"
}

# Packages in ./installed are there; apt-get install adds to it.
setup() {
	unset DEPS
	mkdir bin
	export PATH=$PWD/bin:$PATH FAKE=$PWD
	deps --print tree >installed
	fake dpkg-query <<-'EOF'
		status=0
		for name in "${@:4}"; do
			grep -qx "$name" $FAKE/installed && echo "installed $name" || status=1
		done
		exit $status
	EOF
	fake apt-get <<-'EOF'
		echo "$*" >>$FAKE/calls
		case $* in
		*update*) touch $FAKE/updated ;;
		*install*)
			[ ! -e $FAKE/stale ] || [ -e $FAKE/updated ] || exit 100
			printf '%s\n' "${@:5}" >>$FAKE/installed ;;
		esac
	EOF
	fake id <<<'echo ${FAKE_UID:-0}'
	fake sudo <<<'exit 1'
}

t_nothing_missing() {
	setup
	deps tree >output 2>&1
	same "$(cat output)" ""
	[ ! -e calls ]
}

t_root_installs() {
	setup
	sed -i '/^rsync$/d; /^git$/d' installed
	deps tree
	same "$(cat calls)" '-q -y --no-install-recommends install git rsync'
	deps tree
	same "$(wc -l <calls)" 1
}

t_stale_lists() {
	setup
	touch stale
	sed -i '/^rsync$/d' installed
	deps tree
	same "$(wc -l <calls)" 3
	grep -qx rsync installed
}

t_sudo_installs() {
	setup
	export FAKE_UID=1000
	fake sudo <<<'echo "$*" >>$FAKE/sudo; shift; exec "$@"'
	sed -i '/^rsync$/d' installed
	deps tree
	grep -q '^-n env DEBIAN_FRONTEND=noninteractive apt-get .* install rsync$' sudo
	grep -qx rsync installed
}

t_neither() {
	setup
	export FAKE_UID=1000
	sed -i '/^rsync$/d; /^git$/d' installed
	fails deps tree
	same "$(cat output)" 'deps: error: run first: sudo apt-get install git rsync'
	[ ! -e calls ]
	DEPS=no deps tree
}

t_purposes() {
	setup
	fails deps nothing
	says 'no such purpose: nothing'
	fails deps
	# Each package once, whatever the purposes share.
	same "$(deps --print tree kernel | sort | uniq -d)" ""
}

run_tests

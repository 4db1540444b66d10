#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# scripts/fetch-mainline, with an apt of its own that has toy kernels.
# Single quotes are for that apt.
# shellcheck disable=SC2016
# shellcheck source=tap.sh
. "$(dirname "$0")/tap.sh"

# The private apt must be asked for everything but the mirrors.
fake_apt() {
	mkdir -p bin debs
	cat >bin/apt-get <<-'EOS'
		#!/bin/bash
		for last; do :; done
		case $* in
		*no-release-info*) cat "$FAKE/main" ;;
		indextargets*) cat "$FAKE/debian" ;;
		*Dir::State::lists=*' update')
			cat "$FAKE"/build/apt-mainline/sources.list >>"$FAKE/updates"
			grep -qv broken "$FAKE/build/apt-mainline/sources.list" ;;
		*Dir::State::lists=*download*)
			echo "$last" >>"$FAKE/downloads"
			cp "$FAKE/debs/${last%%=*}_${last#*=}_all.deb" . ;;
		*) exit 100 ;;
		esac
	EOS
	cat >bin/apt-cache <<-'EOS'
		#!/bin/bash
		for last; do :; done
		case $* in
		*Dir::State::lists=*search*)
			cut -d' ' -f1 "$FAKE/offered" | sort -u | sed 's/$/ - Linux kernel source/' ;;
		*Dir::State::lists=*madison*)
			sed 's/ / | /; s/$/ | http:\/\/mirror suite\/main amd64 Packages/; s/^/ /' \
				"$FAKE/offered" ;;
		*) exit 100 ;;
		esac
	EOS
	chmod +x bin/*
	echo http://mirror/debian/ >debian
	: >main
	: >offered
	export FAKE=$PWD PATH=$PWD/bin:$PATH BUILD=$PWD/build
}

# offer N.M VERSION: that there is such a package.
offer() {
	mkdir -p k d/DEBIAN d/usr/src
	printf '%s\n' "VERSION = ${1%.*}" "PATCHLEVEL = ${1#*.}" 'SUBLEVEL = 9' >k/Makefile
	tar -cJf "d/usr/src/linux-source-$1.tar.xz" --transform "s|^k|linux-source-$1|" k
	printf '%s\n' "Package: linux-source-$1" "Version: $2" 'Architecture: all' \
		'Maintainer: Tester <tester@example.org>' 'Description: toy' >d/DEBIAN/control
	dpkg-deb -b d "debs/linux-source-$1_$2_all.deb" >/dev/null
	rm -r d k
	echo "linux-source-$1 $2" >>offered
}

fetch() { "$top/scripts/fetch-mainline" >output 2>&1; }

# Status 3 and one sentence that has TEXT, not "error".
not_reached() {
	local status=0

	fetch || status=$?
	same "$status" 3
	says "the newest kernel source cannot be reached: $1"
	[ ! -e build/linux-mainline.stamp ]
}

t_newest() {
	fake_apt
	offer 7.9 7.9.9-1~bpo13+1
	offer 7.10 7.10.9-1~bpo13+1
	offer 7.10 7.10.9-2~bpo13+1
	offer 6.12 6.12.99-1~bpo13+1
	fetch
	same "$(head -3 build/linux-mainline.stamp)" 'request=trixie-backports newest
version=7.10.9-2~bpo13+1
package=linux-source-7.10'
	same "$(head -2 build/linux-mainline/Makefile | tail -1)" 'PATCHLEVEL = 10'
	same "$(sed 's/signed-by=[^]]*/signed-by=/' updates)" \
		'deb [signed-by=] http://mirror/debian/ trixie-backports main'
	same "$(cd build && ls -d linux* dl/*)" 'dl/linux-source-7.10_7.10.9-2~bpo13+1_all.deb
linux-mainline
linux-mainline.stamp'
}

t_what_is_there_is_kept() {
	fake_apt
	offer 7.9 7.9.9-1
	fetch
	offer 7.10 7.10.9-1
	fetch
	same "$(cat output)" ""
	same "$(cat downloads)" linux-source-7.9=7.9.9-1
	rm build/linux-mainline.stamp
	fetch
	grep -q '^version=7.10.9-1' build/linux-mainline.stamp
	# The package is there already.
	rm build/linux-mainline.stamp
	fetch
	same "$(wc -l <downloads)" 2
}

t_without_lists() {
	fake_apt
	offer 7.9 7.9.9-1
	: >debian
	printf '%s\n' 'x-security http://security/' 'x cdrom:[x]/' 'x http://broken/' \
		'x http://mirror/' 'x-updates http://mirror/' >main
	fetch
	same "$(sed 's/.*\] //' updates)" 'http://broken/ trixie-backports main
http://mirror/ trixie-backports main'
}

t_not_reached() {
	fake_apt
	not_reached 'there is no linux-source in trixie-backports at http://mirror/debian/'
	offer 7.9 7.9.9-1
	echo http://broken/ >debian
	not_reached 'there is no linux-source in trixie-backports at http://broken/'
	: >debian
	not_reached 'apt knows of no Debian mirror'
	echo http://mirror/debian/ >debian
	rm debs/*
	not_reached 'linux-source-7.9 7.9.9-1 could not be downloaded'
	same "$(ls build/dl)" ""
}

t_broken_package() {
	fake_apt
	offer 7.9 7.9.9-1
	echo x >debs/linux-source-7.9_7.9.9-1_all.deb
	fails "$top/scripts/fetch-mainline"
	says 'linux-source-7.9_7.9.9-1_all.deb is broken; remove it and try again'
	[ ! -e build/linux-mainline.stamp ]
}

run_tests

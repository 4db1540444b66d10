#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The way from overlay and series to a kernel tree and back, on a toy kernel.
# shellcheck source=tap.sh
. "$(dirname "$0")/tap.sh"

# The scripts with a toy overlay and series: a git repository in ./p, and a
# toy kernel in ./k.
setup() {
	local i

	rm -rf k p
	mkdir -p k/mm k/kernel k/arch/x86 p/mm/mcpage p/patches/linux-6.12
	printf '%s\n' '# SPDX' 'VERSION = 6' 'PATCHLEVEL = 12' 'SUBLEVEL = 99' \
		'EXTRAVERSION =' >k/Makefile
	printf '%s\n' '.*' '*.o' '/*' '!/debian/' >k/.gitignore
	for i in mm/memory.c mm/vma.c kernel/sys.c arch/x86/head.S; do
		seq -f "$i line %g" 60 >"k/$i"
	done
	ln -s memory.c k/mm/link.c

	cp -r "$top/scripts" "$top/Makefile" "$top/.gitignore" p/
	rm -rf p/scripts/tests p/scripts/kernel.mk p/scripts/test.mk
	touch p/scripts/kernel.mk p/scripts/test.mk
	echo 'int toy;' >p/mm/mcpage/toy.c
	echo 'CONFIG_TOY=y' >p/mm/mcpage/.kunitconfig
	make_patch one mm/memory.c 10 >p/patches/linux-6.12/one.patch
	make_patch two mm/memory.c 40 mm/vma.c 5 >p/patches/linux-6.12/two.patch
	make_patch three kernel/sys.c 50 >p/patches/linux-6.12/three.patch
	printf '%s\n' '# a comment' one.patch two.patch three.patch \
		>p/patches/linux-6.12/series
	git -C p init -q -b main
	git -C p add -A
	git -C p commit -qm start
	export KERNEL_SRC=$PWD/k DEPS=no
	tree=p/build/linux
}

# make_patch NAME FILE LINE...: it adds a line after each.
make_patch() {
	local name=$1

	printf '%s\n' "From: Ä Dev <dev@example.org>" "Subject: toy: add $name" '' \
		"Because of $name." '' 'Second paragraph.' ''
	shift
	while [ $# -gt 0 ]; do
		printf '%s\n' "diff --git a/$1 b/$1" "--- a/$1" "+++ b/$1" \
			"@@ -$(($2 - 2)),6 +$(($2 - 2)),7 @@"
		seq -f " $1 line %g" $(($2 - 2)) "$2"
		echo "+$1 hook $name"
		seq -f " $1 line %g" $(($2 + 1)) $(($2 + 3))
		shift 2
	done
}

# The same, with the patches in the format that refresh writes.
setup_canonical() {
	setup
	run tree
	run refresh ALL=1
	git -C p commit -qam canonical
}

run() { make -s -C p "$@"; }
log() { git -C "$tree" log --reverse --format=%s; }
repo_clean() { same "$(git -C p status --short)" ""; }
edit() { sed -i "$1" "$tree/$2"; }
append() { echo "$1" >>"$tree/$2"; }

t_tree() {
	setup
	run tree
	same "$(log)" $'Linux 6.12.99\nmcpage: overlay\ntoy: add one\ntoy: add two\ntoy: add three'
	same "$(cat $tree/localversion-mcpage)" -mcpage
	cmp p/mm/mcpage/.kunitconfig $tree/.kunit/.kunitconfig
	cmp p/mm/mcpage/.kunitconfig $tree/mm/mcpage/.kunitconfig
	cmp p/mm/mcpage/toy.c $tree/mm/mcpage/toy.c
	[ -L $tree/mm/link.c ]
	grep -q '^mm/memory.c hook one' $tree/mm/memory.c
	diff -r k p/build/linux-base
	same "$(git -C "$tree" status --short)" ""
	# The author is the patch's, and the kernel's version gets no "+".
	same "$(git -C "$tree" log -1 --format='%an %ae%n%b')" $'Ä Dev dev@example.org\nBecause of three.\n\nSecond paragraph.'
	same "$(git -C "$tree" describe --exact-match)" mcpage
	repo_clean
}

t_same_ids_every_time() {
	local first

	setup
	run tree
	first=$(git -C "$tree" rev-parse HEAD)
	rm -rf p/build
	run tree
	same "$(git -C "$tree" rev-parse HEAD)" "$first"
}

t_empty_series() {
	setup
	rm -r p/patches/linux-6.12
	run tree
	same "$(log)" $'Linux 6.12.99\nmcpage: overlay'
	run refresh
	[ ! -d p/patches/linux-6.12 ] || same "$(ls -A p/patches/linux-6.12)" ""
}

t_second_run_does_nothing() {
	setup
	run tree
	touch -d '2 hours ago' stamp
	find p/build/linux p/build/linux-base -name .git -prune -o -type f -print0 |
		xargs -0 touch -h -r stamp
	run tree >output
	same "$(cat output)" ""
	same "$(find p/build/linux p/build/linux-base -name .git -prune -o -type f -newer stamp -print)" ""
}

t_only_changed_files_are_written() {
	setup
	run tree
	touch -d '2 hours ago' stamp
	find p/build/linux -name .git -prune -o -type f -print0 | xargs -0 touch -r stamp
	echo 'int more;' >>p/mm/mcpage/toy.c
	make_patch three kernel/sys.c 20 >p/patches/linux-6.12/three.patch
	run tree
	same "$(cd p/build/linux; find . -name .git -prune -o -type f -newer ../../../stamp -print | sort)" \
		$'./kernel/sys.c\n./mm/mcpage/toy.c'
}

t_overlay_leaves_out_build_products() {
	setup
	echo '*.bin' >>p/.gitignore
	touch p/mm/mcpage/toy.o p/mm/mcpage/a.bin p/mm/mcpage/new.c
	run tree
	same "$(ls $tree/mm/mcpage)" $'new.c\ntoy.c'
	rm p/mm/mcpage/new.c
	git -C p rm -q --cached mm/mcpage/toy.c
	rm p/mm/mcpage/toy.c
	run tree
	[ ! -e $tree/mm/mcpage/toy.c ]
	[ ! -e $tree/mm/mcpage/new.c ]
}

t_overlay_file_in_base() {
	setup
	mkdir -p p/arch/x86
	cp k/arch/x86/head.S p/arch/x86/
	fails run tree
	says 'the base already has: arch/x86/head.S'
}

t_overlay_file_where_base_has_a_directory() {
	setup
	mkdir p/arch
	touch p/arch/x86
	fails run tree
	says 'the base already has: arch/x86'
}

t_overlay_directory_where_base_has_a_file() {
	setup
	mkdir -p p/mm/vma.c
	touch p/mm/vma.c/x.c
	fails run tree
	says 'the base already has: mm/vma.c'
}

t_offset_is_no_fuzz() {
	setup
	sed -i '1i one\ntwo' k/mm/memory.c
	run tree
}

t_fuzz() {
	setup
	sed -i 's/line 8$/line eight/' k/mm/memory.c
	fails run tree
	says 'one.patch applies only with fuzz'
}

t_reject() {
	setup
	sed -i 's/line \(49\|50\|51\)$/LINE/' k/kernel/sys.c
	fails run tree
	says 'three.patch is rejected'
}

t_missing_patch() {
	setup
	echo four.patch >>p/patches/linux-6.12/series
	fails run tree
	says 'series names four.patch, which does not exist'
}

t_patch_without_head() {
	setup
	sed -i 1,2d p/patches/linux-6.12/one.patch
	fails run tree
	says 'one.patch does not begin with From:'
}

t_patch_that_creates_a_file() {
	setup
	printf '%s\n' 'diff --git a/mm/x.c b/mm/x.c' 'new file mode 100644' '--- /dev/null' \
		'+++ b/mm/x.c' '@@ -0,0 +1 @@' '+int x;' >>p/patches/linux-6.12/one.patch
	fails run tree
	says 'new ones belong to the overlay'
}

t_not_6_12() {
	setup
	sed -i 's/PATCHLEVEL = 12/PATCHLEVEL = 13/' k/Makefile
	fails run tree
	says 'Linux 6.13.99; the series is for 6.12.y'
	rm k/Makefile
	fails run tree
	says 'is not a kernel source'
	fails run tree KERNEL_SRC= KERNEL_VERSION=6.6.1
	says 'the series is for 6.12.y'
	fails run tree KERNEL_SRC="$PWD/nothing"
	says 'no such file or directory'
}

t_built_source() {
	setup
	touch k/.config
	fails run tree
	says "run 'make mrproper' there"
}

t_git_source() {
	setup
	git -C k init -q
	git -C k add -f .
	touch k/vmlinux
	run tree
	[ ! -e p/build/linux-base/vmlinux ]
	[ -L p/build/linux-base/mm/link.c ]
	[ ! -e p/build/linux-base/.git ]
}

t_tarball() {
	local sha

	setup
	mv k linux-6.12.99
	tar -cJf k.tar.xz linux-6.12.99
	run tree KERNEL_SRC="$PWD/k.tar.xz"
	diff -r linux-6.12.99 p/build/linux-base
	run tree KERNEL_SRC="$PWD/k.tar.xz" >output
	same "$(cat output)" ""

	head -c 200 k.tar.xz >broken.tar.xz
	fails run tree KERNEL_SRC="$PWD/broken.tar.xz"
	says 'broken.tar.xz is broken'

	sha=$(sha256sum <k.tar.xz | cut -d' ' -f1)
	echo "6.12.99 tarball $sha" >p/patches/linux-6.12/kernel.pin
	run tree KERNEL_SRC="$PWD/k.tar.xz"
	echo "6.12.99 tarball ${sha//[0-9]/0}" >p/patches/linux-6.12/kernel.pin
	fails run tree KERNEL_SRC="$PWD/k.tar.xz"
	says 'is not what the series was tested with'
}

t_untested_version() {
	setup
	printf '%s\n' '6.12.5-1 linux-source-6.12 0' '6.12.7-1~deb12u1 linux-source-6.12 0' \
		>p/patches/linux-6.12/kernel.pin
	run tree >output 2>&1
	says 'was not tested with 6.12.99, but with: 6.12.5-1 6.12.7-1~deb12u1'
	echo '6.12.99-2 linux-source-6.12 0' >>p/patches/linux-6.12/kernel.pin
	run tree >output 2>&1
	fails says 'not tested'
}

# An apt that offers two versions, made from the toy kernel.
fake_apt() {
	local version

	mkdir -p bin debs
	for version in 6.12.99-1 6.12.98-1~deb12u1; do
		mkdir -p d/DEBIAN d/usr/src
		sed -i "s/^SUBLEVEL.*/SUBLEVEL = ${version:5:2}/" k/Makefile
		tar -cJf d/usr/src/linux-source-6.12.tar.xz --transform 's|^k|linux-source-6.12|' k
		printf '%s\n' 'Package: linux-source-6.12' "Version: $version" \
			'Architecture: all' 'Maintainer: Tester <tester@example.org>' \
			'Description: toy' >d/DEBIAN/control
		dpkg-deb -b d "debs/linux-source-6.12_${version}_all.deb" >/dev/null
		rm -r d
	done
	cat >bin/apt-cache <<'EOF'
#!/bin/sh
echo 'linux-source-6.12 | 6.12.98-1~deb12u1 | http://mirror suite/main amd64 Packages'
echo 'linux-source-6.12 | 6.12.99-1 | http://mirror suite/main amd64 Packages'
EOF
	cat >bin/apt-get <<'EOF'
#!/bin/sh
echo "$*" >>"$FAKE/calls"
for last; do :; done
case $* in
*download*) cp "$FAKE/debs/linux-source-6.12_${last#*=}_all.deb" . ;;
esac
EOF
	chmod +x bin/*
	export FAKE=$PWD PATH=$PWD/bin:$PATH KERNEL_SRC=
}

t_debian_source() {
	setup
	fake_apt
	run tree
	same "$(log | head -1)" 'Linux 6.12.99'
	same "$(wc -l <calls)" 1
	run tree >output
	same "$(cat output)" ""
	same "$(wc -l <calls)" 1
	run tree KERNEL_VERSION=6.12.98
	same "$(log | head -1)" 'Linux 6.12.98'
	fails run tree KERNEL_VERSION=6.12.9
	says 'there are: 6.12.99-1 6.12.98-1~deb12u1'
	# Both are here now: no network any more.
	run tree
	same "$(log | head -1)" 'Linux 6.12.99'
	same "$(wc -l <calls)" 2
	same "$(find p/build/dl -mindepth 1 -not -name '*.deb')" ""
}

t_debian_download_fails() {
	setup
	fake_apt
	rm debs/*99*
	fails run tree
	says 'cannot fetch linux-source-6.12 6.12.99-1'
	# Lists were refreshed between the two tries.
	same "$(grep -c update calls)" 1
}

t_debian_broken_package() {
	setup
	fake_apt
	head -c 300 debs/linux-source-6.12_6.12.99-1_all.deb >x
	mv x debs/linux-source-6.12_6.12.99-1_all.deb
	fails run tree
	says '6.12.99-1_all.deb is broken; remove it and try again'
	rm p/build/dl/*
	fails run tree
	says 'is broken'
}

t_debian_other_hash() {
	setup
	fake_apt
	echo '6.12.99-1 linux-source-6.12 0123' >p/patches/linux-6.12/kernel.pin
	fails run tree
	says 'kernel.pin says 0123'
	[ ! -d p/build/linux-base ]
}

t_versions() {
	setup
	fake_apt
	run tree-versions >output
	same "$(cut -c1-16 output)" $'OK   6.12.99-1 l\nOK   6.12.98-1~d'
	[ ! -e p/build/versions ]
	# Only the older one lacks what the patch changes.
	sed -i '/line 50$/d' k/kernel/sys.c
	fake_apt
	cp debs/linux-source-6.12_6.12.99-1_all.deb keep
	fails run tree-versions
	says 'FAIL 6.12.98-1~deb12u1'
	says 'three.patch is rejected'
}

t_base_change_updates_the_tree() {
	setup
	run tree
	sed -i 's/SUBLEVEL = 99/SUBLEVEL = 100/' k/Makefile
	touch -d 2020-01-01 k/Makefile stamp
	run tree
	same "$(log | head -1)" 'Linux 6.12.100'
	grep -q 'SUBLEVEL = 100' $tree/Makefile
	# An old time in the source must not hide the change from a build.
	[ p/build/linux-base/Makefile -nt stamp ]
}

t_edited_base() {
	setup
	fake_apt
	run tree
	echo x >>p/build/linux-base/mm/vma.c
	fails run tree
	says 'linux-base was edited'
}

t_edits_are_not_lost() {
	setup
	run tree
	append 'int edit;' mm/mcpage/toy.c
	run tree
	echo 'int more;' >>p/mm/mcpage/toy.c
	fails run tree
	says "run 'make refresh'"
	grep -q 'int edit' $tree/mm/mcpage/toy.c
	# An edit that is not in the way stays where it is.
	git -C p checkout -q mm/mcpage/toy.c
	make_patch three kernel/sys.c 20 >p/patches/linux-6.12/three.patch
	run tree
	grep -q 'int edit' $tree/mm/mcpage/toy.c
	run tree FORCE=1
	cmp p/mm/mcpage/toy.c $tree/mm/mcpage/toy.c
	git -C "$tree" show refs/mcpage/saved:mm/mcpage/toy.c | grep -q 'int edit'
}

t_commits_are_not_lost() {
	local commit

	setup
	run tree
	append 'x' mm/vma.c
	git -C "$tree" commit -qam mine
	commit=$(git -C "$tree" rev-parse HEAD)
	run tree
	echo 'int more;' >>p/mm/mcpage/toy.c
	fails run tree
	says "run 'make refresh'"
	run tree FORCE=1
	git -C "$tree" merge-base --is-ancestor "$commit" refs/mcpage/saved
}

t_new_file_is_not_overwritten() {
	setup
	run tree
	echo tree >$tree/mm/mcpage/new.c
	echo repo >p/mm/mcpage/new.c
	fails run tree
	same "$(cat $tree/mm/mcpage/new.c)" tree
}

t_refresh_without_edits() {
	setup
	run tree
	run refresh
	repo_clean
	setup_canonical
	run refresh ALL=1
	repo_clean
	same "$(log | wc -l)" 5
	# Nor on another base, where the lines have moved.
	sed -i '1i one\ntwo' k/mm/memory.c
	run tree
	run refresh
	repo_clean
	run refresh ALL=1
	same "$(git -C p status --short | wc -l)" 2
}

t_refresh_overlay() {
	setup
	run tree
	append 'int edit;' mm/mcpage/toy.c
	chmod +x $tree/mm/mcpage/toy.c
	mkdir -p $tree/mm/mcpage/tests
	echo 'int new;' >$tree/mm/mcpage/tests/new.c
	touch $tree/mm/mcpage/new.o
	rm $tree/mm/mcpage/.kunitconfig
	touch -d '2 hours ago' $tree/mm/mcpage/toy.c
	run refresh
	same "$(git -C p status --short -uall | sort)" \
		$' D mm/mcpage/.kunitconfig\n M mm/mcpage/toy.c\n?? mm/mcpage/tests/new.c'
	[ -x p/mm/mcpage/toy.c ]
	same "$(git -C "$tree" status --short)" ""
	# The file was right already, so it is not written again.
	[ $tree/mm/mcpage/toy.c -ot k/Makefile ]
	run tree >output
	same "$(cat output)" ""
}

t_refresh_new_file_beside_base_files() {
	setup
	run tree
	echo 'int new;' >$tree/arch/x86/toy.c
	run refresh >output 2>&1
	says 'arch/x86/toy.c is new and left out'
	repo_clean
	git -C "$tree" add arch/x86/toy.c
	run refresh
	same "$(git -C p status --short -uall)" '?? arch/x86/toy.c'
	git -C p add -A
	echo 'int new;' >$tree/kernel/toy.c
	git -C "$tree" add kernel/toy.c
	fails run refresh
	says 'kernel/toy.c is new, but not below'
}

t_refresh_edit_of_one_patch() {
	setup_canonical
	edit 's/hook three/hook 3/' kernel/sys.c
	run refresh
	same "$(git -C p status --short)" ' M patches/linux-6.12/three.patch'
	same "$(git -C p diff --numstat)" $'1\t1\tpatches/linux-6.12/three.patch'
	same "$(git -C "$tree" status --short)" ""
	grep -q 'hook 3' $tree/kernel/sys.c
}

t_refresh_edit_of_many_patches() {
	setup_canonical
	edit 's/hook one/hook 1/' mm/memory.c
	fails run refresh
	says 'several patches touch it'
	says 'toy: add one; '
	says 'toy: add two; '
	repo_clean
	grep -q 'hook 1' $tree/mm/memory.c
	git -C "$tree" commit -qa --fixup=':/toy: add one'
	run refresh
	same "$(git -C p diff --numstat)" $'1\t1\tpatches/linux-6.12/one.patch'
	same "$(log | wc -l)" 5
}

t_refresh_edit_of_no_patch() {
	setup
	run tree
	edit '3a new' arch/x86/head.S
	fails run refresh
	says 'arch/x86/head.S: no patch touches it'
	git -C "$tree" commit -qam $'toy: Add (four), and\n\nBody.'
	run refresh
	same "$(git -C p status --short)" $' M patches/linux-6.12/series\n?? patches/linux-6.12/toy-add-four-and.patch'
	same "$(head -4 p/patches/linux-6.12/toy-add-four-and.patch)" \
		$'From: Tester <tester@example.org>\nSubject: toy: Add (four), and\n\nBody.'
	same "$(tail -1 p/patches/linux-6.12/series)" toy-add-four-and.patch
	same "$(head -1 p/patches/linux-6.12/series)" '# a comment'
}

t_refresh_edit_that_does_not_fit() {
	setup
	run tree
	edit 's/hook two/hook 2/' mm/memory.c
	git -C "$tree" commit -qa --fixup=':/toy: add one'
	fails run refresh
	says "does not fit into 'toy: add one'"
	repo_clean
}

t_refresh_rebased() {
	setup
	run tree
	GIT_SEQUENCE_EDITOR='sed -i "/two/d"' git -C "$tree" rebase -q -i refs/mcpage/overlay
	git -C "$tree" commit -q --amend -m 'toy: add three better'
	run refresh
	same "$(git -C p status --short)" $' M patches/linux-6.12/series\n D patches/linux-6.12/three.patch\n D patches/linux-6.12/two.patch\n?? patches/linux-6.12/toy-add-three-better.patch'
	same "$(log | tail -2)" $'toy: add one\ntoy: add three better'
}

t_refresh_mixed_commit() {
	setup_canonical
	edit 's/hook three/hook 3/' kernel/sys.c
	append 'int edit;' mm/mcpage/toy.c
	git -C "$tree" commit -qa --fixup=':/toy: add three'
	append 'int again;' mm/mcpage/toy.c
	run refresh
	same "$(git -C p diff --numstat)" $'2\t0\tmm/mcpage/toy.c\n1\t1\tpatches/linux-6.12/three.patch'
	same "$(log | wc -l)" 5
}

t_refresh_conflicts() {
	setup
	run tree
	append 'int edit;' mm/mcpage/toy.c
	echo 'int more;' >>p/mm/mcpage/toy.c
	fails run refresh
	says 'changed in the tree and in the repository: mm/mcpage/toy.c'
	git -C p checkout -q mm/mcpage/toy.c
	edit 's/hook three/hook 3/' kernel/sys.c
	make_patch three kernel/sys.c 20 >p/patches/linux-6.12/three.patch
	fails run refresh
	says 'patches were changed in the tree and in the repository'
}

t_refresh_takes_new_files_of_the_repository() {
	setup
	run tree
	append 'int edit;' mm/mcpage/toy.c
	echo 'int b;' >p/mm/mcpage/b.c
	make_patch three kernel/sys.c 20 >p/patches/linux-6.12/three.patch
	run refresh
	cmp p/mm/mcpage/toy.c $tree/mm/mcpage/toy.c
	cmp p/mm/mcpage/b.c $tree/mm/mcpage/b.c
	same "$(git -C "$tree" status --short)" ""
	same "$(git -C p diff --name-only)" $'mm/mcpage/toy.c\npatches/linux-6.12/three.patch'
}

t_refresh_leaves_local_kunitconfig() {
	setup
	run tree
	echo CONFIG_MINE=y >>$tree/.kunit/.kunitconfig
	append 'int edit;' mm/mcpage/toy.c
	run refresh
	grep -q MINE $tree/.kunit/.kunitconfig
	same "$(git -C p diff --name-only)" mm/mcpage/toy.c
}

# What refresh writes must be fit for others' tools.
t_patches_apply_elsewhere() {
	setup
	run tree
	run refresh ALL=1
	git -C k init -q
	git -C k add -Af .
	git -C k commit -qm base
	for how in "git am -q" "git apply" "patch -s -p1 -F0 -i"; do
		sed '/^#/d' p/patches/linux-6.12/series | while read -r name; do
			(cd k && $how "../p/patches/linux-6.12/$name" </dev/null)
		done
		diff -r -x .git -x .gitignore -x mcpage -x '*mcpage' -x .kunit k $tree
		git -C k reset -q --hard ':/^base'
	done
	grep -c '^index ' p/patches/linux-6.12/*.patch && return 1
	return 0
}

t_hook_lines() {
	setup
	printf '%s\n' 'diff --git a/MAINTAINERS b/MAINTAINERS' '--- a/MAINTAINERS' \
		'+++ b/MAINTAINERS' '@@ -1 +1,3 @@' ' x' '+a' '+b' >>p/patches/linux-6.12/three.patch
	same "$(run hook-lines | tr -s ' ' | tail -2)" $'three.patch 1 3\ntotal 4 6'
}

run_tests

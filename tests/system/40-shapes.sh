#!/bin/sh
# SPDX-License-Identifier: ISC
# Projects of every shape: what may be declared is there, with the rights that it was declared with;
# what is excluded or hidden is not; what cannot be served is refused with a reason; and nothing is
# ever written into a project to build the view.
. "$(dirname "$0")/../lib/session.sh"

role=agentcell-worker
home=/home/dev
git config --system init.defaultBranch main
git config --system protocol.file.allow always
printf '[core]\n\tpager = evil\n[user]\n\tname = "Dev \\"D\\" Eloper" ; me\n\temail = dev@example.org\n' >$home/.gitconfig

# Places that the sandbox leaves as the machine has them.
for place in srv opt; do
	mkdir "/home/.$place" && mount --bind "/home/.$place" "/$place" || exit 1
done

as_dev() { # directory command...
	as_dev_cwd=$1
	shift
	(cd "$as_dev_cwd" && exec setpriv --reuid dev --regid dev --init-groups \
		env -i PATH=/usr/bin:/bin HOME="$home" USER=dev LOGNAME=dev LANG=C TERM=dumb "$@" 8>&-)
}

listing() { # directory: everything but times of access
	(cd "$1" && find . -printf '%p %y %i %n %U:%G %m %s %T@ %C@ %l\n' 2>/dev/null | sort)
}

# shape NAME CWD SETTINGS SCRIPT: the script runs in a session and says "good" at its end.  SETTINGS:
# one a line.  What it said is in /run/out, what sudo said in /run/err.
shape() {
	shape_name=$1 shape_cwd=$2 shape_settings=$3 shape_script=$4
	set --
	while IFS= read -r shape_line; do
		[ -z "$shape_line" ] || set -- "$@" "$shape_line"
	done <<-END
		$shape_settings
	END
	as_dev "$shape_cwd" sudo -n -u "$role" "$@" sh -ec "$shape_script
echo good" >/run/out 2>/run/err
	shape_status=$?
	if [ "$shape_status" = 0 ] && [ "$(tail -n 1 /run/out)" = good ]; then
		tap_pass "$shape_name"
	else
		tap_fail "$shape_name" "exit status $shape_status
$(cat /run/out /run/err)"
	fi
}

said() { # name pattern
	check "$1" grep -Eq -- "$2" /run/err
}

# unfit NAME CWD SETTINGS PATTERN: refused, with a reason that fits
unfit() {
	unfit_name=$1 unfit_cwd=$2 unfit_settings=$3 unfit_pattern=$4
	rm -f /run/ran
	set --
	[ -z "$unfit_settings" ] || set -- "$unfit_settings"
	if as_dev "$unfit_cwd" sudo -n -u "$role" "$@" touch ran >/run/out 2>/run/err; then
		tap_fail "$unfit_name: refused" "$(cat /run/out /run/err)"
	else
		check "$unfit_name: refused, with the reason" grep -Eqi -- "$unfit_pattern" /run/err
	fi
}

make() { # directory: a project of the user's
	mkdir -p "$1/sub" && echo text >"$1/text" && echo below >"$1/sub/below" && chown -R dev:dev "$1"
}

repository() { # directory: a git repository with one commit
	make "$1"
	as_dev "$1" git init -q && as_dev "$1" git add -A && as_dev "$1" git commit -qm first
}

# --- files and directories, several, inside each other
make $home/a
make $home/b
shape 'a file in a directory that is read-only' $home/a 'AGENTCELL_READ_PATHS=.
AGENTCELL_PATHS=text' 'echo more >>text; ! echo x >sub/below; ! touch new'
equal '... and the file was written' "$(tail -n 1 $home/a/text)" more
shape 'several, read-write and read-only' $home/a "AGENTCELL_PATHS=.:$home/b/text
AGENTCELL_READ_PATHS=$home/project" 'echo x >new; echo x >>../b/text; test ! -e ../b/sub
	read line <../project/text; ! echo x >../project/text'
shape 'read-write inside read-write' $home/a "AGENTCELL_PATHS=.:sub" 'echo x >sub/new; rm sub/new; echo x >new'
shape 'read-only inside read-write' $home/a 'AGENTCELL_PATHS=.
AGENTCELL_READ_PATHS=sub' 'echo x >new; read line <sub/below; ! echo x >sub/below; ! rm sub/below; ! mv sub gone'
shape 'read-write inside read-only' $home/a 'AGENTCELL_PATHS=sub
AGENTCELL_READ_PATHS=.' '! echo x >new2; echo x >sub/new; rm sub/new'
shape 'an excluded file' $home/a 'AGENTCELL_EXCLUDE=text' 'test -e text; ! cat text; ! echo x >text; ! rm text; ! mv text x
	! ln text other; echo x >new; ls -R . >/dev/null'
shape 'an excluded directory' $home/a 'AGENTCELL_EXCLUDE=sub' '! cat sub/below; ! ls sub; ! rm -r sub; ! mv sub x; echo x >new'
shape 'excluded inside read-only inside read-write' $home/a 'AGENTCELL_PATHS=.
AGENTCELL_READ_PATHS=sub
AGENTCELL_EXCLUDE=sub/below' '! cat sub/below; ls sub; ! echo x >sub/new; echo x >new'
shape 'an exclusion of what is not there' $home/a 'AGENTCELL_EXCLUDE=nowhere' 'cat text'
said '... is told' 'nowhere is not there'
ln $home/a/text $home/a/hard
unfit 'an excluded file with a second name' $home/a 'AGENTCELL_EXCLUDE=text' 'hard links'
rm $home/a/hard
unfit 'a path both read-write and read-only' $home/a 'AGENTCELL_READ_PATHS=.' 'at once'
unfit 'a path both declared and excluded' $home/a 'AGENTCELL_EXCLUDE=.' 'excluded'
ln -s a $home/link
shape 'a name that is a link' $home/link "" "test \"\$PWD\" = $home/a; echo x >new"
shape 'names with . and .. and a slash at the end' $home/a "AGENTCELL_PATHS=./sub/..:$home/b/./sub/" 'echo x >new; echo x >../b/sub/new'

# --- odd names
newline=$(printf 'new\nline')
bytes=$(printf '\377\376bytes')
for name in 'with blanks' "$newline" "$bytes" 'col:on' "quo\"te's\\" '*?[x]$(id)' '-dash' '%41 %' "$(printf 'esc\033[31m')"; do
	make "$home/odd/$name"
	shown=$(printf %s "$name" | tr -c 'a-zA-Z0-9*?$()[]:\\"'"' %.-" '_')
	shape "a directory called $shown" "$home/odd/$name" '' 'cat text; echo x >new; git init -q .; git status >/dev/null'
	check '... and what it wrote is there' test -e "$home/odd/$name/new"
done
shape 'a colon in a list' $home/a "AGENTCELL_PATHS=.:$home/odd/col\\:on" "echo x >'../odd/col:on/new2'"
deep=$home/deep
while [ ${#deep} -lt 3900 ]; do deep=$deep/$(printf 'd%.0s' $(seq 90)); done
mkdir -p "$deep" && chown -R dev:dev $home/deep
shape 'a path of almost 4096 bytes' "$deep" '' 'echo x >new; test -e new'

# --- git
repository $home/main
as_dev $home/main git worktree add -q $home/tree
common=$home/main/.git
guarded="! echo x >>$common/config; ! touch $common/hooks/post-checkout; ! mv $common/hooks $common/h; ! rm -r $common/hooks
	! git config core.fsmonitor ./evil"
shape 'a linked worktree' $home/tree '' "echo x >>text; git add -A; git commit -qm second; git branch other; git status >/dev/null
	$guarded; ! rm .git; ! echo x >.git; ! test -e ../main/text"
said '... its git directory is named' "main/.git is read-write, too"
equal '... the commit is there, and is hers' "$(as_dev $home/tree git log --format='%s %an %ae' -1)" \
	'second Dev "D" Eloper dev@example.org'
shape 'a repository with a worktree elsewhere' $home/main '' "$guarded
	! echo x >.git/worktrees/tree/commondir; ! mv .git/worktrees .git/w; ! mv .git/worktrees/tree .git/worktrees/t
	git log --oneline >/dev/null; git gc -q; git worktree list"
repository $home/library
repository $home/super
as_dev $home/super git submodule --quiet add $home/library module 2>/dev/null
as_dev $home/super git commit -qm module
shape 'a submodule alone' $home/super/module '' "echo x >>text; git commit -qam second; git log --oneline
	! echo x >>$home/super/.git/modules/module/config; ! touch $home/super/.git/modules/module/hooks/x
	! echo x >.git; ! test -e ../text; ! test -e $home/super/.git/HEAD"
shape 'a repository with a submodule' $home/super '' "git status >/dev/null; git -C module log --oneline; git -C module checkout -q -b new
	! echo x >>.git/modules/module/config; ! mv .git/modules .git/m; ! mv .git/modules/module .git/modules/m
	! touch .git/modules/module/hooks/x"
make $home/liar
echo "gitdir: $home/main/.git" >$home/liar/.git
chown dev:dev $home/liar/.git
shape 'a .git that names a directory which does not name it back' $home/liar '' "! test -e $home/main; ! echo x >.git; cat text"
said '... is told' 'does not name the project back'
repository $home/linked
mv $home/linked/.git $home/gitdir && ln -s ../gitdir $home/linked/.git
guarded_link="! rm .git; ! mv .git x; ! echo x >>.git/config; ! touch .git/hooks/x; ! mv ../gitdir/hooks ../gitdir/h"
shape 'a .git that is a link, declared with its target' $home/linked "AGENTCELL_PATHS=.:$home/gitdir" \
	"git status >/dev/null; echo x >>text; git commit -qam second; $guarded_link"
shape 'a .git that is a link to what is not declared' $home/linked '' '! git status; ! rm .git; cat text'
said '... is told' 'is a link to /home/dev/gitdir'
repository $home/hooked
rm -r $home/hooked/.git/hooks && mkdir $home/hooked/githooks && ln -s ../githooks $home/hooked/.git/hooks
mv $home/hooked/.git/config $home/hooked/gitconfig && ln -s ../gitconfig $home/hooked/.git/config
chown -hR dev:dev $home/hooked
shape 'hooks and config that are links into the project' $home/hooked '' 'git status >/dev/null; echo x >>text; git commit -qam second
	! touch githooks/x; ! touch .git/hooks/x; ! rm .git/hooks; ! mv githooks g; ! echo x >>gitconfig; ! rm .git/config; ! mv gitconfig g'
as_dev $home git clone -q --bare $home/main $home/bare.git
shape 'a bare repository' $home/bare.git '' 'git log --oneline; git branch new; ! echo x >>config; ! touch hooks/x; ! mv hooks h'
shape 'a directory inside a repository' $home/main/sub '' 'cat below; ! git status'
said '... is told where its top is' 'the top of its repository is /home/dev/main;'
make $home/separate
as_dev $home/separate git init -q --separate-git-dir=.real
shape 'a git directory elsewhere in the project' $home/separate '' 'git add -A; git commit -qm first; ! echo x >>.real/config
	! mv .real r; ! touch .real/hooks/x; ! rm .git'
repository $home/hookless
rm -r $home/hookless/.git/hooks
listing $home/hookless >/run/before
shape 'a repository without hooks' $home/hookless '' 'git log >/dev/null; cat text; ls -R . >/dev/null'
shape 'no repository at all' $home/b '' 'cat text; ! git status'

# --- file systems
battery='echo x >new; chmod 600 new; mv new newer; ln newer hard; ln -s newer soft; mkdir d; rmdir d
	git init -q repo; cd repo; echo 1 >f; git add f; git commit -qm f; git gc -q; git status >/dev/null'
filesystem() { # type mkfs...
	filesystem=$1
	shift
	mkdir -p "$home/fs-$filesystem"
	if [ "$filesystem" = tmpfs ]; then
		mount -t tmpfs -o mode=755 tmpfs "$home/fs-$filesystem"
	else
		truncate -s 400M "/home/$filesystem.img" && "$@" "/home/$filesystem.img" >/dev/null 2>&1 &&
			mount -o loop "/home/$filesystem.img" "$home/fs-$filesystem"
	fi || {
		skip "a project on $filesystem" "kernel: cannot mount $filesystem"
		return
	}
	rm -rf "$home/fs-$filesystem/lost+found" # root's, so no backup of it would be complete
	make "$home/fs-$filesystem/project"
	shape "a project on $filesystem" "$home/fs-$filesystem/project" '' "$battery"
	equal '... what it made is the user'"'"'s' \
		"$(find "$home/fs-$filesystem/project" ! -user dev -o ! -group dev | wc -l)" 0
	chown dev:dev "$home/fs-$filesystem"
	shape "a mounted $filesystem itself" "$home/fs-$filesystem" '' 'echo x >project/new; echo x >top'
}
filesystem ext4 mkfs.ext4 -q
filesystem xfs mkfs.xfs -q
filesystem btrfs mkfs.btrfs -q
filesystem tmpfs
mkdir -p $home/lower $home/upper $home/work $home/overlay /home/lower
make $home/lower/project
mount -t overlay overlay -o lowerdir=$home/lower,upperdir=$home/upper,workdir=$home/work $home/overlay
unfit 'a project on overlayfs' $home/overlay/project '' 'overlay.*cannot map|cannot map.*overlay'
if bindfs --no-allow-other $home/lower /mnt/fuse 2>/dev/null || { mkdir -p /mnt/fuse && bindfs $home/lower /mnt/fuse 2>/dev/null; }; then
	unfit 'a project on FUSE' /mnt/fuse/project '' 'cannot map'
	shape 'FUSE, read-only' $home/a 'AGENTCELL_PATHS=.
AGENTCELL_READ_PATHS=/mnt/fuse/project' 'cat /mnt/fuse/project/text; ! echo x >/mnt/fuse/project/text'
	umount /mnt/fuse
else
	skip 'a project on FUSE' 'needs bindfs and /dev/fuse'
fi
mkdir $home/readonly && mount --bind $home/b $home/readonly && mount -o remount,bind,ro $home/readonly
unfit 'a project on a read-only mount' $home/readonly '' 'read-only file system'
mkdir $home/a/mounted && mount -t tmpfs -o mode=755 tmpfs $home/a/mounted && make $home/a/mounted/inside && chown dev:dev $home/a/mounted
shape 'a mount below a project' $home/a '' '! test -e mounted/inside; echo x >new'
said '... is told' 'a/mounted is a mount of its own and is not shown'
shape 'a mount below a project, declared, too' $home/a 'AGENTCELL_PATHS=.:mounted' 'cat mounted/inside/text; echo x >mounted/inside/new'
refute '... is not told' grep -q 'not shown' /run/err
shape 'a mount below a project, excluded' $home/a 'AGENTCELL_EXCLUDE=mounted' '! ls mounted; echo x >new'
unfit 'a directory in a mount that is not shown' $home/a 'AGENTCELL_PATHS=.:mounted/inside' 'declare that mount'

# --- shared projects
groupadd -g 2000 team && usermod -aG team dev && usermod -aG team other
groupadd -r -g 200 system && usermod -aG system dev
mkdir -p /srv/shared/mine && echo theirs >/srv/shared/theirs
chown -R other:team /srv/shared && chmod 2775 /srv/shared /srv/shared/mine && chmod 664 /srv/shared/theirs
shape "a group's directory that belongs to somebody else" /srv/shared '' 'echo x >>theirs; echo x >new; mkdir d; echo x >d/new; id'
said '... the terms name the group' 'groups +gid 2000'
equal '... what it made belongs to the user and the group' "$(stat -c '%U:%G' /srv/shared/new /srv/shared/d /srv/shared/d/new | sort -u)" dev:team
equal '... directories go on like that' "$(stat -c %a /srv/shared/d)" 2775
check '... the others can work with it' setpriv --reuid other --regid other --init-groups sh -c 'umask 002; rm /srv/shared/new'
as_dev /srv/shared sh -c 'umask 002; git init -q --shared=group repository; echo x >repository/x'
shape "a repository that a group shares" /srv/shared/repository '' \
	'git add x; git -c user.name=d -c user.email=d@localhost commit -q -m x; git gc -q; git log --oneline | wc -l'
equal '... for the others too' "$(find /srv/shared/repository/.git/objects -type d ! -perm -2070)" ''
shape 'a project of the user without that group' $home/a '' 'test "$(id -G | wc -w)" = 1'
mkdir /srv/system && chown other:system /srv/system && chmod 2775 /srv/system
unfit "a directory of a system group's" /srv/system '' 'belongs to uid'

# --- places
umount $home/a/mounted
for place in /tmp /srv /mnt /opt; do
	make $place/place/project
	shape "a project below $place" $place/place/project '' 'echo x >new; cat text'
	check '... and what it wrote is there' test -e $place/place/project/new
done
mount -t tmpfs -o mode=1777 tmpfs /var/tmp # the sandbox has an overlay there
make /var/tmp/place/project
unfit 'a project below /var' /var/tmp/place/project '' allowed_roots
printf '[paths]\nallowed_roots = /var/tmp\n' >>/etc/agentcell/agentcell.conf
shape 'a project below /var that the administrator allows' /var/tmp/place/project '' 'echo x >new; echo x >/var/tmp/scratch'
refute '... and the rest of it is private' test -e /var/tmp/scratch
ln -s /home /srv/homes && usermod -d /srv/homes/dev dev
unfit 'a home that is reached by a link: its secrets' $home/a "AGENTCELL_PATHS=$home/.ssh" 'dot-directory'
shape 'a home that is reached by a link' $home/a '' 'echo x >new'
as_dev $home/a sudo -n -u $role sh -c 'cat /srv/homes/dev/.ssh/id_ed25519; sleep 20; echo survived' >/run/out 2>/run/err
equal '... its name is bait' "$?" 137
usermod -d $home dev
mkdir $home/gone && chown dev:dev $home/gone
as_dev $home/gone sh -c "rmdir ../gone; exec sudo -n -u $role true" >/run/out 2>/run/err
equal 'a directory that was deleted: refused' "$?" 1
said '... with the reason' 'current directory|cannot open'

# --- the view leaves no trace
listing $home/hookless >/run/after
check 'nothing was written to build a view' diff -u /run/before /run/after
nothing_left 'shapes'
finish

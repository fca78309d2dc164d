package permission

import "maps"

// wrapSpec says where the inner command stands in a wrapper's arguments. The
// options end where the command begins.
type wrapSpec struct {
	// ok, moves, writes and runs are the options, as in usage: what runs takes a
	// shell script.
	ok, moves, writes, runs string
	// single: long options take one dash.
	single bool
	// skip is how many operands come before the command.
	skip int
	// first, if set, are what the first of them can be: anything else is the command already.
	first map[string]bool
	// subs are the subcommands after which a command follows; "" for none
	// needed. within may stand before them.
	subs, within string
	// transparent wrappers change nothing about what runs.
	transparent bool
	// assigns: NAME=value words may come before the command.
	assigns bool
	// joined: the remaining words are one shell script.
	joined bool
	// elsewhere: the command runs in another directory or machine.
	elsewhere bool
}

// wrapper is a wrapSpec ready for reading.
type wrapper struct {
	wrapSpec
	options      *options
	subs, within map[string]bool
}

// wrappers are the programs that run the command they are given. A deny and an
// ask look through all of them, an allow only through the transparent ones.
var wrappers = func() map[string]wrapper {
	specs := maps.Clone(systemWrappers)
	maps.Copy(specs, toolWrappers)
	out := map[string]wrapper{}
	for name, s := range specs {
		u := usage{ok: s.ok, moves: s.moves, writes: s.writes, runs: s.runs, single: s.single, ordered: true}
		if name == "env" {
			u.ends = "S split-string"
		}
		out[name] = wrapper{s, newOptions(u), set(s.subs), set(s.within)}
	}
	return out
}()

// systemWrappers change how a command runs: as whom, when, where, watched.
var systemWrappers = map[string]wrapSpec{
	"timeout":           {ok: "vs:k: --verbose --preserve-status --foreground --signal= --kill-after=", skip: 1, transparent: true},
	"nice":              {ok: "0123456789n: --adjustment=", transparent: true},
	"nohup":             {transparent: true},
	"stdbuf":            {ok: "i:o:e: --input= --output= --error=", transparent: true},
	"command":           {ok: "pvV", transparent: true},
	"builtin":           {transparent: true},
	"time":              {ok: "apqvVf: --append --format= --portability --quiet --verbose", writes: "o: --output=", transparent: true},
	"sudo":              {ok: "AbBEeHiKklnNPSsVvu:g:p:C:r:t:T:h:U:a: --preserve-env? --non-interactive --login --shell --stdin --set-home --background --askpass --list --validate --reset-timestamp --remove-timestamp --user= --group= --prompt= --close-from= --role= --type= --host= --other-user=", moves: "D:R: --chdir= --chroot=", assigns: true},
	"doas":              {ok: "nsLu:C:a:"},
	"pkexec":            {ok: "--user="},
	"run0":              {ok: "--user= --unit= --property=", moves: "--chdir="},
	"su":                {ok: "lmpPfTs:g:G:w:C: --login --preserve-environment --pty --fast", runs: "c: --command= --session-command=", skip: 99},
	"runuser":           {ok: "u:g:G:s:w: --user= --group=", runs: "c: --command="},
	"gosu":              {skip: 1},
	"su-exec":           {skip: 1},
	"env":               {ok: "i0vu: --ignore-environment --null --debug --block-signal? --default-signal? --ignore-signal? --unset=", moves: "C: --chdir=", runs: "S: --split-string=", assigns: true},
	"ionice":            {ok: "tc:n:p:P:u: --ignore --class= --classdata= --pid="},
	"chrt":              {ok: "abdfiormpvT:P:D: --batch --deadline --fifo --idle --other --rr --reset-on-fork --all-tasks --max --verbose", skip: 1},
	"taskset":           {ok: "acp --all-tasks --cpu-list", skip: 1},
	"numactl":           {ok: "i:N:m:C:p:"},
	"setsid":            {ok: "cfw --ctty --fork --wait"},
	"linux64":           {ok: "vBFILRSTXZ3"},
	"linux32":           {ok: "vBFILRSTXZ3"},
	"arch":              {single: true, ok: "-32 -64 -arm64 -arm64e -i386 -x86_64 -c -h -arch= -d= -e="},
	"tini":              {ok: "svwgle:p:"},
	"dumb-init":         {ok: "cvr: --single-child --verbose --rewrite="},
	"ssh-agent":         {ok: "ckdDst:a:P:E:O:"},
	"setarch":           {ok: "vBFILRSTXZ3", skip: 1, first: architectures},
	"unshare":           {ok: "imnpuUCTfrcS:G: --fork --map-root-user --map-current-user --mount? --net? --pid? --user? --ipc? --uts? --mount-proc? --keep-caps --propagation= --setuid= --setgid=", moves: "R:w: --root= --wd="},
	"nsenter":           {ok: "aimnpuUCTFZt:S:G: --all --target= --setuid= --setgid= --preserve-credentials --no-fork --mount? --net? --pid? --user? --ipc? --uts?", moves: "r::w:: --root? --wd? --wdns="},
	"prlimit":           {ok: "p:"},
	"setpriv":           {ok: "--nnp --no-new-privs --clear-groups --keep-groups --init-groups --reset-env --ambient-caps= --inh-caps= --bounding-set= --ruid= --euid= --rgid= --egid= --reuid= --regid= --groups= --securebits= --pdeathsig= --selinux-label= --apparmor-profile="},
	"cgexec":            {ok: "g:"},
	"flock":             {ok: "senxuoFvw:E: --shared --exclusive --unlock --nonblock --close --no-fork --verbose --timeout= --wait= --conflict-exit-code=", runs: "c: --command=", skip: 1},
	"watch":             {ok: "bcdegprtvwxn:q: --beep --color --differences? --errexit --chgexit --precise --no-title --no-wrap --exec --interval= --equexit=", joined: true},
	"exec":              {ok: "cla:"},
	"chroot":            {ok: "--skip-chdir --userspec= --groups=", skip: 1, elsewhere: true},
	"bwrap":             {ok: "--unshare-all --unshare-user --unshare-ipc --unshare-pid --unshare-net --unshare-uts --unshare-cgroup --share-net --die-with-parent --new-session --clearenv --bind== --ro-bind== --dev-bind== --bind-try== --ro-bind-try== --symlink== --setenv== --unsetenv= --dev= --proc= --tmpfs= --dir= --uid= --gid= --hostname= --cap-add= --cap-drop=", moves: "--chdir=", elsewhere: true},
	"firejail":          {},
	"proot":             {ok: "r:b:q:w:v:", elsewhere: true},
	"fakeroot":          {ok: "l:s:i:"},
	"busybox":           {},
	"toybox":            {},
	"strace":            {ok: "fFCiknqrtTvVwxyze:o:p:s:u:a:E:S:P:I:b:X: --follow-forks"},
	"ltrace":            {ok: "e:o:p:s:u:a:n:l:x:F:"},
	"gdb":               {single: true, ok: "-ex= -eval-command= -iex= -x= -command= -d= -p= -batch -nx -q -quiet -args"},
	"valgrind":          {},
	"perf":              {ok: "e:o:p:F:c:", subs: "stat record trace"},
	"script":            {ok: "aefhq --append --flush --quiet --return --force", runs: "c: --command=", skip: 99},
	"unbuffer":          {},
	"rlwrap":            {ok: "f:H:s:C:b:"},
	"xvfb-run":          {ok: "n:e:s:w:f:p:"},
	"caffeinate":        {ok: "t:w:"},
	"systemd-run":       {ok: "qPSdrtGhu:p:H:M: --user --scope --pty --pipe --wait --collect --quiet --same-dir --shell --unit= --property= --uid= --gid= --setenv= --slice= --on-active= --on-calendar=", moves: "--working-directory="},
	"systemd-inhibit":   {},
	"dbus-run-session":  {},
	"start-stop-daemon": {ok: "SKTbmoqtvCp:u:g:k:n:s: --pidfile= --user= --chuid= --name=", moves: "d: --chdir=", runs: "x:a: --exec= --startas="},
	"proxychains":       {ok: "f:"},
	"proxychains4":      {ok: "f:"},
	"torsocks":          {},
	"faketime":          {skip: 1},
	"cpulimit":          {ok: "l:p:e:"},
	"entr":              {ok: "acdnprsxz", joined: true},
	"watchexec":         {ok: "rcpnNw:e:d:i:f:s:", joined: true},
	"nodemon":           {ok: "w:e:i:", runs: "x: --exec="},
	"cross-env":         {assigns: true},
	"dotenv":            {ok: "e:f:"},
	"dotenvx":           {ok: "f:", subs: "run"},
	"op":                {subs: "run"},
	"doppler":           {ok: "p:c:", subs: "run"},
	"aws-vault":         {subs: "exec", skip: 1},
	"chpst":             {ok: "u:e:U:b:m:d:o:n:l:p:f:c:r:t:C:P:g:0:1:2:3:4:5:6:7:8:9:/:"},
	"parallel":          {ok: "kvqu0Xmtj:S:a:N:n:L:I:d:P:E: --keep-order --verbose --quote --ungroup --line-buffer --bar --dry-run --will-cite --no-notice --jobs= --arg-file= --sshlogin= --colsep= --results= --joblog= --delay= --halt= --timeout= --retries= --max-args=", joined: true},
	"sem":               {ok: "j:", joined: true},
	"xargs":             {ok: "0oprtxI:J:L:P:R:d:E:n:s:S:a:e::i::l:: --null --delimiter= --eof? --replace? --max-lines? --max-args= --open-tty --max-procs= --interactive --process-slot-var= --no-run-if-empty --max-chars= --show-limits --verbose --exit --arg-file="},
}

// shells read a script from -c, a file or standard input.
var shells = map[string]bool{
	"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "ash": true, "mksh": true, "fish": true,
	"rbash": true, "csh": true, "tcsh": true, "yash": true, "pwsh": true, "powershell": true, "rksh": true,
}

// dataPrograms take their arguments as data: a denied command spelled there is
// text. All others may be runners nobody listed.
var dataPrograms = set(`echo printf cat tac head tail less more most bat nl od xxd hexdump strings base64 base32
	md5sum sha1sum sha256sum sha512sum b2sum cksum sum wc sort uniq cut paste join comm diff cmp diff3 sdiff grep egrep
	fgrep zgrep rg ag ack sed awk gawk mawk nawk tr jq yq column fold fmt rev split csplit dd file stat ls dir vdir
	tree du df touch mkdir rmdir rm mv cp ln install chmod chown chgrp truncate shred unlink mktemp realpath readlink
	basename dirname pwd cd pushd popd date cal sleep true false : test [ [[ which type whereis whatis man info help
	kill killall pkill ps top uptime uname hostname whoami id groups who w env printenv export declare typeset
	local readonly unset set shopt read mapfile readarray getopts wait jobs fg bg disown umask ulimit return exit break
	continue shift history git gh hub curl wget tar zip unzip gzip gunzip bzip2 xz zstd rsync scp sftp ping dig
	nslookup host seq yes tee find fd locate apt apt-get dpkg brew pip pip3 cargo rustc gofmt go gcc cc clang tsc
	eslint prettier jest vitest mocha pytest ruff black mypy make terraform aws gcloud az systemctl journalctl
	service let alias unalias trap`)

package permission

// wrapSpec says where the inner command stands in a wrapper's arguments.
type wrapSpec struct {
	// values are short options that take a value; long likewise.
	values string
	long   []string
	// skip is how many operands come before the command.
	skip int
	// subs are the subcommands after which a command follows; nil: none needed.
	subs []string
	// transparent wrappers change nothing about what runs.
	transparent bool
	// assigns: NAME=value words may come before the command.
	assigns bool
	// joined: the remaining words are one shell script.
	joined bool
	// scripts are options whose value is a shell script.
	scripts []string
	// elsewhere: the command runs in another directory or machine.
	elsewhere bool
}

// wrappers are the programs that run the command they are given. A deny and an
// ask look through all of them, an allow only through the transparent ones.
var wrappers = map[string]wrapSpec{
	"timeout": {transparent: true, values: "sk", long: []string{"signal", "kill-after"}, skip: 1},
	"nice":    {transparent: true, values: "n", long: []string{"adjustment"}},
	"nohup":   {transparent: true},
	"stdbuf":  {transparent: true, values: "ioe", long: []string{"input", "output", "error"}},
	"command": {transparent: true},
	"builtin": {transparent: true},
	"time":    {transparent: true, values: "fo", long: []string{"format", "output"}},

	"sudo": {values: "ugpCrtThDRUa", assigns: true, long: []string{"user", "group", "prompt", "close-from", "role", "type",
		"host", "chdir", "chroot", "other-user"}},
	"doas":       {values: "uCa"},
	"pkexec":     {long: []string{"user"}},
	"run0":       {long: []string{"user", "unit", "chdir", "property"}},
	"su":         {values: "sgGwC", scripts: []string{"-c", "--command", "--session-command"}, skip: 99},
	"runuser":    {values: "ugGsw", scripts: []string{"-c", "--command"}, long: []string{"user", "group"}},
	"gosu":       {skip: 1},
	"su-exec":    {skip: 1},
	"env":        {values: "uC", assigns: true, long: []string{"unset", "chdir"}, scripts: []string{"-S", "--split-string"}},
	"ionice":     {values: "cnpPu", long: []string{"class", "classdata", "pid"}},
	"chrt":       {values: "TPD", skip: 1},
	"taskset":    {skip: 1},
	"numactl":    {values: "iNmCp"},
	"setsid":     {},
	"setarch":    {skip: 1},
	"unshare":    {values: "SGRw"},
	"nsenter":    {values: "tSGrw"},
	"prlimit":    {values: "p"},
	"setpriv":    {},
	"cgexec":     {values: "g"},
	"flock":      {values: "wE", skip: 1, scripts: []string{"-c", "--command"}, long: []string{"timeout", "wait", "conflict-exit-code"}},
	"watch":      {values: "nq", joined: true, long: []string{"interval", "equexit"}},
	"exec":       {values: "a"},
	"chroot":     {skip: 1, elsewhere: true, long: []string{"userspec", "groups"}},
	"bwrap":      {skip: 0, elsewhere: true},
	"firejail":   {},
	"proot":      {values: "rbqwv", elsewhere: true},
	"fakeroot":   {values: "lsi"},
	"busybox":    {},
	"toybox":     {},
	"strace":     {values: "eopsuaESPIbX"},
	"ltrace":     {values: "eopsuanlxF"},
	"gdb":        {values: "xdp", long: []string{"ex", "command"}},
	"valgrind":   {},
	"perf":       {subs: []string{"stat", "record", "trace"}, values: "eopFc"},
	"script":     {scripts: []string{"-c", "--command"}, skip: 99},
	"unbuffer":   {},
	"rlwrap":     {values: "fHsCb"},
	"xvfb-run":   {values: "neswfp"},
	"caffeinate": {values: "tw"},
	"systemd-run": {values: "puHMtG", long: []string{"unit", "property", "uid", "gid", "setenv", "slice",
		"on-active", "on-calendar", "working-directory"}},
	"systemd-inhibit":  {},
	"dbus-run-session": {},
	"start-stop-daemon": {values: "xpugkdns", long: []string{"exec", "startas", "pidfile", "user", "chuid", "chdir", "name"},
		scripts: []string{"--exec", "-x", "--startas", "-a"}},
	"proxychains":  {values: "f"},
	"proxychains4": {values: "f"},
	"torsocks":     {},
	"faketime":     {skip: 1},
	"cpulimit":     {values: "lpe"},
	"entr":         {},
	"watchexec":    {values: "wedifs", joined: true},
	"nodemon":      {scripts: []string{"--exec", "-x"}, values: "wei"},
	"cross-env":    {assigns: true},
	"dotenv":       {values: "ef"},
	"dotenvx":      {subs: []string{"run"}, values: "f"},
	"op":           {subs: []string{"run"}},
	"doppler":      {subs: []string{"run"}, values: "pc"},
	"aws-vault":    {subs: []string{"exec"}, skip: 1},
	"chpst":        {values: "ueUbmdonlpfcrtCPg0123456789/"},
	"parallel":     {values: "jSaNnLIdPE", joined: true, long: []string{"jobs", "arg-file", "sshlogin", "colsep", "results", "joblog", "delay"}},
	"sem":          {values: "j", joined: true},
	"xargs": {values: "IEdnLPsai", long: []string{"replace", "delimiter", "max-args", "max-lines", "max-procs", "max-chars",
		"arg-file", "eof", "process-slot-var"}},

	"npx":       {values: "p", long: []string{"package", "call"}, scripts: []string{"-c", "--call"}},
	"bunx":      {},
	"pnpx":      {long: []string{"package"}},
	"npm":       {subs: []string{"exec", "x"}, long: []string{"package", "workspace", "prefix"}, scripts: []string{"-c", "--call"}, values: "wCp"},
	"pnpm":      {subs: []string{"exec", "dlx"}, long: []string{"package", "filter", "dir"}, values: "CF", scripts: []string{"--shell-mode"}},
	"yarn":      {subs: []string{"exec", "dlx", "run"}, values: "p", long: []string{"package", "cwd"}},
	"bun":       {subs: []string{"x"}},
	"deno":      {subs: []string{"task"}},
	"uv":        {subs: []string{"run"}, long: []string{"with", "python", "project", "directory", "package", "env-file"}, values: "p"},
	"uvx":       {long: []string{"from", "with", "python"}, values: "p"},
	"pipx":      {subs: []string{"run"}, long: []string{"spec", "python"}},
	"poetry":    {subs: []string{"run"}, values: "CP"},
	"pipenv":    {subs: []string{"run"}},
	"hatch":     {subs: []string{"run"}, values: "e"},
	"pdm":       {subs: []string{"run"}, values: "p"},
	"rye":       {subs: []string{"run"}},
	"pixi":      {subs: []string{"run"}, values: "e"},
	"conda":     {subs: []string{"run"}, values: "np", long: []string{"name", "prefix", "cwd"}},
	"mamba":     {subs: []string{"run"}, values: "np", long: []string{"name", "prefix", "cwd"}},
	"bundle":    {subs: []string{"exec"}},
	"rbenv":     {subs: []string{"exec"}},
	"pyenv":     {subs: []string{"exec"}},
	"nodenv":    {subs: []string{"exec"}},
	"rvm":       {subs: []string{"do"}, skip: 1},
	"asdf":      {subs: []string{"exec"}},
	"mise":      {subs: []string{"exec", "x"}, values: "CcEj", scripts: []string{"-c", "--command"}},
	"rtx":       {subs: []string{"exec", "x"}, values: "C"},
	"volta":     {subs: []string{"run"}, long: []string{"node", "npm", "pnpm", "yarn"}},
	"fnm":       {subs: []string{"exec"}, long: []string{"using"}},
	"nvm":       {subs: []string{"exec", "run"}, skip: 1},
	"devbox":    {subs: []string{"run"}, values: "ce"},
	"direnv":    {subs: []string{"exec"}, skip: 1},
	"nix":       {subs: []string{"run", "shell", "develop"}, scripts: []string{"-c", "--command"}},
	"nix-shell": {values: "pAI", scripts: []string{"--run", "--command"}, skip: 99},
	"guix":      {subs: []string{"shell", "environment"}},
	"flatpak":   {subs: []string{"run"}, long: []string{"command"}},
	"docker":    {subs: []string{"exec", "run"}, values: "euwvplhmcna", long: dockerLong, skip: 1, elsewhere: true, scripts: []string{"--entrypoint"}},
	"podman":    {subs: []string{"exec", "run"}, values: "euwvplhmcna", long: dockerLong, skip: 1, elsewhere: true, scripts: []string{"--entrypoint"}},
	"nerdctl":   {subs: []string{"exec", "run"}, values: "euwvplhmcna", long: dockerLong, skip: 1, elsewhere: true},
	"kubectl":   {subs: []string{"exec", "run"}, values: "cnf", long: []string{"container", "namespace", "context", "image", "kubeconfig"}, skip: 1, elsewhere: true},
	"oc":        {subs: []string{"exec", "rsh"}, values: "cn", skip: 1, elsewhere: true},
	"lxc":       {subs: []string{"exec"}, skip: 1, elsewhere: true},
	"distrobox": {subs: []string{"enter"}, skip: 1, elsewhere: true},
	"toolbox":   {subs: []string{"run"}, values: "cdr", elsewhere: true},
	"vagrant":   {subs: []string{"ssh"}, scripts: []string{"-c", "--command"}, skip: 99},
	"wsl":       {values: "du", elsewhere: true},
	"ssh":       {values: "BbcDEeFIiJLlmOopQRSWw", skip: 1, joined: true, elsewhere: true},
	"mosh":      {skip: 1, elsewhere: true},
	"sshpass":   {values: "pfde"},
	"autossh":   {values: "MBbcDEeFIiJLlmOopQRSWw", skip: 1, joined: true, elsewhere: true},
	"rsh":       {values: "l", skip: 1, joined: true, elsewhere: true},
	"tmux":      {subs: []string{"new", "new-session", "new-window", "neww", "split-window", "splitw", "send-keys", "run-shell", "run"}, values: "tsncFxyLSf", joined: true},
	"screen":    {values: "SstcThp"},
	"rustup":    {subs: []string{"run"}, skip: 1},
	"opam":      {subs: []string{"exec"}},
	"stack":     {subs: []string{"exec"}},
	"cabal":     {subs: []string{"exec"}},
	"heroku":    {subs: []string{"run"}, values: "a", elsewhere: true},
	"fly":       {subs: []string{"ssh"}, skip: 99, scripts: []string{"-C", "--command"}},
	"just":      {scripts: []string{"-c", "--command"}, skip: 99},
	"ansible":   {values: "mi", scripts: []string{"-a", "--args"}, skip: 99},
	"expect":    {scripts: []string{"-c"}, skip: 99},
	"at":        {skip: 99},
	"batch":     {skip: 99},
	"sg":        {skip: 1, joined: true, scripts: []string{"-c"}},
	"newgrp":    {skip: 99},
	"hyperfine": {values: "wmMrLS", long: []string{"warmup", "runs", "parameter-list"}, joined: true, scripts: []string{"-p", "--prepare", "-s", "--setup", "-c", "--cleanup"}},
}

var dockerLong = []string{"env", "user", "workdir", "volume", "publish", "label", "name", "network", "entrypoint", "mount",
	"env-file", "memory", "cpus", "detach-keys", "platform", "hostname", "add-host", "restart", "pull"}

// shells read a script from -c, a file or standard input.
var shells = map[string]bool{
	"sh": true, "bash": true, "dash": true, "zsh": true, "ksh": true, "ash": true, "mksh": true, "fish": true,
	"rbash": true, "csh": true, "tcsh": true, "yash": true, "pwsh": true, "rksh": true,
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
	eslint prettier jest vitest mocha pytest ruff black mypy make cmake terraform aws gcloud az systemctl journalctl
	service let alias unalias trap`)

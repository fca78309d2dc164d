package permission

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// toolPrograms are programs of which only the options matter that execute, write or send something.
var toolPrograms = map[string]usage{
	"nc":      {ok: `46bdDhklnrStuUvzi:I:O:p:P:q:s:T:V:w:x:X:`, runs: `e:c: --exec= --sh-exec= --lua-exec=`, writes: `o: --output= --hex-dump=`},
	"tcpdump": {ok: `AbdDefhHIJKlLnNOpqStuUvxXB:c:i:j:M:s:T:y:E:`, reads: `F:r:V:`, writes: `w:`, runs: `z:`},
	"rpm": {ok: `qailpfcdRsVv`, reads: `--root= --dbpath=`,
		runs: `E:D: --eval= --define= --pipe= --load= --macros= --rcfile= --predefine=`},
	"pandoc": {ok: `f:r:t:w:sNM:V:T:H:A:c: --from= --read= --to= --write= --standalone --metadata= --variable= --toc --columns= --wrap=`,
		reads: `B: --template= --bibliography= --csl= --metadata-file= --resource-path= --include-in-header= --include-before-body= --include-after-body= --reference-doc=`,
		loads: `d: --defaults= --data-dir= --syntax-definition=`, runs: `F:L: --filter= --lua-filter= --pdf-engine= --pdf-engine-opt=`,
		writes: `o: --output= --extract-media= --log=`},
	"hg":        {ok: `qvyR: --quiet --verbose --debug --noninteractive --pager= --color= --repository= --encoding=`, moves: `--cwd=`, runs: `--config= --tool= t:`},
	"svn":       {ok: `qvr:l:c: --quiet --verbose --revision= --limit= --change= --xml --username= --password=`, loads: `--config-dir=`, runs: `--config-option= --diff-cmd= --diff3-cmd= --editor-cmd= x: --extensions=`, reads: `F: --file= --targets=`},
	"helm":      {single: true, ok: `-n= -namespace= -f= -values= -set= -set-string= -version=`, loads: `-kubeconfig= -registry-config= -repository-config=`, runs: `-post-renderer= -post-renderer-args=`, writes: `-output-dir=`},
	"kubectl":   {ok: `n:o:l:Awc:L:R --namespace= --output= --selector= --container= --context= --all-namespaces --watch`, reads: `f:k: --filename= --kustomize= --template=`, loads: `--kubeconfig=`, writes: `--cache-dir= --output-directory=`},
	"fzf":       {ok: `mie0x1q:f:n:d: --multi --query= --filter= --nth= --delimiter= --height= --prompt= --header=`, runs: `--preview= --bind= --listen? --listen-unsafe? --with-shell=`, writes: `--history=`},
	"jobs":      {ok: `lnprs`, runs: `x:`},
	"fc":        {ok: `lnr`, loads: `s`, runs: `e:`},
	"ag":        {ok: `lcinrsuvwzQaA:B:C:G:m: --pager-less`, reads: `p: --path-to-ignore=`, runs: `--pager=`},
	"ack":       {ok: `lcinrsvwfhoQ1A:B:C:g:m:x`, loads: `--ackrc=`, runs: `--pager=`},
	"delta":     {loads: `--config=`, runs: `--pager=`},
	"xxd":       {single: true, ok: `-a -b -e -i -p -r -u -E -d -c= -g= -l= -o= -s= -n= -R= -ps -plain -cols= -len= -seek= -autoskip -bits -include -revert -uppercase`},
	"gcc":       {single: true, ok: `-I= -L= -l= -D= -U= -x= -std=`, runs: `-wrapper= -fplugin= -specs= -B= -fuse-ld= -plugin= -Xclang=`, writes: `-o= -MF= -dumpdir= -save-temps?`},
	"gofmt":     {single: true, ok: `-l -d -e -s -r=`, writes: `-w -cpuprofile=`},
	"shfmt":     {ok: `dlsi:p:`, writes: `w --write`},
	"prettier":  {ok: `clu --check --list-different --parser= --stdin-filepath= --log-level= --ignore-path=`, loads: `--plugin= --config=`, writes: `w --write`},
	"eslint":    {ok: `h --ext= --max-warnings= --quiet --cache`, loads: `c:f: --config= --format= --rulesdir= --plugin= --parser= --resolve-plugins-relative-to=`, writes: `o: --output-file= --fix --cache-location=`},
	"mypy":      {ok: `p:m:c: --package= --module= --strict`, loads: `--config-file=`, runs: `--python-executable=`, writes: `--junit-xml= --html-report= --xml-report= --cache-dir=`},
	"terraform": {single: true, moves: `-chdir=`, loads: `-plugin-dir=`, writes: `-out= -state= -state-out= -backup= -generate-config-out=`},
	"nm":        {ok: `AaDglnoprSsuf:t: --format= --radix=`, loads: `--plugin=`},
	"ar":        {loads: `--plugin=`},
	"ld":        {single: true, ok: `-L= -l= -r -s`, loads: `-plugin= -T= -dynamic-linker=`, writes: `-o= -Map=`},
	"iconv":     {ok: `clsf:t: --from-code= --to-code= --list --silent`, writes: `o: --output=`},
	"apt":       {ok: `qysdfmuhvt: --quiet --yes --simulate --target-release=`, runs: `o:c: --option= --config-file=`},
	"dpkg":      {ok: `lLsSp`, runs: `--pre-invoke= --post-invoke= --status-logger=`, reads: `--admindir= --root= --instdir=`},
	"psql":      {ok: `AaEeHlnqSstXxwW1c:d:F:h:P:p:R:T:U:v: --command= --dbname= --host= --port= --username= --variable= --csv --tuples-only`, loads: `f: --file=`, writes: `o:L: --output= --log-file=`},
	"mysql":     {ok: `BNstvVe:u:h:P:D:p:: --execute= --user= --host= --port= --database= --password? --batch`, loads: `--defaults-file= --defaults-extra-file= --init-command= --plugin-dir= --pager=`, writes: `--tee=`},
}

// toolChecks look at the words of programs that take commands among their operands.
var toolChecks = map[string]func(reading, command) string{
	"socat": anyWord("starts the program of such an address", func(s string) bool {
		s = foldString(s)
		return strings.HasPrefix(s, "exec") || strings.HasPrefix(s, "system") || strings.HasPrefix(s, "shell") || strings.Contains(s, "!!")
	}),
	"tmux":    anyWord("takes what stands behind a semicolon for its next command", func(s string) bool { return strings.Contains(s, ";") }),
	"psql":    anyWord("runs commands of its own after a backslash", func(s string) bool { return strings.Contains(s, `\`) || hasFold(s, "program") }),
	"mysql":   anyWord("runs commands of its own", func(s string) bool { return strings.Contains(s, `\`) || hasFold(s, "system") || hasFold(s, "outfile") }),
	"sqlite3": anyWord("runs commands that begin with a dot, and functions that touch files", sqliteTouches),
	"dc":      anyWord("runs the command behind an exclamation mark", func(s string) bool { return strings.Contains(s, "!") }),
	"gcc":     anyWord("runs its parts from the directory behind -B", func(s string) bool { return strings.HasPrefix(s, "-B") }),
	"ip":      ipCheck,
	"uniq":    secondWrites, "xxd": secondWrites,
}

// anyWord is a check of each word by itself; one that is only known at run time may be what is looked for.
func anyWord(what string, is func(string) bool) func(reading, command) string {
	return func(_ reading, c command) string {
		if slices.ContainsFunc(c.words[1:], func(w word) bool { return w.hides() || is(w.text) }) {
			return c.name() + " " + what
		}
		return ""
	}
}

func hasFold(s, part string) bool { return strings.Contains(foldString(s), part) }

func sqliteTouches(s string) bool {
	for line := range strings.SplitSeq(s, "\n") {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), ".") && !strings.Contains(line, "/") {
			return true
		}
	}
	return slices.ContainsFunc([]string{"load_extension", "readfile", "writefile", "edit(", "attach"}, func(f string) bool { return hasFold(s, f) }) ||
		s == "-init" || s == "--init"
}

// ipCheck finds the subcommand that runs a program, which may be abbreviated, and files of commands.
func ipCheck(_ reading, c command) string {
	for i, w := range c.words[1:] {
		switch {
		case strings.HasPrefix(w.text, "-b"), strings.HasPrefix(w.text, "--b"):
			return "ip runs the commands of a file"
		case i > 0 && w.text != "" && strings.HasPrefix("exec", w.text), w.hides():
			return "ip runs the program after exec"
		}
	}
	return ""
}

// secondWrites is for programs whose second operand is written.
func secondWrites(r reading, c command) string {
	if len(r.operands) > 1 || r.open {
		return c.name() + " writes the second file"
	}
	return ""
}

// setsVariable finds, in the words of a builtin that sets variables by name, one that other programs may go by: those
// have capitals, as PATH has.
func setsVariable(c command) bool {
	name, operands := c.name(), 0
	for i, w := range c.words[1:] {
		text := w.text
		switch {
		case i > 0 && name != "wait" && valueFollows.MatchString(c.words[i].text):
			continue
		case len(text) > 2 && text[0] == '-':
			text = text[2:]
		case name == "getopts":
			if operands++; operands != 2 {
				continue
			}
		}
		if isAssign(text+"=") && (strings.ContainsFunc(text, unicode.IsUpper) || strings.HasSuffix(text, "_proxy")) {
			return true
		}
	}
	return false
}

// assigners are the builtins that assign what is written behind a variable's name.
var assigners = set("export declare typeset readonly local")

// guides are the names of variables that say which program runs, where programs and their code are found, or how they begin.
var guides = regexp.MustCompile(`(?i)^(IFS|ENV|PS[0-4]|CC|CXX|CPP|LD|AR|AS|MAKE|MAKEFILES|VISUAL|BROWSER|INPUTRC|(LD|DYLD|GIT|BASH|SHELL|MALLOC|NPM_CONFIG)_.*)$` +
	`|(PATH|DIRS?|PRELOAD|LIBS?|OPTIONS|OPTS?|ARGS|FLAGS|EDITOR|PAGER|SHELL|COMMAND|CMD|HANDLE|ASKPASS|HOME|ROOT|PREFIX|PROXY|CONFIG|RC|RCFILE|FILES?|STARTUP|INIT|WRAPPER|DRIVER|LOADER|LINKER|RUNNER|INDEX_URL|REGISTRY)$`)

// guidesPrograms reports whether a word assigns a variable that other programs go by.
func guidesPrograms(w word) bool {
	name, _, assigns := strings.Cut(w.text, "=")
	name, _, _ = strings.Cut(strings.TrimSuffix(name, "+"), "[")
	return assigns && guides.MatchString(name)
}

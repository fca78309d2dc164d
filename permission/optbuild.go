package permission

import (
	"regexp"
	"slices"
	"strings"
)

// buildPrograms build, test and run what is in the workspace.
var buildPrograms = map[string]usage{
	"make": {ok: `bmBeikLnpqrRsStvwdhj::l::o:W:O:: --always-make --debug? --environment-overrides --help --ignore-errors --jobs? --keep-going
			--load-average? --just-print --dry-run --old-file= --output-sync? --print-data-base --question --no-builtin-rules
			--silent --quiet --touch --trace --version --print-directory --what-if= --warn-undefined-variables`,
		moves: `C: --directory=`, loads: `f:I:E: --file= --makefile= --include-dir= --eval=`, negates: true},
	"cargo": {ok: `vqhVp:j:F: --verbose --quiet --release --package= --features= --jobs= --test= --bin= --example= --bench= --message-format= --color= --profile= --target=`,
		reads: `--manifest-path=`, writes: `--target-dir= --out-dir= --artifact-dir= --root=`, loads: `Z: --config=`},
	"npm": {ok: `sdgDEOPwphvq --silent --global --save --save-dev --save-exact --workspace= --workspaces --if-present --production --omit= --include= --json --loglevel=`,
		runs: `--script-shell= --shell=`, loads: `C: --prefix= --local-prefix= --dir= --cwd= --node-options= --userconfig= --globalconfig= --git= --editor= --viewer= --npm= --node= --onload-script= --init-module=`, negates: true, either: true},
	"node": {ordered: true, ok: `hivcC: --version --help --check --test --watch --inspect? --trace-warnings --enable-source-maps --max-old-space-size= --conditions=`,
		reads: `--env-file= --icu-data-dir=`, writes: `--cpu-prof --heap-prof --diagnostic-dir= --redirect-warnings= --report-filename=`,
		loads: `e:p::r: --eval= --print? --require= --import= --loader= --experimental-loader= --openssl-config= --test-reporter= --snapshot-blob= --run=`},
	"python": {ordered: true, ends: "m c", ok: `bBdEhiIOPqsSuvVxW:X:m: --version --help --check-hash-based-pycs=`, loads: `c:`},
	"perl":   {ordered: true, ok: `acfhlnpstTuUvVwWXxF:0:: `, writes: `i::`, loads: `e:E:I:M:m:C::D::d::`},
	"ruby":   {ordered: true, ok: `achlnpsvwWF:K:T::0::x:: --version --help`, moves: `C:`, writes: `i::`, loads: `e:r:I:`},
	"php":    {ordered: true, ok: `iqhvmwnlsat:`, loads: `r:B:R:E:F:d:c:z:S:`},
	"lua":    {ordered: true, ok: `vEiW`, loads: `e:l:`},
	"docker": {ordered: true, ok: `Dlvh`, loads: `--config= H: --host=`},
	"ssh":    {ordered: true, ok: `46AaCfGgKkMNnqsTtVvXxYyB:b:c:D:e:J:L:l:m:O:o:p:Q:R:W:w:`, reads: `i:`, writes: `E:`, loads: `F:I:S:P:`},
	"npx":    {ordered: true, ok: `yqp: --yes --no --package=`, loads: `--node-options= --userconfig=`, runs: `c: --call= --shell= --script-shell=`},
}

// makeCheck finds variables that say what make runs.
func makeCheck(r reading, _ command) string {
	for _, o := range r.operands {
		name, value, ok := strings.Cut(o.text, "=")
		runs := strings.HasSuffix(name, "!") || strings.ContainsAny(value, "$`"+string(opaqueMark)) || makeShell[strings.TrimRight(name, ":+?")]
		if ok && runs {
			return "make runs what this variable says"
		}
	}
	return ""
}

var makeShell = set("SHELL .SHELLFLAGS MAKEFLAGS GNUMAKEFLAGS MAKEFILES MAKE .RECIPEPREFIX .ONESHELL MAKESHELL")

var goUsage = usage{strict: true, single: true, inside: true, ends: "args",
	ok: `-a -n -p= -race -msan -asan -cover -covermode= -coverpkg= -v -work -x -asmflags= -buildmode= -buildvcs? -compiler= -gcflags=
		-installsuffix= -ldflags= -linkshared -mod= -modcacherw -tags= -trimpath -json -bench= -benchmem -benchtime= -count= -cpu=
		-failfast -fullpath -fuzz= -fuzztime= -fuzzminimizetime= -list= -parallel= -run= -short -shuffle= -skip= -timeout= -vet= -c -i
		-args -m -f= -e -deps -test -export -find -versions -u? -compiled -retracted -t -d -tool -go= -compat= -diff -module= -require=
		-droprequire= -exclude= -replace= -dropreplace= -dropexclude= -retract= -toolchain= -print -all -cmd -src -s -w -r -h -fix -printf
		-cache -testcache -modcache -fuzzcache -changed -q -sync -use= -dropuse= --help -help --version -unusedresult -composites`,
	reads: `-modfile= -pgo= -reuse= -modroot=`, moves: `-C=`,
	writes: `-o= -cpuprofile= -memprofile= -blockprofile= -mutexprofile= -coverprofile= -trace= -outputdir= -pkgdir= -test.cpuprofile=
		-test.memprofile= -test.blockprofile= -test.mutexprofile= -test.coverprofile= -test.trace= -test.outputdir= -test.gocoverdir=
		-test.testlogfile= -artifacts`,
	loads: `-gccgoflags= -overlay=`, runs: `-exec= -toolexec= -vettool=`}

var goTest, goOther = newOptions(goUsage), newOptions(func() usage {
	u := goUsage
	u.ordered = true
	return u
}())

// goOptions are go's subcommand and the words behind it, with the options they
// are read by. Only go test and vet take options behind operands.
func goOptions(c command) (sub string, table *options, args []word) {
	args = c.words[1:]
	for len(args) > 0 && goMoves.MatchString(args[0].text) {
		glued := strings.Contains(args[0].text, "=")
		args = args[1:]
		if !glued && len(args) > 0 {
			args = args[1:]
		}
	}
	if len(args) == 0 {
		return "", goTest, nil
	}
	sub = args[0].text
	if sub == "test" || sub == "vet" {
		return sub, goTest, args[1:]
	}
	return sub, goOther, args[1:]
}

var goMoves = regexp.MustCompile(`^--?C(=|$)`)

// goHazard says why a wildcard does not cover a go command.
func goHazard(sub string, r reading, c command) string {
	if sub == "env" && r.has("w", "u") {
		return "go env sets what later go commands run"
	}
	// What stands behind -args is the test program's, which writes as go test itself does.
	for _, o := range goTest.read(r.rest).opts {
		if sub == "test" && r.has("args") && strings.HasPrefix(o.name, "test.") && o.use == useWrites && !goTest.free(o) {
			return "go test writes with the option " + shown(o.text) + " of the test's own program"
		}
	}
	r.open = r.open || len(c.words) > 1 && c.words[1].open
	for _, o := range r.opts {
		v := strings.FieldsFunc(o.value.text, func(r rune) bool { return strings.ContainsRune(" \t\n'\"", r) })
		if (o.name == "ldflags" || o.name == "gcflags" || o.name == "asmflags") && o.value.hides() || o.name == "ldflags" && !plainLinking(v) || (o.name == "gcflags" || o.name == "asmflags") && !plainCompiling(v) {
			return "go passes flags on to programs that can execute or write with them"
		}
	}
	return goTest.hazard("go", r)
}

// plainLinking reports whether linker flags only set names and drop symbols.
func plainLinking(flags []string) bool {
	for i := 0; i < len(flags); i++ {
		f := strings.TrimPrefix(flags[i], "all=")
		switch {
		case f == "-X":
			i++
		case f == "-s" || f == "-w" || strings.HasPrefix(f, "-X=") || strings.HasPrefix(f, "-buildid="):
		default:
			return false
		}
	}
	return true
}

// plainCompiling reports whether compiler flags only steer optimisation and
// what is printed.
func plainCompiling(flags []string) bool {
	plain := []string{"-N", "-l", "-m", "-m=2", "-e", "-S", "-B", "-C", "-dwarf=false", "-trimpath"}
	return !slices.ContainsFunc(flags, func(f string) bool {
		_, after, found := strings.Cut(f, "=-")
		return !slices.Contains(plain, f) && !(found && slices.Contains(plain, "-"+after))
	})
}

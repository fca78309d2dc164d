package permission

// textPrograms search, print and rework text.
var textPrograms = map[string]usage{
	"sort": {strict: true,
		ok: `CMRVbcdfghimnrsuzk:t:S:T: --ignore-leading-blanks --dictionary-order --ignore-case --general-numeric-sort
			--ignore-nonprinting --month-sort --human-numeric-sort --numeric-sort --random-sort --reverse --sort= --version-sort
			--batch-size= --check? --debug --key= --merge --stable --buffer-size= --field-separator= --temporary-directory=
			--parallel= --unique --zero-terminated --help --version`,
		reads: `--files0-from= --random-source=`, writes: `o: --output=`, runs: `--compress-program=`},
	"rg": {strict: true,
		ok: `.0FHILNPSUacihlnopqsuvVwxA:B:C:E:M:T:d:e:g:j:m:r:t: --after-context= --before-context= --context= --auto-hybrid-regex
			--block-buffered --byte-offset --case-sensitive --color= --colors= --column --context-separator= --count --count-matches
			--crlf --debug --dfa-size-limit= --encoding= --engine= --field-context-separator= --field-match-separator= --files
			--files-with-matches --files-without-match --fixed-strings --follow --generate= --glob= --glob-case-insensitive --heading
			--help --hidden --hyperlink-format= --iglob= --ignore-case --ignore-file-case-insensitive --include-zero --invert-match
			--json --line-buffered --line-number --line-regexp --max-columns= --max-columns-preview --max-count= --max-depth= --maxdepth=
			--max-filesize= --mmap --multiline --multiline-dotall --no-config --no-filename --no-heading --no-ignore
			--no-ignore-dot --no-ignore-exclude --no-ignore-files --no-ignore-global --no-ignore-messages --no-ignore-parent
			--no-ignore-vcs --no-line-number --no-messages --no-require-git --no-unicode --null --null-data --one-file-system
			--only-matching --passthru --passthrough --path-separator= --pcre2 --pcre2-version --pre-glob= --pretty --quiet --regex-size-limit=
			--regexp= --replace= --smart-case --sort= --sortr= --sort-files --stats --stop-on-nonmatch --text --threads= --trace --trim --type=
			--type-add= --type-clear= --type-list --type-not= --unrestricted --version --vimgrep --with-filename --word-regexp
			--no-pre --no-search-zip --no-hidden --no-follow --no-mmap --no-json --no-stats --no-crlf --no-column --no-multiline --no-pcre2`,
		reads: `f: --file= --ignore-file=`, loads: `z --search-zip`, runs: `--pre= --hostname-bin=`},
	"sed": {strict: true,
		ok:     `Enrsuzbe:l: --quiet --silent --debug --expression= --follow-symlinks --line-length= --posix --regexp-extended --separate --sandbox --unbuffered --null-data --zero-terminated --help --version`,
		writes: `i:: --in-place?`, loads: `f: --file=`},
	"grep": {
		ok: `EFGHILPRTUVZabchilnoqrsvwxyzA:B:C:D:d:e:m:0123456789 --extended-regexp --fixed-strings --basic-regexp --perl-regexp --regexp=
			--ignore-case --no-ignore-case --word-regexp --line-regexp --null-data --no-messages --invert-match --max-count=
			--byte-offset --line-number --line-buffered --with-filename --no-filename --label= --only-matching --quiet --silent
			--binary-files= --text --directories= --devices= --recursive --dereference-recursive --include= --exclude= --exclude-dir=
			--files-without-match --files-with-matches --count --initial-tab --null --before-context= --after-context= --context=
			--group-separator= --no-group-separator --color? --colour? --binary --help --version`,
		reads: `f: --file= --exclude-from=`},
	"man": {strict: true,
		ok: `7DIKVWZacdfhiktuwM:R:L:m:S:s:e:E:r:T:: --debug --default --warnings? --whatis --apropos --global-apropos --where --path
			--location --where-cat --location-cat --recode= --locale= --systems= --manpath= --sections= --extension= --ignore-case
			--match-case --regex --wildcard --names-only --all --update --no-subpages --prompt= --ascii --encoding=
			--no-hyphenation --nh --no-justification --nj --troff --troff-device? --catman --ditroff --help --usage --version`,
		reads: `l --local-file`,
		loads: `C:X::p: --config-file= --preprocessor= --gxditview?`, runs: `H::P: --html? --pager=`},
	"less": {
		ok:     `?aABcCdeEfFgGiIJKLmMnNqQrRsSuUVwWXhxy#b:D:h:j:p:P:t:T:z: --pattern= --quit-if-one-screen --raw-control-chars --RAW-CONTROL-CHARS --chop-long-lines --LINE-NUMBERS --no-init --help --version`,
		writes: `o:O: --log-file= --LOG-FILE=`, loads: `k: --lesskey-file= --lesskey-src=`},
	"more": {ok: `cdefhlpsuVn:0123456789 --silent --logical --exit-on-eof --no-pause --print-over --clean-print --squeeze --plain --lines=`},
	"head": {ok: `qvzc:n:0123456789 --bytes= --lines= --quiet --silent --verbose --zero-terminated --help --version`},
	"tail": {ok: `Fqvzf::c:n:s:0123456789 --bytes= --follow? --lines= --max-unchanged-stats= --pid= --quiet --silent --retry --sleep-interval= --verbose --zero-terminated --help --version`},
	"wc":   {ok: `Lclmw --bytes --chars --lines --max-line-length --words --total= --help --version`, reads: `--files0-from=`},
	"du":   {ok: `0DHLPSabchklmsxB:d:t:X: --max-depth= --exclude= --time? --time-style= --threshold= --block-size=`, reads: `--files0-from= --exclude-from=`},
	"cut":  {ok: `nszb:c:d:f: --bytes= --characters= --delimiter= --fields= --complement --only-delimited --output-delimiter= --zero-terminated`},
	"uniq": {ok: `Dcdiuzf:s:w: --count --repeated --all-repeated? --skip-fields= --group? --ignore-case --skip-chars= --unique --zero-terminated --check-chars=`},
	"diff": {
		ok: `BENTabdeilnpqrstuvwyc::u::C:D:F:I:S:U:W:x: --unified? --context? --brief --recursive --color? --width= --exclude= --label= --tabsize=
			--horizon-lines= --ifdef= --starting-file= --show-function-line= --ignore-matching-lines=`,
		reads: `X: --exclude-from= --from-file= --to-file=`},
	"date": {ok: `I::Rud:s: --date= --iso-8601? --rfc-email --rfc-3339= --set= --utc`, reads: `f:r: --file= --reference=`},
	"jq": {ok: `CMRSaceijnrsL: --arg== --argjson== --args --jsonargs --tab --indent= --raw-output --compact-output --slurp --null-input --exit-status --sort-keys`,
		reads: `f: --from-file= --slurpfile== --rawfile== --argfile==`},
	"yq":     {ok: `eMCnNrPvjI:o:p: --expression= --output-format= --input-format= --indent=`, reads: `--from-file=`, writes: `i s: --inplace --in-place --split-exp=`},
	"awk":    {ordered: true, ok: `F:v: --field-separator= --assign=`, reads: `f:i:E: --file= --include= --exec=`, writes: `d::p::o:: --dump-variables? --profile? --pretty-print?`, loads: `l:e: --load= --source=`},
	"base64": {ok: `diw:b: --decode --ignore-garbage --wrap=`, writes: `o: --output=`},
	"split":  {ok: `deuxa:b:C:l:n:t: --suffix-length= --additional-suffix= --bytes= --line-bytes= --lines= --number= --separator= --numeric-suffixes? --hex-suffixes? --verbose`, runs: `--filter=`},
	"csplit": {ok: `kszb:f:n: --suffix-format= --prefix= --digits= --keep-files --quiet`},
	"shuf":   {ok: `erzi:n: --echo --repeat --zero-terminated --input-range= --head-count=`, reads: `--random-source=`, writes: `o: --output=`},
	"file":   {ok: `0ELNSZbcdhiklnprsvze:F:P: --brief --mime --mime-type --exclude= --separator= --parameter=`, reads: `f:m: --files-from= --magic-file=`, writes: `C --compile`},
	"tree":   {ok: `adfilpsughDFxnCXJNQqrtvcUSAhL:I:P:H:T: --filelimit= --charset= --sort= --timefmt=`, reads: `--fromfile= --gitfile= --infofile=`, writes: `o:`},
	"bat":    {ok: `AnpPudrl:H:m:r: --style= --language= --color= --paging= --theme= --line-range= --tabs= --wrap=`, runs: `--pager=`},
	"fd": {ok: `HIuUsgiFapLl10qhtd:e:E:c:j:S: --hidden --no-ignore --glob --type= --extension= --exclude= --max-depth= --min-depth= --exact-depth= --color= --size= --changed-within= --changed-before= --absolute-path --follow --full-path --print0 --threads= --max-results= --quiet`,
		reads: `--ignore-file=`, moves: `C: --base-directory=`, runs: `x;X; --exec; --exec-batch;`},
	"find": {strict: true, single: true,
		ok: `-H -L -P -D= -O0 -O1 -O2 -O3 -a -and -o -or -not -daystart -depth -d -follow -ignore_readdir_race -noignore_readdir_race
			-maxdepth= -mindepth= -mount -noleaf -regextype= -xdev -warn -nowarn -help -version -amin= -anewer= -atime= -cmin= -cnewer=
			-ctime= -empty -executable -false -fstype= -gid= -group= -ilname= -iname= -inum= -ipath= -iregex= -iwholename= -links=
			-lname= -mmin= -mtime= -name= -newer= -newerXY= -newermt= -newerct= -newerat= -newermm= -newerBt= -nogroup -nouser -path= -perm= -readable -regex=
			-samefile= -size= -true -type= -uid= -used= -user= -wholename= -writable -xtype= -context= -ls -print -print0 -printf=
			-prune -quit -E -X -s -x --help --version`,
		reads: `-files0-from=`, writes: `-delete -fprint= -fprint0= -fprintf== -fls=`,
		runs: `-exec; -execdir; -ok; -okdir;`},
	"openssl": {single: true, reads: `-in= -inkey= -key= -CAfile= -cert= -kfile= -config=`, writes: `-out= -writerand= -keyout=`, loads: `-engine= -provider= -provider-path=`},
	"gpg":     {ok: `abcdekqrsvu:r: --armor --verbose --recipient= --local-user=`, writes: `o: --output= --log-file=`, loads: `--options= --exec-path= --keyserver-options=`, runs: `--photo-viewer= --agent-program= --dirmngr-program=`},
	"mapfile": {ok: `td:n:O:s:u:c:`, runs: `C:`}, "readarray": {ok: `td:n:O:s:u:c:`, runs: `C:`},
	"compgen": {ok: `abcdefgjksuvo:A:G:P:S:X:`, loads: `W:F:`, runs: `C:`}, "complete": {ok: `abcdefgjksuvprDEIo:A:G:P:S:X:`, loads: `W:F:`, runs: `C:`},
	"bind": {ok: `lpPsSvVm:q:u:r:`, loads: `x:f:`}, "enable": {ok: `adnps`, loads: `f:`}, "hash": {ok: `lrdt`, loads: `p:`},
	"xargs": {ordered: true,
		ok: `0oprtxI:J:L:P:R:d:E:n:s:S:e::i::l:: --null --delimiter= --eof? --replace? --max-lines? --max-args= --open-tty
			--max-procs= --interactive --process-slot-var= --no-run-if-empty --max-chars= --show-limits --verbose --exit`,
		reads: `a: --arg-file=`},
}

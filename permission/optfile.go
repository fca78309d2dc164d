package permission

// filePrograms copy, pack, change and send files.
var filePrograms = map[string]usage{
	"tar": {strict: true, bundled: true,
		ok: `ABGJOPRSUWZacdhijklmnoprstuvwxzb:f:H:K:L:N:V: --catenate --concatenate --create --delete --diff --compare --append --test-label
			--list --update --extract --get --check-device --hole-detection= --ignore-failed-read --incremental
			--level= --seek --occurrence? --sparse-version= --sparse --exclude= --exclude-backups --exclude-caches
			--exclude-caches-all --exclude-caches-under --exclude-ignore= --exclude-ignore-recursive= --exclude-tag= --exclude-tag-all=
			--exclude-tag-under= --exclude-vcs --exclude-vcs-ignores --null --recursion --unquote
			--verbatim-files-from --anchored --ignore-case --wildcards --wildcards-match-slash
			--keep-directory-symlink --keep-newer-files --keep-old-files --no-overwrite-dir --one-top-level? --overwrite
			--overwrite-dir --recursive-unlink --skip-old-files --unlink-first --verify --ignore-command-error
			--to-stdout --atime-preserve? --clamp-mtime --delay-directory-restore --group= --mode= --mtime=
			--touch --numeric-owner --owner= --preserve-permissions --same-permissions
			--same-owner --sort= --preserve-order --same-order --acls --selinux --xattrs
			--xattrs-exclude= --xattrs-include= --force-local --file= --tape-length= --blocking-factor= --read-full-records
			--ignore-zeros --record-size= --format= --old-archive --portability --pax-option= --posix --label= --auto-compress --bzip2
			--xz --lzip --lzma --lzop --zstd --gzip --gunzip --ungzip --compress --uncompress --backup?
			--hard-dereference --dereference --starting-file= --newer-mtime= --newer= --after-date= --one-file-system --absolute-names
			--suffix= --strip-components= --transform= --xform= --checkpoint? --full-time --check-links --quote-chars=
			--quoting-style= --block-number --show-defaults --show-omitted-dirs --show-transformed-names
			--show-stored-names --totals? --utc --verbose --warning= --interactive --confirmation --help --restrict --usage --version`,
		negates: true, moves: `C: --directory=`, reads: `X: --exclude-from= --add-file= --group-map= --owner-map=`,
		writes: `g: --listed-incremental= --index-file= --volno-file= --remove-files`,
		loads:  `MT: --checkpoint-action= --multi-volume --files-from=`,
		runs:   `F:I: --to-command= --use-compress-program= --rmt-command= --rsh-command= --info-script= --new-volume-script=`},
	"cp": {ok: `HLPRTZabdfilnprsuvxS: --archive --backup? --force --interactive --link --dereference --no-clobber --no-dereference --preserve?
			--no-preserve= --parents --recursive --reflink? --remove-destination --sparse= --symbolic-link --suffix= --no-target-directory
			--update? --verbose --one-file-system --context?`, writes: `t: --target-directory=`},
	"mv": {ok: `TZbfinuvS: --backup? --force --interactive --no-clobber --strip-trailing-slashes --suffix= --no-target-directory --update? --verbose`,
		writes: `t: --target-directory=`},
	"install": {ok: `CDTZbcdpsvg:m:o:S: --backup? --compare --directory --group= --mode= --owner= --preserve-timestamps --strip --suffix= --no-target-directory --verbose`,
		writes: `t: --target-directory=`, runs: `--strip-program=`},
	"ln": {ok: `FLPTbdfinrsvS: --backup? --directory --force --interactive --logical --no-dereference --physical --relative --symbolic
			--suffix= --no-target-directory --verbose`, writes: `t: --target-directory=`},
	"rm":       {ok: `IRdfirv --force --interactive? --one-file-system --recursive --dir --verbose --preserve-root? --no-preserve-root`},
	"tee":      {ok: `aip --append --ignore-interrupts --output-error?`},
	"touch":    {ok: `acfhmd:t: --no-create --date= --no-dereference --time=`, reads: `r: --reference=`},
	"mkdir":    {ok: `Zpvm: --mode= --parents --verbose --context?`},
	"truncate": {ok: `cos: --no-create --io-blocks --size=`, reads: `r: --reference=`},
	"chmod":    {ok: `Rcfv --changes --silent --quiet --verbose --recursive`, reads: `--reference=`},
	"chown":    {ok: `HLPRcfhv --changes --silent --quiet --verbose --recursive --from= --no-dereference`, reads: `--reference=`},
	"chgrp":    {ok: `HLPRcfhv --changes --silent --quiet --verbose --recursive --no-dereference`, reads: `--reference=`},
	"patch": {ok: `ENRTbceflnstuvZB:D:F:V:Y:g:p:z: --dry-run --reverse --forward --strip= --batch --force --verbose --binary --posix --merge`,
		moves: `d: --directory=`, reads: `i: --input=`, writes: `o:r: --output= --reject-file=`},
	"zip": {ok: `0123456789@ADEFJLRSXcdefgjklmnopqruvwxyzb:i:n:P:s:t:x: --recurse-paths --exclude= --include= --quiet --junk-paths --encrypt --password=`,
		writes: `O: --out= --output-file= --logfile-path=`, loads: `T --test`, runs: `--unzip-command=`},
	"unzip": {ok: `CDJKLUVWXZabcflMnopqstuvxP:`, writes: `d:`},
	"gzip":  {ok: `123456789cdfhklnNqrtvS: --stdout --decompress --force --keep --list --quiet --recursive --suffix= --test --verbose --fast --best`},
	"zstd":  {ok: `123456789cdfhklqrtvT::M::B::b::e::i:: --stdout --decompress --force --keep`, reads: `D: --filelist= --patch-from=`, writes: `o: --output-dir-flat= --output-dir-mirror= --trace= --rm`},
	"rsync": {ok: `0468ACDEFHIJKLNOPRSUWXabcdghiklmnopqrstuvxyzB:@:f: --verbose --quiet --checksum --archive --recursive --relative --backup --suffix= --update
			--inplace --append --dirs --links --copy-links --perms --executability --chmod= --owner --group --devices --times --sparse
			--dry-run --whole-file --one-file-system --block-size= --existing --ignore-existing --remove-source-files --del --delete
			--delete-before --delete-during --delete-delay --delete-after --delete-excluded --max-delete= --max-size= --min-size=
			--partial --prune-empty-dirs --numeric-ids --usermap= --groupmap= --chown= --timeout= --contimeout= --size-only
			--compress --compress-choice= --compress-level= --skip-compress= --cvs-exclude --filter= --exclude= --include= --from0
			--address= --port= --sockopts= --outbuf= --stats --human-readable --progress --itemize-changes --out-format= --bwlimit=
			--list-only --protocol= --iconv= --checksum-seed= --ipv4 --ipv6 --version --help --info= --debug= --mkpath`,
		reads:  `--exclude-from= --include-from= --files-from= --password-file= --compare-dest= --copy-dest= --link-dest= --read-batch= --early-input=`,
		writes: `T: --log-file= --write-batch= --only-write-batch= --backup-dir= --partial-dir= --temp-dir=`,
		loads:  `M: --remote-option= --config= --dparam=`, runs: `e: --rsh= --rsync-path=`, negates: true},
	"scp":  {ok: `346ABCOpqrRTvc:l:P:s:X:`, reads: `i:`, loads: `F:J:o:`, runs: `D:S:`},
	"sftp": {ok: `46AaCfNpqrvB:c:l:P:R:s:X:`, reads: `b:i:`, loads: `F:J:o:`, runs: `D:S:`},
	"vim":  {ok: `behnNrvyZRmMlp::o::O:: --clean --noplugin --help --version`, writes: `w:W:`, loads: `c:S:s:u:U:i:T: --cmd= --startuptime=`},
	"ex":   {ok: `rvRsn`, writes: `w:`, loads: `c:S:u:`},
	"gdb":  {single: true, ok: `-batch -nx -n -q -b= -p= -quiet -args -pid=`, moves: `-cd=`, reads: `-c= -core= -symbols= -se=`, loads: `-ex= -iex= -x= -ix= -command= -eval-command= -init-command= -init-eval-command=`},
}

package permission

import "strings"

// gitDiffs are the options of everything that shows differences.
const gitDiffs = `0123456789DRWabcmprstuwzB::C::M::X::U::G:I:L:S:l:n: --patch --unified? --raw --patch-with-raw --patch-with-stat --numstat --shortstat --dirstat?
	--cumulative --dirstat-by-file? --check --summary --name-only --name-status --stat? --stat-width= --stat-name-width= --stat-count=
	--stat-graph-width= --compact-summary --binary --color? --ws-error-highlight= --abbrev? --src-prefix= --dst-prefix= --line-prefix=
	--inter-hunk-context= --output-indicator-new= --output-indicator-old= --output-indicator-context= --break-rewrites? --find-renames?
	--irreversible-delete --find-copies? --find-copies-harder --rename-empty --follow --minimal --ignore-all-space --ignore-space-change
	--ignore-space-at-eol --ignore-cr-at-eol --ignore-blank-lines --ignore-matching-lines= --indent-heuristic --patience --histogram
	--diff-algorithm= --anchored= --word-diff? --word-diff-regex= --color-words? --color-moved? --color-moved-ws= --relative? --text
	--exit-code --quiet --textconv --ignore-submodules? --submodule? --ita-invisible-in-index --ita-visible-in-index --pickaxe-all
	--pickaxe-regex --rotate-to= --skip-to= --find-object= --diff-filter= --full-index --function-context --no-index --cached --staged
	--merge-base --base --ours --theirs --renames --prefix --no-prefix --no-renames --ext-grep --default-prefix`

// gitLogs are the options of everything that walks commits, besides gitDiffs.
const gitLogs = `EFPcgimqvz --oneline --graph --decorate? --all --branches? --tags? --remotes? --glob= --exclude= --max-count= --skip= --since=
	--after= --until= --before= --since-as-filter= --author= --committer= --grep= --grep-reflog= --all-match --invert-grep --regexp-ignore-case
	--basic-regexp --extended-regexp --fixed-strings --perl-regexp --remove-empty --merges --no-merges --min-parents? --max-parents?
	--first-parent --exclude-first-parent-only --not --ignore-missing --bisect --stdin --cherry-mark --cherry-pick --left-only --right-only --cherry --walk-reflogs
	--merge --boundary --simplify-by-decoration --show-pulls --full-history --dense --sparse --simplify-merges --ancestry-path?
	--date-order --author-date-order --topo-order --reverse --no-walk? --do-walk --pretty? --format? --abbrev-commit --encoding= --expand-tabs?
	--notes? --show-notes? --show-signature --relative-date --date= --parents --children --left-right --mailmap --use-mailmap --log-size
	--source --decorate-refs= --decorate-refs-exclude= --clear-decorations --full-diff --cc --combined-all-paths --show-linear-break?
	--diff-merges= --remerge-diff --show-trees --objects --objects-edge --count --disk-usage? --timestamp --header --unpacked
	--use-bitmap-index --filter? --numbered --email --group= --oid --reflog --max-age= --min-age=`

const (
	gitRevisions = gitDiffs + " " + gitLogs
	gitWrites    = `--output=`
	gitExternal  = `O:: --ext-diff`
	gitFetches   = `46PS::X:afhj:kmno:pqrstuvz --verbose --quiet --all --set-upstream --append --atomic --force --multiple --tags --jobs? --prefetch --prune
		--prune-tags --recurse-submodules? --dry-run --write-fetch-head --keep --update-head-ok --progress --depth= --shallow-since= --shallow-exclude=
		--deepen= --unshallow --refetch --update-shallow --refmap= --server-option= --ipv4 --ipv6 --negotiation-tip= --negotiate-only --filter=
		--auto-maintenance --auto-gc --show-forced-updates --write-commit-graph --stdin --heads --refs --get-url --sort= --exit-code --symref`
	gitCommits = `aehinopqsvxzC:F:S::X:c:m:t:u:: --quiet --verbose --author= --date= --message= --reedit-message= --reuse-message= --fixup? --squash? --reset-author
		--trailer= --signoff --edit --cleanup= --status --gpg-sign? --all --include --interactive --patch --only --dry-run --short --branch
		--ahead-behind --porcelain? --long --null --amend --untracked-files? --pathspec-from-file= --pathspec-file-nul --allow-empty
		--allow-empty-message --verify --post-rewrite --file= --mainline= --continue --abort --skip --quit --strategy-option= --ff --ff-only
		--keep-redundant-commits --commit --reference --rerere-autoupdate --stat --log? --verify-signatures --into-name= --summary --autostash
		--allow-unrelated-histories --progress --overwrite-ignore`
	gitWorktrees = `1234BbCcdDefilmnNopqstuUvwWxXz --guess --overlay --quiet --recurse-submodules? --progress --merge --conflict= --detach --track? --force
		--orphan= --overwrite-ignore --ignore-other-worktrees --ours --theirs --patch --ignore-skip-worktree-bits --pathspec-from-file=
		--pathspec-file-nul --create= --force-create= --discard-changes --source= --staged --worktree --ignore-unmerged --mixed --soft --hard
		--keep --intent-to-add --refresh --dry-run --verbose --interactive --edit --update --renormalize --all --ignore-removal
		--ignore-errors --ignore-missing --sparse --chmod= --cached --ignore-unmatch --exclude= --include-untracked --message= --index
		--keep-index --short --branch --show-stash --ahead-behind --porcelain? --long --null --untracked-files? --ignored? --ignore-submodules?
		--column? --find-renames? --renames`
	gitRefs = `CDMacdefilmnqrstuvFI --verbose --quiet --track? --set-upstream-to= --unset-upstream --color? --remotes --contains? --abbrev? --all
		--delete --move --copy --list --show-current --create-reflog --force --merged? --column? --sort= --points-at= --ignore-case
		--recurse-submodules --format= --set-upstream --with? --without? --no-contains? --no-merged? --annotate --message= --sign --cleanup=
		--local-user= --verify --file= --edit --count= --shell --perl --python --tcl --heads --tags --head --dereference --hash? --exclude-existing? --short --symbolic
		--recurse --omit-empty --stdin --long --first-parent --exact-match --candidates= --match= --exclude= --always --dirty? --broken? --debug`
)

// gluedValues has long options take a value only in the same word: what one
// subcommand reads as a value, another reads as an option.
func gluedValues(text string) string { return strings.ReplaceAll(text, "=", "?") }

// gitEdits have a subcommand open an editor where it does not otherwise, and which one a setting of the repository says.
const gitEdits = `e --edit`

// gitPrograms are git's subcommands with options that execute or write, and the
// daily ones.
var gitPrograms = func() map[string]usage {
	out := map[string]usage{}
	add := func(names string, u usage) {
		u.negates = true
		for name := range set(names) {
			out[name] = u
		}
	}
	add("log show diff diff-tree diff-index diff-files whatchanged reflog rev-list range-diff shortlog stash blame annotate format-patch cherry show-branch name-rev",
		usage{strict: true, ok: gluedValues(gitRevisions + ` --root --no-commit-id --creation-factor= --include-untracked --only-untracked --index --message= --keep-index --numbered-files
			--stdout --cover-letter --suffix= --start-number= --reroll-count= --subject-prefix= --keep-subject --to= --cc= --from? --in-reply-to=
			--attach? --inline? --thread? --signature= --base= --rfc --zero-commit --interdiff= --range-diff= --signoff --ignore-if-in-upstream
			--porcelain --line-porcelain --incremental --show-email --show-name --show-number --show-stats --score-debug --ignore-rev=
			--contents= --ignore-revs-file= --color-lines --color-by-age --progress --expire= --updateref --rewrite --stale-fix --single-worktree
			--list --current --sha1-name --independent --topics --more? --include --all-progress --summary --committer --name-only`),
			writes: gitWrites, loads: gitExternal})
	for _, sub := range []string{"stash", "blame", "annotate", "format-patch", "shortlog"} {
		u := out[sub]
		u.ok += " kefhMNnsw"
		if sub == "format-patch" {
			u.writes += " o: --output-directory="
		}
		out[sub] = u
	}
	add("grep", usage{strict: true, ok: `0123456789EFGHILNPWachilnopqrvwze:f:m:A:B:C: --cached --no-index --untracked --exclude-standard --recurse-submodules --invert-match --ignore-case
			--word-regexp --text --textconv --recursive --max-depth= --extended-regexp --basic-regexp --fixed-strings --perl-regexp
			--line-number --column --full-name --files-with-matches --name-only --files-without-match --null --only-matching --count --color?
			--break --heading --context= --before-context= --after-context= --threads= --show-function --function-context --and --or --not
			--quiet --all-match --max-count= --index --ext-grep`, runs: `O:: --open-files-in-pager?`})
	add("fetch ls-remote push pull", usage{strict: true, ok: gitFetches + ` --rebase? --stat --log? --signoff? --squash --commit --edit --cleanup= --ff --ff-only
			--verify --verify-signatures --autostash --strategy-option= --gpg-sign? --allow-unrelated-histories --summary --repo= --mirror --delete
			--porcelain --force-with-lease? --force-if-includes --thin --follow-tags --signed? --push-option= d --tags --prune`,
		loads: `--strategy=`, runs: `--upload-pack= --receive-pack= --exec=`})
	pull := out["pull"]
	pull.loads += " s:"
	out["pull"] = pull
	add("clone", usage{strict: true, ok: `46lnqsvhb:j:o: --verbose --quiet --progress --reject-shallow --no-checkout --bare --mirror --local --hardlinks --shared
			--recurse-submodules? --recursive? --jobs= --reference= --reference-if-able= --dissociate --origin= --branch= --depth=
			--shallow-since= --shallow-exclude= --single-branch --tags --shallow-submodules --server-option= --ipv4 --ipv6 --filter=
			--also-filter-submodules --remote-submodules --sparse --checkout`,
		writes: `--separate-git-dir=`, loads: `c: --template= --config= --bundle-uri=`, runs: `u: --upload-pack=`})
	add("init", usage{strict: true, ok: `qhb: --bare --shared? --quiet --initial-branch= --object-format= --ref-format=`, writes: `--separate-git-dir=`, loads: `--template=`})
	add("archive", usage{strict: true, ok: gluedValues(`0123456789lvh --format= --prefix= --verbose --list --worktree-attributes --add-virtual-file= --mtime=`),
		reads: `--add-file?`, writes: `o: --output=`, loads: `--remote=`, runs: `--exec=`})
	add("rebase", usage{strict: true, ok: `Cfikmnqrsvh --onto= --keep-base --quiet --verbose --signoff --ignore-whitespace --whitespace= --force-rebase --continue --skip
			--abort --quit --edit-todo --show-current-patch --apply --merge --interactive --rerere-autoupdate --empty= --autosquash --update-refs
			--gpg-sign? --autostash --rebase-merges? --fork-point --strategy-option= --root --reschedule-failed-exec
			--reapply-cherry-picks --ignore-date --committer-date-is-author-date --reset-author-date --keep-empty --allow-empty-message --verify --stat --ff X: S::`,
		loads: `--strategy=`, runs: `x: --exec=`})
	add("difftool", usage{strict: true, ok: gitDiffs + ` dgy --gui --dir-diff --prompt --symlinks --tool-help --trust-exit-code`, writes: gitWrites,
		loads: `O:t: --ext-diff --tool=`, runs: `x: --extcmd=`})
	add("mergetool", usage{strict: true, ok: `gyh --gui --prompt --tool-help`, reads: `O::`, loads: `t: --tool=`})
	add("commit cherry-pick revert", usage{ok: gitCommits, loads: `--strategy=`})
	add("merge", usage{ok: gitCommits, loads: `s: --strategy=`})
	add("help", usage{strict: true, ok: `acghv --all --guides --config --verbose --aliases --external-commands --user-interfaces --developer-interfaces`, loads: `imw --web --info --man`})
	add("add status checkout switch restore reset rm mv clean", usage{ok: gitWorktrees})
	add("branch tag for-each-ref show-ref symbolic-ref describe", usage{ok: gitRefs})
	add("apply am", usage{ok: `3CNRciklmqrsuvp: --stat --numstat --summary --check --index --cached --reverse --verbose`, writes: `--build-fake-ancestor= --unsafe-paths`})
	add("read-tree", usage{writes: `--index-output=`})
	add("fast-export", usage{writes: `--export-marks=`, reads: `--import-marks= --import-marks-if-exists=`})
	add("checkout-index", usage{ok: `afqnu`, writes: `--prefix=`})
	add("config", usage{loads: gitEdits, ok: `lztf: --get --get-all --get-regexp --list --global --system --local --worktree --type= --name-only --show-origin --show-scope --default=`})
	add("replace", usage{loads: gitEdits, ok: `dfl --list --delete --force --format= --raw --graft --convert-graft-file`})
	branch := out["branch"]
	branch.loads = `--edit --edit-description`
	out["branch"] = branch
	add("mailsplit", usage{writes: `o:`})
	add("interpret-trailers", usage{ok: `--parse --trailer= --where= --if-exists= --if-missing=`, writes: `--in-place`})
	add("send-pack fetch-pack", usage{runs: `--exec= --upload-pack= --receive-pack=`})
	add("svn", usage{loads: `--config-dir=`, reads: `A: --authors-file=`, runs: `--authors-prog=`})
	return out
}()

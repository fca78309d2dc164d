package permission

import (
	"net/url"
	"slices"
	"strings"
)

// manyOptions are programs with options that name files to read and write in
// many spellings: besides what is known of them, every argument is a guess.
var manyOptions = set(`cp mv install ln rsync scp sort uniq tar bsdtar zip 7z split csplit openssl gpg vi vim view nvim nano emacs ed
	ex code shuf iconv xxd awk gawk mawk nawk jq yq gzip bzip2 xz zstd patch dd`)

// findTouches: -delete writes below the starting points.
func (s *script) findTouches(r reading, dirs cwd) []touch {
	if !r.has("delete") {
		return nil
	}
	var out []touch
	starts := slices.DeleteFunc(slices.Clone(r.operands), func(a word) bool { return strings.Contains("(!),", a.text) })
	if len(starts) == 0 {
		starts = []word{plainWord(".")}
	}
	for _, o := range starts {
		out = append(out, s.touch(o, dirs, true, true, false)...)
	}
	return out
}

func (s *script) ddTouches(args []word, dirs cwd) []touch {
	var out []touch
	for _, a := range args {
		name, file, _ := strings.Cut(a.text, "=")
		if w := plainWord(file); name == "if" || name == "of" {
			w.tilde = strings.HasPrefix(file, "~") // the shell takes the word for an assignment
			out = append(out, s.touch(w, dirs, name == "of", false, false)...)
		}
	}
	return out
}

// takesNames are the programs that open what their standard input names.
var takesNames = set("cpio sftp ftp lftp git pax")

// maxGuesses bounds the arguments that are looked at one by one; with more the
// command counts as able to touch anything.
const maxGuesses = 200

// guesses are for programs nobody listed: an argument that names a denied file
// makes the call ask.
func (s *script) guesses(args []word, dirs cwd) []touch {
	var out []touch
	for i, a := range args {
		if i == maxGuesses || strings.HasPrefix(foldString(a.text), "file:") && strings.ContainsAny(a.text, "{[") {
			// Too many to look at, or a URL that curl multiplies.
			any := target{shown: "…", glob: sequence{{op: opDeep}}, loose: true}
			return append(out, touch{target: any}, touch{write: true, target: any})
		}
		s.places.work.spend(len(a.text) / 8)
		for _, text := range fileNames(a.text) {
			if strings.ContainsRune(text, opaqueMark) || text == "" || text[0] == '-' {
				continue
			}
			w := plainWord(text)
			w.tilde = strings.HasPrefix(text, "~")
			out = append(out, s.touch(w, dirs, false, false, true)...)
			out = append(out, s.touch(w, dirs, true, false, true)...)
		}
	}
	return out
}

// fileNames are the pieces of an argument that may name a file: the whole, what
// follows = @ : or a comma or stands between two of them, what is glued to an option's letter, the path of a
// file URL, and in a short script its words.
func fileNames(arg string) []string {
	if words := strings.FieldsFunc(arg, func(r rune) bool { return strings.ContainsRune(" \t\n;\"'<>(){}|`", r) }); len(words) > 1 || len(words) == 1 && words[0] != arg {
		out := []string{arg}
		for _, f := range words[:min(len(words), 40)] {
			out = append(out, fileNames(f)...)
		}
		return out
	}
	before, _, _ := strings.Cut(arg, ":")
	out := append([]string{arg, before, afterAny(arg, "=@:"), afterAny(arg, ",")}, listPieces(arg)...)
	if at := strings.IndexAny(arg, "rwRW"); at >= 0 && strings.Trim(arg[:at], "0123456789,$") == "" {
		out = append(out, arg[at+1:]) // what sed's r and w name
	}
	if len(arg) > 2 && arg[0] == '-' && arg[1] != '-' {
		for at := 2; at < min(len(arg), 6); at++ {
			out = append(out, strings.ToValidUTF8(arg[at:], ""))
		}
	}
	if rest, ok := strings.CutPrefix(foldString(arg), "file:"); ok {
		out = append(out, fileURL(arg[len(arg)-len(rest):]))
	}
	return out
}

// maxPieces bounds the pieces of one argument.
const maxPieces = 16

// listPieces are the values of an argument such as type=bind,src=a,dst=b.
func listPieces(arg string) []string {
	pieces := strings.FieldsFunc(arg, func(r rune) bool { return strings.ContainsRune("=@:,", r) })
	if len(pieces) < 3 {
		return nil // they are the ends
	}
	return pieces[1:min(len(pieces), maxPieces)]
}

// fileURL is the path of a file URL after its scheme.
func fileURL(rest string) string {
	if after, ok := strings.CutPrefix(rest, "//"); ok {
		if at := strings.IndexByte(after, '/'); at >= 0 {
			rest = after[at:]
		}
	}
	if plain, err := url.PathUnescape(rest); err == nil {
		rest = plain
	}
	return rest
}

func afterAny(s, cut string) string {
	if i := strings.LastIndexAny(s, cut); i >= 0 {
		return s[i+1:]
	}
	return ""
}

// optionGuesses are guesses about what stands in options or right after one.
func (s *script) optionGuesses(args []word, dirs cwd) []touch {
	var near []word
	for i, a := range args {
		if a.text == "--" {
			break
		}
		if i > 0 && (args[i-1].text == "-m" || args[i-1].text == "--message") {
			continue
		}
		if strings.HasPrefix(a.text, "-") || i > 0 && strings.HasPrefix(args[i-1].text, "-") && !strings.Contains(a.text, " ") {
			near = append(near, a)
		}
	}
	return s.guesses(near, dirs)
}

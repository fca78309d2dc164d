package permission

import (
	"slices"
	"strings"
)

// use is what an option does, as far as rules care. The order is by weight:
// where an abbreviation could mean several options, the heaviest counts.
type use uint8

const (
	useNothing use = iota
	useReads       // reads the file it names
	useMoves       // works in the directory it names
	useSends       // reads the file it names and sends it away
	useWrites      // writes the file it names, or a file
	useLoads       // executes code or a file that it names, or something
	useRuns        // runs the program or shell command it names
	useUnknown     // no option of the program, as far as is known
)

// usage is a program's options by what they do, each in getopt's notation:
// a word of letters is a set of short options, where a colon after a letter
// means a value and two colons a value that can only be glued on; --name and
// -name are long options, which end in = for a value (== for two), in ? for
// one that can only be glued on, and in ; for words up to a semicolon, as a
// letter may.
type usage struct {
	ok, reads, moves, sends, writes, loads, runs string
	// strict: an option that is not listed can't be read, so that no wildcard
	// covers it. Without it, such an option is taken for a flag.
	strict bool
	// single: long options take one dash and are not abbreviated.
	single bool
	// either: a word of one dash that is a long option's name, or the beginning of one, is that option, as npm has it.
	either bool
	// ordered: the first operand ends the options.
	ordered bool
	// ends are the options behind which everything belongs to someone else.
	ends string
	// negates: --no-NAME undoes a long option.
	negates bool
	// inside: writing a file that is named relative to the directory, and not
	// above it, is no more than the program does anyway.
	inside bool
	// bundled: the first word is options even without a dash, as tar has it.
	bundled bool
}

// arity is how many values an option takes.
type arity uint8

const (
	takesNone arity = iota
	takesOne
	takesTwo
	takesGlued // at most one, in the same word
	takesList  // words up to a semicolon, or to {} +
)

type optionSpec struct {
	name  string
	takes arity
	use   use
}

// options is a usage made ready for reading.
type options struct {
	usage
	letters map[rune]optionSpec
	long    map[string]optionSpec
	names   []string // of long, sorted
}

func newOptions(u usage) *options {
	o := &options{usage: u, letters: map[rune]optionSpec{}, long: map[string]optionSpec{}}
	o.add(u.ok, useNothing)
	o.add(u.reads, useReads)
	o.add(u.moves, useMoves)
	o.add(u.sends, useSends)
	o.add(u.writes, useWrites)
	o.add(u.loads, useLoads)
	o.add(u.runs, useRuns)
	for name := range o.long {
		o.names = append(o.names, name)
	}
	slices.Sort(o.names)
	return o
}

func (o *options) add(text string, u use) {
	for f := range strings.FieldsSeq(text) {
		if f[0] != '-' {
			o.addLetters([]rune(f), u)
			continue
		}
		name := strings.TrimRight(f, "=?;")
		takes := map[string]arity{"": takesNone, "=": takesOne, "==": takesTwo, "?": takesGlued, ";": takesList}[f[len(name):]]
		name = strings.TrimLeft(name, "-")
		o.long[name] = optionSpec{name, takes, u}
	}
}

func (o *options) addLetters(rs []rune, u use) {
	for i := 0; i < len(rs); i++ {
		s := optionSpec{name: string(rs[i]), use: u}
		for i+1 < len(rs) && rs[i+1] == ':' {
			i++
			s.takes = map[arity]arity{takesNone: takesOne, takesOne: takesGlued}[s.takes]
		}
		if i+1 < len(rs) && rs[i+1] == ';' {
			i++
			s.takes = takesList
		}
		o.letters[[]rune(s.name)[0]] = s
	}
}

// option is one option that was read.
type option struct {
	optionSpec
	text  string // as written
	given bool   // there is a value
	value word
	list  []word // the words of takesList, and the second of takesTwo
}

// reading is what a program's arguments come to.
type reading struct {
	opts     []option
	operands []word
	// rest are the words from the first operand on, for programs whose options
	// end there.
	rest []word
	// ended: a -- ended the options.
	ended bool
	// open: some word is only known at run time and could be an option.
	open bool
}

// has reports whether one of the options was given, by its letter or name.
func (r reading) has(names ...string) bool {
	return slices.ContainsFunc(r.opts, func(o option) bool { return slices.Contains(names, o.name) })
}

// read reads arguments as the program does.
func (o *options) read(args []word) reading {
	r := reader{options: o, args: args}
	if o.bundled && len(args) > 0 && args[0].text != "" && args[0].text[0] != '-' {
		r.bundle()
	}
	for r.at < len(args) {
		a := args[r.at]
		r.at++
		switch {
		case a.text == "--" && !o.single:
			r.operands = append(r.operands, args[r.at:]...)
			r.rest, r.ended = args[r.at:], true
			return r.reading
		case a.split || a.open:
			r.open = true
			r.operands = append(r.operands, a)
		case strings.HasPrefix(a.text, "--") || o.single && len(a.text) > 1 && a.text[0] == '-' || o.either && o.longNamed(a.text):
			r.longOption(a)
		case len(a.text) > 1 && a.text[0] == '-':
			r.cluster(a, 1)
		default:
			r.operands = append(r.operands, a)
		}
		if o.ordered && len(r.operands) > 0 {
			r.rest = args[r.at-1:]
			r.operands = r.rest
			return r.reading
		}
		if n := len(r.opts); o.ends != "" && n > 0 && slices.Contains(strings.Fields(o.ends), r.opts[n-1].name) {
			r.operands = append(r.operands, args[r.at:]...)
			r.rest = args[r.at:]
			return r.reading
		}
	}
	return r.reading
}

type reader struct {
	*options
	reading
	args []word
	at   int
}

// next is the following word as a value. A word that the shell may split can
// bring options along.
func (r *reader) next() (word, bool) {
	if r.at >= len(r.args) {
		return word{}, false
	}
	r.at++
	v := r.args[r.at-1]
	r.open = r.open || v.split || v.open && v.glob
	return v, true
}

func (r *reader) take(spec optionSpec, text string) {
	o := option{optionSpec: spec, text: text}
	switch spec.takes {
	case takesOne:
		o.value, o.given = r.next()
	case takesTwo:
		o.value, o.given = r.next()
		if second, ok := r.next(); ok {
			o.list = []word{second}
		}
	case takesList:
		from := r.at
		for r.at < len(r.args) && !(r.args[r.at].text == ";" || r.args[r.at].text == "+" && r.at > from && r.args[r.at-1].text == "{}") {
			r.at++
		}
		o.list = r.args[from:r.at]
		r.at = min(r.at+1, len(r.args))
	case takesNone, takesGlued:
	}
	r.opts = append(r.opts, o)
}

// tail is a word from one of its bytes on.
func (w word) tail(at int) word {
	out := w
	out.text, out.tilde = w.text[at:], false
	if !w.sure() {
		out.possible = sequence{{op: opDeep}}
	}
	return out
}

func (r *reader) longOption(a word) {
	name, _, glued := strings.Cut(a.text, "=")
	if strings.ContainsRune(name, opaqueMark) || a.glob && strings.ContainsAny(name, "*?[") {
		r.open = true
		return
	}
	spec := r.named(strings.TrimLeft(name, "-"))
	if !glued {
		r.take(spec, a.text)
		return
	}
	r.opts = append(r.opts, option{optionSpec: spec, text: a.text, given: true, value: a.tail(len(name) + 1)})
}

// longNamed reports whether a word of one dash is a long option nevertheless.
func (o *options) longNamed(text string) bool {
	name, _, _ := strings.Cut(text, "=")
	return len(name) > 2 && name[0] == '-' && o.named(strings.TrimLeft(name, "-")).use != useUnknown
}

// named finds a long option by its name or by the beginning of it.
func (o *options) named(name string) optionSpec {
	if spec, ok := o.long[name]; ok {
		return spec
	}
	if o.single {
		return optionSpec{name: name, use: useUnknown}
	}
	found := optionSpec{name: name, use: useUnknown}
	at, _ := slices.BinarySearch(o.names, name)
	for _, n := range o.names[at:] {
		if name == "" || !strings.HasPrefix(n, name) {
			break
		}
		if spec := o.long[n]; found.use == useUnknown || spec.use > found.use {
			found = spec
		}
	}
	if rest, ok := strings.CutPrefix(name, "no-"); ok && o.negates && found.use == useUnknown {
		if spec := o.named(rest); spec.use != useUnknown {
			return optionSpec{name: name}
		}
	}
	return found
}

// cluster reads short options from a byte of a word on.
func (r *reader) cluster(a word, from int) {
	for at, c := range a.text[from:] {
		at += from
		if c == opaqueMark || a.glob && strings.ContainsRune("*?[", c) {
			r.open = true
			return
		}
		spec, known := r.letters[c]
		if !known {
			spec = optionSpec{name: string(c), use: useUnknown}
		}
		rest := at + len(string(c))
		switch {
		case rest < len(a.text) && (spec.takes == takesOne || spec.takes == takesGlued):
			r.opts = append(r.opts, option{optionSpec: spec, text: a.text, given: true, value: a.tail(rest)})
			return
		default:
			r.take(spec, a.text)
		}
	}
}

// bundle reads a first word of letters without a dash: the values follow in
// the order of the letters.
func (r *reader) bundle() {
	first := r.args[0]
	r.at = 1
	if !first.sure() {
		r.open = true
	}
	for _, c := range first.text {
		spec, known := r.letters[c]
		if !known {
			spec = optionSpec{name: string(c), use: useUnknown}
		}
		r.take(spec, string(c))
	}
}

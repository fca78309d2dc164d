package permission

// maxWork bounds what one decision may compute, in steps of the matcher and
// pieces of the analysis. An idle machine does that many in well under 100 ms;
// no honest command needs a tenth. A call that needs more asks: whoever writes
// the command must not be able to stop the one that decides.
const maxWork = 1_500_000

// Bounds of single kinds of work, so that one hostile word does not eat what
// a deny needs.
const (
	maxWords    = 2000 // words that braces multiply to, in one call
	maxTouches  = 3000 // files that commands open
	maxInner    = 2000 // commands that arguments may spell
	maxBrackets = 60   // opening brackets that are not closed yet
)

// work counts what one decision has computed. The zero value is ready; nil
// counts nothing and is never over.
type work struct {
	used                  int
	words, touches, inner int
}

// spend records n steps and reports whether the budget still holds.
func (w *work) spend(n int) bool {
	if w == nil {
		return true
	}
	w.used += n
	return w.used <= maxWork
}

func (w *work) over() bool { return w != nil && w.used > maxWork }

// within counts n more of one kind and reports whether its bound holds.
func (w *work) within(kind *int, n, bound int) bool {
	if *kind+n > bound {
		w.used = max(w.used, maxWork+1)
		return false
	}
	*kind += n
	return true
}

// brackets is how deep a text nests by its brackets alone, quotes
// notwithstanding. It is looked at before parsing, for the parser recurses
// and reads some of them several times.
func brackets(text string) int {
	depth, deepest := 0, 0
	for i := range len(text) {
		switch text[i] {
		case '(', '{', '[':
			if depth++; depth > deepest {
				deepest = depth
			}
		case ')', '}', ']':
			depth = max(depth-1, 0)
		}
	}
	return deepest
}

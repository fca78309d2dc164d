package main

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"holdpoint/api"
	"holdpoint/interaction"
)

// stage is where a dialog stands.
type stage int

const (
	stageChoose stage = iota // a key or a word
	stageWords               // a line for the chosen option
	stageText                // lines up to a single dot
	stageArgs                // arguments, until they are a JSON object
	stageSure                // the edited arguments are shown; yes sends them
	stageRepair              // what the editor left can't be used
)

// verdict is what a line did.
type verdict int

const (
	verdictMore  verdict = iota // another line is needed
	verdictSend                 // resp is complete
	verdictLater                // the person leaves it waiting
	verdictEdit                 // the arguments are to be edited; edited takes them
)

// dialog asks one question at a terminal. Nothing but a key or a word of its list chooses anything: any other text
// is refused and sends nothing. What is dangerous needs its whole word.
type dialog struct {
	c      *cli
	it     api.Interaction
	keys   []key
	stage  stage
	option interaction.Option
	typed  []string
	resp   interaction.Response
	editor bool // arguments are edited in a program of the person's choice
}

// key is a way to choose.
type key struct {
	letter string // "" where only the word chooses
	word   string
	label  string
	option interaction.Option
	no     bool // of a confirmation: answers no
	keep   bool // of an approval: for later calls of the session as well
	later  bool
}

func newDialog(c *cli, it api.Interaction) *dialog {
	d := &dialog{c: c, it: it}
	number := 0
	for _, o := range it.Options {
		switch {
		case it.Type == interaction.TypeSelect && o.Action == interaction.ActionAnswer:
			number++
			d.keys = append(d.keys, key{letter: strconv.Itoa(number), word: o.ID, label: o.Label, option: o})
		case it.Type == interaction.TypeConfirm && o.Action == interaction.ActionAnswer:
			d.keys = append(d.keys, key{letter: "y", word: "yes", label: it.ConfirmText, option: o},
				key{letter: "n", word: "no", label: it.CancelText, option: o, no: true})
		default:
			k := key{word: o.ID, label: strings.TrimSpace(o.Label + ". " + o.Description), option: o}
			if !o.Dangerous {
				k.letter = letterOf(o.Action)
			}
			d.keys = append(d.keys, k)
		}
	}
	if o, ok := keeping(it.Request); ok && !o.Dangerous {
		d.keys = append(d.keys, key{word: "always", option: o, keep: true,
			label: "Approve, and always in this session, by the narrowest of: " + strings.Join(it.SuggestedPattern, ", ")})
	}
	d.keys = append(d.keys, key{letter: "l", word: "later", label: "Leave it waiting and go on.", later: true})
	d.untangle()
	return d
}

// letterOf is the key of an action.
func letterOf(a interaction.Action) string {
	switch a {
	case interaction.ActionApprove:
		return "a"
	case interaction.ActionModifyArgs:
		return "e"
	case interaction.ActionReject:
		return "r"
	case interaction.ActionRetry:
		return "t"
	case interaction.ActionAnswer:
		return "w"
	case interaction.ActionSkip:
		return "s"
	case interaction.ActionProvideInfo:
		return "p"
	case interaction.ActionRedact:
		return "x"
	case interaction.ActionWithhold:
		return "h"
	default:
		return ""
	}
}

// untangle takes a letter or word from every option but the first that has it, so that none means two things.
func (d *dialog) untangle() {
	seen := map[string]bool{}
	for n, k := range d.keys {
		if seen[k.letter] {
			d.keys[n].letter = ""
		}
		if seen[strings.ToLower(k.word)] {
			d.keys[n].word = fmt.Sprintf("#%d", n+1)
		}
		seen[d.keys[n].letter], seen[strings.ToLower(d.keys[n].word)] = true, true
	}
}

// options lists the keys.
func (d *dialog) options() {
	for _, k := range d.keys {
		label := k.label
		if k.option.Dangerous {
			label += "  (type the whole word)"
		}
		d.c.line(d.c.out, fmt.Sprintf("  %-2s %-12s", k.letter, interaction.Visible(k.word)), label)
	}
}

func (d *dialog) prompt() string {
	switch d.stage {
	case stageWords:
		return d.wordsPrompt()
	case stageText:
		return "…"
	case stageArgs:
		if len(d.typed) == 0 {
			return "The arguments, as a JSON object (an empty line goes back):"
		}
		return "…"
	case stageSure:
		if d.editor {
			return "Run it with these arguments? yes, e to edit them again, or no to go back:"
		}
		return "Run it with these arguments? yes, or no to go back:"
	case stageRepair:
		return "Edit it again? yes, or no to go back:"
	default:
		return "Your choice:"
	}
}

func (d *dialog) wordsPrompt() string {
	text := d.option.InputPrompt
	if text == "" {
		text = d.option.Label
	}
	if d.required() {
		return interaction.Visible(text) + " (an empty line goes back):"
	}
	return interaction.Visible(text) + " (may be empty):"
}

// required reports whether the chosen option can't do without words.
func (d *dialog) required() bool {
	return d.option.RequiresInput || typesText(d.option.Action)
}

// typesText reports whether what is typed for an action is its text.
func typesText(a interaction.Action) bool {
	return a == interaction.ActionAnswer || a == interaction.ActionProvideInfo || a == interaction.ActionRedact
}

// take handles a line.
func (d *dialog) take(text string) verdict {
	switch d.stage {
	case stageWords:
		return d.words(text)
	case stageText:
		return d.text(text)
	case stageArgs:
		return d.args(text)
	case stageSure, stageRepair:
		return d.sure(text)
	default:
		return d.choose(text)
	}
}

func (d *dialog) choose(text string) verdict {
	text = strings.TrimSpace(text)
	if text == "" {
		d.options()
		return verdictMore
	}
	if d.it.Type == interaction.TypeSelect && d.it.Multiple && strings.Contains(text, ",") {
		return d.several(text)
	}
	k, ok := d.key(text)
	switch {
	case !ok:
		d.nothing(text)
		return verdictMore
	case k.later:
		return verdictLater
	}
	return d.chosen(k)
}

func (d *dialog) key(text string) (key, bool) {
	for _, k := range d.keys {
		if k.letter != "" && strings.EqualFold(text, k.letter) || strings.EqualFold(text, k.word) {
			return k, true
		}
	}
	return key{}, false
}

func (d *dialog) nothing(text string) {
	fmt.Fprintf(d.c.out, "%q is none of the choices; nothing was sent. Type a key or a word of the list.\n", interaction.Visible(text))
}

// several chooses more than one of a select's choices.
func (d *dialog) several(text string) verdict {
	var ids []string
	for part := range strings.SplitSeq(text, ",") {
		k, ok := d.key(strings.TrimSpace(part))
		if !ok || k.option.Action != interaction.ActionAnswer {
			d.nothing(strings.TrimSpace(part))
			return verdictMore
		}
		ids = append(ids, k.option.ID)
	}
	d.resp = interaction.Response{Action: interaction.ActionAnswer, Selected: ids}
	return verdictSend
}

// chosen begins what the option needs.
func (d *dialog) chosen(k key) verdict {
	o := k.option
	d.option, d.typed = o, nil
	d.resp = interaction.Response{Action: o.Action, OptionID: o.ID}
	if k.keep {
		d.resp.Grant = &interaction.Grant{Scope: interaction.GrantSession}
	}
	switch {
	case d.it.Type == interaction.TypeSelect && o.Action == interaction.ActionAnswer:
		d.resp = interaction.Response{Action: o.Action, Selected: []string{o.ID}}
		return verdictSend
	case d.it.Type == interaction.TypeConfirm && o.Action == interaction.ActionAnswer:
		yes := !k.no
		d.resp.Confirmed = &yes
		return verdictSend
	case o.Action == interaction.ActionModifyArgs && d.editor:
		return verdictEdit
	case o.Action == interaction.ActionModifyArgs:
		d.stage = stageArgs
	case typesText(o.Action) && d.it.HasSecret():
		fmt.Fprintf(d.c.out, "A secret would be seen here. In another terminal, %s respond %s %s reads it unseen.\n", d.c.name, shortID(d.it.ID), o.Action)
		return d.back()
	case typesText(o.Action) && d.it.Multiline, o.Action == interaction.ActionRedact:
		fmt.Fprintln(d.c.out, "Write your answer; a line with only a dot ends it.")
		d.stage = stageText
	case o.RequiresInput || o.InputPrompt != "" || typesText(o.Action):
		d.stage = stageWords
	default:
		return verdictSend
	}
	return verdictMore
}

func (d *dialog) back() verdict {
	d.stage, d.typed, d.resp = stageChoose, nil, interaction.Response{}
	d.options()
	return verdictMore
}

func (d *dialog) words(text string) verdict {
	text = strings.TrimSpace(text)
	if text == "" && d.required() {
		return d.back()
	}
	if typesText(d.option.Action) {
		d.resp.Text = text
	} else {
		d.resp.Feedback = text
	}
	return verdictSend
}

func (d *dialog) text(line string) verdict {
	if line != "." {
		d.typed = append(d.typed, line)
		return verdictMore
	}
	d.resp.Text = strings.Join(d.typed, "\n")
	if strings.TrimSpace(d.resp.Text) == "" {
		return d.back()
	}
	return verdictSend
}

// args collects lines until they are a JSON object, and shows what would run.
func (d *dialog) args(line string) verdict {
	if strings.TrimSpace(line) == "" {
		return d.back()
	}
	d.typed = append(d.typed, line)
	text := strings.Join(d.typed, "\n")
	if !json.Valid([]byte(text)) {
		return verdictMore
	}
	if !d.proposed([]byte(text)) {
		d.typed = nil
	}
	return verdictMore
}

// proposed takes in arguments and shows them: what they change, and what would run. It reports whether they can be
// used.
func (d *dialog) proposed(text []byte) bool {
	args, err := object(text)
	if err != nil {
		fmt.Fprintf(d.c.out, "That can't be used: %s\n", interaction.Visible(err.Error()))
		return false
	}
	d.resp.Args = args
	d.stage = stageSure
	d.c.changes(d.c.out, d.it.ToolArgs, args)
	d.c.arguments(d.c.out, interaction.Request{ToolArgs: args})
	return true
}

// edited takes in what the editor left. An empty text, or the arguments as they were, goes back.
func (d *dialog) edited(text []byte) verdict {
	if len(strings.TrimSpace(string(text))) == 0 || sameJSON(text, d.it.ToolArgs) {
		fmt.Fprintln(d.c.out, "Nothing was changed, and nothing was sent.")
		return d.back()
	}
	if !d.proposed(text) {
		d.stage = stageRepair
	}
	return verdictMore
}

func (d *dialog) sure(text string) verdict {
	switch word := strings.ToLower(strings.TrimSpace(text)); {
	case word == "yes" && d.stage == stageRepair, word == "e" && d.editor:
		return verdictEdit
	case word == "yes":
		return verdictSend
	case word == "no", word == "":
		return d.back()
	default:
		d.nothing(text)
		return verdictMore
	}
}

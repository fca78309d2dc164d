package permission

import "testing"

func TestOddCharacters(t *testing.T) {
	t.Parallel()
	var cases []shellCase
	for _, odd := range []string{"\u200b", "\u200d", "\u202e", "\u2066", "\ufeff", "\u00ad", "\u00a0", "\u3000", "\u2028", "\u2029", "\u0085", "\x7f", "\x1b[31m", "\v", "\f", "\b", "\x01", "\U000E0061", "\u3164", "\u115f", "\u2800", "\u034f",
		"\U000E0101", "\ue000", "\U0010ffff", "\U0010fffe", "\ufdd0", "\u180e", "\u2060"} {
		cases = append(cases, shellCase{"ls " + odd + "x", Ask, a("bash"), nil, nil}, shellCase{"ls 'a" + odd + "'", Ask, a("bash(ls:*)"), nil, nil}, shellCase{odd + "ls", Ask, a("bash", "bash(ls)"), nil, nil})
	}
	for _, c := range []string{"g\u0456t push", "\u0441at x", "\uff52\uff4d x", "l\u017f", "sudo \u0441at", "timeout 5 \u0441at", "caf\u00e9", "echo $'\\x1b'", "echo $'\\r'", "echo $'\\xff'", "echo $'a\\0b'", "echo $'\\u200b'", "echo $'\\cA'"} {
		cases = append(cases, shellCase{c, Ask, a("bash"), nil, nil})
	}
	for _, c := range []string{"git commit -m 'na\u00efve'", "echo \u65e5\u672c\u8a9e", "echo \u0645\u0631\u062d\u0628\u0627", "echo '\U0001F600 \u2764\ufe0f'", "echo a\tb", "echo 'a\nb'", "echo $'a\\nb'", "echo $'\\u00e9'", "echo cafe\u0301"} {
		cases = append(cases, shellCase{c, Allow, a("bash(echo:*)", "bash(git commit:*)"), nil, nil})
	}
	runShell(t, cases)
}

func TestOddTextNamesTheCharacter(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{"a": "", "a\u200b": "the invisible format character U+200B", "\xff": "bytes that are not valid UTF-8", "\u00a0": "the unusual blank U+00A0",
		"\u2028": "the line separator U+2028", "\x01": "the control character U+0001", "\u3164": "the invisible character U+3164", "\ue000": "the private or unassigned character U+E000"} {
		if got := oddText(in, ""); got != want {
			t.Errorf("%q: got %q", in, got)
		}
	}
}

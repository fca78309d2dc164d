package redact

import (
	"regexp"
	"strings"
)

// command is a program that takes a password by a short option, which means something else to others.
type command struct {
	hints  []string
	option string
	// heads reports whether the program is called in a part of a command line.
	heads  func(line string) bool
	secret *regexp.Regexp
}

var commands = []command{
	{[]string{"mysql", "mariadb"}, "-p", func(line string) bool {
		return calls(line, "mysql", "", "dump", "admin") || calls(line, "mariadb", "")
	}, regexp.MustCompile(`^["']?([^\s"'$]{3,})`)},
	{[]string{"login"}, "-p", func(line string) bool {
		before, ok := lastWord(line, "login")
		return ok && (ends(before, "docker", "podman", "nerdctl", "az") || ends(before, "registry") && strings.Contains(before, "helm"))
	}, regexp.MustCompile(`^[ =]?["']?([^\s"'$-][^\s"']{2,})`)},
	{[]string{"mongo"}, "-p", func(line string) bool {
		return calls(line, "mongo", "", "sh", "dump", "restore", "export", "import")
	}, apartOrNot},
	{[]string{"ldap"}, "-w", func(line string) bool {
		return calls(line, "ldap", "search", "add", "modify", "delete", "passwd", "whoami")
	}, apartOrNot},
	{[]string{"zip", "sqlcmd"}, "-P", func(line string) bool {
		return calls(line, "zip", "") || calls(line, "unzip", "") || calls(line, "sqlcmd", "")
	}, apartOrNot},
	{[]string{"7z"}, "-p", func(line string) bool { return calls(line, "7z", "", "a", "r", "z") }, regexp.MustCompile(`^["']?([^\s"'$]{3,})`)},
	{[]string{"openssl"}, "-k", func(line string) bool { return calls(line, "openssl", "") }, spaced},
	{[]string{"keytool", "jarsigner"}, "-storepass", signs, spaced},
	{[]string{"keytool", "jarsigner"}, "-keypass", signs, spaced},
	{[]string{"smbclient"}, "-U", func(line string) bool { return calls(line, "smbclient", "") }, regexp.MustCompile(`^\s*["']?[^\s%"']{1,200}%([^\s"']{3,})`)},
	{[]string{"htpasswd"}, "-b", writesPasswords, regexp.MustCompile(`^[A-Za-z0-9]*\s+\S+\s+\S+\s+["']?([^\s"'$]{3,})`)},
	{[]string{"htpasswd"}, "-cb", writesPasswords, regexp.MustCompile(`^[A-Za-z0-9]*\s+\S+\s+\S+\s+["']?([^\s"'$]{3,})`)},
	{[]string{"redis-cli"}, "-a", func(line string) bool { return calls(line, "redis-cli", "") }, regexp.MustCompile(`^\s+["']?([^\s"'$]{3,})`)},
}

var (
	spaced     = regexp.MustCompile(`^\s+["']?([^\s"'$-][^\s"']{2,})`)
	apartOrNot = regexp.MustCompile(`^[ =]?["']?([^\s"'$-][^\s"']{2,})`)
)

func signs(line string) bool { return calls(line, "keytool", "") || calls(line, "jarsigner", "") }

func writesPasswords(line string) bool { return calls(line, "htpasswd", "") }

// maxLine bounds how far an option is from its program.
const maxLine = 320

// typed finds the passwords that stand in command lines. It goes by the options: there are fewer of them than programs' names.
func typed(q *sought, s string) (holes []hole) {
	for n := range commands {
		c := &commands[n]
		if !q.hasAny(c.hints...) {
			continue
		}
		for at := 0; ; {
			i := strings.Index(s[at:], c.option)
			if i < 0 {
				break
			}
			i += at
			at = i + len(c.option)
			if i == 0 || !blank(s[i-1]) {
				continue
			}
			line := s[max(0, i-maxLine):i]
			if line = line[strings.LastIndexAny(line, "\n;|&")+1:]; !c.heads(line) {
				continue
			}
			if h, found := group(c.secret.FindStringSubmatchIndex(s[at:]), at, 2); found && s[h.from:h.to] != Mark {
				holes = append(holes, h)
				at = h.to
			}
		}
	}
	return holes
}

// calls reports whether a program stands in a line, with one of the endings of its name.
func calls(line, name string, endings ...string) bool {
	for to := len(line); ; {
		i := strings.LastIndex(line[:to], name)
		if i < 0 {
			return false
		}
		rest := line[i+len(name):]
		for _, e := range endings {
			if after, ok := strings.CutPrefix(rest, e); ok && after != "" && blank(after[0]) && (i == 0 || !inWord(line[i-1])) {
				return true
			}
		}
		to = i
	}
}

// lastWord is what stands before a word of a line.
func lastWord(line, word string) (before string, ok bool) {
	i := strings.LastIndex(line, word)
	if i <= 0 || !blank(line[i-1]) || i+len(word) == len(line) || !blank(line[i+len(word)]) {
		return "", false
	}
	return strings.TrimRight(line[:i], " \t"), true
}

// ends reports whether a line ends in one of some words.
func ends(line string, words ...string) bool {
	for _, w := range words {
		if before, ok := strings.CutSuffix(line, w); ok && (before == "" || !inWord(before[len(before)-1])) {
			return true
		}
	}
	return false
}

// inWord is what \b of an expression goes by.
func inWord(c byte) bool { return wordy(c) && c != '-' && c < 0x80 }

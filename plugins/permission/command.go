package permission

import (
	"cmp"
	"errors"
	"fmt"
	stdpath "path"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/panics"
	"github.com/agentruntime/agentruntime/internal/pattern"
	"mvdan.cc/sh/v3/syntax"
)

// commandPattern is a glob over the simple commands that a shell would run. A command's text is its
// words separated by spaces, without leading assignments and without redirections.
type commandPattern struct {
	glob pattern.Pattern
	// prefix is the literal text that begins the glob, and open is set if only a '*' follows it.
	prefix string
	open   bool
}

// compileCommand compiles the glob of a command matcher. It fails if no simple command could
// match.
func compileCommand(source string) (*commandPattern, error) {
	glob, err := pattern.Compile(source)
	if err != nil {
		return nil, err
	}
	if source != strings.TrimSpace(source) || strings.Contains(source, "  ") {
		return nil, errors.New("a command has single blanks, and none at either end")
	}
	p := &commandPattern{glob: glob}
	literal := true
	for i := 0; i < len(source); i++ {
		if literal && strings.IndexByte("*?[{", source[i]) >= 0 {
			literal, p.open = false, strings.Trim(source[i:], "*") == ""
		}
		if source[i] == '\\' {
			i++
		} else if strings.IndexByte(";|&<>`\n", source[i]) >= 0 {
			return nil, fmt.Errorf("a simple command has no %q; write one rule for each command", source[i])
		}
		if literal {
			p.prefix += source[i : i+1]
		}
	}
	return p, nil
}

// matchCommands compares the commands of a split text: yes if all match, no if none does.
// Otherwise, or if the text is unreadable, a rule that denies or asks matches, and a rule that
// allows does not.
func (p *commandPattern) matchCommands(commands []simpleCommand, err error) truth {
	if err != nil {
		return unknown
	}
	result := p.matchOne(&commands[0])
	for i := range commands[1:] {
		if p.matchOne(&commands[i+1]) != result {
			return unknown
		}
	}
	return result
}

// matchOne compares one simple command.
func (p *commandPattern) matchOne(c *simpleCommand) truth {
	fits := c.known && p.glob.Match(c.quoted) || p.open && strings.HasPrefix(c.quotedPrefix, p.prefix)
	switch {
	case fits && c.plain:
		return yes
	case fits, c.runsOthers:
		return unknown
	case c.known:
		return orNo(p.glob.Match(c.text) || p.glob.Match(withBaseName(c.text)))
	default:
		// An unknown rest could be anything, unless the known beginning excludes a match.
		return orNo(p.mayMatchPrefix(c.prefix) || p.mayMatchPrefix(withBaseName(c.prefix)))
	}
}

// orNo returns unknown if a match is possible, else no.
func orNo(possible bool) truth {
	if possible {
		return unknown
	}
	return no
}

// mayMatchPrefix reports whether the glob may match a text with a prefix.
func (p *commandPattern) mayMatchPrefix(prefix string) bool {
	return strings.HasPrefix(prefix, p.prefix) || strings.HasPrefix(p.prefix, prefix)
}

// simpleCommand is one command of a shell, with its arguments.
type simpleCommand struct {
	// text is the words as the command gets them; quoted puts words with spaces in quotes, so that
	// one word is not mistaken for several. Both are complete only if known is set: otherwise they
	// end at the first expansion; prefix and quotedPrefix hold them then.
	text, quoted         string
	prefix, quotedPrefix string
	known                bool
	// plain is set if only the words determine the command's effect: no assignment, no
	// redirection to a file.
	plain bool
	// runsOthers is set for a command that runs commands from its arguments or its input.
	runsOthers bool
}

// withBaseName returns a command's text with the program's path reduced to its name.
func withBaseName(text string) string {
	name, rest, more := strings.Cut(text, " ")
	if !strings.Contains(name, "/") {
		return text
	}
	if name = stdpath.Base(name); more {
		return name + " " + rest
	}
	return name
}

// maxCommand is the maximum length of a text to split, in bytes, so that splitting stays cheap at
// any nesting depth.
const maxCommand = 16 << 10

var errUnclear = errors.New("the text cannot be read as a command with confidence")

// splitCommand returns all simple commands that a shell may run for a text: in lists, pipelines,
// background jobs, subshells, functions, loops, $(…), backticks and here-documents. Shells parse
// some texts differently, so it returns the commands of both POSIX and Bash, and the text must be
// valid in both.
func splitCommand(text string) (commands []simpleCommand, err error) {
	defer panics.Handle(func(*panics.Error) {
		commands, err = nil, errUnclear
	})
	if len(text) > maxCommand || !utf8.ValidString(text) || strings.ContainsFunc(text, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || r != ' ' && unicode.IsSpace(r))
	}) {
		return nil, errUnclear
	}
	for _, dialect := range []syntax.LangVariant{syntax.LangPOSIX, syntax.LangBash} {
		file, err := syntax.NewParser(syntax.Variant(dialect)).Parse(strings.NewReader(text), "")
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errUnclear, err)
		}
		commands = append(commands, commandsOf(file)...)
	}
	if len(commands) == 0 {
		return nil, errUnclear
	}
	return commands, nil
}

// commandsOf lists the commands of a parsed text. Commands that are not simple but have an effect
// of their own count as unknown.
func commandsOf(file *syntax.File) (commands []simpleCommand) {
	syntax.Walk(file, func(n syntax.Node) bool {
		if s, ok := n.(*syntax.Stmt); ok {
			if c := commandOf(s); c != nil {
				commands = append(commands, *c)
			}
		}
		return true
	})
	return commands
}

// commandOf returns the command of a statement, nil for a statement that only contains others.
func commandOf(s *syntax.Stmt) *simpleCommand {
	c := simpleCommand{plain: !slices.ContainsFunc(s.Redirs, touchesFile)}
	switch cmd := s.Cmd.(type) {
	case *syntax.CallExpr:
		c.plain = c.plain && len(cmd.Assigns) == 0
		c.addWords(cmd.Args)
	case *syntax.DeclClause:
		c.text = cmd.Variant.Value + " "
		c.quoted, c.prefix, c.quotedPrefix, c.plain = c.text, c.text, c.text, false
	case nil, *syntax.TestClause, *syntax.ArithmCmd:
		c.known, c.plain = true, false // runs nothing by itself
	case *syntax.LetClause, *syntax.CoprocClause, *syntax.TestDecl:
		c.plain, c.runsOthers = false, true
	default: // inner statements count separately
		if c.plain {
			return nil
		}
		c.known = true
	}
	return &c
}

// touchesFile reports whether a redirection opens anything but the null device.
func touchesFile(r *syntax.Redirect) bool {
	target, known := literalText(r.Word)
	switch r.Op {
	case syntax.DplOut, syntax.DplIn:
		return !known || strings.Trim(target, "0123456789-") != ""
	case syntax.RdrOut, syntax.AppOut, syntax.RdrIn:
		return !known || target != "/dev/null"
	default:
		return true
	}
}

// addWords adds the words of a command, up to the first unknown one.
func (c *simpleCommand) addWords(words []*syntax.Word) {
	c.known = true
	var texts, quotes strings.Builder
	for i, word := range words {
		value, known := literalText(word)
		quoted := value
		if known && (value == "" || strings.ContainsAny(value, " \t\n'")) {
			quoted = "'" + strings.ReplaceAll(value, "'", `'\''`) + "'"
		}
		if i > 0 {
			texts.WriteByte(' ')
			quotes.WriteByte(' ')
		}
		texts.WriteString(value)
		quotes.WriteString(quoted)
		if i == 0 && (!known || value == "" || slices.Contains(runners, programName(value))) {
			c.runsOthers = true
		}
		if !known {
			c.known = false
			break
		}
	}
	c.text, c.quoted = texts.String(), quotes.String()
	c.prefix, c.quotedPrefix = c.text, c.quoted
}

// programName returns the name of a program without its path and version.
func programName(name string) string {
	base := stdpath.Base(name)
	return cmp.Or(strings.TrimRight(base, "0123456789."), base)
}

// runners are commands that run other commands from their arguments, their input or a file. Those
// commands are unknown, so runners match every rule that denies or asks.
var runners = strings.Fields(`
	. source eval exec command builtin alias trap enable
	sh bash dash ash ksh mksh zsh fish csh tcsh busybox toybox pwsh powershell cmd
	env sudo doas su runuser nohup nice ionice setsid stdbuf time timeout chroot unshare nsenter flock strace ltrace
	taskset chrt script expect xargs parallel find fd watch entr at batch crontab ssh docker podman kubectl systemd-run
	python perl ruby node nodejs deno bun php lua awk gawk mawk nawk tclsh`)

// literalText returns the value of a word without expansions, or else its literal prefix.
func literalText(word *syntax.Word) (value string, known bool) {
	if word == nil {
		return "", false
	}
	var b strings.Builder
	for i, part := range word.Parts {
		switch part := part.(type) {
		case *syntax.Lit:
			text, known := unescapeWord(part.Value, i == 0)
			b.WriteString(text)
			if !known {
				return b.String(), false
			}
		case *syntax.SglQuoted:
			if part.Dollar {
				return b.String(), false
			}
			b.WriteString(part.Value)
		case *syntax.DblQuoted:
			if part.Dollar {
				return b.String(), false
			}
			for _, inner := range part.Parts {
				lit, ok := inner.(*syntax.Lit)
				if !ok {
					return b.String(), false
				}
				b.WriteString(inQuotes.Replace(lit.Value))
			}
		default:
			return b.String(), false
		}
	}
	return b.String(), true
}

// inQuotes removes the backslashes that are special in double quotes.
var inQuotes = strings.NewReplacer(`\\`, `\`, `\"`, `"`, `\$`, `$`, "\\`", "`", "\\\n", "")

// unescapeWord returns the value of unquoted text. It is unknown if a shell would expand a
// pattern, braces or a home directory in it.
func unescapeWord(text string, first bool) (value string, known bool) {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '\\' && i+1 < len(text):
			if i++; text[i] != '\n' {
				b.WriteByte(text[i])
			}
		case strings.IndexByte("*?[{$", c) >= 0 && text != "{}" && text != "[", c == '~' && (first && i == 0 || i > 0 && strings.IndexByte(":=", text[i-1]) >= 0):
			return b.String(), false
		default:
			b.WriteByte(c)
		}
	}
	return b.String(), true
}

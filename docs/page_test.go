package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// page is a Markdown file.
type page struct {
	// name is the path relative to the repository root.
	name    string
	lines   []string
	steps   []step
	changed bool
}

// step is a fenced block, or a directory to copy.
type step struct {
	page *page
	// line is the line number at which the block starts, from 1.
	line int
	// from and to are the block's lines in the page.
	from, to int
	lang     string

	copies string
	file   string
	with   string
	region string
	exit   int
	notRun bool
}

var directive = regexp.MustCompile(`^<!-- ([a-z ]+?)(?:: (.*?))? -->$`)

func readPage(t *testing.T, name string) *page {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	p := &page{name: name, lines: strings.Split(string(data), "\n")}
	if err := p.scan(); err != nil {
		t.Fatal(err)
	}
	return p
}

// scan finds the steps of the page.
func (p *page) scan() error {
	p.steps = nil
	next := step{}
	for i := 0; i < len(p.lines); i++ {
		line := p.lines[i]
		if m := directive.FindStringSubmatch(line); m != nil {
			if err := next.direct(m[1], m[2]); err != nil {
				return fmt.Errorf("%s:%d: %w", p.name, i+1, err)
			}
			if next.copies != "" {
				p.steps = append(p.steps, step{page: p, line: i + 1, copies: next.copies})
				next = step{}
			}
			continue
		}
		lang, ok := strings.CutPrefix(line, "```")
		if !ok {
			if strings.TrimSpace(line) != "" {
				next = step{}
			}
			continue
		}
		end := i + 1
		for end < len(p.lines) && p.lines[end] != "```" {
			end++
		}
		if end == len(p.lines) {
			return fmt.Errorf("%s:%d: the block is not closed", p.name, i+1)
		}
		next.page, next.line, next.lang, next.from, next.to = p, i+1, lang, i+1, end
		p.steps = append(p.steps, next)
		next, i = step{}, end
	}
	return nil
}

// direct parses a directive comment before a block.
func (s *step) direct(name, value string) (err error) {
	switch name {
	case "dir":
		s.copies = value
	case "file":
		s.file = value
	case "with":
		s.with = value
	case "code":
		s.region = value
	case "exit":
		s.exit, err = strconv.Atoi(value)
	case "not run":
		s.notRun = true
	case "generated", "end generated":
	default:
		err = fmt.Errorf("unknown comment %q", name)
	}
	return err
}

// text returns the content of the block.
func (s *step) text() string { return strings.Join(s.page.lines[s.from:s.to], "\n") + "\n" }

// replace replaces the block's lines.
func (s *step) replace(lines []string) {
	p := s.page
	grown := len(lines) - (s.to - s.from)
	p.lines = append(append(append([]string(nil), p.lines[:s.from]...), lines...), p.lines[s.to:]...)
	s.to += grown
	for i := range p.steps {
		if o := &p.steps[i]; o.from > s.from {
			o.from, o.to, o.line = o.from+grown, o.to+grown, o.line+grown
		}
	}
	p.changed = true
}

// save writes a page that was changed.
func (p *page) save(t *testing.T) {
	t.Helper()
	if !p.changed {
		return
	}
	path := filepath.Join(root, filepath.FromSlash(p.name))
	if err := os.WriteFile(path, []byte(strings.Join(p.lines, "\n")), 0o644); err != nil { //nolint:gosec // documentation
		t.Fatal(err)
	}
}

// shellCommand is a command of a console block, with the output shown after it.
type shellCommand struct {
	// lines are the lines on the page; text is the input of the shell.
	lines  []string
	text   string
	output []string
}

// commands returns the commands of a console block. A line that begins with "$ " is a command; a
// trailing backslash continues it on the next line.
func (s *step) commands() []shellCommand {
	var list []shellCommand
	open := false
	for _, line := range s.page.lines[s.from:s.to] {
		text, begins := strings.CutPrefix(line, "$ ")
		switch {
		case begins:
			list = append(list, shellCommand{lines: []string{line}, text: text})
		case len(list) == 0:
			continue
		case open:
			c := &list[len(list)-1]
			c.lines = append(c.lines, line)
			c.text += "\n" + line
		default:
			c := &list[len(list)-1]
			c.output = append(c.output, line)
		}
		open = (begins || open) && strings.HasSuffix(line, `\`)
	}
	return list
}

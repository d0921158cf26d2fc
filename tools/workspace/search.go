package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/pattern"
)

const (
	// maxListed is the maximum number of files in a list.
	maxListed = 2000
	// maxMatches is the maximum number of lines from grep, and maxMatchLine the maximum of each in
	// bytes.
	maxMatches   = 500
	maxMatchLine = 400
)

// listInput are the arguments of list_files.
type listInput struct {
	Path    string `json:"path,omitempty" jsonschema:"the directory, relative to the workspace's working directory, which is the default"`
	Pattern string `json:"pattern,omitempty" jsonschema:"only files whose path matches, such as src/**.go"`
	Depth   int    `json:"depth,omitempty" jsonschema:"how many levels to list; all by default"`
}

func (w *workspace) listFiles(ctx context.Context, in listInput) (string, error) {
	match, err := compileGlob(in.Pattern)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	listed := 0
	err = w.walk(ctx, in.Path, func(_ *scope, name string, entry fs.DirEntry, depth int) error {
		if entry.IsDir() && in.Depth > 0 && depth > in.Depth {
			return fs.SkipDir
		}
		if in.Depth > 0 && depth > in.Depth || !match(name) || in.Pattern != "" && entry.IsDir() {
			return nil
		}
		shown := quoteName(name)
		if listed++; listed > maxListed || b.Len()+len(shown) > w.config.outputLimit() {
			b.WriteString("[more files follow: list a directory below, or give a pattern]")
			return fs.SkipAll
		}
		b.WriteString(shown + mark(entry) + "\n")
		return nil
	})
	if err != nil {
		return "", err
	}
	if b.Len() == 0 {
		return "[no files]", nil
	}
	return b.String(), nil
}

// quoteName returns a path as single-line text: quoted and escaped if it has control characters or
// is not UTF-8, since a path with line breaks would look like several.
func quoteName(name string) string {
	if utf8.ValidString(name) && !strings.ContainsFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) {
		return name
	}
	return strconv.Quote(name)
}

// mark returns the suffix that shows the kind of a file.
func mark(entry fs.DirEntry) string {
	switch {
	case entry.IsDir():
		return "/"
	case entry.Type()&fs.ModeSymlink != 0:
		return "@"
	default:
		return ""
	}
}

// compileGlob returns a function that matches paths; an empty pattern matches all.
func compileGlob(source string) (func(string) bool, error) {
	if source == "" {
		return func(string) bool { return true }, nil
	}
	compiled, err := pattern.CompilePath(source)
	if err != nil {
		return nil, fmt.Errorf("pattern %q cannot be used: %w", clip.Text(source), err)
	}
	return compiled.MatchString, nil
}

// visitFile is called for each file and directory below a directory, with its number of levels
// below it.
type visitFile func(root *scope, name string, entry fs.DirEntry, depth int) error

// walk visits the contents of a directory in name order without following symbolic links. It
// skips unreadable entries and the contents of .git.
func (w *workspace) walk(ctx context.Context, dir string, visit visitFile) error {
	root, err := openScope(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	local, err := root.localPath(dir)
	if err != nil {
		return err
	}
	if info, err := root.Stat(local); err != nil {
		return fileError(dir, err)
	} else if !info.IsDir() {
		return &pathError{dir, "is not a directory"}
	}
	above := strings.Count(local, "/")
	if local == "." {
		above = -1
	}
	return fs.WalkDir(root.FS(), local, func(name string, entry fs.DirEntry, err error) error {
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil && name == local:
			return fileError(dir, err)
		case err != nil, name == local:
			return nil //nolint:nilerr // what cannot be read is left out
		}
		err = visit(root, root.showPath(name), entry, strings.Count(name, "/")-above)
		if err == nil && entry.IsDir() && entry.Name() == ".git" {
			return fs.SkipDir
		}
		return err
	})
}

// grepInput are the arguments of grep.
type grepInput struct {
	Expression string `json:"expression" jsonschema:"the regular expression, in RE2 syntax"`
	Path       string `json:"path,omitempty" jsonschema:"the directory to search, relative to the workspace's working directory, which is the default"`
	Pattern    string `json:"pattern,omitempty" jsonschema:"only files whose path matches, such as src/**.go"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"whether to ignore case"`
}

func (w *workspace) searchFiles(ctx context.Context, in grepInput) (string, error) {
	match, err := compileGlob(in.Pattern)
	if err != nil {
		return "", err
	}
	text := in.Expression
	if in.IgnoreCase {
		text = "(?i)" + text
	}
	expression, err := pattern.CompileRegexp(text)
	if err != nil {
		return "", fmt.Errorf("expression cannot be used: %w", err)
	}
	found := &matches{expression: expression, room: w.config.outputLimit()}
	err = w.walk(ctx, in.Path, func(root *scope, name string, entry fs.DirEntry, _ int) error {
		if !entry.Type().IsRegular() || !match(name) {
			return nil
		}
		data, err := readAll(root, name, w.config.fileLimit())
		if err != nil {
			found.skip(err)
			return nil //nolint:nilerr // what cannot be searched is counted
		}
		more, err := found.addFile(ctx, name, data)
		if err == nil && !more {
			err = fs.SkipAll
		}
		return err
	})
	return found.text(), err
}

// matches collects the matching lines.
type matches struct {
	expression *pattern.Regexp
	// room is the number of bytes left in the result.
	room    int
	count   int
	skipped int
	// long counts the lines that were too long for the expression.
	long int
	cut  bool
	b    strings.Builder
}

// skip counts a file that cannot be searched; binary files are not counted.
func (m *matches) skip(err error) {
	if !errors.Is(err, errBinary) {
		m.skipped++
	}
}

// addFile adds the matching lines of a file and reports whether there is room for more. It stops
// when ctx ends.
func (m *matches) addFile(ctx context.Context, name string, data []byte) (more bool, err error) {
	checkedBytes := min(64<<10, m.expression.Longest()) // between two checks of ctx
	number, unchecked := 0, 0
	for line := range bytes.Lines(data) {
		if unchecked += len(line); unchecked >= checkedBytes {
			if err := ctx.Err(); err != nil {
				return false, err
			}
			unchecked = 0
		}
		number++
		line = bytes.TrimRight(line, "\r\n")
		if len(line) > m.expression.Longest() {
			m.long++
			continue
		}
		if !m.expression.Match(line) {
			continue
		}
		shown := fmt.Sprintf("%s:%d:%s\n", quoteName(name), number, clip.Head(string(line), maxMatchLine))
		if m.count++; m.count > maxMatches || len(shown) > m.room {
			m.cut = true
			return false, nil
		}
		m.room -= len(shown)
		m.b.WriteString(shown)
	}
	return true, nil
}

// text returns the result.
func (m *matches) text() string {
	switch {
	case m.cut:
		m.b.WriteString("[more lines match: search a directory below, or give a pattern]\n")
	case m.count == 0:
		m.b.WriteString("[no line matches]\n")
	}
	if m.skipped > 0 {
		fmt.Fprintf(&m.b, "[%d files were not searched: they are too large or cannot be read]\n", m.skipped)
	}
	if m.long > 0 {
		fmt.Fprintf(&m.b, "[%d lines were not searched: they have more than %d bytes; a simpler expression can search longer ones]\n", m.long, m.expression.Longest())
	}
	return m.b.String()
}

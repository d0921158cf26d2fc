package docs_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v4"
)

var (
	expectation = regexp.MustCompile(`(?m)^# expect: (.*)$`)
	comments    = regexp.MustCompile(`(?m)^(#.*)?\n`)
)

// yaml checks a YAML block: a configuration must be valid, or have exactly the errors and warnings
// in its comment.
func (s *scratch) yaml(st *step) {
	text := st.text()
	at := fmt.Sprintf("%s:%d", s.page.name, st.line)
	var v any
	if err := yaml.Unmarshal([]byte(text), &v); err != nil && !strings.Contains(text, "# expect: invalid-yaml") {
		s.Errorf("%s: %v", at, err)
		return
	}
	complete := strings.HasPrefix(comments.ReplaceAllString(text, ""), "version: ")
	switch {
	case st.with != "" && st.file != "":
		s.validate(at, text, st.with, st.file)
	case st.with != "":
		name := fmt.Sprintf("part-%d.yaml", st.line)
		s.write(name, "version: 1\n"+text)
		s.validate(at, text, st.with, name)
	case complete:
		name := st.file
		if name == "" {
			name = fmt.Sprintf("block-%d.yaml", st.line)
			s.write(name, text)
		}
		s.validate(at, text, name)
	case st.file == "":
		s.Errorf("%s: the block is neither a configuration nor a file; put a comment ahead of it", at)
	}
}

func (s *scratch) validate(at, text string, files ...string) {
	cmd := exec.CommandContext(s.Context(), program, append([]string{"validate", "--format", "json"}, files...)...)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	if failed, ok := errors.AsType[*exec.ExitError](err); err != nil && (!ok || failed.ExitCode() != 1) {
		s.Errorf("%s: validate: %v\n%s", at, err, failed.Stderr)
		return
	}
	var report struct {
		Diagnostics []struct{ Code, Severity, Message string }
	}
	if err := json.Unmarshal(out, &report); err != nil {
		s.Fatalf("%s: %v", at, err)
	}
	var got, want []string
	for _, d := range report.Diagnostics {
		if d.Severity != "info" && !slices.Contains(got, d.Code) {
			got = append(got, d.Code)
		}
	}
	if m := expectation.FindStringSubmatch(text); m != nil {
		want = strings.Split(m[1], ", ")
	}
	if want == nil {
		s.satisfiesSchema(at, files...)
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		s.Errorf("%s: validate finds %v, want %v\n%s", at, got, want, out)
	}
}

// publishedSchema is docs/runtime.schema.json, compiled with format assertions.
var publishedSchema = sync.OnceValues(func() (*jsonschema.Schema, error) {
	file, err := os.Open(schemaFile)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	document, err := jsonschema.UnmarshalJSON(file)
	if err != nil {
		return nil, err
	}
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	if err := compiler.AddResource(schemaFile, document); err != nil {
		return nil, err
	}
	return compiler.Compile(schemaFile)
})

// satisfiesSchema checks configurations that are valid against the published
// schema.
func (s *scratch) satisfiesSchema(at string, files ...string) {
	schema, err := publishedSchema()
	if err != nil {
		s.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			s.Fatal(err)
		}
		var v any
		if err := yaml.Unmarshal(data, &v); err != nil {
			s.Fatalf("%s: %v", at, err)
		}
		raw, err := json.Marshal(v)
		if err != nil {
			s.Fatalf("%s: %v", at, err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
		if err != nil {
			s.Fatalf("%s: %v", at, err)
		}
		if err := schema.Validate(instance); err != nil {
			s.Errorf("%s: %s violates the published schema: %v", at, name, err)
		}
	}
}

// code checks that a Go block matches a compiled file.
func (s *scratch) code(st *step) {
	at := fmt.Sprintf("%s:%d", s.page.name, st.line)
	file, names, ok := strings.Cut(st.region, "#")
	if !ok {
		s.Errorf("%s: the block of Go comes from no compiled file; put <!-- code: FILE#REGION --> ahead of it", at)
		return
	}
	var want []string
	for name := range strings.SplitSeq(names, "+") {
		region, err := readRegion(file, name)
		if err != nil {
			s.Errorf("%s: %v", at, err)
			return
		}
		if len(want) > 0 {
			want = append(want, "")
		}
		want = append(want, region...)
	}
	have := s.page.lines[st.from:st.to]
	if slices.Equal(have, want) {
		return
	}
	if *update {
		st.replace(want)
		return
	}
	s.Errorf("%s: the block differs from %s\n--- page\n%s\n--- file\n%s", at, st.region, strings.Join(have, "\n"), strings.Join(want, "\n"))
}

// readRegion returns the lines of a file between "//docs:region NAME" and "//docs:end", without
// their common indentation.
func readRegion(file, name string) ([]string, error) {
	data, err := os.ReadFile(filepath.FromSlash(file))
	if err != nil {
		return nil, err
	}
	var lines []string
	inside := false
	for line := range strings.Lines(string(data)) {
		line = strings.TrimRight(line, "\n")
		switch trimmed := strings.TrimSpace(line); {
		case trimmed == "//docs:region "+name:
			inside = true
		case trimmed == "//docs:end" && inside:
			return outdent(lines), nil
		case inside:
			lines = append(lines, line)
		}
	}
	return nil, fmt.Errorf("%s has no region %s", file, name)
}

func outdent(lines []string) []string {
	depth := -1
	for _, line := range lines {
		if n := len(line) - len(strings.TrimLeft(line, "\t")); strings.TrimSpace(line) != "" && (depth < 0 || n < depth) {
			depth = n
		}
	}
	out := make([]string, len(lines))
	for i, line := range lines {
		if len(line) >= depth && depth > 0 {
			line = line[depth:]
		}
		out[i] = line
	}
	for len(out) > 0 && out[0] == "" {
		out = out[1:]
	}
	for len(out) > 0 && out[len(out)-1] == "" {
		out = out[:len(out)-1]
	}
	return out
}

var (
	links    = regexp.MustCompile(`\[[^\]\n]*\]\(([^)\s]+)\)`)
	mentions = regexp.MustCompile("`([A-Za-z0-9_.-]+(?:/[A-Za-z0-9_.-]+)+)/?`")
	headings = regexp.MustCompile(`(?m)^#{1,6} +(.*)$`)
	notSlug  = regexp.MustCompile(`[^\p{L}\p{N}_\- ]`)
)

// TestLinks follows the relative links of all pages, to files and headings, and checks the files
// and tests they mention.
func TestLinks(t *testing.T) {
	tests := testNames(t)
	for _, name := range pages(t) {
		p := readPage(t, name)
		text := prose(p)
		for _, m := range testName.FindAllString(text, -1) {
			if !tests[m] {
				t.Errorf("%s mentions %s, which does not exist", name, m)
			}
		}
		for _, m := range links.FindAllStringSubmatch(text, -1) {
			checkLink(t, name, m[1])
		}
		for _, m := range mentions.FindAllStringSubmatch(text, -1) {
			top, _, _ := strings.Cut(m[1], "/")
			if top == "bin" || top == "build" {
				continue // what the build makes
			}
			if _, err := os.Stat(filepath.Join(root, top)); err != nil {
				continue // not a repository path
			}
			if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(m[1]))); err != nil {
				t.Errorf("%s mentions %s: %v", name, m[1], err)
			}
		}
	}
}

var (
	testName = regexp.MustCompile(`\bTest[A-Z]\w*`)
	declared = regexp.MustCompile(`(?m)^func (Test\w+)\(`)
)

// testNames are the names of all tests of the repository.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		data, err := os.ReadFile(path)
		for _, m := range declared.FindAllStringSubmatch(string(data), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// prose is a page without its blocks.
func prose(p *page) string {
	var out []string
	at := 0
	for i := range p.steps {
		if s := &p.steps[i]; s.copies == "" {
			out = append(out, p.lines[at:s.from]...)
			at = s.to
		}
	}
	return strings.Join(append(out, p.lines[at:]...), "\n")
}

func checkLink(t *testing.T, page, target string) {
	t.Helper()
	if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
		return
	}
	path, anchor, _ := strings.Cut(target, "#")
	file := page
	if path != "" {
		file = filepath.ToSlash(filepath.Join(filepath.Dir(page), path))
	}
	if _, err := os.Stat(filepath.Join(root, file)); err != nil {
		t.Errorf("%s links to %s: %v", page, target, err)
		return
	}
	if anchor == "" || filepath.Ext(file) != ".md" {
		return
	}
	for _, m := range headings.FindAllStringSubmatch(prose(readPage(t, file)), -1) {
		slug := notSlug.ReplaceAllString(strings.ToLower(m[1]), "")
		if strings.ReplaceAll(slug, " ", "-") == anchor {
			return
		}
	}
	t.Errorf("%s links to %s, but there is no such heading", page, target)
}

var (
	commandRow = regexp.MustCompile("(?m)^\\| `runtime ([a-z]+)[^`]*` \\|(.*)\\|[^|]*\\|$")
	// commandLine is a command in the help.
	commandLine = regexp.MustCompile(`(?m)^  ([a-z]+) +[A-Z]`)
	flagName    = regexp.MustCompile(`--([a-z-]+)`)
)

// TestCommandTable compares the table of docs/reference/commands.md with the help of the commands.
func TestCommandTable(t *testing.T) {
	data, err := os.ReadFile("reference/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]string{}
	for _, m := range commandRow.FindAllStringSubmatch(string(data), -1) {
		listed[m[1]] = m[2]
	}
	_, all, _ := strings.Cut(help(t), "runtime [command]\n")
	all, _, _ = strings.Cut(all, "\nFlags:\n")
	for _, m := range commandLine.FindAllStringSubmatch(all, -1) {
		name := m[1]
		row, ok := listed[name]
		if name == "help" {
			continue
		}
		if !ok {
			t.Errorf("docs/reference/commands.md does not list the command %s", name)
			continue
		}
		delete(listed, name)
		_, text, _ := strings.Cut(help(t, name), "Flags:\n")
		have, want := flagsIn(row), flagsIn(text)
		if len(have) == 0 {
			have = []string{"format"} // not worth its place in the row
		}
		if want = slices.DeleteFunc(want, func(f string) bool { return f == "help" }); len(want) == 0 {
			have = nil
		}
		if !slices.Equal(have, want) {
			t.Errorf("docs/reference/commands.md gives %s the flags %v, but it has %v", name, have, want)
		}
	}
	for name := range listed {
		t.Errorf("docs/reference/commands.md lists the command %s, which does not exist", name)
	}
}

// flagsIn returns the flags that a text names, sorted.
func flagsIn(text string) []string {
	var list []string
	for _, m := range flagName.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	slices.Sort(list)
	return slices.Compact(list)
}

func help(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, append(args, "--help")...).Output()
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

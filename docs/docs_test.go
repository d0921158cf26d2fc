// Package docs_test keeps the documentation true. Its tests run the commands
// that the pages show and compare their output, validate the configurations,
// compare the Go code with compiled examples, regenerate the reference, and
// follow the links.
//
// With -update the generated parts and the shown output are written anew:
//
//	go test ./docs -update
//
// A page steers its tests with comments before a block:
//
//	<!-- dir: PATH -->       copies a directory of the repository into the
//	                         page's scratch directory
//	<!-- file: NAME -->      the block is written there under this name
//	<!-- with: NAME -->      the block is a part of a configuration: it is
//	                         validated together with that file
//	<!-- exit: N -->         the commands of the block end with this code
//	<!-- code: FILE#A+B -->  the block is these regions of a compiled file
//	<!-- not run -->         the block is for another machine, or not a
//	                         configuration of the runtime
package docs_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write the generated parts and the shown output anew")

// root is the repository root relative to this package.
const root = ".."

// program is the runtime command, built once.
var program string

// buildFlags are the flags of "make build". The tests build everything with these flags and without
// cgo, so that the command's packages are compiled once.
const buildFlags = "-trimpath -tags=grpcnotrace -gcflags=all=-dwarf=false"

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(runTests(m))
}

func runTests(m *testing.M) int {
	dir, err := os.MkdirTemp("", "docs-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	if err := errors.Join(os.Setenv("CGO_ENABLED", "0"), os.Setenv("GOFLAGS", os.Getenv("GOFLAGS")+" "+buildFlags)); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	program = filepath.Join(dir, "runtime")
	build := exec.CommandContext(context.Background(), "make", "build", "BIN="+dir, "VERSION=")
	build.Dir = root
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "make build: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// pages are the Markdown files of the repository, as paths from its root.
func pages(t *testing.T) []string {
	t.Helper()
	list := []string{"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md", "examples/README.md"}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".md" {
			return err
		}
		rel, err := filepath.Rel(root, path)
		list = append(list, filepath.ToSlash(rel))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(list)
	return list
}

// TestPages goes through every page from top to bottom like a reader: in a separate directory it
// writes the files shown on the page, runs its commands and validates its configurations.
func TestPages(t *testing.T) {
	for _, name := range pages(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := readPage(t, name)
			s := &scratch{T: t, page: p, dir: t.TempDir()}
			for i := range p.steps {
				s.step(&p.steps[i])
			}
			p.save(t)
		})
	}
}

// scratch is the directory in which the commands of a page run.
type scratch struct {
	*testing.T
	page *page
	dir  string
}

func (s *scratch) step(st *step) {
	switch {
	case st.copies != "":
		if err := os.CopyFS(s.dir, os.DirFS(filepath.Join(root, st.copies))); err != nil {
			s.Fatalf("%s:%d: copy %s: %v", s.page.name, st.line, st.copies, err)
		}
		return
	case st.notRun:
		return
	}
	if st.file != "" {
		s.write(st.file, st.text())
	}
	switch st.lang {
	case "console":
		s.console(st)
	case "yaml":
		s.yaml(st)
	case "go":
		s.code(st)
	}
}

func (s *scratch) write(name, text string) {
	path := filepath.Join(s.dir, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		s.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		s.Fatal(err)
	}
}

// console runs the commands of a block in order. If the block shows output, it must match their
// output on either stream.
func (s *scratch) console(st *step) {
	var got, want []string
	shows := false
	for _, c := range st.commands() {
		out := s.run(st, c)
		got = append(got, c.lines...)
		want = append(want, c.lines...)
		want = append(want, c.output...)
		got = append(got, out...)
		shows = shows || len(c.output) > 0
	}
	if !shows || matches(want, got) {
		return
	}
	if *update && !slices.ContainsFunc(want, isEllipsis) {
		st.replace(got)
		return
	}
	s.Errorf("%s:%d: the output differs\n--- shown\n%s\n--- printed\n%s", s.page.name, st.line, strings.Join(want, "\n"), strings.Join(got, "\n"))
}

// run runs one command and returns the lines it prints.
func (s *scratch) run(st *step, c shellCommand) []string {
	at := fmt.Sprintf("%s:%d: $ %s", s.page.name, st.line, c.text)
	text := c.text
	if target, ok := strings.CutPrefix(text, "make "); ok {
		s.target(at, target) // TestDemo runs the demo
		return nil
	}
	if strings.HasPrefix(text, "go ") || strings.HasPrefix(text, "git ") {
		s.packages(at, text)
		return nil
	}
	ctx, cancel := context.WithTimeout(s.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", text)
	cmd.Dir = s.dir
	cmd.Env = []string{"PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH"), "HOME=" + s.dir, "NO_COLOR=1", "LC_ALL=C.UTF-8"}
	out, err := cmd.CombinedOutput()
	code := 0
	if failed, ok := errors.AsType[*exec.ExitError](err); ok {
		code = failed.ExitCode()
	} else if err != nil {
		s.Fatalf("%s: %v", at, err)
	}
	if code != st.exit {
		s.Errorf("%s: exit code %d, want %d\n%s", at, code, st.exit, out)
	}
	printed := strings.TrimRight(slowTool.ReplaceAllString(string(out), ""), "\n")
	if printed == "" {
		return nil
	}
	return strings.Split(printed, "\n")
}

// target checks that the Makefile has a target.
func (s *scratch) target(at, target string) {
	data, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		s.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(target) + `:`).Match(data) {
		s.Errorf("%s: the Makefile has no such target", at)
	}
}

// packages checks the paths in another tool's command, which is not run.
func (s *scratch) packages(at, text string) {
	for _, word := range strings.Fields(text) {
		rel, ok := strings.CutPrefix(word, "./")
		rel = strings.TrimSuffix(strings.TrimSuffix(rel, "..."), "/")
		if _, err := os.Stat(filepath.Join(root, rel)); ok && err != nil {
			s.Errorf("%s: %v", at, err)
		}
	}
}

// slowTool matches run's report about a long-running tool, which any tool may be on a busy machine.
var slowTool = regexp.MustCompile(`(?m)^… \S+ is running\n`)

// masks replace parts that differ between runs.
var masks = []struct {
	pattern *regexp.Regexp
	text    string
}{
	{regexp.MustCompile(`\b\d+(\.\d+)?(ns|µs|ms|s)\b`), "<time>"},
	{regexp.MustCompile(`\b\d+ ms\b`), "<time>"},
	{regexp.MustCompile(`"duration_(ns|ms)": ?\d+`), `"duration": <time>`},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[\d:.]+(Z|[+-][\d:]+)?`), "<date>"},
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "<id>"},
	{regexp.MustCompile(`runtime \S+ \(commit \S+, go\S+\)`), "<version>"},
}

func mask(line string) string {
	for _, m := range masks {
		line = m.pattern.ReplaceAllString(line, m.text)
	}
	return strings.TrimRight(line, " ")
}

func isEllipsis(line string) bool { return strings.TrimSpace(line) == "…" }

// matches compares output line by line; a shown line "…" stands for any number
// of lines.
func matches(want, got []string) bool {
	if len(want) == 0 {
		return len(got) == 0
	}
	if isEllipsis(want[0]) {
		for i := 0; i <= len(got); i++ {
			if matches(want[1:], got[i:]) {
				return true
			}
		}
		return false
	}
	return len(got) > 0 && sameLine(mask(want[0]), mask(got[0])) && matches(want[1:], got[1:])
}

// sameLine compares a line; "…" within the shown line matches any text.
func sameLine(want, got string) bool {
	if want == got {
		return true
	}
	first, rest, ok := strings.Cut(want, "…")
	if !ok || !strings.HasPrefix(got, first) {
		return false
	}
	got = got[len(first):]
	for i := 0; i <= len(got); i++ {
		if sameLine(rest, got[i:]) {
			return true
		}
	}
	return false
}

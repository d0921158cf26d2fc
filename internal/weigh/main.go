// Command weigh builds the runtime with an empty build cache and writes the weight of each module
// to a Markdown file: packages, seconds of compiling, and bytes of code and data in the program.
// "make weigh" runs it for docs/internals/dependencies.md.
package main

import (
	"bytes"
	"cmp"
	"debug/elf"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: weigh TAGS FILE")
		os.Exit(2)
	}
	if err := weigh(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "weigh:", err)
		os.Exit(1)
	}
}

// weigh measures the program and rewrites the table in a file.
func weigh(tags, file string) error {
	modules, err := listModules(tags)
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "weigh")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	program, graph := filepath.Join(dir, "runtime"), filepath.Join(dir, "graph.json")
	fmt.Fprintln(os.Stderr, "weigh: building without a cache, which takes minutes")
	build := []string{"build", "-trimpath", "-tags", tags, "-gcflags=all=-dwarf=false", "-debug-actiongraph", graph, "-o", program, "./cmd/runtime"}
	if _, err := runGo(build, "GOCACHE="+filepath.Join(dir, "cache"), "GOFLAGS="); err != nil {
		return err
	}
	t := &table{modules: modules, rows: map[string]*row{}}
	for _, module := range modules {
		t.rowOf(module).packages++
	}
	if err := t.addSeconds(graph); err != nil {
		return err
	}
	if err := t.addBytes(program); err != nil {
		return err
	}
	return rewrite(file, t.text())
}

// runGo runs the go command for Linux, without cgo, and returns its output.
func runGo(args []string, env ...string) ([]byte, error) {
	var failure bytes.Buffer
	cmd := exec.Command("go", args...)
	cmd.Env = append(append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH=amd64"), env...)
	cmd.Stderr = &failure
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go %s: %w\n%s", args[0], err, failure.Bytes())
	}
	return out, nil
}

// std is the row of the standard library and the Go runtime.
const std = "standard library"

// listModules returns the module of each package of the program.
func listModules(tags string) (map[string]string, error) {
	out, err := runGo([]string{"list", "-deps", "-tags", tags, "-json=ImportPath,Module", "./cmd/runtime"})
	if err != nil {
		return nil, err
	}
	modules := map[string]string{}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p struct {
			ImportPath string
			Module     struct{ Path string }
		}
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return modules, nil
		} else if err != nil {
			return nil, err
		}
		modules[p.ImportPath] = cmp.Or(p.Module.Path, std)
	}
}

// table is the weight of each module.
type table struct {
	modules map[string]string
	rows    map[string]*row
}

type row struct {
	module   string
	packages int
	compile  time.Duration
	bytes    uint64
}

func (t *table) rowOf(module string) *row {
	if t.rows[module] == nil {
		t.rows[module] = &row{module: module}
	}
	return t.rows[module]
}

// addSeconds adds the CPU time of the compiler from the action graph of a build.
func (t *table) addSeconds(graph string) error {
	data, err := os.ReadFile(graph) //nolint:gosec // weigh has just had it written
	if err != nil {
		return err
	}
	var actions []struct {
		Mode, Package   string
		CmdUser, CmdSys time.Duration
	}
	if err := json.Unmarshal(data, &actions); err != nil {
		return err
	}
	for _, a := range actions {
		if module, ok := t.modules[a.Package]; ok && a.Mode == "build" {
			t.rowOf(module).compile += a.CmdUser + a.CmdSys
		}
	}
	return nil
}

// addBytes adds the sizes of the symbols of a program.
func (t *table) addBytes(program string) error {
	f, err := elf.Open(program)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	symbols, err := f.Symbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if int(s.Section) >= len(f.Sections) || f.Sections[s.Section].Type == elf.SHT_NOBITS {
			continue // memory allocated at program start
		}
		if module, ok := t.modules[t.packageOf(s.Name)]; ok {
			t.rowOf(module).bytes += s.Size
		}
	}
	return nil
}

// packageOf returns the package that a symbol belongs to, or "".
func (t *table) packageOf(symbol string) string {
	for _, prefix := range []string{"type:.eq.", "type:.hash.", "go:itab.", "*"} {
		symbol = strings.TrimPrefix(symbol, prefix)
	}
	symbol, _, _ = strings.Cut(symbol, "[") // type arguments have their own paths
	symbol, _, _ = strings.Cut(symbol, "(")
	path := symbol[:strings.LastIndex(symbol, "/")+1]
	rest := symbol[len(path):]
	name, _, ok := strings.Cut(rest, ".")
	if !ok {
		return ""
	}
	return path + strings.ReplaceAll(name, "%2e", ".")
}

// leastBytes and leastSeconds are the minimum cost of a module that gets its own row.
const (
	leastBytes   = 100 << 10
	leastSeconds = 1
)

// text returns the table in Markdown.
func (t *table) text() string {
	var all, small row
	count := 0
	var out strings.Builder
	out.WriteString("| Module | Packages | Compile, CPU s | Code and data, KB |\n|---|---:|---:|---:|\n")
	for _, r := range slices.SortedFunc(maps.Values(t.rows), func(a, b *row) int {
		return cmp.Or(cmp.Compare(b.bytes, a.bytes), strings.Compare(a.module, b.module))
	}) {
		all.add(r)
		if r.bytes < leastBytes && r.compile.Seconds() < leastSeconds {
			small.add(r)
			count++
			continue
		}
		r.write(&out, "`"+r.module+"`")
	}
	small.write(&out, fmt.Sprintf("%d others", count))
	all.write(&out, "**All**")
	return out.String()
}

func (r *row) add(other *row) {
	r.packages += other.packages
	r.compile += other.compile
	r.bytes += other.bytes
}

func (r *row) write(out io.Writer, name string) {
	fmt.Fprintf(out, "| %s | %d | %.1f | %d |\n", name, r.packages, r.compile.Seconds(), r.bytes/1000)
}

// heading is the heading above the table in the file.
const heading = "\n## Weights\n"

// rewrite puts text between the heading and the next one.
func rewrite(file, text string) error {
	old, err := os.ReadFile(file) //nolint:gosec // the command line names it
	if err != nil {
		return err
	}
	before, rest, ok := strings.Cut(string(old), heading)
	_, after, closed := strings.Cut(rest, "\n## ")
	if !ok || !closed {
		return fmt.Errorf("%s has no heading %q with another one after it", file, strings.TrimSpace(heading))
	}
	return os.WriteFile(file, []byte(before+heading+"\n"+text+"\n## "+after), 0o644) //nolint:gosec // it is published
}

// Package bounds tests that all input of callers, tenants, peers, tool servers and models that the
// runtime evaluates is bounded. docs/guides/production.md has the table.
package bounds

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/usage"
)

// size is the size of a bomb in bytes.
const size = 64 << 10

// input is a kind of evaluated input.
type input struct {
	// bombs are the worst inputs by name.
	bombs map[string]bomb
	// tests are additional tests of bounds, each a package and a function.
	tests []string
}

// bomb evaluates an input that is hostile.
type bomb struct {
	// reason is a part of the error that must stop it; empty if its size bounds its cost.
	reason   string
	evaluate func(t *testing.T) error
}

// inputs returns the rows of the table by input name.
func inputs() map[string]input {
	all := map[string]input{}
	for _, some := range []map[string]input{schemaInputs(), patternInputs(), textInputs(), documentInputs()} {
		maps.Copy(all, some)
	}
	return all
}

// The worst inputs of 64 KB are rejected with a reason, or evaluated in bounded time and memory.
func TestEvaluatedInputsAreBounded(t *testing.T) {
	for name, in := range inputs() {
		for kind, b := range in.bombs {
			t.Run(name+"/"+kind, func(t *testing.T) {
				var err error
				used := usage.Of(func() { err = b.evaluate(t) })
				t.Logf("%v, %d MB, %.200v", used.CPU, used.Allocated>>20, err)
				if used.CPU > 15*time.Second {
					t.Errorf("it took %v", used.CPU)
				}
				if used.Allocated > 512<<20 {
					t.Errorf("it allocated %d MB", used.Allocated>>20)
				}
				if b.reason == "" && err != nil || b.reason != "" && (err == nil || !strings.Contains(err.Error(), b.reason)) {
					t.Errorf("error %.300v, want one that says %q", err, b.reason)
				}
				if err != nil && len(err.Error()) > 8000 {
					t.Errorf("the error has %d bytes", len(err.Error()))
				}
			})
		}
	}
}

// The table in docs/guides/production.md has the same inputs, and its tests exist.
func TestTheTableHasAllInputs(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	page, err := os.ReadFile(filepath.Join(root, "docs", "guides", "production.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(page), "\n## Bounds of what callers write\n")
	table, _, _ = strings.Cut(table, "\n## ")
	listed := map[string]bool{}
	for line := range strings.Lines(table) {
		if cells := strings.Split(line, "|"); len(cells) == 5 && !strings.HasPrefix(cells[1], "--") && strings.TrimSpace(cells[1]) != "Input" {
			listed[strings.TrimSpace(cells[1])] = true
		}
	}
	tested := inputs()
	for _, name := range slices.Sorted(maps.Keys(tested)) {
		if !listed[name] {
			t.Errorf("the table lacks the row %q", name)
		}
		delete(listed, name)
		if len(tested[name].bombs)+len(tested[name].tests) == 0 {
			t.Errorf("%s has no test", name)
		}
		for _, test := range tested[name].tests {
			pkg, function, _ := strings.Cut(test, " ")
			if !hasFunction(t, filepath.Join(root, pkg), function) {
				t.Errorf("%s names the test %s, which does not exist", name, test)
			}
		}
	}
	for name := range listed {
		t.Errorf("the row %q of the table has no test", name)
	}
}

func hasFunction(t *testing.T, dir, function string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(files, func(file string) bool {
		text, err := os.ReadFile(file)
		return err == nil && strings.Contains(string(text), "\nfunc "+function+"(")
	})
}

// repeat returns a text of bomb size: a format, in which %d is a number, repeated between a
// beginning and an end.
func repeat(begin, format, separator, end string) string {
	var out strings.Builder
	out.WriteString(begin)
	for i := 0; ; i++ {
		piece := strings.ReplaceAll(format, "%d", strconv.Itoa(i))
		if i > 0 {
			piece = separator + piece
		}
		if out.Len()+len(piece)+len(end) > size {
			return out.String() + end
		}
		out.WriteString(piece)
	}
}

// nest returns a text that repeats a beginning and an end around a middle.
func nest(begin, middle, end string, depth int) string {
	return strings.Repeat(begin, depth) + middle + strings.Repeat(end, depth)
}

// doubling returns a schema whose levels each refer twice to the next.
func doubling(levels int) string {
	var defs strings.Builder
	for i := range levels {
		fmt.Fprintf(&defs, `"l%d":{"anyOf":[{"$ref":"#/$defs/l%[2]d"},{"$ref":"#/$defs/l%[2]d"}]},`, i, i+1)
	}
	return fmt.Sprintf(`{"$ref":"#/$defs/l0","$defs":{%s"l%d":{"type":"null"}}}`, defs.String(), levels)
}

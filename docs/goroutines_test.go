package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

var goroutineRow = regexp.MustCompile("(?m)^\\| `([\\w/]+\\.go)` \\| (\\d+) \\|")

// TestGoroutineTable compares the table of goroutines in docs/internals/architecture.md with the
// code: each file has a row with its numbers of go statements and WaitGroup.Go calls.
func TestGoroutineTable(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("internals/architecture.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := make(map[string]int)
	for _, m := range goroutineRow.FindAllStringSubmatch(string(page), -1) {
		listed[m[1]], _ = strconv.Atoi(m[2])
	}
	for file, n := range countGoroutines(t) {
		if listed[file] != n {
			t.Errorf("%s starts goroutines at %d places, and the table has %d: add who starts them, what ends them, and the test that proves it", file, n, listed[file])
		}
		delete(listed, file)
	}
	for file := range listed {
		t.Errorf("the table has %s, which starts no goroutines", file)
	}
}

// countGoroutines counts the goroutine starts per file, without tests and packages that only tests
// import.
func countGoroutines(t *testing.T) map[string]int {
	t.Helper()
	counts := make(map[string]int)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && path != root || name == "internal/testkit" || name == "model/internal/vendortest" || name == "examples" || d.Name() == "testdata"):
			return fs.SkipDir
		case d.IsDir(), !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"):
			return nil
		}
		parsed, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.GoStmt:
				counts[name]++
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Go" && len(n.Args) == 1 {
					counts[name]++
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return counts
}

package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	// maxBools is the maximum number of bool fields in a struct: more are the states of an implicit
	// state machine.
	maxBools = 3
	// maxFields is the maximum number of fields in an engine struct: more are several subjects.
	maxFields = 15
)

// engines are the packages, including those below them, whose structs have a field limit.
var engines = []string{"runtime", "service", "backend", "server", "store/dispatch", "store/memory", "store/sqlite", "store/postgres"}

// largeStructs are the structs that are not records and are allowed to exceed a limit, with the
// reason.
var largeStructs = map[string]string{
	"config/internal/record.Field": "the flags of a field's tags",
	"model.PoolPolicy":             "the settings of a pool",
	"model/anthropic.concessions":  "what a model refuses, each by itself",
	"model/openai.concessions":     "what a model refuses, each by itself",
	"runtime.Request":              "what a caller fills in",
	"server.Route":                 "what a surface declares",
}

// size is the size of a struct.
type size struct{ fields, bools, tagged int }

// sizeOf counts the fields of a struct.
func sizeOf(s *ast.StructType) size {
	var n size
	for _, f := range s.Fields.List {
		names := max(1, len(f.Names))
		if len(f.Names) == 1 && f.Names[0].Name == "_" {
			continue
		}
		n.fields += names
		if f.Tag != nil {
			n.tagged += names
		}
		switch t := f.Type.(type) {
		case *ast.Ident:
			if t.Name == "bool" {
				n.bools += names
			}
		case *ast.SelectorExpr:
			if x, ok := t.X.(*ast.Ident); ok && x.Name == "atomic" && t.Sel.Name == "Bool" {
				n.bools += names
			}
		}
	}
	return n
}

// tooLarge returns the limit that a struct exceeds, or "". Records have no limits: structs decoded
// or encoded field by field, and settings.
func tooLarge(pkg, name string, n size) string {
	record := 2*n.tagged > n.fields || strings.HasSuffix(name, "Settings") || pkg == "spec" || pkg == "config/settings"
	engine := slices.ContainsFunc(engines, func(e string) bool { return pkg == e || strings.HasPrefix(pkg, e+"/") })
	switch {
	case record:
		return ""
	case n.bools > maxBools:
		return "bools"
	case engine && n.fields > maxFields:
		return "fields"
	default:
		return ""
	}
}

func TestStructsHaveFewFlagsAndOneSubject(t *testing.T) {
	t.Parallel()
	const root = "../.."
	found, structs := make(map[string]bool), 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "testdata" || d.Name() == "node_modules"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil || ast.IsGenerated(file) {
			return err
		}
		pkg, err := filepath.Rel(root, filepath.Dir(path))
		if err != nil {
			return err
		}
		pkg = filepath.ToSlash(pkg)
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			s, ok := spec.Type.(*ast.StructType)
			if !ok {
				return true
			}
			structs++
			got := sizeOf(s)
			which := tooLarge(pkg, spec.Name.Name, got)
			if which == "" {
				return true
			}
			id := pkg + "." + spec.Name.Name
			if found[id] = true; largeStructs[id] == "" {
				t.Errorf("%s has %d fields and %d bools, too many %s: give each subject a struct, and a state in place of flags that exclude each other", id, got.fields, got.bools, which)
			}
			return true
		})
		return nil
	})
	if err != nil || structs < 100 {
		t.Fatalf("%d structs: %v", structs, err)
	}
	for id := range largeStructs {
		if !found[id] {
			t.Errorf("%s is small enough, or gone: it needs no exception", id)
		}
	}
}

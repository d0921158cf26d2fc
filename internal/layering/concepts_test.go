package layering

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// concept is the subject of one struct. Other structs embed it: they neither redeclare its fields
// nor copy them one by one.
type concept struct {
	// owner is the struct, as package.Name, and fields some of its distinctive fields.
	owner  string
	fields []string
	// translators are the files that convert it to another form of JSON.
	translators []string
}

var concepts = []concept{
	{
		owner: "interaction.Request", fields: []string{"Arguments", "Action", "Message", "Parameters", "ResponseSchema"},
		translators: []string{"server/agentruns/interactions.go"},
	},
	{
		owner: "event.Outcome", fields: []string{"Termination", "Response", "FinishReason", "Steps", "Usage", "Cost"},
		translators: []string{"event/data.go", "event/outcome.go", "cli/internal/turnview/printer.go"},
	},
}

// TestAConceptHasOneStruct looks for structs with the fields of a concept, and for
// literals that copy them by hand.
func TestAConceptHasOneStruct(t *testing.T) {
	t.Parallel()
	const root = "../.."
	files := token.NewFileSet()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".") && path != root):
			return fs.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		name, _ := filepath.Rel(root, path)
		for i := range concepts {
			for _, problem := range concepts[i].violations(file) {
				if c := &concepts[i]; !slices.Contains(c.translators, filepath.ToSlash(name)) {
					t.Errorf("%s: %s: use %s itself, or embed it", name, problem, c.owner)
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// violations returns a file's uses of the fields of a foreign concept. It requires most of the
// fields, because other structs share some.
func (c *concept) violations(file *ast.File) []string {
	var found []string
	most := len(c.fields) - 1
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.TypeSpec:
			s, ok := n.Type.(*ast.StructType)
			if ok && file.Name.Name+"."+n.Name.Name != c.owner && c.count(fieldNames(s)) >= most {
				found = append(found, fmt.Sprintf("type %s declares its fields", n.Name.Name))
			}
		case *ast.CompositeLit:
			if c.count(copied(n)) >= most-1 {
				found = append(found, "a literal copies its fields")
			}
		}
		return true
	})
	return found
}

func (c *concept) count(names []string) int {
	n := 0
	for _, field := range c.fields {
		if slices.Contains(names, field) {
			n++
		}
	}
	return n
}

func fieldNames(s *ast.StructType) []string {
	var names []string
	for _, field := range s.Fields.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

// copied returns the fields of a literal that are copied from a field of the same name.
func copied(lit *ast.CompositeLit) []string {
	var names []string
	for _, element := range lit.Elts {
		pair, ok := element.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		key, isName := pair.Key.(*ast.Ident)
		from, isField := pair.Value.(*ast.SelectorExpr)
		if isName && isField && key.Name == from.Sel.Name {
			names = append(names, key.Name)
		}
	}
	return names
}

package layering

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestNoTypeEmbedsItsSettings keeps a type's settings private: the fields of embedded settings
// would be part of its API and give its users access to its dependencies.
func TestNoTypeEmbedsItsSettings(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	read := 0
	err := filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == "testdata" || entry.Name() == "node_modules") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(path, ".go") {
			return nil
		}
		read++
		file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, at := range embeddedSettings(file) {
			t.Errorf("%s: settings are embedded; name the field", files.Position(at))
		}
		return nil
	})
	if err != nil || read < 100 {
		t.Fatalf("read %d files: %v", read, err)
	}
}

// embeddedSettings returns the positions where structs in a file embed settings.
func embeddedSettings(file *ast.File) (found []token.Pos) {
	ast.Inspect(file, func(n ast.Node) bool {
		s, ok := n.(*ast.StructType)
		if !ok {
			return true
		}
		for _, field := range s.Fields.List {
			if len(field.Names) == 0 && strings.HasSuffix(typeName(field.Type), "Settings") {
				found = append(found, field.Pos())
			}
		}
		return true
	})
	return found
}

// typeName returns the name of an embedded type, without its package.
func typeName(t ast.Expr) string {
	switch t := t.(type) {
	case *ast.StarExpr:
		return typeName(t.X)
	case *ast.SelectorExpr:
		return t.Sel.Name
	case *ast.IndexExpr:
		return typeName(t.X)
	case *ast.Ident:
		return t.Name
	default:
		return ""
	}
}

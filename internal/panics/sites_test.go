package panics_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// bare are the files that call recover without passing its value to Caught: their cleanup must run
// whether or not something panicked.
var bare = map[string]bool{"server/router.go": true}

func TestWhatPanicsIsRecoveredInOnePlace(t *testing.T) {
	t.Parallel()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator)))
		switch {
		case err != nil:
			return err
		case d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != root, d.IsDir() && d.Name() == "node_modules":
			return fs.SkipDir
		case d.IsDir(), !strings.HasSuffix(name, ".go"), strings.HasSuffix(name, "_test.go"), bare[name]:
			return nil
		}
		files := token.NewFileSet()
		parsed, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		caught := make(map[ast.Expr]bool)
		ast.Inspect(parsed, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			switch f := call.Fun.(type) {
			case *ast.SelectorExpr:
				noteCaught(caught, call, f.Sel.Name)
			case *ast.Ident:
				noteCaught(caught, call, f.Name)
				if f.Name == "recover" && !caught[call] {
					t.Errorf("%s:%d calls recover: defer panics.Recover or panics.Handle", name, files.Position(call.Pos()).Line)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// noteCaught notes the arguments of Caught, which are visited after it.
func noteCaught(caught map[ast.Expr]bool, call *ast.CallExpr, name string) {
	if name == "Caught" {
		for _, arg := range call.Args {
			caught[arg] = true
		}
	}
}

package docs_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// exportedNames returns the exported names of a package: of declarations, methods and fields.
func exportedNames(t *testing.T, dir string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range files {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				names[n.Name.Name] = true
				return false
			case *ast.TypeSpec:
				names[n.Name.Name] = true
			case *ast.Field:
				for _, name := range n.Names {
					names[name.Name] = true
				}
			}
			return true
		})
	}
	return names
}

func TestTheNamesOfTheMigrationTableExist(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("guides/agents-go.md")
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string]map[string]bool{
		"agents": exportedNames(t, "../agents"), "wire": exportedNames(t, "../agents/wire"),
		"tools": exportedNames(t, "../tools"), "snapshottest": exportedNames(t, "../agents/snapshottest"),
	}
	_, section, _ := strings.Cut(string(page), "## Coming from Genkit")
	section, _, _ = strings.Cut(section, "\n## ")
	name, checked := regexp.MustCompile("`(?:(\\w+)\\.)?([A-Z]\\w*)(?:\\.([A-Z]\\w*))?`"), 0
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 {
			continue
		}
		for _, found := range name.FindAllStringSubmatch(cells[2], -1) {
			pkg, words := found[1], []string{found[2], found[3]}
			if pkg == "" || packages[pkg] == nil { // a name of package agents, or one of its types
				pkg, words = "agents", append(words, found[1])
			}
			for _, word := range words {
				if word != "" && !packages[pkg][word] {
					t.Errorf("package %s has no %s: %s", pkg, word, found[0])
				}
			}
			checked++
		}
	}
	if checked < 50 {
		t.Errorf("the table has only %d names", checked)
	}
}

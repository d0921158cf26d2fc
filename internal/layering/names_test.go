package layering

import (
	"cmp"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// maxOneWordShare is the maximum percentage of unexported functions and methods with a one-word
// name. In well-read Go projects it is 4 to 10.
const maxOneWordShare = 20

// TestFunctionsAreNamedByVerbAndObject limits the share of unexported functions and methods with a
// one-word name, over all code that is neither a test nor generated.
func TestFunctionsAreNamedByVerbAndObject(t *testing.T) {
	t.Parallel()
	oneWord, total := map[string]int{}, 0
	eachGoFile(t, func(path string, file *ast.File) {
		if strings.HasSuffix(path, "_test.go") || ast.IsGenerated(file) {
			return
		}
		for _, decl := range file.Decls {
			f, ok := decl.(*ast.FuncDecl)
			if !ok || f.Name.IsExported() || f.Name.Name == "init" || f.Name.Name == "main" {
				continue
			}
			total++
			if countWords(f.Name.Name) == 1 {
				oneWord[filepath.ToSlash(filepath.Dir(path))]++
			}
		}
	})
	sum, packages := 0, make([]string, 0, len(oneWord))
	for p, n := range oneWord {
		sum += n
		packages = append(packages, p)
	}
	t.Logf("%d of %d unexported functions and methods have a one-word name: %.1f %%", sum, total, 100*float64(sum)/float64(total))
	if sum*100 <= total*maxOneWordShare {
		return
	}
	slices.SortFunc(packages, func(a, b string) int { return cmp.Compare(oneWord[b], oneWord[a]) })
	for _, p := range packages {
		t.Logf("%4d %s", oneWord[p], p)
	}
	t.Errorf("more than %d %% have a one-word name: use a verb and an object, like finishCall", maxOneWordShare)
}

func TestCountWords(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"run": 1, "finishCall": 2, "newID": 2, "parseHTTPHeader": 3, "url": 1} {
		if got := countWords(name); got != want {
			t.Errorf("countWords(%q) = %d, want %d", name, got, want)
		}
	}
}

// countWords returns the number of words in a camel case name; an initialism counts as one.
func countWords(name string) int {
	n, runes := 1, []rune(name)
	for i := 1; i < len(runes); i++ {
		startsWord := unicode.IsUpper(runes[i]) && (!unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1]))
		if startsWord {
			n++
		}
	}
	return n
}

// eachGoFile parses every Go file of the repository, testdata excepted.
func eachGoFile(t *testing.T, visit func(path string, file *ast.File)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".")):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		path, err = filepath.Rel(root, path)
		visit(path, file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

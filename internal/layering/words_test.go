package layering

import (
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// maxTellTales is the maximum number of tell-tale words in all comments and documents.
const maxTellTales = 38

// tellTales matches words that make prose read like a translation, such as a verb of speech for a
// function that reports or returns something.
var tellTales = regexp.MustCompile(`(?i)\b(?:(?:tells?|says?) (?:that|whether|what|which|who|how|where)|behind|ahead|takes in|whoever|(?:is|are) none)\b`)

// literalUses matches tell-tale words used in their literal sense.
var literalUses = regexp.MustCompile(`(?i)\bbehind (?:an?|the|your|its|that|one|such an?)? ?(?:reverse |TLS-terminating |company |corporate )*(?:prox(?:y|ies)|load balancers?|gateways?|firewalls?|ingress)\b|\bahead of time\b|\b(?:look|read|write)[- ]ahead\b`)

// TestProseIsPlain counts the tell-tale words in the comments of all Go files and
// in all Markdown files.
func TestProseIsPlain(t *testing.T) {
	t.Parallel()
	var found []string
	count := func(path, text string) {
		text = literalUses.ReplaceAllString(text, "")
		for _, word := range tellTales.FindAllString(text, -1) {
			found = append(found, path+": "+word)
		}
	}
	eachGoFile(t, func(path string, file *ast.File) {
		for _, c := range file.Comments {
			count(path, c.Text())
		}
	})
	eachDocument(t, count)
	t.Logf("%d tell-tale words in comments and documents", len(found))
	if len(found) <= maxTellTales {
		return
	}
	t.Errorf("more than %d tell-tale words; write what a thing does, as in \"reports whether\":\n%s", maxTellTales, strings.Join(found, "\n"))
}

// eachDocument reads every Markdown file of the repository.
func eachDocument(t *testing.T, visit func(path, text string)) {
	t.Helper()
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") || d.Name() == "node_modules" || d.Name() == "build"):
			return filepath.SkipDir
		case d.IsDir() || !strings.HasSuffix(path, ".md"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		path, err = filepath.Rel(root, path)
		visit(path, string(text))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

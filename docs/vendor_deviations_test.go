package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var handledBy = regexp.MustCompile("\\[`(\\w+)`\\]\\(\\.\\./\\.\\./(model/[^)]*\\.go)\\)")

// TestTheTableOfDeviationsIsComplete checks that the functions of the table exist, and that
// each answer of a vendor that a test plays is in it.
func TestTheTableOfDeviationsIsComplete(t *testing.T) {
	data, err := os.ReadFile("tutorials/writing-a-provider.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	found := handledBy.FindAllStringSubmatch(page, -1)
	if len(found) < 10 {
		t.Fatalf("the table has %d rows", len(found))
	}
	for _, m := range found {
		source, err := os.ReadFile(filepath.Join("..", m[2]))
		if err != nil || !regexp.MustCompile(`(?m)^func (\([^)]*\) )?`+m[1]+`\(`).Match(source) {
			t.Errorf("%s has no function %s: %v", m[2], m[1], err)
		}
	}
	played, err := filepath.Glob("../cli/testdata/vendors/*.txtar")
	if err != nil || len(played) == 0 {
		t.Fatal(played, err)
	}
	for _, file := range played {
		if !strings.Contains(page, "(../"+filepath.ToSlash(file)+")") {
			t.Errorf("no row is played by %s", file)
		}
	}
}

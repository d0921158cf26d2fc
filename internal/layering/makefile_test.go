package layering

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestEachTestThatIsNotWatchedRuns holds the targets "race" and "plain" together: the first
// skips tests by their names, in all packages, and the second runs them in those that it
// names, and all tests in some.
func TestEachTestThatIsNotWatchedRuns(t *testing.T) {
	text, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	skipped := regexp.MustCompile(`(?m)^TESTS_ALONE := \^\((.*)\)\$\$?$`).FindSubmatch(text)
	run := regexp.MustCompile(`(?m)\$\(TEST\) -run '\$\(TESTS_ALONE\)\|\S+' (.*)$`).FindSubmatch(text)
	if skipped == nil || run == nil {
		t.Fatal("the Makefile has no TESTS_ALONE, or nothing that runs them")
	}
	names := strings.Split(string(skipped[1]), "|")
	packages := strings.Fields(string(run[1]))
	for _, whole := range regexp.MustCompile(`(?m)^(?:ALONE|VENDORS) := (.*)$`).FindAllSubmatch(text, -1) {
		packages = append(packages, strings.Fields(string(whole[1]))...)
	}
	found := testsNamed(t, names)
	for _, name := range names {
		if len(found[name]) == 0 {
			t.Errorf("there is no %s", name)
		}
		for _, dir := range found[name] {
			if !slices.Contains(packages, "./"+dir) {
				t.Errorf("%s in %s is skipped by \"make race\" and not run by \"make plain\"", name, dir)
			}
		}
	}
}

// testsNamed returns the directories of the tests with some names.
func testsNamed(t *testing.T, names []string) map[string][]string {
	t.Helper()
	declared := regexp.MustCompile(`(?m)^func (` + strings.Join(names, "|") + `)\(`)
	found := make(map[string][]string)
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		dir, err := filepath.Rel(root, filepath.Dir(path))
		for _, m := range declared.FindAllSubmatch(text, -1) {
			found[string(m[1])] = append(found[string(m[1])], filepath.ToSlash(dir))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

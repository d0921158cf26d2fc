package layering

import (
	"bytes"
	"io/fs"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// plainTest is a line of .ci/plain-tests: a test that "make race" skips and "make plain" runs.
type plainTest struct{ dir, test string }

// readPlainTests reads .ci/plain-tests.
func readPlainTests(t *testing.T) []plainTest {
	t.Helper()
	text, err := os.ReadFile("../../.ci/plain-tests")
	if err != nil {
		t.Fatal(err)
	}
	var listed []plainTest
	reasons := regexp.MustCompile(`(?m)^#   (\w+) `).FindAllSubmatch(text, -1)
	for line := range strings.Lines(string(text)) {
		if strings.HasPrefix(line, "#") || line == "\n" {
			continue
		}
		fields := strings.Fields(line)
		if len(fields) != 3 || !strings.HasPrefix(fields[0], "./") {
			t.Fatalf("the line %q is not a package, a test and a reason", line)
		}
		if !slices.ContainsFunc(reasons, func(m [][]byte) bool { return string(m[1]) == fields[2] }) {
			t.Errorf("the reason of the line %q is not explained", line)
		}
		listed = append(listed, plainTest{strings.TrimPrefix(fields[0], "./"), fields[1]})
	}
	return listed
}

// TestEachTestThatIsNotWatchedRuns keeps the targets "race" and "plain" consistent. The first skips
// tests by name in every package, and the second runs them in the packages listed with them.
func TestEachTestThatIsNotWatchedRuns(t *testing.T) {
	t.Parallel()
	listed := readPlainTests(t)
	declared := make(map[plainTest]bool)
	eachTest(t, func(test plainTest, inRace bool) {
		declared[test], declared[plainTest{test.dir, "*"}] = true, true
		whole := slices.Contains(listed, plainTest{test.dir, "*"})
		byName := slices.ContainsFunc(listed, func(p plainTest) bool { return p.test == test.test })
		switch {
		case whole && byName && slices.Contains(listed, test):
			t.Errorf("%s is listed, and all of %s is", test.test, test.dir)
		case whole || slices.Contains(listed, test):
		case byName:
			t.Errorf("%s in %s is skipped by \"make race\" and not run by \"make plain\"", test.test, test.dir)
		case !inRace && test.dir != "internal/bench": // "make gate" runs it
			t.Errorf("%s in %s is not built with the detector, and not run by \"make plain\"", test.test, test.dir)
		}
	})
	for _, p := range listed {
		if !declared[p] {
			t.Errorf("there is no %s in %s", p.test, p.dir)
		}
	}
}

var declaresTest = regexp.MustCompile(`(?m)^func (Test[A-Z]\w*)\(t `)

// eachTest calls a function with each test of the module and whether the test is built with the
// race detector.
func eachTest(t *testing.T, visit func(test plainTest, inRace bool)) {
	t.Helper()
	root := os.DirFS("../..")
	err := fs.WalkDir(root, ".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(file, "_test.go") {
			return err
		}
		text, err := fs.ReadFile(root, file)
		for _, m := range declaresTest.FindAllSubmatch(text, -1) {
			visit(plainTest{path.Dir(file), string(m[1])}, !bytes.Contains(text, []byte("//go:build !race\n")))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestIndexListsEachPageOnce checks that the numbers of every list in docs/index.md increase from 1
// and that each page is listed exactly once.
func TestIndexListsEachPageOnce(t *testing.T) {
	t.Parallel()
	entries := map[string]int{}
	last := 0
	for i, line := range readPage(t, "docs/index.md").lines {
		m := indexEntry.FindStringSubmatch(line)
		if m == nil {
			if strings.HasPrefix(line, "#") {
				last = 0
			}
			continue
		}
		n, err := strconv.Atoi(m[1])
		if err != nil || n != last+1 {
			t.Errorf("docs/index.md:%d: the number is %s, not %d", i+1, m[1], last+1)
		}
		last = n
		entries[path.Join("docs", m[2])]++
	}
	for _, page := range pages(t) {
		if path.Dir(page) != "docs/adr" && strings.HasPrefix(page, "docs/") && page != "docs/index.md" && entries[page] != 1 {
			t.Errorf("docs/index.md lists %s %d times, not once", page, entries[page])
		}
	}
}

var indexEntry = regexp.MustCompile(`^(\d+)\. \[[^\]]+\]\(([^)#]+)\)`)

// TestExamplesAreListed checks that examples/README.md has a row for each example.
func TestExamplesAreListed(t *testing.T) {
	t.Parallel()
	list, err := os.ReadDir(filepath.Join(root, "examples"))
	if err != nil {
		t.Fatal(err)
	}
	text := readText(t, "examples/README.md")
	for _, entry := range list {
		if entry.IsDir() && !strings.Contains(text, "\n| ["+entry.Name()+"](") {
			t.Errorf("examples/README.md does not list %s", entry.Name())
		}
	}
}

// TestIndex follows the links of docs/index.md and the linked pages: they must reach every page of
// the documentation.
func TestIndex(t *testing.T) {
	t.Parallel()
	reached := map[string]bool{"docs/index.md": true}
	for next := []string{"docs/index.md"}; len(next) > 0; next = next[1:] {
		for _, m := range links.FindAllStringSubmatch(prose(readPage(t, next[0])), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			page := path.Join(path.Dir(next[0]), target)
			if strings.Contains(target, "://") || path.Ext(page) != ".md" || reached[page] {
				continue
			}
			reached[page] = true
			next = append(next, page)
		}
	}
	for _, page := range pages(t) {
		if strings.HasPrefix(page, "docs/") && !reached[page] {
			t.Errorf("%s is not reachable from docs/index.md", page)
		}
	}
}

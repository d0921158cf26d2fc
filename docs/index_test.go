package docs_test

import (
	"path"
	"strings"
	"testing"
)

// TestIndex follows the links of docs/index.md and of the pages that it leads to: every
// page of the documentation is among them.
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

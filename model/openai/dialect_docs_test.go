package openai

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// TestDialectsAreDocumented compares the page's table with the dialects.
func TestDialectsAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/guides/providers.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range servers {
		var omitted, renamed []string
		for _, name := range s.takes.Omit {
			omitted = append(omitted, "`"+name+"`")
		}
		for _, from := range slices.Sorted(maps.Keys(s.takes.Names)) {
			renamed = append(renamed, fmt.Sprintf("`%s` to `%s`", from, s.takes.Names[from]))
		}
		row := fmt.Sprintf("| `%s` |", s.dialect)
		for line := range strings.Lines(string(page)) {
			if !strings.HasPrefix(line, row) {
				continue
			}
			cells := strings.Split(line, "|")
			if len(cells) < 7 || !strings.Contains(cells[2], s.baseURL) || strings.TrimSpace(cells[4]) != strings.Join(omitted, ", ") ||
				strings.TrimSpace(cells[5]) != strings.Join(renamed, ", ") {
				t.Errorf("the page differs for %s: %s", s.dialect, line)
			}
			row = ""
			break
		}
		if row != "" {
			t.Errorf("the page has no row for %s", s.dialect)
		}
	}
}

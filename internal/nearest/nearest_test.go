package nearest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/internal/nearest"
)

func TestOf(t *testing.T) {
	tests := map[string]struct {
		name       string
		candidates []string
		want       string // "" when nothing is near
	}{
		"swapped neighbours are one edit":        {"defualt", []string{"backup", "default"}, "default"},
		"a missing character":                    {"asistant", []string{"researcher", "assistant"}, "assistant"},
		"a character too many":                   {"weatherr", []string{"wc", "weather"}, "weather"},
		"a replaced character":                   {"gpt-4p", []string{"gpt-4o"}, "gpt-4o"},
		"another separator":                      {"model-id", []string{"model_id", "model"}, "model_id"},
		"the fewest edits win":                   {"model", []string{"moddels", "models", "node"}, "models"},
		"the first of equals wins":               {"agent", []string{"agent2", "agent1"}, "agent2"},
		"a name is nearest to itself":            {"agent", []string{"agent1", "agent", "agent2"}, "agent"},
		"a pure difference of case counts":       {"WEATHER", []string{"feather", "weather"}, "weather"},
		"even where nothing may be edited away":  {"A", []string{"b", "a"}, "a"},
		"and also beyond ASCII":                  {"GRÜSSE", []string{"grüsse"}, "grüsse"},
		"case breaks ties":                       {"Agent", []string{"agent1", "Agent2", "Agent3"}, "Agent2"},
		"case never outweighs an edit":           {"AGENT", []string{"AGENT12", "agent1"}, "agent1"},
		"three edits in a long name":             {"researcherator", []string{"researcher_ato_"}, "researcher_ato_"},
		"four edits are too many anywhere":       {strings.Repeat("x", 40), []string{strings.Repeat("x", 44)}, ""},
		"two edits are too many in a short name": {"modle", []string{"mod"}, ""},
		"short names may differ by one":          {"wc", []string{"wcs"}, "wcs"},
		"nothing in common is not near":          {"a", []string{"b", "c"}, ""},
		"unrelated names are not near":           {"default", []string{"backup", "resilient"}, ""},
		"characters count, not bytes":            {"größe", []string{"grösse"}, ""},
		"and are edited whole":                   {"日本語a", []string{"日本誤a"}, "日本誤a"},
		"an empty name is near to nothing":       {"", []string{"a", ""}, ""},
		"an empty candidate is near to nothing":  {"a", []string{""}, ""},
		"nothing is near when there is nothing":  {"a", nil, ""},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			got, ok := nearest.Of(test.name, test.candidates)
			if got != test.want || ok != (test.want != "") {
				t.Errorf("Of(%q, %q) = %q, %v; want %q", test.name, test.candidates, got, ok, test.want)
			}
		})
	}
}

// The search with its filters, bands and narrowing limit finds the same as plain computation.
func TestOfFindsWhatAFullComparisonFinds(t *testing.T) {
	word := rapid.StringOfN(rapid.RuneFrom([]rune("abcABé_")), 0, 14, -1)
	rapid.Check(t, func(t *rapid.T) {
		name := word.Draw(t, "name")
		candidates := rapid.SliceOfN(word, 0, 12).Draw(t, "candidates")
		got, ok := nearest.Of(name, candidates)
		want, wantOK := reference(name, candidates)
		if got != want || ok != wantOK {
			t.Fatalf("Of(%q, %q) = %q, %v; want %q, %v", name, candidates, got, ok, want, wantOK)
		}
	})
}

// A single typo in a name of sufficient length is always recognized.
func TestOfRecognizesOneEdit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		id := []rune(rapid.StringMatching(`[a-z][a-z0-9_]{3,20}`).Draw(t, "id"))
		i := rapid.IntRange(0, len(id)-2).Draw(t, "position")
		typo := append([]rune(nil), id...)
		switch rapid.SampledFrom([]string{"swap", "delete", "replace"}).Draw(t, "slip") {
		case "swap":
			typo[i], typo[i+1] = typo[i+1], typo[i]
		case "delete":
			typo = append(typo[:i], typo[i+1:]...)
		case "replace":
			typo[i] = '-'
		}
		if got, ok := nearest.Of(string(typo), []string{"Ω", string(id)}); !ok || got != string(id) {
			t.Fatalf("Of(%q) = %q, %v; want %q", string(typo), got, ok, string(id))
		}
	})
}

func TestOfIsBoundedForHugeNames(t *testing.T) {
	name := strings.Repeat("ab", 100_000)
	candidate := strings.ToUpper(name[2:]) + "ba"
	started := time.Now()
	if _, ok := nearest.Of(name, []string{candidate}); !ok {
		t.Error("the candidate was not found")
	}
	if took := time.Since(started); took > 30*time.Second {
		t.Errorf("one comparison took %v", took)
	}
}

// reference is Of without optimization.
func reference(name string, candidates []string) (best string, ok bool) {
	limit := min(max(utf8.RuneCountInString(name)/3, 1), 3)
	bestEdits, bestExact := 0, 0
	for _, c := range candidates {
		edits := osa(strings.ToLower(name), strings.ToLower(c))
		exact := osa(name, c)
		longest := max(utf8.RuneCountInString(name), utf8.RuneCountInString(c))
		if name == "" || edits > limit || edits >= longest {
			continue
		}
		if !ok || edits < bestEdits || edits == bestEdits && exact < bestExact {
			best, bestEdits, bestExact, ok = c, edits, exact, true
		}
	}
	return best, ok
}

// osa is the optimal string alignment distance by its definition.
func osa(x, y string) int {
	a, b := []rune(x), []rune(y)
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := 1; i <= len(a); i++ {
		for j := 1; j <= len(b); j++ {
			replace := d[i-1][j-1]
			if a[i-1] != b[j-1] {
				replace++
			}
			d[i][j] = min(replace, d[i-1][j]+1, d[i][j-1]+1)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				d[i][j] = min(d[i][j], d[i-2][j-2]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

func BenchmarkOf(b *testing.B) {
	names := []string{"weather", "search", "calendar", "translate", "payments", "customers", "inventory", "report"}
	var mixed, numbered []string
	for i := range 10_000 {
		mixed = append(mixed, fmt.Sprintf("mcp__%s%02d__%s_%d", names[i%8], i%97, names[i/8%8], i))
		numbered = append(numbered, fmt.Sprintf("agent-%04d", i))
	}
	benchmarks := map[string]struct {
		name       string
		candidates []string
	}{
		"unlike":       {"defualt", mixed},
		"alike":        {"mcp__calender31__report_7x", mixed},
		"almost equal": {"agent-00x1", numbered},
		"other case":   {"AGENT-00x1", numbered},
	}
	for title, bench := range benchmarks {
		b.Run(title, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				nearest.Of(bench.name, bench.candidates)
			}
		})
	}
}

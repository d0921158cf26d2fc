package diag_test

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
)

func sortedKeys[K cmp.Ordered, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }

// messages formats a list as its messages.
func messages(l diag.List) string {
	var all []string
	for _, d := range l {
		all = append(all, d.Message)
	}
	return strings.Join(all, " ")
}

func located(message, file string, line, column int) diag.Diagnostic {
	d := diag.New(diag.InvalidValue, "a", "%s", message)
	d.Span = diag.Span{File: file, Line: line, Column: column}
	return d
}

func TestEveryCodeIsDescribed(t *testing.T) {
	seen := map[diag.Code]bool{}
	for _, info := range diag.Codes() {
		if seen[info.Code] {
			t.Errorf("%s is listed twice", info.Code)
		}
		seen[info.Code] = true
		if info.Code.Info() != info {
			t.Errorf("%s describes itself as %v", info.Code, info.Code.Info())
		}
		if !strings.HasSuffix(info.Summary, ".") {
			t.Errorf("the summary of %s is no sentence: %q", info.Code, info.Summary)
		}
		if info.Severity != diag.Error && info.Severity != diag.Warning && info.Severity != diag.Note {
			t.Errorf("the severity of %s is %q", info.Code, info.Severity)
		}
	}
}

func TestAnUnknownCodeIsAnError(t *testing.T) {
	if got := diag.New("of-a-plugin", "a", "m").Severity; got != diag.Error {
		t.Errorf("severity is %q", got)
	}
}

func TestCodesSpeakOfKeysOrOfValues(t *testing.T) {
	for code, want := range map[diag.Code]bool{diag.UnknownField: true, diag.InvalidValue: false, "of-a-plugin": false} {
		if code.MarksKey() != want {
			t.Errorf("MarksKey of %s is %v", code, !want)
		}
	}
}

func TestCodesCannotBeChangedFromOutside(t *testing.T) {
	diag.Codes()[0].Severity = "changed"
	if diag.Codes()[0].Severity == "changed" {
		t.Error("the list of codes is shared")
	}
}

func TestSortFollowsTheFilesThenTheLines(t *testing.T) {
	list := diag.List{
		located("nowhere1", "", 0, 0),
		located("c9", "c.yaml", 9, 1),
		located("unlisted-b2", "y.yaml", 2, 1),
		located("a10", "a.yaml", 10, 1),
		located("b1", "b.yaml", 1, 1),
		located("unlisted-a7", "x.yaml", 7, 1),
		located("a2:9", "a.yaml", 2, 9),
		located("nowhere2", "", 0, 0),
		located("a2:3-first", "a.yaml", 2, 3),
		located("a2:3-second", "a.yaml", 2, 3),
	}
	list.Sort([]string{"c.yaml", "a.yaml", "b.yaml"})
	const want = "c9 a2:3-first a2:3-second a2:9 a10 b1 unlisted-a7 unlisted-b2 nowhere1 nowhere2"
	if got := messages(list); got != want {
		t.Errorf("order is %s\nwant     %s", got, want)
	}
}

func TestDedupKeepsTheFirstOfEqualFindings(t *testing.T) {
	of := func(message, agent string) diag.Diagnostic { return located(message, "a.yaml", 1, 1).ForAgent(agent) }
	elsewhere := of("x", "one")
	elsewhere.Line = 2
	otherCode := of("x", "one")
	otherCode.Code = diag.UnknownField
	otherPath := of("x", "one")
	otherPath.Path = "b"
	list := diag.List{of("x", "one"), of("y", "one"), of("x", "two"), of("y", "one"), of("x", "one"), elsewhere, otherCode, otherPath}
	got := list.Dedup()
	if want := "x y x x x"; messages(got) != want {
		t.Fatalf("left are %s, want %s", messages(got), want)
	}
	if got[0].Agent != "" {
		t.Errorf("a finding of two agents names %q", got[0].Agent)
	}
	if got[1].Agent != "one" {
		t.Errorf("a finding of one agent names %q", got[1].Agent)
	}
	if list[0].Agent != "one" || len(list) != 8 {
		t.Error("the list itself was changed")
	}
}

func TestCountAndHasErrors(t *testing.T) {
	list := diag.List{{Severity: diag.Warning}, {Severity: diag.Note}, {Severity: diag.Warning}}
	for severity, want := range map[diag.Severity]int{diag.Error: 0, diag.Warning: 2, diag.Note: 1} {
		if got := list.Count(severity); got != want {
			t.Errorf("Count(%s) = %d, want %d", severity, got, want)
		}
	}
	if list.HasErrors() {
		t.Error("warnings are taken for errors")
	}
	if !append(list, diag.Diagnostic{Severity: diag.Error}).HasErrors() {
		t.Error("the error is not seen")
	}
}

func TestErrJoinsTheErrorsOnly(t *testing.T) {
	list := diag.List{
		diag.New(diag.InvalidID, "a", "first"),
		diag.New(diag.NoTools, "b", "a warning"),
		diag.New(diag.InvalidValue, "", "second").WithHint("look"),
	}
	err := list.Err()
	if want := "invalid-id: a: first\ninvalid-value: second (look)"; err == nil || err.Error() != want {
		t.Errorf("error is %v, want %s", err, want)
	}
	if err := list[1:2].Err(); err != nil {
		t.Errorf("a list without errors gives %v", err)
	}
}

// refusal is an error that can be shown as a diagnostic.
type refusal struct{ cause error }

func (r *refusal) Error() string               { return "refused" }
func (r *refusal) Unwrap() error               { return r.cause }
func (r *refusal) Diagnostic() diag.Diagnostic { return diag.New(diag.EnvBuild, "", "refusal") }

func TestFromErrorFindsEveryDiagnostic(t *testing.T) {
	a, b, c := diag.New(diag.InvalidID, "", "a"), diag.New(diag.NoTools, "", "b"), diag.New(diag.EnvBuild, "", "c")
	plain := errors.New("plain")
	tests := map[string]struct {
		err  error
		want string
	}{
		"nil":                            {nil, ""},
		"an error that knows none":       {plain, ""},
		"a diagnostic":                   {a, "a"},
		"one that is wrapped":            {fmt.Errorf("resolve x: %w", fmt.Errorf("build: %w", a)), "a"},
		"joined ones, in order":          {errors.Join(c, plain, a, b), "c a b"},
		"joined in a wrapped error":      {fmt.Errorf("all: %w", errors.Join(a, fmt.Errorf("more: %w", errors.Join(b, c)))), "a b c"},
		"several in one format":          {fmt.Errorf("%w and %w and %w", b, plain, a), "b a"},
		"an error that describes itself": {fmt.Errorf("build: %w", &refusal{cause: plain}), "refusal"},
		"which speaks for what it wraps": {&refusal{cause: a}, "refusal"},
		"the errors of a list":           {diag.List{a, b, c}.Err(), "a c"},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			if got := messages(diag.FromError(test.err)); got != test.want {
				t.Errorf("found %q, want %q", got, test.want)
			}
		})
	}
}

func TestANearNameTakesThePlaceOfAHint(t *testing.T) {
	t.Parallel()
	d := diag.New(diag.UnknownField, "", "no such thing").WithHint("known: runs:read")
	for name, want := range map[string]string{"run:read": `did you mean "runs:read"?`, "elsewhere": "known: runs:read"} {
		if got := d.WithNearest(name, []string{"metrics:read", "runs:read"}).Hint; got != want {
			t.Errorf("the hint for %s is %q", name, got)
		}
	}
	if got := diag.New(diag.UnknownField, "", "no such thing").WithNearest("elsewhere", nil).Hint; got != "" {
		t.Errorf("without candidates the hint is %q", got)
	}
}

package tree_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// ignores returns the ignore comments of a text: line, codes and reason, or the fault.
func ignores(t testing.TB, text string) []string {
	var list []string
	for _, c := range read(t, text).Documents[0].Ignores() {
		one := fmt.Sprintf("%d %v %s", c.Line, c.Codes, c.Reason)
		for _, fault := range c.Faults {
			one = fault.Message + " (" + fault.Hint + ")"
		}
		list = append(list, one)
	}
	return list
}

func TestIgnoreComments(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"a: 1 # runtime: ignore no-tools it is new":              "1 [no-tools] it is new",
		"# runtime: ignore no-tools x\n# more\na: 1":             "3 [no-tools] x",
		"# runtime: ignore no-tools x\n\na: 1":                   "0 [no-tools] x",
		"a: 1\n#runtime: ignore no-tools, no-retry , no-tools x": "0 [no-tools no-retry] x",
		"a: 1 # runtime: ignore":                                 "the comment names no code to ignore (write # runtime: ignore CODE reason)",
		"a: 1 # runtime: ignore no-tools":                        "the comment gives no reason (add one after the code: # runtime: ignore CODE reason)",
		"a: 1 # runtime: ignore no-tolls x":                      `the comment names the unknown code "no-tolls" (did you mean "no-tools"?)`,
		"a: 1 # runtime: ignore invalid-ignore x":                "invalid-ignore cannot be ignored (fix or remove the comment)",
		"a: '# runtime: ignore no-tools x'":                      "",
		"a: |\n  # runtime: ignore no-tools x":                   "",
		"a: b#runtime:ignore no-tools x":                         "",
	} {
		if got := strings.Join(ignores(t, text), "; "); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

// A text in a value is never taken for a comment, however it is written, and a comment always is
// one.
func TestOnlyCommentsIgnore(t *testing.T) {
	t.Parallel()
	const mark = "# runtime: ignore no-tools x"
	rapid.Check(t, func(rt *rapid.T) {
		var text strings.Builder
		comments := 0
		for i := range rapid.IntRange(1, 12).Draw(rt, "lines") {
			switch rapid.IntRange(0, 5).Draw(rt, "kind") {
			case 0:
				fmt.Fprintf(&text, "k%d: '%s'\n", i, mark)
			case 1:
				fmt.Fprintf(&text, "k%d: \"a\\\" %s\"\n", i, mark)
			case 2:
				fmt.Fprintf(&text, "k%d: |\n  a\n  %s\n", i, mark)
			case 3:
				fmt.Fprintf(&text, "'%s %d': [1, '%s']\n", mark, i, mark)
			case 4:
				fmt.Fprintf(&text, "k%d: v %s\n", i, mark)
				comments++
			case 5:
				fmt.Fprintf(&text, "k%d: {a: ${X},\n  %s\n  b: 2}\n", i, mark)
				comments++
			}
		}
		if got := ignores(t, text.String()); len(got) != comments {
			rt.Fatalf("%d comments, want %d, in\n%s", len(got), comments, text.String())
		}
	})
}

func TestFindingsBeyondTheLimitAreCounted(t *testing.T) {
	t.Parallel()
	doc := tree.NewSourceFile("f.yaml", nil)
	for i := range yamltree.MaxFindings + 5 {
		if kept := doc.CountFinding(diag.Warning); kept != (i < yamltree.MaxFindings) {
			t.Fatalf("finding %d is kept: %v", i, kept)
		}
	}
	if doc.OmittedFindings() != nil || doc.HasTooManyErrors() {
		t.Error("warnings stop the reading")
	}
	doc.Omitted = &diag.Diagnostic{Code: diag.NoEffect, Span: diag.Span{File: "f.yaml", Line: 7}}
	if list := doc.OmittedFindings(); len(list) != 1 || list[0].Severity != diag.Warning || list[0].Line != 7 || list[0].Code != diag.NoEffect {
		t.Errorf("they are replaced by %+v", list)
	}
	doc.CountFinding(diag.Error)
	if list := doc.OmittedFindings(); len(list) != 1 || list[0].Severity != diag.Error {
		t.Errorf("with an error they are replaced by %+v", list)
	}
}

package diag_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/diag"
)

var formats = []diag.Format{diag.FormatText, diag.FormatJSON, diag.FormatSARIF, diag.FormatGitHub}

func TestEveryFormatRendersAMixedReport(t *testing.T) {
	for _, format := range formats {
		t.Run(string(format), func(t *testing.T) {
			golden(t, "mixed."+string(format), render(t, mixed(t), format))
		})
	}
}

func TestEveryFormatRendersAnEmptyReport(t *testing.T) {
	for _, format := range formats {
		t.Run(string(format), func(t *testing.T) {
			golden(t, "empty."+string(format), render(t, &diag.Report{Agents: 3}, format))
		})
	}
}

func TestParseFormatKnowsEveryFormat(t *testing.T) {
	for _, format := range formats {
		if got, err := diag.ParseFormat(string(format)); got != format || err != nil {
			t.Errorf("ParseFormat(%q) = %q, %v", format, got, err)
		}
	}
}

func TestParseFormatNamesTheFormatsThereAre(t *testing.T) {
	_, err := diag.ParseFormat("xml")
	if err == nil {
		t.Fatal("an unknown format was accepted")
	}
	for _, want := range []string{`"xml"`, "text", "json", "sarif", "github"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %q does not mention %s", err, want)
		}
	}
}

func TestRenderRefusesAnUnknownFormat(t *testing.T) {
	if err := new(diag.Report).Render(io.Discard, "xml"); err == nil {
		t.Error("an unknown format was accepted")
	}
}

// full is a writer that always fails.
type full struct{}

var errFull = errors.New("no space left")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestRenderReturnsTheErrorOfTheWriter(t *testing.T) {
	for _, format := range formats {
		if err := mixed(t).Render(full{}, format); !errors.Is(err, errFull) {
			t.Errorf("%s: error is %v", format, err)
		}
	}
}

func TestValid(t *testing.T) {
	list := func(severities ...diag.Severity) diag.List {
		var l diag.List
		for _, s := range severities {
			l = append(l, diag.Diagnostic{Severity: s})
		}
		return l
	}
	tests := map[string]struct {
		list              diag.List
		valid, whenStrict bool
	}{
		"nothing found": {nil, true, true},
		"an info":       {list(diag.Note), true, true},
		"a warning":     {list(diag.Note, diag.Warning), true, false},
		"an error":      {list(diag.Error), false, false},
		"one of each":   {list(diag.Note, diag.Warning, diag.Error), false, false},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			for strict, want := range map[bool]bool{false: test.valid, true: test.whenStrict} {
				r := &diag.Report{Diagnostics: test.list, Strict: strict}
				if r.Valid() != want {
					t.Errorf("strict %v: Valid() = %v", strict, !want)
				}
				var decoded struct{ Valid bool }
				if err := json.Unmarshal(render(t, r, diag.FormatJSON), &decoded); err != nil {
					t.Fatal(err)
				}
				if decoded.Valid != want {
					t.Errorf("strict %v: JSON says valid is %v", strict, !want)
				}
			}
		})
	}
}

func TestTheSummaryCountsInWords(t *testing.T) {
	tests := map[string]struct{ errors, warnings, infos, agents int }{
		"2 errors, 1 warning in 3 agents":          {2, 1, 0, 3},
		"1 error in 1 agent":                       {1, 0, 0, 1},
		"2 warnings, 1 info in 2 agents":           {0, 2, 1, 2},
		"1 error, 1 warning, 2 infos in 12 agents": {1, 1, 2, 12},
		"no problems in 3 agents":                  {0, 0, 0, 3},
		"no problems in 1 agent":                   {0, 0, 0, 1},
		"1 error":                                  {1, 0, 0, 0},
	}
	for want, n := range tests {
		t.Run(want, func(t *testing.T) {
			r := &diag.Report{Agents: n.agents}
			for severity, count := range map[diag.Severity]int{diag.Error: n.errors, diag.Warning: n.warnings, diag.Note: n.infos} {
				for range count {
					r.Diagnostics = append(r.Diagnostics, diag.Diagnostic{Severity: severity})
				}
			}
			lines := strings.Split(strings.TrimSuffix(string(render(t, r, diag.FormatText)), "\n"), "\n")
			if got := lines[len(lines)-1]; got != want {
				t.Errorf("summary is %q, want %q", got, want)
			}
		})
	}
}

func ExampleReport_Render() {
	finding := diag.New(diag.ModelNotFound, "agents.assistant.model_id", "model %q is not defined", "defualt").
		WithHint("did you mean %q?", "default")
	finding.Span = diag.Span{File: "config.yaml", Line: 3, Column: 15, EndLine: 3, EndColumn: 22}
	report := diag.Report{
		Diagnostics: diag.List{finding},
		Agents:      1,
		Source:      func(string) []byte { return []byte("agents:\n  assistant:\n    model_id: defualt\n") },
	}
	var b strings.Builder
	if err := report.Render(&b, diag.FormatText); err != nil {
		fmt.Println(err)
	}
	fmt.Print(b.String())
	// Output:
	// error[model-not-found]: model "defualt" is not defined
	//   --> config.yaml:3:15
	//    |
	//  3 |     model_id: defualt
	//    |               ^^^^^^^ did you mean "default"?
	//
	// 1 error in 1 agent
}

func TestEveryFormatRendersWhatIsSuppressed(t *testing.T) {
	for _, format := range formats {
		t.Run(string(format), func(t *testing.T) {
			golden(t, "suppressed."+string(format), render(t, suppressing(t), format))
		})
	}
}

func TestWhatIsSuppressedDoesNotCount(t *testing.T) {
	r := suppressing(t)
	r.Strict, r.Diagnostics = true, nil
	if !r.Valid() {
		t.Error("a suppressed warning makes a strict report invalid")
	}
	if got, want := string(render(t, r, diag.FormatText)), "no problems in 2 agents (1 warning, 1 info ignored)\n"; got != want {
		t.Errorf("text is %q, want %q", got, want)
	}
}

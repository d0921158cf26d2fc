package config_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
)

// said formats a list as lines, codes and messages.
func said(list diag.List) []string {
	all := []string{}
	for _, d := range list {
		all = append(all, fmt.Sprintf("%d %s: %s", d.Line, d.Code, d.Message))
	}
	return all
}

func TestCommentsSilenceDiagnosticsOfTheirLine(t *testing.T) {
	t.Parallel()
	text := lines(
		"version: 1",
		oneProvider+oneModel+"tools:",
		"  t: {type: command, command: [x]} # runtime: ignore unused-definition, no-effect shared: others use it",
		"  # runtime: ignore unused-definition kept for later",
		"  # an ordinary comment",
		"  u: {type: command, command: [x]} # runtime: ignore no-effect of no use here",
		"agents:",
		"  # runtime: ignore no-tools alone before an empty line",
		"",
		"  a: {model_id: m} #runtime:ignore no-tools,unmatched-tool it talks # runtime: ignore delegate-cycle wanted",
	)
	f, load := parseDocument(t, text)
	build := diag.List{
		diag.New(diag.UnusedDefinition, "tools.t", "nothing uses t"),
		diag.New(diag.NoEffect, "tools.t", "no effect"),
		diag.New(diag.UnusedDefinition, "tools.u", "nothing uses u"),
		diag.New(diag.NoEffect, "tools.u", "no effect"),
		diag.New(diag.NoTools, "agents.a", "a has no tools"),
		diag.New(diag.UnmatchedTool, "agents.a", "no such tool"),
		diag.New(diag.DelegateCycle, "agents.a", "a circle"),
		diag.New(diag.UnclaimedSection, "agents.a", "the one that stays"),
	}
	all, suppressed := f.CompleteAll(load, build)
	want := []string{
		"10 invalid-ignore: no no-tools diagnostic to ignore on the line after the comment",
		"12 unclaimed-section: the one that stays",
	}
	if diff := cmp.Diff(want, said(all)); diff != "" {
		t.Errorf("shown (-want +got):\n%s", diff)
	}
	reasons := []string{}
	for _, s := range suppressed {
		reasons = append(reasons, fmt.Sprintf("%d %s: %s", s.Line, s.Code, s.Reason))
	}
	want = []string{
		"5 unused-definition: shared: others use it",
		"5 no-effect: shared: others use it",
		"8 unused-definition: kept for later",
		"8 no-effect: of no use here",
		"12 no-tools: it talks",
		"12 unmatched-tool: it talks",
		"12 delegate-cycle: wanted",
	}
	if diff := cmp.Diff(want, reasons); diff != "" {
		t.Errorf("silenced (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"12 unclaimed-section: the one that stays"}, said(f.Complete(load, build))); diff != "" {
		t.Errorf("Complete (-want +got):\n%s", diff)
	}
}

func TestCommentsThatSilenceNothingAreReported(t *testing.T) {
	t.Parallel()
	const at = "  a: {model_id: m} "
	noTools := diag.New(diag.NoTools, "agents.a", "a has no tools")
	for name, tt := range map[string]struct {
		line  string
		build diag.List
		want  []string
	}{
		"nothing there": {
			at + "# runtime: ignore no-tools x", nil,
			[]string{"5 invalid-ignore: no no-tools diagnostic to ignore on this line"},
		},
		"on the line before": {
			"  # runtime: ignore no-tools x\n" + at, nil,
			[]string{"5 invalid-ignore: no no-tools diagnostic to ignore on line 6"},
		},
		"no code": {at + "# runtime: ignore", nil, []string{"5 invalid-ignore: the comment names no code to ignore"}},
		"no reason": {
			at + "# runtime: ignore no-tools  ", diag.List{noTools},
			[]string{"5 no-tools: a has no tools", "5 invalid-ignore: the comment gives no reason"},
		},
		"one unknown code of two": {
			at + "# runtime: ignore no-tool, no-tools x", diag.List{noTools},
			[]string{`5 invalid-ignore: the comment names the unknown code "no-tool"`},
		},
		"itself": {
			at + "# runtime: ignore invalid-ignore x", nil,
			[]string{"5 invalid-ignore: invalid-ignore cannot be ignored"},
		},
		"an error": {
			at + "# runtime: ignore no-tools x", diag.List{noTools.WithSeverity(diag.Error)},
			[]string{"5 no-tools: a has no tools", "5 invalid-ignore: no-tools is an error here; only warnings and infos can be ignored"},
		},
		"nothing, while an error keeps others from being found": {
			at + "# runtime: ignore no-tools x", diag.List{diag.New(diag.ModelNotFound, "agents.a.model_id", "no m")},
			[]string{"5 model-not-found: no m"},
		},
		"codes that depend on the machine": {at + "# runtime: ignore unset-variable, no-catalog x", nil, []string{}},
		"codes of tools, while a catalog is not known": {
			at + "# runtime: ignore unmatched-pattern, no-effect x", diag.List{diag.New(diag.NoCatalog, "agents.a", "nobody knows")},
			[]string{"5 no-catalog: nobody knows", "5 invalid-ignore: no no-effect diagnostic to ignore on this line"},
		},
		"similar comments": {at + "# runtime: ignored by all, runtime: ignore, # Runtime: ignore", nil, []string{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f, load := parseDocument(t, "version: 1\n"+oneProvider+oneModel+"agents:\n"+tt.line+"\n")
			all, suppressed := f.CompleteAll(load, tt.build)
			if diff := cmp.Diff(tt.want, said(all)); diff != "" {
				t.Errorf("shown (-want +got):\n%s", diff)
			}
			if name == "one unknown code of two" && len(suppressed) != 1 {
				t.Errorf("silenced are %v", suppressed)
			}
		})
	}
}

func TestAReasonShowsNoSecret(t *testing.T) {
	t.Parallel()
	text := "version: 1\n" + oneModel + "providers: {p: {type: vendor, api_key: literal-secret-1}} # runtime: ignore plain-secret,unused-definition it is literal-secret-1\n"
	f, load := parseDocument(t, text)
	_, suppressed := f.CompleteAll(load, diag.List{diag.New(diag.UnusedDefinition, "providers.p", "x")})
	if len(suppressed) == 0 {
		t.Fatal("nothing is silenced")
	}
	for _, s := range suppressed {
		if strings.Contains(s.Reason, "literal-secret-1") {
			t.Errorf("the reason is %q", s.Reason)
		}
	}
}

// scalar draws a value that contains the start of such a comment, in one of YAML's text forms, as
// the lines after a key.
func scalar(t *rapid.T) string {
	words := rapid.SliceOfN(rapid.SampledFrom([]string{
		"# runtime: ignore no-such-code x", "#runtime:ignore", "word", "it''s", "[", "}", ": ", "- ", "é", "\u2028", "# other", "${X", "|", "\\\\",
	}), 1, 6).Draw(t, "words")
	separator := rapid.SampledFrom([]string{" ", "\n", "\n\n", "\n   "}).Draw(t, "separator")
	text := "x " + strings.Join(words, separator) + " # runtime: ignore no-such-code x"
	indented := func(header string, depth int) string {
		text := strings.ReplaceAll(text, "\u2028", "") // it would end a line
		return header + "\n" + strings.Repeat(" ", depth) + strings.ReplaceAll(text, "\n", "\n"+strings.Repeat(" ", depth))
	}
	switch rapid.IntRange(0, 6).Draw(t, "style") {
	case 0:
		return "'" + strings.ReplaceAll(text, "\n", "\n    ") + "'"
	case 1:
		return `"` + strings.ReplaceAll(text, "\n", "\n    ") + `"`
	case 2:
		encoded, _ := json.Marshal(text)
		return `["a", ` + string(encoded) + "]"
	case 3:
		return indented("|", 4)
	case 4:
		return indented(">-", 7)
	case 5:
		return indented(">2+", 4)
	default:
		return "{'" + strings.ReplaceAll(text, "\n", "\n    ") + "': 1}"
	}
}

// A comment is effective anywhere between texts of any form; text inside a value never is.
func TestPropertyOnlyCommentsSilence(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString("version: 1\nx-data:\n")
		var want []int
		comment := func(before string) {
			if rapid.Bool().Draw(t, "comment") {
				want = append(want, strings.Count(b.String(), "\n")+1)
				b.WriteString(before + "# runtime: ignore no-such-code x")
			}
			b.WriteString("\n")
		}
		for i := range rapid.IntRange(1, 5).Draw(t, "entries") {
			text := scalar(t)
			fmt.Fprintf(&b, "  k%d: %s", i, text)
			if strings.HasPrefix(text, "|") || strings.HasPrefix(text, ">") {
				b.WriteString("\n")
				comment("  ")
			} else {
				comment(" ")
			}
		}
		f, load := config.Parse([]config.Source{{Name: "c.yaml", Data: []byte(b.String())}}, options(nil))
		if f.Partial {
			t.Fatalf("the text is wrong: %v\n%s", load, b.String())
		}
		all, _ := f.CompleteAll(load, nil)
		var got []int
		for _, d := range all {
			if d.Code == diag.InvalidIgnore {
				got = append(got, d.Line)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("comments at lines (-want +got):\n%s\nof\n%s", diff, b.String())
		}
	})
}

package diag_test

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/diag"
)

// one renders a single finding in a file of the given lines, without the summary line.
func one(t *testing.T, span diag.Span, hint string, lines ...string) string {
	t.Helper()
	d := diag.New(diag.InvalidValue, "a.b", "wrong").WithHint("%s", hint)
	if span.File == "" {
		span.File = "c.yaml"
	}
	d.Span = span
	files := map[string]string{"c.yaml": strings.Join(lines, "\n")}
	got := string(render(t, &diag.Report{Diagnostics: diag.List{d}, Source: source(files)}, diag.FormatText))
	got, ok := strings.CutSuffix(got, "\n1 error\n")
	if !ok {
		t.Fatalf("no blank line and summary at the end of:\n%s", got)
	}
	return got
}

// on returns a span on one line.
func on(line, from, to int) diag.Span {
	return diag.Span{Line: line, Column: from, EndLine: line, EndColumn: to}
}

func TestTextUnderlinesTheSpan(t *testing.T) {
	blank := make([]string, 1233)
	tests := map[string]struct {
		span  diag.Span
		hint  string
		lines []string
		want  string // after the line with the message
	}{
		"followed by the hint": {
			on(2, 5, 8), "use one of x, y", []string{"a:", " b: zzz"},
			"  --> c.yaml:2:5\n   |\n 2 |  b: zzz\n   |     ^^^ use one of x, y\n",
		},
		"without a hint": {
			on(1, 1, 2), "", []string{"abc"},
			"  --> c.yaml:1:1\n   |\n 1 | abc\n   | ^\n",
		},
		"in a long file": {
			on(1234, 1, 4), "", append(blank, "abc"),
			"    --> c.yaml:1234:1\n     |\n1234 | abc\n     | ^^^\n",
		},
		"to the end of the first of several lines": {
			diag.Span{Line: 1, Column: 4, EndLine: 3, EndColumn: 2}, "", []string{"a: {b, c  ", "  d", "}"},
			"  --> c.yaml:1:4\n   |\n 1 | a: {b, c\n   |    ^^^^^\n",
		},
		"at one character when the end is not known": {
			diag.Span{Line: 1, Column: 2}, "h", []string{"abc"},
			"  --> c.yaml:1:2\n   |\n 1 | abc\n   |  ^ h\n",
		},
		"at one character when it is empty": {
			on(1, 2, 2), "", []string{"abc"},
			"  --> c.yaml:1:2\n   |\n 1 | abc\n   |  ^\n",
		},
		"at one character when it ends before it starts": {
			diag.Span{Line: 2, Column: 2, EndLine: 1, EndColumn: 9}, "", []string{"abcdefghij", "abcdefghij"},
			"  --> c.yaml:2:2\n   |\n 2 | abcdefghij\n   |  ^\n",
		},
		"after the line when something is missing there": {
			on(1, 4, 4), "a value", []string{"ab:", ""},
			"  --> c.yaml:1:4\n   |\n 1 | ab:\n   |    ^ a value\n",
		},
		"not beyond the line": {
			on(1, 40, 50), "", []string{"ab:"},
			"  --> c.yaml:1:40\n   |\n 1 | ab:\n   |    ^\n",
		},
		"in an empty line": {
			on(2, 1, 1), "", []string{"ab:", ""},
			"  --> c.yaml:2:1\n   |\n 2 |\n   | ^\n",
		},
		"over the whole line when no column is known": {
			diag.Span{Line: 1}, "", []string{"  abc: d "},
			"  --> c.yaml:1\n   |\n 1 |   abc: d\n   |   ^^^^^^\n",
		},
		"with a hint of several lines below itself": {
			on(1, 3, 5), "first\nsecond", []string{"a bc"},
			"  --> c.yaml:1:3\n   |\n 1 | a bc\n   |   ^^ first\n   |      second\n",
		},
		"after tabs": {
			on(1, 3, 5), "", []string{"\ta\tb"},
			"  --> c.yaml:1:3\n   |\n 1 |     a    b\n   |      ^^^^^\n",
		},
		"after and under wide characters": {
			on(1, 4, 6), "", []string{"日本:語x"},
			"  --> c.yaml:1:4\n   |\n 1 | 日本:語x\n   |      ^^^\n",
		},
		"after and under combining characters": {
			on(1, 6, 8), "", []string{"e\u0301e\u0301 e\u0301x"},
			"  --> c.yaml:1:6\n   |\n 1 | e\u0301e\u0301 e\u0301x\n   |    ^\n",
		},
		"after emoji": {
			on(1, 3, 4), "", []string{"😀 x"},
			"  --> c.yaml:1:3\n   |\n 1 | 😀 x\n   |    ^\n",
		},
		"after decomposed Hangul": {
			on(1, 5, 6), "", []string{"\u1112\u1161\u11ab x"},
			"  --> c.yaml:1:5\n   |\n 1 | \u1112\u1161\u11ab x\n   |    ^\n",
		},
		"after characters that would move the cursor": {
			on(1, 6, 7), "", []string{"\x1b[2J\x7fx"},
			"  --> c.yaml:1:6\n   |\n 1 | ␛[2J␡x\n   |      ^\n",
		},
		"after characters that would turn the text": {
			on(1, 3, 4), "", []string{"\u202e\u2066x"},
			"  --> c.yaml:1:3\n   |\n 1 | \ufffd\ufffdx\n   |   ^\n",
		},
		"after bytes that are not text": {
			on(1, 3, 4), "", []string{"\xff\x80x"},
			"  --> c.yaml:1:3\n   |\n 1 | \ufffd\ufffdx\n   |   ^\n",
		},
		"not counting a byte order mark": {
			on(1, 1, 2), "", []string{"\ufeffabc"},
			"  --> c.yaml:1:1\n   |\n 1 | abc\n   | ^\n",
		},
		"in the lines that spans count": {
			on(2, 7, 10), "", []string{"1\r2\r\n3\u20284\u20295\u0085six"},
			"  --> c.yaml:2:7\n   |\n 2 | 3\ufffd4\ufffd5\ufffdsix\n   |       ^^^\n",
		},
		"nowhere in a line that does not exist": {
			on(3, 1, 2), "look\nhere", []string{"a", "b"},
			"  --> c.yaml:3:1\n   = hint: look\n     here\n",
		},
		"nowhere in a file that is not at hand": {
			diag.Span{File: "d.yaml", Line: 3, Column: 1}, "look", nil,
			"  --> d.yaml:3:1\n   = hint: look\n",
		},
		"nowhere when the line is not known": {
			diag.Span{File: "c.yaml"}, "look", []string{"a"},
			"  --> c.yaml: a.b\n   = hint: look\n",
		},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			want := "error[invalid-value]: wrong\n" + test.want
			if got := one(t, test.span, test.hint, test.lines...); got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestTextCutsLongLinesAroundTheSpan(t *testing.T) {
	long := strings.Repeat("0123456789", 40)
	tests := map[string]struct {
		span diag.Span
		line string
	}{
		"at the start":                   {on(1, 5, 9), long},
		"in the middle":                  {on(1, 205, 209), long},
		"at the end":                     {on(1, 397, 401), long},
		"after the end":                  {on(1, 401, 401), long},
		"longer than what is shown":      {on(1, 101, 399), long},
		"all of it":                      {on(1, 1, 401), long},
		"among wide characters":          {on(1, 205, 209), strings.Repeat("日本語", 133)},
		"among combining characters":     {on(1, 205, 209), strings.Repeat("e\u0301", 200)},
		"far among combining characters": {on(1, 303, 307), strings.Repeat("e\u0301", 200)},
		"far among pairs of them":        {on(1, 602, 607), strings.Repeat("e\u0301\u0302", 300)},
		"far into a file of one line":    {on(1, 500_001, 500_005), strings.Repeat(long, 2500)},
	}
	var all strings.Builder
	for _, title := range sortedKeys(tests) {
		all.WriteString("# " + title + "\n" + one(t, tests[title].span, "hint", tests[title].line) + "\n")
	}
	golden(t, "long-lines.txt", []byte(all.String()))
}

func TestTextNamesThePathOfWhatNoFileHolds(t *testing.T) {
	d := diag.New(diag.ModelNotFound, "agents.x.model_id", "model %q is not defined", "defualt").WithHint("did you mean %q?", "default")
	d.Related = []diag.Related{{Message: "in here", Span: diag.Span{File: "c.yaml"}}, {Message: "somewhere"}}
	bare := diag.Diagnostic{Severity: diag.Warning, Message: "something\nof two lines"}
	got := string(render(t, &diag.Report{Diagnostics: diag.List{d, bare}, Agents: 1}, diag.FormatText))
	want := `error[model-not-found]: model "defualt" is not defined
  --> agents.x.model_id
  ::: c.yaml in here
  ::: somewhere
   = hint: did you mean "default"?

warning: something
         of two lines

1 error, 1 warning in 1 agent
`
	if got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestTextKeepsMessagesFromTheTerminal(t *testing.T) {
	const evil = "a\x1b]0;title\x07b\u202ec"
	d := diag.New(diag.InvalidValue, evil, "%s", evil).WithHint("%s", evil)
	d.Related = []diag.Related{{Message: evil, Path: evil}, {Message: evil, Span: diag.Span{File: evil, Line: 1}}}
	located := d
	located.Span = diag.Span{File: evil, Line: 1, Column: 1}
	got := string(render(t, &diag.Report{
		Diagnostics: diag.List{d, located},
		Source:      func(string) []byte { return []byte(evil) },
	}, diag.FormatText))
	if i := strings.IndexFunc(got, unsafe); i >= 0 {
		t.Errorf("%q reaches the terminal", got[i:])
	}
}

func TestTextIsColouredOnlyWhenAskedTo(t *testing.T) {
	r := mixed(t)
	r.Color = true
	coloured := render(t, r, diag.FormatText)
	golden(t, "mixed.color.text", coloured)
	r.Color = false
	plain := string(render(t, r, diag.FormatText))
	if strings.Contains(plain, "\x1b") {
		t.Error("there are escape sequences without colour")
	}
	for _, code := range []string{"0", "1", "1;31", "1;33", "1;34", "1;36"} {
		coloured = []byte(strings.ReplaceAll(string(coloured), "\x1b["+code+"m", ""))
	}
	if string(coloured) != plain {
		t.Errorf("colour changes the text:\n%s\nwithout:\n%s", coloured, plain)
	}
}

func TestTextReadsEachFileOnce(t *testing.T) {
	reads := 0
	r := mixed(t)
	r.Source = func(string) []byte { reads++; return []byte("x\n") }
	render(t, r, diag.FormatText)
	if reads != 2 {
		t.Errorf("two files were read %d times", reads)
	}
}

// Whatever a file contains and wherever a span points, the output has a caret, stays narrow and is
// safe for the terminal.
func TestTextIsSafeForAnySource(t *testing.T) {
	runes := rapid.RuneFrom([]rune("ab: \t\x00\x1b\x7f\u0085\u009b日😀\u0301\u200d\u202e\u2028\ufeff\ufffd\u00ad\U000e0041"))
	rapid.Check(t, func(rt *rapid.T) {
		line := rapid.StringOfN(runes, 0, 400, -1).Draw(rt, "line")
		number := rapid.IntRange(-1, 500)
		d := diag.New(diag.InvalidValue, "a", "wrong")
		d.Span = diag.Span{
			File: "c.yaml", Line: 1, Column: number.Draw(rt, "column"),
			EndLine: rapid.IntRange(0, 2).Draw(rt, "end line"), EndColumn: number.Draw(rt, "end column"),
		}
		r := &diag.Report{Diagnostics: diag.List{d}, Source: func(string) []byte { return []byte("." + line) }}
		got := string(render(t, r, diag.FormatText))
		if strings.ContainsFunc(got, unsafe) {
			rt.Fatalf("control characters in %q", got)
		}
		lines := strings.Split(got, "\n")
		if len(lines) != 8 || !strings.Contains(lines[4], "^") {
			rt.Fatalf("no carets in:\n%s", got)
		}
		if n := len(lines[4]); n > 130 {
			rt.Fatalf("carets up to column %d in:\n%s", n, got)
		}
		if lines[4] != strings.TrimRight(lines[4], " ") {
			rt.Fatalf("spaces at the end of a line in %q", got)
		}
	})
}

// unsafe reports whether a terminal may interpret r as more than a printable character.
func unsafe(r rune) bool {
	return r != '\n' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
}

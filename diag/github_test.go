package diag_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/diag"
)

func TestGitHubCommand(t *testing.T) {
	tests := map[string]struct {
		d    diag.Diagnostic
		want string
	}{
		"names place, code, message and hint": {
			diag.Diagnostic{Code: diag.ModelNotFound, Severity: diag.Error, Message: "no model", Hint: "try x", Path: "a.b",
				Span: diag.Span{File: "config.yaml", Line: 14, Column: 15, EndLine: 14, EndColumn: 22}},
			"::error file=config.yaml,line=14,endLine=14,col=15,endColumn=22,title=model-not-found::no model (try x)\n",
		},
		"gives no columns of a span of several lines": {
			diag.Diagnostic{Code: diag.NoTools, Severity: diag.Warning, Message: "m",
				Span: diag.Span{File: "c.yaml", Line: 1, Column: 2, EndLine: 3, EndColumn: 4}},
			"::warning file=c.yaml,line=1,endLine=3,title=no-tools::m\n",
		},
		"takes a span without an end for one line": {
			diag.Diagnostic{Code: diag.UnusedDefinition, Severity: diag.Note, Message: "m",
				Span: diag.Span{File: "c.yaml", Line: 1, Column: 2}},
			"::notice file=c.yaml,line=1,endLine=1,col=2,title=unused-definition::m\n",
		},
		"leaves out an end before the start": {
			diag.Diagnostic{Code: diag.NoTools, Severity: diag.Warning, Message: "m",
				Span: diag.Span{File: "c.yaml", Line: 5, Column: 7, EndLine: 5, EndColumn: 3}},
			"::warning file=c.yaml,line=5,endLine=5,col=7,title=no-tools::m\n",
		},
		"gives the path when there is no file": {
			diag.Diagnostic{Code: diag.NoTools, Severity: diag.Warning, Message: "m", Path: "agents.a"},
			"::warning title=no-tools::agents.a: m\n",
		},
		"escapes what would end a message": {
			diag.Diagnostic{Code: diag.NoTools, Severity: diag.Error, Message: "100%\r\n::error::x, y: z", Hint: "a\nb"},
			"::error title=no-tools::100%25%0D%0A::error::x, y: z (a%0Ab)\n",
		},
		"escapes what would end a property": {
			diag.Diagnostic{Code: diag.NoTools, Severity: diag.Error, Message: "m",
				Span: diag.Span{File: "a,line=9::%0A\n.yaml", Line: 1}},
			"::error file=a%2Cline=9%3A%3A%250A%0A.yaml,line=1,endLine=1,title=no-tools::m\n",
		},
	}
	for title, test := range tests {
		t.Run(title, func(t *testing.T) {
			got := string(render(t, &diag.Report{Diagnostics: diag.List{test.d}}, diag.FormatGitHub))
			if got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

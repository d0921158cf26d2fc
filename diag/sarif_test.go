package diag_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/diag"
)

// sarifSchema compiles the part of the SARIF schema that the rendering uses. It is stricter than
// the original: it allows no other properties and requires the properties that code hosts need.
func sarifSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.AssertFormat()
	schema, err := compiler.Compile("testdata/sarif.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return schema
}

func validate(schema *jsonschema.Schema, log []byte) error {
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(log))
	if err != nil {
		return err
	}
	return schema.Validate(value)
}

func TestSARIFFollowsItsSchema(t *testing.T) {
	schema := sarifSchema(t)
	for title, report := range map[string]*diag.Report{"mixed": mixed(t), "empty": {}, "suppressing": suppressing(t)} {
		if err := validate(schema, render(t, report, diag.FormatSARIF)); err != nil {
			t.Errorf("%s report: %v", title, err)
		}
	}
}

func TestSARIFFollowsItsSchemaForAnyDiagnostic(t *testing.T) {
	schema := sarifSchema(t)
	span := rapid.Custom(func(t *rapid.T) diag.Span {
		n := rapid.IntRange(-1, 9)
		return diag.Span{File: rapid.String().Draw(t, "file"), Line: n.Draw(t, "line"), Column: n.Draw(t, "column"),
			EndLine: n.Draw(t, "end line"), EndColumn: n.Draw(t, "end column")}
	})
	codes := []diag.Code{"", "no-such-code"}
	for _, info := range diag.Codes() {
		codes = append(codes, info.Code)
	}
	rapid.Check(t, func(rt *rapid.T) {
		d := diag.Diagnostic{
			Code:     rapid.SampledFrom(codes).Draw(rt, "code"),
			Severity: rapid.SampledFrom([]diag.Severity{diag.Error, diag.Warning, diag.Note, ""}).Draw(rt, "severity"),
			Message:  rapid.String().Draw(rt, "message"),
			Hint:     rapid.String().Draw(rt, "hint"),
			Agent:    rapid.String().Draw(rt, "agent"),
			Path:     rapid.String().Draw(rt, "path"),
			Span:     span.Draw(rt, "span"),
			Related:  []diag.Related{{Message: rapid.String().Draw(rt, "related"), Span: span.Draw(rt, "related span")}},
		}
		d.Related = append(d.Related, d.Related...)
		if err := validate(schema, render(t, &diag.Report{Diagnostics: diag.List{d}}, diag.FormatSARIF)); err != nil {
			rt.Fatal(err)
		}
	})
}

// sarifLog is the part of a log that the tests read.
type sarifLog struct {
	Runs []struct {
		Tool struct {
			Driver struct{ Rules []struct{ ID diag.Code } }
		}
		Results []struct {
			RuleID    diag.Code
			RuleIndex *int
			Message   struct{ Text string }
			Locations []struct {
				PhysicalLocation struct{ ArtifactLocation struct{ URI string } }
			}
		}
	}
}

func decodeSARIF(t *testing.T, r *diag.Report) sarifLog {
	t.Helper()
	var log sarifLog
	if err := json.Unmarshal(render(t, r, diag.FormatSARIF), &log); err != nil {
		t.Fatal(err)
	}
	return log
}

func TestSARIFResultsPointAtTheirRule(t *testing.T) {
	var list diag.List
	for _, info := range diag.Codes() {
		list = append(list, diag.New(info.Code, "", "m"))
	}
	list = append(list, diag.New("of-a-plugin", "", "m"))
	run := decodeSARIF(t, &diag.Report{Diagnostics: list}).Runs[0]
	for i, result := range run.Results {
		switch {
		case i == len(list)-1:
			if result.RuleIndex != nil {
				t.Errorf("a code without a rule points at rule %d", *result.RuleIndex)
			}
		case result.RuleIndex == nil || run.Tool.Driver.Rules[*result.RuleIndex].ID != list[i].Code:
			t.Errorf("the result for %s does not point at its rule", list[i].Code)
		}
	}
}

func TestSARIFNamesFilesByURI(t *testing.T) {
	for file, want := range map[string]string{
		"config.yaml":         "config.yaml",
		"./conf/config.yaml":  "conf/config.yaml",
		"../config.yaml":      "../config.yaml",
		"a b/50%.yaml":        "a%20b/50%25.yaml",
		"what?#here.yaml":     "what%3F%23here.yaml",
		"größe.yaml":          "gr%C3%B6%C3%9Fe.yaml",
		"not-a-scheme:x.yaml": "./not-a-scheme:x.yaml",
		"/etc/my runtime.yml": "file:///etc/my%20runtime.yml",
	} {
		d := diag.Diagnostic{Severity: diag.Error, Span: diag.Span{File: file}}
		log := decodeSARIF(t, &diag.Report{Diagnostics: diag.List{d}})
		if got := log.Runs[0].Results[0].Locations[0].PhysicalLocation.ArtifactLocation.URI; got != want {
			t.Errorf("%q is named %q, want %q", file, got, want)
		}
	}
}

func TestSARIFDoublesBraces(t *testing.T) {
	d := diag.New(diag.UnsetVariable, "", "${A} is not set").WithHint("write ${A:-x}")
	log := decodeSARIF(t, &diag.Report{Diagnostics: diag.List{d}})
	const want = "${{A}} is not set (write ${{A:-x}})"
	if got := log.Runs[0].Results[0].Message.Text; got != want {
		t.Errorf("text is %q, want %q", got, want)
	}
}

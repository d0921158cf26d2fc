package command

import (
	"encoding/json"
	"maps"
	"testing"
)

func TestAssignments(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		form     string
		variable bool
		texts    []string
		want     map[string]string
		wrong    string
	}{
		{form: LabelForm, texts: []string{"team=a", "team=b", "x:=1"}, want: map[string]string{"team": `"b"`, "x:": `"1"`}},
		{form: LabelForm, texts: []string{"team"}, wrong: "write name=value"},
		{form: LabelForm, texts: []string{"=a"}, wrong: "write name=value"},
		{form: JSONForm, texts: []string{"a=1", "b:=1", "a:=[true]"}, want: map[string]string{"a": "[true]", "b": "1"}},
		{form: JSONForm, texts: []string{"a"}, wrong: "write NAME=TEXT or NAME:=JSON"},
		{form: JSONForm, texts: []string{":=1"}, wrong: "write NAME=TEXT or NAME:=JSON"},
		{form: JSONForm, texts: []string{"a:=secret"}, wrong: "the value of a is not JSON"},
		{form: JSONForm, variable: true, texts: []string{"A==", "B:={}"}, want: map[string]string{"A": `"="`, "B": "{}"}},
		{form: JSONForm, variable: true, texts: []string{"A"}, wrong: "it must be NAME=TEXT or NAME:=JSON"},
		{form: JSONForm, variable: true, texts: []string{"1x:=secret"}, wrong: `"1x" is not a valid variable name`},
		{form: JSONForm, variable: true, texts: []string{"A=1", "A:=secret"}, wrong: "A is set twice"},
		{form: JSONForm, variable: true, texts: []string{"A:=secret"}, wrong: "A is not JSON"},
		{form: TextForm, variable: true, texts: []string{"A={}"}, want: map[string]string{"A": `"{}"`}},
		{form: TextForm, variable: true, texts: []string{"A:=1"}, wrong: `"A:" is not a valid variable name`},
		{form: TextForm, variable: true, texts: []string{"A"}, wrong: "it must be NAME=VALUE"},
	} {
		got, wrong := map[string]string{}, ""
		note := func(err error) {
			if err != nil {
				wrong = err.Error()
			}
		}
		var objects map[string]json.RawMessage
		var texts map[string]string
		for _, text := range tt.texts {
			if tt.form == JSONForm {
				note((&Assignments[json.RawMessage]{&objects, tt.form, tt.variable}).Set(text))
			} else {
				note((&Assignments[string]{&texts, tt.form, tt.variable}).Set(text))
			}
		}
		for name, value := range objects {
			got[name] = string(value)
		}
		for name, value := range texts {
			quoted, _ := json.Marshal(value)
			got[name] = string(quoted)
		}
		if wrong != tt.wrong || wrong == "" && !maps.Equal(got, tt.want) {
			t.Errorf("%s %q = %v, error %q; want %v, error %q", tt.form, tt.texts, got, wrong, tt.want, tt.wrong)
		}
	}
}

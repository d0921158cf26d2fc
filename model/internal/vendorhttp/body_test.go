package vendorhttp

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/spec"
)

func TestEditsChangeOnlyWhatTheyName(t *testing.T) {
	const body = `{"model":"m","stream":true,"stream_options":{"include_usage":true},"tools":[{"function":{"name":"f","strict":false}},{"function":{"strict":true}}],"text":{"format":{"a":1}},"max_completion_tokens":5}`
	for name, tt := range map[string]struct {
		omit []string
		set  map[string]json.RawMessage
		want string
	}{
		"nothing": {nil, nil, body},
		"a field": {[]string{"stream_options"}, nil, strings.Replace(body, `"stream_options":{"include_usage":true},`, "", 1)},
		"fields of the objects of a list": {[]string{"tools.function.strict"}, nil,
			strings.Replace(strings.Replace(body, `,"strict":false`, "", 1), `"strict":true`, "", 1)},
		"a field that is absent": {[]string{"seed", "model.name"}, nil, body},
		"a new field":            {nil, map[string]json.RawMessage{"x\"": json.RawMessage(` { "a" : [ 1 ] } `)}, strings.TrimSuffix(body, "}") + `,"x\"":{"a":[1]}}`},
		"a merged object":        {nil, map[string]json.RawMessage{"text": json.RawMessage(`{"verbosity":"low","format":{"a":2}}`)}, strings.Replace(body, `{"format":{"a":1}}`, `{"format":{"a":2},"verbosity":"low"}`, 1)},
		"a replaced value":       {nil, map[string]json.RawMessage{"max_completion_tokens": json.RawMessage(`null`)}, strings.Replace(body, ":5", ":null", 1)},
		"set after omit":         {[]string{"stream_options"}, map[string]json.RawMessage{"stream_options": json.RawMessage(`7`)}, strings.Replace(body, `{"include_usage":true}`, `7`, 1)},
	} {
		e := &bodyEdit{}
		e.addEdits(&spec.RequestEdits{Omit: tt.omit, Set: tt.set})
		if got := string(e.appendEdited(nil, []byte(body))); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

// FuzzEditedBodiesStayJSON omits and sets a member of any object.
func FuzzEditedBodiesStayJSON(f *testing.F) {
	for _, seed := range []string{`{"a":{"b":[{"c":1},2,"x,]}\""]},"d":"\\"}`, `{}`, `{"a":[]}`, `{"":null}`, `[1`, `{"a"`, `{"a":`} {
		f.Add([]byte(seed), "a.b.c")
	}
	f.Fuzz(func(t *testing.T, body []byte, path string) {
		e := &bodyEdit{}
		e.omitPath(path)
		e.setValue("set", json.RawMessage(`{"x":1}`))
		if len(body) > 0 {
			_ = e.appendEdited(nil, body) // without a panic
		}
		var fields map[string]any
		if json.Unmarshal(body, &fields) != nil || fields == nil {
			return
		}
		compact, err := json.Marshal(fields)
		if err != nil {
			t.Fatal(err)
		}
		if _, has := fields["set"]; has || strings.HasPrefix(path, "set") {
			return
		}
		edited := e.appendEdited(nil, compact)
		var got map[string]any
		if err := json.Unmarshal(edited, &got); err != nil {
			t.Fatalf("%s of %s: %v", edited, compact, err)
		}
		if !strings.ContainsAny(path, ".\"\\") {
			delete(fields, path)
			delete(got, "set")
			if !reflect.DeepEqual(fields, got) {
				t.Errorf("%s of %s without %q", edited, compact, path)
			}
		}
	})
}

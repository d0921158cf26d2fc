package tools_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/tools"
)

func TestArgumentsAreReadAsTexts(t *testing.T) {
	t.Parallel()
	args, err := tools.DecodeArguments(json.RawMessage(`{"s":"a","e":"a\n\u00e9","bad":"` + "\xff" + `","n":1e3,"b":true,"o":{ "a": [1, 2] },"l":[ 1 ],"nothing":null,"empty":""}`))
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"s": "a", "e": "a\né", "bad": "\ufffd", "n": "1e3", "b": "true", "o": `{"a":[1,2]}`, "l": "[1]", "nothing": "", "empty": "", "absent": "",
	} {
		if got, err := args.Text(name); got != want || err != nil {
			t.Errorf("%s is %q, %v; want %q", name, got, err, want)
		}
		if got, want := args.Has(name), name != "nothing" && name != "absent"; got != want {
			t.Errorf("%s is there: %t", name, got)
		}
	}
}

func TestArgumentsAreAnObject(t *testing.T) {
	t.Parallel()
	for _, raw := range []string{`[]`, `"a"`, `1`, `{"a":`} {
		if _, err := tools.DecodeArguments(json.RawMessage(raw)); !errors.Is(err, tools.ErrArguments) {
			t.Errorf("%s gives %v", raw, err)
		}
	}
	for _, raw := range []string{``, `null`, `{}`} {
		if args, err := tools.DecodeArguments(json.RawMessage(raw)); err != nil || len(args) > 0 || args.Has("a") {
			t.Errorf("%q gives %v, %v", raw, args, err)
		}
	}
}

package surfacekit_test

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
)

func TestStatusMessages(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		why        event.Termination
		structured bool
		want       string
	}{
		"succeeded":                   {event.Termination{Type: event.NaturalEnd, Detail: "x"}, false, ""},
		"failed":                      {event.Termination{Type: event.Failed, Code: "c", Detail: "why"}, false, "why"},
		"failed without words":        {event.Termination{Type: event.Failed, Code: "c"}, false, string(event.Failed) + ": c"},
		"canceled":                    {event.Termination{Type: event.Canceled}, false, "canceled"},
		"canceled for a reason":       {event.Termination{Type: event.Canceled, Detail: "operator interrupted"}, false, "operator interrupted"},
		"an answer of another form":   {event.Termination{Type: event.Failed, Code: string(model.InvalidOutput), Detail: "no a"}, true, "response_schema validation failed: no a"},
		"no form was asked for":       {event.Termination{Type: event.Failed, Code: string(model.InvalidOutput), Detail: "no a"}, false, "no a"},
		"a form, and another failure": {event.Termination{Type: event.Failed, Code: "c", Detail: "why"}, true, "why"},
	} {
		if got := surfacekit.StatusMessage(&tt.why, tt.structured); got != tt.want {
			t.Errorf("%s: the message is %q and should be %q", name, got, tt.want)
		}
	}
}

func TestTheInputFollowsTheLastAnswer(t *testing.T) {
	t.Parallel()
	user, answer := model.User("u"), model.Message{Role: model.RoleAssistant}
	for name, tt := range map[string]struct {
		all    []model.Message
		before int
		ok     bool
	}{
		"nothing":          {nil, 0, false},
		"input alone":      {[]model.Message{user, user}, 0, true},
		"an answer before": {[]model.Message{user, answer, user}, 2, true},
		"an answer last":   {[]model.Message{user, answer}, 2, false},
	} {
		before, input, ok := surfacekit.SplitInput(tt.all)
		if len(before) != tt.before || len(before)+len(input) != len(tt.all) || ok != tt.ok {
			t.Errorf("%s: %d before, %d input, %t", name, len(before), len(input), ok)
		}
	}
}

func TestOfEarlierCallsTheModelReadsText(t *testing.T) {
	t.Parallel()
	for want, part := range map[string]model.Part{
		`[call c1 of tool pay: {"a":1}]`: surfacekit.CallText("c1", "pay", `{"a":1}`),
		`[result of call c1: fine]`:      surfacekit.ResultText("c1", 200, "fine"),
		`[result of call c2: fine]`:      surfacekit.ResultText("c2", 0, "fine"),
		`[error 404 of call c1: none]`:   surfacekit.ResultText("c1", 404, "none"),
	} {
		if part.Text != want {
			t.Errorf("the text is %q and should be %q", part.Text, want)
		}
	}
	if role, ok := surfacekit.Role(surfacekit.RoleTool); !ok || role != model.RoleUser {
		t.Errorf("a message of a tool is one of %q", role)
	}
	if _, ok := surfacekit.Role("wizard"); ok {
		t.Error("any word is a role")
	}
}

func TestSurfacesKeepTheirRecordsApart(t *testing.T) {
	t.Parallel()
	kept, err := surfacekit.Own("one").Encode(map[string]int{"a": 1})
	if err != nil {
		t.Fatal(err)
	}
	var got map[string]int
	if !surfacekit.Own("one").Decode(kept, &got) || got["a"] != 1 {
		t.Errorf("%s is read as %v", kept, got)
	}
	for _, other := range []string{"", "null", "[]", `{"two":{}}`, `{"one":"text"}`, `{`} {
		if surfacekit.Own("one").Decode(json.RawMessage(other), &got) {
			t.Errorf("%q has a record", other)
		}
	}
}

func TestAddressesOfBlobs(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"data:image/png;base64,aGk=": "hi", "data:image/png;base64,aGk": "hi", "DATA:image/png;BASE64,aGk=": "hi", "data:image/png;charset=utf-8;base64,aGk=": "hi",
		"https://example.com/a.png": "", "data:image/png,hi": "-", "data:image/png;base64,": "-", "data:image/png;base64,@": "-", "data:": "-", "file:///x": "-", "http://": "-", "": "-",
	} {
		part, err := surfacekit.BlobPart("", model.Blob{URI: address}, "p")
		got := "-"
		if err == nil {
			got = string(part.Blob.Data)
		}
		if got != want {
			t.Errorf("%q gives %q, %v", address, got, err)
		}
	}
}

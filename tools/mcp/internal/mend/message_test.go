package mend

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
)

// TestMessagesOfRemoteServersAreMended reads events and a document of several lines.
func TestMessagesOfRemoteServersAreMended(t *testing.T) {
	for sent, whole := range map[string]bool{
		"event: message\ndata: {\"result\":{\"content\":[{\"type\":\"x\"}]}}\n\n": false,
		"{\"result\":\n{\"content\":\n[{\"type\":\"x\"}]}}":                       true,
	} {
		got, err := io.ReadAll(Stream(io.NopCloser(strings.NewReader(sent)), whole, ""))
		if err != nil || !strings.Contains(string(got), "that cannot be read") || whole == strings.HasSuffix(string(got), "}}\n\n") {
			t.Errorf("%q is read as %q, %v", sent, got, err)
		}
	}
}

// FuzzMend checks that a message stays a message, and that mending it twice changes nothing.
func FuzzMend(f *testing.F) {
	f.Add([]byte(`{"result":{"content":[{"type":"image","data":"%"},null,"a",{"type":"text","text":"b"}]}}`))
	f.Add([]byte("data: {\"result\":{\"content\":{}}}\n"))
	f.Fuzz(func(t *testing.T, line []byte) {
		once := mendLine(line, "")
		if twice := mendLine(once, ""); string(twice) != string(once) {
			t.Errorf("%q is mended to %q, then to %q", line, once, twice)
		}
		if json.Valid(line) && !json.Valid(once) {
			t.Errorf("%q is mended to %q", line, once)
		}
	})
}

func TestTheResultInATaskIsMended(t *testing.T) {
	t.Parallel()
	for message, want := range map[string]string{
		`{"id":1,"result":{"taskId":"t","result":{"content":null}}}`:            `{"id":1,"result":{"taskId":"t","result":{"content":[]}}}`,
		`{"id":1,"result":{"taskId":"t","result":{"result":{"content":null}}}}`: `{"id":1,"result":{"taskId":"t","result":{"result":{"content":null}}}}`,
	} {
		if got := string(mendLine([]byte(message), "")); got != want {
			t.Errorf("%s becomes %s", message, got)
		}
	}
}

func TestExperimentalCapabilitiesAreKeptBesideTasks(t *testing.T) {
	t.Parallel()
	got, changed := noteTasks(json.RawMessage(`{"experimental":{"other":{}},"tasks":{"requests":{"tools":{"call":{}}}}}`))
	if want := `{"tasks":{"requests":{"tools":{"call":{}}}},"experimental":{"other":{},"agentruntime/tasks":{}}}`; !changed || string(got) != want {
		t.Errorf("the capabilities are %s", got)
	}
}

package a2aserver_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// TestFieldsWithoutEffectAreNamedInTheAnswer sends fields that the protocol does not
// have: they are ignored, as it wants, and the caller is told.
func TestFieldsWithoutEffectAreNamedInTheAnswer(t *testing.T) {
	core, logged := observer.New(zap.WarnLevel)
	w := open(t, func(s *setup) { s.settings.V03, s.settings.Logger = true, zap.New(core) })
	at := strings.NewReplacer("m1", "m2").Replace
	for name, c := range map[string]struct {
		path, version, body string
		warned              []string
		logged              bool
	}{
		"nothing":              {"", "1.0", rpc("SendMessage", hello), nil, false},
		"nothing in 0.3":       {"", "0.3", rpc("message/send", at(old)), nil, false},
		"another case":         {"", "1.0", rpc("SendMessage", strings.Replace(hello, "messageId", "messageID", 1)), nil, false},
		"a foreign field":      {"", "1.0", rpc("SendMessage", strings.Replace(hello, `"role"`, `"colour":1,"role"`, 1)), []string{"params.message.colour"}, false},
		"a misspelt one":       {"", "1.0", rpc("SendMessage", strings.Replace(hello, `"role"`, `"taskld":"x","role"`, 1)), []string{`params.message.taskld: there is no such field; did you mean \"taskId\"?`}, true},
		"of the configuration": {"/message:send", "1.0", strings.Replace(hello, `{`, `{"configuration":{"returnImmediatly":true},`, 1), []string{`configuration.returnImmediatly: there is no such field; did you mean \"returnImmediately\"?`}, true},
		"of a part":            {"/message:send", "1.0", strings.Replace(hello, `"text"`, `"mimeType":"x","text"`, 1), []string{"message.parts[0].mimeType"}, false},
		"in metadata":          {"/message:send", "1.0", strings.Replace(hello, `"role"`, `"metadata":{"colour":1},"role"`, 1), nil, false},
		"in 0.3":               {"", "0.3", rpc("message/send", strings.Replace(at(old), `"role"`, `"contextID2":"x","role"`, 1)), []string{`params.message.contextID2`}, true},
		"of a query":           {"", "1.0", rpc("ListTasks", `{"pagesize2":1}`), []string{"params.pagesize2"}, true},
	} {
		before := logged.Len()
		resp, body := w.post("/a2a/clerk"+c.path, asJSON, c.body, "A2A-Version", c.version)
		if resp.StatusCode != http.StatusOK || strings.Contains(body, `"error"`) {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
		warned := resp.Header.Values("Warning")
		if len(warned) != len(c.warned) || (logged.Len() > before) != c.logged {
			t.Errorf("%s: warned of %q; logged: %v", name, warned, logged.Len() > before)
			continue
		}
		for i, text := range c.warned {
			if !strings.Contains(warned[i], text) {
				t.Errorf("%s: warned of %q, not %q", name, warned[i], text)
			}
		}
	}
}

// TestFieldsWithoutEffectOfOlderMethodsAreNamed asks for a task that is not there:
// the answer is an error, and names the fields all the same.
func TestFieldsWithoutEffectOfOlderMethodsAreNamed(t *testing.T) {
	w := open(t, func(s *setup) { s.settings.V03 = true })
	for method, known := range map[string]string{
		"tasks/get": `"historyLength":1,`, "tasks/cancel": "", "tasks/resubscribe": "", "tasks/pushNotificationConfig/list": "",
		"tasks/pushNotificationConfig/get": `"pushNotificationConfigId":"p",`, "tasks/pushNotificationConfig/delete": `"pushNotificationConfigId":"p",`,
	} {
		for more, want := range map[string]int{"": 0, `"colour":1,`: 1} {
			resp, _ := w.post("/a2a/clerk", asJSON, rpc(method, `{`+known+more+`"metadata":{"a":1},"id":"gone"}`), "A2A-Version", "0.3")
			if warned := resp.Header.Values("Warning"); len(warned) != want {
				t.Errorf("%s with %q: warned of %q", method, more, warned)
			}
		}
	}
}

// TestNoFieldOfTheProtocolIsTakenForUnknown encodes requests with every field.
func TestNoFieldOfTheProtocolIsTakenForUnknown(t *testing.T) {
	w := open(t)
	part := func(p *a2a.Part) *a2a.Part {
		p.Filename, p.MediaType, p.Metadata = "f", "text/plain", map[string]any{"a": 1}
		return p
	}
	message := a2a.NewMessage(a2a.MessageRoleUser, part(a2a.NewTextPart("x")), part(a2a.NewDataPart(map[string]any{"a": 1})), part(a2a.NewFileURLPart("https://x.example", "text/plain")), part(a2a.NewRawPart([]byte("x"))))
	message.ContextID, message.TaskID, message.ReferenceTasks, message.Extensions = "c", "t", []a2a.TaskID{"u"}, []string{"e"}
	message.Metadata = map[string]any{"a": 1}
	data, err := json.Marshal(a2a.SendMessageRequest{
		Tenant: "t", Message: message, Metadata: map[string]any{"a": 1},
		Config: &a2a.SendMessageConfig{AcceptedOutputModes: []string{"x"}, ReturnImmediately: true, HistoryLength: new(1), PushConfig: &a2a.PushConfig{
			Tenant: "t", TaskID: "t", ID: "i", URL: "https://x.example", Token: "t", Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "c"},
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for path, body := range map[string]string{"/message:send": string(data), "": rpc("SendMessage", string(data))} {
		resp, _ := w.post("/a2a/clerk"+path, asJSON, body, "A2A-Version", string(a2a.Version))
		if warned := resp.Header.Values("Warning"); len(warned) > 0 {
			t.Errorf("%q: warned of %q", path, warned)
		}
	}
}

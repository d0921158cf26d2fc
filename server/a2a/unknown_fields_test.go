package a2a_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	oldpb "github.com/a2aproject/a2a-go/a2apb"
	"github.com/a2aproject/a2a-go/v2/a2a"
	apb "github.com/a2aproject/a2a-go/v2/a2apb/v1"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
	"google.golang.org/protobuf/reflect/protoreflect"
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
		"a misspelled one":     {"", "1.0", rpc("SendMessage", strings.Replace(hello, `"role"`, `"taskld":"x","role"`, 1)), []string{`params.message.taskld: unknown field; did you mean \"taskId\"?`}, true},
		"of the configuration": {"/message:send", "1.0", strings.Replace(hello, `{`, `{"configuration":{"returnImmediatly":true},`, 1), []string{`configuration.returnImmediatly: unknown field; did you mean \"returnImmediately\"?`}, true},
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

// TestUnknownFieldsOfEveryMethodAreNamed asks every method of either version, and every
// route in the description, for a task that is not there, with a field that nobody
// knows. Most answers are errors, and name it all the same.
func TestUnknownFieldsOfEveryMethodAreNamed(t *testing.T) {
	w := open(t, func(s *setup) { s.settings.V03 = true })
	expect := func(what, method, path, body, version, unknown string) {
		t.Helper()
		resp, answer := w.plainly(method, path, body, "Content-Type", asJSON, "A2A-Version", version)
		if warned := resp.Header.Values("Warning"); len(warned) != 1 || !strings.Contains(warned[0], unknown+": unknown field") {
			t.Errorf("%s of %s: %d, warned of %q: %.200s", what, version, resp.StatusCode, warned, answer)
		}
	}
	for version, methods := range map[string][]string{"1.0": newMethods(), "0.3": oldMethods(t)} {
		for _, method := range methods {
			expect(method, http.MethodPost, "/a2a/clerk", rpc(method, `{"colour":1}`), version, "params.colour")
		}
	}
	var described struct {
		Paths map[string]map[string]any
	}
	if err := json.Unmarshal(w.surface.OpenAPI(), &described); err != nil {
		t.Fatal(err)
	}
	routes := 0
	for path, operations := range described.Paths {
		below, ok := strings.CutPrefix(path, "/a2a/{agent}/")
		if !ok || below == "v0.3" || strings.HasSuffix(below, "agent-card.json") {
			continue // cards, and JSON-RPC
		}
		version := "1.0"
		if strings.HasPrefix(below, "v0.3/") {
			version = "0.3"
		}
		at := strings.NewReplacer("{agent}", "clerk", "{id}", "gone", "{configId}", "gone").Replace(path)
		for method, operation := range operations {
			if method = strings.ToUpper(method); method == "PARAMETERS" {
				continue
			}
			routes++
			expect("the query of "+method+" "+path, method, at+"?colour=1", "", version, "colour")
			if operation.(map[string]any)["requestBody"] != nil {
				expect(method+" "+path, method, at, `{"colour":1}`, version, "colour")
			}
		}
	}
	if routes < 22 {
		t.Errorf("the description has %d routes", routes)
	}
}

// newMethods are the methods of version 1.0.
func newMethods() []string {
	return methodNames(apb.File_a2av1_proto)
}

// oldMethods are those of version 0.3, whose protobuf service has other names.
func oldMethods(t *testing.T) []string {
	names := map[string]string{
		"SendMessage": "message/send", "SendStreamingMessage": "message/stream", "GetTask": "tasks/get", "CancelTask": "tasks/cancel",
		"ListTasks": "", "TaskSubscription": "tasks/resubscribe", "CreateTaskPushNotificationConfig": "tasks/pushNotificationConfig/set",
		"GetTaskPushNotificationConfig": "tasks/pushNotificationConfig/get", "ListTaskPushNotificationConfig": "tasks/pushNotificationConfig/list",
		"DeleteTaskPushNotificationConfig": "tasks/pushNotificationConfig/delete", "GetAgentCard": "agent/getAuthenticatedExtendedCard",
	}
	var methods []string
	for _, called := range methodNames(oldpb.File_a2a_proto) {
		method, ok := names[called]
		if !ok {
			t.Errorf("%s of version 0.3 has no method of JSON-RPC here", called)
		}
		if method != "" { // tasks cannot be listed over JSON-RPC
			methods = append(methods, method)
		}
	}
	return methods
}

func methodNames(file protoreflect.FileDescriptor) []string {
	var names []string
	methods := file.Services().Get(0).Methods()
	for i := range methods.Len() {
		names = append(names, string(methods.Get(i).Name()))
	}
	return names
}

// TestKnownFieldsOfOlderMethodsAreNotNamed sends those that each method has.
func TestKnownFieldsOfOlderMethodsAreNotNamed(t *testing.T) {
	w := open(t, func(s *setup) { s.settings.V03 = true })
	const push = `"pushNotificationConfig":{"id":"p","url":"https://x.example","token":"t","authentication":{"schemes":["Bearer"],"credentials":"c"}}`
	const metadata = `"metadata":{"a":1}`
	for method, params := range map[string]string{
		"message/send": `{"configuration":{"acceptedOutputModes":["text/plain"],"blocking":true,"historyLength":1,` + push + `},` + metadata + `,` + old[1:],
		"tasks/get":    `{"id":"gone","historyLength":1,` + metadata + `}`,
		"tasks/cancel": `{"id":"gone",` + metadata + `}`, "tasks/resubscribe": `{"id":"gone",` + metadata + `}`,
		"tasks/pushNotificationConfig/set":    `{"taskId":"gone",` + push + `}`,
		"tasks/pushNotificationConfig/get":    `{"id":"gone","pushNotificationConfigId":"p",` + metadata + `}`,
		"tasks/pushNotificationConfig/list":   `{"id":"gone",` + metadata + `}`,
		"tasks/pushNotificationConfig/delete": `{"id":"gone","pushNotificationConfigId":"p",` + metadata + `}`,
	} {
		resp, _ := w.post("/a2a/clerk", asJSON, rpc(method, params), "A2A-Version", "0.3")
		if warned := resp.Header.Values("Warning"); len(warned) > 0 {
			t.Errorf("%s: warned of %q", method, warned)
		}
	}
	const message = `"message":{"messageId":"m7","contextId":"","taskId":"","role":"ROLE_USER","content":[{"text":"hello","metadata":{"a":1}},{"data":{"data":{"a":1}}},{"file":{"fileWithUri":"https://x.example","mimeType":"a/b","name":"n"}}],"extensions":["e"],"referenceTaskIds":[],` + metadata + `}`
	for path, body := range map[string]string{
		"message:send":                        `{"configuration":{"acceptedOutputModes":["text/plain"],"blocking":true,"historyLength":1,"pushNotification":` + strings.TrimPrefix(push, `"pushNotificationConfig":`) + `},` + metadata + `,` + message + `}`,
		"tasks/gone:cancel":                   `{"name":"tasks/gone"}`,
		"tasks/gone/pushNotificationConfigs":  `{"name":"x",` + push + `}`,
		"tasks/gone2/pushNotificationConfigs": `{"parent":"tasks/gone2","configId":"p","config":{"name":"x",` + push + `}}`,
	} {
		resp, _ := w.plainly(http.MethodPost, "/a2a/clerk/v0.3/v1/"+path, body, "Content-Type", asJSON)
		if warned := resp.Header.Values("Warning"); len(warned) > 0 {
			t.Errorf("%s: warned of %q", path, warned)
		}
	}
}

// TestUnknownParametersAreNamed asks with parameters that the method of the version does
// not read. Upper and lower case differ.
func TestUnknownParametersAreNamed(t *testing.T) {
	w := open(t, withPush(t), speaksBoth)
	task := send(t, w.alice(), request(user("hello")))
	configs := fmt.Sprintf("tasks/%s/pushNotificationConfigs?", task.ID)
	for _, c := range []struct {
		path    string
		version string
		warned  string // empty for no warning
	}{
		{"tasks?pageSize=1&a2a-version=1.0&context_id=c&lastUpdatedAfter=2026-01-02T03:04:05Z", "1.0", ""},
		{"tasks?pagesize=1", "1.0", `pagesize: unknown field; did you mean \"pageSize\"?`},
		{configs + "pageSize=1&pageToken=", "1.0", ""},
		{"v0.3/v1/tasks?pageSize=1&contextId=c&lastUpdatedAfter=2026-01-02T03:04:05Z", "0.3", ""},
		{"v0.3/v1/tasks?statusTimestampAfter=2026-01-02T03:04:05Z", "0.3", "statusTimestampAfter: unknown field"},
		{"v0.3/v1/" + configs + "pageSize=1", "0.3", "pageSize: unknown field"},
		{"v0.3/v1/" + configs + "pageToken=x", "0.3", "pageToken: unknown field"},
	} {
		resp, body := w.plainly(http.MethodGet, "/a2a/clerk/"+c.path, "", "A2A-Version", c.version)
		if got := strings.Join(resp.Header.Values("Warning"), ", "); resp.StatusCode != http.StatusOK || (got == "") != (c.warned == "") || !strings.Contains(got, c.warned) {
			t.Errorf("%s: %d, warned of %q: %s", c.path, resp.StatusCode, got, body)
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

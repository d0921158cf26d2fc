package a2a_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/model"
)

const asJSON = "application/json"

// rpc is a request of JSON-RPC.
func rpc(method, params string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":%q,"params":%s}`, method, params)
}

// hello are the parameters of a message.
const hello = `{"message":{"messageId":"m1","role":"ROLE_USER","parts":[{"text":"hello"}]}}`

// codeOf returns the code of an error of JSON-RPC; 0 is no error.
func codeOf(t *testing.T, body string) int {
	t.Helper()
	var answer struct {
		Error struct {
			Code int `json:"code"`
		} `json:"error"`
	}
	if err := json.Unmarshal([]byte(body), &answer); err != nil {
		t.Fatalf("the answer is no JSON: %s", body)
	}
	return answer.Error.Code
}

func TestTheVersionOfTheProtocolIsChecked(t *testing.T) {
	for name, c := range map[string]struct {
		both    bool
		path    string
		version string
		body    string
		want    int
	}{
		"the one that is spoken":     {false, "/a2a/clerk", "1.0", rpc("SendMessage", hello), 0},
		"with a patch level":         {false, "/a2a/clerk", "1.0.1", rpc("SendMessage", hello), 0},
		"in the query":               {false, "/a2a/clerk?A2A-Version=1.0", "", rpc("SendMessage", hello), 0},
		"none":                       {false, "/a2a/clerk", "", rpc("SendMessage", hello), -32009},
		"a later one":                {false, "/a2a/clerk", "1.7", rpc("SendMessage", hello), -32009},
		"an earlier one":             {false, "/a2a/clerk", "0.3", rpc("SendMessage", hello), -32009},
		"nonsense":                   {false, "/a2a/clerk", "x", rpc("SendMessage", hello), -32009},
		"none is 0.3 where spoken":   {true, "/a2a/clerk", "", rpc("message/send", old), 0},
		"0.3 by name":                {true, "/a2a/clerk", "0.3", rpc("message/send", old), 0},
		"0.3 by its path":            {true, "/a2a/clerk/v0.3", "", rpc("message/send", old), 0},
		"1.0 at the path of 0.3":     {true, "/a2a/clerk/v0.3", "1.0", rpc("message/send", old), -32009},
		"1.0 where both are spoken":  {true, "/a2a/clerk", "1.0", rpc("SendMessage", hello), 0},
		"another where both are":     {true, "/a2a/clerk", "0.2", rpc("SendMessage", hello), -32009},
		"a method of the other one":  {true, "/a2a/clerk", "1.0", rpc("message/send", old), -32601},
		"a method of 1.0 without it": {true, "/a2a/clerk", "", rpc("SendMessage", hello), -32601},
	} {
		t.Run(name, func(t *testing.T) {
			w := open(t, func(s *setup) { s.settings.V03 = c.both })
			resp, body := w.post(c.path, asJSON, c.body, "A2A-Version", c.version)
			if resp.StatusCode != http.StatusOK || codeOf(t, body) != c.want {
				t.Errorf("the answer is %d %s", resp.StatusCode, body)
			}
		})
	}
}

// old are the parameters of a message in version 0.3.
const old = `{"message":{"kind":"message","messageId":"m1","role":"user","parts":[{"kind":"text","text":"hello"}]}}`

func TestTheVersionIsCheckedInEveryBindingAndStream(t *testing.T) {
	w := open(t)
	for path, body := range map[string]string{"/message:send": hello, "/message:stream": hello, "/tasks/x:cancel": "", "/tasks/x:subscribe": ""} {
		resp, text := w.post("/a2a/clerk"+path, asJSON, body)
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(text, "VERSION_NOT_SUPPORTED") || resp.Header.Get("Content-Type") != asJSON {
			t.Errorf("%s answers %d %s", path, resp.StatusCode, text)
		}
	}
	_, text := w.post("/a2a/clerk", asJSON, rpc("SendStreamingMessage", hello))
	if !strings.Contains(text, "-32009") || !strings.Contains(text, `"id":7`) {
		t.Errorf("the stream is %s", text)
	}
}

func TestRequestsAreBounded(t *testing.T) {
	w := open(t, func(s *setup) { s.settings.MaxBody = 10_000 })
	large := rpc("SendMessage", strings.Replace(hello, "hello", strings.Repeat("x", 20_000), 1))
	deep := rpc("SendMessage", `{"metadata":`+strings.Repeat(`{"a":`, 100)+"1"+strings.Repeat("}", 100)+`}`)
	for name, c := range map[string]struct {
		path, contentType, body string
		status                  int
	}{
		"too large":              {"", asJSON, large, http.StatusRequestEntityTooLarge},
		"too large, in REST":     {"/message:send", asJSON, large, http.StatusRequestEntityTooLarge},
		"nested too deep":        {"", asJSON, deep, http.StatusBadRequest},
		"no JSON by its type":    {"", "text/plain", rpc("SendMessage", hello), http.StatusUnsupportedMediaType},
		"of no type":             {"", "", rpc("SendMessage", hello), http.StatusUnsupportedMediaType},
		"a form, in REST":        {"/message:send", "application/x-www-form-urlencoded", hello, http.StatusUnsupportedMediaType},
		"JSON with a charset":    {"", "application/json; charset=utf-8", rpc("SendMessage", hello), http.StatusOK},
		"a2a+json, in REST":      {"/message:send", "application/a2a+json", hello, http.StatusOK},
		"a2a+json, but JSON-RPC": {"", "application/a2a+json", rpc("SendMessage", hello), http.StatusUnsupportedMediaType},
	} {
		resp, body := w.post("/a2a/clerk"+c.path, c.contentType, c.body, "A2A-Version", "1.0")
		if resp.StatusCode != c.status || !json.Valid([]byte(body)) {
			t.Errorf("%s: the answer is %d %s", name, resp.StatusCode, body)
		}
	}
}

func TestAnErrorBeforeAStreamIsNoStream(t *testing.T) {
	w := open(t)
	resp, body := w.post("/a2a/clerk/tasks/nothing:subscribe", asJSON, "", "A2A-Version", "1.0")
	if resp.StatusCode != http.StatusNotFound || resp.Header.Get("Content-Type") != asJSON || !strings.Contains(body, "TASK_NOT_FOUND") {
		t.Errorf("the answer is %d %s", resp.StatusCode, body)
	}
	resp, body = w.do(http.MethodGet, "/a2a/clerk/tasks/nothing:subscribe", "", "A2A-Version", "1.0")
	if resp.StatusCode != http.StatusNotFound || !json.Valid([]byte(body)) {
		t.Errorf("the answer is %d %s", resp.StatusCode, body)
	}
	resp, body = w.post("/a2a/clerk/message:stream", asJSON, hello, "A2A-Version", "1.0")
	if resp.StatusCode != http.StatusOK || !strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") || !strings.Contains(body, "TASK_STATE_COMPLETED") {
		t.Errorf("the stream is %d %s", resp.StatusCode, body)
	}
}

func TestAnEmptyAnswerIsAnAnswer(t *testing.T) {
	w := open(t, withPush(t), func(s *setup) { s.settings.V03 = true })
	_, body := w.post("/a2a/clerk", asJSON, rpc("ListTasks", `{}`), "A2A-Version", "1.0")
	if !strings.Contains(body, `"tasks":[]`) || !strings.Contains(body, `"totalSize":0`) || !strings.Contains(body, `"nextPageToken":""`) {
		t.Errorf("no tasks are %s", body)
	}
	task := send(t, w.alice(), request(user("hello")))
	_, body = w.post("/a2a/clerk", asJSON, rpc("DeleteTaskPushNotificationConfig", fmt.Sprintf(`{"taskId":%q,"id":"x"}`, task.ID)), "A2A-Version", "1.0")
	if body != `{"id":7,"jsonrpc":"2.0","result":{}}` {
		t.Errorf("a deletion gives %s", body)
	}
	_, body = w.post("/a2a/clerk", asJSON, rpc("DeleteTaskPushNotificationConfig", `{"taskId":"nothing","id":"x"}`), "A2A-Version", "1.0")
	if codeOf(t, body) != -32001 {
		t.Errorf("the deletion for an unknown task gives %s", body)
	}
	resp, body := w.do(http.MethodDelete, fmt.Sprintf("/a2a/clerk/tasks/%s/pushNotificationConfigs/x", task.ID), "", "A2A-Version", "1.0")
	if resp.StatusCode != http.StatusOK || strings.TrimSpace(body) != "{}" {
		t.Errorf("a deletion in REST gives %d %q", resp.StatusCode, body)
	}
	_, body = w.post("/a2a/clerk/v0.3", asJSON, rpc("tasks/pushNotificationConfig/list", fmt.Sprintf(`{"id":%q}`, task.ID)))
	if !strings.Contains(body, `"result":[]`) {
		t.Errorf("no configurations are %s", body)
	}
	_, body = w.post("/a2a/clerk/v0.3", asJSON, rpc("tasks/pushNotificationConfig/delete", fmt.Sprintf(`{"id":%q,"pushNotificationConfigId":"x"}`, task.ID)))
	if !strings.Contains(body, `"result":null`) {
		t.Errorf("a deletion in version 0.3 gives %s", body)
	}
}

func TestAnErrorOfTheOldRESTHasItsCode(t *testing.T) {
	w := open(t, func(s *setup) { s.settings.V03 = true })
	resp, body := w.do(http.MethodGet, "/a2a/clerk/v0.3/v1/tasks/nothing", "")
	var got struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	}
	if err := json.Unmarshal([]byte(body), &got); err != nil || resp.StatusCode != http.StatusNotFound || got.Code != -32001 || got.Message == "" {
		t.Errorf("the answer is %d %s", resp.StatusCode, body)
	}
}

func TestWhatIsNoMethodIsTold(t *testing.T) {
	w := open(t, func(s *setup) { s.settings.V03 = true })
	for _, path := range []string{"/a2a/clerk/nothing", "/a2a/clerk/v0.3/v1/nothing"} {
		resp, body := w.do(http.MethodGet, path, "", "A2A-Version", "")
		if resp.StatusCode != http.StatusNotFound || resp.Header.Get("Content-Type") != asJSON || !json.Valid([]byte(body)) {
			t.Errorf("%s answers %d %s", path, resp.StatusCode, body)
		}
	}
	for path, method := range map[string]string{"/a2a/clerk": "Nothing", "/a2a/clerk/v0.3": "tasks/nothing"} {
		resp, body := w.post(path, asJSON, rpc(method, `{}`), "A2A-Version", map[bool]string{true: "1.0"}[path == "/a2a/clerk"])
		if codeOf(t, body) != -32601 || resp.Header.Get("Content-Type") != asJSON {
			t.Errorf("%s answers %s: %s", path, resp.Header.Get("Content-Type"), body)
		}
	}
}

func TestTheExtensionIsEchoedWhenItIsAskedFor(t *testing.T) {
	w := open(t)
	for asked, want := range map[string]string{"": "", "https://example.com/x, " + a2awire.Extension: a2awire.Extension} {
		resp, _ := w.post("/a2a/clerk", asJSON, rpc("ListTasks", `{}`), "A2A-Version", "1.0", "A2A-Extensions", asked)
		if got := resp.Header.Get("A2A-Extensions"); got != want {
			t.Errorf("asked for %q, %q is active", asked, got)
		}
	}
}

func TestNoErrorTellsHowThingsAreInside(t *testing.T) {
	const secret = "sk-1234 at /etc/passwd:42"
	w := open(t)
	w.model.teach("fail", reply{err: &model.Error{Class: model.InvalidRequest, Message: secret}})
	c := w.alice()
	task := send(t, c, request(user("fail")))
	data, err := json.Marshal(task)
	if err != nil || task.Status.State != a2a.TaskStateFailed || bytes.Contains(data, []byte("sk-1234")) {
		t.Errorf("the task is %s, %v", data, err)
	}
	list, err := events(c.SendStreamingMessage(t.Context(), request(user("fail"))))
	if data, _ := json.Marshal(list); err != nil || bytes.Contains(data, []byte("sk-1234")) {
		t.Errorf("the stream is %s, %v", data, err)
	}
}

func FuzzRequests(f *testing.F) {
	w := open(f, func(s *setup) { s.settings.V03 = true })
	for _, body := range []string{rpc("SendMessage", hello), rpc("message/send", old), rpc("GetTask", `{"id":"x"}`), rpc("ListTasks", `{"pageSize":-1}`), `[]`, `{"id":{}}`, rpc("SendMessage", `{"message":{"parts":[null]}}`)} {
		for _, path := range []string{"", "/v0.3", "/message:send", "/v0.3/v1/message:send"} {
			f.Add(path, []byte(body))
		}
	}
	f.Fuzz(func(t *testing.T, path string, body []byte) {
		switch path {
		case "", "/v0.3", "/message:send", "/v0.3/v1/message:send":
		default:
			return
		}
		w.t = t
		resp, text := w.post("/a2a/clerk"+path, asJSON, string(body), "A2A-Version", map[bool]string{true: "", false: "1.0"}[strings.HasPrefix(path, "/v0.3")])
		if resp.StatusCode >= http.StatusInternalServerError || !strings.HasPrefix(text, "id: ") && !json.Valid([]byte(text)) {
			t.Errorf("the answer is %d %s", resp.StatusCode, text)
		}
	})
}

func TestAnAddressOfJSONRPCTakesPostAlone(t *testing.T) {
	w := open(t)
	for _, method := range []string{http.MethodGet, http.MethodPut, http.MethodDelete} {
		for _, path := range []string{"/a2a/clerk", "/a2a/clerk/"} {
			if resp, body := w.plainly(method, path, ""); resp.StatusCode != http.StatusMethodNotAllowed || resp.Header.Get("Allow") != http.MethodPost {
				t.Errorf("%s %s gives %d, %s", method, path, resp.StatusCode, body)
			}
		}
	}
}

func TestAnInvalidRequestIsExplained(t *testing.T) {
	w := open(t, func(s *setup) { s.settings.V03 = true })
	for _, c := range []struct {
		path, body string
		// code is the code of JSON-RPC, and status that of HTTP+JSON.
		code, status int
		want         string
	}{
		{"", ``, -32700, 200, "unexpected end of JSON input at byte 0"},
		{"", `{"jsonrpc"`, -32700, 200, "is not valid JSON: unexpected end of JSON input at byte 10"},
		{"", rpc("ListTasks", `{}`) + " {}", -32700, 200, "after top-level value"},
		{"", `null`, -32600, 200, "must be a JSON object"},
		{"", `[` + rpc("ListTasks", `{}`) + `]`, -32600, 200, "must be a JSON object"},
		{"", `"x"`, -32600, 200, "must be a JSON object"},
		{"", `{}`, -32600, 200, `jsonrpc must be \"2.0\"`},
		{"", `{"jsonrpc":"1.0","id":7,"method":"ListTasks"}`, -32600, 200, `"id":7,`},
		{"", `{"jsonrpc":"2.0","id":{},"method":"ListTasks"}`, -32600, 200, "id must be"},
		{"", `{"jsonrpc":"2.0","id":"a","method":3}`, -32600, 200, "method must be"},
		{"", `{"jsonrpc":"2.0","id":7,"method":"GetTask"}`, -32602, 200, "the id of the task is required"},
		{"", `{"jsonrpc":"2.0","id":7,"method":"ListTasks"}`, 0, 200, `"tasks":[]`},
		{"", "\n {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"ListTasks\"}", 0, 200, `"tasks":[]`},
		{"/v0.3", `{"jsonrpc":"2.0","id":7,"method":"tasks/get"}`, -32602, 200, "id"},
		{"/v0.3", `{"jsonrpc":"2.0","id":7,"method":"agent/getAuthenticatedExtendedCard"}`, 0, 200, `"result"`},
		{"/message:send", ``, 0, 400, "the request has no body"},
		{"/message:send", `{"message"`, 0, 400, "is not valid JSON: unexpected end of JSON input at byte 10"},
		{"/message:send", hello + " {}", 0, 400, "after top-level value"},
		{"/message:send", `{"message":{"messageId":1}}`, 0, 400, "message.messageId: must not be a JSON number"},
		{"/message:send", `{"message":{"messageId":"m","parts":"hello"}}`, 0, 400, "message.parts: must not be a JSON string"},
		{"/message:stream", `[]`, 0, 400, "must not be a JSON array"},
		{"/tasks/x/pushNotificationConfigs", `{"url":1}`, 0, 400, "url: must not be a JSON number"},
		{"/v0.3/v1/message:send", `{"message"`, -32700, 400, `"code":-32700,"message":"the body`},
		{"/v0.3/v1/message:send", `{"message":{},"message":{}}`, -32700, 400, `"code":-32700,"message":"the body`},
	} {
		resp, body := w.post("/a2a/clerk"+c.path, asJSON, c.body, "A2A-Version", map[bool]string{false: "1.0"}[strings.HasPrefix(c.path, "/v0.3")])
		if isRPC := c.path == "" || c.path == "/v0.3"; resp.StatusCode != c.status || isRPC && codeOf(t, body) != c.code || !strings.Contains(body, c.want) {
			t.Errorf("%s: %s: the answer is %d %s", c.path, c.body, resp.StatusCode, body)
		}
	}
	for path, want := range map[string]string{
		"/tasks?pageSize=many":                  `"message":"pageSize must be a whole number, not \"many\""`,
		"/tasks?page_size=1e3":                  "pageSize must be a whole number",
		"/tasks?historyLength=all":              "historyLength must be a whole number",
		"/tasks/x?historyLength=all":            "historyLength must be a whole number",
		"/tasks?includeArtifacts=yes":           "includeArtifacts must be true or false",
		"/tasks?statusTimestampAfter=today":     "statusTimestampAfter must be a time",
		"/v0.3/v1/tasks?pageSize=many":          `"code":-32602,"message":"pageSize must`,
		"/v0.3/v1/tasks?lastUpdatedAfter=now":   `"code":-32602,"message":"lastUpdatedAfter must`,
		"/v0.3/v1/tasks?includeArtifacts=maybe": `"code":-32602,"message":"includeArtifacts must`,
	} {
		resp, body := w.do(http.MethodGet, "/a2a/clerk"+path, "", "A2A-Version", map[bool]string{false: "1.0"}[strings.HasPrefix(path, "/v0.3")])
		if resp.StatusCode != http.StatusBadRequest || !strings.Contains(body, want) {
			t.Errorf("%s: the answer is %d %s", path, resp.StatusCode, body)
		}
	}
	for path, contentType := range map[string]string{"/v0.3/v1/message:send": "text/plain", "/v0.3/v1/message:stream": ""} {
		resp, body := w.post("/a2a/clerk"+path, contentType, hello, "A2A-Version", "")
		if resp.StatusCode != http.StatusUnsupportedMediaType || !strings.Contains(body, `"code":-32005,"message":"the Content-Type`) {
			t.Errorf("%s: the answer is %d %s", path, resp.StatusCode, body)
		}
	}
	if resp, body := w.plainly(http.MethodGet, "/a2a/clerk/v0.3/v1/tasks/x", "", "Authorization", ""); resp.StatusCode != http.StatusUnauthorized || !strings.Contains(body, `"code":-31401,"message":`) {
		t.Errorf("without a credential, the answer is %d %s", resp.StatusCode, body)
	}
}

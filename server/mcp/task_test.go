package mcp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// rawSession sends messages of the version 2025-11-25 that the SDK's client lacks.
type rawSession struct {
	w       *world
	key, id string
	calls   int
}

// rawAnswer is the answer to such a message.
type rawAnswer struct {
	Result map[string]json.RawMessage `json:"result"`
	Error  *rpcErrorDetail            `json:"error"`
}

// task returns a member of a task; of the member named task if there is one.
func (a *rawAnswer) task(name string) string {
	fields := a.Result
	if inner := a.Result["task"]; inner != nil {
		fields = nil
		_ = json.Unmarshal(inner, &fields)
	}
	return strings.Trim(string(fields[name]), `"`)
}

func (w *world) openRaw(key string) *rawSession {
	w.t.Helper()
	s := &rawSession{w: w, key: key}
	status, header, body := w.post(key, "/mcp", `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`)
	if status != 200 || !strings.Contains(body, `"tasks":{"list":{},"cancel":{},"requests":{"tools":{"call":{}}}}`) {
		w.t.Fatalf("the handshake: %d %s", status, body)
	}
	s.id = header.Get(sessionHeader)
	return s
}

func (s *rawSession) send(method, params string) *rawAnswer {
	s.w.t.Helper()
	s.calls++
	_, _, body := s.w.post(s.key, "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, s.calls, method, params), sessionHeader, s.id, versionHeader, "2025-11-25")
	answer := &rawAnswer{}
	for line := range strings.Lines(body) {
		data := strings.TrimPrefix(strings.TrimSpace(line), "data: ")
		if strings.HasPrefix(data, "{") && json.Unmarshal([]byte(data), answer) == nil && (answer.Result != nil || answer.Error != nil) {
			return answer
		}
	}
	s.w.t.Fatalf("%s has no answer: %q", method, body)
	return nil
}

func (s *rawSession) create(message string) string {
	s.w.t.Helper()
	made := s.send("tools/call", `{"name":"plain","arguments":{"message":"`+message+`"},"task":{"ttl":60000}}`)
	id := made.task("taskId")
	if made.task("status") != taskWorking || id == "" || made.task("ttl") != "null" || made.task("createdAt") == "" {
		s.w.t.Fatalf("the task is %s %v", made.Result, made.Error)
	}
	return id
}

func TestATurnRunsAsATask(t *testing.T) {
	t.Parallel()
	w := serving(t)
	s := w.openRaw("alice")
	if list := s.send("tools/list", `{}`); strings.Count(string(list.Result["tools"]), `"execution":{"taskSupport":"optional"}`) != 5 {
		t.Errorf("the tools are %s", list.Result["tools"])
	}
	id := s.create("hello")
	if got := s.send("tasks/result", `{"taskId":"`+id+`"}`); !strings.Contains(string(got.Result["content"]), "You said hello") ||
		!strings.Contains(string(got.Result["_meta"]), `"io.modelcontextprotocol/related-task":{"taskId":"`+id+`"}`) {
		t.Errorf("the result is %s %v", got.Result, got.Error)
	}
	if got := s.send("tasks/get", `{"taskId":"`+id+`"}`); got.task("status") != taskCompleted {
		t.Errorf("the task is %s", got.Result)
	}
	if got := s.send("tasks/cancel", `{"taskId":"`+id+`"}`); got.Error == nil || got.Error.Code != -32602 {
		t.Errorf("an ended task is canceled: %v", got)
	}
	failed := s.create("break")
	if got := s.send("tasks/result", `{"taskId":"`+failed+`"}`); string(got.Result["isError"]) != "true" {
		t.Errorf("the result of a failed turn is %s", got.Result)
	}
	if got := s.send("tasks/get", `{"taskId":"`+failed+`"}`); got.task("status") != taskFailed || got.task("statusMessage") == "" {
		t.Errorf("the failed task is %s", got.Result)
	}
	if got := s.send("tools/call", `{"name":"plain","arguments":{},"task":{}}`); got.Error == nil {
		t.Errorf("a task begins without a message: %s", got.Result)
	}
	s.send("tools/call", `{"name":"plain","arguments":{"message":"no task"}}`)
	list := string(s.send("tasks/list", `{}`).Result["tasks"])
	if strings.Count(list, `"taskId"`) != 2 || !strings.Contains(list, id) || !strings.Contains(list, failed) {
		t.Errorf("the tasks are %s", list)
	}
}

func TestATaskIsCanceled(t *testing.T) {
	t.Parallel()
	w := serving(t)
	s := w.openRaw("alice")
	id := s.create("hang")
	<-w.echoModel.hung
	if got := s.send("tasks/get", `{"taskId":"`+id+`"}`); got.task("status") != taskWorking {
		t.Errorf("the task is %s", got.Result)
	}
	// The session that began the task is not needed.
	again := w.openRaw("alice")
	if got := again.send("tasks/cancel", `{"taskId":"`+id+`"}`); got.task("status") != taskCancelled {
		t.Errorf("the canceled task is %s %v", got.Result, got.Error)
	}
	<-w.echoModel.hung
}

func TestTasksBelongToTheirCaller(t *testing.T) {
	t.Parallel()
	w := serving(t)
	id := w.openRaw("alice").create("hello")
	bob := w.openRaw("bob")
	for _, method := range []string{"tasks/get", "tasks/result", "tasks/cancel"} {
		for _, other := range []string{id, "nothing", ""} {
			if got := bob.send(method, `{"taskId":"`+other+`"}`); got.Error == nil || got.Error.Code != -32602 || got.Error.Message != "unknown task" {
				t.Errorf("%s of %q: %s %v", method, other, got.Result, got.Error)
			}
		}
	}
	if got := string(bob.send("tasks/list", `{}`).Result["tasks"]); got != "[]" {
		t.Errorf("bob sees %s", got)
	}
	if got := bob.send("tasks/list", `{"cursor":"nonsense"}`); got.Error == nil || got.Error.Code != -32602 {
		t.Errorf("an invalid cursor: %s %v", got.Result, got.Error)
	}
	if got := bob.send("tasks/update", `{"taskId":"`+id+`"}`); got.Error == nil || got.Error.Code != -32601 {
		t.Errorf("a method of another version: %s %v", got.Result, got.Error)
	}
}

// sendModern sends a message of the version 2026-07-28.
func (w *world) sendModern(key, method, params, capabilities string) *rawAnswer {
	w.t.Helper()
	var named struct{ Name, TaskID string }
	_ = json.Unmarshal([]byte(params), &named)
	params = strings.TrimSuffix(params, "}") + `,"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` + capabilities + `}}`
	_, _, body := w.post(key, "/mcp", fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params),
		versionHeader, "2026-07-28", "Mcp-Method", method, "Mcp-Name", named.Name+named.TaskID)
	answer := &rawAnswer{}
	for line := range strings.Lines(body) {
		data := strings.TrimPrefix(strings.TrimSpace(line), "data: ")
		if strings.HasPrefix(data, "{") && json.Unmarshal([]byte(data), answer) == nil && (answer.Result != nil || answer.Error != nil) {
			return answer
		}
	}
	w.t.Fatalf("%s has no answer: %q", method, body)
	return nil
}

func TestALongCallBecomesATask(t *testing.T) {
	t.Parallel()
	const capable = `{"elicitation":{"form":{}},"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	w := serving(t)
	if got := w.sendModern("alice", "tools/call", `{"name":"plain","arguments":{"message":"hello"}}`, capable); string(got.Result["resultType"]) != `"complete"` {
		t.Errorf("a short call: %s %v", got.Result, got.Error)
	}
	w.surface.taskAfter = time.Nanosecond
	made := w.sendModern("alice", "tools/call", `{"name":"clerk","arguments":{"message":"call ask"}}`, capable)
	id := made.task("taskId")
	if string(made.Result["resultType"]) != `"task"` || made.task("status") != taskWorking || string(made.Result["ttlMs"]) != "null" || id == "" {
		t.Fatalf("a long call: %s %v", made.Result, made.Error)
	}
	named := `{"taskId":"` + id + `"}`
	if got := w.sendModern("alice", "tasks/get", named, `{}`); got.Error == nil || got.Error.Code != mcp.CodeMissingRequiredClientCapabilities {
		t.Errorf("without the extension: %s %v", got.Result, got.Error)
	}
	if got := w.sendModern("bob", "tasks/get", named, capable); got.Error == nil || got.Error.Code != -32602 {
		t.Errorf("another caller: %s %v", got.Result, got.Error)
	}
	await := func(status string) *rawAnswer {
		for {
			got := w.sendModern("alice", "tasks/get", named, capable)
			if got.task("status") == status {
				return got
			}
			if got.task("status") != taskWorking {
				t.Fatalf("the task is %s %v", got.Result, got.Error)
			}
		}
	}
	var asked map[string]json.RawMessage
	if err := json.Unmarshal(await(taskInputRequired).Result["inputRequests"], &asked); err != nil || len(asked) != 1 {
		t.Fatalf("it asks %v %v", asked, err)
	}
	for key := range asked {
		w.sendModern("alice", "tasks/update", `{"taskId":"`+id+`","inputResponses":{"`+key+`":{"action":"accept","content":{"answer":"Ulm"}}}}`, capable)
	}
	if got := await(taskCompleted); !strings.Contains(string(got.Result["result"]), "It is Ulm.") {
		t.Errorf("the result is %s", got.Result["result"])
	}
	if got := w.sendModern("alice", "tasks/cancel", named, capable); string(got.Result["resultType"]) != `"complete"` {
		t.Errorf("an ended task is canceled: %s %v", got.Result, got.Error)
	}
	if got := w.sendModern("alice", "tasks/list", `{"cursor":""}`, capable); got.Error == nil || got.Error.Code != -32601 {
		t.Errorf("a method of another version: %s %v", got.Result, got.Error)
	}
}

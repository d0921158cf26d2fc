package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	agentswire "github.com/agentruntime/agentruntime/agents/wire"
	"github.com/google/uuid"
)

// things maps the placeholders of a request to their values.
type things map[string]string

// makers create the things that a request may name, as ann.
var makers = map[string]func(*testing.T, *town, things){
	"{agent}":   func(_ *testing.T, _ *town, made things) { made["{agent}"] = "clerk" },
	"{message}": func(_ *testing.T, _ *town, made things) { made["{message}"] = uuid.NewString() },
	"{hookurl}": func(_ *testing.T, w *town, made things) { made["{hookurl}"] = w.receiver },
	"{run}":     makeRun, "{call}": makeRun,
	"{session}": makeSession, "{talk}": makeTalk,
	"{task}": makeTask, "{context}": makeTask,
	"{ticket}": func(t *testing.T, w *town, made things) {
		makeTask(t, w, made)
		answer := w.own(t, http.MethodGet, "/runtime/v1/turns/"+made["{task}"]+"/interactions", "")
		list, _ := answer["interactions"].([]any)
		if len(list) != 1 {
			t.Fatalf("the task waits for %v", answer)
		}
		ticket, _ := list[0].(map[string]any)
		made["{ticket}"], _ = ticket["id"].(string)
	},
	"{response}": func(t *testing.T, w *town, made things) {
		answer := w.own(t, http.MethodPost, "/v1/responses", `{"model":"clerk","input":"hello `+inputSecret+`"}`)
		made["{response}"], _ = answer["id"].(string)
	},
	"{ended}":    makeEndedRun,
	"{finished}": makeEnded, "{rated}": func(t *testing.T, w *town, made things) {
		makeEnded(t, w, made)
		made["{rated}"] = made["{finished}"]
		w.own(t, http.MethodPost, "/runtime/v1/turns/"+made["{finished}"]+"/feedback", `{"score":0.5}`)
	},
	"{conversation}": makeConversation, "{item}": makeConversation,
	"{approval}": makeApproval, "{consent}": makeApproval,
	"{chat}": makeChat, "{asking}": makeAsking, "{asked}": makeAsking,
	"{interrupted}": makeInterrupted, "{interruption}": makeInterrupted,
	"{hook}": func(t *testing.T, w *town, made things) {
		makeTask(t, w, made)
		made["{hook}"] = uuid.NewString()
		w.own(t, http.MethodPost, "/a2a/clerk/tasks/"+made["{task}"]+"/pushNotificationConfigs",
			fmt.Sprintf(`{"id":%q,"url":%q,"token":%q}`, made["{hook}"], w.receiver, hookSecret))
	},
}

const annPath = "/api/v1/workspaces/acme"

// toolWithHeaders is a remote agent in a spec, with a secret.
const toolWithHeaders = `{"kind":"a2a","name":"peer","agentCardUrl":"https://peer.example/card.json","headers":{"Authorization":"Bearer ` + headerSecret + `"}}`

// stream opens the stream of ann's run. The caller closes it.
func (w *town) stream(t *testing.T, run string) *http.Response {
	t.Helper()
	return w.open(t, annPath+"/agent-runs/"+run+"/stream")
}

// open opens one of ann's streams. The caller closes it.
func (w *town) open(t *testing.T, path string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, w.LocalURL()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = bearer(annKey)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	return resp
}

func makeRun(t *testing.T, w *town, made things) {
	t.Helper()
	if made["{run}"] != "" {
		return
	}
	run := w.own(t, http.MethodPost, annPath+"/agent-runs", `{"agentId":"clerk","systemPrompt":"`+promptSecret+`","prompt":"hold `+inputSecret+`","tools":[`+toolWithHeaders+`,{"kind":"local","name":"lookup","description":"Looks.","parameters":{"type":"object"}}]}`)
	id, _ := run["runId"].(string)
	made["{run}"] = id
	resp := w.stream(t, id)
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		var event struct {
			Type, ToolUseID string
		}
		if isData && json.Unmarshal([]byte(data), &event) == nil && event.ToolUseID != "" {
			made["{call}"] = event.ToolUseID
			return
		}
	}
	t.Fatal("the run asks for nothing")
}

// makeEnded makes a turn that has ended.
func makeEnded(t *testing.T, w *town, made things) {
	t.Helper()
	if made["{finished}"] != "" {
		return
	}
	session := w.own(t, http.MethodPost, "/runtime/v1/sessions", `{"agent_id":"clerk"}`)
	turn := w.own(t, http.MethodPost, "/runtime/v1/turns", fmt.Sprintf(`{"session_id":%q,"input":[{"role":"user","parts":[{"type":"text","text":"hello"}]}]}`, session["id"]))
	made["{finished}"], _ = turn["id"].(string)
	w.own(t, http.MethodPost, "/runtime/v1/turns/"+made["{finished}"]+"/cancel", `{}`)
}

// makeEndedRun makes a run that has succeeded.
func makeEndedRun(t *testing.T, w *town, made things) {
	t.Helper()
	run := w.own(t, http.MethodPost, annPath+"/agent-runs", `{"agentId":"clerk","prompt":"hello"}`)
	made["{ended}"], _ = run["runId"].(string)
	resp := w.stream(t, made["{ended}"])
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil {
		t.Fatal(err)
	}
}

// makeApproval makes a run that waits for an approval.
func makeApproval(t *testing.T, w *town, made things) {
	t.Helper()
	if made["{approval}"] != "" {
		return
	}
	run := w.own(t, http.MethodPost, annPath+"/agent-runs", `{"agentId":"clerk","prompt":"refund `+inputSecret+`"}`)
	made["{approval}"], _ = run["runId"].(string)
	resp := w.stream(t, made["{approval}"])
	defer resp.Body.Close()
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		data, isData := strings.CutPrefix(lines.Text(), "data: ")
		var event struct{ InteractionID string }
		if isData && json.Unmarshal([]byte(data), &event) == nil && event.InteractionID != "" {
			made["{consent}"] = event.InteractionID
			return
		}
	}
	t.Fatal("the run waits for nothing")
}

// makeConversation creates a conversation with an answer from the agent, and with an item.
func makeConversation(t *testing.T, w *town, made things) {
	t.Helper()
	if made["{conversation}"] != "" {
		return
	}
	conversation := w.own(t, http.MethodPost, "/v1/conversations", `{"metadata":{"secret":"`+inputSecret+`"}}`)
	made["{conversation}"], _ = conversation["id"].(string)
	// A new conversation has no agent, so an agent whose sessions begin with programs cannot answer
	// in it.
	answered := w.ask(t, http.MethodPost, "/v1/responses", `{"model":"clerk","input":"hello","conversation":"`+made["{conversation}"]+`"}`, bearer(annKey))
	if answered.status != http.StatusOK && !strings.Contains(answered.body, "has programs that run when its sessions begin") {
		t.Fatalf("%d %s", answered.status, answered.body)
	}
	list := w.own(t, http.MethodPost, "/v1/conversations/"+made["{conversation}"]+"/items", `{"items":[{"role":"user","content":"hello"}]}`)
	made["{item}"], _ = list["first_id"].(string)
}

// makeInterrupted makes a turn of the agents API that waits for an approval.
func makeInterrupted(t *testing.T, w *town, made things) {
	t.Helper()
	if made["{interrupted}"] != "" {
		return
	}
	answer := w.own(t, http.MethodPost, "/agents/clerk", `{"data":{"message":{"content":[{"text":"refund `+inputSecret+`"}]}}}`)
	encoded, err := json.Marshal(answer["result"])
	var out agentswire.Output
	if err != nil || json.Unmarshal(encoded, &out) != nil || out.FinishReason != agentswire.FinishInterrupted {
		t.Fatalf("the turn ends with %s", encoded)
	}
	made["{interrupted}"], made["{interruption}"] = out.SnapshotID, out.Message.Content[0].ToolRequest.Ref
}

// makeChat makes a session of a provider.
func makeChat(t *testing.T, w *town, made things) {
	t.Helper()
	if made["{chat}"] == "" {
		session := w.own(t, http.MethodPost, "/api/v1/agent/sessions", `{"clientRef":"`+promptSecret+`"}`)
		made["{chat}"], _ = session["id"].(string)
	}
}

// makeAsking makes a turn of such a session that waits for an approval.
func makeAsking(t *testing.T, w *town, made things) {
	t.Helper()
	if made["{asking}"] != "" {
		return
	}
	makeChat(t, w, made)
	turn := w.own(t, http.MethodPost, "/api/v1/agent/sessions/"+made["{chat}"]+"/turns",
		`{"messages":[{"role":"user","text":"refund `+inputSecret+`"}],"toolRefs":[{"plugin":"refund"}]}`)
	made["{asking}"], _ = turn["id"].(string)
	// The stream ends where the turn waits.
	resp := w.open(t, "/api/v1/agent/turns/"+made["{asking}"]+"/events/stream?until=blocked_or_terminal")
	defer resp.Body.Close()
	events, err := io.ReadAll(resp.Body)
	asked := regexp.MustCompile(`"interaction_id":"([^"]+)"`).FindSubmatch(events)
	if err != nil || asked == nil {
		t.Fatalf("the turn asks nothing: %s, %v", events, err)
	}
	made["{asked}"] = string(asked[1])
}

func makeSession(t *testing.T, w *town, made things) {
	t.Helper()
	session := w.own(t, http.MethodPost, annPath+"/agent-sessions", `{"agentId":"clerk","systemPrompt":"`+promptSecret+`","tools":[`+toolWithHeaders+`]}`)
	made["{session}"], _ = session["sessionId"].(string)
}

func makeTalk(t *testing.T, w *town, made things) {
	t.Helper()
	answer := w.own(t, http.MethodPost, "/api/a2a/acme/agents/clerk",
		`{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"parts":[{"kind":"text","text":"`+inputSecret+`"}]}}}`)
	said, _ := answer["result"].(map[string]any)
	made["{talk}"], _ = said["contextId"].(string)
	if made["{talk}"] == "" {
		t.Fatalf("the conversation is %v", answer)
	}
}

func makeTask(t *testing.T, w *town, made things) {
	t.Helper()
	if made["{task}"] != "" {
		return
	}
	answer := w.own(t, http.MethodPost, "/a2a/clerk/message:send",
		`{"message":{"messageId":"`+uuid.NewString()+`","role":"ROLE_USER","parts":[{"text":"refund `+inputSecret+`"}]}}`)
	task, _ := answer["task"].(map[string]any)
	made["{task}"], _ = task["id"].(string)
	made["{context}"], _ = task["contextId"].(string)
	if status, _ := task["status"].(map[string]any); status["state"] != "TASK_STATE_INPUT_REQUIRED" {
		t.Fatalf("the task is %v", answer)
	}
}

// make creates all things named in a text.
func (w *town) make(t *testing.T, text string) things {
	t.Helper()
	made := things{}
	for _, list := range []map[string]func(*testing.T, *town, things){makers, fieldMakers} {
		for name, maker := range list {
			if strings.Contains(text, name) && made[name] == "" {
				maker(t, w, made)
			}
		}
	}
	return made
}

// gone returns well-formed values for things that do not exist.
func (made things) gone() things {
	gone := things{}
	for name, value := range made {
		switch name {
		case "{agent}":
			gone[name] = "klerk"
		case "{hookurl}", "{message}":
			gone[name] = value
		default:
			gone[name] = uuid.NewString()
		}
	}
	return gone
}

// fill substitutes the things in a text.
func (made things) fill(text, tenant string) string {
	text = strings.ReplaceAll(text, "{workspace}", url.PathEscape(tenant))
	for name, value := range made {
		text = strings.ReplaceAll(text, name, value)
	}
	return text
}

// same normalizes an answer so that answers can be compared regardless of the requested thing.
func (h *heard) same(made things) string {
	var text bytes.Buffer
	header := h.header.Clone()
	for _, name := range []string{"Date", "X-Request-Id", "Content-Length"} {
		header.Del(name)
	}
	fmt.Fprintln(&text, h.status)
	_ = header.Write(&text)
	text.WriteString(strings.ReplaceAll(h.body, h.header.Get("X-Request-Id"), "REQUEST"))
	out := text.String()
	for name, value := range made {
		out = strings.ReplaceAll(out, value, name)
	}
	return moment.ReplaceAllString(out, "NOW")
}

// moment matches values that differ between any two answers: a time, and an event id.
var moment = regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z|(?m:^id: [0-9a-f-]{36}$)`)

// leaks returns the parts of an answer that must not be there: a secret, a message, or an id that
// was not requested.
func (w *town) leaks(h *heard, asked string, made things) []string {
	var text bytes.Buffer
	_ = h.header.Write(&text)
	text.WriteString(h.body)
	hidden := slices.Clone(w.secrets)
	for name, value := range made {
		if name != "{agent}" && name != "{hookurl}" {
			hidden = append(hidden, value)
		}
	}
	return slices.DeleteFunc(hidden, func(secret string) bool {
		return strings.Contains(asked, secret) || !strings.Contains(text.String(), secret)
	})
}

// Write appends to the output.
func (t *sharedOutput) Write(p []byte) (int, error) {
	t.add(string(p))
	return len(p), nil
}

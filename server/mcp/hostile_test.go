package mcp

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/rawjson"
	"go.uber.org/zap"
)

// clientMessages are messages of every method, for both kinds of versions.
var clientMessages = []string{
	hello,
	`{"jsonrpc":"2.0","id":7,"method":"ping","params":{"_meta":{"progressToken":1}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{"cursor":"plain"}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"plain","arguments":{"message":"hi","session_id":"x"},"_meta":{"progressToken":1,"agentruntime/session_id":"y"},"task":{"ttl":1},"inputResponses":{"a":{"action":"accept","content":{}}},"requestState":"x"}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"greeter","arguments":{"message":"hi","variables":{"language":"x"}}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"prompts/list","params":{"cursor":"x"}}`,
	`{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{"name":"greet","arguments":{"name":"x"}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"resources/list","params":{"cursor":"x"}}`,
	`{"jsonrpc":"2.0","id":7,"method":"resources/templates/list","params":{}}`,
	`{"jsonrpc":"2.0","id":7,"method":"resources/read","params":{"uri":"doc://rules"}}`,
	`{"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{"uri":"doc://rules"}}`,
	`{"jsonrpc":"2.0","id":7,"method":"resources/unsubscribe","params":{"uri":"doc://rules"}}`,
	`{"jsonrpc":"2.0","id":7,"method":"completion/complete","params":{"ref":{"type":"ref/prompt","name":"greet"},"argument":{"name":"name","value":"x"},"context":{"arguments":{"a":"b"}}}}`,
	`{"jsonrpc":"2.0","id":7,"method":"logging/setLevel","params":{"level":"info"}}`,
	`{"jsonrpc":"2.0","id":7,"method":"server/discover","params":{}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tasks/get","params":{"taskId":"x"}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tasks/list","params":{"cursor":"x"}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tasks/result","params":{"taskId":"x"}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tasks/cancel","params":{"taskId":"x"}}`,
	`{"jsonrpc":"2.0","id":7,"method":"tasks/update","params":{"taskId":"x","inputResponses":{"a":{"action":"accept","content":{}}}}}`,
	`{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`,
	`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7,"reason":"x"}}`,
	`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`,
	`{"jsonrpc":"2.0","method":"notifications/roots/list_changed","params":{}}`,
	`{"jsonrpc":"2.0","id":7,"result":{"action":"accept","content":{"a":"b"}}}`,
	`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x","data":{}}}`,
}

// replaceValue replaces value number n of a message, counted depth first. It leaves n negative if
// there is such a value.
func replaceValue(raw json.RawMessage, n *int, with string) json.RawMessage {
	if *n--; *n == -1 {
		return json.RawMessage(with)
	}
	if members, ok := rawjson.Members(raw); ok {
		for i := range members {
			if members[i].Value = replaceValue(members[i].Value, n, with); *n < 0 {
				return rawjson.EncodeMembers(members)
			}
		}
	}
	return raw
}

// modernMeta is the _meta of requests without a handshake.
const modernMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"elicitation":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// TestNullInMessagesOfAClient sends every message with each value replaced by null. None of them
// causes a panic, an internal error or an answer that is not JSON-RPC.
func TestNullInMessagesOfAClient(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for _, version := range []string{"2025-11-25", firstStateless} {
		for _, message := range clientMessages {
			if version == firstStateless {
				message = strings.Replace(strings.Replace(message, `"params":{`, `"params":{`+modernMeta+`,`, 1), `,}`, `}`, 1)
			}
			for n := 0; n >= 0; {
				at := n
				changed := string(replaceValue(json.RawMessage(message), &at, "null"))
				if n++; at >= 0 {
					break
				}
				var m struct {
					Method string
					Params struct{ Name, URI, TaskID string }
				}
				_ = json.Unmarshal([]byte(changed), &m) // empty for anything else
				header := []string{versionHeader, version, "Mcp-Method", m.Method, "Mcp-Name", m.Params.Name + m.Params.URI + m.Params.TaskID}
				if version != firstStateless && !strings.Contains(message, methodInitialize) {
					id := w.open("alice", "/mcp")
					header = append(header, sessionHeader, id)
				}
				status, _, body := w.post("alice", "/mcp", changed, header...)
				if status >= 500 || status >= 400 && !strings.HasPrefix(body, `{"jsonrpc":"2.0",`) {
					t.Errorf("%s: %d %s", changed, status, body)
				}
				for session := range w.surface.server.Sessions() {
					_ = session.Close() // a key has few
				}
			}
		}
	}
	for _, e := range w.logs.FilterLevelExact(zap.ErrorLevel).All() {
		t.Errorf("%s: %v", e.Message, e.ContextMap())
	}
}

// TestErrorsRepeatNoLongTexts sends messages and headers with long texts. The errors have their
// beginnings.
func TestErrorsRepeatNoLongTexts(t *testing.T) {
	t.Parallel()
	w := serving(t)
	long := strings.Repeat("m", 3000)
	session := func(t *testing.T, version string) []string {
		t.Helper()
		return []string{sessionHeader, w.open("alice", "/mcp"), versionHeader, version}
	}
	legacy, modern := session(t, "2025-11-25"), []string{versionHeader, firstStateless, "Mcp-Method", "tools/call", "Mcp-Name", long}
	message := func(method, params string) string {
		return `{"jsonrpc":"2.0","id":"` + long + `","method":"` + method + `","params":` + params + `}`
	}
	for name, tt := range map[string]struct {
		body   string
		header []string
	}{
		"a method":                {message(long, "{}"), legacy},
		"a tool":                  {message("tools/call", `{"name":"`+long+`"}`), legacy},
		"a prompt":                {message("prompts/get", `{"name":"`+long+`"}`), legacy},
		"an argument":             {message("tools/call", `{"name":"clerk","arguments":{"`+long+`":1}}`), legacy},
		"a version":               {message("tools/list", "{}"), session(t, long)},
		"a version of JSON-RPC":   {strings.Replace(message("tools/list", "{}"), "2.0", long, 1), legacy},
		"a method, stateless":     {message(long, "{"+modernMeta+"}"), []string{versionHeader, firstStateless, "Mcp-Method", long}},
		"a header that differs":   {message("tools/call", `{"name":"x`+long+`",`+modernMeta+`}`), modern},
		"a method that differs":   {message("tools/list", "{"+modernMeta+"}"), []string{versionHeader, firstStateless, "Mcp-Method", long}},
		"a version of the future": {message("tools/list", strings.Replace("{"+modernMeta+"}", firstStateless, long, 1)), []string{versionHeader, long, "Mcp-Method", "tools/list"}},
	} {
		_, _, body := w.post("alice", "/mcp", tt.body, tt.header...)
		said := strings.ReplaceAll(body, `"id":"`+long+`"`, `"id":""`)
		if strings.Contains(said, strings.Repeat("m", 500)) || !strings.Contains(said, `"jsonrpc":"2.0"`) {
			t.Errorf("%s: %s", name, body)
		}
	}
}

// TestStreamsThatCannotBeResumed names events that there are not.
func TestStreamsThatCannotBeResumed(t *testing.T) {
	t.Parallel()
	w := serving(t)
	id := w.open("alice", "/mcp")
	for _, last := range []string{"x", "_", "x_", "x_-5", "x_99999999999999999999", "_-1", "a_b_c", "0_0", "_0_0", "\xff_1"} {
		if status, _, body := w.send(http.MethodGet, "alice", "/mcp", "", sessionHeader, id, "Last-Event-ID", last); status != http.StatusBadRequest {
			t.Errorf("%q: %d %s", last, status, body)
		}
	}
}

// TestRejectedHandshakesLeaveNoSession sends more handshakes than a key may have sessions, and
// handshakes that fail.
func TestRejectedHandshakesLeaveNoSession(t *testing.T) {
	t.Parallel()
	w := serving(t)
	for range maxSessions + 20 {
		w.post("alice", "/mcp", hello)
	}
	for _, message := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"initialize","params":null}`, `{"jsonrpc":"2.0","method":"initialize","params":{}}`,
		`{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}`, `{"jsonrpc":"2.0","id":1,"result":{}}`,
	} {
		for range 10 {
			w.post("bob", "/mcp", message)
		}
	}
	open := 0
	for range w.surface.server.Sessions() {
		open++
	}
	if open != maxSessions {
		t.Errorf("%d sessions are open, want %d", open, maxSessions)
	}
}

package runsclient

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// maxFrame limits the data of a frame, in bytes, and maxLastFrame that of the last one, because a
// result may contain a long text twice.
const (
	maxFrame     = 1 << 20
	maxLastFrame = 7 << 20
)

// marker is the field that marks truncated events.
const marker = "truncated"

// whole are the types of events that are never truncated: a client could not make half a call, and
// deltas are split.
var whole = []string{"started", "assistant_delta", "thinking_delta", "local_tool_call", "deltas_reset", "loop_detected", "tool_budget_exceeded", "cancelled"}

// hidden are tool names that must not appear in events.
var hidden = []string{"final_report", "set_model_response"}

// shape lists the required and optional fields of the payloads of an event type.
type shape struct{ must, may map[string]func(any) bool }

type fields = map[string]func(any) bool

var shapes = map[string]shape{
	"started":              {},
	"assistant_delta":      {must: fields{"text": isText}},
	"thinking_delta":       {must: fields{"text": isText}},
	"assistant_message":    {must: fields{"text": isText, "turn": isCount, "finishReason": orNull(isText)}, may: fields{"toolCalls": isCalls}},
	"tool_call":            {must: fields{"toolUseId": isName, "name": isName, "input": isAny}},
	"tool_result":          {must: fields{"toolUseId": isName, "name": isName, "ok": isBool, "summary": isText, "result": isText}},
	"local_tool_call":      {must: fields{"toolUseId": isName, "name": isName, "args": isObject, "kind": isKind}, may: fields{"agentCard": isObject, "mcpServer": isName, "mcpToolName": isName, "mcpServerInfo": isObject}},
	"local_tool_result_in": {must: fields{"toolUseId": isName}, may: fields{"result": isText, "output": isText, "error": isText}},
	"deltas_reset":         {must: fields{"fromSeq": isCount}},
	"interaction_requested": {must: fields{"interactionId": isName, "action": isText, "message": isText},
		may: fields{"toolUseId": isName, "name": isName, "args": isAny, "parameters": isAny, "responseSchema": isObject}},
	"interaction_resolved": {must: fields{"interactionId": isName, "action": isName}, may: fields{"toolUseId": isName, "result": isAny}},
	"loop_detected":        {must: fields{"consecutiveCount": isCount, "hardCutoff": isBool, "tools": isNames}},
	"tool_budget_exceeded": {must: fields{"tool": isName, "maxCalls": isCount, "callIndex": isCount}},
	"result": {must: fields{"ok": isBool, "subtype": isName, "tokens": isTokens, "turns": isCount, "model": isModel},
		may: fields{"text": isText, "error": isText}},
	"error": {must: fields{"error": isName, "code": isName, "tokens": isTokens, "turns": isCount, "model": isModel},
		may: fields{"errorClass": isName, "finishReason": isName, "partialText": isText, "retryable": isBool, "subtype": isName}},
	"cancelled": {may: fields{"reason": isText}},
}

func isAny(any) bool { return true }

func isText(v any) bool { _, ok := v.(string); return ok }

func isName(v any) bool { text, ok := v.(string); return ok && text != "" }

func isBool(v any) bool { _, ok := v.(bool); return ok }

func isObject(v any) bool { _, ok := v.(map[string]any); return ok }

func isCount(v any) bool { n, ok := v.(float64); return ok && n >= 0 && n == math.Trunc(n) }

func isKind(v any) bool { return v == "local" || v == "a2a_local" || v == "mcp_local" }

func orNull(is func(any) bool) func(any) bool {
	return func(v any) bool { return v == nil || is(v) }
}

func isNames(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) > 0 && !slices.ContainsFunc(list, func(one any) bool { return !isName(one) })
}

func isCalls(v any) bool {
	list, ok := v.([]any)
	return ok && len(list) > 0 && !slices.ContainsFunc(list, func(one any) bool {
		return checkShape(one, shape{must: fields{"id": isName, "name": isName, "input": isAny}}) != ""
	})
}

func isTokens(v any) bool {
	return checkShape(v, shape{must: fields{"inputTokens": isCount, "cachedTokens": isCount, "reasoningTokens": isCount, "outputTokens": isCount}}) == ""
}

func isModel(v any) bool {
	return checkShape(v, shape{must: fields{"id": isName, "provider": isProvider, "vendorModelId": isName}, may: fields{"reasoningEffort": isName}}) == ""
}

func isProvider(v any) bool { return isName(v) && v == strings.ToLower(v.(string)) }

// checkShape returns the problem of an object, or "".
func checkShape(v any, s shape) string {
	object, ok := v.(map[string]any)
	if !ok {
		return "is not an object"
	}
	for name, is := range s.must {
		if value, ok := object[name]; !ok || !is(value) {
			return fmt.Sprintf("has %s: %v", name, value)
		}
	}
	for name, value := range object {
		if s.must[name] == nil && (s.may[name] == nil || !s.may[name](value)) {
			return fmt.Sprintf("has %s: %v", name, value)
		}
	}
	return ""
}

// order checks the sequence of a run's events.
type order struct {
	seq int64
	// turn is the latest turn; known is set if all earlier ones were seen, and partly if the latest
	// message was truncated.
	turn          float64
	known, partly bool
	// calls are the calls of the latest message, true once answered; sent are the calls requested
	// from a client, true once made.
	calls, sent map[string]bool
	ended       bool
}

func newOrder(after int64) *order {
	return &order{seq: after, turn: -1, known: after == 0, calls: map[string]bool{}, sent: map[string]bool{}}
}

// checkNext checks the next event.
func (o *order) checkNext(e Event) error {
	problem, payload := o.describeProblem(e), e.Payload
	if e.Truncated() {
		payload = maps.Clone(payload)
		delete(payload, marker)
	}
	for _, name := range hidden {
		if strings.Contains(fmt.Sprint(e.Payload), name) {
			problem = "shows " + name
		}
	}
	if s, ok := shapes[e.Type]; !ok {
		problem = "is of no known type"
	} else if wrong := checkShape(payload, s); wrong != "" {
		problem = wrong
	}
	o.seq = e.Seq
	if problem != "" {
		return &ProtocolError{Problem: fmt.Sprintf("event %d, %s, %s", e.Seq, e.Type, problem), Frame: fmt.Sprint(e.Payload)}
	}
	return nil
}

func (o *order) describeProblem(e Event) string {
	switch {
	case e.Seq <= o.seq:
		return fmt.Sprintf("comes after %d", o.seq)
	case o.ended:
		return "comes after the last"
	case e.Type == "started" && e.Seq != 1:
		return "does not come first"
	}
	o.ended = e.Terminal()
	if e.Truncated() && slices.Contains(whole, e.Type) {
		return "is cut off"
	}
	id := e.Text("toolUseId")
	switch e.Type {
	case "assistant_message":
		return o.checkMessage(e)
	case "tool_call", "tool_result", "local_tool_call":
		answered, there := o.calls[id]
		if o.known && !o.partly && !there {
			return "names no call of the message"
		}
		if answered {
			return "names a call that was answered"
		}
		o.calls[id] = e.Type == "tool_result"
		if e.Type == "local_tool_call" {
			if _, again := o.sent[id]; again {
				return "names a call that was sent"
			}
			o.sent[id] = false
		}
	case "local_tool_result_in":
		if done, there := o.sent[id]; o.known && !there || done {
			return "answers no call"
		}
		if isText(e.Payload["error"]) == isText(e.Payload["result"]) || e.Payload["result"] != e.Payload["output"] {
			return "has not one of result and error"
		}
		o.sent[id] = true
	}
	return ""
}

// checkMessage checks a model message; messages must be numbered without gaps.
func (o *order) checkMessage(e Event) string {
	turn, _ := e.Payload["turn"].(float64)
	if o.known && turn != o.turn+1 {
		return fmt.Sprintf("comes after turn %v", o.turn)
	}
	o.turn, o.known, o.partly = turn, true, e.Truncated()
	clear(o.calls)
	calls, _ := e.Payload["toolCalls"].([]any)
	for _, one := range calls {
		if call, ok := one.(map[string]any); ok {
			id, _ := call["id"].(string)
			o.calls[id] = false
		}
	}
	return ""
}

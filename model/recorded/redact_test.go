package recorded_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/recorded"
	"pgregory.net/rapid"
)

// drawText draws a text with a secret, and cuts it at random places.
func drawText(t *rapid.T, secret string) []string {
	text := rapid.SampledFrom([]string{"", "The key is ", "ü", "s3c"}).Draw(t, "before") + secret +
		rapid.SampledFrom([]string{"", ".", "€ more", secret}).Draw(t, "after")
	var pieces []string
	for text != "" {
		n := rapid.IntRange(1, len(text)).Draw(t, "cut")
		pieces, text = append(pieces, text[:n]), text[n:]
	}
	return pieces
}

// drawAnswer draws an answer whose text, reasoning and arguments have a secret, streamed in
// alternating pieces.
func drawAnswer(t *rapid.T, secret string) []model.Event {
	text, reasoning := drawText(t, secret), drawText(t, secret)
	value := secret
	if rapid.Bool().Draw(t, "number") {
		value = "20261128"
	}
	arguments := strings.Join(drawText(t, value), "")
	if value == "20261128" {
		arguments = `{"pin": 20261128, "20261128": [1, "x20261128"]}`
	} else if encoded, err := json.Marshal(map[string]string{"token": arguments}); err == nil && rapid.Bool().Draw(t, "JSON") {
		arguments = strings.ReplaceAll(string(encoded), secret[:1], fmt.Sprintf(`\u%04x`, secret[0]))
	}
	var events []model.Event
	if rapid.Bool().Draw(t, "reset") {
		events = append(events, model.Event{Type: model.EventText, Delta: secret[:4]}, model.Event{Type: model.EventReset, Delta: "broke off at " + secret})
	}
	events = append(events, model.Event{Type: model.EventToolCallStart, ID: "call-" + secret, Name: "look"})
	var calls []string
	for arguments != "" {
		n := rapid.IntRange(1, len(arguments)).Draw(t, "cut")
		calls, arguments = append(calls, arguments[:n]), arguments[n:]
	}
	for len(text)+len(reasoning)+len(calls) > 0 {
		switch kind := rapid.IntRange(0, 2).Draw(t, "kind"); {
		case kind == 0 && len(text) > 0:
			events, text = append(events, model.Event{Type: model.EventText, Delta: text[0]}), text[1:]
		case kind == 1 && len(reasoning) > 0:
			events, reasoning = append(events, model.Event{Type: model.EventReasoning, Delta: reasoning[0]}), reasoning[1:]
		case len(calls) > 1:
			events, calls = append(events, model.Event{Type: model.EventToolCallDelta, Delta: calls[0]}), calls[1:]
		case len(calls) == 1 && len(text)+len(reasoning) == 0:
			events, calls = append(events, model.Event{Type: model.EventToolCallEnd, Delta: calls[0]}), nil
		}
	}
	return append(events, model.Event{Type: model.EventFinish, Reason: model.FinishToolCalls})
}

// assembleMessage returns the message of an answer.
func assembleMessage(t *rapid.T, events []model.Event) model.Message {
	var a model.Answer
	for i := range events {
		if err := a.Add(&events[i]); err != nil {
			t.Fatal(err)
		}
	}
	return a.Message()
}

// TestNoRecordingHasASecret records conversations with secrets in every place, and replays
// them: the second request has the first answer, and a result with the secret.
func TestNoRecordingHasASecret(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		secret := rapid.SampledFrom([]string{"s3cr3t-value", "schlüssel\"7", "\\x5c-\\u005c", "sk-0123456789abcdef0123456789abcdef"}).Draw(t, "secret")
		hide := recorded.Redact(func(text string) string {
			return strings.NewReplacer(secret, "***", "20261128", "***").Replace(text)
		})
		follow := func(first []model.Event) *model.Request {
			return &model.Request{Model: "m", Tools: []model.Tool{{Name: "look", Description: secret, Parameters: json.RawMessage(`{"default":20261128}`)}}, Messages: []model.Message{
				model.User("What is " + secret + "?"), assembleMessage(t, first),
				{Role: model.RoleTool, Parts: []model.Part{{Type: model.PartToolResult, ToolResult: &model.ToolResult{
					CallID: "c", Name: "look", Content: []model.Part{model.Text(secret[:3]), model.Text(secret[3:]), {Type: model.PartFile, Blob: &model.Blob{MediaType: "text/plain", Data: []byte(secret)}}},
				}}}},
			}}
		}
		first := drawAnswer(t, secret)
		var file bytes.Buffer
		failed := answer{err: &model.Error{Class: model.Provider, Message: "bad key " + secret}}
		r := recorded.NewRecorder(&answers{given: []answer{{events: first}, says("done"), failed}}, &file, hide)
		for _, req := range []*model.Request{ask(secret), follow(first), ask("again")} {
			_, _ = take(t.Context(), r, req) // the last one fails
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		for _, spelling := range []string{secret, "20261128"} {
			checkAbsent(t, file.Bytes(), spelling)
		}
		p, err := recorded.NewPlayer(bytes.NewReader(file.Bytes()), hide)
		if err != nil {
			t.Fatal(err)
		}
		replayed, err := take(t.Context(), p, ask(secret))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := take(t.Context(), p, follow(replayed)); err != nil {
			t.Fatalf("%v\n%s", err, file.Bytes())
		}
	})
}

// checkAbsent looks for a secret in a file, in the texts of its JSON, and in the joined
// pieces of its answers.
func checkAbsent(t *rapid.T, file []byte, secret string) {
	for line := range bytes.Lines(file) {
		var one struct {
			Events []struct {
				Type, Delta string
				Bytes       []byte `json:"delta_bytes"`
			}
		}
		var whole any
		if json.Unmarshal(line, &one) != nil || json.Unmarshal(line, &whole) != nil {
			t.Fatalf("not JSON: %s", line)
		}
		joined := map[string]string{}
		for _, e := range one.Events {
			if e.Type == "reset" {
				clear(joined)
			}
			joined[strings.Replace(e.Type, "_end", "_delta", 1)] += e.Delta + string(e.Bytes)
		}
		if text := string(line) + fmt.Sprint(whole, joined); strings.Contains(text, secret) {
			t.Fatalf("the secret %q is in %s", secret, text)
		}
	}
}

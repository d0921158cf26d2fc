package bedrock

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
)

// TestOddStreamsAreRead reads streams of servers that only partly follow the types and order of the
// API.
func TestOddStreamsAreRead(t *testing.T) {
	const (
		hi      = "event: contentBlockDelta\ndata: {\"contentBlockIndex\":0,\"delta\":{\"text\":\"hi\"}}\n\n"
		stop    = "event: contentBlockStop\ndata: {\"contentBlockIndex\":0}\n\n"
		over    = "event: messageStop\ndata: {\"stopReason\":\"end_turn\"}\n\n"
		call    = "event: contentBlockStart\ndata: {\"contentBlockIndex\":0,\"start\":{\"toolUse\":{\"toolUseId\":\"a1\",\"name\":\"weather\"}}}\n\n"
		half    = "event: contentBlockDelta\ndata: {\"contentBlockIndex\":0,\"delta\":{\"toolUse\":{\"input\":\"{\\\"city\\\":\"}}}\n\n"
		rest    = "event: contentBlockDelta\ndata: {\"contentBlockIndex\":0,\"delta\":{\"toolUse\":{\"input\":\"\\\"Paris\\\"}\"}}}\n\n"
		further = "event: contentBlockDelta\ndata: {\"contentBlockIndex\":7,\"delta\":{\"toolUse\":{\"input\":\"\\\"Paris\\\"}\"}}}\n\n"
	)
	says := func(name, stream string) vendortest.Recording {
		return vendortest.Recording{Name: name, Stream: stream, Reason: model.FinishStop, Parts: []model.Part{model.Text("hi")}}
	}
	calls := func(name, id, stream string) vendortest.Recording {
		return vendortest.Recording{Name: name, Stream: stream, Reason: model.FinishToolCalls, Parts: []model.Part{vendortest.ToolCall(id, "weather", `{"city":"Paris"}`)}}
	}
	vendor.CheckStreams(t, []vendortest.Recording{
		says("a reason that is a number", hi+stop+"event: messageStop\ndata: {\"stopReason\":1}\n\n"),
		says("a reason that is null", hi+stop+"event: messageStop\ndata: {\"stopReason\":null}\n\n"),
		says("a delta that is null", "event: contentBlockDelta\ndata: {\"delta\":null}\n\n"+hi+stop+over),
		says("a delta that is a text", "event: contentBlockDelta\ndata: {\"delta\":\"hi\"}\n\n"+stop+over),
		says("a start that is text", "event: contentBlockStart\ndata: {\"start\":\"\"}\n\n"+hi+stop+over),
		says("a block that ends twice", hi+stop+stop+over),
		says("a block that does not end", hi+over),
		says("usage that is a list", hi+over+"event: metadata\ndata: {\"usage\":[]}\n\n"),
		calls("a call that does not end", "a1", call+half+rest+over),
		calls("a call that ends twice", "a1", call+half+rest+stop+stop+over),
		calls("arguments at an unknown place", "a1", call+half+further+stop+over),
		calls("arguments that are an object", "a1", call+"event: contentBlockDelta\ndata: {\"contentBlockIndex\":0,\"delta\":{\"toolUse\":{\"input\":{\"city\":\"Paris\"}}}}\n\n"+stop+over),
		calls("an ID that is null", "call_0_0", "event: contentBlockStart\ndata: {\"start\":{\"toolUse\":{\"toolUseId\":null,\"name\":\"weather\"}}}\n\n"+half+rest+stop+over),
		calls("an ID that is a number", "7", "event: contentBlockStart\ndata: {\"start\":{\"toolUse\":{\"toolUseId\":7,\"name\":\"weather\"}}}\n\n"+half+rest+stop+over),
		{Name: "an exception that is an event", Stream: hi + "event: internalServerException\ndata: {\"message\":\"try again\"}\n\n", Class: model.Provider, Message: "try again",
			Parts: []model.Part{model.Text("hi")}},
		{Name: "a throttling that is an event", Stream: hi + "event: throttlingException\ndata: {\"message\":\"slow down\"}\n\n", Class: model.RateLimited, Message: "slow down",
			Parts: []model.Part{model.Text("hi")}},
		{Name: "the message of the model's server", Stream: hi + "event: modelStreamErrorException\ndata: {\"originalStatusCode\":424,\"originalMessage\":\"no worker\"}\n\n", Class: model.StreamInterrupted,
			Message: "no worker", Parts: []model.Part{model.Text("hi")}},
		{Name: "metadata without usage", Stream: hi + stop + over + "event: metadata\ndata: {\"metrics\":{}}\n\nevent: metadata\ndata: {\"usage\":{\"inputTokens\":3,\"outputTokens\":2}}\n\n",
			Reason: model.FinishStop, Parts: []model.Part{model.Text("hi")}, Usage: &model.Usage{Input: 3, Output: 2}},
		{Name: "an error in the name of a field", Stream: hi + "event: chunk\ndata: {\"error parsing tool call\":\"no brace\"}\n\n" + over, Class: model.Provider, Message: "error parsing tool call: no brace",
			Parts: []model.Part{model.Text("hi")}},
		{Name: "a call that is cut off", Stream: call + half + over, Class: model.Provider, Message: "does not end",
			Parts: []model.Part{vendortest.ToolCall("a1", "weather", `{"city":`)}},
	})
}

// TestOtherFramingsAreRead reads answers of gateways that send server-sent events, lines of JSON or a
// document.
func TestOtherFramingsAreRead(t *testing.T) {
	const (
		hi   = `{"contentBlockIndex":0,"delta":{"text":"hi"}}`
		over = `{"stopReason":"end_turn"}`
	)
	union := []string{`{"messageStart":{"role":"assistant"}}`, `{"contentBlockDelta":` + hi + `}`, `{"contentBlockStop":{}}`, `{"messageStop":` + over + `}`, `{"metadata":{"usage":{}}}`}
	whole := `{"output":{"message":{"content":[{"text":"hi"}]}},"stopReason":"end_turn"}`
	for name, stream := range map[string]string{
		"named events":           "event: contentBlockDelta\ndata: " + hi + "\n\nevent: messageStop\ndata: " + over + "\n\n",
		"comments":               ": ping\n\nevent: contentBlockDelta\ndata: " + hi + "\n\nevent: messageStop\ndata: " + over + "\n\n",
		"events with their name": vendortest.EventStream(union...),
		"events called message":  "event: message\ndata: " + union[1] + "\n\nevent: message\ndata: " + union[3] + "\n\n",
		"lines of JSON":          strings.Join(union, "\n"),
		"a wrapped document":     `{"statusCode":200,"body":` + vendortest.JSON(t, whole) + `}`,
		"wrapped events":         vendortest.EventStream(`{"chunk":`+union[1]+`}`, `{"chunk":`+union[3]+`}`),
	} {
		events, failure := vendortest.Ask(t, vendor.Replay(t, strings.NewReader(stream)), vendortest.Hello(testModel))
		if failure != nil {
			t.Errorf("%s: %v", name, failure)
			continue
		}
		if answer := vendortest.Assemble(t, events).Message(); answer.Text() != "hi" {
			t.Errorf("%s: the answer is %q", name, answer.Text())
		}
	}
	_, failure := vendortest.Ask(t, vendor.Replay(t, strings.NewReader(vendortest.EventStream(`{"throttlingException":{"message":"slow down"}}`))), vendortest.Hello(testModel))
	if failure == nil || failure.Class != model.RateLimited || !strings.Contains(failure.Message, "slow down") {
		t.Errorf("an exception gives %v", failure)
	}
}

func TestErrorsOfStreamsAreRepeated(t *testing.T) {
	for _, code := range []string{"InternalError", "InternalServerError", "internalServerException"} {
		if class := (&refusal{code: code}).errorClass(); class != model.Provider {
			t.Errorf("%s is %s", code, class)
		}
	}
}

func TestThoughtsInTheTextAreReasoning(t *testing.T) {
	vendor.CheckThoughts(t, func(pieces ...string) (stream string) {
		for _, piece := range pieces {
			text, _ := json.Marshal(piece)
			stream += fmt.Sprintf("event: contentBlockDelta\ndata: {\"contentBlockIndex\":0,\"delta\":{\"text\":%s}}\n\n", text)
		}
		return stream + "event: messageStop\ndata: {\"stopReason\":\"end_turn\"}\n\n"
	})
}

package anthropic

import (
	"encoding/json"
	"fmt"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
)

// TestOddStreamsAreRead reads streams of servers that only partly follow the types, framing and
// order of the API.
func TestOddStreamsAreRead(t *testing.T) {
	const (
		text      = `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`
		hi        = `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}`
		stop      = `{"type":"content_block_stop","index":0}`
		call      = `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a1","name":"weather","input":{}}}`
		arguments = `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"city\":\"Paris\"}"}}`
		half      = `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"city\":"}}`
		tail      = `{"type":"content_block_delta","index":5,"delta":{"type":"input_json_delta","partial_json":"\"Paris\"}"}}`
		ended     = `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`
		over      = `{"type":"message_stop"}`
	)
	says := func(name, stream string) vendortest.Recording {
		return vendortest.Recording{Name: name, Stream: stream, Reason: model.FinishStop, Parts: []model.Part{model.Text("hi")}}
	}
	calls := func(name, id, stream string) vendortest.Recording {
		return vendortest.Recording{Name: name, Stream: stream, Reason: model.FinishToolCalls, Parts: []model.Part{vendortest.ToolCall(id, "weather", paris)}}
	}
	vendor.CheckStreams(t, []vendortest.Recording{
		says("a reason that is a number", vendortest.EventStream(text, hi, stop, `{"type":"message_delta","delta":{"stop_reason":1}}`, over)),
		says("a reason that is an object", vendortest.EventStream(text, hi, stop, `{"type":"message_delta","delta":{"stop_reason":{"type":"end_turn"}}}`, over)),
		says("a delta that is null", vendortest.EventStream(text, hi, stop, `{"type":"message_delta","delta":null,"usage":[]}`, over)),
		says("a block that does not end", vendortest.EventStream(text, hi, ended, over)),
		says("a block that ends twice", vendortest.EventStream(text, hi, stop, stop, ended, over)),
		says("a block that starts twice", vendortest.EventStream(text, text, hi, stop, ended, over)),
		says("a block that is null", vendortest.EventStream(text, `{"type":"content_block_start","index":1,"content_block":null}`, hi, ended, over)),
		says("a delta that is a text", vendortest.EventStream(text, `{"type":"content_block_delta","index":0,"delta":"hi"}`, ended, over)),
		says("events that are encoded twice", vendortest.EventStream(`"{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"text\":\"hi\"}}"`, `"{\"type\":\"message_stop\"}"`)),
		says("a delta with the kind of its block", vendortest.EventStream(text, `{"type":"content_block_delta","index":0,"delta":{"type":"text","text":"hi"}}`, ended, over)),
		says("a delta without a type", vendortest.EventStream(text, `{"type":"content_block_delta","index":0,"delta":{"text":"hi"}}`, ended, over)),
		says("texts in a list", vendortest.EventStream(`{"type":"content_block_delta","index":"0","delta":{"type":"text_delta","text":["h","i"]}}`, ended, over)),
		says("a message that is text", vendortest.EventStream(`{"type":"message_start","message":"m"}`, text, hi, ended, over)),
		says("a ping that is not JSON", "event: ping\ndata: {}\n\ndata: ping\n\n"+vendortest.EventStream(text, hi, stop, ended, over)),
		says("single line ends", "event: content_block_delta\ndata: "+hi+"\nevent: message_stop\ndata: "+over+"\n"),
		says("lines of JSON", hi+"\n"+ended+"\n"+over+"\n"),
		says("a document without its kind", `{"content":[{"type":"text","text":"hi"}]}`),
		says("a document with a text", `{"type":"message","content":"hi","stop_reason":"end_turn"}`),
		says("a document with one block", `{"content":{"type":"text","text":"hi"},"stop_reason":null}`),
		calls("an ID that is null", "call_0_0", vendortest.EventStream(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":null,"name":"weather"}}`, arguments, stop, ended, over)),
		calls("an ID that is a number", "7", vendortest.EventStream(`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":7,"name":"weather"}}`, arguments, stop, ended, over)),
		calls("a call that does not end", "a1", vendortest.EventStream(call, arguments, ended, over)),
		calls("a call that ends twice", "a1", vendortest.EventStream(call, arguments, stop, stop, ended, over)),
		calls("arguments at an unknown place", "a1", vendortest.EventStream(call, half, tail, stop, ended, over)),
		calls("arguments that are an object", "a1", vendortest.EventStream(call, `{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":{"city":"Paris"}}}`, stop, ended, over)),
		calls("a call at the place of a text", "a1", vendortest.EventStream(text, call, arguments, ended, over)),
		{Name: "a call that is cut off", Stream: vendortest.EventStream(call, half, ended, over), Class: model.Provider, Message: "does not end",
			Parts: []model.Part{vendortest.ToolCall("a1", "weather", `{"city":`)}},
		{Name: "an error in the name of a field", Stream: vendortest.EventStream(text, hi, `{"error parsing tool call":"no brace"}`, over), Class: model.Provider, Message: "error parsing tool call: no brace",
			Parts: []model.Part{model.Text("hi")}},
		{Name: "an error in the name of an event", Stream: "event: server_error\ndata: {\"status\":529,\"info\":\"busy\"}\n\n", Class: model.Overloaded, Message: "busy"},
		{Name: "an unknown event and no answer", Stream: vendortest.EventStream(`{"queue":3}`), Class: model.StreamInterrupted, Message: `the server sent "{\"queue\":3}"`},
		{Name: "an error that is text", Stream: "event: error\ndata: overloaded\n\n", Class: model.Provider, Message: "overloaded"},
		{Name: "a call without a name", Stream: vendortest.EventStream(`{"type":"content_block_start","content_block":{"type":"tool_use","id":"a1"}}`), Class: model.Provider, Message: "no name"},
	})
}

func TestWrappedEventsAreRead(t *testing.T) {
	vendor.CheckWrapped(t, `{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"hi"}}`, `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, `{"type":"message_stop"}`)
}

func TestThoughtsInTheTextAreReasoning(t *testing.T) {
	vendor.CheckThoughts(t, func(pieces ...string) string {
		events := []string{`{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}`}
		for _, piece := range pieces {
			text, _ := json.Marshal(piece)
			events = append(events, fmt.Sprintf(`{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":%s}}`, text))
		}
		return vendortest.EventStream(append(events, `{"type":"message_stop"}`)...)
	})
}

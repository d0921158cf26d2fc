package google

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
		hi   = `{"candidates":[{"content":{"parts":[{"text":"hi"}]}}]}`
		stop = `{"candidates":[{"finishReason":"STOP"}]}`
	)
	says := func(name, stream string) vendortest.Recording {
		return vendortest.Recording{Name: name, Stream: stream, Reason: model.FinishStop, Parts: []model.Part{model.Text("hi")}}
	}
	calls := func(name, call, id, arguments string) vendortest.Recording {
		return vendortest.Recording{
			Name: name, Stream: vendortest.EventStream(`{"candidates":[{"content":{"parts":[` + call + `]},"finishReason":"STOP"}]}`), Reason: model.FinishToolCalls,
			Parts: []model.Part{vendortest.ToolCall(id, "weather", arguments)},
		}
	}
	decoded := calls("arguments that are text", `{"functionCall":{"name":"weather","args":"{\"city\":\"Paris\"}"}}`, "call_0_0", `{"city":"Paris"}`)
	decoded.Parts[0].ToolCall.Repair = model.RepairDecoded
	vendor.CheckStreams(t, []vendortest.Recording{
		says("a reason that is a number", vendortest.EventStream(hi, `{"candidates":[{"finishReason":1}]}`)),
		says("a reason in small letters", vendortest.EventStream(hi, `{"candidates":[{"finishReason":"stop","finishMessage":null}]}`)),
		says("a reason that is an object", vendortest.EventStream(hi, `{"candidates":[{"finishReason":{}}]}`, stop)),
		says("an index that is text", vendortest.EventStream(`{"candidates":[{"index":"0","content":{"parts":[{"text":"hi"}]}}]}`, stop)),
		says("an index that is null", vendortest.EventStream(`{"candidates":[{"index":null,"content":{"parts":[{"text":"hi"}]}}]}`, stop)),
		says("only the second candidate", vendortest.EventStream(`{"candidates":[{"index":1,"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}`)),
		says("usage that is a list", vendortest.EventStream(hi, `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":[]}`)),
		says("usage that is text", vendortest.EventStream(hi, `{"candidates":[{"finishReason":"STOP"}],"usageMetadata":"none"}`)),
		says("a candidate that is an object", vendortest.EventStream(`{"candidates":{"content":{"parts":{"text":"hi"}},"finishReason":"STOP"}}`)),
		says("candidates that are null", vendortest.EventStream(`{"candidates":null}`, `{"candidates":[null]}`, hi, stop)),
		says("content that is null", vendortest.EventStream(`{"candidates":[{"content":null}]}`, `{"candidates":[{"content":[]}]}`, hi, stop)),
		says("content that is a text", vendortest.EventStream(`{"candidates":[{"content":"hi","finishReason":"STOP"}]}`)),
		says("a part that is a text", vendortest.EventStream(`{"candidates":[{"content":{"parts":["hi"]},"finishReason":"STOP"}]}`)),
		says("an event in a list", vendortest.EventStream(`[{"candidates":[{"content":{"parts":[{"text":"hi"}]},"finishReason":"STOP"}]}]`)),
		says("events that are encoded twice", vendortest.EventStream(`"{\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"hi\"}]},\"finishReason\":\"STOP\"}]}"`)),
		says("parts that are null", vendortest.EventStream(`{"candidates":[{"content":{"parts":[null,{"text":"hi","thought":"false","thoughtSignature":null,"functionCall":null}]}}]}`, stop)),
		says("feedback that is text", vendortest.EventStream(`{"promptFeedback":"","error":"","candidates":[]}`, hi, stop)),
		says("an error that is empty", vendortest.EventStream(`{"error":{}}`, hi, stop)),
		says("single line ends", "data: "+hi+"\ndata: "+stop+"\n"),
		says("carriage returns", "data: "+hi+"\r\rdata: "+stop+"\r\r"),
		says("names of the definition", vendortest.EventStream(hi, `{"candidates":[{"finish_reason":"STOP"}]}`)),
		calls("a call in the names of the definition", `{"function_call":{"name":"weather","args":{"city":"Paris"}}}`, "call_0_0", `{"city":"Paris"}`),
		says("lines of JSON", hi+"\n"+stop+"\n"),
		says("signs of life that are not JSON", "data: ping\n\n"+vendortest.EventStream(hi, stop)),
		calls("an ID that is a number", `{"functionCall":{"id":7,"name":"weather","args":{"city":"Paris"}}}`, "7", `{"city":"Paris"}`),
		calls("arguments that are a list", `{"functionCall":{"name":"weather","args":[]}}`, "call_0_0", `{}`),
		calls("arguments that are null", `{"functionCall":{"id":null,"name":"weather","args":null}}`, "call_0_0", `{}`),
		decoded,
		{Name: "a plain text", Stream: "Error 500\n\n", Class: model.StreamInterrupted, Message: `the server sent "Error 500"`},
		{Name: "an error in the name of a field", Stream: vendortest.EventStream(hi, `{"error parsing tool call":"no brace"}`, stop), Class: model.Provider, Message: "error parsing tool call: no brace",
			Parts: []model.Part{model.Text("hi")}},
		{Name: "an unknown event and no answer", Stream: vendortest.EventStream(`{"queue":3}`), Class: model.StreamInterrupted, Message: `the server sent "{\"queue\":3}"`},
		{Name: "parts that are text", Stream: vendortest.EventStream(`{"candidates":[{"content":{"parts":"hi"}}]}`), Class: model.Provider, Message: "a string in the field candidates"},
	})
}

func TestWrappedEventsAreRead(t *testing.T) {
	vendor.CheckWrapped(t, `{"candidates":[{"content":{"parts":[{"text":"hi"}]}}]}`, `{"candidates":[{"finishReason":"STOP"}]}`)
}

func TestThoughtsInTheTextAreReasoning(t *testing.T) {
	vendor.CheckThoughts(t, func(pieces ...string) string {
		var events []string
		for _, piece := range pieces {
			text, _ := json.Marshal(piece)
			events = append(events, fmt.Sprintf(`{"candidates":[{"content":{"parts":[{"text":%s}]}}]}`, text))
		}
		return vendortest.EventStream(append(events, `{"candidates":[{"finishReason":"STOP"}]}`)...)
	})
}

package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
)

const (
	hiChunk   = `{"choices":[{"index":0,"delta":{"content":"hi"}}]}`
	stopChunk = `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	callChunk = `{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"a1","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}]}}]}`
)

func textRecording(name, stream, text string) vendortest.Recording {
	return vendortest.Recording{Name: name, Stream: stream, Reason: model.FinishStop, Parts: []model.Part{model.Text(text)}}
}

func callsParis(name, stream string) vendortest.Recording {
	return vendortest.Recording{
		Name: name, Stream: stream, Reason: model.FinishToolCalls, Request: askWeather, Parts: []model.Part{vendortest.ToolCall("a1", "weather", paris)},
	}
}

// TestOddStreamsOfChatCompletionsAreRead reads streams of servers that only partly follow the
// types, framing and order of the API.
func TestOddStreamsOfChatCompletionsAreRead(t *testing.T) {
	vendors[ChatCompletions].CheckStreams(t, []vendortest.Recording{
		textRecording("an empty function call", vendortest.EventStream(`{"choices":[{"index":0,"delta":{"content":"hi","function_call":{}}}]}`, stopChunk), "hi"),
		textRecording("a function call that is text", vendortest.EventStream(`{"choices":[{"index":0,"delta":{"content":"hi","function_call":""}}]}`, stopChunk), "hi"),
		textRecording("calls that are null", vendortest.EventStream(`{"choices":[{"index":0,"delta":{"content":"hi","tool_calls":[null]}}]}`, stopChunk), "hi"),
		textRecording("calls that are an object", vendortest.EventStream(`{"choices":[{"index":0,"delta":{"content":"hi","tool_calls":{}}}]}`, stopChunk), "hi"),
		textRecording("calls that are false", vendortest.EventStream(`{"choices":[{"index":0,"delta":{"content":"hi","tool_calls":false}}]}`, stopChunk), "hi"),
		textRecording("a call that says nothing", vendortest.EventStream(`{"choices":[{"index":0,"delta":{"content":"hi","tool_calls":[{"index":0,"id":"","function":{"name":null}}]}}]}`, stopChunk), "hi"),
		textRecording("an error that is empty", vendortest.EventStream(`{"error":"","choices":[{"index":0,"delta":{"content":"hi"}}]}`, `{"error":null}`, `{"error":{}}`, `{"error":false}`, stopChunk), "hi"),
		textRecording("only the second choice", vendortest.EventStream(`{"choices":[{"index":1,"delta":{"content":"hi"}}]}`, `{"choices":[{"index":1,"delta":{},"finish_reason":"stop"}]}`), "hi"),
		textRecording("a choice that is an object", vendortest.EventStream(`{"choices":{"index":0,"delta":{"content":"hi"}}}`, stopChunk), "hi"),
		textRecording("choices that are null", vendortest.EventStream(`{"choices":null}`, `{"choices":[null]}`, hiChunk, stopChunk), "hi"),
		textRecording("a delta that is a list", vendortest.EventStream(`{"choices":[{"delta":[]}]}`, hiChunk, `{"choices":[{"delta":"","finish_reason":"stop"}]}`), "hi"),
		textRecording("texts in a list", vendortest.EventStream(`{"choices":[{"delta":{"content":["h",{"type":"text","text":"i"},null]}}]}`, stopChunk), "hi"),
		textRecording("a text in an object", vendortest.EventStream(`{"choices":[{"delta":{"content":{"type":"text","text":"hi"}}}]}`, stopChunk), "hi"),
		textRecording("a reason that is an object", vendortest.EventStream(hiChunk, `{"choices":[{"delta":{},"finish_reason":{"type":"stop"}}]}`, "[DONE]"), "hi"),
		textRecording("usage that is a list", vendortest.EventStream(hiChunk, stopChunk, `{"choices":[],"usage":[]}`), "hi"),
		textRecording("signs of life that are not JSON", "data: ping\n\ndata:\n\ndata: : processing\n\n"+vendortest.EventStream("null", `"ping"`, "1", hiChunk, stopChunk), "hi"),
		textRecording("a named ping", "event: ping\ndata: ping\n\n"+vendortest.EventStream(hiChunk, stopChunk), "hi"),
		textRecording("the mark in lower case", vendortest.EventStream(hiChunk, "[done]"), "hi"),
		textRecording("the mark in quotes", vendortest.EventStream(hiChunk, `"[DONE]"`), "hi"),
		textRecording("single line ends", "data: "+hiChunk+"\ndata: "+stopChunk+"\ndata: [DONE]\n", "hi"),
		textRecording("carriage returns", "data: "+hiChunk+"\r\rdata: "+stopChunk+"\r\r", "hi"),
		textRecording("lines of JSON", hiChunk+"\n"+stopChunk+"\n", "hi"),
		textRecording("an array of chunks", "["+hiChunk+",\n"+stopChunk+"]", "hi"),
		textRecording("a byte order mark in the data", "data: \xef\xbb\xbf"+hiChunk+"\n\ndata: "+stopChunk+"\n\n", "hi"),
		textRecording("numbers that JSON has not", vendortest.EventStream(hiChunk, `{"choices":[{"index":0,"delta":{},"logprobs":NaN,"finish_reason":"stop"}],"timings":{"x":-Infinity}}`, "[DONE]"), "hi"),
		textRecording("NaN in a text", vendortest.EventStream(`{"choices":[{"delta":{"content":"a NaN"}}],"x":NaN}`, stopChunk), "a NaN"),
		textRecording("data twice", "data: data: "+hiChunk+"\n\ndata: data: "+stopChunk+"\n\n", "hi"),
		callsParis("a call without a function", vendortest.EventStream(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a1","name":"weather","arguments":"{\"city\":\"Paris\"}"}]}}]}`, stopChunk)),
		callsParis("arguments as parameters", vendortest.EventStream(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a1","function":{"name":"weather","parameters":{"city":"Paris"}}}]}}]}`, stopChunk)),
		callsParis("arguments as args", vendortest.EventStream(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a1","function":{"name":"weather","args":"{\"city\":"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"args":"\"Paris\"}"}}]}}]}`, stopChunk)),
		callsParis("arguments as input", vendortest.EventStream(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a1","function":{"name":"weather","input":{"city":"Paris"}}}]}}]}`, stopChunk)),
		callsParis("args of a call without a function", vendortest.EventStream(`{"choices":[{"delta":{"tool_calls":[{"id":"a1","name":"weather","args":{"city":"Paris"}}]}}]}`, stopChunk)),
		callsParis("parameters of a call without a function", vendortest.EventStream(`{"choices":[{"delta":{"tool_calls":[{"id":"a1","name":"weather","parameters":{"city":"Paris"}}]}}]}`, stopChunk)),
		callsParis("input of a function call", `{"choices":[{"message":{"tool_calls":[{"id":"a1","function":{"name":"weather","input":{"city":"Paris"}}}]},"finish_reason":"tool_calls"}]}`),
		callsParis("a call of a custom tool", vendortest.EventStream(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a1","type":"custom","custom":{"name":"weather","input":"{\"city\":"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"custom":{"input":"\"Paris\"}"}}]}}]}`, stopChunk)),
		textRecording("a delta that is a text", vendortest.EventStream(`{"choices":[{"delta":"h"}]}`, `{"choices":[{"delta":"i","finish_reason":"stop"}]}`), "hi"),
		textRecording("a delta that is a text with an object", vendortest.EventStream(`{"choices":[{"delta":"{\"a\":1}"}]}`, stopChunk), `{"a":1}`),
		textRecording("a message that is a text", `{"choices":[{"message":"hi","finish_reason":"stop"}]}`, "hi"),
		textRecording("events that are encoded twice", vendortest.EventStream(`"{\"choices\":[{\"delta\":{\"content\":\"hi\"}}]}"`, stopChunk), "hi"),
		textRecording("choices that are encoded twice", vendortest.EventStream(`{"choices":"[{\"delta\":{\"content\":\"hi\"}}]"}`, stopChunk), "hi"),
		callsParis("calls in camel case", vendortest.EventStream(`{"choices":[{"delta":{"toolCalls":[{"index":0,"id":"a1","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}]},"finishReason":"tool_calls"}]}`)),
		callsParis("a function that is encoded twice", vendortest.EventStream(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a1","function":"{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}"}]}}]}`, stopChunk)),
		callsParis("calls that are encoded twice", vendortest.EventStream(`{"choices":[{"delta":{"tool_calls":"[{\"id\":\"a1\",\"function\":{\"name\":\"weather\",\"arguments\":{\"city\":\"Paris\"}}}]"}}]}`, stopChunk)),
		callsParis("a function that is a name", vendortest.EventStream(`{"choices":[{"delta":{"tool_calls":[{"id":"a1","function":"weather","arguments":{"city":"Paris"}}]}}]}`, stopChunk)),
		callsParis("a call that is an object", vendortest.EventStream(`{"choices":[{"delta":{"tool_calls":{"id":"a1","function":{"name":"weather","arguments":{"city":"Paris"}}}}}]}`, stopChunk)),
		callsParis("lists that are objects with numbers", vendortest.EventStream(`{"choices":{"1":{"delta":{"tool_calls":{"2":{"id":"a1","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}}}}}}`, stopChunk)),
		callsParis("nulls beside a call", vendortest.EventStream(`{"choices":[{"delta":{"tool_calls":[null,{"index":null,"id":"a1","type":null,"function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}]}}]}`, stopChunk)),
		callsParis("an empty function call beside calls", vendortest.EventStream(callChunk, `{"choices":[{"delta":{"function_call":{},"tool_calls":[{}]},"finish_reason":"tool_calls"}]}`)),
		callsParis("names that accumulate", vendortest.EventStream(
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a1","function":{"name":"wea"}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a1","function":{"name":"weather","arguments":""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}]}}]}`, stopChunk)),
		{Name: "content that is unknown", Stream: vendortest.EventStream(`{"choices":[{"delta":{"content":{"body":"hi"}}}]}`), Class: model.Provider, Message: "content"},
		{Name: "choices that are text", Stream: vendortest.EventStream(`{"choices":"hi"}`), Class: model.Provider, Message: "a string in the field choices"},
		{Name: "an error in the name of a field", Stream: vendortest.EventStream(hiChunk, `{"error parsing tool call":"raw='{\"a\"', err=unexpected end"}`, stopChunk),
			Parts: []model.Part{model.Text("hi")}, Class: model.Provider, Message: `error parsing tool call: raw='{"a"', err=unexpected end`},
		{Name: "an error in the name of an event", Stream: "event: server_error\ndata: {\"info\":\"no memory\"}\n\n", Class: model.Provider, Message: "no memory"},
		{Name: "a status in an unknown form", Stream: vendortest.EventStream(`{"status":429,"info":{"text":"slow down"}}`), Class: model.RateLimited, Message: "slow down"},
		{Name: "an unknown event and no answer", Stream: vendortest.EventStream(`{"queue":{"position":3}}`), Class: model.StreamInterrupted, Message: `the server sent "{\"queue\":{\"position\":3}}"`},
		{Name: "an unknown document", Stream: `{"result":"hi"}`, Class: model.Provider, Message: `the server sent "{\"result\":\"hi\"}"`},
		{Name: "an unknown event and the end of an empty answer", Stream: vendortest.EventStream(`{"detail":"no worker"}`, "[DONE]"), Class: model.EmptyAnswer, Message: `the server sent "{\"detail\":\"no worker\"}"`},
		{Name: "a plain text", Stream: "upstream connect error\n", Class: model.StreamInterrupted, Message: `the server sent "upstream connect error"`},
		{Name: "an event that is a plain text", Stream: "data: Internal Server Error\n\n", Class: model.StreamInterrupted, Message: `the server sent "Internal Server Error"`},
		{Name: "an error of a choice", Stream: vendortest.EventStream(hiChunk, `{"choices":[{"delta":{},"finish_reason":"error","error":{"code":429,"message":"too fast"}}]}`),
			Parts: []model.Part{model.Text("hi")}, Class: model.RateLimited, Message: "too fast"},
		{Name: "an error of Groq", Stream: vendortest.EventStream(hiChunk, `{"choices":[{"delta":{},"finish_reason":"stop"}],"x_groq":{"error":"over capacity"}}`),
			Parts: []model.Part{model.Text("hi")}, Class: model.Provider, Message: "over capacity"},
		textRecording("the request ID of Groq", vendortest.EventStream(hiChunk, `{"choices":[{"delta":{},"finish_reason":"stop","error":null}],"x_groq":{"id":"r"}}`), "hi"),
		textRecording("the form of the older API", vendortest.EventStream(`{"choices":[{"index":0,"text":"h","finish_reason":null}]}`, `{"choices":[{"index":0,"text":"i","finish_reason":"stop"}]}`), "hi"),
		{Name: "the API of Ollama", Stream: `{"model":"m","message":{"role":"assistant","content":"hi"},"done":false}` + "\n", Class: model.Provider, Message: `the server sent "{\"model\"`},
		{Name: "reasoning in details alone", Stream: vendortest.EventStream(`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.text","text":"H"}]}}]}`,
			`{"choices":[{"delta":{"reasoning_details":[{"type":"reasoning.summary","summary":"m."}]}}]}`, stopChunk),
			Reason: model.FinishStop, Parts: []model.Part{{Type: model.PartReasoning, Reasoning: &model.Reasoning{Text: "Hm.", Field: reasoningDetails, Encrypted: ownerMark + vendortest.Provider +
				"\n" + `{"reasoning_details":[{"type":"reasoning.text","text":"H"},{"type":"reasoning.summary","summary":"m."}]}`}}}},
		{Name: "reasoning in thinking", Stream: vendortest.EventStream(`{"choices":[{"delta":{"thinking":"H"}}]}`, `{"choices":[{"delta":{"thinking":"m."}}]}`, hiChunk, stopChunk),
			Reason: model.FinishStop, Parts: []model.Part{vendortest.Reasoning("Hm.", "", ""), model.Text("hi")}},
		callsParis("calls beside the delta", vendortest.EventStream(`{"choices":[{"delta":{},"tool_calls":[{"index":0,"id":"a1","function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}]}]}`, stopChunk)),
		{Name: "thoughts among the parts", Stream: vendortest.EventStream(`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":[{"type":"text","text":"H"}]}]}}]}`,
			`{"choices":[{"delta":{"content":[{"type":"thinking","thinking":"m."},{"type":"text","text":"hi"}]}}]}`, stopChunk),
			Reason: model.FinishStop, Parts: []model.Part{vendortest.Reasoning("Hm.", "", ""), model.Text("hi")}},
		textRecording("control characters", "data: {\"choices\":[{\"delta\":{\"content\":\"h\ti\ndata: \\n\"}}]}\n\n"+vendortest.EventStream(stopChunk), "h\ti\n\n"),
		textRecording("choices that are empty at first", vendortest.EventStream(`{"choices":[],"prompt_filter_results":[{"prompt_index":0}]}`, hiChunk, stopChunk), "hi"),
		textRecording("choices that are empty between", vendortest.EventStream(hiChunk, `{"choices":[],"usage":null}`, stopChunk), "hi"),
		textRecording("choices that are null with usage", vendortest.EventStream(hiChunk, stopChunk, `{"choices":null,"usage":null}`, "[DONE]"), "hi"),
		{Name: "choices that are empty at the end", Stream: vendortest.EventStream(hiChunk, stopChunk, `{"choices":[],"usage":{"prompt_tokens":3,"completion_tokens":1}}`),
			Reason: model.FinishStop, Parts: []model.Part{model.Text("hi")}, Usage: &model.Usage{Input: 3, Output: 1}},
		{Name: "choices that are null at the end", Stream: vendortest.EventStream(hiChunk, stopChunk, `{"choices":null,"usage":{"prompt_tokens":3,"completion_tokens":1}}`),
			Reason: model.FinishStop, Parts: []model.Part{model.Text("hi")}, Usage: &model.Usage{Input: 3, Output: 1}},
		{Name: "choices that are empty alone", Stream: vendortest.EventStream(`{"choices":[],"usage":{"prompt_tokens":3}}`, "[DONE]"), Reason: model.FinishStop, Usage: &model.Usage{Input: 3}},
		{Name: "choices that are null alone", Stream: vendortest.EventStream(`{"choices":null}`, "[DONE]"), Class: model.EmptyAnswer, Message: `the server sent "{\"choices\":null}"`},
		{Name: "choices that are empty alone, without an end", Stream: vendortest.EventStream(`{"choices":[]}`), Class: model.StreamInterrupted, Message: `the server sent "{\"choices\":[]}"`},
		{Name: "a document with empty choices", Stream: `{"choices":[]}`, Class: model.EmptyAnswer, Message: `the server sent "{\"choices`},
		{Name: "a document with choices that are null", Stream: `{"id":"x","object":"chat.completion","choices":null}`, Class: model.EmptyAnswer, Message: `the server sent "{\"id`},
		textRecording("an unknown event beside the answer", vendortest.EventStream(`{"message":"queued"}`, `{"errors":[],"code":0}`, hiChunk, stopChunk), "hi"),
	})
}

func TestWrappedEventsAreRead(t *testing.T) {
	vendors[ChatCompletions].CheckWrapped(t, hiChunk, stopChunk)
	vendors[Responses].CheckWrapped(t, `{"type":"response.output_text.delta","output_index":0,"delta":"hi"}`, `{"type":"response.completed","response":{"output":[]}}`)
}

func TestFieldsOfAMessageGoBackToTheirProvider(t *testing.T) {
	sentToAll := map[string]bool{"a reasoning_content": true, "a reasoning_text": true, "reasoning in tags": true, "text after tags": true}
	calls := func(deltas ...string) string {
		var chunks []string
		for _, d := range deltas {
			chunks = append(chunks, `{"choices":[{"delta":`+d+`}]}`)
		}
		return vendortest.EventStream(append(chunks, callChunk, stopChunk)...)
	}
	for name, tt := range map[string]struct{ stream, want string }{
		"an empty reasoning_content": {calls(`{"reasoning_content":""}`, `{"reasoning_content":null}`), `"reasoning_content":""`},
		"a reasoning_content":        {calls(`{"reasoning_content":""}`, `{"reasoning_content":"Hm."}`), `"reasoning_content":"Hm."`},
		"a text and an opaque field of Copilot": {
			calls(`{"reasoning_text":"H"}`, `{"reasoning_text":"m."}`, `{"content":"","reasoning_opaque":"E=="}`), `"reasoning_text":"Hm.","reasoning_opaque":"E=="`,
		},
		"an opaque field alone": {calls(`{"reasoning_opaque":"E=="}`), `"reasoning_opaque":"E=="`},
		"a reasoning_text":      {calls(`{"reasoning_text":"Hm."}`), `"reasoning_text":"Hm."`},
		"reasoning in tags":     {calls(`{"content":"<think>Hm.</think>"}`), `"content":"<think>Hm.</think>"`},
		"text after tags":       {calls(`{"content":"<think>Hm.</think>\nhi"}`), `"content":"<think>Hm.</think>\n\nhi"`},
		"details": {
			calls(`{"reasoning_details":[{"type":"reasoning.text","text":"H","index":0}]}`, `{"reasoning_details":[{"type":"reasoning.text","text":"m.","index":0,"signature":null}]}`,
				`{"reasoning_details":[{"type":"reasoning.text","signature":"S","index":0},{"type":"reasoning.encrypted","data":"E","index":1}]}`),
			`"reasoning_details":[{"index":0,"signature":"S","text":"Hm.","type":"reasoning.text"},{"type":"reasoning.encrypted","data":"E","index":1}]`,
		},
		"fields of LiteLLM": {
			calls(`{"provider_specific_fields":{"thought_signatures":["a"]}}`, `{"provider_specific_fields":{"thought_signatures":["b"]}}`, `{"provider_specific_fields":null}`),
			`"provider_specific_fields":{"thought_signatures":["a","b"]}`,
		},
		"blocks of LiteLLM": {
			calls(`{"thinking_blocks":[{"type":"thinking","thinking":"H"}]}`, `{"thinking_blocks":[{"type":"thinking","thinking":"m.","signature":"S"}]}`),
			`"thinking_blocks":[{"signature":"S","thinking":"Hm.","type":"thinking"}]`,
		},
		"fields of a call": {
			vendortest.EventStream(`{"choices":[{"delta":{"tool_calls":[{"id":"a1","provider_specific_fields":{"s":1},"extra_content":{"g":2},"function":{"name":"weather","arguments":"{\"city\":\"Paris\"}"}}]}}]}`, stopChunk),
			`"extra_content":{"g":2},"provider_specific_fields":{"s":1}`,
		},
		"a field in the last piece of a call": {
			vendortest.EventStream(callChunk, `{"choices":[{"delta":{"tool_calls":[{"index":0,"provider_specific_fields":{"s":1}}]}}]}`, stopChunk),
			`"provider_specific_fields":{"s":1}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			events, failure := vendortest.Ask(t, vendors[ChatCompletions].Replay(t, strings.NewReader(tt.stream)), hello())
			if failure != nil {
				t.Fatal(failure)
			}
			req := hello()
			req.Messages = append(req.Messages, vendortest.Assemble(t, events).Message(), model.Message{Role: model.RoleTool, Parts: []model.Part{
				{Type: model.PartToolResult, ToolResult: &model.ToolResult{CallID: "a1", Content: []model.Part{model.Text("Sun.")}}},
			}})
			same, err := encodeChat(req, concessions{}, peer{provider: vendortest.Provider})
			if err != nil || !strings.Contains(string(same), tt.want) {
				t.Errorf("the provider gets %s, want %s (%v)", same, tt.want, err)
			}
			other, err := encodeChat(req, concessions{}, peer{provider: "other"})
			if err != nil || !sentToAll[name] && strings.Contains(string(other), tt.want) {
				t.Errorf("another provider gets %s (%v)", other, err)
			}
		})
	}
}

// TestDeepFieldsAreJoinedQuickly joins pieces whose merge at every level would take minutes.
func TestDeepFieldsAreJoinedQuickly(t *testing.T) {
	nested := func(depth int, value string) json.RawMessage {
		return json.RawMessage(strings.Repeat(`{"a":`, depth) + value + strings.Repeat("}", depth))
	}
	for _, tt := range []struct {
		depth  int
		merged bool
	}{{maxMergeDepth - 1, true}, {9000, false}} {
		var p fieldPieces
		p.add(nested(tt.depth, `{"b":1}`))
		p.add(nested(tt.depth, `{"c":"`+strings.Repeat("x", 400<<10)+`"}`))
		if joined := string(p.join()); strings.Contains(joined, `"b"`) != tt.merged || !strings.Contains(joined, `"c"`) {
			t.Errorf("pieces of depth %d: merged is not %t", tt.depth, tt.merged)
		}
	}
}

func TestExtraContentOfEarlierVersionsGoesBack(t *testing.T) {
	got := fieldsOfCall(&model.ToolCall{Extra: json.RawMessage(`{"google":{"thought_signature":"S"}}`)}, "any")
	if string(got.ExtraContent) != `{"google":{"thought_signature":"S"}}` {
		t.Errorf("extra_content is %s", got.ExtraContent)
	}
}

// TestIDsOfCallsFitTheServer checks that a call and its result share an ID that the server accepts.
func TestIDsOfCallsFitTheServer(t *testing.T) {
	long := "call_0123456789012345678901234567890123456789012345678901234567890123456789"
	for _, tt := range []struct {
		config  Config
		id, fit string
	}{
		{Config{API: ChatCompletions}, long, ""},
		{Config{API: ChatCompletions}, "call_1", "call_1"},
		{Config{}, long, ""},
		{Config{}, long[:64], long[:64]},
		{Config{Dialect: "mistral"}, "call_1", ""},
		{Config{Dialect: "mistral"}, "aB3456789", "aB3456789"},
		{Config{Dialect: "ollama"}, long, long},
		{Config{API: ChatCompletions, BaseURL: "http://localhost:4000/v1"}, long, long},
	} {
		req := hello()
		req.Messages = append(req.Messages, model.Message{Role: model.RoleAssistant, Parts: []model.Part{vendortest.ToolCall(tt.id, "weather", paris)}},
			model.Message{Role: model.RoleTool, Parts: []model.Part{{Type: model.PartToolResult, ToolResult: &model.ToolResult{CallID: tt.id, Content: []model.Part{model.Text("Sun.")}}}}})
		e := offline(t, tt.config, nil)
		body, err := e.encodeRequest(req, concessions{})
		if err != nil {
			t.Fatal(err)
		}
		want := tt.fit
		if tt.fit != tt.id {
			want = e.ids.fitID(tt.id)
			if want == tt.id || len(want) > e.ids.most || e.ids.exact && (len(want) != 9 || !isAlphanumeric(want)) {
				t.Errorf("%+v: %s becomes %s", tt.config, tt.id, want)
			}
		}
		if n := strings.Count(string(body), `"`+want+`"`); n != 2 {
			t.Errorf("%+v: the ID %s is sent %d times: %s", tt.config, want, n, body)
		}
	}
}

// TestOddStreamsOfResponsesAreRead is TestOddStreamsOfChatCompletionsAreRead for Responses.
func TestOddStreamsOfResponsesAreRead(t *testing.T) {
	const (
		added    = `{"type":"response.output_item.added","output_index":0,"item":{"type":"function_call","id":"fc1","call_id":"a1","name":"weather"}}`
		begin    = `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"city\":"}`
		hi       = `{"type":"response.output_text.delta","output_index":0,"delta":"hi"}`
		complete = `{"type":"response.completed","response":{}}`
	)
	ended := func(output string) string {
		return `{"type":"response.completed","response":{"output":` + output + `}}`
	}
	thoughts := textRecording("a summary that is text", vendortest.EventStream(ended(`[{"type":"reasoning","summary":"Hm."},{"type":"message","content":[{"type":"output_text","text":"hi"}]}]`)), "hi")
	thoughts.Parts = append([]model.Part{vendortest.Reasoning("Hm.", "", "")}, thoughts.Parts...)
	vendors[Responses].CheckStreams(t, []vendortest.Recording{
		textRecording("a message without its type", vendortest.EventStream(ended(`[{"role":"assistant","content":[{"type":"output_text","text":"hi"}]}]`)), "hi"),
		callsParis("a call without its type", vendortest.EventStream(ended(`[{"call_id":"a1","name":"weather","arguments":"{\"city\":\"Paris\"}"}]`))),
		callsParis("a call of another type", vendortest.EventStream(`{"type":"response.output_item.done","output_index":0,"item":{"type":"tool_call","call_id":"a1","name":"weather","arguments":"{\"city\":\"Paris\"}"}}`, complete)),
		thoughts,
		textRecording("only complete texts", vendortest.EventStream(`{"type":"response.output_text.done","output_index":0,"text":"h"}`, `{"type":"response.content_part.done","output_index":0,"part":{"type":"output_text","text":"hi"}}`,
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"type":"output_text","text":"hi"}]}}`, complete), "hi"),
		textRecording("complete texts after their pieces", vendortest.EventStream(hi, `{"type":"response.output_text.done","output_index":0,"text":"hi"}`, `{"type":"response.content_part.done","output_index":0,"part":{"text":"hi"}}`, complete), "hi"),
		textRecording("a complete refusal", vendortest.EventStream(`{"type":"response.refusal.done","output_index":0,"refusal":"hi"}`, complete), "hi"),
		textRecording("a complete text that is null", vendortest.EventStream(hi, `{"type":"response.content_part.done","part":null}`, `{"type":"response.output_text.done","text":null}`, complete), "hi"),
		{Name: "an answer that completes with an error", Stream: vendortest.EventStream(hi, `{"type":"response.completed","response":{"status":"failed","error":{"code":"rate_limit_exceeded","message":"slow down"}}}`),
			Parts: []model.Part{model.Text("hi")}, Class: model.RateLimited, Message: "slow down"},
		{Name: "an answer that completes as failed", Stream: vendortest.EventStream(hi, `{"type":"response.completed","response":{"status":"failed"}}`),
			Parts: []model.Part{model.Text("hi")}, Class: model.Provider, Message: "the answer is failed"},
		{Name: "an answer that completes as incomplete", Stream: vendortest.EventStream(hi, `{"type":"response.completed","response":{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"}}}`),
			Parts: []model.Part{model.Text("hi")}, Reason: model.FinishMaxTokens},
		{Name: "the chunks of Chat Completions", Stream: vendortest.EventStream(`{"object":"chat.completion.chunk"}`, "[DONE]"), Class: model.StreamInterrupted, Message: `the server sent "{\"object\"`},
		{Name: "an event response.error", Stream: vendortest.EventStream(`{"type":"response.error","error":{"message":"no memory"}}`), Class: model.Provider, Message: "no memory"},
		textRecording("content that is text", vendortest.EventStream(ended(`[{"type":"message","content":"hi"}]`)), "hi"),
		textRecording("content of texts", vendortest.EventStream(ended(`[{"type":"message","content":["h",{"text":"i"},null]}]`)), "hi"),
		textRecording("output that is an object", vendortest.EventStream(ended(`{"type":"message","content":"hi"}`)), "hi"),
		textRecording("odd summaries", vendortest.EventStream(ended(`[null,{"type":"reasoning","summary":null},{"type":"reasoning","summary":[null,1]},{"type":"message","content":"hi"}]`)), "hi"),
		textRecording("the mark instead of the last event", vendortest.EventStream(hi, "[DONE]"), "hi"),
		textRecording("done instead of completed", vendortest.EventStream(hi, `{"type":"response.done","response":{}}`), "hi"),
		textRecording("a document without its kind", `{"id":"r1","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}]}`, "hi"),
		textRecording("text that was cut off", vendortest.EventStream(`{"type":"response.output_text.delta","output_index":0,"delta":"Gr"}`, `{"type":"response.output_text.delta","output_index":0,"delta":"üß"}`,
			ended(`[{"type":"message","content":[{"type":"output_text","text":"Grüß Gott"}]}]`)), "Grüß Gott"),
		textRecording("text that the item completes", vendortest.EventStream(hi, `{"type":"response.output_item.done","output_index":0,"item":{"type":"message","content":[{"text":"hi you"}]}}`, complete), "hi you"),
		textRecording("text at another place", vendortest.EventStream(hi, ended(`[{"type":"reasoning","summary":[]},{"type":"message","content":[{"type":"output_text","text":"hi"}]}]`)), "hi"),
		textRecording("text that differs", vendortest.EventStream(hi, ended(`[{"type":"message","content":"ho"}]`)), "hi"),
		textRecording("odd errors", vendortest.EventStream(`{"type":"response.created","response":{"error":""}}`, hi, `{"type":"response.completed","response":{"error":{},"usage":[],"incomplete_details":""}}`), "hi"),
		textRecording("a delta in an object", vendortest.EventStream(`{"type":"response.output_text.delta","delta":{"text":"hi"}}`, complete), "hi"),
		textRecording("single line ends", "event: response.output_text.delta\ndata: "+hi+"\nevent: response.completed\ndata: "+complete+"\n", "hi"),
		callsParis("arguments at an unknown place", vendortest.EventStream(added, begin, `{"type":"response.function_call_arguments.delta","output_index":7,"delta":"\"Paris\"}"}`, complete)),
		callsParis("arguments by the ID of the item", vendortest.EventStream(added, `{"type":"response.function_call_arguments.delta","output_index":3,"item_id":"fc1","delta":"{\"city\":\"Paris\"}"}`, complete)),
		callsParis("arguments that are an object", vendortest.EventStream(added, `{"type":"response.function_call_arguments.delta","output_index":0,"delta":{"city":"Paris"}}`, complete)),
		callsParis("a call and the mark", vendortest.EventStream(added, begin, `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"\"Paris\"}"}`, "[DONE]")),
		callsParis("ids of other types", vendortest.EventStream(`{"type":"response.output_item.added","output_index":"0","item":{"type":"function_call","id":7,"call_id":"a1","name":"weather","arguments":null,"summary":"","content":""}}`,
			`{"type":"response.function_call_arguments.done","item_id":7,"output_index":null,"arguments":{"city":"Paris"}}`, complete)),
		{Name: "two calls that were not announced", Stream: vendortest.EventStream(
			`{"type":"response.output_item.done","output_index":0,"item":{"type":"function_call","call_id":"a1","name":"weather","arguments":"{\"city\":\"Paris\"}"}}`,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"a2","name":"weather","arguments":"{\"city\":\"Oslo\",\"days\":3}"}}`, complete),
			Reason: model.FinishToolCalls, Parts: []model.Part{vendortest.ToolCall("a1", "weather", paris), vendortest.ToolCall("a2", "weather", oslo)}},
		{Name: "a call beside an open one", Stream: vendortest.EventStream(added,
			`{"type":"response.output_item.done","output_index":1,"item":{"type":"function_call","call_id":"a2","name":"weather","arguments":"{\"city\":\"Oslo\",\"days\":3}"}}`,
			`{"type":"response.function_call_arguments.delta","output_index":0,"delta":"{\"city\":\"Paris\"}"}`, complete),
			Reason: model.FinishToolCalls, Parts: []model.Part{vendortest.ToolCall("a1", "weather", paris), vendortest.ToolCall("a2", "weather", oslo)}},
		{Name: "nothing but the mark", Stream: vendortest.EventStream("[DONE]"), Class: model.StreamInterrupted, Message: "ended before"},
	})
}

func TestTheTextOfAResponseAloneIsRead(t *testing.T) {
	vendors[Responses].CheckStreams(t, []vendortest.Recording{
		textRecording("a document", `{"object":"response","status":"completed","output_text":"hi"}`, "hi"),
		textRecording("an event", vendortest.EventStream(`{"type":"response.completed","response":{"status":"completed","output":[],"output_text":"hi"}}`), "hi"),
		textRecording("beside the output", vendortest.EventStream(`{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"hi"}]}],"output_text":"hi"}}`), "hi"),
	})
}

func TestNamesOfToolsAreTrimmed(t *testing.T) {
	vendors[ChatCompletions].CheckStreams(t, []vendortest.Recording{
		callsParis("a name with spaces", vendortest.EventStream(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a1","function":{"name":" weather ","arguments":"{\"city\":\"Paris\"}"}}]}}]}`, stopChunk)),
	})
}

func TestCallsAtOneIndexAreToldApart(t *testing.T) {
	piece := func(fields string) string {
		return `{"choices":[{"delta":{"tool_calls":[` + fields + `]}}]}`
	}
	for name, p := range map[string][2]string{
		"without an ID":    {`{"index":0,"function":{"name":"weather","arguments":`, `{"index":0,"function":{"name":"weather","arguments":`},
		"with an empty ID": {`{"index":0,"id":"","function":{"name":"weather","arguments":`, `{"index":0,"id":"","function":{"name":"weather","arguments":`},
		"with the same ID": {`{"index":0,"id":"a1","function":{"name":"weather","arguments":`, `{"index":0,"id":"a1","function":{"name":"weather","arguments":`},
	} {
		stream := vendortest.EventStream(piece(p[0]+`"{\"city\":\"Paris\"}"}}`), piece(p[1]+`"{\"city\":\"Oslo\",\"days\":3}"}}`), stopChunk)
		events, failure := vendortest.Ask(t, vendors[ChatCompletions].Replay(t, strings.NewReader(stream)), askWeather())
		if failure != nil {
			t.Fatal(failure)
		}
		answer := vendortest.Assemble(t, events).Message()
		calls := answer.ToolCalls()
		if len(calls) != 2 || string(calls[0].Arguments) != paris || string(calls[1].Arguments) != oslo || calls[0].ID == calls[1].ID {
			t.Errorf("%s: %+v", name, calls)
		}
	}
	vendors[ChatCompletions].CheckStreams(t, []vendortest.Recording{
		callsParis("another ID in each piece", vendortest.EventStream(piece(`{"index":0,"id":"a1","function":{"name":"weather","arguments":""}}`),
			piece(`{"index":0,"id":"a2","function":{"name":"weather","arguments":"{\"city\":"}}`), piece(`{"index":0,"id":"a3","function":{"name":"weather","arguments":"\"Paris\"}"}}`), stopChunk)),
		callsParis("the name in each piece alone", vendortest.EventStream(piece(`{"id":"a1","function":{"name":"weather","arguments":"{\"city\":"}}`),
			piece(`{"function":{"name":"weather","arguments":"\"Paris\"}"}}`), stopChunk)),
		callsParis("an ID alone", vendortest.EventStream(callChunk, piece(`{"index":1,"id":"a9","type":"function","function":{}}`), stopChunk)),
	})
}

func TestUsageIsReadInEachForm(t *testing.T) {
	const counts = `{"prompt_tokens":3,"completion_tokens":2}`
	for name, last := range map[string]string{
		"a choice":               `{"choices":[{"index":0,"delta":{},"finish_reason":"stop","usage":` + counts + `}]}`,
		"x_groq":                 `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"x_groq":{"id":"r","usage":` + counts + `}}`,
		"the names of Responses": `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"input_tokens":3,"output_tokens":2}}`,
		"empty at the end":       `{"choices":[],"usage":` + counts + `}` + "\n\ndata: " + `{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":{"prompt_tokens":0,"completion_tokens":0}}`,
	} {
		events, failure := vendortest.Ask(t, vendors[ChatCompletions].Replay(t, strings.NewReader(vendortest.EventStream(hiChunk, last))), hello())
		if failure != nil {
			t.Fatal(failure)
		}
		if got := vendortest.Assemble(t, events).Usage; got.Input != 3 || got.Output != 2 {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestMessagesAreAdaptedAfterARefusal(t *testing.T) {
	for message, want := range map[string]concessions{
		`{"error":{"message":"Invalid 'messages[2].tool_calls[0].id': string too long","code":"string_above_max_length","param":"messages[2].tool_calls[0].id"}}`: {shortIDs: true},
		`{"object":"error","message":"Tool call id was call_1 but must be a-z, A-Z, 0-9, with a length of 9.","type":"invalid_request_error"}`:                    {mistralIDs: true},
		`{"errors":[{"message":"AiError: Bad input: Error: oneOf at '/' not met: Type mismatch of '/messages/1/content', 'string' not in 'null'","code":5006}]}`:  {needsText: true}, // Cloudflare
		`{"detail":[{"type":"string_type","loc":["body","messages",1,"content"],"msg":"Input should be a valid string","input":null}]}`:                           {needsText: true},
		`{"detail":[{"loc":["body","include"],"msg":"Extra inputs are not permitted","type":"extra_forbidden"}]}`:                                                 {plainReasoning: true},
		`{"error":{"message":"Unknown parameter: 'include'.","type":"invalid_request_error"}}`:                                                                    {plainReasoning: true},
	} {
		failure, _ := offline(t, Config{API: ChatCompletions}, nil).readRefusal(http.StatusBadRequest, []byte(message))
		if got, more := (concessions{}).afterRefusal(failure, hello()); got != want || !more {
			t.Errorf("%s: conceded %+v", message, got)
		}
	}
}

func TestKindsOfErrorsAreNotRejectedFields(t *testing.T) {
	body := `{"message":"body.prompt_cache_key: property 'prompt_cache_key' is not allowed","type":"invalid_request_error","param":"validation_error"}` // Cerebras
	failure, _ := offline(t, Config{API: ChatCompletions}, nil).readRefusal(http.StatusBadRequest, []byte(body))
	if named, ok := errors.AsType[vendorhttp.FieldError](failure.Err); !ok || named.RejectedField() != "" {
		t.Errorf("%v blames a field", failure.Err)
	}
}

func TestContentIsATextWhereServersNeedOne(t *testing.T) {
	req := hello()
	req.Messages = append(req.Messages, model.Message{Role: model.RoleAssistant, Parts: []model.Part{vendortest.ToolCall("a1", "weather", paris)}})
	for needsText, want := range map[bool]string{false: `"content":null,"tool_calls"`, true: `"content":"","tool_calls"`} {
		body, err := encodeChat(req, concessions{}, peer{provider: vendortest.Provider, needsText: needsText})
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%t: %s (%v)", needsText, body, err)
		}
	}
}

func TestThoughtsInTheTextAreReasoning(t *testing.T) {
	quoted := func(pieces []string, format string) (events []string) {
		for _, piece := range pieces {
			text, _ := json.Marshal(piece)
			events = append(events, fmt.Sprintf(format, text))
		}
		return events
	}
	vendors[ChatCompletions].CheckThoughts(t, func(pieces ...string) string {
		return vendortest.EventStream(append(quoted(pieces, `{"choices":[{"index":0,"delta":{"content":%s}}]}`), stopChunk)...)
	})
	vendors[Responses].CheckThoughts(t, func(pieces ...string) string {
		return vendortest.EventStream(append(quoted(pieces, `{"type":"response.output_text.delta","output_index":0,"delta":%s}`), `{"type":"response.completed","response":{"status":"completed"}}`)...)
	})
}

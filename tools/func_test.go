package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/toolset"
	"github.com/google/go-cmp/cmp"
)

type search struct {
	Query string   `json:"query" jsonschema:"what to look for"`
	Limit int      `json:"limit,omitempty"`
	Tags  []string `json:"tags,omitzero"`
	Deep  *bool    `json:"deep,omitempty"`
}

func TestTheSchemaOfAFunctionComesFromItsType(t *testing.T) {
	for name, tt := range map[string]struct {
		tool tools.Tool
		want string
	}{
		"a struct": {&tools.Func[search, string]{Run: func(context.Context, search) (string, error) { return "", nil }}, `{
			"type": "object",
			"properties": {
				"query": {"type": "string", "description": "what to look for"},
				"limit": {"type": "integer"},
				"tags": {"type": ["null", "array"], "items": {"type": "string"}},
				"deep": {"type": ["null", "boolean"]}
			},
			"required": ["query"],
			"additionalProperties": false
		}`},
		"nothing": {&tools.Func[struct{}, string]{Run: func(context.Context, struct{}) (string, error) { return "", nil }}, `{
			"type": "object", "additionalProperties": false
		}`},
		"a map": {&tools.Func[map[string]int, string]{Run: func(context.Context, map[string]int) (string, error) { return "", nil }}, `{
			"type": "object", "additionalProperties": {"type": "integer"}
		}`},
	} {
		var want, got any
		if err := json.Unmarshal([]byte(tt.want), &want); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(compile(t, "x", tt.tool).Descriptor.Parameters, &got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestWhatAFunctionReturnsIsWhatTheModelReads(t *testing.T) {
	type pair struct {
		A int    `json:"a"`
		B string `json:"b,omitempty"`
	}
	for want, entry := range map[string]*toolset.Entry{
		"plain text":   compile(t, "x", fn(func() (string, error) { return "plain text", nil })),
		`{"a":1}`:      compile(t, "x", fn(func() (pair, error) { return pair{A: 1}, nil })),
		`[1,2]`:        compile(t, "x", fn(func() ([]int, error) { return []int{1, 2}, nil })),
		`null`:         compile(t, "x", fn(func() (*pair, error) { return nil, nil })),
		`true`:         compile(t, "x", fn(func() (bool, error) { return true, nil })),
		"":             compile(t, "x", fn(func() (string, error) { return "", nil })),
		"!not allowed": compile(t, "x", fn(func() (pair, error) { return pair{A: 1}, errors.New("not allowed") })),
		"!encode the result: json: unsupported type: chan int": compile(t, "x", fn(func() (chan int, error) { return nil, nil })),
		"!tool x panicked: oops":                               compile(t, "x", fn(func() (string, error) { panic("oops") })),
	} {
		if got := execute(t, entry, "{}"); got != want {
			t.Errorf("the model reads %q, want %q", got, want)
		}
	}
}

// fn returns a tool that takes nothing.
func fn[Out any](run func() (Out, error)) tools.Tool {
	return &tools.Func[struct{}, Out]{Run: func(context.Context, struct{}) (Out, error) { return run() }}
}

func TestProgramsReadWhatAFunctionReturnsAsJSON(t *testing.T) {
	e := compile(t, "x", fn(func() ([]int, error) { return []int{1}, nil }))
	r := e.Execute(t.Context(), &tools.Call{Arguments: json.RawMessage("{}")})
	if string(r.Data) != "[1]" {
		t.Errorf("the data is %s", r.Data)
	}
}

func TestTheArgumentsOfAFunctionAreChecked(t *testing.T) {
	e := compile(t, "find", &tools.Func[search, string]{Run: func(_ context.Context, in search) (string, error) {
		return fmt.Sprint(in.Query, in.Limit, in.Tags, in.Deep != nil && *in.Deep), nil
	}})
	for args, want := range map[string]string{
		`{"query":"go"}`: "go0 [] false",
		`{"query":"go","limit":3,"tags":["a"],"deep":true}`: "go3 [a] true",
		`{"query":"go","tags":null,"deep":null}`:            "go0 [] false",
		`{}`:                                                `!tool_input_invalid: "query" is required`,
		`{"query":7}`:                                       "!tool_input_invalid: query: it is a number, but must be a string",
		`{"query":"go","limit":1.5}`:                        "!tool_input_invalid: limit: it is a number, but must be an integer",
		`{"query":"go","limit":"3"}`:                        "!tool_input_invalid: limit: it is a string, but must be an integer",
		`{"query":"go","page":1}`:                           `!tool_input_invalid: page: "page" is not a known key`,
		`{"query":"go"`:                                     "!tool_input_invalid: the arguments are not a JSON object: unexpected EOF",
		`{"query":"go","limit":1e99}`:                       "!tool_input_invalid: limit: must not be a JSON number 1e99",
		`{"query":"go","Query":"other"}`:                    `!tool_input_invalid: Query: "Query" is not a known key`,
	} {
		if got := execute(t, e, args); !strings.HasPrefix(got, want) {
			t.Errorf("%s: the model reads %q, want %q", args, got, want)
		}
	}
}

func TestAFunctionThatIsPutTogetherWrongly(t *testing.T) {
	for want, check := range map[string]tools.Checker{
		"its function is nil: set Run": &tools.Func[search, string]{},
		"its arguments have no JSON Schema: For[chan int](): type chan int is unsupported by jsonschema": &tools.Func[chan int, string]{
			Run: func(context.Context, chan int) (string, error) { return "", nil },
		},
	} {
		if err := check.Check(); err == nil || err.Error() != want {
			t.Errorf("the error is %v, want %s", err, want)
		}
	}
}

func TestAFunctionIsDescribedAsItSays(t *testing.T) {
	f := &tools.Func[struct{}, string]{
		Description: "Does it.", Effect: tools.Idempotent, Timeout: time.Second, Serial: true,
		Run: func(context.Context, struct{}) (string, error) { return "", nil },
	}
	d := compile(t, "x", f).Descriptor
	if d.Description != "Does it." || d.Effect != tools.Idempotent || d.Limit() != time.Second || !d.Serial {
		t.Errorf("the descriptor is %+v", d)
	}
	if d := (&tools.Descriptor{}); d.Limit() != tools.DefaultTimeout {
		t.Errorf("the default limit is %s", d.Limit())
	}
}

func ExampleFunc() {
	type place struct {
		City string `json:"city" jsonschema:"where to look"`
	}
	weather := &tools.Func[place, string]{
		Description: "Tells the weather of a city.",
		Effect:      tools.Read,
		Run:         func(_ context.Context, in place) (string, error) { return "sunny in " + in.City, nil },
	}
	fmt.Println(string(weather.Descriptor().Parameters))

	result, err := weather.Call(context.Background(), &tools.Call{Arguments: json.RawMessage(`{"city":"Paris"}`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(result.Content[0].Text)
	// Output:
	// {"type":"object","properties":{"city":{"type":"string","description":"where to look"}},"required":["city"],"additionalProperties":false}
	// sunny in Paris
}

// open is a tool that takes whatever its Go type takes: encoding/json fills a
// field from a key in any case.
type open struct{ got *int }

func (open) Descriptor() tools.Descriptor {
	return tools.Descriptor{Parameters: json.RawMessage(`{"type":"object","properties":{"amount":{"type":"integer"}}}`)}
}

func (o open) Call(_ context.Context, call *tools.Call) (tools.Result, error) {
	var in struct {
		Amount int `json:"amount"`
	}
	if err := json.Unmarshal(call.Arguments, &in); err != nil {
		return tools.Result{}, err
	}
	*o.got = in.Amount
	return tools.TextResult("paid"), nil
}

func TestAmbiguousArgumentsReachNoTool(t *testing.T) {
	for args, want := range map[string]string{
		`{"amount":5}`:                   "paid",
		`{"amount":5,"AMOUNT":5000}`:     `!tool_input_invalid: the arguments are ambiguous: the keys "amount" and "AMOUNT" differ only in case`,
		`{"amount":5,"amount":5000}`:     `!tool_input_invalid: the arguments are ambiguous: the key "amount" is there twice`,
		`{"amount":5,"x":{"a":1,"A":2}}`: `!tool_input_invalid: the arguments are ambiguous: the keys "a" and "A" differ only in case`,
	} {
		var got int
		if text := execute(t, compile(t, "pay", open{&got}), args); text != want || got != 0 && got != 5 {
			t.Errorf("%s: the model reads %q, and %d was paid", args, text, got)
		}
	}
}

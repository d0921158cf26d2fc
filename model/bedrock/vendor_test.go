package bedrock

import (
	"bytes"
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/aws/aws-sdk-go-v2/aws/protocol/eventstream"
)

const (
	// testKey is the key accepted by the test vendor.
	testKey   = "ABSKQmVkcm9ja0FQSUtleS0wMTIzNDU2Nzg5"
	testModel = "us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	testPath  = "/model/us.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream"
)

var recordings = []vendortest.Recording{
	{Name: "text", Reason: model.FinishStop, Usage: &model.Usage{Input: 36, Output: 11},
		Parts: []model.Part{model.Text("Grüß Gott, \"Welt\"\n👋")}},
	{Name: "calls", Reason: model.FinishToolCalls, Usage: &model.Usage{Input: 300, Output: 80, CacheRead: 256, CacheWrite: 32},
		Parts: []model.Part{model.Text("Looking."), vendortest.ToolCall("tooluse_paris", "weather", `{"city":"Paris"}`),
			vendortest.ToolCall("tooluse_oslo", "weather", `{"city":"Oslo"}`), vendortest.ToolCall("tooluse_now", "now", `{}`)}},
	{Name: "reasoning", Reason: model.FinishStop, Usage: &model.Usage{Input: 10, Output: 40},
		Parts: []model.Part{vendortest.Reasoning("Compare", "thinking:EqoBsig==", ""), vendortest.Reasoning("", "bedrock_redacted:c2VjcmV0", ""), model.Text("Both.")}},
	{Name: "max_tokens", Reason: model.FinishMaxTokens, Usage: &model.Usage{Input: 20, Output: 16},
		Parts: []model.Part{model.Text("Once"), vendortest.ToolCall("tooluse_a", "weather", `{"ci`)}},
	{Name: "guardrail", Reason: model.FinishContentFilter, Usage: &model.Usage{Input: 20, Output: 16},
		Parts: []model.Part{model.Text("Sorry")}},
	{Name: "no_metadata", Reason: model.FinishStop, Parts: []model.Part{model.Text("Hi")}},
	{Name: "unknown", Reason: model.FinishStop, Usage: &model.Usage{Input: 3, Output: 1}, Parts: []model.Part{model.Text("Hi")}},
	{Name: "malformed", Class: model.Provider, Message: "malformed_tool_use"},
	{Name: "throttled", Class: model.RateLimited, Message: "throttlingException: Too many tokens", Parts: []model.Part{model.Text("Hi")}},
	{Name: "stream_error", Class: model.StreamInterrupted, Message: "modelStreamErrorException: The model broke off", Parts: []model.Part{model.Text("Hi")}},
}

// vendor describes Bedrock for the common vendor suite.
var vendor = &vendortest.Vendor{
	Kind: Kind(), Type: "bedrock",
	Settings: map[string]any{"region": "us-east-1"},
	New: func(access vendortest.Access, transport http.RoundTripper) (model.Executor, error) {
		return newExecutor(model.Settings{ID: vendortest.Provider},
			&Config{Region: "us-east-1", APIKey: access.APIKey, BaseURL: access.BaseURL, Headers: access.Headers}, transports{transport, transport})
	},
	Key: testKey, MaskedKey: "ABSK********************abcd", KeyHeader: "Authorization", KeyPrefix: "Bearer ",
	Headers:   map[string]string{"Accept": "application/vnd.amazon.eventstream"},
	Path:      "/model/us.anthropic.claude-sonnet-4-5-20250929-v1:0/converse-stream",
	CheckBody: func(t testing.TB, body []byte) { checkBody(t, body) },
	URLs: map[string]string{
		"":                      "https://bedrock-runtime.us-east-1.amazonaws.com" + testPath,
		"http://localhost:1":    "http://localhost:1" + testPath,
		"http://localhost:1/a/": "http://localhost:1/a" + testPath,
	},
	Environment: map[string]string{
		"AWS_BEARER_TOKEN_BEDROCK": "environment", "AWS_ACCESS_KEY_ID": "environment", "AWS_SECRET_ACCESS_KEY": "environment",
		"AWS_REGION": "environment", "AWS_ENDPOINT_URL": "http://127.0.0.1:1/environment",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1/environment",
	},
	Model: testModel, Conversation: func() *model.Request { return vendortest.FullConversation(testModel) },
	Folder: "testdata", Calls: "calls", Recordings: recordings,
	Patience: 100 * time.Millisecond,
	Encode:   encodeEvent,
	Endless: func() []io.Reader {
		return []io.Reader{io.MultiReader(bytes.NewReader([]byte{0x7f, 0xff, 0xff, 0xff, 0, 0, 0, 16}), endless{})}
	},
	Refusal:     `{"message":%q}`,
	StreamError: "event: exception:validationException\ndata: {\"message\":%q}\n\n",
}

func TestVendor(t *testing.T) { vendortest.Run(t, vendor) }

// endless is a reader that never ends.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// encodeEvent frames a server-sent event like the vendor.
func encodeEvent(event []byte) []byte {
	var m eventstream.Message
	add := func(name, value string) { m.Headers.Set(name, eventstream.StringValue(value)) }
	name, data, ok := strings.Cut(string(event), "\ndata: ")
	if !ok {
		return nil
	}
	name = strings.TrimPrefix(name, "event: ")
	if exception, ok := strings.CutPrefix(name, exceptionMark); ok {
		add(":exception-type", exception)
		add(":message-type", "exception")
	} else {
		add(":event-type", name)
		add(":message-type", "event")
	}
	add(":content-type", "application/json")
	m.Payload = []byte(strings.TrimSpace(data))
	var out bytes.Buffer
	if err := eventstream.NewEncoder().Encode(&out, m); err != nil {
		panic(err)
	}
	return out.Bytes()
}

// vendorBody holds the fields of a request.
type vendorBody struct {
	Messages        []json.RawMessage `json:"messages"`
	System          []json.RawMessage `json:"system"`
	InferenceConfig *struct {
		MaxTokens         int
		Temperature, TopP float64
		StopSequences     []string
	} `json:"inferenceConfig"`
	ToolConfig *struct {
		Tools      []json.RawMessage
		ToolChoice json.RawMessage
	} `json:"toolConfig"`
	OutputConfig *struct {
		Effort     string
		TextFormat json.RawMessage
	} `json:"outputConfig"`
	AdditionalModelRequestFields map[string]any `json:"additionalModelRequestFields"`
}

// checkBody checks the body of a request: it has no unknown fields, its messages are valid for the
// SDK, and the vendor accepts the conversation.
func checkBody(t testing.TB, body []byte) *vendorBody {
	t.Helper()
	v := &vendorBody{}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		t.Errorf("the body has other fields: %v\n%s", err, body)
		return v
	}
	checkMessages(t, v.Messages)
	var messages []messageParam
	if err := json.Unmarshal([]byte(vendortest.JSON(t, v.Messages)), &messages); err != nil {
		t.Fatal(err)
	}
	calls := 0
	names := map[string]bool{}
	for i, m := range messages {
		want := roleUser
		if i%2 == 1 {
			want = roleAssistant
		}
		results := 0
		for j, b := range m.Content {
			if b.ToolResult != nil {
				results++
			}
			if d := b.Document; d != nil {
				if names[d.Name] {
					t.Errorf("two documents are called %s", d.Name)
				}
				names[d.Name] = true
			}
			if b.CachePoint != nil && (m.Role != roleUser || j != len(m.Content)-1) {
				t.Errorf("block %d of message %d marks a cache", j, i)
			}
		}
		if m.Role != want || len(m.Content) == 0 || results != calls {
			t.Errorf("message %d is of the %s, with %d blocks and %d results of %d calls", i, m.Role, len(m.Content), results, calls)
		}
		calls = 0
		for _, b := range m.Content {
			if b.ToolUse != nil {
				calls++
			}
		}
	}
	if calls > 0 || v.ToolConfig == nil && strings.Contains(string(body), `"toolUse"`) {
		t.Errorf("%d calls are not answered, or no tool is declared: %s", calls, body)
	}
	return v
}

// offline returns an executor whose requests are all answered by answer.
func offline(t testing.TB, c Config, answer vendortest.RoundTrip) *executor {
	t.Helper()
	c.Region = cmp.Or(c.Region, "us-east-1")
	e, err := newExecutor(model.Settings{ID: vendortest.Provider}, &c, transports{answer, answer})
	if err != nil {
		t.Fatal(err)
	}
	return e.(*executor)
}

func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		status     int
		kind, body string
		class      model.ErrorClass
		said       string
	}{
		{429, "ThrottlingException:http://internal.amazon.com/coral/", `{"message":"Too many requests"}`, model.RateLimited, "ThrottlingException: Too many requests"},
		{400, "ServiceQuotaExceededException", `{"message":"quota"}`, model.RateLimited, "ServiceQuotaExceededException: quota"},
		{503, "ServiceUnavailableException", `{"Message":"capacity"}`, model.Overloaded, "ServiceUnavailableException: capacity"},
		{429, "ModelNotReadyException", `{"message":"warming up"}`, model.Overloaded, "ModelNotReadyException"},
		{408, "ModelTimeoutException", `{"message":"slow"}`, model.Timeout, "ModelTimeoutException"},
		{424, "ModelErrorException", `{"message":"broken"}`, model.Provider, "ModelErrorException"},
		{404, "ResourceNotFoundException", `{"message":"no model"}`, model.ModelNotFound, "ResourceNotFoundException"},
		{403, "AccessDeniedException", `{"message":"no access"}`, model.Unauthorized, "AccessDeniedException: no access"},
		{403, "", `{"__type":"com.amazon.coral.service#ExpiredTokenException","message":"expired"}`, model.Unauthorized, "ExpiredTokenException: expired"},
		{400, "ValidationException", `{"message":"Input is too long for requested model."}`, model.ContextOverflow, "too long"},
		{400, "ValidationException", `{"message":"The provided model identifier is invalid."}`, model.ModelNotFound, "identifier"},
		{400, "ValidationException", `{"message":"1 validation error"}`, model.InvalidRequest, "ValidationException"},
		{500, "", `<html>`, model.Provider, "Internal Server Error"},
	} {
		e := offline(t, Config{APIKey: testKey}, func(r *http.Request) (*http.Response, error) {
			res := vendortest.StreamResponse(r, strings.NewReader(tt.body))
			res.StatusCode = tt.status
			res.Header = http.Header{"Content-Type": {"application/json"}, "X-Amzn-Errortype": {tt.kind}}
			return res, nil
		})
		_, failure := vendortest.Ask(t, e, vendortest.Hello(testModel))
		if failure == nil || failure.Class != tt.class || !strings.Contains(failure.Message, tt.said) || failure.Status != tt.status {
			t.Errorf("%d %s %s gives %v, want %s: %s", tt.status, tt.kind, tt.body, failure, tt.class, tt.said)
		}
	}
}

// TestConcessions checks which features are omitted after a model rejected them, and that this is
// remembered.
func TestConcessions(t *testing.T) {
	for _, tt := range []struct {
		name, model, marker, path string
		status                    int
		said                      string
		change                    func(*model.Request)
	}{
		{"a budget", testModel, `"budget_tokens"`, "", 400, "thinking.type.enabled is not supported for this model, use adaptive", nil},
		{"marks of tools", "arn:aws:bedrock:us-east-1:1:application-inference-profile/x", `}}}},{"cachePoint"`, "", 400, "Malformed input request: #/toolConfig/tools/0: extraneous key [cachePoint] is not permitted", nil},
		{"all marks", testModel, `"cachePoint"`, "", 403, "You invoked an unsupported model or your request did not allow prompt caching", nil},
		{"streams", testModel, ``, "/converse-stream", 400, "This model doesn't support tool use in streaming mode.", nil},
		{"the form", testModel, `"outputConfig"`, "", 400, "output_config.format: Extra inputs are not permitted; structured output", func(r *model.Request) {
			r.Output = outputOf(`{"type":"object","properties":{"a":{"type":"string"}}}`)
		}},
		{"a choice", testModel, `"toolChoice"`, "", 400, "toolChoice.any is not supported by this model", func(r *model.Request) { r.ToolChoice.Mode = model.ToolsRequired }},
		{"both samplings", "mistral.large", `"topP"`, "", 400, "temperature and top_p cannot both be specified", nil},
		{"samplings", "mistral.large", `"temperature"`, "", 400, "temperature is deprecated for this model", nil},
		{"effort", "openai.gpt-oss-120b-1:0", `"reasoning_effort"`, "", 400, "reasoning_effort is unknown", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			asked := 0
			e := offline(t, Config{APIKey: testKey}, func(r *http.Request) (*http.Response, error) {
				asked++
				body, _ := io.ReadAll(r.Body)
				checkBody(t, body)
				if strings.Contains(string(body), tt.marker) && strings.HasSuffix(r.URL.Path, tt.path) {
					res := vendortest.StreamResponse(r, strings.NewReader(`{"message":`+vendortest.JSON(t, tt.said)+`}`))
					res.StatusCode = tt.status
					res.Header = http.Header{"Content-Type": {"application/json"}, "X-Amzn-Errortype": {"ValidationException"}}
					return res, nil
				}
				if tt.path != "" {
					return vendortest.StreamResponse(r, strings.NewReader(wholeText)), nil
				}
				return vendortest.StreamResponse(r, bytes.NewReader(vendor.Recorded(t, "text"))), nil
			})
			req := vendortest.FullConversation(tt.model)
			req.Messages[2] = model.Message{Role: model.RoleAssistant, Parts: append([]model.Part{vendortest.Reasoning("Think.", "thinking:sig", "")}, req.Messages[2].Parts[1:]...)}
			if tt.change != nil {
				tt.change(req)
			}
			for i, want := range []int{2, 1} {
				asked = 0
				if _, failure := vendortest.Ask(t, e, req); failure != nil || asked != want {
					t.Errorf("call %d: asked %d times, then %v; want %d times", i, asked, failure, want)
				}
			}
		})
	}
}

const wholeText = `{"metrics":{"latencyMs":1},"output":{"message":{"role":"assistant","content":[
	{"reasoningContent":{"reasoningText":{"text":"Hm","signature":"sig"}}},{"text":"Hello"},{"toolUse":{"toolUseId":"t1","name":"now","input":{"a":1}}}]}},
	"stopReason":"tool_use","usage":{"inputTokens":5,"outputTokens":7,"totalTokens":12}}`

func TestAnAnswerThatIsNotStreamed(t *testing.T) {
	events, failure := vendortest.Ask(t, vendor.Replay(t, strings.NewReader(wholeText)), vendortest.Hello(testModel))
	if failure != nil {
		t.Fatal(failure)
	}
	answer := vendortest.Assemble(t, events)
	want := vendortest.JSON(t, model.Message{Role: model.RoleAssistant, Parts: []model.Part{
		vendortest.Reasoning("Hm", "thinking:sig", ""), model.Text("Hello"), vendortest.ToolCall("t1", "now", `{"a":1}`),
	}})
	if got := vendortest.JSON(t, answer.Message()); got != want || answer.Reason != model.FinishToolCalls || answer.Usage.Input != 5 {
		t.Errorf("the answer is %s, %s, %+v", got, answer.Reason, answer.Usage)
	}
}

func TestDamagedStreams(t *testing.T) {
	whole := vendor.Recorded(t, "text")
	damaged := bytes.Clone(whole)
	damaged[len(damaged)/2] ^= 1
	for name, stream := range map[string][]byte{
		"a flipped bit": damaged, "a short message": {0, 0, 0, 3, 0, 0, 0, 0}, "long headers": {0, 0, 0, 20, 0, 0, 1, 0, 1, 2, 3, 4},
	} {
		_, failure := vendortest.Ask(t, vendor.Replay(t, bytes.NewReader(stream)), vendortest.Hello(testModel))
		if failure == nil || failure.Class != model.Provider || !strings.Contains(failure.Message, "malformed") {
			t.Errorf("%s gives %v", name, failure)
		}
	}
}

// TestNestedMessagesAreBounded reads a message in others: the innermost of a few, and no answer in many.
func TestNestedMessagesAreBounded(t *testing.T) {
	for depth, want := range map[int]bool{1: true, 2: true, 9000: false} {
		event := strings.Repeat(`{"message":`, depth) + `{"contentBlockDelta":{"delta":{"text":"x"}}}` + strings.Repeat("}", depth)
		events, _ := vendortest.Ask(t, vendor.Replay(t, strings.NewReader("data: "+event+"\n\n")), vendortest.Hello(testModel))
		isText := func(ev model.Event) bool { return ev.Type == model.EventText }
		if got := slices.ContainsFunc(events, isText); got != want {
			t.Errorf("%d messages: text is read: %t, want %t", depth, got, want)
		}
	}
}

// FuzzStream feeds arbitrary stream bytes to the decoder and the translator. Whatever a server
// sends, there is no panic, the events are in order, and the answer ends once. Frame adds correct
// lengths and checksums.
func FuzzStream(f *testing.F) {
	for _, r := range recordings {
		f.Add(false, vendor.Recorded(f, r.Name))
	}
	f.Add(true, []byte("event: contentBlockDelta\ndata: {\"delta\":{\"text\":\"x\"}}\n\n"))
	f.Add(true, []byte(wholeText))
	f.Fuzz(func(t *testing.T, frame bool, stream []byte) {
		if frame {
			stream = encodeEvent(stream)
		}
		vendortest.Ask(t, vendor.Replay(t, bytes.NewReader(stream)), vendortest.Hello(testModel))
	})
}

func outputOf(schema string) *spec.OutputSchema {
	return &spec.OutputSchema{Schema: json.RawMessage(schema)}
}

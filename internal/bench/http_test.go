//go:build unix && !race

package bench

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/openai"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

// These benchmarks call a server that speaks Chat Completions. It is a separate process, so that
// this process's CPU time is the cost of the client; wall-clock time is not meaningful, because
// both share the machine. Each benchmark has a floor for comparison: a minimal client on net/http
// and encoding/json.

// serverVariable tells the test binary that it was started as the server.
const serverVariable = "AGENTRUNTIME_BENCH_SERVER"

// maxTurnOverFloor and maxChunkCPU limit the cost of a turn of two calls relative to the floor, and
// of a chunk of a streamed answer.
const (
	maxTurnOverFloor = 2.0
	maxChunkCPU      = 20 * time.Microsecond
)

// streamChunks is the length of the long answer.
const streamChunks = 200

// TestHTTPServer is the server. It does nothing unless it was started as one.
func TestHTTPServer(t *testing.T) {
	if os.Getenv(serverVariable) == "" {
		t.Skip("only started by the benchmarks")
	}
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprintf(os.Stderr, "%s\n", listener.Addr())
	server := &http.Server{Handler: chatServer(), ReadHeaderTimeout: time.Minute}
	done := make(chan error, 1)
	go func() { done <- server.Serve(listener) }()
	_, _ = io.Copy(io.Discard, os.Stdin) // ends when the benchmark does
	_ = server.Close()
	<-done
}

// chatServer requests a tool call and answers once it has the result. The requested model name is
// the number of chunks in the answer.
func chatServer() http.Handler {
	chunk := func(delta, finish string) []byte {
		return fmt.Appendf(nil, `data: {"id":"chatcmpl-9x","object":"chat.completion.chunk","created":1760000000,"model":"replay",`+
			`"system_fingerprint":"fp_1","choices":[{"index":0,"delta":%s,"logprobs":null,"finish_reason":%s}],"usage":null}`+"\n\n", delta, finish)
	}
	end := []byte(`data: {"id":"chatcmpl-9x","object":"chat.completion.chunk","created":1760000000,"model":"replay","choices":[],` +
		`"usage":{"prompt_tokens":900,"completion_tokens":20,"total_tokens":920,"prompt_tokens_details":{"cached_tokens":0}}}` + "\n\ndata: [DONE]\n\n")
	call := [][]byte{
		chunk(`{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"tool_03","arguments":""}}]}`, "null"),
		chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]}`, "null"),
		chunk(`{"tool_calls":[{"index":0,"function":{"arguments":"\"Paris\"}"}}]}`, "null"),
		chunk(`{}`, `"tool_calls"`), end,
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var asked struct {
			Model string `json:"model"`
		}
		if err != nil || json.Unmarshal(body, &asked) != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		answer := call
		if n, err := strconv.Atoi(asked.Model); err == nil && (bytes.Contains(body, []byte(`"role":"tool"`)) || n == streamChunks) {
			answer = make([][]byte, 0, n+2)
			for i := range n {
				answer = append(answer, chunk(fmt.Sprintf(`{"content":" word%d"}`, i), "null"))
			}
			answer = append(answer, chunk(`{}`, `"stop"`), end)
		}
		w.Header().Set("Content-Type", "text/event-stream")
		flush := http.NewResponseController(w)
		for _, piece := range answer {
			_, _ = w.Write(piece)
			_ = flush.Flush()
		}
	})
}

// startServer starts the server and returns the URL of its API.
func startServer(tb testing.TB) string {
	tb.Helper()
	cmd := exec.CommandContext(tb.Context(), os.Args[0], "-test.run=^TestHTTPServer$") //nolint:gosec // the test binary itself
	cmd.Env = append(os.Environ(), serverVariable+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		tb.Fatal(err)
	}
	out, err := cmd.StderrPipe()
	if err != nil {
		tb.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	address, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		tb.Fatal(err)
	}
	return "http://" + strings.TrimSpace(address) + "/v1"
}

// cpuOf returns the CPU time of one run, the minimum of several rounds.
func cpuOf(tb testing.TB, rounds, n int, run func() error) time.Duration {
	tb.Helper()
	best := time.Duration(1<<63 - 1)
	for range rounds + 1 { // the first is a warm-up
		before := cpu(tb)
		for range n {
			if err := run(); err != nil {
				tb.Fatal(err)
			}
		}
		best = min(best, (cpu(tb)-before)/time.Duration(n))
	}
	return best
}

// searchArguments are realistic tool arguments.
type searchArguments struct {
	City     string   `json:"city" jsonschema:"The city, by its name in English, with the country where the name is not unique."`
	From     string   `json:"from,omitempty" jsonschema:"The first day to look at, as in 2025-03-01; today when it is left out."`
	Days     int      `json:"days,omitempty" jsonschema:"How many days to look at, at most 14."`
	Units    string   `json:"units,omitempty" jsonschema:"The system of units: metric or imperial."`
	Language string   `json:"language,omitempty" jsonschema:"The language of the summary, as a two-letter code."`
	Fields   []string `json:"fields,omitempty" jsonschema:"What to return of each day: temperature, rain, wind, humidity, pressure, uv."`
	Limit    int      `json:"limit,omitempty" jsonschema:"The largest number of places to return when several match."`
}

func search(_ context.Context, in searchArguments) (string, error) { return "sunny in " + in.City, nil }

const searchDescription = "Looks up the weather of a city: temperature, rain, wind and humidity, by the day. " +
	"Use it whenever the user asks about the weather, now or within the next two weeks; it knows nothing of the past."

// newHTTPRuntime returns a runtime whose agent, "assistant", uses exec and has ten tools. Its turns
// are answered in ten chunks.
func newHTTPRuntime(tb testing.TB, exec model.Executor) *runtime.AgentRuntime {
	tb.Helper()
	b := builder.New().
		WithProvider("local", exec).
		WithModel(spec.Model{ID: "default", ProviderID: "local", UpstreamModel: "10"})
	for i := range 10 {
		b.WithTool(fmt.Sprintf("tool_%02d", i), &tools.Func[searchArguments, string]{
			Description: searchDescription, Effect: tools.Read, Run: search,
		})
	}
	rt, err := b.WithAgentSpec(spec.Agent{ID: "assistant", ModelID: "default", SystemPrompt: "You are helpful."}).Build()
	if err != nil {
		tb.Fatal(err)
	}
	return rt
}

func newHTTPExecutor(tb testing.TB, base string) model.Executor {
	tb.Helper()
	exec, err := openai.New(model.Settings{ID: "local"}, &openai.Config{BaseURL: base, API: openai.ChatCompletions})
	if err != nil {
		tb.Fatal(err)
	}
	return exec
}

// bareClient is the floor.
type bareClient struct {
	url   string
	tools []bareTool
}

type bareTool struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

type bareMessage struct {
	Role       string     `json:"role"`
	Content    string     `json:"content,omitempty"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	ToolCalls  []bareCall `json:"tool_calls,omitempty"`
}

type bareCall struct {
	ID       string `json:"id"`
	Type     string `json:"type"`
	Function struct {
		Name      string `json:"name"`
		Arguments string `json:"arguments"`
	} `json:"function"`
}

type bareRequest struct {
	Model         string          `json:"model"`
	Messages      []bareMessage   `json:"messages"`
	Tools         []bareTool      `json:"tools,omitempty"`
	Stream        bool            `json:"stream"`
	StreamOptions map[string]bool `json:"stream_options"`
}

type bareChunk struct {
	Choices []struct {
		Delta struct {
			Content   string     `json:"content"`
			ToolCalls []bareCall `json:"tool_calls"`
		} `json:"delta"`
		FinishReason string `json:"finish_reason"`
	} `json:"choices"`
	Usage *struct {
		PromptTokens     int `json:"prompt_tokens"`
		CompletionTokens int `json:"completion_tokens"`
	} `json:"usage"`
}

// ask sends one request and returns the text and the call of the answer.
func (c *bareClient) ask(ctx context.Context, modelName string, messages []bareMessage) (string, bareCall, error) {
	body, err := json.Marshal(bareRequest{
		Model: modelName, Messages: messages, Tools: c.tools, Stream: true, StreamOptions: map[string]bool{"include_usage": true},
	})
	if err != nil {
		return "", bareCall{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url+"/chat/completions", bytes.NewReader(body))
	if err != nil {
		return "", bareCall{}, err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", bareCall{}, err
	}
	defer func() { _ = res.Body.Close() }()
	var text strings.Builder
	var call bareCall
	lines := bufio.NewScanner(res.Body)
	for lines.Scan() {
		data, ok := bytes.CutPrefix(lines.Bytes(), []byte("data: "))
		if !ok || string(data) == "[DONE]" {
			continue
		}
		var chunk bareChunk
		if err := json.Unmarshal(data, &chunk); err != nil {
			return "", call, err
		}
		for i := range chunk.Choices {
			text.WriteString(chunk.Choices[i].Delta.Content)
			for _, piece := range chunk.Choices[i].Delta.ToolCalls {
				if piece.ID != "" {
					call = piece
					continue
				}
				call.Function.Arguments += piece.Function.Arguments
			}
		}
	}
	return text.String(), call, lines.Err()
}

// turn answers the question with two requests and one call.
func (c *bareClient) turn(ctx context.Context) error {
	messages := []bareMessage{{Role: "system", Content: "You are helpful."}, {Role: "user", Content: question}}
	_, call, err := c.ask(ctx, "10", messages)
	if err != nil {
		return err
	}
	var in searchArguments
	if err := json.Unmarshal([]byte(call.Function.Arguments), &in); err != nil {
		return err
	}
	result, err := search(ctx, in)
	if err != nil {
		return err
	}
	messages = append(messages, bareMessage{Role: "assistant", ToolCalls: []bareCall{call}},
		bareMessage{Role: "tool", ToolCallID: call.ID, Content: result})
	text, _, err := c.ask(ctx, "10", messages)
	if err == nil && text == "" {
		err = errNoText
	}
	return err
}

var errNoText = errors.New("the answer has no text")

// declaredTools returns the runtime's tools as sent to a model.
func declaredTools(tb testing.TB) []model.Tool {
	tb.Helper()
	f := &tools.Func[searchArguments, string]{Description: searchDescription, Effect: tools.Read, Run: search}
	list := make([]model.Tool, 10)
	for i := range list {
		list[i] = model.Tool{
			Name: fmt.Sprintf("tool_%02d", i), Description: searchDescription, Parameters: f.Descriptor().Parameters,
		}
	}
	return list
}

func newBareClient(tb testing.TB, base string) *bareClient {
	tb.Helper()
	c := &bareClient{url: base}
	for _, t := range declaredTools(tb) {
		b := bareTool{Type: "function"}
		b.Function.Name, b.Function.Description, b.Function.Parameters = t.Name, t.Description, t.Parameters
		c.tools = append(c.tools, b)
	}
	return c
}

// stream requests the long answer from exec.
func stream(ctx context.Context, exec model.Executor) error {
	pieces := 0
	req := &model.Request{Model: strconv.Itoa(streamChunks), Messages: []model.Message{model.User(question)}}
	for ev, err := range exec.Stream(ctx, req) {
		if err != nil {
			return err
		}
		if ev.Type == model.EventText {
			pieces++
		}
	}
	if pieces != streamChunks {
		return fmt.Errorf("%d pieces arrive", pieces)
	}
	return nil
}

// httpCost is an operation's cost for the runtime and the bare client.
type httpCost struct{ ours, floor time.Duration }

func (c httpCost) overFloor() float64 { return float64(c.ours) / float64(c.floor) }

// rounds is the number of measurements of a cost; the minimum counts.
const rounds = 5

// turnCost measures a turn of two requests and a call, with ten tools.
func turnCost(tb testing.TB, rt *runtime.AgentRuntime, bare *bareClient) httpCost {
	const n = 200
	return httpCost{
		ours:  cpuOf(tb, rounds, n, func() error { return httpTurn(tb.Context(), rt) }),
		floor: cpuOf(tb, rounds, n, func() error { return bare.turn(tb.Context()) }),
	}
}

// streamCost measures a piece of the long answer.
func streamCost(tb testing.TB, exec model.Executor, bare *bareClient) httpCost {
	const n = 50
	return httpCost{
		ours: cpuOf(tb, rounds, n, func() error { return stream(tb.Context(), exec) }) / streamChunks,
		floor: cpuOf(tb, rounds, n, func() error {
			text, _, err := bare.ask(tb.Context(), strconv.Itoa(streamChunks), []bareMessage{{Role: "user", Content: question}})
			if err == nil && text == "" {
				err = errNoText
			}
			return err
		}) / streamChunks,
	}
}

func httpTurn(ctx context.Context, rt *runtime.AgentRuntime) error {
	res, err := rt.Run(ctx, runtime.Prompt("assistant", question), event.SinkFunc(func(event.Event) {}))
	if err == nil && res.Steps != 2 {
		err = fmt.Errorf("the turn has %d steps", res.Steps)
	}
	return err
}

// TestHTTPCost limits the cost of model calls over HTTP.
func TestHTTPCost(t *testing.T) {
	if testing.Short() {
		t.Skip("measures for seconds")
	}
	base := startServer(t)
	exec, bare := newHTTPExecutor(t, base), newBareClient(t, base)
	turn := turnCost(t, newHTTPRuntime(t, exec), bare)
	t.Logf("a turn costs %s, %.2f times the bare client's", turn.ours, turn.overFloor())
	if turn.overFloor() > maxTurnOverFloor {
		t.Errorf("a turn costs more than %.1f times the bare client's", maxTurnOverFloor)
	}
	chunk := streamCost(t, exec, &bareClient{url: base})
	t.Logf("a piece of an answer costs %s, the bare client's %s", chunk.ours, chunk.floor)
	if chunk.ours > maxChunkCPU {
		t.Errorf("a piece of an answer costs more than %s", maxChunkCPU)
	}
}

// BenchmarkHTTPTurn measures a whole turn of two requests and a call over HTTP, with ten tools,
// beside the same work of the bare client. The server is on the same machine, so CPU times are more
// meaningful than wall-clock times.
func BenchmarkHTTPTurn(b *testing.B) {
	base := startServer(b)
	rt, bare := newHTTPRuntime(b, newHTTPExecutor(b, base)), newBareClient(b, base)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if err := httpTurn(ctx, rt); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	each := func(run func() error) subject {
		return subject{n: 40, run: func(n int) {
			for range n {
				if err := run(); err != nil {
					b.Error(err)
					return
				}
			}
		}}
	}
	compareWithLoop(b, each(func() error { return httpTurn(ctx, rt) }), each(func() error { return bare.turn(ctx) }))
}

// BenchmarkHTTPStream measures an answer of many chunks over HTTP and the cost per chunk.
func BenchmarkHTTPStream(b *testing.B) {
	base := startServer(b)
	exec := newHTTPExecutor(b, base)
	ctx := b.Context()
	b.ReportAllocs()
	for b.Loop() {
		if err := stream(ctx, exec); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	cost := streamCost(b, exec, &bareClient{url: base})
	b.ReportMetric(float64(cost.ours), "cpu-ns/chunk")
	b.ReportMetric(cost.overFloor(), "x-floor")
}

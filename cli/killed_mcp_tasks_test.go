package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// taskServer is an MCP server whose tool hold runs as a task until released.
type taskServer struct {
	*httptest.Server
	// calls counts the tool's calls, polls the queries about its task, and cancels the requests to
	// cancel it.
	calls, polls, cancels atomic.Int32
	released              atomic.Bool
}

// taskAtServer is a task or the acknowledgement of a task request.
type taskAtServer struct {
	mcp.ResultBase
	ResultType     string              `json:"resultType"`
	TaskID         string              `json:"taskId"`
	Status         string              `json:"status"`
	PollIntervalMs int                 `json:"pollIntervalMs"`
	Result         *mcp.CallToolResult `json:"result,omitempty"`
}

type taskAtServerParams struct {
	mcp.ParamsBase
	TaskID string `json:"taskId"`
}

func newTaskServer(t *testing.T) *taskServer {
	t.Helper()
	s := new(taskServer)
	made := mcp.NewServer(&mcp.Implementation{Name: "slow", Version: "1"}, nil)
	made.AddTool(&mcp.Tool{Name: "hold", Description: "Holds.", InputSchema: json.RawMessage(`{"type":"object"}`)},
		func(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
			return &mcp.CallToolResult{}, nil
		})
	made.AddReceivingMiddleware(func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
			if _, isCall := r.(*mcp.CallToolRequest); isCall {
				s.calls.Add(1)
				return &taskAtServer{ResultType: "task", TaskID: "t1", Status: "working"}, nil
			}
			return next(ctx, method, r)
		}
	})
	for method, count := range map[string]*atomic.Int32{"tasks/get": &s.polls, "tasks/cancel": &s.cancels} {
		err := mcp.AddReceivingCustomMethod(made, method, func(context.Context, *mcp.ServerSession, *taskAtServerParams) (*taskAtServer, error) {
			count.Add(1)
			task := &taskAtServer{ResultType: "complete", TaskID: "t1", Status: "working", PollIntervalMs: 100}
			if s.released.Load() {
				task.Status, task.Result = "completed", &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "held to the end"}}}
			}
			return task, nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	s.Server = httptest.NewServer(mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return made }, &mcp.StreamableHTTPOptions{Stateless: true}))
	t.Cleanup(s.Close)
	return s
}

// taskClient is an MCP client with a session, which runs calls as tasks.
type taskClient struct {
	t             *testing.T
	base, session string
}

func newTaskClient(t *testing.T, base string) *taskClient {
	t.Helper()
	c := &taskClient{t: t, base: base}
	c.ask("initialize", `{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`, new(map[string]any))
	return c
}

// ask sends a request and reads its result.
func (c *taskClient) ask(method, params string, into any) {
	c.t.Helper()
	ctx, cancel := context.WithTimeout(c.t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+"/mcp", strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, method, params)))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header = bearer(rightKey)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.session != "" {
		req.Header.Set("Mcp-Session-Id", c.session)
		req.Header.Set("Mcp-Protocol-Version", "2025-11-25")
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		c.t.Fatal(err)
	}
	defer resp.Body.Close()
	result, err := lastResult(resp.Body)
	if err == nil {
		err = json.Unmarshal(result, into)
	}
	if err != nil {
		c.t.Fatalf("%s: %v", method, err)
	}
	if c.session == "" {
		c.session = resp.Header.Get("Mcp-Session-Id")
	}
}

// TestTasksSurviveTheDeathOfTheServer kills a server that runs a task for a client and whose agent
// waits for a tool's task.
func TestTasksSurviveTheDeathOfTheServer(t *testing.T) {
	t.Parallel()
	for name, store := range map[string]func(*testing.T) string{"sqlite": onSQLite, "postgres": onPostgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool := newTaskServer(t)
			f := mortal(t, store(t), "")
			f.change("config.yaml", "agents:", fmt.Sprintf("  slow: {type: mcp, url: %q, timeout: 10m}\nagents:", tool.URL))
			f.change("script.yaml", "replies:\n", "replies:\n  - {match: Hold it, tool_calls: [{id: call_hold, name: mcp__slow__hold, arguments: {}}]}\n  - {match: held to the end, text: It was held.}\n")
			s := f.start("127.0.0.1:0")
			var made struct {
				Task struct{ TaskID, Status string }
			}
			newTaskClient(t, s.url).ask("tools/call", `{"name":"clerk","arguments":{"message":"Hold it"},"task":{"ttl":null}}`, &made)
			for range 2 {
				before := tool.polls.Load()
				awaitCount(t, &tool.polls, before+2)
				s.kill()
				s = f.start(s.address)
			}
			c := newTaskClient(t, s.url)
			id := fmt.Sprintf(`{"taskId":%q}`, made.Task.TaskID)
			var task struct{ Status string }
			if c.ask("tasks/get", id, &task); task.Status != "working" {
				t.Errorf("the task is %s", task.Status)
			}
			tool.released.Store(true)
			var result struct {
				Content []struct{ Text string }
				IsError bool
			}
			if c.ask("tasks/result", id, &result); result.IsError || len(result.Content) != 1 || result.Content[0].Text != "It was held." {
				t.Errorf("the result is %+v", result)
			}
			if calls, cancels := tool.calls.Load(), tool.cancels.Load(); calls != 1 || cancels != 0 {
				t.Errorf("the tool was called %d times, and canceled %d times", calls, cancels)
			}
		})
	}
}

// awaitCount waits until a counter has a value.
func awaitCount(t *testing.T, counter *atomic.Int32, want int32) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(storeTime); counter.Load() < want; {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("the counter is %d, not %d", counter.Load(), want)
		}
	}
}

package cli

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/server/native"
)

// callMCP calls the agent clerk with an idempotency key, and returns the response.
func callMCP(t *testing.T, base string) io.ReadCloser {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/mcp", strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+
		`"name":"clerk","arguments":{"message":"Tell a story"},"_meta":{"progressToken":"p","agentruntime/idempotency_key":"k",`+
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = bearer(rightKey)
	for name, value := range map[string]string{
		"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "clerk",
	} {
		req.Header.Set(name, value)
	}
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = resp.Body.Close() })
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(resp.Body)
		t.Fatalf("%s %s", resp.Status, text)
	}
	return resp.Body
}

// lastResult returns the result in the last message of a stream or response.
func lastResult(body io.Reader) (json.RawMessage, error) {
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	parts := strings.Split(strings.TrimSpace(string(data)), "data: ")
	var answer struct{ Result json.RawMessage }
	if err := json.Unmarshal([]byte(parts[len(parts)-1]), &answer); err != nil || answer.Result == nil {
		return nil, fmt.Errorf("%w in %s", cmp.Or(err, errNoResult), data)
	}
	return answer.Result, nil
}

var errNoResult = errors.New("no result")

// TestMCPCallsSurviveTheDeathOfTheirServer repeats a call after the server was killed:
// the turn of the first call has continued, and its result is returned.
func TestMCPCallsSurviveTheDeathOfTheirServer(t *testing.T) {
	t.Parallel()
	f := mortal(t, onSQLite(t), "")
	s := f.start("127.0.0.1:0")
	lines := bufio.NewScanner(callMCP(t, s.url))
	for lines.Scan() && !strings.Contains(lines.Text(), "notifications/progress") {
	}
	s.kill()
	s = f.start(s.address)
	data, err := lastResult(callMCP(t, s.url))
	if err != nil {
		t.Fatal(err)
	}
	var told struct {
		Meta    map[string]any `json:"_meta"`
		Content []struct{ Text string }
		IsError bool
	}
	if err := json.Unmarshal(data, &told); err != nil || told.IsError || len(told.Content) != 1 || told.Content[0].Text != toldStory {
		t.Fatalf("%v: %s", err, data)
	}
	reader, err := native.NewClient(native.ClientSettings{URL: s.url, Key: rightKey})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	turns, err := reader.ListTurns(t.Context(), native.TurnQuery{})
	if err != nil || len(turns.Turns) != 1 || turns.Turns[0].ID != told.Meta["agentruntime/turn_id"] {
		t.Errorf("the turns are %+v, %v", turns, err)
	}
}

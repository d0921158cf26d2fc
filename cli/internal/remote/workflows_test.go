package remote

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/server/workflows"
	flow "github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
)

// TestFlagsChangeASchedule covers which parts of a schedule or trigger each flag changes.
func TestFlagsChangeASchedule(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	steps := filepath.Join(dir, "steps.json")
	if err := os.WriteFile(steps, []byte(`{"steps":[{"id":"a","tool":{"name":"wc"}},{"id":"b","tool":{"name":"wc"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	raw := func(text string) json.RawMessage { return json.RawMessage(text) }
	tool := func(input map[string]json.RawMessage) workflows.Target {
		return workflows.Target{Steps: []workflows.Step{{ID: "only", Tool: &flow.ToolCall{Name: "wc", Input: input}}}}
	}
	before := workflows.StartRequest{Cron: "@daily", TimeZone: "Europe/Berlin", Input: raw(`{"a":1}`), Target: tool(nil)}
	const many = "--param needs a target with a single call, and --prompt one with a single turn; --target-file replaces any target"
	for _, tt := range []struct {
		args    []string
		kind    workflows.Kind
		change  func(*workflows.StartRequest)
		problem string
	}{
		{args: nil, change: func(*workflows.StartRequest) {}},
		{args: []string{"--cron=@hourly", "--timezone="}, change: func(r *workflows.StartRequest) { r.Cron, r.TimeZone = "@hourly", "" }},
		{args: []string{"--missed=all", "--on-wait=fail"}, change: func(r *workflows.StartRequest) { r.Missed, r.OnWait = "all", "fail" }},
		{args: []string{"--paused"}, change: func(r *workflows.StartRequest) { r.Paused = true }},
		{args: []string{"--input=b=x", "--input=c:=2"}, change: func(r *workflows.StartRequest) { r.Input = raw(`{"b":"x","c":2}`) }},
		{args: []string{"--input=b=x", "--input-file=" + steps}, problem: "--input-file excludes flags for single values"},
		{args: []string{"--input-file=" + filepath.Join(dir, "none")}, problem: "--input-file: open "},
		{args: []string{"--input-file=-"}, problem: "--input-file: not JSON"},
		{args: []string{"--param=text=x"}, change: func(r *workflows.StartRequest) { r.Target = tool(map[string]json.RawMessage{"text": raw(`"x"`)}) }},
		{args: []string{"--prompt=Hello"}, problem: many},
		{args: []string{"--tool=rm"}, change: func(r *workflows.StartRequest) { r.Target = workflows.Target{Tool: &flow.ToolCall{Name: "rm"}} }},
		{args: []string{"--agent=clerk", "--prompt=Hello"}, change: func(r *workflows.StartRequest) {
			r.Target = workflows.Target{Agent: &workflows.Agent{Agent: "clerk", Prompt: raw(`"Hello"`)}}
		}},
		{args: []string{"--target-file=" + steps}, change: func(r *workflows.StartRequest) {
			r.Target = workflows.Target{Steps: []workflows.Step{{ID: "a", Tool: &flow.ToolCall{Name: "wc"}}, {ID: "b", Tool: &flow.ToolCall{Name: "wc"}}}}
		}},
		{args: []string{"--target-file=-"}, problem: "--target-file: not JSON"},
		{args: []string{"--type=order", "--source="}, kind: workflows.EventTriggers, change: func(r *workflows.StartRequest) { r.Match = &workflows.Match{Type: "order"} }},
	} {
		kind := tt.kind
		if kind == "" {
			kind = workflows.Schedules
		}
		var o startOptions
		cmd := commandWith(t, func(cmd *cobra.Command) { o.startFlags(cmd, kind) }, tt.args...)
		req := before
		req.Target = tool(nil)
		err := o.apply(cmd, strings.NewReader("no JSON"), &req)
		if !strings.HasPrefix(firstLine(err), tt.problem) || (err != nil) != (tt.problem != "") {
			t.Errorf("%v: %v", tt.args, err)
		}
		if tt.change == nil {
			continue
		}
		want := before
		tt.change(&want)
		if diff := cmp.Diff(want, req); diff != "" {
			t.Errorf("%v: %s", tt.args, diff)
		}
	}
}

// TestTargetsInAWord covers the column with the target of a schedule.
func TestTargetsInAWord(t *testing.T) {
	t.Parallel()
	for want, target := range map[string]workflows.Target{
		"agent clerk": {Steps: []workflows.Step{{Agent: &workflows.Agent{Agent: "clerk"}}}},
		"tool wc":     {Steps: []workflows.Step{{Tool: &flow.ToolCall{Name: "wc"}}}},
		"2 steps":     {Steps: make([]workflows.Step, 2)},
		"-":           {Steps: make([]workflows.Step, 1)},
	} {
		if got := targetText(&target); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestEventsToPublish covers the flags of an event, as the server receives it.
func TestEventsToPublish(t *testing.T) {
	t.Parallel()
	var received string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		received = string(body)
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"event":{"id":"e","type":"order","source":"shop"},"runs":2}`)
	}))
	t.Cleanup(s.Close)
	for _, tt := range []struct{ args, want, problem string }{
		{args: "--type=order", want: `{"type":"order"}`},
		{args: "--type=order --source=shop --subject=7 --id=e", want: `{"id":"e","source":"shop","subject":"7","type":"order"}`},
		{args: "--type=order -p id=7 -p paid:=true", want: `{"data":{"id":"7","paid":true},"type":"order"}`},
		{args: "--type=order --data-file=-", want: `{"data":[1],"type":"order"}`},
		{args: "--type=order -e region=eu", want: `{"extensions":{"region":"eu"},"type":"order"}`},
		{args: "--type=order --time=2026-01-31T08:00:00Z", want: `{"time":"2026-01-31T08:00:00Z","type":"order"}`},
		{args: "--type=order --data-file=- -p id=7", problem: "--data-file excludes flags for single values"},
		{args: "--type=order --time=today", problem: "--time is not a time of RFC 3339, such as 2026-01-31T08:00:00Z"},
		{args: "-p id=7", problem: "--type is required"},
	} {
		var out bytes.Buffer
		received = ""
		cmd := NewWorkflows(&terminal.Streams{In: strings.NewReader("[1]"), Out: &out, Err: &out})
		cmd.SetArgs(append([]string{"publish", "--server", s.URL}, strings.Fields(tt.args)...))
		cmd.SilenceErrors, cmd.SilenceUsage = true, true
		if err := cmd.ExecuteContext(t.Context()); firstLine(err) != tt.problem {
			t.Errorf("%q: %v", tt.args, err)
		}
		sent := map[string]any{}
		_ = json.Unmarshal([]byte(received), &sent) // which is empty after a mistake
		if !strings.Contains(tt.args, "--id") {
			delete(sent, "id") // a new one
		}
		if data, _ := json.Marshal(sent); tt.want != "" && string(data) != tt.want {
			t.Errorf("%q: the server received %s, want %s", tt.args, received, tt.want)
		}
		if tt.problem == "" && out.String() != "ID  TYPE   SOURCE  SUBJECT  TIME\ne   order  shop    -        0001-01-01T00:00:00Z\n2 runs began\n" {
			t.Errorf("%q: %s", tt.args, out.String())
		}
	}
}

package runsclient_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/runsclient"
)

// refused checks how a request was rejected.
func refused(t *testing.T, err error, status int, code string) *runsclient.Error {
	t.Helper()
	e := new(runsclient.Error)
	if !errors.As(err, &e) || e.Status != status || e.Code != code {
		t.Fatalf("the request ends with %v, want %d %s", err, status, code)
	}
	return e
}

func decode(t *testing.T, resp *runsclient.Response, into any) {
	t.Helper()
	if err := json.Unmarshal(resp.Body, into); err != nil {
		t.Fatalf("%d %s: %v", resp.Status, resp.Body, err)
	}
}

func jsonOf(t *testing.T, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

func TestCredentialsAreRefusedInTheirWords(t *testing.T) {
	t.Parallel()
	p := serve(t)
	const invalid = "Invalid API key or OAuth access token"
	for name, tt := range map[string]struct {
		key           string
		message, code string
	}{
		"none":                  {"", "Unauthorized", "unauthorized"},
		"an unknown key":        {"test-key", invalid, "unauthorized"},
		"an expired key":        {old, invalid, "unauthorized"},
		"an unknown token":      {"mantyx_at_nothing", invalid, "unauthorized"},
		"a token of old wounds": {"mantyx_at_" + old, invalid, "unauthorized"},
	} {
		c := p.with(tt.key)
		_, create := c.Create(t.Context(), ask("hello", "Hi."))
		_, models := c.Models(t.Context())
		_, stream := c.Drive(t.Context(), "r-1", nil, 0, nil)
		_, session := c.CreateSession(t.Context(), ask("hello", ""))
		for _, err := range []error{create, models, stream, session, c.Cancel(t.Context(), "r-1"), c.Answer(t.Context(), "r-1", "x", nil)} {
			if e := refused(t, err, 401, tt.code); e.Message != tt.message || e.Header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: %v, %v", name, e, e.Header)
			}
		}
	}
	c := runsclient.New(runsclient.Options{URL: p.url, Workspace: "umbrella", Key: desk})
	_, err := c.Models(t.Context())
	if e := refused(t, err, 404, "not_found"); e.Message != "Workspace path does not match this credential" || e.Hint != workspace {
		t.Errorf("the wrong workspace: %+v", e)
	}
}

func TestAKeyMayUseItsAgentsOnly(t *testing.T) {
	t.Parallel()
	p := serve(t)
	c := p.with(narrow)
	run := func(agent string) error {
		_, err := c.Run(t.Context(), runsclient.Spec{AgentID: agent, Prompt: "Hi."})
		return err
	}
	if err := run("helper"); err != nil {
		t.Error(err)
	}
	refused(t, run("counter"), 403, "forbidden")
	refused(t, run("nobody"), 403, "forbidden")
	refused(t, run("no agent is called / this!"), 400, "invalid_request")
	_, err := c.CreateSession(t.Context(), runsclient.Spec{AgentID: "counter"})
	refused(t, err, 403, "forbidden")
}

func TestWhatOthersHaveIsNotThere(t *testing.T) {
	t.Parallel()
	p := serve(t)
	mine := p.client(runsclient.Go)
	made, err := mine.Create(t.Context(), ask("local_tool", "Go.", weather("", nil)))
	if err != nil {
		t.Fatal(err)
	}
	s, err := mine.CreateSession(t.Context(), ask("hello", ""))
	if err != nil {
		t.Fatal(err)
	}
	c := runsclient.New(runsclient.Options{URL: p.url, Workspace: "umbrella", Key: stranger})
	for _, id := range []string{made.RunID, "nothing", "a/b c?d"} {
		_, snapshot := c.Snapshot(t.Context(), id)
		_, stream := c.Drive(t.Context(), id, nil, 0, nil)
		for _, err := range []error{snapshot, stream, c.Cancel(t.Context(), id), c.Answer(t.Context(), id, "call_a", object{"result": ""})} {
			refused(t, err, 404, "not_found")
		}
	}
	for _, id := range []string{s.ID, "nothing"} {
		_, err := c.ResumeSession(t.Context(), id, nil)
		refused(t, err, 404, "not_found")
	}
	if err := mine.Cancel(t.Context(), made.RunID); err != nil {
		t.Error(err)
	}
}

func TestRunsThatCannotBeAreRefused(t *testing.T) {
	t.Parallel()
	c := serve(t).client(runsclient.Python)
	base := func(change object) object {
		spec := object{"modelId": "hello-1", "systemPrompt": "You help.", "prompt": "Hi.", "tools": []any{}}
		for name, value := range change {
			spec[name] = value
			if value == nil {
				delete(spec, name)
			}
		}
		return spec
	}
	tool := func(ref object) object { return base(object{"tools": []any{ref}}) }
	for name, tt := range map[string]struct {
		spec any
		code string
	}{
		"no JSON":              {[]byte("{"), "invalid_request"},
		"no object":            {[]byte("[]"), "invalid_request"},
		"no system prompt":     {base(object{"systemPrompt": nil}), "invalid_request"},
		"nothing said":         {base(object{"prompt": nil}), "invalid_request"},
		"said twice":           {base(object{"messages": []any{object{"role": "user", "content": "Hi."}}}), "invalid_request"},
		"an unknown role":      {base(object{"prompt": nil, "messages": []any{object{"role": "tool", "content": "Hi."}}}), "invalid_request"},
		"an unknown model":     {base(object{"modelId": "nothing"}), "invalid_model"},
		"an unknown kind":      {tool(object{"kind": "magic", "name": "x"}), "invalid_request"},
		"an unknown tool":      {tool(object{"kind": "mantyx", "id": "nothing"}), "invalid_request"},
		"an unknown plugin":    {tool(object{"kind": "mantyx_plugin", "name": "@nothing/at-all"}), "invalid_plugin"},
		"a name with a space":  {tool(object{"kind": "local", "name": "a b"}), "invalid_request"},
		"a card without name":  {tool(object{"kind": "a2a_local", "name": "x", "agentCard": object{}}), "invalid_request"},
		"a server of nothing":  {tool(object{"kind": "mcp_local", "name": "x", "tools": []any{}}), "invalid_request"},
		"a name twice":         {base(object{"tools": []any{object{"kind": "local", "name": "x"}, object{"kind": "local", "name": "x"}}}), "invalid_request"},
		"a level of nothing":   {base(object{"reasoningLevel": "extreme"}), "invalid_request"},
		"a level too high":     {base(object{"reasoningLevel": 101}), "invalid_request"},
		"no turns":             {base(object{"budgets": object{"maxToolTurns": 0}}), "invalid_request"},
		"a schema of null":     {base(object{"outputSchema": object{"schema": nil}}), "invalid_request"},
		"a loop that is true":  {base(object{"loopDetection": true}), "invalid_request"},
		"loops out of order":   {base(object{"loopDetection": object{"consecutiveThreshold": 8}}), "invalid_request"},
		"a budget of too much": {base(object{"toolBudgets": object{"x": object{"maxCalls": 1001}}}), "invalid_request"},
		"metadata of numbers":  {base(object{"metadata": object{"x": 1}}), "invalid_request"},
	} {
		_, err := c.Create(t.Context(), tt.spec)
		e := new(runsclient.Error)
		if !errors.As(err, &e) || e.Status != 400 || e.Code != tt.code || e.Body["error"] != tt.code || e.Body["message"] == "" {
			t.Errorf("%s: %v", name, err)
		}
		if _, listed := e.Body["candidates"].([]any); tt.code == "invalid_model" && !listed {
			t.Errorf("%s: there are no candidates: %v", name, e.Body)
		}
	}
}

func TestSomethingThatIsNotKnownIsPassedOver(t *testing.T) {
	t.Parallel()
	made, err := serve(t).client(runsclient.Go).Create(t.Context(), object{
		"modelId": "hello-1", "systemPrompt": "You help.", "prompt": "Hi.", "tools": []any{}, "colour": "red", "supervisor": nil,
	})
	if err != nil || made.RunID == "" {
		t.Error(err)
	}
}

func TestResultsOfToolsAreRefused(t *testing.T) {
	t.Parallel()
	c := serve(t).client(runsclient.Go)
	tool := weather("sunny", nil)
	made, err := c.Create(t.Context(), ask("local_tool", "Go.", tool))
	if err != nil {
		t.Fatal(err)
	}
	long := make([]byte, 8<<10+1)
	for i := range long {
		long[i] = 'x'
	}
	post := func(id string, body object) error { return c.Answer(t.Context(), made.RunID, id, body) }
	watch(t, c, made.RunID, "local_tool_call", func(runsclient.Event) {
		refused(t, post("call_z", object{"result": "sunny"}), 404, "unknown_tool_use")
		refused(t, post("call_a", object{"result": 1}), 400, "invalid_request")
		refused(t, post("call_a", object{"result": "sunny", "error": "or not"}), 400, "invalid_request")
		refused(t, post("call_a", object{"error": string(long)}), 400, "invalid_request")
		refused(t, post("", object{"result": "sunny"}), 400, "invalid_request")
		if err := post("call_a", object{"result": "sunny"}); err != nil {
			t.Error(err)
		}
	})
	refused(t, post("call_a", object{"result": "sunny"}), 409, "run_terminal")
	refused(t, post("call_z", object{"result": "sunny"}), 409, "run_terminal")
	refused(t, post("call_a", object{"result": 1}), 400, "invalid_request")
}

func TestARepeatedResultIsUnknown(t *testing.T) {
	t.Parallel()
	c := serve(t).client(runsclient.Go)
	made, err := c.Create(t.Context(), ask("two_local_tools", "Go.", weather("", nil)))
	if err != nil {
		t.Fatal(err)
	}
	var calls []string
	answer := func(id string) error { return c.Answer(t.Context(), made.RunID, id, object{"result": "sunny"}) }
	watch(t, c, made.RunID, "local_tool_call", func(e runsclient.Event) {
		if calls = append(calls, e.Text("toolUseId")); len(calls) < 2 {
			return
		}
		for _, id := range calls {
			if err := answer(id); len(calls) == 3 && id != calls[2] {
				refused(t, err, 404, "unknown_tool_use")
			} else if err != nil {
				t.Errorf("%s of %v: %v", id, calls, err)
			}
		}
	})
	if len(calls) != 3 {
		t.Errorf("the run asks for %v", calls)
	}
}

// watch follows a run to its end and shows the events of a type.
func watch(t *testing.T, c *runsclient.Client, runID, kind string, show func(runsclient.Event)) {
	t.Helper()
	for e, err := range c.Events(t.Context(), runID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		if e.Type == kind {
			show(e)
		}
	}
}

func TestAClientThatAsksForTooMuchIsToldWhenToComeBack(t *testing.T) {
	t.Parallel()
	c := serveAlone(t, "limited.yaml").client(runsclient.Go)
	for i := range 3 {
		_, err := c.Models(t.Context())
		if i < 2 {
			if err != nil {
				t.Fatal(err)
			}
			continue
		}
		if e := refused(t, err, 429, "rate_limited"); e.Header.Get("Retry-After") == "" {
			t.Errorf("the header is %v", e.Header)
		}
	}
}

func TestAToolThatIsNotAnsweredEndsItsRun(t *testing.T) {
	t.Parallel()
	c := serveAlone(t, "hasty.yaml").client(runsclient.Go)
	for range 2 {
		// The tool returns an empty result, which this server interprets as no answer.
		failed := fails(t, c, ask("local_tool", "Go.", weather("", nil)), "local_timeout")
		has(t, failed.Event, object{"code": "local_timeout", "errorClass": "local_timeout", "error": "Timed out waiting for local tool result", "subtype": "error_local_tool_timeout"})
		refused(t, c.Answer(t.Context(), failed.RunID, "call_a", object{"result": "sunny"}), 409, "run_terminal")
	}
}

func TestRoutesThatAreNotThereAreRefusedInTheSameShape(t *testing.T) {
	t.Parallel()
	c := serve(t).client(runsclient.Go)
	for path, want := range map[string]struct {
		status int
		code   string
	}{
		c.Path("agent-sessions"):                 {501, "not_supported"},
		c.Path("agent-runs", "r-1", "feedback"):  {405, "method_not_allowed"},
		c.Path("agent-sessions", "s-1", "lines"): {404, "not_found"},
		c.Path("eval-datasets"):                  {404, "not_found"},
	} {
		resp, err := c.Do(t.Context(), "GET", path, nil)
		if err != nil {
			t.Fatal(err)
		}
		var body object
		decode(t, resp, &body)
		if resp.Status != want.status || body["error"] != want.code || body["code"] != want.code || body["message"] == "" {
			t.Errorf("%s: %d %s", path, resp.Status, resp.Body)
		}
	}
}

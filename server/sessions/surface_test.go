package sessions

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
)

func TestASessionIsMadeReadAndChanged(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	made := do[sessionView](w, "POST /agent/sessions", `{"clientRef":"risk","model":"quick","metadata":{"team":"a"},"someday":1}`)
	if made.Provider != "clerk" || made.Model != "quick" || made.ClientRef != "risk" || made.State != "active" || made.CreatedBy.SubjectID != "alice" || string(made.Metadata["team"]) != `"a"` {
		t.Errorf("it is %+v", made)
	}
	changed := do[sessionView](w, "PATCH /agent/sessions/"+made.ID, `{"state":"archived","clientRef":"done"}`)
	if changed.State != "archived" || changed.ClientRef != "done" || len(changed.Metadata) != 1 {
		t.Errorf("it was changed to %+v", changed)
	}
	if cleared := do[sessionView](w, "PATCH /agent/sessions/"+made.ID, `{"metadata":{}}`); len(cleared.Metadata) != 0 || cleared.ClientRef != "done" {
		t.Errorf("it was cleared to %+v", cleared)
	}
	if status, text := w.ask("alice", "POST /agent/sessions/"+made.ID+"/turns", `{"messages":[{"role":"user","text":"hi"}]}`); status != http.StatusConflict {
		t.Errorf("an archived session takes a turn: %d %s", status, text)
	}
	other := do[sessionView](w, "POST /agent/sessions", `{"provider":"plain"}`)
	for query, want := range map[string]string{
		"": other.ID + " " + made.ID, "?state=active": other.ID, "?provider=clerk": made.ID, "?limit=1": other.ID, "?view=summary": other.ID + " " + made.ID,
	} {
		var ids []string
		for _, s := range do[[]sessionView](w, "GET /agent/sessions"+query, "") {
			ids = append(ids, s.ID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("the list %q is %s and should be %s", query, got, want)
		}
	}
	first := w.send("alice", "GET /agent/sessions?limit=1", "")
	first.Body.Close()
	if rest := do[[]sessionView](w, "GET /agent/sessions?after="+first.Header.Get("X-Next-After"), ""); len(rest) != 1 || rest[0].ID != made.ID {
		t.Errorf("the list goes on with %+v", rest)
	}
}

func TestATurnIsMadeFollowedAndRead(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	made := w.begin(`{"provider":"clerk"}`, "hello")
	if made.Status != "pending" && made.Status != "running" && made.Status != "succeeded" || made.ExecutionRef != made.ID || made.Messages[0].Text != "hello" {
		t.Errorf("the turn is %+v", made)
	}
	events, ids := w.stream("/agent/turns/" + made.ID + "/events/stream")
	if got, want := typesOf(events), "turn.started assistant.delta assistant.completed turn.completed"; got != want {
		t.Errorf("the events are %s and should be %s", got, want)
	}
	text := ""
	for i := range events {
		e := &events[i]
		if e.Seq != uint64(i+1) || ids[i] != strconv.Itoa(i+1) || e.TurnID != made.ID || e.Source != "clerk" || e.Visibility != "public" || e.CreatedAt == nil {
			t.Errorf("event %d is %+v with the id %s", i, e, ids[i])
		}
		if e.Type == "assistant.delta" {
			text += e.Display.Text
		}
	}
	if text != "hello" {
		t.Errorf("the deltas are %q", text)
	}
	ended := w.until(made.ID, "succeeded")
	if ended.OutputText != "hello" || ended.StatusMessage != "" || ended.CompletedAt.IsZero() || ended.Model != "fast" {
		t.Errorf("it ended as %+v", ended)
	}
	for query, want := range map[string]string{
		"": typesOf(events), "?after=2": "assistant.completed turn.completed", "?after=1&limit=2": "assistant.delta assistant.completed", "?limit=0": typesOf(events), "?after=99": "",
	} {
		if got := typesOf(do[[]eventView](w, "GET /agent/turns/"+made.ID+"/events"+query, "")); got != want {
			t.Errorf("the list %q is %q and should be %q", query, got, want)
		}
	}
	again, _ := w.stream("/agent/turns/"+made.ID+"/events/stream?after=1", "Last-Event-ID", "3")
	if got := typesOf(again); got != "turn.completed" {
		t.Errorf("after event 3 come %s", got)
	}
	listed := do[[]turnView](w, "GET /agent/sessions/"+made.SessionID+"/turns?status=succeeded", "")
	if len(listed) != 1 || listed[0].OutputText != "hello" {
		t.Errorf("the list is %+v", listed)
	}
	if short := do[[]turnView](w, "GET /agent/sessions/"+made.SessionID+"/turns?summary=true", ""); len(short) != 1 || short[0].OutputText != "" || short[0].Messages != nil {
		t.Errorf("the short list is %+v", short)
	}
}

func TestATurnAsksAndGoesOnWithTheAnswer(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	s := do[sessionView](w, "POST /agent/sessions", "")
	made := w.say(s.ID, "pay", `,"toolRefs":[{"appName":"pay"}]`)
	blocked, _ := w.stream("/agent/turns/" + made.ID + "/events/stream?until=blocked_or_terminal")
	if got, want := typesOf(blocked), "turn.started tool.started interaction.requested turn.waiting"; got != want {
		t.Fatalf("until it waits there are %s and should be %s", got, want)
	}
	if waiting := w.until(made.ID, "waiting_for_input"); waiting.OutputText != "" {
		t.Errorf("it waits as %+v", waiting)
	}
	if again, _ := w.stream("/agent/turns/" + made.ID + "/events/stream?until=blocked_or_terminal"); typesOf(again) != typesOf(blocked) {
		t.Errorf("again there are %s", typesOf(again))
	}
	asked := do[[]interactionView](w, "GET /agent/turns/"+made.ID+"/interactions", "")
	if len(asked) != 1 || asked[0].Type != "approval" || asked[0].State != "pending" || asked[0].Title != "Approve pay" || string(asked[0].Request.Arguments) != `{"amount":12}` {
		t.Fatalf("it asks %+v", asked)
	}
	resolve := "POST /agent/turns/" + made.ID + "/interactions/" + asked[0].ID + "/resolve"
	for body, want := range map[string]string{
		`{"resolution":{"approved":"maybe"}}`: `400 {"error":"the resolution cannot be used: `,
		`{}`:                                  `400 {"error":"resolution must be an object"`,
		`{"resolution":[]}`:                   `400 `,
	} {
		status, text := w.ask("alice", resolve, body)
		if got := strconv.Itoa(status) + " " + text; !strings.HasPrefix(got, want) {
			t.Errorf("%s: %s", body, got)
		}
	}
	for range 2 {
		if done := do[interactionView](w, resolve, `{"resolution":{"approved":true}}`); done.State != "resolved" || string(done.Resolution) != `{"approved":true}` {
			t.Errorf("it is resolved as %+v", done)
		}
	}
	w.until(made.ID, "succeeded")
	if status, text := w.ask("alice", resolve, `{"resolution":{"approved":false}}`); status != http.StatusConflict {
		t.Errorf("another answer: %d %s", status, text)
	}
	events, _ := w.stream("/agent/turns/" + made.ID + "/events/stream?after=4&until=blocked_or_terminal")
	if got, want := typesOf(events), "turn.resumed interaction.resolved tool.completed assistant.delta assistant.completed turn.completed"; got != want {
		t.Errorf("then there are %s and should be %s", got, want)
	}
}

func TestATurnIsCanceled(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	made := w.begin(`{}`, "hang")
	w.until(made.ID, "running")
	if ended := do[turnView](w, "POST /agent/turns/"+made.ID+"/cancel", `{"reason":"enough"}`); ended.Status != "canceled" || ended.StatusMessage != "enough" {
		t.Errorf("it ended as %+v", ended)
	}
	if again := do[turnView](w, "POST /agent/turns/"+made.ID+"/cancel", ``); again.StatusMessage != "enough" {
		t.Errorf("it was ended again: %+v", again)
	}
	events, _ := w.stream("/agent/turns/" + made.ID + "/events/stream")
	if last := events[len(events)-1]; last.Type != "turn.canceled" || last.Display.Text != "enough" {
		t.Errorf("the last event is %+v", last)
	}
}

func TestWhyATurnFailedIsSaid(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	s := do[sessionView](w, "POST /agent/sessions", "")
	failed := w.until(w.say(s.ID, "fail", "").ID, "failed")
	if !strings.Contains(failed.StatusMessage, "not amused") {
		t.Errorf("it failed with %q", failed.StatusMessage)
	}
	schema := `,"responseSchema":{"type":"object","required":["a"]}`
	formless := w.until(w.say(s.ID, "no JSON", schema).ID, "failed")
	if !strings.HasPrefix(formless.StatusMessage, "response_schema validation failed: ") {
		t.Errorf("it failed with %q", formless.StatusMessage)
	}
	formed := w.until(w.say(s.ID, `{\"a\":1}`, schema).ID, "succeeded")
	if string(formed.StructuredOutput) != `{"a":1}` || formed.OutputText != `{"a":1}` {
		t.Errorf("it is %+v", formed)
	}
}

func TestTheToolsOfATurn(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	for name, tt := range map[string]struct{ provider, more, want string }{
		"a search":               {"clerk", `,"toolSource":"native_search"`, "tool_search"},
		"a search of all":        {"plain", `,"toolSource":"native_search","toolRefs":[{"plugin":"*"}]`, "tool_search"},
		"nothing to search":      {"clerk", `,"toolSource":"native_search","toolRefs":[]`, "no tools"},
		"safe ones":              {"clerk", ``, "agent_run_boss list read"},
		"safe ones by name":      {"clerk", `,"toolSource":"mcp_catalog"`, "agent_run_boss list read"},
		"and those that it asks": {"clerk", `,"toolRefs":[{"plugin":"pay"}]`, "agent_run_boss list pay read"},
		"those alone":            {"clerk", `,"toolSource":"explicit","toolRefs":[{"app":"pay","operation":"pay"}]`, "pay"},
		"none":                   {"clerk", `,"toolRefs":[]`, "no tools"},
		"none explicitly":        {"clerk", `,"toolSource":"explicit"`, "no tools"},
		"all of the agent's":     {"clerk", `,"toolSource":"explicit","toolRefs":[{"plugin":"*"}]`, "list pay read"},
		"without an agent":       {"plain", ``, "list read"},
		"all without an agent":   {"plain", `,"toolRefs":[{"pluginName":"*"}]`, "list read"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := do[sessionView](w, "POST /agent/sessions", `{"provider":"`+tt.provider+`"}`)
			if got := w.until(w.say(s.ID, "tools", tt.more).ID, "succeeded").OutputText; got != tt.want {
				t.Errorf("it is offered %q and should be %q", got, tt.want)
			}
		})
	}
}

// TestTurnsWithoutAnAgentAreGivenNothingThatIsGuarded has providers without an agent, whose rules
// would apply, beside an agent that asks before it reads, and one that may not list.
func TestTurnsWithoutAnAgentAreGivenNothingThatIsGuarded(t *testing.T) {
	t.Parallel()
	rules := func(text string) spec.Sections { return spec.Sections{"permission": json.RawMessage(text)} }
	rt, err := builder.New().WithProvider("main", echoModel{}).WithModel(spec.Model{ID: "fast", ProviderID: "main", UpstreamModel: "gpt-fast"}).
		WithAvailablePlugin("permission", permission.New()).
		WithTool("free", deed(tools.Read)).WithTool("read", deed(tools.Read)).WithTool("list", deed(tools.Read)).WithTool("pay", deed(tools.Once)).
		WithAgentSpec(spec.Agent{ID: "asks", ModelID: "fast", PluginIDs: []string{"permission"}, Sections: rules(`{"default_behavior":"allow","rules":[{"tool":"read","behavior":"ask"}]}`)}).
		WithAgentSpec(spec.Agent{ID: "denies", ModelID: "fast", AllowedTools: spec.Names{"free", "list"}, PluginIDs: []string{"permission"}, Sections: rules(`{"default_behavior":"deny","rules":[{"tool":"free","behavior":"allow"}]}`)}).
		Build()
	if err != nil {
		t.Fatal(err)
	}
	w := serving(t, map[string]settings.SessionProvider{
		"plain": {Default: true}, "some": {Tools: spec.Names{"pay", "re*"}}, "all": {Tools: spec.Names{"*"}}, "none": {Tools: spec.Names{}},
	}, func(s *service.Settings) { s.Runtime = rt })
	for _, tt := range []struct{ provider, more, want string }{
		{"plain", ``, "free"},
		{"plain", `,"toolRefs":[{"plugin":"*"}]`, "free"},
		{"some", ``, "read"},
		{"some", `,"toolRefs":[{"plugin":"pay"}]`, "pay read"},
		{"all", ``, "free list read"},
		{"all", `,"toolRefs":[{"plugin":"*"}]`, "free list pay read"},
		{"none", `,"toolRefs":[{"plugin":"*"}]`, "no tools"},
	} {
		s := do[sessionView](w, "POST /agent/sessions", `{"provider":"`+tt.provider+`"}`)
		if got := w.until(w.say(s.ID, "tools", tt.more).ID, "succeeded").OutputText; got != tt.want {
			t.Errorf("%s %s: it is offered %q and should be %q", tt.provider, tt.more, got, tt.want)
		}
	}
	for _, tt := range []struct{ provider, tool, want string }{
		{"plain", "pay", "does more than read"}, {"plain", "read", "agent asks guards it"}, {"plain", "list", "agent denies guards it"},
		{"some", "list", "does not list it"}, {"none", "free", "does not list it"},
	} {
		s := do[sessionView](w, "POST /agent/sessions", `{"provider":"`+tt.provider+`"}`)
		status, text := w.ask("alice", "POST /agent/sessions/"+s.ID+"/turns", `{"messages":[{"role":"user","text":"tools"}],"toolRefs":[{"plugin":"`+tt.tool+`"}]}`)
		if status != http.StatusPreconditionFailed || !strings.Contains(text, tt.want) {
			t.Errorf("%s of %s: %d %s", tt.tool, tt.provider, status, text)
		}
	}
}

func TestAModelSearchesForItsTools(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	s := do[sessionView](w, "POST /agent/sessions", "")
	turn := w.until(w.say(s.ID, "find", `,"toolSource":"native_search","toolRefs":[{"plugin":"pay"}]`).ID, "succeeded")
	if turn.OutputText != "read tool_search" {
		t.Errorf("after a search it is offered %q", turn.OutputText)
	}
	_, text := w.ask("alice", "GET /agent/providers", "")
	if !strings.Contains(text, `"supportedToolSources":["mcp_catalog","explicit","native_search"]`) {
		t.Errorf("the providers are %s", text)
	}
}

func TestTheModelOfATurn(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	for name, tt := range map[string]struct{ session, more, want string }{
		"of the agent":    {`{}`, ``, "gpt-fast"},
		"of the provider": {`{"provider":"plain"}`, ``, "gpt-deep"},
		"of the session":  {`{"model":"deep"}`, ``, "gpt-deep"},
		"of the turn":     {`{"model":"deep"}`, `,"model":"fast"`, "gpt-fast"},
		"by its alias":    {`{"model":"deep"}`, `,"model":"quick","modelOptions":{"temperature":0.5}`, "gpt-fast"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := do[sessionView](w, "POST /agent/sessions", tt.session)
			if got := w.until(w.say(s.ID, "model", tt.more).ID, "succeeded").OutputText; got != tt.want {
				t.Errorf("it is %q and should be %q", got, tt.want)
			}
		})
	}
}

func TestARequestThatIsRepeatedIsCarriedOutOnce(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	session := do[sessionView](w, "POST /agent/sessions", `{"idempotencyKey":"k"}`)
	if again := do[sessionView](w, "POST /agent/sessions", `{}`, "Idempotency-Key", "k"); again.ID != session.ID {
		t.Error("there are two sessions")
	}
	path, body := "POST /agent/sessions/"+session.ID+"/turns", `{"messages":[{"role":"user","text":"hi"}],"idempotencyKey":"k"}`
	turn := do[turnView](w, path, body)
	if again := do[turnView](w, path, body, "Idempotency-Key", "k"); again.ID != turn.ID {
		t.Error("there are two turns")
	}
	for name, tt := range map[string]struct {
		body, key string
		want      int
	}{
		"another body": {`{"messages":[{"role":"user","text":"ho"}],"idempotencyKey":"k"}`, "", http.StatusConflict},
		"another key":  {body, "x", http.StatusBadRequest},
	} {
		status, text := w.ask("alice", path, tt.body, "Idempotency-Key", tt.key)
		if tt.key == "" {
			status, text = w.ask("alice", path, tt.body)
		}
		if status != tt.want {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
}

func TestWhatIsRefused(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	s := do[sessionView](w, "POST /agent/sessions", "")
	turn := w.until(w.say(s.ID, "hi", "").ID, "succeeded")
	turns, hi := "POST /agent/sessions/"+s.ID+"/turns", `{"messages":[{"role":"user","text":"hi"}]`
	for _, tt := range []struct {
		request, body string
		status        int
		text          string
	}{
		{"POST /agent/sessions", `{"provider":"x"}`, 503, `agent provider "x" is not available`},
		{"POST /agent/sessions", `{"model":"fats"}`, 400, `model "fats" is not available; did you mean "fast"?`},
		{"POST /agent/sessions", `{"metadata":{"cwd":"/"}}`, 400, `metadata key "cwd" is reserved`},
		{"POST /agent/sessions", `{"metadata":{"__gestalt.workspace.x":1}}`, 400, `metadata key "__gestalt.workspace.x" is reserved`},
		{"POST /agent/sessions", `{"metadata":{"__gestalt.workspaceZ":1}}`, 201, ``},
		{"POST /agent/sessions", `{"metadata":7}`, 400, `metadata`},
		{"POST /agent/sessions", `[]`, 400, `is not a JSON object`},
		{"POST /agent/sessions", `{"workspace":{"checkouts":[{"url":"https://git.example.com/a/b","path":"b"}],"cwd":"b"}}`, 412, `this server prepares no workspaces`},
		{"GET /agent/sessions?provider=x", ``, 503, `agent provider "x" is not available`},
		{"GET /agent/sessions?limit=0", ``, 400, `limit must be between 1 and 500`},
		{"GET /agent/sessions?limit=501", ``, 400, `limit must be between 1 and 500`},
		{"GET /agent/sessions?summary=maybe", ``, 400, `summary must be a boolean`},
		{"GET /agent/sessions?view=short", ``, 400, `view must be full or summary`},
		{"GET /agent/sessions?view=full&summary=true", ``, 400, `contradict`},
		{"GET /agent/sessions?state=x", ``, 400, `unsupported agent session state "x"`},
		{"GET /agent/sessions?after=x", ``, 400, `after is not a cursor of this list`},
		{"GET /agent/sessions/x", ``, 404, `session "x" not found`},
		{"PATCH /agent/sessions/" + s.ID, `{"state":"x"}`, 400, `unsupported agent session state "x"`},
		{"PATCH /agent/sessions/" + s.ID, `{"metadata":{"cwd":1}}`, 400, `metadata key "cwd" is reserved`},
		{"GET /agent/sessions/" + s.ID + "/turns?status=x", ``, 400, `unsupported agent turn status "x"`},
		{turns, ``, 400, `messages must have at least one message`},
		{turns, `{"messages":[{"role":"assistant","text":"hi"}]}`, 400, `the last message must not be the assistant's`},
		{turns, `{"messages":[{"role":"robot","text":"hi"}]}`, 400, `messages[0].role "robot" is not supported`},
		{turns, `{"messages":[{"role":"user"}]}`, 400, `messages[0] has neither text nor parts`},
		{turns, `{"messages":[{"role":"user","parts":[{"type":"video"}]}]}`, 400, `messages[0].parts[0].type "video" is not supported`},
		{turns, `{"messages":[{"role":"user","parts":[{"type":"tool_call"}]}]}`, 400, `messages[0].parts[0] is of type tool_call and lacks its content`},
		{turns, hi + `,"model":"x"}`, 400, `model "x" is not available`},
		{turns, hi + `,"modelOptions":{"heat":1}}`, 400, `modelOptions cannot be used`},
		{turns, hi + `,"responseSchema":[]}`, 400, `responseSchema must be an object`},
		{turns, hi + `,"toolSource":"psychic"}`, 400, `unsupported agent tool source "psychic"`},
		{turns, hi + `,"toolRefs":null}`, 400, `toolRefs must be an array`},
		{turns, hi + `,"toolRefs":{}}`, 400, `toolRefs: the value must not be a JSON object`},
		{turns, hi + `,"toolRefs":[{"plugin":7}]}`, 400, `toolRefs.plugin: the value must not be a JSON number`},
		{turns, hi + `,"toolRefs":[{}]}`, 400, `toolRefs[0].plugin or system is required`},
		{turns, hi + `,"toolRefs":[{"plugin":"pay"},{"plugin":"pay","app":"pay"}]}`, 400, `toolRefs[1] names more than one of plugin, app and system`},
		{turns, hi + `,"toolRefs":[{"plugin":"*","operation":"x"}]}`, 400, `toolRefs[0].plugin "*" must stand alone`},
		{turns, hi + `,"toolRefs":[{"plugin":"pay","operation":"*"}]}`, 400, `toolRefs[0]: "*" is allowed as a plugin only`},
		{turns, hi + `,"toolRefs":[{"plugin":"pay","credentialMode":"user"}]}`, 400, `toolRefs[0].credentialMode is not for callers to set`},
		{turns, hi + `,"toolRefs":[{"plugin":"pay","connection":"x"}]}`, 400, `toolRefs[0]: the tools of this server have one connection`},
		{turns, hi + `,"toolRefs":[{"plugin":"pya"}]}`, 404, `tool "pya" not found; did you mean "pay"?`},
		{turns, hi + `,"toolRefs":[{"plugin":"burn"}]}`, 404, `tool "burn" not found`},
		{turns, hi + `,"toolRefs":[{"plugin":"pay","operation":"x"}]}`, 404, `tool "pay.x" not found`},
		{turns, hi + `,"toolRefs":[{"system":"mail","operation":"x"}]}`, 400, `toolRefs[0].system "mail" is not supported`},
		{turns, hi + `,"toolRefs":[{"system":"workflow","operation":"x"}]}`, 400, `toolRefs[0].operation "x" is not supported`},
		{turns, hi + `,"toolRefs":[{"system":"workflow","operation":"runs.list"}]}`, 412, `toolRefs[0]: workflow tools are not configured`},
		{"POST /agent/sessions/x/turns", hi + `,"toolRefs":[{}]}`, 400, `toolRefs[0].plugin or system is required`},
		{"POST /agent/sessions/x/turns", hi + `}`, 404, `session "x" not found`},
		{"GET /agent/turns/x", ``, 404, `turn "x" not found`},
		{"GET /agent/turns/x/events/stream", ``, 404, `turn "x" not found`},
		{"GET /agent/turns/" + turn.ID + "/events?limit=1001", ``, 400, `limit must be between 0 and 1000`},
		{"GET /agent/turns/" + turn.ID + "/events?after=-1", ``, 400, `after must be a non-negative integer`},
		{"GET /agent/turns/" + turn.ID + "/events/stream?until=x", ``, 400, `unsupported until "x"`},
		{"POST /agent/turns/" + turn.ID + "/interactions/x/resolve", `{"resolution":{}}`, 404, `agent interaction not found`},
		{"POST /agent/harnesses/resolve", ``, 400, `no agent harness is configured`},
		{"POST /agent/harnesses/resolve", `{"provider":" "}`, 400, `no agent harness is configured`},
		{"POST /agent/harnesses/resolve", `{"provider":" x "}`, 503, `agent provider "x" is not available`},
	} {
		status, text := w.ask("alice", tt.request, tt.body)
		var body surfacekit.GestaltError
		_ = json.Unmarshal([]byte(text), &body) // a list has no error
		if status != tt.status || !strings.Contains(body.Error, tt.text) {
			t.Errorf("%s %s: %d %s", tt.request, tt.body, status, text)
		}
	}
	if status, text := w.ask("", "GET /agent/providers", ""); status != http.StatusUnauthorized || !strings.Contains(text, "missing authorization") {
		t.Errorf("without a credential: %d %s", status, text)
	}
	if status, text := w.ask("", "GET /auth/info", ""); status != http.StatusOK || !strings.Contains(text, `"features":{"agent":true}`) {
		t.Errorf("how to log in: %d %s", status, text)
	}
}

func TestStrangersFindNothing(t *testing.T) {
	t.Parallel()
	w := serving(t, twoProviders)
	s := do[sessionView](w, "POST /agent/sessions", "")
	turn := w.say(s.ID, "pay", `,"toolRefs":[{"plugin":"pay"}]`)
	w.until(turn.ID, "waiting_for_input")
	asked := do[[]interactionView](w, "GET /agent/turns/"+turn.ID+"/interactions", "")[0]
	theirs := map[string]string{}
	for _, name := range []string{"bob", "eve", "ann"} {
		status, text := w.ask(name, "POST /agent/sessions", `{"provider":"plain"}`)
		var own sessionView
		if err := json.Unmarshal([]byte(text), &own); err != nil || status != http.StatusCreated {
			t.Fatalf("%s: %d %s", name, status, text)
		}
		_, text = w.ask(name, "POST /agent/sessions/"+own.ID+"/turns", `{"messages":[{"role":"user","text":"hi"}]}`)
		var turn turnView
		if err := json.Unmarshal([]byte(text), &turn); err != nil || turn.ID == "" {
			t.Fatalf("%s: %s", name, text)
		}
		theirs[name] = turn.ID
	}
	for _, name := range []string{"bob", "eve", "ann"} {
		for _, request := range []string{
			"GET /agent/sessions/" + s.ID, "PATCH /agent/sessions/" + s.ID, "POST /agent/sessions/" + s.ID + "/turns", "GET /agent/sessions/" + s.ID + "/turns",
			"GET /agent/turns/" + turn.ID, "POST /agent/turns/" + turn.ID + "/cancel", "GET /agent/turns/" + turn.ID + "/events",
			"GET /agent/turns/" + turn.ID + "/events/stream", "GET /agent/turns/" + turn.ID + "/interactions",
			"POST /agent/turns/" + turn.ID + "/interactions/" + asked.ID + "/resolve",
			"POST /agent/turns/" + theirs[name] + "/interactions/" + asked.ID + "/resolve",
		} {
			body := ""
			if strings.HasPrefix(request, "P") {
				body = `{"messages":[{"role":"user","text":"hi"}],"resolution":{"approved":true},"state":"archived"}`
			}
			if status, text := w.ask(name, request, body); status != http.StatusNotFound {
				t.Errorf("%s of %s: %d %s", request, name, status, text)
			}
		}
	}
	if now := do[turnView](w, "GET /agent/turns/"+turn.ID, ""); now.Status != "waiting_for_input" {
		t.Errorf("the turn is %s", now.Status)
	}
	_, text := w.ask("ann", "GET /agent/providers", "")
	if strings.Contains(text, `"clerk"`) || !strings.Contains(text, `"plain"`) {
		t.Errorf("a key for the agent boss has the providers %s", text)
	}
	if status, text := w.ask("ann", "POST /agent/sessions", `{"provider":"clerk"}`); status != http.StatusServiceUnavailable {
		t.Errorf("a key for the agent boss uses another: %d %s", status, text)
	}
}

func TestAServerWithoutProvidersHasOne(t *testing.T) {
	t.Parallel()
	w := serving(t, nil)
	list := do[struct {
		Providers []struct {
			Name    string
			Default bool
		}
	}](w, "GET /agent/providers", "")
	if len(list.Providers) != 1 || list.Providers[0].Name != settings.DefaultSessionProvider || !list.Providers[0].Default {
		t.Errorf("the providers are %+v", list)
	}
	s := do[sessionView](w, "POST /agent/sessions", "")
	if status, text := w.ask("alice", "POST /agent/sessions/"+s.ID+"/turns", `{"messages":[{"role":"user","text":"hi"}]}`); status != http.StatusBadRequest || !strings.Contains(text, "model is required") {
		t.Errorf("a turn without a model: %d %s", status, text)
	}
	if got := w.until(w.say(s.ID, "model", `,"model":"deep"`).ID, "succeeded").OutputText; got != "gpt-deep" {
		t.Errorf("the model is %q", got)
	}
}

package main

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// row is what is demanded of one route.
type row struct {
	// public routes need no credential; scope is what the others need.
	public bool
	scope  string
	// speaks is how the route refuses.
	speaks *dialect
	asks   []inquiry
}

// inquiry is a request that the route answers.
type inquiry struct {
	// request is a method and a path, and behind a line feed its body. Names in
	// braces stand for what ann has made, and {workspace} for that of who asks.
	request string
	// owner is the status for ann, to whom belongs what the request names.
	owner int
	// lost is the answer for everybody else: a status, and what its body says. It
	// is empty where the request names nothing that belongs to anybody.
	lost string
	form bool
}

// dialect is how a surface refuses: the bodies for no credential, one that is not
// good, and one without the scope. REQUEST stands for the id of the request.
type dialect struct{ nobody, bad, scope string }

// The challenges that go with the refusals.
const (
	challengeNobody = `Bearer realm="agentruntime"`
	challengeBad    = `Bearer realm="agentruntime", error="invalid_token"`
	challengeScope  = `Bearer error="insufficient_scope", scope="%s"`
)

var (
	runsDialect = &dialect{
		`{"error":"Unauthorized","code":"unauthorized","message":"a credential is needed: an API key, as bearer token or in X-API-Key"}`,
		`{"error":"Invalid API key or OAuth access token","code":"unauthorized"}`,
		`{"error":"insufficient_scope","code":"insufficient_scope","required":"%s"}`,
	}
	plainDialect = &dialect{
		`{"error":{"code":"unauthorized","message":"a credential is needed: an API key, as bearer token or in X-API-Key","request_id":"REQUEST"}}`,
		`{"error":{"code":"unauthorized","message":"the credential is not good","request_id":"REQUEST"}}`,
		`{"error":{"code":"insufficient_scope","message":"the credential lacks the scope %s","request_id":"REQUEST"}}`,
	}
	rpcDialect = &dialect{
		`{"error":{"code":-31401,"message":"a credential is needed: an API key, as bearer token or in X-API-Key"},"id":null,"jsonrpc":"2.0"}`,
		`{"error":{"code":-31401,"message":"the credential is not good"},"id":null,"jsonrpc":"2.0"}`,
		`{"error":{"code":-31403,"message":"the credential lacks the scope %s"},"id":null,"jsonrpc":"2.0"}`,
	}
	restDialect = &dialect{
		`{"error":{"code":401,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","reason":"UNAUTHORIZED"}],"message":"a credential is needed: an API key, as bearer token or in X-API-Key","status":"UNAUTHENTICATED"}}`,
		`{"error":{"code":401,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","reason":"UNAUTHORIZED"}],"message":"the credential is not good","status":"UNAUTHENTICATED"}}`,
		`{"error":{"code":403,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","reason":"INSUFFICIENT_SCOPE"}],"message":"the credential lacks the scope %s","status":"PERMISSION_DENIED"}}`,
	}
)

const (
	runsAt          = "/api/v1/workspaces/{workspace}"
	noRun           = `404 {"error":"not_found","code":"not_found","message":"run \"{run}\" not found"}`
	noNativeSession = `404 "code":"not_found","message":"session \"{session}\" not found"`
	noNativeTurn    = `404 "code":"not_found","message":"turn \"{run}\" not found"`
	noSess          = `404 {"error":"not_found","code":"not_found","message":"session \"{session}\" not found"}`
)

// rows are all routes that this program answers. One that is missing here, and one
// that is not mounted any more, fail the test.
var rows = map[string]row{
	"GET /healthz":      {public: true, asks: []inquiry{{request: "GET /healthz", owner: 200}}},
	"GET /readyz":       {public: true, asks: []inquiry{{request: "GET /readyz", owner: 200}}},
	"GET /openapi.json": {public: true, asks: []inquiry{{request: "GET /openapi.json", owner: 200}}},
	"GET /metrics":      {scope: "metrics:read", speaks: plainDialect, asks: []inquiry{{request: "GET /metrics", owner: 200}}},

	// A client shows its secret in the form.
	"POST /api/oauth/token":  {public: true, asks: []inquiry{{request: "POST /api/oauth/token\ngrant_type=client_credentials&client_id=bot&client_secret=no", owner: 401, form: true}}},
	"POST /api/oauth/revoke": {public: true, asks: []inquiry{{request: "POST /api/oauth/revoke\ntoken=x&client_id=bot&client_secret=no", owner: 401, form: true}}},

	"GET /api/oauth/userinfo":                   {scope: "mantyx.identity:read", speaks: runsDialect, asks: []inquiry{{request: "GET /api/oauth/userinfo", owner: 200}}},
	"GET /api/v1/workspaces/{workspace}/models": {scope: "models:read", speaks: runsDialect, asks: []inquiry{{request: "GET " + runsAt + "/models", owner: 200}}},
	"POST /api/v1/workspaces/{workspace}/agent-runs": {scope: "runs:write", speaks: runsDialect, asks: []inquiry{
		{request: "POST " + runsAt + "/agent-runs\n" + `{"agentId":"{agent}","prompt":"hello"}`, owner: 202},
		{request: "POST " + runsAt + "/agent-runs\n" + `{"systemPrompt":"Help.","prompt":"hello"}`, owner: 202},
	}},
	"GET /api/v1/workspaces/{workspace}/agent-runs/{id}": {scope: "runs:read", speaks: runsDialect, asks: []inquiry{
		{request: "GET " + runsAt + "/agent-runs/{run}", owner: 200, lost: noRun},
	}},
	"GET /api/v1/workspaces/{workspace}/agent-runs/{id}/stream": {scope: "runs:read", speaks: runsDialect, asks: []inquiry{
		{request: "GET " + runsAt + "/agent-runs/{run}/stream", owner: 200, lost: noRun},
		{request: "GET " + runsAt + "/agent-runs/{run}/stream?after=2", owner: 200, lost: noRun},
	}},
	"POST /api/v1/workspaces/{workspace}/agent-runs/{id}/tool-results": {scope: "runs:write", speaks: runsDialect, asks: []inquiry{
		{request: "POST " + runsAt + "/agent-runs/{run}/tool-results\n" + `{"toolUseId":"{call}","result":"x"}`, owner: 200, lost: noRun},
	}},
	"POST /api/v1/workspaces/{workspace}/agent-runs/{id}/cancel": {scope: "runs:write", speaks: runsDialect, asks: []inquiry{
		{request: "POST " + runsAt + "/agent-runs/{run}/cancel", owner: 200, lost: noRun},
	}},
	"POST /api/v1/workspaces/{workspace}/agent-sessions": {scope: "sessions:write", speaks: runsDialect, asks: []inquiry{
		{request: "POST " + runsAt + "/agent-sessions\n" + `{"agentId":"{agent}"}`, owner: 201},
	}},
	"GET /api/v1/workspaces/{workspace}/agent-sessions/{id}": {scope: "sessions:read", speaks: runsDialect, asks: []inquiry{
		{request: "GET " + runsAt + "/agent-sessions/{session}", owner: 200, lost: noSess},
	}},
	"POST /api/v1/workspaces/{workspace}/agent-sessions/{id}/messages": {scope: "sessions:write", speaks: runsDialect, asks: []inquiry{
		{request: "POST " + runsAt + "/agent-sessions/{session}/messages\n" + `{"prompt":"hello"}`, owner: 202, lost: noSess},
	}},
	"DELETE /api/v1/workspaces/{workspace}/agent-sessions/{id}": {scope: "sessions:write", speaks: runsDialect, asks: []inquiry{
		{request: "DELETE " + runsAt + "/agent-sessions/{session}", owner: 200, lost: noSess},
	}},
	"POST /api/a2a/{workspace}/agents/{agent}": {scope: "a2a:invoke", speaks: runsDialect, asks: []inquiry{
		{request: "POST /api/a2a/{workspace}/agents/{agent}\n" + `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"parts":[{"kind":"text","text":"hello"}]}}}`, owner: 200},
		{
			request: "POST /api/a2a/{workspace}/agents/{agent}\n" + `{"jsonrpc":"2.0","id":1,"method":"message/send","params":{"message":{"contextId":"{talk}","parts":[{"kind":"text","text":"hello"}]}}}`,
			owner:   200, lost: `200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"there is no context \"{talk}\": leave contextId out to begin one"}}`,
		},
	}},
	"GET /api/a2a/{workspace}/agents/{agent}/.well-known/agent-card.json": {scope: "a2a:discovery", speaks: runsDialect, asks: []inquiry{
		{request: "GET /api/a2a/{workspace}/agents/{agent}/.well-known/agent-card.json", owner: 200},
	}},
	"GET /api/a2a/{workspace}/discovery": {scope: "a2a:discovery", speaks: runsDialect, asks: []inquiry{{request: "GET /api/a2a/{workspace}/discovery", owner: 200}}},

	"GET /runtime/v1/sessions": {scope: "sessions:read", speaks: plainDialect, asks: []inquiry{{request: "GET /runtime/v1/sessions", owner: 200}}},
	"POST /runtime/v1/sessions": {scope: "sessions:write", speaks: plainDialect, asks: []inquiry{
		{request: "POST /runtime/v1/sessions\n" + `{"agent_id":"{agent}"}`, owner: 201},
	}},
	"POST /runtime/v1/sessions/import": {scope: "sessions:write", speaks: plainDialect, asks: []inquiry{
		{request: "POST /runtime/v1/sessions/import\n" + `{"version":1,"session":{"id":"x","state":"active"}}`, owner: 201},
	}},
	"GET /runtime/v1/sessions/{session}": {scope: "sessions:read", speaks: plainDialect, asks: []inquiry{
		{request: "GET /runtime/v1/sessions/{session}", owner: 200, lost: noNativeSession},
	}},
	"GET /runtime/v1/sessions/{session}/export": {scope: "sessions:read", speaks: plainDialect, asks: []inquiry{
		{request: "GET /runtime/v1/sessions/{session}/export", owner: 200, lost: noNativeSession},
	}},
	"GET /runtime/v1/turns": {scope: "runs:read", speaks: plainDialect, asks: []inquiry{
		{request: "GET /runtime/v1/turns", owner: 200},
		{request: "GET /runtime/v1/turns?session_id={session}", owner: 200, lost: `200 {"turns":[]}`},
	}},
	"POST /runtime/v1/turns": {scope: "runs:write", speaks: plainDialect, asks: []inquiry{
		{request: "POST /runtime/v1/turns\n" + `{"session_id":"{session}","agent_id":"{agent}","input":[{"role":"user","parts":[{"type":"text","text":"hello"}]}]}`, owner: 201, lost: noNativeSession},
	}},
	"GET /runtime/v1/turns/{turn}": {scope: "runs:read", speaks: plainDialect, asks: []inquiry{
		{request: "GET /runtime/v1/turns/{run}", owner: 200, lost: noNativeTurn},
	}},
	"POST /runtime/v1/turns/{turn}/cancel": {scope: "runs:write", speaks: plainDialect, asks: []inquiry{
		{request: "POST /runtime/v1/turns/{run}/cancel\n{}", owner: 200, lost: noNativeTurn},
	}},
	"GET /runtime/v1/turns/{turn}/interactions": {scope: "runs:read", speaks: plainDialect, asks: []inquiry{
		{request: "GET /runtime/v1/turns/{run}/interactions", owner: 200, lost: noNativeTurn},
	}},
	"POST /runtime/v1/turns/{turn}/interactions/{interaction}": {scope: "runs:write", speaks: plainDialect, asks: []inquiry{
		{request: "POST /runtime/v1/turns/{task}/interactions/{ticket}\n" + `{"result":{"approved":true}}`, owner: 200, lost: `404 "code":"not_found"`},
	}},
	"GET /runtime/v1/turns/{turn}/events": {scope: "runs:read", speaks: plainDialect, asks: []inquiry{
		{request: "GET /runtime/v1/turns/{run}/events", owner: 200, lost: noNativeTurn},
		{request: "GET /runtime/v1/turns/{run}/events?after=1", owner: 200, lost: noNativeTurn},
	}},

	// What peers read before they have a key.
	"GET /.well-known/agent-card.json":             {public: true, asks: []inquiry{{request: "GET /.well-known/agent-card.json", owner: 200}}},
	"GET /a2a/{agent}/.well-known/agent-card.json": {public: true, asks: []inquiry{{request: "GET /a2a/{agent}/.well-known/agent-card.json", owner: 200}}},

	"/a2a/{agent}":                {scope: scopeA2A, speaks: restDialect, asks: []inquiry{{request: "GET /a2a/{agent}", owner: 405}, {request: "DELETE /a2a/{agent}", owner: 405}}},
	"/a2a/{agent}/v0.3":           {scope: scopeA2A, speaks: restDialect, asks: []inquiry{{request: "GET /a2a/{agent}/v0.3", owner: 405}}},
	"POST /a2a/{agent}":           {scope: scopeA2A, speaks: rpcDialect, asks: rpcQuestions},
	"POST /a2a/{agent}/v0.3":      {scope: scopeA2A, speaks: rpcDialect, asks: oldRPCQuestions},
	"/a2a/{agent}/{path...}":      {scope: scopeA2A, speaks: restDialect, asks: restQuestions},
	"/a2a/{agent}/v0.3/{path...}": {scope: scopeA2A, speaks: restDialect, asks: oldRESTQuestions},
}

// The answers of A2A for a task of somebody else.
const (
	noTask    = `404 there is no task \"{task}\"`
	noRPCTask = `200 "code":-32001,"message":"there is no task \"{task}\"`
	noContext = `there is no context \"{context}\"`
)

const (
	oneMessage = `"messageId":"{message}","role":"ROLE_USER","parts":[{"text":"hello"}]`
	oneAnswer  = `"taskId":"{task}","messageId":"{message}","role":"ROLE_USER","parts":[{"data":{"approved":true}}]`
	atOnce     = `"configuration":{"returnImmediately":true}`
)

var restQuestions = []inquiry{
	{request: "POST /a2a/{agent}/message:send\n{\"message\":{" + oneMessage + "}}", owner: 200},
	{request: "POST /a2a/{agent}/message:send\n{\"message\":{\"contextId\":\"{context}\"," + oneMessage + "}," + atOnce + "}", owner: 200, lost: "400 " + noContext},
	{request: "POST /a2a/{agent}/message:send\n{\"message\":{" + oneAnswer + "}}", owner: 200, lost: noTask},
	{request: "POST /a2a/{agent}/message:stream\n{\"message\":{" + oneMessage + "}}", owner: 200},
	{request: "POST /a2a/{agent}/message:stream\n{\"message\":{" + oneAnswer + "}}", owner: 200, lost: noTask},
	{request: "GET /a2a/{agent}/tasks", owner: 200},
	{request: "GET /a2a/{agent}/tasks/{task}", owner: 200, lost: noTask},
	{request: "GET /a2a/{agent}/tasks/{task}:subscribe", owner: 200, lost: noTask},
	{request: "POST /a2a/{agent}/tasks/{task}:subscribe", owner: 200, lost: noTask},
	{request: "POST /a2a/{agent}/tasks/{task}:cancel", owner: 200, lost: noTask},
	{request: "POST /a2a/{agent}/tasks/{task}/pushNotificationConfigs\n" + `{"url":"{hookurl}"}`, owner: 200, lost: noTask},
	{request: "GET /a2a/{agent}/tasks/{task}/pushNotificationConfigs", owner: 200, lost: noTask},
	{request: "GET /a2a/{agent}/tasks/{task}/pushNotificationConfigs/{hook}", owner: 200, lost: noTask},
	{request: "DELETE /a2a/{agent}/tasks/{task}/pushNotificationConfigs/{hook}", owner: 200, lost: noTask},
	{request: "GET /a2a/{agent}/extendedAgentCard", owner: 200},
	{request: "GET /a2a/{agent}/nothing", owner: 404},
}

const (
	oldMessage = `"kind":"message","messageId":"{message}","role":"user","parts":[{"kind":"text","text":"hello"}]`
	// As the protocol's HTTP+JSON has them.
	oldTold    = `"messageId":"{message}","role":"ROLE_USER","content":[{"text":"hello"}]`
	oldReplied = `"taskId":"{task}","messageId":"{message}","role":"ROLE_USER","content":[{"data":{"data":{"approved":true}}}]`
	oldAnswer  = `"kind":"message","taskId":"{task}","messageId":"{message}","role":"user","parts":[{"kind":"data","data":{"approved":true}}]`
)

const oldREST = "/a2a/{agent}/v0.3/v1"

var oldRESTQuestions = []inquiry{
	{request: "POST " + oldREST + "/message:send\n{\"message\":{" + oldTold + "}}", owner: 200},
	{request: "POST " + oldREST + "/message:send\n{\"message\":{" + oldReplied + "}}", owner: 200, lost: noTask},
	{request: "POST " + oldREST + "/message:stream\n{\"message\":{" + oldReplied + "}}", owner: 200, lost: noTask},
	{request: "GET " + oldREST + "/tasks", owner: 200},
	{request: "GET " + oldREST + "/tasks/{task}", owner: 200, lost: noTask},
	{request: "GET " + oldREST + "/tasks/{task}:subscribe", owner: 200, lost: noTask},
	{request: "POST " + oldREST + "/tasks/{task}:cancel", owner: 200, lost: noTask},
	{request: "POST " + oldREST + "/tasks/{task}/pushNotificationConfigs\n" + `{"pushNotificationConfig":{"url":"{hookurl}"}}`, owner: 200, lost: noTask},
	{request: "GET " + oldREST + "/tasks/{task}/pushNotificationConfigs", owner: 200, lost: noTask},
	{request: "GET " + oldREST + "/tasks/{task}/pushNotificationConfigs/{hook}", owner: 200, lost: noTask},
	{request: "DELETE " + oldREST + "/tasks/{task}/pushNotificationConfigs/{hook}", owner: 204, lost: noTask},
	{request: "GET " + oldREST + "/card", owner: 200},
}

// rpcs returns a question for each method of JSON-RPC.
func rpcs(at string, methods []inquiry) []inquiry {
	for i := range methods {
		method, params, _ := strings.Cut(methods[i].request, " ")
		methods[i].request = fmt.Sprintf("POST %s\n"+`{"jsonrpc":"2.0","id":1,"method":%q,"params":%s}`, at, method, params)
		methods[i].owner = http.StatusOK
	}
	return methods
}

var rpcQuestions = rpcs("/a2a/{agent}", []inquiry{
	{request: `SendMessage {"message":{` + oneMessage + `}}`},
	{request: `SendMessage {"message":{"contextId":"{context}",` + oneMessage + `},` + atOnce + `}`, lost: "200 " + noContext},
	{request: `SendMessage {"message":{` + oneAnswer + `}}`, lost: noRPCTask},
	{request: `SendStreamingMessage {"message":{` + oneAnswer + `}}`, lost: noRPCTask},
	{request: `GetTask {"id":"{task}"}`, lost: noRPCTask},
	{request: `ListTasks {}`},
	{request: `ListTasks {"contextId":"{context}"}`, lost: `200 "totalSize":0`},
	{request: `CancelTask {"id":"{task}"}`, lost: noRPCTask},
	{request: `SubscribeToTask {"id":"{task}"}`, lost: noRPCTask},
	{request: `CreateTaskPushNotificationConfig {"taskId":"{task}","url":"{hookurl}"}`, lost: noRPCTask},
	{request: `GetTaskPushNotificationConfig {"taskId":"{task}","id":"{hook}"}`, lost: noRPCTask},
	{request: `ListTaskPushNotificationConfigs {"taskId":"{task}"}`, lost: noRPCTask},
	{request: `DeleteTaskPushNotificationConfig {"taskId":"{task}","id":"{hook}"}`, lost: noRPCTask},
	{request: `GetExtendedAgentCard {}`},
	{request: `Nothing {}`},
})

var oldRPCQuestions = rpcs("/a2a/{agent}/v0.3", []inquiry{
	{request: `message/send {"message":{` + oldMessage + `}}`},
	{request: `message/send {"message":{` + oldAnswer + `}}`, lost: noRPCTask},
	{request: `message/stream {"message":{` + oldAnswer + `}}`, lost: noRPCTask},
	{request: `tasks/get {"id":"{task}"}`, lost: noRPCTask},
	{request: `tasks/cancel {"id":"{task}"}`, lost: noRPCTask},
	{request: `tasks/resubscribe {"id":"{task}"}`, lost: noRPCTask},
	{request: `tasks/pushNotificationConfig/set {"taskId":"{task}","pushNotificationConfig":{"url":"{hookurl}"}}`, lost: noRPCTask},
	{request: `tasks/pushNotificationConfig/get {"id":"{task}","pushNotificationConfigId":"{hook}"}`, lost: noRPCTask},
	{request: `tasks/pushNotificationConfig/list {"id":"{task}"}`, lost: noRPCTask},
	{request: `tasks/pushNotificationConfig/delete {"id":"{task}","pushNotificationConfigId":"{hook}"}`, lost: noRPCTask},
	{request: `agent/getAuthenticatedExtendedCard {}`},
})

func TestEveryRouteHasARowAndEveryRowARoute(t *testing.T) {
	w := newTown(t)
	mounted := map[string]bool{}
	for _, route := range w.Routes() {
		mounted[route.Pattern] = true
		want, known := rows[route.Pattern]
		if !known {
			t.Errorf("%q has no row: say who may ask, and what everybody else is told", route.Pattern)
			continue
		}
		if route.Public != want.public || route.Scope != want.scope {
			t.Errorf("%q is public: %v, and needs the scope %q", route.Pattern, route.Public, route.Scope)
		}
		if !route.Public && route.Scope == "" {
			t.Errorf("%q needs no scope: a key that may do nothing may use it", route.Pattern)
		}
	}
	for pattern := range rows {
		if !mounted[pattern] {
			t.Errorf("the row %q has no route", pattern)
		}
	}
}

// TestEveryRouteAnswersItsOwnerAlone asks each route as everybody there is.
func TestEveryRouteAnswersItsOwnerAlone(t *testing.T) {
	w := newTown(t)
	strangers := w.strangers(t)
	for _, route := range w.Routes() {
		for _, q := range rows[route.Pattern].asks {
			t.Run(strings.ReplaceAll(q.request, "/", "|"), func(t *testing.T) {
				v := visit{town: w, row: rows[route.Pattern], asked: q, made: w.make(t, q.request)}
				if _, at := w.mux.Handler(v.at(t, v.made, "acme")); at != route.Pattern {
					t.Fatalf("the request is one of %q", at)
				}
				v.byStrangers(t, strangers)
				v.withoutScope(t)
				v.byForeigners(t)
				v.withoutAgent(t)
				v.byOwner(t)
			})
		}
	}
	for _, secret := range w.secrets {
		if strings.Contains(w.log.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

// visit asks one question of one route.
type visit struct {
	*town
	row   row
	asked inquiry
	made  things
}

// at returns the request as somebody of a tenant sends it, who names some things.
func (v *visit) at(t *testing.T, named things, tenant string) *http.Request {
	t.Helper()
	method, path, _ := v.parts(named, tenant)
	req, err := http.NewRequestWithContext(t.Context(), method, v.LocalURL()+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return req
}

func (v *visit) parts(named things, tenant string) (method, path, body string) {
	request, body, _ := strings.Cut(named.fill(v.asked.request, tenant), "\n")
	method, path, _ = strings.Cut(request, " ")
	return method, path, body
}

// put sends the request, and checks that the answer tells nothing that whoever
// asks does not know.
func (v *visit) put(t *testing.T, named things, tenant string, header http.Header, query string) heard {
	t.Helper()
	got := v.send(t, named, tenant, header, query)
	_, path, body := v.parts(named, tenant)
	if leaked := v.leaks(&got, path+body, v.made); len(leaked) > 0 {
		t.Errorf("the answer holds %q: %s", leaked, got.body)
	}
	return got
}

func (v *visit) send(t *testing.T, named things, tenant string, header http.Header, query string) heard {
	t.Helper()
	method, path, body := v.parts(named, tenant)
	if query != "" {
		mark := "?"
		if strings.Contains(path, mark) {
			mark = "&"
		}
		path += mark + query
	}
	headers := []http.Header{header}
	if strings.Contains(path, "/v0.3") {
		headers = append(headers, http.Header{"A2a-Version": {"0.3"}})
	}
	if v.asked.form {
		headers = append(headers, http.Header{"Content-Type": {"application/x-www-form-urlencoded"}})
	}
	return v.ask(t, method, path, body, headers...)
}

// refused checks a refusal of the router.
func refused(t *testing.T, who string, got *heard, status int, challenge, body string) {
	t.Helper()
	said := strings.TrimSpace(strings.ReplaceAll(got.body, got.header.Get("X-Request-Id"), "REQUEST"))
	if got.status != status || got.header.Get("WWW-Authenticate") != challenge || said != body {
		t.Errorf("with %s it says %d, %s, %s\nwant %d, %s, %s", who, got.status, got.header.Get("WWW-Authenticate"), said, status, challenge, body)
	}
	if got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("the refusal of %s may be kept: %v", who, got.header)
	}
}

// byStrangers asks without a good credential: the answer does not depend on
// whether there is what is asked for.
func (v *visit) byStrangers(t *testing.T, strangers map[string]stranger) {
	t.Helper()
	gone := v.made.gone()
	for who, s := range strangers {
		got := v.put(t, v.made, "acme", s.header, s.query)
		if v.row.public {
			_, clients := s.header["Authorization"]
			if got.status != v.asked.owner && (!clients || !v.asked.form) { // a client may show its secret there
				t.Errorf("with %s it says %d: %s", who, got.status, got.body)
			}
			continue
		}
		if s.silent {
			refused(t, who, &got, http.StatusUnauthorized, challengeNobody, v.row.speaks.nobody)
		} else {
			refused(t, who, &got, http.StatusUnauthorized, challengeBad, v.row.speaks.bad)
		}
		if none := v.put(t, gone, "acme", s.header, s.query); none.same(gone) != got.same(v.made) {
			t.Errorf("with %s what exists is told from what does not:\n%s\n%s", who, got.same(v.made), none.same(gone))
		}
	}
}

// withoutScope asks as the owner who may do everything else.
func (v *visit) withoutScope(t *testing.T) {
	t.Helper()
	if v.row.public {
		return
	}
	others := slices.DeleteFunc(slices.Clone(v.scopes), func(scope string) bool { return scope == v.row.scope })
	for who, scopes := range map[string][]string{"all other scopes": others, "no scope": nil, "a part of the scope": {v.row.scope[:len(v.row.scope)-1], "*", "all"}} {
		got := v.put(t, v.made, "acme", bearer(v.token(t, "acme", "ann", scopes...)), "")
		refused(t, who, &got, http.StatusForbidden, fmt.Sprintf(challengeScope, v.row.scope), strings.ReplaceAll(v.row.speaks.scope, "%s", v.row.scope))
	}
}

// byForeigners asks as others who may do everything, but own nothing: they are
// told what they would be told if it did not exist.
func (v *visit) byForeigners(t *testing.T) {
	t.Helper()
	if v.row.public {
		return
	}
	gone := v.made.gone()
	if agent, named := v.made["{agent}"]; named {
		gone["{agent}"] = agent
	}
	for who, caller := range map[string][2]string{"another workspace": {"globex", "bob"}, "another subject": {"acme", "ben"}, "the same name elsewhere": {"globex", "ann"}} {
		header := bearer(v.token(t, caller[0], caller[1], v.scopes...))
		got := v.put(t, v.made, caller[0], header, "")
		if v.asked.lost != "" {
			status, says, _ := strings.Cut(v.asked.lost, " ")
			if fmt.Sprint(got.status) != status || !strings.Contains(got.body, v.made.fill(says, "")) {
				t.Errorf("%s is told %d: %s", who, got.status, got.body)
			}
			if none := v.put(t, gone, caller[0], header, ""); none.same(gone) != got.same(v.made) {
				t.Errorf("%s can tell what exists from what does not:\n%s\n%s", who, got.same(v.made), none.same(gone))
			}
		}
		if caller[0] != "acme" && strings.Contains(v.asked.request, "{workspace}") {
			got := v.put(t, v.made, "acme", header, "")
			if want := `{"error":"Workspace path does not match this credential","code":"not_found","hint":"globex"}`; got.status != http.StatusNotFound || strings.TrimSpace(got.body) != want {
				t.Errorf("in the workspace of others %s is told %d: %s", who, got.status, got.body)
			}
			if none := v.put(t, v.made, "nobody", header, ""); none.same(v.made) != got.same(v.made) {
				t.Errorf("%s can tell a workspace that exists from one that does not: %s", who, none.body)
			}
		}
	}
}

// withoutAgent asks as the owner who may use another agent only: it looks as if
// there were none.
func (v *visit) withoutAgent(t *testing.T) {
	t.Helper()
	if v.row.public || !strings.Contains(v.asked.request, "{agent}") {
		return
	}
	named := things{}
	for name, value := range v.made {
		named[name] = value
	}
	named["{agent}"] = "klerk"
	got, none := v.put(t, v.made, "acme", bearer(eveKey), ""), v.put(t, named, "acme", bearer(eveKey), "")
	if got.same(v.made) != none.same(named) {
		t.Errorf("an agent that may not be used is told from one that does not exist:\n%s\n%s", got.same(v.made), none.same(named))
	}
}

// byOwner asks as the owner, who may do nothing else: only then what was asked for
// before did exist, and still does.
func (v *visit) byOwner(t *testing.T) {
	t.Helper()
	scopes := []string{v.row.scope}
	if v.row.public {
		scopes = nil
	}
	got := v.send(t, v.made, "acme", bearer(v.token(t, "acme", "ann", scopes...)), "")
	if got.status != v.asked.owner || v.asked.lost != "" && strings.Contains(got.body, `"error":{"code"`) {
		t.Errorf("the owner is told %d: %s", got.status, got.body)
	}
	if secret := regexp.MustCompile(headerSecret + "|" + encryptionKey + "|" + botSecret).FindString(got.body); secret != "" {
		t.Errorf("the owner is told %s: %s", secret, got.body)
	}
}

package cli

import (
	"fmt"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/config/settings"
)

// row defines the requirements for a route.
type row struct {
	// public routes need no credential; scope is the scope that other routes need.
	public bool
	scope  string
	// speaks is the form of the route's errors.
	speaks *dialect
	asks   []inquiry
}

// inquiry is a request that the route answers.
type inquiry struct {
	// request is a method, a path and, after a line feed, a body. Names in braces stand for things
	// that ann has created, and {workspace} for the caller's workspace.
	request string
	// owner is the status for ann, who owns the things named by the request.
	owner int
	// lost is the answer for all other callers: a status and the body's text. It is empty if the
	// request names nothing that has an owner.
	lost string
	form bool
}

// dialect defines the error bodies of a surface: for no credential, an invalid credential, and a
// missing scope. REQUEST stands for the request's id.
type dialect struct{ nobody, bad, scope string }

// The challenges of rejected requests.
const (
	challengeNobody = `Bearer realm="agentruntime"`
	challengeBad    = `Bearer realm="agentruntime", error="invalid_token"`
	challengeScope  = `Bearer error="insufficient_scope", scope="%s"`
)

var (
	runsDialect = &dialect{
		`{"error":"Unauthorized","code":"unauthorized","message":"a credential is needed: an API key, as bearer token or in X-API-Key","hint":"a credential is needed: an API key, as bearer token or in X-API-Key"}`,
		`{"error":"Invalid API key or OAuth access token","code":"unauthorized","hint":"the credential is not valid"}`,
		`{"error":"insufficient_scope","code":"insufficient_scope","hint":"the credential lacks the scope %s","required":"%s"}`,
	}
	plainDialect = &dialect{
		`{"error":{"code":"unauthorized","message":"a credential is needed: an API key, as bearer token or in X-API-Key","request_id":"REQUEST"}}`,
		`{"error":{"code":"unauthorized","message":"the credential is not valid","request_id":"REQUEST"}}`,
		`{"error":{"code":"insufficient_scope","message":"the credential lacks the scope %s","request_id":"REQUEST"}}`,
	}
	sessionsDialect = &dialect{
		`{"error":"missing authorization","code":"unauthorized"}`,
		`{"error":"the credential is not valid","code":"unauthorized"}`,
		`{"error":"the credential lacks the scope %s","code":"insufficient_scope"}`,
	}
	textDialect = &dialect{
		"UNAUTHENTICATED: a credential is needed: an API key, as bearer token or in X-API-Key",
		"UNAUTHENTICATED: the credential is not valid",
		"PERMISSION_DENIED: the credential lacks the scope %s",
	}
	openaiDialect = &dialect{
		`{"error":{"message":"a credential is needed: an API key, as bearer token or in X-API-Key","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
		`{"error":{"message":"the credential is not valid","type":"invalid_request_error","param":null,"code":"invalid_api_key"}}`,
		`{"error":{"message":"the credential lacks the scope %s","type":"invalid_request_error","param":null,"code":"insufficient_scope"}}`,
	}
	aguiDialect = &dialect{
		`{"error":"unauthorized","message":"a credential is needed: an API key, as bearer token or in X-API-Key"}`,
		`{"error":"unauthorized","message":"the credential is not valid"}`,
		`{"error":"insufficient_scope","message":"the credential lacks the scope %s"}`,
	}
	mcpDialect = &dialect{
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"a credential is needed: an API key, as bearer token or in X-API-Key"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the credential is not valid"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"the credential lacks the scope %s"}}`,
	}
	aisdkDialect = &dialect{
		"a credential is needed: an API key, as bearer token or in X-API-Key",
		"the credential is not valid",
		"the credential lacks the scope %s",
	}
	rpcDialect = &dialect{
		`{"error":{"code":-31401,"message":"a credential is needed: an API key, as bearer token or in X-API-Key"},"id":null,"jsonrpc":"2.0"}`,
		`{"error":{"code":-31401,"message":"the credential is not valid"},"id":null,"jsonrpc":"2.0"}`,
		`{"error":{"code":-31403,"message":"the credential lacks the scope %s"},"id":null,"jsonrpc":"2.0"}`,
	}
	restDialect = &dialect{
		`{"error":{"code":401,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","reason":"UNAUTHORIZED"}],"message":"a credential is needed: an API key, as bearer token or in X-API-Key","status":"UNAUTHENTICATED"}}`,
		`{"error":{"code":401,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","reason":"UNAUTHORIZED"}],"message":"the credential is not valid","status":"UNAUTHENTICATED"}}`,
		`{"error":{"code":403,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","reason":"INSUFFICIENT_SCOPE"}],"message":"the credential lacks the scope %s","status":"PERMISSION_DENIED"}}`,
	}
	oldRESTDialect = &dialect{
		`{"error":{"code":401,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","reason":"UNAUTHORIZED"}],"message":"a credential is needed: an API key, as bearer token or in X-API-Key","status":"UNAUTHENTICATED"},"code":-31401,"message":"a credential is needed: an API key, as bearer token or in X-API-Key"}`,
		`{"error":{"code":401,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","reason":"UNAUTHORIZED"}],"message":"the credential is not valid","status":"UNAUTHENTICATED"},"code":-31401,"message":"the credential is not valid"}`,
		`{"error":{"code":403,"details":[{"@type":"type.googleapis.com/google.rpc.ErrorInfo","domain":"a2a-protocol.org","reason":"INSUFFICIENT_SCOPE"}],"message":"the credential lacks the scope %s","status":"PERMISSION_DENIED"},"code":-31403,"message":"the credential lacks the scope %s"}`,
	}
)

const (
	mcpHello        = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`
	runsAt          = "/api/v1/workspaces/{workspace}"
	noRun           = `404 {"error":"not_found","code":"not_found","message":"run \"{run}\" not found","hint":"run \"{run}\" not found"}`
	noApproval      = `404 {"error":"not_found","code":"not_found","message":"run \"{approval}\" not found","hint":"run \"{approval}\" not found"}`
	sessionsAt      = "/api/v1/agent"
	noTalk          = `404 {"error":"session \"{chat}\" not found","code":"not_found"}`
	noChatTurn      = `404 {"error":"turn \"{asking}\" not found","code":"not_found"}`
	noSnapshot      = `404 NOT_FOUND: snapshot "{interrupted}" not found`
	noNativeSession = `404 "code":"not_found","message":"session \"{session}\" not found"`
	noNativeTurn    = `404 "code":"not_found","message":"turn \"{run}\" not found"`
	noResponse      = `404 {"error":{"message":"Response with id '{response}' not found."`
	noConversation  = `404 {"error":{"message":"Conversation with id '{conversation}' not found."`
	noSess          = `404 {"error":"not_found","code":"not_found","message":"session \"{session}\" not found","hint":"session \"{session}\" not found"}`
)

// readsConfig is a route that reads the configuration.
func readsConfig(path string) row {
	return row{scope: "config:read", speaks: plainDialect, asks: []inquiry{{request: "GET /runtime/v1" + path, owner: 200}}}
}

// changesConfig is a route that changes the configuration, here without the revision to change.
func changesConfig(request string) row {
	method, path, _ := strings.Cut(request, " ")
	return row{scope: "config:write", speaks: plainDialect, asks: []inquiry{{request: method + " /runtime/v1" + path, owner: 400}}}
}

// tenantRoute is a route about the overlay of the caller's tenant.
func tenantRoute(verb, request string, owner int) row {
	method, path, _ := strings.Cut(request, " ")
	return row{scope: "config:" + verb + ":own", speaks: plainDialect, asks: []inquiry{{request: method + " /runtime/v1" + path, owner: owner}}}
}

// rows lists all routes of this program. A missing route and a route that is no longer mounted fail
// the test.
var rows = map[string]row{
	"GET /healthz":      {public: true, asks: []inquiry{{request: "GET /healthz", owner: 200}}},
	"GET /readyz":       {public: true, asks: []inquiry{{request: "GET /readyz", owner: 200}}},
	"GET /{$}":          {public: true, asks: []inquiry{{request: "GET /", owner: 200}}},
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
	"POST /api/v1/workspaces/{workspace}/agent-runs/{id}/interactions/{interaction}": {scope: "runs:write", speaks: runsDialect, asks: []inquiry{
		{request: "POST " + runsAt + "/agent-runs/{approval}/interactions/{consent}\n" + `{"result":{"approved":true}}`, owner: 200, lost: noApproval},
	}},
	"POST /api/v1/workspaces/{workspace}/agent-runs/{id}/cancel": {scope: "runs:write", speaks: runsDialect, asks: []inquiry{
		{request: "POST " + runsAt + "/agent-runs/{run}/cancel", owner: 200, lost: noRun},
	}},
	"POST /api/v1/workspaces/{workspace}/agent-sessions": {scope: "sessions:write", speaks: runsDialect, asks: []inquiry{
		{request: "POST " + runsAt + "/agent-sessions\n" + `{"agentId":"{agent}"}`, owner: 201},
	}},
	"GET /api/v1/workspaces/{workspace}/agent-sessions": {scope: "sessions:read", speaks: runsDialect, asks: []inquiry{
		{request: "GET " + runsAt + "/agent-sessions", owner: 501},
	}},
	"GET /api/v1/workspaces/{workspace}/agent-sessions/{id}/events": {scope: "sessions:read", speaks: runsDialect, asks: []inquiry{
		{request: "GET " + runsAt + "/agent-sessions/{session}/events", owner: 501, lost: noSess},
	}},
	"POST /api/v1/workspaces/{workspace}/agent-runs/{id}/feedback": {scope: "runs:write", speaks: runsDialect, asks: []inquiry{
		{request: "POST " + runsAt + "/agent-runs/{run}/feedback", owner: 501, lost: noRun},
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
			owner:   200, lost: `200 {"jsonrpc":"2.0","id":1,"error":{"code":-32602,"message":"there is no context \"{talk}\": omit contextId to start one"}}`,
		},
	}},
	"GET /api/a2a/{workspace}/agents/{agent}/.well-known/agent-card.json": {scope: "a2a:discovery", speaks: runsDialect, asks: []inquiry{
		{request: "GET /api/a2a/{workspace}/agents/{agent}/.well-known/agent-card.json", owner: 200},
	}},
	"GET /api/a2a/{workspace}/discovery": {scope: "a2a:discovery", speaks: runsDialect, asks: []inquiry{{request: "GET /api/a2a/{workspace}/discovery", owner: 200}}},

	"POST /agui/{agent}": {scope: "runs:write", speaks: aguiDialect, asks: []inquiry{
		{request: "POST /agui/{agent}\n" + `{"threadId":"thread","runId":"run","messages":[{"id":"u","role":"user","content":"hello"}]}`, owner: 200},
	}},
	"POST /agui/{agent}/{thread}/stop": {scope: "runs:write", speaks: aguiDialect, asks: []inquiry{
		{request: "POST /agui/{agent}/{session}/stop", owner: 200, lost: `404 {"error":"not_found","message":"thread \"{session}\" not found"}`},
	}},
	"POST /mcp":           {scope: "runs:write", speaks: mcpDialect, asks: []inquiry{{request: "POST /mcp\n" + mcpHello, owner: 400}}},
	"GET /mcp":            {scope: "runs:write", speaks: mcpDialect, asks: []inquiry{{request: "GET /mcp", owner: 400}}},
	"DELETE /mcp":         {scope: "runs:write", speaks: mcpDialect, asks: []inquiry{{request: "DELETE /mcp", owner: 400}}},
	"POST /mcp/{agent}":   {scope: "runs:write", speaks: mcpDialect, asks: []inquiry{{request: "POST /mcp/{agent}\n" + mcpHello, owner: 400}}},
	"GET /mcp/{agent}":    {scope: "runs:write", speaks: mcpDialect, asks: []inquiry{{request: "GET /mcp/{agent}", owner: 400}}},
	"DELETE /mcp/{agent}": {scope: "runs:write", speaks: mcpDialect, asks: []inquiry{{request: "DELETE /mcp/{agent}", owner: 400}}},
	"GET /.well-known/oauth-protected-resource":             {public: true},
	"GET /.well-known/oauth-protected-resource/mcp":         {public: true},
	"GET /.well-known/oauth-protected-resource/mcp/{agent}": {public: true},
	"POST /aisdk/{agent}": {scope: "runs:write", speaks: aisdkDialect, asks: []inquiry{
		{request: "POST /aisdk/{agent}\n" + `{"id":"chat","messages":[{"id":"u","role":"user","parts":[{"type":"text","text":"hello"}]}]}`, owner: 200},
	}},
	"GET /aisdk/{agent}/{chat}": {scope: "runs:read", speaks: aisdkDialect, asks: []inquiry{
		{request: "GET /aisdk/{agent}/{session}", owner: 200, lost: `404 chat "{session}" not found`},
	}},
	"GET /aisdk/{agent}/{chat}/stream": {scope: "runs:read", speaks: aisdkDialect, asks: []inquiry{
		{request: "GET /aisdk/{agent}/none/stream", owner: 204},
	}},
	"POST /aisdk/{agent}/{chat}/stop": {scope: "runs:write", speaks: aisdkDialect, asks: []inquiry{
		{request: "POST /aisdk/{agent}/{session}/stop", owner: 200, lost: `404 chat "{session}" not found`},
	}},
	"GET /v1/models":         {scope: "models:read", speaks: openaiDialect, asks: []inquiry{{request: "GET /v1/models", owner: 200}}},
	"GET /v1/models/{model}": {scope: "models:read", speaks: openaiDialect, asks: []inquiry{{request: "GET /v1/models/{agent}", owner: 200}}},
	"POST /v1/chat/completions": {scope: "runs:write", speaks: openaiDialect, asks: []inquiry{
		{request: "POST /v1/chat/completions\n" + `{"model":"{agent}","messages":[{"role":"user","content":"hello"}]}`, owner: 200},
		{request: "POST /v1/chat/completions\n" + `{"model":"{agent}","stream":true,"messages":[{"role":"user","content":"hello"}]}`, owner: 200},
	}},
	"POST /v1/responses": {scope: "runs:write", speaks: openaiDialect, asks: []inquiry{
		{request: "POST /v1/responses\n" + `{"model":"{agent}","input":"hello"}`, owner: 200},
		{request: "POST /v1/responses\n" + `{"model":"clerk","input":"hello","conversation":"{conversation}"}`, owner: 200, lost: noConversation},
		{
			request: "POST /v1/responses\n" + `{"model":"clerk","input":"hello","previous_response_id":"{response}"}`, owner: 200,
			lost: `400 {"error":{"message":"Previous response with id '{response}' not found."`,
		},
	}},
	"GET /v1/responses/{id}":                     responseRoute("runs:read", "GET /v1/responses/{response}"),
	"POST /v1/responses/{id}/cancel":             responseRoute("runs:write", "POST /v1/responses/{response}/cancel"),
	"DELETE /v1/responses/{id}":                  responseRoute("runs:write", "DELETE /v1/responses/{response}"),
	"GET /v1/responses/{id}/input_items":         responseRoute("runs:read", "GET /v1/responses/{response}/input_items"),
	"POST /v1/conversations":                     {scope: "sessions:write", speaks: openaiDialect, asks: []inquiry{{request: "POST /v1/conversations\n{}", owner: 200}}},
	"GET /v1/conversations/{id}":                 conversationRoute("sessions:read", "GET /v1/conversations/{conversation}"),
	"POST /v1/conversations/{id}":                conversationRoute("sessions:write", "POST /v1/conversations/{conversation}\n{}"),
	"DELETE /v1/conversations/{id}":              conversationRoute("sessions:write", "DELETE /v1/conversations/{conversation}"),
	"GET /v1/conversations/{id}/items":           conversationRoute("sessions:read", "GET /v1/conversations/{conversation}/items"),
	"POST /v1/conversations/{id}/items":          conversationRoute("sessions:write", "POST /v1/conversations/{conversation}/items\n"+`{"items":[{"role":"user","content":"hello"}]}`),
	"GET /v1/conversations/{id}/items/{item}":    conversationRoute("sessions:read", "GET /v1/conversations/{conversation}/items/{item}"),
	"DELETE /v1/conversations/{id}/items/{item}": conversationRoute("sessions:write", "DELETE /v1/conversations/{conversation}/items/{item}"),

	"GET /runtime/v1/agents":                  readsConfig("/agents"),
	"GET /runtime/v1/agents/{id}":             readsConfig("/agents/{agent}"),
	"GET /runtime/v1/agents/{id}/explain":     readsConfig("/agents/{agent}/explain"),
	"POST /runtime/v1/agents/{id}/check-call": {scope: "config:read", speaks: plainDialect, asks: []inquiry{{request: "POST /runtime/v1/agents/{agent}/check-call\n" + `{"tool":"refund"}`, owner: 200}}},
	"GET /runtime/v1/models":                  readsConfig("/models?limit=1"),
	"GET /runtime/v1/models/{id}":             readsConfig("/models/m"),
	"GET /runtime/v1/pools":                   readsConfig("/pools"),
	"GET /runtime/v1/pools/{id}":              {scope: "config:read", speaks: plainDialect, asks: []inquiry{{request: "GET /runtime/v1/pools/none", owner: 404}}},
	"GET /runtime/v1/tools":                   readsConfig("/tools"),
	"GET /runtime/v1/tools/{id}":              readsConfig("/tools/refund"),
	"GET /runtime/v1/providers":               readsConfig("/providers"),
	"GET /runtime/v1/providers/{id}":          readsConfig("/providers/s"),
	"GET /runtime/v1/plugins":                 readsConfig("/plugins"),
	"GET /runtime/v1/agent_providers":         readsConfig("/agent_providers"),
	"GET /runtime/v1/agent_providers/{id}":    {scope: "config:read", speaks: plainDialect, asks: []inquiry{{request: "GET /runtime/v1/agent_providers/none", owner: 404}}},
	"GET /runtime/v1/workflows":               readsConfig("/workflows"),
	"GET /runtime/v1/plugins/{id}":            {scope: "config:read", speaks: plainDialect, asks: []inquiry{{request: "GET /runtime/v1/plugins/none", owner: 404}}},
	"GET /runtime/v1/workflows/{id}":          {scope: "config:read", speaks: plainDialect, asks: []inquiry{{request: "GET /runtime/v1/workflows/none", owner: 404}}},
	"GET /runtime/v1/diagnostics":             readsConfig("/diagnostics"),
	"GET /runtime/v1/revisions":               readsConfig("/revisions"),
	"GET /runtime/v1/revisions/{hash}":        {scope: "config:read", speaks: plainDialect, asks: []inquiry{{request: "GET /runtime/v1/revisions/none", owner: 404}}},
	"GET /runtime/v1/revisions/{hash}/diff":   {scope: "config:read", speaks: plainDialect, asks: []inquiry{{request: "GET /runtime/v1/revisions/none/diff", owner: 404}}},
	"GET /runtime/v1/attempts":                readsConfig("/attempts"),

	"GET /runtime/v1/tenants/{tenant}/variables":           tenantRoute("read", "GET /tenants/acme/variables", 200),
	"PUT /runtime/v1/tenants/{tenant}/variables/{name}":    tenantRoute("write", "PUT /tenants/acme/variables/none\n"+`{"value":"x"}`, 400),
	"DELETE /runtime/v1/tenants/{tenant}/variables/{name}": tenantRoute("write", "DELETE /tenants/acme/variables/none", 404),

	"POST /runtime/v1/tenants/{tenant}/logins/{server}":        tenantRoute("write", "POST /tenants/acme/logins/none\n"+`{"redirect_url":"http://127.0.0.1:9/callback"}`, 404),
	"POST /runtime/v1/tenants/{tenant}/logins/{server}/finish": tenantRoute("write", "POST /tenants/acme/logins/none/finish\n"+`{"id":"none","redirect":"code=x&state=y"}`, 404),
	"DELETE /runtime/v1/tenants/{tenant}/logins/{server}":      tenantRoute("write", "DELETE /tenants/acme/logins/none", 404),

	"POST /runtime/v1/validate": {scope: "config:read", speaks: plainDialect, asks: []inquiry{{request: "POST /runtime/v1/validate\n" + `{"document":{"version":1,"agents":{"a":{"model_id":"none"}}}}`, owner: 200}}},

	"PUT /runtime/v1/agents/{id}":                changesConfig("PUT /agents/a\n" + `{"value":{}}`),
	"DELETE /runtime/v1/agents/{id}":             changesConfig("DELETE /agents/a"),
	"PUT /runtime/v1/models/{id}":                changesConfig("PUT /models/a\n" + `{"value":{}}`),
	"DELETE /runtime/v1/models/{id}":             changesConfig("DELETE /models/a"),
	"PUT /runtime/v1/pools/{id}":                 changesConfig("PUT /pools/a\n" + `{"value":{}}`),
	"DELETE /runtime/v1/pools/{id}":              changesConfig("DELETE /pools/a"),
	"PUT /runtime/v1/tools/{id}":                 changesConfig("PUT /tools/a\n" + `{"value":{}}`),
	"DELETE /runtime/v1/tools/{id}":              changesConfig("DELETE /tools/a"),
	"PUT /runtime/v1/providers/{id}":             changesConfig("PUT /providers/a\n" + `{"value":{}}`),
	"DELETE /runtime/v1/providers/{id}":          changesConfig("DELETE /providers/a"),
	"PUT /runtime/v1/plugins/{id}":               changesConfig("PUT /plugins/a\n" + `{"value":{}}`),
	"PUT /runtime/v1/workflows/{id}":             changesConfig("PUT /workflows/a\n" + `{"value":{}}`),
	"DELETE /runtime/v1/plugins/{id}":            changesConfig("DELETE /plugins/a"),
	"PUT /runtime/v1/agent_providers/{id}":       changesConfig("PUT /agent_providers/a\n" + `{"value":{}}`),
	"DELETE /runtime/v1/agent_providers/{id}":    changesConfig("DELETE /agent_providers/a"),
	"DELETE /runtime/v1/workflows/{id}":          changesConfig("DELETE /workflows/a"),
	"POST /runtime/v1/revisions":                 changesConfig("POST /revisions\n" + `{"document":{"version":1}}`),
	"POST /runtime/v1/revisions/{hash}/rollback": changesConfig("POST /revisions/none/rollback\n{}"),

	"GET /runtime/v1/patches":                    readsConfig("/patches"),
	"GET /runtime/v1/patches/{registry}/{id}":    {scope: "config:read", speaks: plainDialect, asks: []inquiry{{request: "GET /runtime/v1/patches/agents/a", owner: 404}}},
	"PUT /runtime/v1/patches/{registry}/{id}":    changesConfig("PUT /patches/agents/a\n" + `{"value":{}}`),
	"DELETE /runtime/v1/patches/{registry}/{id}": changesConfig("DELETE /patches/agents/a"),

	"GET /runtime/v1/tenants":                                     tenantRoute("read", "GET /tenants", 200),
	"GET /runtime/v1/tenants/{tenant}":                            tenantRoute("read", "GET /tenants/acme", 404),
	"GET /runtime/v1/tenants/{tenant}/patches":                    tenantRoute("read", "GET /tenants/acme/patches", 404),
	"GET /runtime/v1/tenants/{tenant}/patches/{registry}/{id}":    tenantRoute("read", "GET /tenants/acme/patches/agents/a", 404),
	"PUT /runtime/v1/tenants/{tenant}/patches/{registry}/{id}":    tenantRoute("write", "PUT /tenants/acme/patches/agents/a\n"+`{"value":{}}`, 400),
	"DELETE /runtime/v1/tenants/{tenant}/patches/{registry}/{id}": tenantRoute("write", "DELETE /tenants/acme/patches/agents/a", 400),
	"GET /runtime/v1/tenants/{tenant}/agents/{id}/explain":        tenantRoute("read", "GET /tenants/acme/agents/{agent}/explain", 200),
	"POST /runtime/v1/tenants/{tenant}/agents/{id}/check-call":    tenantRoute("read", "POST /tenants/acme/agents/{agent}/check-call\n"+`{"tool":"refund"}`, 200),
	"GET /runtime/v1/tenants/{tenant}/diagnostics":                tenantRoute("read", "GET /tenants/acme/diagnostics", 200),
	"POST /runtime/v1/tenants/{tenant}/validate":                  tenantRoute("read", "POST /tenants/acme/validate\n"+`{"document":{"version":1}}`, 409),
	"GET /runtime/v1/tenants/{tenant}/revisions":                  tenantRoute("read", "GET /tenants/acme/revisions", 200),
	"GET /runtime/v1/tenants/{tenant}/revisions/{hash}":           tenantRoute("read", "GET /tenants/acme/revisions/none", 404),
	"GET /runtime/v1/tenants/{tenant}/revisions/{hash}/diff":      tenantRoute("read", "GET /tenants/acme/revisions/none/diff", 404),
	"GET /runtime/v1/tenants/{tenant}/attempts":                   tenantRoute("read", "GET /tenants/acme/attempts", 200),
	"POST /runtime/v1/tenants/{tenant}/revisions":                 tenantRoute("write", "POST /tenants/acme/revisions\n"+`{"document":{"version":1}}`, 400),
	"POST /runtime/v1/tenants/{tenant}/revisions/{hash}/rollback": tenantRoute("write", "POST /tenants/acme/revisions/none/rollback\n{}", 400),

	"GET /api/v1/workflow/schedules":                      gestaltRoute("runs:read", "GET /api/v1/workflow/schedules", 200),
	"POST /api/v1/workflow/schedules":                     gestaltRoute("runs:write", "POST /api/v1/workflow/schedules\n"+`{"cron":"@yearly","target":{"agent":{"provider":"clerk","prompt":"x"}}}`, 201),
	"GET /api/v1/workflow/schedules/{id}":                 gestaltRoute("runs:read", "GET /api/v1/workflow/schedules/{schedule}", 200),
	"PUT /api/v1/workflow/schedules/{id}":                 gestaltRoute("runs:write", "PUT /api/v1/workflow/schedules/{schedule}\n"+`{"cron":"@yearly","target":{"app":{"name":"refund"}}}`, 200),
	"DELETE /api/v1/workflow/schedules/{id}":              gestaltRoute("runs:write", "DELETE /api/v1/workflow/schedules/{schedule}", 200),
	"POST /api/v1/workflow/schedules/{id}/pause":          gestaltRoute("runs:write", "POST /api/v1/workflow/schedules/{schedule}/pause\n"+`{}`, 200),
	"POST /api/v1/workflow/schedules/{id}/resume":         gestaltRoute("runs:write", "POST /api/v1/workflow/schedules/{schedule}/resume\n"+`{}`, 200),
	"GET /api/v1/workflow/event-triggers":                 gestaltRoute("runs:read", "GET /api/v1/workflow/event-triggers", 200),
	"POST /api/v1/workflow/event-triggers":                gestaltRoute("runs:write", "POST /api/v1/workflow/event-triggers\n"+`{"match":{"type":"t"},"target":{"agent":{"provider":"clerk","prompt":"x"}}}`, 201),
	"GET /api/v1/workflow/event-triggers/{id}":            gestaltRoute("runs:read", "GET /api/v1/workflow/event-triggers/{trigger}", 200),
	"PUT /api/v1/workflow/event-triggers/{id}":            gestaltRoute("runs:write", "PUT /api/v1/workflow/event-triggers/{trigger}\n"+`{"match":{"type":"t"},"target":{"app":{"name":"refund"}}}`, 200),
	"DELETE /api/v1/workflow/event-triggers/{id}":         gestaltRoute("runs:write", "DELETE /api/v1/workflow/event-triggers/{trigger}", 200),
	"POST /api/v1/workflow/event-triggers/{id}/pause":     gestaltRoute("runs:write", "POST /api/v1/workflow/event-triggers/{trigger}/pause\n"+`{}`, 200),
	"POST /api/v1/workflow/event-triggers/{id}/resume":    gestaltRoute("runs:write", "POST /api/v1/workflow/event-triggers/{trigger}/resume\n"+`{}`, 200),
	"POST /api/v1/workflow/events":                        gestaltRoute("runs:write", "POST /api/v1/workflow/events\n"+`{"type":"nothing.matches"}`, 202),
	"GET /api/v1/workflow/runs":                           gestaltRoute("runs:read", "GET /api/v1/workflow/runs", 200),
	"GET /api/v1/workflow/runs/{id}":                      gestaltRoute("runs:read", "GET /api/v1/workflow/runs/{workrun}", 200),
	"POST /api/v1/workflow/runs/{id}/cancel":              gestaltRoute("runs:write", "POST /api/v1/workflow/runs/{workrun}/cancel\n"+`{}`, 200),
	"GET /workflow/schedules":                             workflowRoute("runs:read", "GET /workflow/schedules", 200),
	"POST /workflow/schedules":                            workflowRoute("runs:write", "POST /workflow/schedules\n"+`{"cron":"@yearly","target":{"agent":{"agent":"clerk","prompt":"x"}}}`, 201),
	"GET /workflow/schedules/{id}":                        workflowRoute("runs:read", "GET /workflow/schedules/{schedule}", 200),
	"PUT /workflow/schedules/{id}":                        workflowRoute("runs:write", "PUT /workflow/schedules/{schedule}\n"+`{"cron":"@yearly","target":{"tool":{"name":"refund"}}}`, 200),
	"DELETE /workflow/schedules/{id}":                     workflowRoute("runs:write", "DELETE /workflow/schedules/{schedule}", 204),
	"POST /workflow/schedules/{id}/pause":                 workflowRoute("runs:write", "POST /workflow/schedules/{schedule}/pause\n{}", 200),
	"POST /workflow/schedules/{id}/resume":                workflowRoute("runs:write", "POST /workflow/schedules/{schedule}/resume\n{}", 200),
	"GET /workflow/event-triggers":                        workflowRoute("runs:read", "GET /workflow/event-triggers", 200),
	"POST /workflow/event-triggers":                       workflowRoute("runs:write", "POST /workflow/event-triggers\n"+`{"match":{"type":"t"},"target":{"agent":{"agent":"clerk","prompt":"x"}}}`, 201),
	"GET /workflow/event-triggers/{id}":                   workflowRoute("runs:read", "GET /workflow/event-triggers/{trigger}", 200),
	"PUT /workflow/event-triggers/{id}":                   workflowRoute("runs:write", "PUT /workflow/event-triggers/{trigger}\n"+`{"match":{"type":"t"},"target":{"tool":{"name":"refund"}}}`, 200),
	"DELETE /workflow/event-triggers/{id}":                workflowRoute("runs:write", "DELETE /workflow/event-triggers/{trigger}", 204),
	"POST /workflow/event-triggers/{id}/pause":            workflowRoute("runs:write", "POST /workflow/event-triggers/{trigger}/pause\n{}", 200),
	"POST /workflow/event-triggers/{id}/resume":           workflowRoute("runs:write", "POST /workflow/event-triggers/{trigger}/resume\n{}", 200),
	"POST /workflow/events":                               workflowRoute("runs:write", "POST /workflow/events\n"+`{"type":"nothing.matches"}`, 202),
	"POST /workflow/webhooks/{tenant}/{id}":               {public: true, asks: []inquiry{{request: "POST /workflow/webhooks/none/none\n{}", owner: 404}}},
	"POST /workflow/webhooks/{id}":                        {public: true, asks: []inquiry{{request: "POST /workflow/webhooks/none\n{}", owner: 404}}},
	"GET /workflow/runs":                                  workflowRoute("runs:read", "GET /workflow/runs?limit=1", 200),
	"GET /workflow/runs/{id}":                             workflowRoute("runs:read", "GET /workflow/runs/{workrun}", 200),
	"POST /workflow/runs/{id}/cancel":                     workflowRoute("runs:write", "POST /workflow/runs/{workrun}/cancel\n{}", 200),
	"GET /workflow/runs/{id}/interactions":                workflowRoute("runs:read", "GET /workflow/runs/{workrun}/interactions", 200),
	"POST /workflow/runs/{id}/interactions/{interaction}": workflowRoute("runs:write", "POST /workflow/runs/{workrun}/interactions/{workask}\n"+`{"result":{"approved":true}}`, 200),

	"GET /api/v1/auth/info":                {public: true, asks: []inquiry{{request: "GET /api/v1/auth/info", owner: 200}}},
	"GET /api/v1/agent/providers":          {scope: "models:read", speaks: sessionsDialect, asks: []inquiry{{request: "GET " + sessionsAt + "/providers", owner: 200}}},
	"POST /api/v1/agent/harnesses/resolve": {scope: "models:read", speaks: sessionsDialect, asks: []inquiry{{request: "POST " + sessionsAt + "/harnesses/resolve\n{}", owner: 400}}},
	"GET /api/v1/agent/sessions": {scope: "sessions:read", speaks: sessionsDialect, asks: []inquiry{
		{request: "GET " + sessionsAt + "/sessions", owner: 200},
		{request: "GET " + sessionsAt + "/sessions?view=summary&provider=runtime", owner: 200},
	}},
	"POST /api/v1/agent/sessions": {scope: "sessions:write", speaks: sessionsDialect, asks: []inquiry{
		{request: "POST " + sessionsAt + "/sessions\n" + `{"clientRef":"x"}`, owner: 201},
	}},
	"GET /api/v1/agent/sessions/{session}": {scope: "sessions:read", speaks: sessionsDialect, asks: []inquiry{
		{request: "GET " + sessionsAt + "/sessions/{chat}", owner: 200, lost: noTalk},
	}},
	"PATCH /api/v1/agent/sessions/{session}": {scope: "sessions:write", speaks: sessionsDialect, asks: []inquiry{
		{request: "PATCH " + sessionsAt + "/sessions/{chat}\n" + `{"clientRef":"y"}`, owner: 200, lost: noTalk},
	}},
	"GET /api/v1/agent/sessions/{session}/turns": {scope: "runs:read", speaks: sessionsDialect, asks: []inquiry{
		{request: "GET " + sessionsAt + "/sessions/{chat}/turns", owner: 200, lost: noTalk},
	}},
	"POST /api/v1/agent/sessions/{session}/turns": {scope: "runs:write", speaks: sessionsDialect, asks: []inquiry{
		{request: "POST " + sessionsAt + "/sessions/{chat}/turns\n" + `{"messages":[{"role":"user","text":"hello"}]}`, owner: 201, lost: noTalk},
	}},
	"GET /api/v1/agent/turns/{turn}": {scope: "runs:read", speaks: sessionsDialect, asks: []inquiry{
		{request: "GET " + sessionsAt + "/turns/{asking}", owner: 200, lost: noChatTurn},
	}},
	"POST /api/v1/agent/turns/{turn}/cancel": {scope: "runs:write", speaks: sessionsDialect, asks: []inquiry{
		{request: "POST " + sessionsAt + "/turns/{asking}/cancel\n{}", owner: 200, lost: noChatTurn},
	}},
	"GET /api/v1/agent/turns/{turn}/events": {scope: "runs:read", speaks: sessionsDialect, asks: []inquiry{
		{request: "GET " + sessionsAt + "/turns/{asking}/events", owner: 200, lost: noChatTurn},
	}},
	"GET /api/v1/agent/turns/{turn}/events/stream": {scope: "runs:read", speaks: sessionsDialect, asks: []inquiry{
		{request: "GET " + sessionsAt + "/turns/{asking}/events/stream?until=blocked_or_terminal", owner: 200, lost: noChatTurn},
	}},
	"GET /api/v1/agent/turns/{turn}/interactions": {scope: "runs:read", speaks: sessionsDialect, asks: []inquiry{
		{request: "GET " + sessionsAt + "/turns/{asking}/interactions", owner: 200, lost: noChatTurn},
	}},
	"POST /api/v1/agent/turns/{turn}/interactions/{interaction}/resolve": {scope: "runs:write", speaks: sessionsDialect, asks: []inquiry{
		{request: "POST " + sessionsAt + "/turns/{asking}/interactions/{asked}/resolve\n" + `{"resolution":{"approved":true}}`, owner: 200, lost: noChatTurn},
	}},

	"POST /agents/{name}": {scope: "runs:write", speaks: textDialect, asks: []inquiry{
		{request: "POST /agents/{agent}\n" + `{"data":{"message":{"content":[{"text":"hello"}]},"detach":true}}`, owner: 200},
		{request: "POST /agents/{agent}?stream=true\n" + `{"data":{"message":{"content":[{"text":"hello"}]},"detach":true}}`, owner: 200},
		{request: "POST /agents/clerk\n" + `{"data":{"resume":{"respond":[{"toolResponse":{"name":"refund","ref":"{interruption}","output":{"approved":true}}}]}},"init":{"snapshotId":"{interrupted}"}}`, owner: 200, lost: noSnapshot},
	}},
	"POST /agents/{name}/getSnapshot": {scope: "sessions:read", speaks: textDialect, asks: []inquiry{
		{request: "POST /agents/clerk/getSnapshot\n" + `{"data":{"snapshotId":"{interrupted}"}}`, owner: 200, lost: noSnapshot},
	}},
	"POST /agents/{name}/waitForSnapshot": {scope: "sessions:read", speaks: textDialect, asks: []inquiry{
		{request: "POST /agents/clerk/waitForSnapshot\n" + `{"data":{"snapshotId":"{interrupted}"}}`, owner: 200, lost: noSnapshot},
	}},
	"POST /agents/{name}/abort": {scope: "runs:write", speaks: textDialect, asks: []inquiry{
		{request: "POST /agents/clerk/abort\n" + `{"data":{"snapshotId":"{interrupted}"}}`, owner: 200, lost: noSnapshot},
	}},

	"GET /console":             {public: true, asks: []inquiry{{request: "GET /console", owner: 308}}},
	"GET /console/{file...}":   {public: true, asks: []inquiry{{request: "GET /console/", owner: 200}}},
	"GET /runtime/v1/caller":   {public: true, asks: []inquiry{{request: "GET /runtime/v1/caller", owner: 200}}},
	"GET /runtime/v1/fleet":    {scope: "models:read", speaks: plainDialect, asks: []inquiry{{request: "GET /runtime/v1/fleet?q=clerk&limit=1", owner: 200}}},
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
	"GET /runtime/v1/turns/{turn}/feedback": {scope: "runs:read", speaks: plainDialect, asks: []inquiry{
		{request: "GET /runtime/v1/turns/{run}/feedback", owner: 200, lost: noNativeTurn},
	}},
	"POST /runtime/v1/turns/{turn}/feedback": {scope: "runs:write", speaks: plainDialect, asks: []inquiry{
		{request: "POST /runtime/v1/turns/{finished}/feedback\n" + `{"label":"good"}`, owner: 200, lost: strings.ReplaceAll(noNativeTurn, "{run}", "{finished}")},
	}},
	"GET /runtime/v1/turns/{turn}/model-requests/{message}": {scope: "runs:read", speaks: plainDialect, asks: []inquiry{
		{request: "GET /runtime/v1/turns/{run}/model-requests/m", owner: 200, lost: noNativeTurn},
	}},
	"GET /runtime/v1/turns/{turn}/eval-case": {scope: "runs:read", speaks: plainDialect, asks: []inquiry{
		{request: "GET /runtime/v1/turns/{ended}/eval-case", owner: 200, lost: strings.ReplaceAll(noNativeTurn, "{run}", "{ended}")},
	}},
	"GET /runtime/v1/feedback": {scope: "runs:read", speaks: plainDialect, asks: []inquiry{
		{request: "GET /runtime/v1/feedback", owner: 200},
	}},
	"GET /runtime/v1/queue": {scope: "metrics:read", speaks: plainDialect, asks: []inquiry{{request: "GET /runtime/v1/queue", owner: 200}}},
	"GET /runtime/v1/usage": {scope: "metrics:read", speaks: plainDialect, asks: []inquiry{
		{request: "GET /runtime/v1/usage?group_by=tenant&group_by=agent", owner: 200},
	}},
	"GET /runtime/v1/interactions": {scope: "runs:read", speaks: plainDialect, asks: []inquiry{
		{request: "GET /runtime/v1/interactions", owner: 200},
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

	// Resources that peers read before they have a key.
	"GET /.well-known/agent-card.json":             {public: true, asks: []inquiry{{request: "GET /.well-known/agent-card.json", owner: 200}}},
	"GET /.well-known/agents.json":                 {public: true, asks: []inquiry{{request: "GET /.well-known/agents.json", owner: 200}}},
	"GET /a2a/{agent}/.well-known/agent-card.json": {public: true, asks: []inquiry{{request: "GET /a2a/{agent}/.well-known/agent-card.json", owner: 200}}},

	"/a2a/{agent}":                {scope: settings.ScopeA2AInvoke, speaks: restDialect, asks: []inquiry{{request: "GET /a2a/{agent}", owner: 405}, {request: "DELETE /a2a/{agent}", owner: 405}}},
	"/a2a/{agent}/v0.3":           {scope: settings.ScopeA2AInvoke, speaks: restDialect, asks: []inquiry{{request: "GET /a2a/{agent}/v0.3", owner: 405}}},
	"POST /a2a/{agent}":           {scope: settings.ScopeA2AInvoke, speaks: rpcDialect, asks: rpcQuestions},
	"POST /a2a/{agent}/v0.3":      {scope: settings.ScopeA2AInvoke, speaks: rpcDialect, asks: oldRPCQuestions},
	"/a2a/{agent}/{path...}":      {scope: settings.ScopeA2AInvoke, speaks: restDialect, asks: restQuestions},
	"/a2a/{agent}/v0.3/{path...}": {scope: settings.ScopeA2AInvoke, speaks: oldRESTDialect, asks: oldRESTQuestions},
}

// The answers of A2A for another caller's task.
const (
	noTask    = `404 task \"{task}\" not found`
	noRPCTask = `200 "code":-32001,"message":"task \"{task}\" not found`
)

const (
	oneMessage = `"messageId":"{message}","role":"ROLE_USER","parts":[{"text":"hello"}]`
	oneAnswer  = `"taskId":"{task}","messageId":"{message}","role":"ROLE_USER","parts":[{"data":{"approved":true}}]`
	atOnce     = `"configuration":{"returnImmediately":true}`
)

var restQuestions = []inquiry{
	{request: "POST /a2a/{agent}/message:send\n{\"message\":{" + oneMessage + "}}", owner: 200},
	{request: "POST /a2a/{agent}/message:send\n{\"message\":{\"contextId\":\"{context}\"," + oneMessage + "}," + atOnce + "}", owner: 200},
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
	// In the form of the protocol's HTTP+JSON.
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

// rpcs returns an inquiry for each JSON-RPC method.
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
	{request: `SendMessage {"message":{"contextId":"{context}",` + oneMessage + `},` + atOnce + `}`},
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

// workflowRoute is a route of workflows, which names nothing that belongs to anybody.
func responseRoute(scope, request string) row {
	return row{scope: scope, speaks: openaiDialect, asks: []inquiry{{request: request, owner: 200, lost: noResponse}}}
}

func conversationRoute(scope, request string) row {
	return row{scope: scope, speaks: openaiDialect, asks: []inquiry{{request: request, owner: 200, lost: noConversation}}}
}

// gestaltRoute is workflowRoute for Gestalt's clients.
func gestaltRoute(scope, request string, owner int) row {
	return row{scope: scope, speaks: sessionsDialect, asks: []inquiry{{request: request, owner: owner, lost: lostWorkflow(request)}}}
}

func workflowRoute(scope, request string, owner int) row {
	return row{scope: scope, speaks: plainDialect, asks: []inquiry{{request: request, owner: owner, lost: lostWorkflow(request)}}}
}

// lostWorkflow returns the answer for everybody to whom nothing belongs of what a request names.
func lostWorkflow(request string) string {
	for kind, name := range map[string]string{"schedule": "{schedule}", "trigger": "{trigger}", "run": "{workrun}"} {
		if strings.Contains(request, name) {
			return `404 workflow ` + kind + ` \"` + name + `\" not found`
		}
	}
	return ""
}

package admin_test

import (
	"net/http"
	"testing"
)

const callConfiguration = `version: 1
providers: {demo: {type: scripted}}
models: {m: {provider_id: demo, upstream_model: x}}
tools:
  refund:
    {type: command, description: Refunds., command: [echo, "{{order}}"], effect: once,
     parameters: {type: object, properties: {order: {type: string}, amount: {type: number}}, required: [order], additionalProperties: false}}
  lookup: {type: command, description: Finds., command: [echo, a], effect: read, parameters: {type: object}}
  remove: {type: command, description: Removes., command: [echo, a], effect: once, parameters: {type: object}}
agents:
  clerk:
    model_id: m
    plugin_ids: [permission]
    excluded_tools: [lookup]
    sections: {permission: {default_behavior: allow, rules: [{tool: 'refund(amount >= 100)', behavior: ask}, {tool: remove, behavior: deny}]}}
  elsewhere: {endpoint: {backend: a2a, base_url: "https://peer.example", target: x}}
store: {driver: memory}
server:
  keys: [{id: operator, key: ark_operator-operator, tenant: ops, subject: ann, scopes: [config:read]}]
`

func TestWhatWouldHappenToACall(t *testing.T) {
	const sections = "agents.clerk.sections.permission."
	s := open(t, callConfiguration)
	for request, want := range map[string]map[string]string{
		`{"tool":"refund","arguments":{"order":"A-1","amount":5}}`:   {"decision": "allow", "path": sections + "default_behavior"},
		`{"tool":"refund","arguments":{"order":"A-1","amount":100}}`: {"decision": "ask", "path": sections + "rules[0].tool"},
		`{"tool":"refund","arguments":{"amount":5}}`:                 {"decision": "allow", "path": sections + "default_behavior", "arguments_problem": `"order" is required`},
		`{"tool":"refund"}`:                {"decision": "ask", "path": sections + "rules[0].tool", "arguments_problem": `"order" is required`},
		`{"tool":"remove","arguments":{}}`: {"decision": "deny", "path": sections + "rules[1].tool"},
		`{"tool":"lookup"}`:                {"decision": "unavailable", "path": "agents.clerk.excluded_tools[0]"},
		`{"tool":"nothing"}`:               {"decision": "unavailable"},
	} {
		got := s.want(http.StatusOK, "POST /agents/clerk/check-call\n"+request, "")
		for _, field := range []string{"decision", "path", "arguments_problem"} {
			value := at(got, "call", field)
			if value == "<nil>" {
				value = ""
			}
			if value != want[field] {
				t.Errorf("%s: %s is %q, not %q: %v", request, field, value, want[field], got)
			}
		}
	}
	s.want(http.StatusBadRequest, "POST /agents/clerk/check-call\n{}", "")
	s.want(http.StatusBadRequest, "POST /agents/clerk/check-call\n"+`{"tool":"refund","argument":{}}`, "")
	s.want(http.StatusNotFound, "POST /agents/none/check-call\n"+`{"tool":"refund"}`, "")
	s.want(http.StatusBadRequest, "POST /agents/elsewhere/check-call\n"+`{"tool":"refund"}`, "")
}

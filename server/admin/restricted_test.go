package admin_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/server/admin"
)

// hidden is part of everything that does not concern the agent "other".
const hidden = "hidden-from-others"

var restrictedConfiguration = strings.NewReplacer(
	"system_prompt: Help.", "system_prompt: Help "+hidden+", delegates: [other], allowed_tool_patterns: [no-such-"+hidden+"]",
	"description: Echoes.", "description: Echoes "+hidden+".",
	"tenants: {may: {models: [spare]}}", "tenants: {may: {models: [spare]}, variables: {"+strings.ReplaceAll(hidden, "-", "_")+": {description: "+hidden+"}}}",
	"server:\n", "workflows: {nightly: {schedules: [{cron: \"@daily\"}], steps: [{id: a, agent: {agent: clerk, prompt: "+hidden+"}}]}}\nserver:\n",
).Replace(tenantConfiguration)

// readable are the routes that a key for some agents may use. It reads what concerns
// those agents, or nothing.
var readable = map[string][]string{
	"GET /runtime/v1/agents":                                   {"GET /agents"},
	"GET /runtime/v1/agents/{id}":                              {"GET /agents/other"},
	"GET /runtime/v1/agents/{id}/explain":                      {"GET /agents/other/explain"},
	"POST /runtime/v1/agents/{id}/check-call":                  {"POST /agents/other/check-call\n" + `{"tool":"echo"}`},
	"POST /runtime/v1/tenants/{tenant}/agents/{id}/check-call": {"POST /tenants/acme/agents/other/check-call\n" + `{"tool":"echo"}`},
	"GET /runtime/v1/diagnostics":                              {"GET /diagnostics"},
	"GET /runtime/v1/patches":                                  {"GET /patches"},
	"GET /runtime/v1/patches/{registry}/{id}":                  {"GET /patches/agents/other"},
	"GET /runtime/v1/tenants/{tenant}/agents/{id}/explain":     {"GET /tenants/acme/agents/other/explain"},
	"GET /runtime/v1/tenants/{tenant}/diagnostics":             {"GET /tenants/acme/diagnostics"},
	"GET /runtime/v1/tenants/{tenant}/patches":                 {"GET /tenants/acme/patches"},
	"GET /runtime/v1/tenants/{tenant}/patches/{registry}/{id}": {"GET /tenants/acme/patches/agents/other"},
}

// TestAKeyForSomeAgentsReadsWhatConcernsThem asks every route as such a key.
func TestAKeyForSomeAgentsReadsWhatConcernsThem(t *testing.T) {
	s := open(t, restrictedConfiguration)
	for _, patch := range []string{"clerk\n" + `{"value":{"system_prompt":"` + hidden + `"}}`, "other\n" + `{"value":{"system_prompt":"Own."},"note":"` + hidden + `"}`} {
		s.want(http.StatusOK, "PUT /patches/agents/"+patch, s.hash())
	}
	overlay := strings.Replace(acmeOverlay, `"clerk":{"system_prompt":"Help Acme."}`, `"clerk":{"system_prompt":"`+hidden+`"},"other":{"system_prompt":"Own."}`, 1)
	overlay = strings.Replace(overlay, `{"document"`, `{"note":"`+hidden+`","document"`, 1)
	acme := at(s.as(operatorKey, http.StatusOK, "POST /tenants/acme/revisions\n"+overlay, "none"), "hash")
	base := s.hash()
	if found := s.want(http.StatusOK, "GET /diagnostics", ""); !strings.Contains(fmt.Sprint(found), hidden) {
		t.Fatalf("no diagnostic concerns another agent: %v", found)
	}
	for _, route := range new(admin.Surface).Routes() {
		for _, request := range readable[route.Pattern] {
			status, answer := s.ask(someKey, request, "")
			if status != http.StatusOK || strings.Contains(fmt.Sprint(answer), hidden) {
				t.Errorf("%s: %d %v", request, status, answer)
			}
		}
		for _, id := range []string{"clerk", "m", "echo", "demo", "nightly", "none"} {
			if readable[route.Pattern] != nil && !strings.Contains(route.Pattern, "{id}") {
				break
			}
			for _, registry := range []string{"agents", "tools"} {
				hash := base
				if strings.Contains(route.Pattern, "{tenant}") {
					hash = acme
				}
				request := strings.NewReplacer("/runtime/v1", "", "{tenant}", "acme", "{hash}", hash, "{id}", id, "{registry}", registry, "{name}", "x").Replace(route.Pattern)
				read := strings.HasPrefix(request, "GET ")
				if !read {
					request += "\n{}"
				}
				status, answer := s.ask(someKey, request, hash)
				if read && status != http.StatusNotFound || status < http.StatusBadRequest || strings.Contains(fmt.Sprint(answer), hidden) {
					t.Errorf("%s: %d %v", request, status, answer)
				}
			}
		}
	}
}

func TestAPageBeginsOnlyAfterAnAgentThatTheKeyMayUse(t *testing.T) {
	s := open(t, configuration)
	s.as(someKey, http.StatusBadRequest, "GET /agents?after=clerk", "")
	s.as(someKey, http.StatusOK, "GET /agents?after=other", "")
}

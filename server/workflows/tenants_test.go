package workflows_test

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/service/workflow"
)

const tenantRules = `revisions: {source: store}
tenants: {variables: {HOOK: {secret: true}}, may: {workflows: {tools: [cat]}}}
server:
  encryption_key: MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=
`

const ownFlows = `{"version":1,"agents":{"mine":{"extends":"a"}},"patches":{"workflows":{"declared":{"schedules":[{"cron":"@monthly","paused":true}]}}},"workflows":{"own":{
	"schedules":[{"cron":"@daily"}],"events":[{"type":"t"}],"webhooks":[{"secret":"${tenant.HOOK}"}],"on_wait":"wait",
	"steps":[{"id":"ask","agent":{"agent":"mine","prompt":"Item ${{ input.id }}"}},{"id":"wait","tool":{"name":"cat","approval":true}}]}}}`

// openTenants starts a server where acme has an overlay with workflows.
func openTenants(t *testing.T) *site {
	t.Helper()
	s := openRules(t, tenantRules)
	s.publishFor("acme", ownFlows)
	return s
}

// openRules starts a server with rules for tenants.
func openRules(t *testing.T, rules string) *site {
	t.Helper()
	t.Setenv("TEST_HOOK_SECRET", "s3cret")
	return openWith(t, strings.NewReplacer("server:\n", rules, "secret: s3cret, previous_secret: older", "secret: \"${TEST_HOOK_SECRET}\"").Replace(configuration))
}

func (s *site) publishFor(tenant, document string) {
	s.Helper()
	change := &fleet.Change{Document: []byte(document)}
	if current, err := s.app.Fleet().Tenant(tenant).Current(s.Context()); err == nil {
		change.Expected = current.Hash
	}
	if _, err := s.app.Fleet().Tenant(tenant).Publish(s.Context(), change); err != nil {
		s.Fatal(err)
	}
}

// Everybody of the tenant sees its workflows, and nobody else does: to others they look
// as if they did not exist, on every route.
func TestWorkflowsOfATenantAreItsOwn(t *testing.T) {
	s := openTenants(t)
	s.wants("ann", "GET /schedules/own", 200, `"declared":true`)
	s.wants("bob", "GET /event-triggers/own", 200, `"agent":"mine"`)
	s.wants("ann", "GET /schedules/declared", 200, `"cron":"@monthly"`)
	s.wants("ann", "DELETE /schedules/own", 409, "declared in the configuration")
	s.wants("ann", `POST /schedules {"id":"own","cron":"@daily",`+target+`}`, 409, "own")
	s.wants("ann", `POST /event-triggers {"match":{"type":"x"},"target":{"agent":{"agent":"mine","prompt":"x"}}}`, 201, "")
	s.wants("eve", `POST /event-triggers {"match":{"type":"x"},"target":{"agent":{"agent":"mine","prompt":"x"}}}`, 400, "not defined")
	s.wants("ann", `POST /events {"type":"t","id":"1","data":{"id":"i"}}`, 202, `"runs":1`)
	s.wants("eve", `POST /events {"type":"t","id":"2"}`, 202, `"runs":0`)
	id := s.waitRun("waiting")
	s.wants("bob", "GET /runs/"+id, 200, `"output":{"text":"echo: Item i"}`)
	for _, kind := range []string{"schedules", "event-triggers"} {
		body := map[string]string{"schedules": `{"cron":"@daily",` + target + `}`, "event-triggers": `{"match":{"type":"t"},` + target + `}`}[kind]
		for request, status := range map[string]int{
			"GET /" + kind: 200, "GET /" + kind + "/own": 404, "PUT /" + kind + "/own " + body: 404, "DELETE /" + kind + "/own": 404,
			"POST /" + kind + "/own/pause {}": 404, "POST /" + kind + "/own/resume {}": 404,
		} {
			for _, stranger := range []string{"eve", "far"} {
				if stranger == "far" && strings.HasPrefix(request, "PUT") {
					continue // it may not use the agent of the new one
				}
				got := withoutRequestID(s.wants(stranger, request, status, ""))
				unknown := withoutRequestID(s.wants(stranger, strings.Replace(request, "/own", "/none", 1), status, ""))
				if strings.ReplaceAll(unknown, "none", "own") != got {
					t.Errorf("%s: %s reveals that there is a workflow: %s, not %s", stranger, request, got, unknown)
				}
			}
		}
	}
	for request, status := range map[string]int{
		"GET /runs": 200, "GET /runs/" + id: 404, "POST /runs/" + id + "/cancel {}": 404, "GET /runs/" + id + "/interactions": 404,
		"POST /runs/" + id + `/interactions/approve_call {"result":{"approved":true}}`: 404,
	} {
		for _, stranger := range []string{"eve", "far"} {
			if got := s.wants(stranger, request, status, ""); status == 200 && got != `{"items":[]}`+"\n" {
				t.Errorf("%s sees %s", stranger, got)
			}
		}
	}
	s.wants("eve", `POST /schedules {"id":"own","cron":"@daily",`+target+`}`, 201, "")
	s.wants("ann", "POST /runs/"+id+`/interactions/approve_call {"result":{"approved":true}}`, 200, "")
	s.waitRun("succeeded")
	s.publishFor("acme", `{"version":1}`)
	s.wants("ann", "GET /schedules/own", 404, "not found")
	s.wants("ann", "GET /schedules/declared", 200, `"cron":"@yearly"`)
	s.wants("ann", `POST /events {"type":"t","id":"3"}`, 202, `"runs":0`)
	s.wants("ann", "GET /runs/"+id, 200, `"status":"succeeded"`)
}

// What callers of a tenant make calls no more tools than its overlay may: no agent's rules
// hold for such calls.
func TestCallersOfTenantsCallWhatTheirOverlaysMay(t *testing.T) {
	rules := strings.NewReplacer("tools: [cat]", "tools: []", "may: {", "may: {kinds: [http], ").Replace(tenantRules)
	s := openRules(t, rules)
	s.publishFor("acme", `{"version":1,"tools":{"mine":{"type":"http","description":"x","url":"https://acme.example/"}}}`)
	for caller, statuses := range map[string]map[string]int{"ann": {"cat": 400, "mine": 201, "dog": 400}, "eve": {"cat": 400, "mine": 400}} {
		for tool, status := range statuses {
			call := `{"id":"s","tool":{"name":"` + tool + `"}}`
			for _, body := range []string{
				`POST /event-triggers {"match":{"type":"x"},"target":{"tool":{"name":"` + tool + `"}}}`,
				`POST /schedules {"cron":"@daily","target":{"steps":[` + call + `]}}`,
				`POST /event-triggers {"match":{"type":"x"},"target":{"agent":{"agent":"a","prompt":"x"},"outputDelivery":{"tool":"` + tool + `"}}}`,
			} {
				want := map[string]string{"cat": "cannot call the tool", "dog": "does not exist"}[tool]
				s.wants(caller, body, status, want)
			}
		}
	}
	s.wants("ann", `POST /schedules {"id":"own","cron":"@daily",`+target+`}`, 201, "")
	s.wants("ann", `PUT /schedules/own {"cron":"@daily","target":{"tool":{"name":"cat"}}}`, 400, "target.tool.name")
	s.wants("ann", "GET /schedules/own", 200, `"agent":"a"`)
}

var requestID = regexp.MustCompile(`"request_id":"[^"]*"`)

func withoutRequestID(body string) string { return requestID.ReplaceAllString(body, "") }

// A webhook of a tenant has the name of the tenant in its address, and the secret that the
// tenant has set when the request comes.
func TestWebhooksOfATenant(t *testing.T) {
	s := openTenants(t)
	const body = `{"id":"item-1"}`
	signed := func(secret, id string) []string {
		at := strconv.FormatInt(time.Now().Unix(), 10)
		return []string{"Webhook-Id", id, "Webhook-Timestamp", at, "Webhook-Signature", "v1," + workflow.Sign(secret, id, at, []byte(body))}
	}
	set := func(tenant, value string) {
		t.Helper()
		if _, err := s.app.Service().SetTenantVariable(t.Context(), service.SetTenantVariable{Tenant: tenant, Name: "HOOK", Value: value}); err != nil {
			t.Fatal(err)
		}
	}
	unknown := s.wants("", "POST /webhooks/nobody/own "+body, 404, "", signed("", "m0")...)
	for about, header := range map[string][]string{"without a secret": signed("", "m0"), "with the reference": signed("${tenant.HOOK}", "m0")} {
		if got := s.wants("", "POST /webhooks/acme/own "+body, 404, "", header...); got != unknown {
			t.Errorf("%s: %s, not %s", about, got, unknown)
		}
	}
	set("acme", "first-secret")
	set("globex", "other-secret")
	s.wants("", "POST /webhooks/acme/own "+body, 202, "accepted", signed("first-secret", "m1")...)
	s.wants("", "POST /webhooks/acme/own "+body, 200, "known", signed("first-secret", "m1")...)
	set("acme", "second-secret")
	s.wants("", "POST /webhooks/acme/own "+body, 404, "", signed("first-secret", "m2")...)
	s.wants("", "POST /webhooks/acme/own "+body, 202, "accepted", signed("second-secret", "m2")...)
	for _, path := range []string{"/webhooks/own ", "/webhooks/globex/own ", "/webhooks/acme/none "} {
		s.wants("", "POST "+path+body, 404, "", signed("second-secret", "m3")...)
	}
	s.wants("", "POST /webhooks/declared "+body, 202, "accepted", signed("s3cret", "m4")...)
	s.wants("", "POST /webhooks/acme/declared "+body, 200, "known", signed("s3cret", "m4")...)
	s.publishFor("acme", `{"version":1,"patches":{"workflows":{"declared":null}}}`)
	s.wants("", "POST /webhooks/acme/own "+body, 404, "", signed("second-secret", "m5")...)
	s.wants("", "POST /webhooks/declared "+body, 404, "", signed("s3cret", "m5")...)
}

// However somebody of a tenant makes or replaces a schedule, it is due no more often than
// the configuration lets overlays have it.
func TestSchedulesOfTenantsAreHeldToMinEvery(t *testing.T) {
	rules := strings.Replace(tenantRules, "{tools: [cat]}", "{tools: [cat], min_every: 10m}", 1)
	s := openRules(t, rules)
	publish := func(document string) error {
		change := &fleet.Change{Document: []byte(document)}
		if current, err := s.app.Fleet().Tenant("acme").Current(t.Context()); err == nil {
			change.Expected = current.Hash
		}
		_, err := s.app.Fleet().Tenant("acme").Publish(t.Context(), change)
		return err
	}
	send := func(request string, allowed int) func(cron string, ok bool) error {
		return func(cron string, ok bool) error {
			status, want := 400, "cannot be due more often than every 10m"
			if ok {
				status, want = allowed, cron
			}
			s.wants("ann", strings.Replace(request, "CRON", cron, 1), status, want)
			return nil
		}
	}
	s.wants("ann", `POST /schedules {"id":"kept","cron":"@daily",`+target+`}`, 201, "")
	n := 0
	for name, save := range map[string]func(cron string, ok bool) error{
		"created over HTTP": func(cron string, ok bool) error {
			n++
			return send(`POST /schedules {"id":"new`+strconv.Itoa(n)+`","cron":"CRON",`+target+`}`, 201)(cron, ok)
		},
		"replaced over HTTP": send(`PUT /schedules/kept {"cron":"CRON",`+target+`}`, 200),
		"in an overlay": func(cron string, _ bool) error {
			return publish(`{"version":1,"workflows":{"own":{"schedules":[{"cron":"` + cron + `"}],"steps":[{"id":"ask","agent":{"agent":"a","prompt":"x"}}]}}}`)
		},
		"in a patch of an overlay": func(cron string, _ bool) error {
			return publish(`{"version":1,"patches":{"workflows":{"declared":{"schedules":[{"cron":"` + cron + `"}]}}}}`)
		},
	} {
		for cron, ok := range map[string]bool{
			"@every 1s": false, "* * * * *": false, "*/9 * * * *": false, "0,30,31 12 * * *": false, "55,4 * * * *": false, "@every 9m59s": false,
			"@every 10m": true, "*/10 * * * *": true, "@daily": true,
		} {
			err := save(cron, ok)
			if strings.HasPrefix(name, "in a") && (err == nil) != ok {
				t.Errorf("%s, %s: %v", name, cron, err)
			}
		}
	}
	s.wants("ann", "GET /schedules/kept", 200, `"cron":"`)
}

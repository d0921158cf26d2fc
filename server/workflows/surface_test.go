package workflows_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/service/workflow"
)

const configuration = `version: 1
providers: {demo: {type: scripted}}
models: {m: {provider_id: demo, upstream_model: x}}
tools:
  cat: {type: command, description: Repeats., command: [cat], parameters: {type: object, properties: {text: {type: string}}}}
agents: {a: {model_id: m, allowed_tools: []}}
store: {driver: memory}
workflows:
  declared:
    tenant: acme
    schedules: [{cron: "@yearly"}]
    events: [{type: item.updated}]
    webhooks: [{secret: s3cret, previous_secret: older}]
    steps:
      - {id: ask, agent: {agent: a, prompt: "Item ${{ input.id }}"}}
      - {id: cat, tool: {name: cat, input: {text: "${{ steps.ask.outputs.text }}"}, approval: true}}
server:
  public_url: https://example.com
  keys:
    - {id: ann, key: ark_ann-ann-ann-ann-ann, tenant: acme, subject: ann}
    - {id: bob, key: ark_bob-bob-bob-bob-bob, tenant: acme, subject: bob}
    - {id: eve, key: ark_eve-eve-eve-eve-eve, tenant: globex, subject: ann}
    - {id: far, key: ark_far-far-far-far-far, tenant: acme, subject: far, agents: [none]}
`

const target = `"target":{"steps":[{"id":"ask","agent":{"agent":"a","prompt":"x"}}]}`

// site is a server with the configuration.
type site struct {
	*testing.T
	url string
	app *app.App
}

func open(t *testing.T) *site {
	t.Helper()
	return openWith(t, configuration)
}

// openWith starts a server with another configuration.
func openWith(t *testing.T, configuration string) *site {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
		t.Fatal(err)
	}
	a, err := app.Open(t.Context(), app.Options{Files: []string{file}, Components: shipped.Components()})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(a.Handler())
	t.Cleanup(func() {
		if err := a.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
		http.DefaultClient.CloseIdleConnections()
		server.Close()
	})
	return &site{t, server.URL, a}
}

// send sends a request: a method, a path and a body, apart by spaces, with headers.
func (s *site) send(who, request string, header ...string) (status int, body string) {
	s.Helper()
	parts := append(strings.SplitN(request, " ", 3), "")
	if !strings.HasPrefix(parts[1], "/api/") {
		parts[1] = "/workflow" + parts[1]
	}
	r, err := http.NewRequestWithContext(s.Context(), parts[0], s.url+parts[1], strings.NewReader(parts[2]))
	if err != nil {
		s.Fatal(err)
	}
	if who != "" {
		r.Header.Set("X-Api-Key", "ark_"+strings.Repeat(who+"-", 4)+who)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		s.Fatal(err)
	}
	return resp.StatusCode, string(data)
}

// wants sends a request and wants a status, and a text in the body.
func (s *site) wants(who, request string, status int, text string, header ...string) string {
	s.Helper()
	got, body := s.send(who, request, header...)
	if got != status || !strings.Contains(body, text) {
		s.Errorf("%s: %s: %d %s, want %d with %s", who, request, got, body, status, text)
	}
	return body
}

func TestSchedulesAreMadeReadReplacedAndDeleted(t *testing.T) {
	s := open(t)
	s.wants("ann", `POST /schedules {"id":"own","cron":"0 9 * * *","timezone":"Europe/Berlin",`+target+`}`, 201, `"nextRunAt"`)
	s.wants("ann", `POST /schedules {"id":"own","cron":"0 9 * * *",`+target+`}`, 409, "own")
	s.wants("ann", `POST /schedules {"id":"declared","cron":"0 9 * * *",`+target+`}`, 409, "declared")
	s.wants("ann", `GET /schedules/own`, 200, `"timezone":"Europe/Berlin"`)
	s.wants("ann", `PUT /schedules/own {"cron":"0 10 * * *",`+target+`}`, 200, `"cron":"0 10 * * *"`)
	s.wants("ann", `POST /schedules/own/pause {}`, 200, `"paused":true`)
	s.wants("ann", `POST /schedules/own/resume {}`, 200, `"paused":false`)
	s.wants("ann", `GET /schedules`, 200, `"id":"declared"`)
	s.wants("ann", `DELETE /schedules/own`, 204, "")
	s.wants("ann", `GET /schedules/own`, 404, `workflow schedule \"own\" not found`)
	s.wants("ann", `POST /schedules/declared/pause {}`, 200, `"paused":true`)
	s.wants("ann", `DELETE /schedules/declared`, 409, "declared in the configuration")
	s.wants("ann", `PUT /schedules/declared {"cron":"@daily",`+target+`}`, 409, "declared in the configuration")
}

func TestRetriesLimitsAndDeliveriesAreKept(t *testing.T) {
	s := open(t)
	const steps = `"concurrency":{"limit":2,"onLimit":"skip"},"timeoutSeconds":90,"target":{"steps":[{"id":"ask","agent":{"agent":"a","prompt":"x"},"timeoutSeconds":1.5,"retry":{"maxAttempts":3,"backoffSeconds":0.25}}]}`
	for _, path := range []string{"/schedules", "/schedules/own"} {
		method := map[string]string{"/schedules": "POST", "/schedules/own": "GET"}[path]
		body := ""
		if method == "POST" {
			body = `{"id":"own","cron":"@daily",` + steps + `}`
		}
		got := s.wants("ann", method+" "+path+" "+body, map[string]int{"POST": 201, "GET": 200}[method], `"concurrency":{"limit":2,"onLimit":"skip"}`)
		for _, part := range []string{`"timeoutSeconds":90`, `"timeoutSeconds":1.5`, `"retry":{"maxAttempts":3,"backoffSeconds":0.25}`} {
			if !strings.Contains(got, part) {
				t.Errorf("%s %s answers %s without %s", method, path, got, part)
			}
		}
	}
	const older = `{"match":{"type":"x"},"target":{"agent":{"agent":"a","prompt":"x"},"outputDelivery":{"tool":"cat","inputBindings":[{"inputField":"text","value":{"agentOutput":"text"}}]}}}`
	s.wants("ann", "POST /event-triggers "+older, 201, `"tool":{"name":"cat"`)
}

func TestWhatIsWrongIsSaid(t *testing.T) {
	s := open(t)
	for request, want := range map[string]string{
		`POST /schedules {"cron":"daily",` + target + `}`:                                                                "cron",
		`POST /schedules {"cron":"@daily","timezone":"Europe/Berln",` + target + `}`:                                     "time_zone",
		`POST /schedules {"cron":"@daily","colour":1,` + target + `}`:                                                    "colour",
		`POST /schedules {"cron":"@daily"}`:                                                                              "target",
		`POST /schedules {"cron":"@daily","match":{"type":"x"},` + target + `}`:                                          "a schedule has cron",
		`POST /event-triggers {` + target + `}`:                                                                          "match.type",
		`POST /event-triggers {"match":{"type":"x"},"cron":"@daily",` + target + `}`:                                     "a trigger has match",
		`POST /event-triggers {"match":{"type":"x"},"target":{"agent":{"agent":"b","prompt":"x"}}}`:                      "not defined",
		`POST /event-triggers {"match":{"type":"x"},"target":{"agent":{"agent":"a"}}}`:                                   "given nothing",
		`POST /event-triggers {"match":{"type":"x"},"target":{"steps":[{"id":"s","tool":{"name":"dog"}}]}}`:              "does not exist",
		`POST /event-triggers {"match":{"type":"x"},"target":{"steps":[{"id":"s"}]}}`:                                    "does nothing",
		`POST /event-triggers {"match":{"type":"x"},"target":{"tool":{"name":"cat"},"steps":[{"id":"s"}]}}`:              "either steps",
		`POST /event-triggers {"match":{"type":"x"},"target":{"agent":{"agent":"a","prompt":"${{ steps.x.outputs }}"}}}`: "steps.x",
		`POST /event-triggers {"match":{"type":"x"},"concurrency":{"limit":0},` + target + `}`:                           "limit",
		`POST /event-triggers {"match":{"type":"x"},"timeoutSeconds":-1,` + target + `}`:                                 "timeout",
		`POST /event-triggers {"match":{"type":"x"},"target":{"timeoutSeconds":1,"steps":[{"id":"s"}]}}`:                 "target.timeoutSeconds",
		`POST /event-triggers {"match":{"type":"x"},"target":{"tool":{"name":"cat"},"outputDelivery":{"tool":"cat"}}}`:   "requires target.agent",
		`POST /events {}`: "type",
		`POST /events {"type":"x","specVersion":"2.0"}`: "specVersion",
		`POST /events {"type":"x","more":1}`:            "more",
		`GET /runs?status=done`:                         "status",
		`GET /runs?limit=0`:                             "limit",
		`GET /runs?plugin=x`:                            "plugin",
	} {
		s.wants("ann", request, 400, want)
	}
	s.wants("far", `POST /event-triggers {"match":{"type":"x"},`+target+`}`, 400, "agent that does not exist")
}

// waitRun waits for the only run to be in a state, and returns its id.
func (s *site) waitRun(status string) string {
	s.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		_, body := s.send("ann", "GET /runs?status="+status)
		var page struct{ Items []struct{ ID string } }
		if err := json.Unmarshal([]byte(body), &page); err != nil {
			s.Fatal(err)
		}
		if len(page.Items) == 1 {
			return page.Items[0].ID
		}
		select {
		case <-again.C:
		case <-deadline.C:
			_, all := s.send("ann", "GET /runs")
			s.Fatalf("there is no run that is %s: %s", status, all)
		}
	}
}

func TestARunIsFollowedAndAnswered(t *testing.T) {
	s := open(t)
	s.wants("ann", `POST /events {"type":"item.updated","id":"e1","source":"shop","data":{"id":"item-1"}}`, 202, `"runs":1`)
	s.wants("ann", `POST /events {"type":"item.updated","id":"e1","source":"shop","data":{"id":"item-1"}}`, 202, `"runs":0`)
	id := s.waitRun("waiting")
	s.wants("bob", "GET /runs/"+id, 200, `"output":{"text":"echo: Item item-1"}`)
	s.wants("bob", "GET /runs/"+id+"/interactions", 200, `"id":"approve_call"`)
	for _, stranger := range []string{"eve", "far"} {
		s.wants(stranger, "GET /runs", 200, `{"items":[]}`)
		s.wants(stranger, "GET /runs/"+id, 404, "not found")
		s.wants(stranger, "POST /runs/"+id+"/cancel {}", 404, "not found")
		s.wants(stranger, "GET /runs/"+id+"/interactions", 404, "not found")
		s.wants(stranger, "POST /runs/"+id+`/interactions/approve_call {"result":{"approved":true}}`, 404, "not found")
		s.wants(stranger, "GET /schedules", 200, `{"items":[]}`)
		s.wants(stranger, "GET /schedules/declared", 404, "not found")
		s.wants(stranger, "POST /schedules/declared/pause {}", 404, "not found")
		s.wants(stranger, "GET /event-triggers/declared", 404, "not found")
		s.wants(stranger, "DELETE /event-triggers/declared", 404, "not found")
	}
	s.wants("eve", `POST /events {"type":"item.updated","id":"e2"}`, 202, `"runs":0`)
	s.wants("ann", "POST /runs/"+id+`/interactions/approve_call {"result":{"approved":1}}`, 400, "")
	s.wants("ann", "POST /runs/"+id+`/interactions/approve_call {"result":{"approved":true}}`, 200, `"status"`)
	s.waitRun("succeeded")
	s.wants("ann", "GET /runs/"+id, 200, `"finalStepId":"cat"`)
	s.wants("ann", "POST /runs/"+id+"/cancel {}", 409, "succeeded")
}

func TestWhatACallerMadeIsItsOwn(t *testing.T) {
	s := open(t)
	s.wants("ann", `POST /event-triggers {"id":"mine","match":{"type":"t"},`+target+`}`, 201, `"declared":false`)
	for _, stranger := range []string{"bob", "eve"} {
		s.wants(stranger, "GET /event-triggers/mine", 404, "not found")
		s.wants(stranger, `PUT /event-triggers/mine {"match":{"type":"t"},`+target+`}`, 404, "not found")
		s.wants(stranger, "DELETE /event-triggers/mine", 404, "not found")
	}
	s.wants("eve", `POST /event-triggers {"id":"mine","match":{"type":"t"},`+target+`}`, 201, "")
	s.wants("bob", `POST /events {"type":"t","id":"1"}`, 202, `"runs":0`)
	s.waitRun("succeeded")
	s.wants("bob", "GET /runs", 200, `{"items":[]}`)
}

// Nobody learns which ids others have chosen, and what others made stays as it is.
func TestTheIDsOfOthersLookFree(t *testing.T) {
	s := open(t)
	for path, when := range map[string]string{"/event-triggers": `"match":{"type":"t"}`, "/schedules": `"cron":"@yearly"`} {
		create := "POST " + path + ` {"id":"mine",` + when + `,` + target + `}`
		s.wants("ann", create, 201, `"id":"mine"`)
		s.wants("bob", create, 201, `"id":"mine"`)
		s.wants("bob", create, 409, "mine")
		s.wants("bob", "POST "+path+"/mine/pause {}", 200, `"paused":true`)
		s.wants("ann", "GET "+path+"/mine", 200, `"paused":false`)
		s.wants("bob", "DELETE "+path+"/mine", 204, "")
		s.wants("ann", "GET "+path+"/mine", 200, `"id":"mine"`)
		s.wants("bob", "GET "+path+"/mine", 404, "not found")
	}
	s.wants("bob", `POST /event-triggers {"id":"mine","match":{"type":"t"},`+target+`}`, 201, "")
	s.wants("ann", `POST /events {"type":"t","id":"1"}`, 202, `"runs":1`)
	s.waitRun("succeeded")
	s.wants("bob", `POST /events {"type":"t","id":"2"}`, 202, `"runs":1`)
}

func TestCloudEventsInAllTheirForms(t *testing.T) {
	s := open(t)
	one := `{"specversion":"1.0","type":"item.updated","source":"shop","id":"ID","time":"2026-11-24T10:00:00Z","data":{"id":"x"},"trace":"t"}`
	of := func(id string) string { return strings.Replace(one, "ID", id, 1) }
	s.wants("ann", "POST /events "+of("1"), 202, `"extensions":{"trace":"t"}`, "Content-Type", "application/cloudevents+json; charset=utf-8")
	s.wants("ann", "POST /events ["+of("1")+","+of("2")+","+of("3")+","+of("3")+"]", 202, `"runs":2`, "Content-Type", "application/cloudevents-batch+json")
	s.wants("ann", "POST /events []", 202, `"runs":0`, "Content-Type", "application/cloudevents-batch+json")
	binary := []string{"Ce-Specversion", "1.0", "Ce-Type", "item.updated", "Ce-Source", "shop", "Ce-Id", "4", "Content-Type", "application/json"}
	s.wants("ann", `POST /events {"id":"y"}`, 202, `"data":{"id":"y"}`, binary...)
	s.wants("ann", `POST /events plain`, 202, `"runs":0`, binary...)
	s.wants("ann", `POST /events {"specversion":"1.0","type":"item.updated","source":"shop","id":"5","data_base64":"eyJpZCI6InoifQ=="}`, 202, `"data":{"id":"z"}`, "Content-Type", "application/cloudevents+json")
	for body, want := range map[string]string{
		strings.Replace(of("6"), `"source":"shop",`, "", 1):      "source",
		strings.Replace(of("6"), "2026-11-24T10:00:00Z", "x", 1): "time",
		strings.Replace(of("6"), `"1.0"`, `"0.3"`, 1):            "specVersion",
		`{"specversion":"1.0"`:                                   "body",
	} {
		s.wants("ann", "POST /events "+body, 400, want, "Content-Type", "application/cloudevents+json")
	}
}

func TestSignedRequests(t *testing.T) {
	s := open(t)
	const body = `{"id":"item-1"}`
	signed := func(secret, id string, age time.Duration) []string {
		at := strconv.FormatInt(time.Now().Add(-age).Unix(), 10)
		return []string{"Webhook-Id", id, "Webhook-Timestamp", at, "Webhook-Signature", "v1a,x v1," + workflow.Sign(secret, id, at, []byte(body))}
	}
	s.wants("", "POST /webhooks/declared "+body, 202, "accepted", signed("s3cret", "m1", 0)...)
	s.wants("", "POST /webhooks/declared "+body, 200, "known", signed("s3cret", "m1", time.Minute)...)
	s.wants("", "POST /webhooks/declared "+body, 202, "accepted", signed("older", "m2", 0)...)
	for name, header := range map[string][]string{
		"no signature": nil, "another secret": signed("other", "m3", 0), "an old one": signed("s3cret", "m3", 10*time.Minute),
		"one from the future": signed("s3cret", "m3", -10*time.Minute),
	} {
		if status, text := s.send("", "POST /webhooks/declared "+body, header...); status != 404 {
			t.Errorf("%s: %d %s", name, status, text)
		}
	}
	header := signed("s3cret", "m4", 0)
	s.wants("", "POST /webhooks/declared "+strings.Replace(body, "1", "2", 1), 404, "", header...)
	header[1] = "m5"
	s.wants("", "POST /webhooks/declared "+body, 404, "", header...)
	s.wants("", "POST /webhooks/none "+body, 404, "", signed("s3cret", "m6", 0)...)
}

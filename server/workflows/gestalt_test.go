package workflows_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/server/workflows"
)

const (
	gestaltAt     = "/api/v1/workflow"
	gestaltTarget = `"target":{"steps":[{"id":"ask","agent":{"provider":"a","model":"m","prompt":"Item ${{ input.id }}","tools":[]}}]}`
)

// idOf returns the id in the body of an answer.
func idOf(t *testing.T, body string) string {
	t.Helper()
	var made struct{ ID string }
	if err := json.Unmarshal([]byte(body), &made); err != nil {
		t.Fatal(err)
	}
	return made.ID
}

func TestGestaltsClientsMakeReadReplaceAndDeleteStarts(t *testing.T) {
	s := open(t)
	for kind, start := range map[string]string{"schedules": `"cron":"0 9 * * *","timezone":"Europe/Berlin"`, "event-triggers": `"match":{"type":"t","source":"s"}`} {
		path := gestaltAt + "/" + kind
		one := path + "/" + idOf(t, s.wants("ann", `POST `+path+` {"provider":"local",`+start+`,`+gestaltTarget+`,"paused":true}`, 201, `"paused":true`))
		s.wants("ann", "GET "+one, 200, start)
		s.wants("ann", "GET "+one, 200, `"provider":"local"`)
		s.wants("ann", "GET "+one, 200, gestaltTarget)
		s.wants("ann", "GET "+strings.Replace(one, gestaltAt, "", 1), 200, `"agent":{"agent":"a","modelId":"m"`)
		s.wants("ann", "PUT "+one+` {`+start+`,"target":{"plugin":{"name":"cat","operation":"cat","input":{"text":"x"}}}}`, 200, `"target":{"plugin":{"name":"cat","operation":"cat","input":{"text":"x"}}},"paused":false`)
		s.wants("ann", "POST "+one+"/pause {}", 200, `"paused":true`)
		s.wants("ann", "POST "+one+"/resume {}", 200, `"paused":false`)
		s.wants("ann", "GET "+path, 200, `[{"id":"`)
		for _, request := range []string{"GET " + one, "DELETE " + one, "POST " + one + "/pause {}", "POST " + one + "/resume {}", "PUT " + one + " {" + start + "," + gestaltTarget + "}"} {
			s.wants("bob", request, 404, `not found","code":"not_found"}`)
			s.wants("eve", request, 404, `not found","code":"not_found"}`)
		}
		s.wants("eve", "GET "+path, 200, `[]`)
		s.wants("ann", "DELETE "+one, 200, `{"status":"deleted"}`)
		s.wants("ann", "GET "+one, 404, `{"error":"workflow `)
		s.wants("ann", "DELETE "+path+"/declared", 409, "declared in the configuration")
		s.wants("", "GET "+path, 401, `{"error":"missing authorization","code":"unauthorized"}`)
	}
}

func TestReplacingByGestaltsRoutesLosesNothing(t *testing.T) {
	s := open(t)
	s.wants("ann", `POST /schedules {"id":"own","cron":"@daily","concurrency":{"limit":2},`+target+`}`, 201, "")
	s.wants("ann", "PUT "+gestaltAt+`/schedules/own {"cron":"@hourly",`+gestaltTarget+`}`, 409, `"code":"unfit"`)
	s.wants("ann", "GET /schedules/own", 200, `"cron":"@daily"`)
}

func TestGestaltsRoutesSayWhatIsWrongAndWhere(t *testing.T) {
	s := open(t)
	step := func(fields string) string {
		return `POST ` + gestaltAt + `/event-triggers {"match":{"type":"t"},"target":{"steps":[{"id":"s",` + fields + `}]}}`
	}
	for request, want := range map[string]string{
		`POST ` + gestaltAt + `/schedules {"cron":"daily",` + gestaltTarget + `}`:                           `{"error":"cron: `,
		`POST ` + gestaltAt + `/schedules {"cron":"@daily","timezone":"Berln",` + gestaltTarget + `}`:       `{"error":"timezone: `,
		`POST ` + gestaltAt + `/schedules {"cron":"@daily","match":{"type":"t"},` + gestaltTarget + `}`:     `{"error":"match: unknown field`,
		`POST ` + gestaltAt + `/event-triggers {` + gestaltTarget + `}`:                                     `{"error":"match.type: `,
		`POST ` + gestaltAt + `/event-triggers {"provider":"x","match":{"type":"t"},` + gestaltTarget + `}`: `{"error":"provider: `,
		step(`"app":{"name":"cat","connection":"c"}`):                                                       `{"error":"target.steps[0].app.connection: unknown field`,
		step(`"app":{"name":"cat","instance":"c"}`):                                                         `{"error":"target.steps[0].app.instance: unknown field`,
		step(`"app":{"name":"cat","credentialMode":"c"}`):                                                   `{"error":"target.steps[0].app.credentialMode: unknown field`,
		step(`"app":{"name":"dog"}`):                                                                        `{"error":"target.steps[0].app.name: tool \"dog\"`,
		step(`"app":{"name":"cat","operation":"purr"}`):                                                     `{"error":"target.steps[0].app.name: tool \"mcp__cat__purr\"`,
		step(`"agent":{"provider":"b","prompt":"x"}`):                                                       `{"error":"target.steps[0].agent.provider: `,
		step(`"agent":{"provider":"a","model":"fast","prompt":"x"}`):                                        `{"error":"target.steps[0].agent.model: `,
		step(`"agent":{"provider":"a","modelOptions":{},"prompt":"x"}`):                                     `{"error":"target.steps[0].agent.modelOptions: unknown field`,
		step(`"agent":{"provider":"a"}`):                                                                    `{"error":"target.steps[0].agent.prompt: `,
		step(`"agent":{"provider":"a","prompt":"x","tools":[{"app":"cat"}]}`):                               `{"error":"target.steps[0].agent.tools[0]: `,
		`POST ` + gestaltAt + `/events {}`:                                                                  `{"error":"type is required`,
		`GET ` + gestaltAt + `/runs?status=done`:                                                            `{"error":"status: `,
		`GET ` + gestaltAt + `/runs?colour=red`:                                                             `{"error":"colour: `,
	} {
		s.wants("ann", request, 400, want)
	}
	s.wants("far", `POST `+gestaltAt+`/event-triggers {"match":{"type":"t"},`+gestaltTarget+`}`, 400, "agent that does not exist")
}

func TestGestaltsClientsFollowARun(t *testing.T) {
	s := open(t)
	trigger := idOf(t, s.wants("ann", `POST `+gestaltAt+`/event-triggers {"match":{"type":"zeta"},`+gestaltTarget+`}`, 201, ""))
	s.wants("ann", `POST `+gestaltAt+`/events {"type":"zeta","source":"s","id":"1","dataContentType":"application/json","data":{"id":"item-1"}}`, 202, `"status":"published"`)
	id := s.waitRun("succeeded")
	for _, request := range []string{"GET " + gestaltAt + "/runs", "GET " + gestaltAt + "/runs/" + id} {
		body := s.wants("ann", request, 200, `"resultBody":"echo: Item item-1"`)
		for _, want := range []string{`"kind":"event","triggerId":"` + trigger, `"createdBy":{"subjectId":"ann","subjectKind":"user"}`, `"status":"succeeded"`, gestaltTarget} {
			if !strings.Contains(body, want) {
				t.Errorf("%s lacks %s: %s", request, want, body)
			}
		}
	}
	s.wants("ann", "GET "+gestaltAt+"/runs?plugin=cat", 200, "[]")
	s.wants("ann", "POST "+gestaltAt+"/runs/"+id+"/cancel {}", 409, `"code"`)
	for _, who := range []string{"bob", "eve"} {
		s.wants(who, "GET "+gestaltAt+"/runs/"+id, 404, `{"error":"workflow run \"`+id+`\" not found","code":"not_found"}`)
		s.wants(who, "POST "+gestaltAt+"/runs/"+id+"/cancel {}", 404, `not found`)
		s.wants(who, "GET "+gestaltAt+"/runs", 200, "[]")
	}
}

func TestATargetIsReadInBothSpellings(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		`{"steps":[{"id":"s","agent":{"provider":"a","model":"m","prompt":"p","tools":[{"app":"x","operation":"y"}]}}]}`: `{"steps":[{"id":"s","agent":{"agent":"a","modelId":"m","prompt":"p","tools":["mcp__x__y"]}}]}`,
		`{"steps":[{"id":"s","agent":{"agent":"a","prompt":"p"}}]}`:                                                      `{"steps":[{"id":"s","agent":{"agent":"a","prompt":"p"}}]}`,
		`{"plugin":{"name":"x","operation":"x"}}`:                                                                        `{"steps":[{"id":"target","tool":{"name":"x"}}]}`,
		`{"steps":[{"id":"s","agent":{"provider":"a","modle":"m"}}]}`:                                                    `steps[0].agent.modle: unknown field; did you mean "model"?`,
		`{"steps":[{"id":"s","agent":{"agent":"a","promt":"p"}}]}`:                                                       `steps[0].agent.promt: unknown field; did you mean "prompt"?`,
		`{"steps":[{"id":"s","agent":{"provider":"a","prompt":"p","tools":[{}]}}]}`:                                      `target.steps[0].agent.tools[0].app: app is required`,
		`{"steps":[{"id":"s","app":{"name":7}}]}`:                                                                        `steps.app.name must not be a JSON number`,
		`[]`: `body`,
	} {
		target, err := workflows.ReadTarget([]byte(in))
		got := ""
		if err != nil {
			got = err.Error()
		} else if data, err := json.Marshal(target); err == nil {
			got = string(data)
		}
		if !strings.HasPrefix(got, want) {
			t.Errorf("%s is read as %s, want %s", in, got, want)
		}
	}
}

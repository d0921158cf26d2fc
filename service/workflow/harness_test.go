package workflow_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/service"
	engine "github.com/agentruntime/agentruntime/service/workflow"
	"github.com/agentruntime/agentruntime/store"
)

// team is a caller of the tenant that the workflows of the tests belong to.
var team = service.Caller{Tenant: "default", Subject: "alice"}

// base is what the workflows of the tests use. The tools append what they are given to a
// file, and answer with it.
const base = `version: 1
providers:
  demo: {type: scripted, script: ./replies.yaml}
models:
  m: {provider_id: demo, upstream_model: x}
tools:
  figures: {type: command, description: Prints figures., command: [tee, -a, ./figures.log], effect: read, parameters: {type: object, properties: {day: {type: string}}}}
  send: {type: command, description: Sends a report., command: [tee, -a, ./send.log], parameters: {type: object, properties: {text: {type: string}}}}
  broken: {type: command, description: Fails., command: ["false"], effect: read}
  flaky: {type: command, description: Succeeds the third time., command: [sh, -c, "echo $RUNTIME_IDEMPOTENCY_KEY >>./keys; [ $(wc -l <./keys) -ge 3 ] && echo done"], effect: idempotent}
agents:
  writer: {model_id: m, allowed_tools: [send]}
server: {public_url: "https://example.com/agents", keys: [{id: k, hash: "sha256:5e884898da28047151d0e56f8dc6292773603d0d6aabbd62a11ef721d1542d80"}]}
`

// world is a running app with its files.
type world struct {
	testing.TB
	*engine.Engine
	app *app.App
	dir string
}

// open starts an app with workflows, and replies of the model.
func open(t testing.TB, workflows, replies string) *world {
	t.Helper()
	return openIn(t, t.TempDir(), "store: {driver: memory}\n"+workflows, replies)
}

func openIn(t testing.TB, dir, rest, replies string) *world {
	t.Helper()
	return openWith(t, dir, rest, replies, func(*app.Options) {})
}

// openWith starts an app with other options.
func openWith(t testing.TB, dir, rest, replies string, change func(*app.Options)) *world {
	t.Helper()
	text := strings.ReplaceAll(base, "./", dir+"/")
	for name, data := range map[string]string{"config.yaml": text + rest, "replies.yaml": replies} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	options := app.Options{Files: []string{filepath.Join(dir, "config.yaml")}, Components: shipped.Components()}
	change(&options)
	a, err := app.Open(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	w := &world{TB: t, Engine: a.Workflows(), app: a, dir: dir}
	t.Cleanup(func() {
		if err := a.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return w
}

// publish publishes an event and wants a number of runs to be new.
func (w *world) publish(want int, ev engine.Event) {
	w.Helper()
	_, created, err := w.Publish(w.Context(), team, []engine.Event{ev})
	if err != nil || created != want {
		w.Fatalf("publishing %s made %d runs (%v), want %d", ev.ID, created, err, want)
	}
}

// until waits for the latest run to be in a state.
func (w *world) until(status store.RunStatus) *engine.Run {
	w.Helper()
	return w.untilRun(string(status), func(r *engine.Run) bool { return r.Status == status })
}

// untilTurn waits for the latest run to have a turn of its first step.
func (w *world) untilTurn() *engine.Run {
	w.Helper()
	return w.untilRun("at a turn", func(r *engine.Run) bool { return len(r.Steps) > 0 && r.Steps[0].TurnID != "" })
}

// untilRun waits for the latest run to be as is wanted.
func (w *world) untilRun(wanted string, holds func(*engine.Run) bool) *engine.Run {
	w.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		list, _, err := w.ListRuns(w.Context(), team, engine.RunQuery{})
		if err != nil {
			w.Fatal(err)
		}
		var run *engine.Run
		if len(list) > 0 {
			if run, err = w.GetRun(w.Context(), team, list[0].ID); err != nil {
				w.Fatal(err)
			}
			if holds(run) {
				return run
			}
		}
		select {
		case <-again.C:
		case <-deadline.C:
			data, _ := json.MarshalIndent(run, "", " ")
			w.Fatalf("the run is not %s: %s", wanted, data)
		}
	}
}

// awaitStatuses waits until there are so many runs in each state, and returns them.
func (w *world) awaitStatuses(want map[store.RunStatus]int) map[store.RunStatus][]*engine.Run {
	w.Helper()
	deadline := time.NewTimer(30 * time.Second)
	defer deadline.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		list, _, err := w.ListRuns(w.Context(), team, engine.RunQuery{})
		if err != nil {
			w.Fatal(err)
		}
		runs, counts := make(map[store.RunStatus][]*engine.Run), make(map[store.RunStatus]int)
		for _, r := range list {
			runs[r.Status] = append(runs[r.Status], r)
			counts[r.Status]++
		}
		if maps.Equal(counts, want) {
			return runs
		}
		select {
		case <-again.C:
		case <-deadline.C:
			w.Fatalf("the runs are %v, want %v", counts, want)
		}
	}
}

// lines returns the lines that a tool was given.
func (w *world) lines(tool string) []string {
	w.Helper()
	data, err := os.ReadFile(filepath.Join(w.dir, tool+".log"))
	if err != nil && !os.IsNotExist(err) {
		w.Fatal(err)
	}
	var list []string
	for d := json.NewDecoder(bytes.NewReader(data)); ; {
		var one json.RawMessage
		if d.Decode(&one) != nil {
			return list
		}
		list = append(list, string(one))
	}
}

// wantSteps wants the steps of a run to have ended so.
func (w *world) wantSteps(r *engine.Run, want ...engine.StepStatus) {
	w.Helper()
	for i, s := range r.Steps {
		if i >= len(want) || s.Status != want[i] {
			data, _ := json.MarshalIndent(r.Steps, "", " ")
			w.Fatalf("the steps are %s, want %v", data, want)
		}
	}
}

// approve answers what a run waits for.
func (w *world) approve(r *engine.Run, result string) {
	w.Helper()
	open, err := w.Interactions(w.Context(), team, r.ID)
	if err != nil || len(open) != 1 {
		w.Fatalf("the run waits for %d answers (%v)", len(open), err)
	}
	if _, err := w.Answer(w.Context(), team, r.ID, interaction.Answer{Target: open[0].ID, Result: json.RawMessage(result)}); err != nil {
		w.Fatal(err)
	}
}

// approval approves a call.
func approval(id string) interaction.Answer {
	return interaction.Answer{Target: id, Result: json.RawMessage(`{"approved":true}`)}
}

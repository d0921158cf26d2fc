package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/fleet"
	engine "github.com/agentruntime/agentruntime/service/workflow"
	flow "github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/agentruntime/agentruntime/store"
)

// acme is a caller of a tenant with an overlay.
var acme = service.Caller{Tenant: "acme", Subject: "amy"}

const tenantRules = `revisions: {source: store}
tenants: {may: {workflows: {min_every: 1s, tools: [figures]}}}
workflows:
  shared: {tenant: acme, events: [{type: shared}], steps: [{id: ask, agent: {agent: writer, prompt: "Shared ${{ input.n }}."}}]}
`

// ownFlows is an overlay whose workflow has an agent that only the tenant has.
const ownFlows = `{"version":1,"agents":{"own":{"extends":"writer"}},"workflows":{"own":{
	"schedules":[{"id":"often","cron":%q}],"events":[{"type":"item"}],
	"steps":[{"id":"ask","agent":{"agent":"own","prompt":"Item ${{ signal.type }}."}},{"id":"day","tool":{"name":"figures","input":{"day":"${{ steps.ask.outputs.text }}"}}}]}}}`

// overlay publishes the overlay of a tenant over what it has now.
func (w *world) overlay(tenant, document string) {
	w.Helper()
	change := &fleet.Change{Document: []byte(document)}
	if current, err := w.app.Fleet().Tenant(tenant).Current(w.Context()); err == nil {
		change.Expected = current.Hash
	}
	if _, err := w.app.Fleet().Tenant(tenant).Publish(w.Context(), change); err != nil {
		w.Fatal(err)
	}
}

// serve lets the app follow what others publish, until the test ends.
func (w *world) serve() {
	ctx, stop := context.WithCancel(context.WithoutCancel(w.Context()))
	var serving sync.WaitGroup
	serving.Go(func() { _ = w.app.Serve(ctx) })
	w.Cleanup(func() { stop(); serving.Wait() })
}

// runsOf returns the runs that a caller sees.
func (w *world) runsOf(caller service.Caller) []*engine.Run {
	w.Helper()
	list, _, err := w.ListRuns(w.Context(), caller, engine.RunQuery{})
	if err != nil {
		w.Fatal(err)
	}
	return list
}

// await asks again until something holds.
func (w *world) await(what string, holds func() bool) {
	w.Helper()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for deadline := time.After(30 * time.Second); !holds(); {
		select {
		case <-again.C:
		case <-deadline:
			w.Fatalf("it never comes to it that %s", what)
		}
	}
}

// awaitRun waits for a run of a caller that a trigger began to succeed.
func (w *world) awaitRun(caller service.Caller, kind engine.TriggerKind) *engine.Run {
	w.Helper()
	var found *engine.Run
	w.await(fmt.Sprintf("a run by %s succeeds", kind), func() bool {
		for _, r := range w.runsOf(caller) {
			if r.Trigger.Kind == kind && r.Status == store.RunFailed {
				w.Fatalf("the run failed: %s", r.Message)
			}
			if r.Trigger.Kind == kind && r.Status == store.RunSucceeded {
				found = r
			}
		}
		return found != nil
	})
	return found
}

func (w *world) schedulesOf(caller service.Caller) string {
	w.Helper()
	list, err := w.ListStarts(w.Context(), caller, true)
	if err != nil {
		w.Fatal(err)
	}
	var ids []string
	for _, s := range list {
		ids = append(ids, s.ID+" "+s.Schedule.Cron)
	}
	return strings.Join(ids, ", ")
}

// Runs of a tenant's workflows are the tenant's, in the tenant's revision.
func TestWorkflowsOfATenant(t *testing.T) {
	t.Parallel()
	w := open(t, tenantRules, "")
	if _, created, err := w.Publish(t.Context(), acme, []engine.Event{{ID: "1", Type: "item"}}); err != nil || created != 0 {
		t.Fatalf("before there is an overlay: %d runs: %v", created, err)
	}
	w.overlay("acme", fmt.Sprintf(ownFlows, "@every 1s"))
	run := w.awaitRun(acme, engine.BySchedule)
	if run.WorkflowID != "own" || !strings.HasPrefix(run.ID, "schedule:often:") {
		t.Errorf("the run is %s of %s", run.ID, run.WorkflowID)
	}
	if base := w.app.Service().Revision().Hash(); run.Revision == base {
		t.Error("the run began in the base")
	}
	whole, err := w.GetRun(t.Context(), acme, run.ID)
	if err != nil || string(whole.Steps[1].Output) != `{"day":"echo: Item schedule."}` {
		t.Errorf("the run came to %+v: %v", whole, err)
	}
	for _, event := range []struct {
		caller service.Caller
		typ    string
		want   int
	}{{acme, "item", 1}, {team, "item", 0}, {acme, "shared", 1}, {team, "shared", 0}} {
		_, created, err := w.Publish(t.Context(), event.caller, []engine.Event{{ID: "2", Type: event.typ, Data: json.RawMessage(`{"n":1}`)}})
		if err != nil || created != event.want {
			t.Errorf("the event %s of %s made %d runs, want %d: %v", event.typ, event.caller.Tenant, created, event.want, err)
		}
	}
	if byEvent := w.awaitRun(acme, engine.ByEvent); byEvent.Revision != run.Revision {
		t.Errorf("a run of the base's workflow began in %s, not in the revision of the tenant", byEvent.Revision)
	}
	if list := w.runsOf(team); len(list) != 0 {
		t.Errorf("another tenant sees %d runs", len(list))
	}
	if _, err := w.GetRun(t.Context(), team, run.ID); err == nil {
		t.Error("another tenant sees the run")
	}
	if got := w.schedulesOf(team); got != "" {
		t.Errorf("another tenant sees %s", got)
	}
}

// A tool that a caller's workflow might call when it was made is not called once the
// configuration no longer allows it.
func TestWorkflowsOfCallersKeepToWhatIsAllowedNow(t *testing.T) {
	t.Parallel()
	rest, rules := fmt.Sprintf("store: {driver: postgres, dsn: %q}\n", pgtest.Start(t).Database(t)), strings.Replace(tenantRules, "source: store", "source: file", 1)
	before := openIn(t, t.TempDir(), rest+rules, "")
	made := func() *flow.Workflow {
		return &flow.Workflow{Events: []flow.EventTrigger{{Type: "call"}}, Steps: []flow.Step{{ID: "call", Tool: &flow.ToolCall{Name: "figures"}}}}
	}
	if _, err := before.Save(t.Context(), acme, "own", made(), false, true); err != nil {
		t.Fatal(err)
	}
	begin := func(w *world, id string) {
		t.Helper()
		if _, created, err := w.Publish(t.Context(), acme, []engine.Event{{ID: id, Type: "call"}}); err != nil || created != 1 {
			t.Fatalf("%d runs: %v", created, err)
		}
	}
	begin(before, "1")
	before.awaitRun(acme, engine.ByEvent)
	before.Close()
	after := openIn(t, t.TempDir(), rest+strings.Replace(rules, "tools: [figures]", "tools: []", 1), "")
	if _, err := after.Save(t.Context(), acme, "other", made(), false, true); err == nil || !strings.Contains(err.Error(), "cannot call the tool") {
		t.Errorf("it is made: %v", err)
	}
	begin(after, "2")
	after.await("the run fails", func() bool {
		run := after.runsOf(acme)[0]
		if run.Status == store.RunSucceeded && strings.HasSuffix(run.ID, "2") {
			t.Fatal("the tool was called")
		}
		return run.Status == store.RunFailed && strings.Contains(run.Message, "cannot call the tool")
	})
}

// A run goes on in the revision that it began in, also when the tenant has another one.
func TestARunOfATenantIsPinned(t *testing.T) {
	t.Parallel()
	w := open(t, tenantRules, "")
	const waits = `{"version":1,"agents":{"own":{"extends":"writer"}},"workflows":{"own":{"events":[{"type":"item"}],"steps":[
		{"id":"day","tool":{"name":"figures","approval":true}},{"id":"ask","agent":{"agent":"own","prompt":"x"}}]}}}`
	w.overlay("acme", waits)
	if _, created, err := w.Publish(t.Context(), acme, []engine.Event{{ID: "1", Type: "item"}}); err != nil || created != 1 {
		t.Fatalf("%d runs: %v", created, err)
	}
	w.await("the run waits", func() bool { return w.runsOf(acme)[0].Status == store.RunWaiting })
	w.overlay("acme", `{"version":1}`)
	run := w.runsOf(acme)[0]
	open, err := w.Interactions(t.Context(), acme, run.ID)
	if err != nil || len(open) != 1 {
		t.Fatalf("it waits for %v: %v", open, err)
	}
	if _, err := w.Answer(t.Context(), acme, run.ID, approval(open[0].ID)); err != nil {
		t.Fatal(err)
	}
	w.awaitRun(acme, engine.ByEvent)
}

// Schedules begin, change and end without a restart, wherever their overlay is published,
// and go on after a restart.
func TestSchedulesOfATenantFollowItsOverlay(t *testing.T) {
	t.Parallel()
	rest := fmt.Sprintf("store: {driver: postgres, dsn: %q}\n", pgtest.Start(t).Database(t)) + tenantRules
	publisher, other := openIn(t, t.TempDir(), rest, ""), openIn(t, t.TempDir(), rest, "")
	publisher.serve()
	other.serve()
	publisher.Close() // it fires nothing
	publisher.overlay("acme", fmt.Sprintf(ownFlows, "@every 1s"))
	other.awaitRun(acme, engine.BySchedule)
	publisher.overlay("acme", strings.Replace(fmt.Sprintf(ownFlows, "@yearly"), "often", "rarely", 1))
	other.await("the other schedule counts", func() bool { return other.schedulesOf(acme) == "rarely @yearly" })
	other.await("no run is live", func() bool {
		for _, r := range other.runsOf(acme) {
			if r.Status.Live() {
				return false
			}
		}
		return true
	})
	before := len(other.runsOf(acme))
	third := openIn(t, t.TempDir(), rest, "")
	if got := third.schedulesOf(acme); got != "rarely @yearly" {
		t.Errorf("after a restart the schedules are %s", got)
	}
	publisher.overlay("acme", strings.Replace(fmt.Sprintf(ownFlows, "@every 1s"), `"cron"`, `"paused":true,"cron"`, 1))
	third.await("the schedule is paused", func() bool { return third.schedulesOf(acme) == "often @every 1s" })
	publisher.overlay("acme", `{"version":1}`)
	other.await("there are no more", func() bool { return other.schedulesOf(acme) == "" })
	if after := len(other.runsOf(acme)); after != before {
		t.Errorf("%d runs began while the schedule was paused, changed and gone", after-before)
	}
	publisher.overlay("acme", strings.Replace(fmt.Sprintf(ownFlows, "@every 1s"), "often", "again", 1))
	third.await("it begins again", func() bool {
		for _, r := range third.runsOf(acme) {
			if strings.HasPrefix(r.ID, "schedule:again:") && r.Status == store.RunSucceeded {
				return true
			}
		}
		return false
	})
}

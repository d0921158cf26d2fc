package service_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"
)

// peer is a backend whose turns go on when nobody here works on them: each is a
// task, whose name is all that is kept of it.
type peer struct {
	turntest.Remote
	mu      sync.Mutex
	aborted []string
}

func (p *peer) Abort(_ context.Context, state *backend.State) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.aborted = append(p.aborted, string(state.Remote.Resume))
	return nil
}

func (p *peer) abortions() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.aborted...)
}

// federation is a runtime with an agent that lives at the peer and one here that
// calls it.
func federation(t testing.TB, p backend.Backend) *runtime.AgentRuntime {
	exec := turntest.Scripts(map[string][]turntest.Answer{"boss": {turntest.AsksAgent("far"), {Text: "thanks"}, {Text: "thanks"}}})
	return turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "boss", Delegates: []string{"far"}}, turntest.Far).WithBackend(turntest.Factory{Backend: p}))
}

func TestATurnAtAPeerGoesOnWhenItsWorkerDied(t *testing.T) {
	for _, agent := range []string{"far", "boss"} {
		t.Run(agent, func(t *testing.T) {
			kept := newMemory(t)
			grave := &mortal{Store: kept}
			began := make(chan struct{})
			var sent []string
			p := &peer{Remote: turntest.Remote{ExecuteFunc: func(ctx context.Context, job *backend.Job, _ backend.Host) (*backend.Result, error) {
				if job.State == nil {
					sent = append(sent, "task")
					if err := job.Checkpoint(ctx, turntest.AtTask(`"t1"`)); err != nil {
						t.Errorf("what the turn goes on from is not kept: %v", err)
					}
					grave.dead.Store(true)
					close(began)
					<-ctx.Done()
					if !backend.Released(ctx) {
						t.Errorf("a worker that is gone ends the turn at the peer: %v", context.Cause(ctx))
					}
					return nil, ctx.Err()
				}
				return &backend.Result{Outcome: event.Outcome{Response: "from " + string(job.State.Remote.Resume)}}, nil
			}}}
			rt := federation(t, p)
			victim := serve(t, rt, on(grave))
			made := create(t, victim, says(session(t, victim, agent), "x"))
			<-began
			go victim.Close()
			survivor := serve(t, rt, on(kept))
			turn := ended(t, survivor, made.ID)
			if turn.Status != store.Succeeded {
				t.Fatalf("the turn is %s: %+v", turn.Status, turn.Outcome)
			}
			if len(sent) != 1 || len(p.abortions()) != 0 {
				t.Errorf("the peer was asked for %q, and to stop for %q", sent, p.abortions())
			}
			if agent == "boss" {
				if how, text := callOutcome(t, log(t, survivor, turn.ID), "to-far"); how != event.CallSucceeded || text != `from "t1"` {
					t.Errorf("the call %s: %s", how, text)
				}
			}
		})
	}
}

// slowToLeave is a store whose worker does not hear that its turn waits before left is closed.
type slowToLeave struct {
	store.Store
	left chan struct{}
}

func (s slowToLeave) Commit(ctx context.Context, c *store.Commit) error {
	err := s.Store.Commit(ctx, c)
	if c.Suspend != nil {
		<-s.left
	}
	return err
}

// endWaiting cancels a turn that waits, and waits until the peer is asked to stop.
func endWaiting(t *testing.T, agent string, kept store.Store) {
	t.Helper()
	p := &peer{Remote: turntest.Remote{ExecuteFunc: func(_ context.Context, _ *backend.Job, host backend.Host) (*backend.Result, error) {
		state := turntest.AsksAt(`"t1"`)
		q := state.Remote.Interactions[0]
		host.Emit(&event.InteractionRequest{Request: interaction.Request{ID: q.ID, Action: q.Action, Message: q.Message}})
		return &backend.Result{Outcome: event.Outcome{Termination: event.Termination{Type: event.Suspended}}, Interactions: state.Interactions(), State: state}, nil
	}}}
	s := serve(t, federation(t, p), on(kept))
	made := create(t, s, says(session(t, s, agent), "x"))
	until(t, s, made.ID, store.Waiting)
	if _, err := s.CancelTurn(t.Context(), alice, made.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	eventually(t, func() string { return cmp.Diff([]string{`"t1"`}, p.abortions()) })
}

func TestATurnThatIsEndedEndsAtThePeer(t *testing.T) {
	for _, agent := range []string{"far", "boss"} {
		t.Run(agent+" while it runs", func(t *testing.T) {
			began, ended := make(chan struct{}), make(chan bool, 1)
			p := &peer{Remote: turntest.Remote{ExecuteFunc: func(ctx context.Context, job *backend.Job, _ backend.Host) (*backend.Result, error) {
				if err := job.Checkpoint(ctx, turntest.AtTask(`"t1"`)); err != nil {
					t.Error(err)
				}
				close(began)
				<-ctx.Done()
				ended <- !backend.Released(ctx)
				return nil, ctx.Err()
			}}}
			s := serve(t, federation(t, p))
			made := create(t, s, says(session(t, s, agent), "x"))
			<-began
			if _, err := s.CancelTurn(t.Context(), alice, made.ID, "enough"); err != nil {
				t.Fatal(err)
			}
			if !<-ended {
				t.Error("the backend was asked to leave the turn running at the peer")
			}
			if got := p.abortions(); len(got) != 0 {
				t.Errorf("the peer is asked twice to stop %q", got)
			}
		})
		t.Run(agent+" while it waits", func(t *testing.T) { endWaiting(t, agent, newMemory(t)) })
		t.Run(agent+" while its worker leaves it", func(t *testing.T) {
			left := make(chan struct{})
			defer close(left)
			endWaiting(t, agent, slowToLeave{newMemory(t), left})
		})
		t.Run(agent+" when its worker is dead", func(t *testing.T) {
			kept := newMemory(t)
			grave := &mortal{Store: kept}
			began := make(chan struct{})
			p := &peer{Remote: turntest.Remote{ExecuteFunc: func(ctx context.Context, job *backend.Job, _ backend.Host) (*backend.Result, error) {
				err := job.Checkpoint(ctx, turntest.AtTask(`"t1"`))
				grave.dead.Store(true)
				close(began)
				<-ctx.Done()
				return nil, errors.Join(err, ctx.Err())
			}}}
			rt := federation(t, p)
			victim := serve(t, rt, on(grave))
			made := create(t, victim, says(session(t, victim, agent), "x"))
			<-began
			victim.Close()
			late := idle(t, rt, on(kept))
			if _, err := late.CancelTurn(t.Context(), alice, made.ID, "enough"); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() string { return cmp.Diff([]string{`"t1"`}, p.abortions()) })
		})
	}
}

func TestATurnThatIsPoisonEndsAtThePeer(t *testing.T) {
	for _, agent := range []string{"far", "boss"} {
		t.Run(agent, func(t *testing.T) {
			kept := newMemory(t)
			grave := &mortal{Store: kept}
			began := make(chan struct{})
			p := &peer{Remote: turntest.Remote{ExecuteFunc: func(ctx context.Context, job *backend.Job, _ backend.Host) (*backend.Result, error) {
				err := job.Checkpoint(ctx, turntest.AtTask(`"t1"`))
				grave.dead.Store(true)
				close(began)
				<-ctx.Done()
				return nil, errors.Join(err, ctx.Err())
			}}}
			rt := federation(t, p)
			victim := serve(t, rt, on(grave))
			made := create(t, victim, says(session(t, victim, agent), "x"))
			<-began
			victim.Close()
			for turn, err := kept.Turn(t.Context(), store.Everything, made.ID); turn == nil || turn.Strikes < service.DefaultStrikes; turn, err = kept.Turn(t.Context(), store.Everything, made.ID) {
				if _, recovering := kept.Recover(t.Context(), time.Now().Add(time.Hour)); err != nil || recovering != nil {
					t.Fatal(err, recovering)
				}
				_, _ = kept.Claim(t.Context(), &store.Claim{TurnID: made.ID, Worker: "victim", Lease: time.Hour, Now: time.Now()}) // the last of them is refused
			}
			late := serve(t, rt, on(kept))
			if turn := ended(t, late, made.ID); turn.Outcome.Termination.Code != service.CodePoison {
				t.Errorf("the turn is %s: %+v", turn.Status, turn.Outcome)
			}
			eventually(t, func() string { return cmp.Diff([]string{`"t1"`}, p.abortions()) })
		})
	}
}

func TestAnAnswerGoesToThePeer(t *testing.T) {
	for _, agent := range []string{"far", "boss"} {
		t.Run(agent, func(t *testing.T) {
			p := &turntest.Remote{ExecuteFunc: func(_ context.Context, job *backend.Job, host backend.Host) (*backend.Result, error) {
				if job.State == nil {
					state := turntest.AsksAt(`"t1"`)
					q := state.Remote.Interactions[0]
					host.Emit(&event.InteractionRequest{Request: interaction.Request{ID: q.ID, Action: q.Action, Message: q.Message}})
					return &backend.Result{Outcome: event.Outcome{Termination: event.Termination{Type: event.Suspended}}, Interactions: state.Interactions(), State: state}, nil
				}
				at := job.State.Remote
				return &backend.Result{Outcome: event.Outcome{Response: string(at.Resume) + string(at.Answers[0].Result)}}, nil
			}}
			kept := newMemory(t)
			rt := federation(t, p)
			first := serve(t, rt, on(kept))
			made := create(t, first, says(session(t, first, agent), "x"))
			until(t, first, made.ID, store.Waiting)
			first.Close()
			second := serve(t, rt, on(kept))
			open, err := second.ListInteractions(t.Context(), alice, store.InteractionQuery{TurnID: made.ID})
			if err != nil || len(open) != 1 || open[0].Request.Message != "which one?" {
				t.Fatalf("the turn waits for %+v, %v", open, err)
			}
			answer := turntest.Yes(open[0].ID)
			answer.Result = json.RawMessage(`"both"`)
			if _, err := second.AnswerInteraction(t.Context(), alice, made.ID, answer); err != nil {
				t.Fatal(err)
			}
			turn := ended(t, second, made.ID)
			if agent == "far" && turn.Outcome.Response != `"t1""both"` {
				t.Errorf("the turn came to %+v", turn.Outcome)
			}
			if agent == "boss" {
				if _, text := callOutcome(t, log(t, second, made.ID), "to-far"); text != `"t1""both"` {
					t.Errorf("the call came to %s", text)
				}
			}
		})
	}
}

func TestWhatATurnOfAnotherRuntimeIsHeldTo(t *testing.T) {
	var job *backend.Job
	p := &turntest.Remote{ExecuteFunc: func(_ context.Context, j *backend.Job, _ backend.Host) (*backend.Result, error) {
		job = j
		return &backend.Result{Outcome: event.Outcome{Response: "ok"}}, nil
	}}
	s := serve(t, federation(t, p))
	req := says(session(t, s, "far"), "x")
	req.Depth, req.Limits = 3, &spec.Budgets{MaxTokens: new(100)}
	req.Overrides.Budgets = &spec.Budgets{MaxTokens: new(500), MaxToolCalls: new(2)}
	req.Deadline = time.Now().Add(time.Hour)
	ended(t, s, create(t, s, req).ID)
	budgets := job.Meter.Budgets()
	if job.Depth != 3 || *budgets.MaxTokens != 100 || *budgets.MaxToolCalls != 2 {
		t.Errorf("the job has depth %d and the budgets %+v", job.Depth, budgets)
	}
	if left, ok := job.Meter.Remaining(); !ok || left > time.Hour || left < time.Hour-time.Minute {
		t.Errorf("%s are left of an hour", left)
	}
	maxDepth := job.MaxDepth // the next turns write job
	again := says(req.SessionID, "x")
	again.IdempotencyKey, again.Deadline = "once", time.Now().Add(time.Hour)
	first := create(t, s, again)
	again.Deadline, again.Limits = time.Now().Add(time.Minute), &spec.Budgets{MaxTokens: new(5)}
	if second := create(t, s, again); second.ID != first.ID {
		t.Errorf("the same request with less left makes turn %s besides %s", second.ID, first.ID)
	}
	req = says(session(t, s, "boss"), "x")
	req.Depth = maxDepth
	turn := ended(t, s, create(t, s, req).ID)
	if how, text := callOutcome(t, log(t, s, turn.ID), "to-far"); how != event.CallFailed {
		t.Errorf("an agent is called beyond the depth: it %s with %s", how, text)
	}
	req.Depth++
	if _, err := s.CreateTurn(t.Context(), alice, req); !errors.As(err, new(*runtime.DelegationError)) {
		t.Errorf("a turn beyond the depth gives %v", err)
	}
	req.Depth, req.Deadline = 0, time.Now().Add(-time.Second)
	if _, err := s.CreateTurn(t.Context(), alice, req); !errors.As(err, new(*service.InvalidError)) {
		t.Errorf("a turn after its deadline gives %v", err)
	}
}

func TestATurnBelongsToTheTraceOfWhoAskedForIt(t *testing.T) {
	const id = "0af7651916cd43dd8448eb211c80319c"
	seen := make(chan string, 1)
	p := &turntest.Remote{ExecuteFunc: func(ctx context.Context, _ *backend.Job, _ backend.Host) (*backend.Result, error) {
		seen <- trace.SpanContextFromContext(ctx).TraceID().String()
		return &backend.Result{Outcome: event.Outcome{Response: "ok"}}, nil
	}}
	s := serve(t, federation(t, p))
	header := http.Header{"Traceparent": {"00-" + id + "-b7ad6b7169203331-01"}}
	ctx := telemetry.Extract(t.Context(), header)
	if _, err := s.CreateTurn(ctx, alice, says(session(t, s, "far"), "x")); err != nil {
		t.Fatal(err)
	}
	if got := <-seen; got != id {
		t.Errorf("the turn belongs to trace %s", got)
	}
}

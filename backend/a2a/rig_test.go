package a2a

import (
	"context"
	"encoding/json"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"go.uber.org/zap"
)

// turnHost is the host of a turn. It records events.
type turnHost struct {
	mu      sync.Mutex
	events  []event.Data
	kept    []tools.Artifact
	refuse  error
	emitted func(event.Data)
	session
}

// session is the rest of a session.
type session = tools.Session

var _ backend.Host = (*turnHost)(nil)

func (h *turnHost) Emit(data event.Data) {
	h.mu.Lock()
	h.events = append(h.events, data)
	h.mu.Unlock()
	if h.emitted != nil {
		h.emitted(data)
	}
}

func (h *turnHost) Delegate(context.Context, tools.DelegateRequest) (*tools.DelegateResult, error) {
	panic("a turn at a peer delegates nothing")
}

func (h *turnHost) Handoff(context.Context, string) (*spec.Agent, *backend.ExecutionEnv, error) {
	panic("a turn at a peer is not handed off")
}

func (h *turnHost) Session() tools.Session { return h }

func (h *turnHost) FlushSession() {}

func (h *turnHost) EmitDelegated(*event.Event) {}

func (h *turnHost) KeepArtifact(a tools.Artifact) (string, error) {
	if h.refuse != nil {
		return "", h.refuse
	}
	h.kept = append(h.kept, a)
	return a.ID, nil
}

// text returns the text that was shown and not retracted.
func (h *turnHost) text() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	var b strings.Builder
	begin := 0 // of the step
	for _, data := range h.events {
		switch d := data.(type) {
		case *event.StepStart:
			begin = b.Len()
		case *event.TextDelta:
			b.WriteString(d.Delta)
		case *event.StreamReset:
			kept := b.String()[:begin]
			b.Reset()
			b.WriteString(kept)
		}
	}
	return b.String()
}

// types returns the kinds of the events.
func (h *turnHost) types() []event.Type {
	h.mu.Lock()
	defer h.mu.Unlock()
	types := make([]event.Type, len(h.events))
	for i, data := range h.events {
		types[i] = data.Type()
	}
	return types
}

// token is the token that turns send to the peer.
const token = "s3cret-t0ken"

// rig is a turn at a scripted peer.
type rig struct {
	t      testing.TB
	script *peertest.Script
	remote *remote
	host   *turnHost
	job    *backend.Job
}

func newRig(t testing.TB, replies map[string][]peertest.Reply) *rig {
	t.Helper()
	s := peertest.NewScript(t, replies)
	e := s.Endpoint("")
	e.Auth = &spec.Auth{Type: spec.AuthBearer, Token: token}
	e.Timeout = new(spec.Duration(time.Minute))
	return &rig{t: t, script: s, remote: remoteOf(t, e), host: &turnHost{session: tools.NoSession}, job: newJob()}
}

// remoteOf returns the backend of an endpoint, with waits in milliseconds instead of seconds.
func remoteOf(t testing.TB, e *spec.Endpoint) *remote {
	t.Helper()
	p := reachPeer(t, e)
	p.Options.Poll = client.Pace{Next: time.Millisecond, Most: 4 * time.Millisecond}
	return &remote{peer: p}
}

// reachPeer returns the peer of an endpoint.
func reachPeer(t testing.TB, e *spec.Endpoint) *client.Peer {
	t.Helper()
	if list := append(e.Validate(), NewFactory(Settings{}).Validate(e)...); len(list) != 0 {
		t.Fatal(list)
	}
	p, err := client.New(e, zap.NewNop())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Close(); err != nil {
			t.Error(err)
		}
	})
	return p
}

func newJob() *backend.Job {
	return &backend.Job{
		TurnID: "turn-1", SessionID: "session-1", Agent: &spec.Agent{ID: "far"}, Input: []model.Message{model.User("hello")},
		Limits: backend.Limits{MaxDepth: 5},
	}
}

// run runs the turn. Its state must be storable.
func (r *rig) run(ctx context.Context) (*backend.Result, error) {
	r.t.Helper()
	res, err := r.remote.Execute(ctx, r.job, r.host)
	if res == nil {
		r.t.Fatal("there is no result")
	}
	if res.State != nil {
		res.State = stored(r.t, res.State)
	}
	return res, err
}

// stored returns a state as it comes back from a store.
func stored(t testing.TB, s *backend.State) *backend.State {
	t.Helper()
	data, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	back, err := backend.DecodeState(data)
	if err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return back
}

// leave closes the connections of the process.
func (r *rig) leave() {
	if err := r.remote.peer.Close(); err != nil {
		r.t.Error(err)
	}
}

// next continues the turn from a state in another process.
func (r *rig) next(state *backend.State, answers ...interaction.Answer) {
	r.t.Helper()
	state = stored(r.t, state)
	for _, a := range answers {
		if err := state.Answer(a); err != nil {
			r.t.Fatal(err)
		}
	}
	e := *r.remote.peer.Endpoint
	r.leave()
	r.remote = remoteOf(r.t, &e)
	job := *r.job
	job.State = state
	r.job = &job
}

// termination returns how the turn ended.
func termination(res *backend.Result, err error) event.Termination {
	if err != nil {
		return backend.TerminationOf(err)
	}
	return res.Termination
}

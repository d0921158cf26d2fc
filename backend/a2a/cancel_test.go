package a2a

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/exchange"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
)

// late answers after the turn has been abandoned.
func late(arrived chan<- struct{}, givenUp <-chan struct{}, then peertest.Reply) peertest.Reply {
	return func(w http.ResponseWriter, c *peertest.Request) {
		close(arrived)
		<-givenUp
		then(w, c)
	}
}

func TestATurnThatIsGivenUpEndsAtThePeerToo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		noStreams bool
		first     peertest.Reply
		cancel    peertest.Reply
		canceled  bool
	}{
		"before the first event":    {first: peertest.OpenStream(peertest.Task(peertest.Working, "")), cancel: peertest.Result(peertest.Task(a2a.TaskStateCanceled, "")), canceled: true},
		"before the only answer":    {noStreams: true, first: peertest.Sent(peertest.Task(peertest.Working, "")), cancel: peertest.Result(peertest.Task(a2a.TaskStateCanceled, "")), canceled: true},
		"just as it ends":           {first: peertest.OpenStream(peertest.Task(peertest.Working, "")), cancel: peertest.Fault(-32002, "it has ended"), canceled: true},
		"without ever an event":     {first: peertest.Hang},
		"and the peer has gone":     {first: peertest.Broken},
		"and the task is forgotten": {first: peertest.OpenStream(peertest.Task(peertest.Working, "")), cancel: peertest.Fault(-32001, "no such task"), canceled: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived, givenUp := make(chan struct{}), make(chan struct{})
			method := peertest.MethodStream
			if tt.noStreams {
				method = peertest.MethodSend
			}
			r := newRig(t, map[string][]peertest.Reply{method: {late(arrived, givenUp, tt.first)}, peertest.MethodCancel: {tt.cancel}})
			r.remote.peer.Options.Stream = !tt.noStreams
			r.remote.peer.SetIdleTimeout(200 * time.Millisecond)
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-arrived
				cancel()
				close(givenUp)
			}()
			res, err := r.run(ctx)
			if got := termination(res, err); got.Type != event.Canceled || !errors.Is(err, context.Canceled) {
				t.Errorf("it ends by %+v", got)
			}
			calls := r.script.Got(peertest.MethodCancel)
			if (len(calls) == 1) != tt.canceled || len(calls) > 1 {
				t.Errorf("the task is ended %d times", len(calls))
			}
			checkTurn(t, r, res, err)
		})
	}
}

// A task that was completed while it was being canceled is completed.
func TestATurnThatIsGivenUpTooLate(t *testing.T) {
	t.Parallel()
	arrived, givenUp := make(chan struct{}), make(chan struct{})
	r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {late(arrived, givenUp, peertest.StreamOf(peertest.Task(peertest.Completed, "done")))}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
		close(givenUp)
	}()
	res, err := r.run(ctx)
	if err != nil || res.Response != "done" || len(r.script.Got(peertest.MethodCancel)) != 0 {
		t.Errorf("it ends by %+v, %v", res, err)
	}
	checkTurn(t, r, res, err)
}

func TestATurnThatIsReleasedGoesOnAtThePeer(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]peertest.Reply{
		"before the first event": peertest.Hang,
		"after it":               peertest.OpenStream(peertest.Task(peertest.Working, "")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived, givenUp := make(chan struct{}), make(chan struct{})
			r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {late(arrived, givenUp, first)}, peertest.MethodCancel: {peertest.Result(peertest.Task(a2a.TaskStateCanceled, ""))}})
			ctx, cancel := context.WithCancelCause(t.Context())
			seen := make(chan struct{}, 10)
			r.host.emitted = func(event.Data) { seen <- struct{}{} }
			go func() {
				<-seen // the step
				<-arrived
				close(givenUp)
				if name == "after it" {
					<-seen // the task
				}
				cancel(backend.ErrReleased)
			}()
			begun := time.Now()
			res, err := r.run(ctx)
			if !errors.Is(err, backend.ErrReleased) || res.State != nil || time.Since(begun) > exchange.LearnLimit {
				t.Errorf("it returns %+v, %v after %s", res, err, time.Since(begun))
			}
			if n := len(r.script.Got(peertest.MethodCancel)); n != 0 {
				t.Errorf("the task is ended %d times", n)
			}
		})
	}
}

func TestTheTaskOfATurnThatEndedMeanwhileIsEnded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		replies []peertest.Reply
		fails   bool
		calls   int
	}{
		"it runs":             {[]peertest.Reply{peertest.Result(peertest.Task(a2a.TaskStateCanceled, ""))}, false, 1},
		"it has ended":        {[]peertest.Reply{peertest.Fault(-32002, "it has ended")}, false, 1},
		"it is not known":     {[]peertest.Reply{peertest.Fault(-32001, "no such task")}, false, 1},
		"it is busy at first": {[]peertest.Reply{peertest.Answers(503), peertest.Broken, peertest.Result(peertest.Task(peertest.Working, ""))}, false, 3},
		"it cannot be ended":  {[]peertest.Reply{peertest.Fault(-32004, "never")}, true, 1},
		"it is not permitted": {[]peertest.Reply{peertest.Answers(403)}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, map[string][]peertest.Reply{peertest.MethodStream: {peertest.OpenStream(peertest.Task(peertest.Working, ""))}, peertest.MethodCancel: tt.replies})
			state := r.stopAt(2)
			err := r.remote.Abort(t.Context(), state)
			if (err != nil) != tt.fails {
				t.Errorf("the error is %v", err)
			}
			if failure, ok := errors.AsType[*client.PeerError](err); tt.fails && (!ok || failure.Task != string(peertest.TaskID)) {
				t.Errorf("the error is %#v", err)
			}
			if n := len(r.script.Got(peertest.MethodCancel)); n != tt.calls {
				t.Errorf("the task is ended %d times", n)
			}
		})
	}
}

func TestWhatCannotBeEnded(t *testing.T) {
	t.Parallel()
	r := newRig(t, nil)
	if err := errors.Join(r.remote.Abort(t.Context(), nil), r.remote.Abort(t.Context(), &backend.State{})); err != nil {
		t.Errorf("a turn that was not at a peer: %v", err)
	}
	if err := r.remote.Abort(t.Context(), r.stopAt(1)); err == nil {
		t.Error("nothing is known of the task, yet it is ended")
	}
	if err := r.remote.Abort(t.Context(), &backend.State{Remote: &backend.CallState{Resume: []byte(`{}`)}}); err == nil {
		t.Error("the state cannot be read, yet the task is ended")
	}
	elsewhere := r.stopAt(1)
	elsewhere.Remote.Resume = encodeRecord(&course{Version: 1, Peer: "https://elsewhere.example", Step: 1, Left: 1, Position: exchange.Position{MessageID: "m", TaskID: peertest.TaskID}})
	if err := r.remote.Abort(t.Context(), elsewhere); !errors.Is(err, errOtherPeer) {
		t.Errorf("the task is at another peer: %v", err)
	}
	if n := len(r.script.Got(peertest.MethodCancel)); n != 0 {
		t.Errorf("the peer is asked %d times", n)
	}
}

// stopAt runs the turn until its nth checkpoint, and returns the state there.
func (r *rig) stopAt(n int) *backend.State {
	r.t.Helper()
	job := *r.job
	job.Checkpoint = func(context.Context, *backend.State) error {
		if n--; n == 0 {
			return backend.ErrYield
		}
		return nil
	}
	res, err := r.remote.Execute(r.t.Context(), &job, r.host)
	if !errors.Is(err, backend.ErrYield) || res.State == nil || res.Termination.Type != "" {
		r.t.Fatalf("it does not stop: %+v, %v", res, err)
	}
	return stored(r.t, res.State)
}

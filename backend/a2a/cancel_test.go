package a2abackend

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
)

// late answers when the turn has been given up.
func late(arrived chan<- struct{}, givenUp <-chan struct{}, then reply) reply {
	return func(w http.ResponseWriter, c *request) {
		close(arrived)
		<-givenUp
		then(w, c)
	}
}

func TestATurnThatIsGivenUpEndsAtThePeerToo(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		noStreams bool
		first     reply
		cancel    reply
		canceled  bool
	}{
		"ahead of the first event":  {first: openStream(task(working, "")), cancel: result(task(a2a.TaskStateCanceled, "")), canceled: true},
		"ahead of the only answer":  {noStreams: true, first: sent(task(working, "")), cancel: result(task(a2a.TaskStateCanceled, "")), canceled: true},
		"just as it ends":           {first: openStream(task(working, "")), cancel: fault(-32002, "it has ended"), canceled: true},
		"without ever an event":     {first: hang},
		"and the peer has gone":     {first: broken},
		"and the task is forgotten": {first: openStream(task(working, "")), cancel: fault(-32001, "no such task"), canceled: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived, givenUp := make(chan struct{}), make(chan struct{})
			method := methodStream
			if tt.noStreams {
				method = methodSend
			}
			r := newRig(t, map[string][]reply{method: {late(arrived, givenUp, tt.first)}, methodCancel: {tt.cancel}})
			r.remote.peer.options.stream = !tt.noStreams
			r.remote.peer.http.limits.idle = 200 * time.Millisecond
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-arrived
				cancel()
				close(givenUp)
			}()
			res, err := r.run(ctx)
			if got := termination(res, err); got.Type != event.Cancelled || !errors.Is(err, context.Canceled) {
				t.Errorf("it ends by %+v", got)
			}
			calls := r.script.got(methodCancel)
			if (len(calls) == 1) != tt.canceled || len(calls) > 1 {
				t.Errorf("the task is ended %d times", len(calls))
			}
			checkTurn(t, r, res, err)
		})
	}
}

// A task that was completed as it was given up is completed.
func TestATurnThatIsGivenUpTooLate(t *testing.T) {
	t.Parallel()
	arrived, givenUp := make(chan struct{}), make(chan struct{})
	r := newRig(t, map[string][]reply{methodStream: {late(arrived, givenUp, streamOf(task(completed, "done")))}})
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		<-arrived
		cancel()
		close(givenUp)
	}()
	res, err := r.run(ctx)
	if err != nil || res.Response != "done" || len(r.script.got(methodCancel)) != 0 {
		t.Errorf("it ends by %+v, %v", res, err)
	}
	checkTurn(t, r, res, err)
}

func TestATurnThatIsReleasedGoesOnAtThePeer(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]reply{
		"ahead of the first event": hang,
		"behind it":                openStream(task(working, "")),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			arrived, givenUp := make(chan struct{}), make(chan struct{})
			r := newRig(t, map[string][]reply{methodStream: {late(arrived, givenUp, first)}, methodCancel: {result(task(a2a.TaskStateCanceled, ""))}})
			ctx, cancel := context.WithCancelCause(t.Context())
			seen := make(chan struct{}, 10)
			r.host.emitted = func(event.Data) { seen <- struct{}{} }
			go func() {
				<-seen // the step
				<-arrived
				close(givenUp)
				if name == "behind it" {
					<-seen // the task
				}
				cancel(backend.ErrReleased)
			}()
			begun := time.Now()
			res, err := r.run(ctx)
			if !errors.Is(err, backend.ErrReleased) || res.State != nil || time.Since(begun) > learnLimit {
				t.Errorf("it returns %+v, %v after %s", res, err, time.Since(begun))
			}
			if n := len(r.script.got(methodCancel)); n != 0 {
				t.Errorf("the task is ended %d times", n)
			}
		})
	}
}

func TestTheTaskOfATurnThatEndedMeanwhileIsEnded(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		replies []reply
		fails   bool
		calls   int
	}{
		"it runs":             {[]reply{result(task(a2a.TaskStateCanceled, ""))}, false, 1},
		"it has ended":        {[]reply{fault(-32002, "it has ended")}, false, 1},
		"it is not known":     {[]reply{fault(-32001, "no such task")}, false, 1},
		"it is busy at first": {[]reply{answers(503), broken, result(task(working, ""))}, false, 3},
		"it cannot be ended":  {[]reply{fault(-32004, "never")}, true, 1},
		"it is not permitted": {[]reply{answers(403)}, true, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, map[string][]reply{methodStream: {openStream(task(working, ""))}, methodCancel: tt.replies})
			state := r.stopAt(2)
			err := r.remote.Abort(t.Context(), state)
			if (err != nil) != tt.fails {
				t.Errorf("the error is %v", err)
			}
			if failure, ok := errors.AsType[*PeerError](err); tt.fails && (!ok || failure.Task != string(taskID)) {
				t.Errorf("the error is %#v", err)
			}
			if n := len(r.script.got(methodCancel)); n != tt.calls {
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
	elsewhere.Remote.Resume = encode(&course{Version: 1, Peer: "https://elsewhere.example", MessageID: "m", Step: 1, Left: 1, TaskID: taskID})
	if err := r.remote.Abort(t.Context(), elsewhere); !errors.Is(err, errOtherPeer) {
		t.Errorf("the task is at another peer: %v", err)
	}
	if n := len(r.script.got(methodCancel)); n != 0 {
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

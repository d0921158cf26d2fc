package a2a

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/exchange"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
	"github.com/agentruntime/agentruntime/tools"
)

// worker is a peer with one task that passes through its stages regardless of connections. It makes
// progress when it is observed.
type worker struct {
	mu sync.Mutex
	// stages are the texts emitted until the task waits or ends.
	stages [][]string
	end    a2a.TaskState
	stage  int
	// said is the number of emitted texts of the stage; one more marks its end.
	said int
	text string
	// taken holds the ids of accepted messages, and told their texts in order.
	taken map[string]bool
	told  []string
	// faults are the faults of the next calls by method, and unseen is the work done between two
	// calls.
	faults map[string][]string
	unseen []int
	wrong  string
}

// state returns the state of the task.
func (w *worker) state() a2a.TaskState {
	last := w.stage == len(w.stages)-1
	switch {
	case w.said <= len(w.stages[w.stage]):
		return peertest.Working
	case last:
		return w.end
	default:
		return inputRequired
	}
}

func (w *worker) status() a2a.TaskStatus {
	return a2a.TaskStatus{State: w.state(), Message: peertest.Said(fmt.Sprintf("%s at %d", w.state(), w.stage))}
}

func (w *worker) snapshot() *a2a.Task {
	t := peertest.Task(w.state(), w.text)
	t.Status = w.status()
	return t
}

// work makes some progress and returns its event, or nil if there is nothing to do.
func (w *worker) work() a2a.Event {
	texts := w.stages[w.stage]
	switch w.said++; {
	case w.said <= len(texts):
		w.text += texts[w.said-1]
		return peertest.Words(texts[w.said-1])
	case w.said == len(texts)+1:
		return &a2a.TaskStatusUpdateEvent{TaskID: peertest.TaskID, ContextID: peertest.ContextID, Status: w.status()}
	default:
		w.said = len(texts) + 1
		return nil
	}
}

// accept accepts a message, once.
func (w *worker) accept(m *a2a.Message) {
	if w.taken[m.ID] {
		return
	}
	w.taken[m.ID] = true
	w.told = append(w.told, m.Parts[0].Text())
	if len(w.taken) == 1 {
		return
	}
	if w.state() != inputRequired || m.TaskID != peertest.TaskID || m.ContextID != peertest.ContextID {
		w.wrong = fmt.Sprintf("message %+v comes to a task that is %s", m, w.state())
		return
	}
	w.stage, w.said = w.stage+1, 0
}

func (w *worker) fault(method string) string {
	next := w.faults[method]
	if len(next) == 0 {
		return ""
	}
	w.faults[method] = next[1:]
	return next[0]
}

func (w *worker) ServeHTTP(rw http.ResponseWriter, r *http.Request) {
	c := new(peertest.Request)
	if err := json.NewDecoder(r.Body).Decode(c); err != nil {
		http.Error(rw, err.Error(), http.StatusBadRequest)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body)
	w.mu.Lock()
	defer w.mu.Unlock()
	kind := c.Method
	if kind == peertest.MethodStream {
		kind = peertest.MethodSend
	}
	fault := w.fault(kind)
	switch fault {
	case "busy":
		rw.WriteHeader(http.StatusServiceUnavailable)
		return
	case "many":
		rw.Header().Set("Retry-After", "0")
		rw.WriteHeader(http.StatusTooManyRequests)
		return
	case "broken":
		panic(http.ErrAbortHandler)
	case "garbage":
		rw.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(rw, `{"jsonrpc":"2.0","id":"`+peertest.SameID+`","result":{"what":`)
		return
	}
	if kind == peertest.MethodSend {
		var params a2a.SendMessageRequest
		if err := json.Unmarshal(c.Params, &params); err != nil {
			http.Error(rw, err.Error(), http.StatusBadRequest)
			return
		}
		w.accept(params.Message)
		if fault == "lost" {
			panic(http.ErrAbortHandler)
		}
	}
	if len(w.unseen) > 0 {
		for range w.unseen[0] {
			w.work()
		}
		w.unseen = w.unseen[1:]
	}
	w.answer(rw, c.Method, fault)
}

// answer responds to a received call.
func (w *worker) answer(rw http.ResponseWriter, method, fault string) {
	switch method {
	case peertest.MethodGet:
		w.work()
		peertest.Result(w.snapshot())(rw, nil)
		return
	case peertest.MethodSend:
		peertest.Sent(w.snapshot())(rw, nil)
		return
	case peertest.MethodSubscribe:
		if w.state().Terminal() {
			faultOf(rw)
			return
		}
	}
	if fault != "middle" {
		peertest.SendEvents(rw, w.snapshot())
	}
	for n := 0; fault == "" || fault == "middle" || n < 1; n++ {
		ev := w.work()
		if ev == nil {
			return
		}
		peertest.SendEvents(rw, ev)
		if w.state() != peertest.Working {
			return
		}
	}
	if fault == "cut" {
		panic(http.ErrAbortHandler)
	}
}

func faultOf(rw http.ResponseWriter) { peertest.Fault(-32004, "it has ended")(rw, nil) }

// drawWorker draws a task and its faults.
func drawWorker(t *rapid.T) *worker {
	w := &worker{
		taken: map[string]bool{}, faults: map[string][]string{},
		end: rapid.SampledFrom([]a2a.TaskState{peertest.Completed, peertest.Completed, a2a.TaskStateFailed, a2a.TaskStateRejected, a2a.TaskStateCanceled}).Draw(t, "end"),
	}
	for range rapid.IntRange(1, 3).Draw(t, "stages") {
		w.stages = append(w.stages, rapid.SliceOfN(rapid.SampledFrom([]string{"a", "bc", "ü", "\n"}), 0, 4).Draw(t, "texts"))
	}
	// A message is sent a few times only.
	w.faults[peertest.MethodSend] = rapid.SliceOfN(rapid.SampledFrom([]string{"", "busy", "many", "broken", "lost", "ends", "cut"}), 0, exchange.SendAttempts-1).Draw(t, "sends")
	w.faults[peertest.MethodSubscribe] = rapid.SliceOfN(rapid.SampledFrom([]string{"", "busy", "broken", "garbage", "ends", "cut", "middle"}), 0, 5).Draw(t, "subscriptions")
	w.unseen = rapid.SliceOfN(rapid.IntRange(0, 2), 0, 8).Draw(t, "unseen")
	w.faults[peertest.MethodGet] = rapid.SliceOfN(rapid.SampledFrom([]string{"", "busy", "many", "broken", "garbage"}), 0, 6).Draw(t, "looks")
	return w
}

// However the connections and the process end, the turn ends like its task, with all its text, and
// every message is accepted once.
func TestATurnEndsAsItsTaskDoes(t *testing.T) {
	t.Parallel()
	s := peertest.NewScript(t, nil)
	rapid.Check(t, func(rt *rapid.T) {
		w := drawWorker(rt)
		s.Answer(nil, w.ServeHTTP)
		r := &rig{t: t, script: s, remote: remoteOf(t, s.Endpoint("")), host: &turnHost{session: tools.NoSession}, job: newJob()}
		defer func() { r.leave() }() // of the last process
		stream, dies := rapid.Bool().Draw(rt, "stream"), rapid.SliceOfN(rapid.IntRange(1, 8), 0, 3).Draw(rt, "dies")
		checkpoints := 0
		r.job.Checkpoint = func(context.Context, *backend.State) error {
			checkpoints++
			if len(dies) > 0 && dies[0] <= checkpoints {
				checkpoints, dies = 0, dies[1:]
				return backend.ErrYield
			}
			return nil
		}
		want := []string{"hello"}
		var res *backend.Result
		var err error
		for range 20 {
			r.remote.peer.Options.Stream = stream
			ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
			res, err = r.run(ctx)
			cancel()
			if errors.Is(err, backend.ErrYield) {
				r.next(res.State)
				continue
			}
			if err != nil || res.Termination.Type != event.Suspended {
				break
			}
			answer := fmt.Sprintf("answer %d", len(want))
			want = append(want, answer)
			r.next(res.State, resume(res.Interactions[0].ID, fmt.Sprintf("%q", answer)))
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		ended := termination(res, err)
		outcome := map[a2a.TaskState]string{
			peertest.Completed: string(event.NaturalEnd), a2a.TaskStateCanceled: string(event.Canceled),
			a2a.TaskStateFailed: client.CodeRemoteFailed, a2a.TaskStateRejected: client.CodeRemoteRejected,
		}[w.end]
		if string(ended.Type) != outcome && ended.Code != outcome {
			rt.Fatalf("the task is %s, the turn ended by %+v", w.end, ended)
		}
		if w.wrong != "" || strings.Join(w.told, ", ") != strings.Join(want, ", ") {
			rt.Fatalf("the peer was told %q of %q: %s", w.told, want, w.wrong)
		}
		text := w.text
		if text == "" && w.end == peertest.Completed {
			text = res.Response // what else the peer says
		}
		if w.end == peertest.Completed && (res.Response != text || r.host.text() != text) {
			rt.Fatalf("the text is %q, the answer %q, %q is shown", text, res.Response, r.host.text())
		}
	})
}

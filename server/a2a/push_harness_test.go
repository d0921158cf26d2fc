package a2a

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/webhook"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/dispatch/local"
	"github.com/agentruntime/agentruntime/store/memory"
)

var pushCaller = service.Caller{Tenant: "acme", Subject: "ann"}

// pushStore is a store whose turns are run elsewhere: who comes new takes none.
type pushStore struct{ store.Store }

func (pushStore) Recover(context.Context, time.Time) (int, error) { return 0, nil }

// pushTest is a service that sends notifications to receivers of the test.
type pushTest struct {
	*testing.T
	store   store.Store
	service *service.Service
	handler *handler
	turn    *store.Claimed
}

// newPushTest returns a service whose turn "t" runs elsewhere.
func newPushTest(t *testing.T, settings PushSettings) *pushTest {
	t.Helper()
	settings.Timeout = 2 * time.Second
	sender, err := NewPushSender(settings)
	if err != nil {
		t.Fatal(err)
	}
	p := &pushTest{T: t, store: pushStore{memory.New(store.Settings{})}}
	p.service = service.New(service.Settings{
		Store: p.store, Dispatcher: local.New(local.Settings{Concurrency: 1}), Webhooks: map[string]webhook.Sender{PushSurface: sender},
	})
	t.Cleanup(func() { p.service.Close(); sender.Close() })
	p.must(p.service.Start(t.Context()))
	p.handler = &handler{service: p.service, sender: sender}
	now, owner := time.Now(), store.Owner{Tenant: pushCaller.Tenant, Subject: pushCaller.Subject}
	_, err = p.store.CreateSession(t.Context(), &store.NewSession{Session: store.Session{
		ID: "s", Owner: owner, AgentID: "helper", State: store.SessionActive, CreatedAt: now,
	}})
	p.must(err)
	_, err = p.store.CreateTurn(t.Context(), &store.NewTurn{Turn: store.Turn{
		ID: "t", SessionID: "s", Owner: owner, AgentID: "helper", SnapshotID: "snap", CreatedAt: now, NotBefore: now.Add(time.Hour),
	}})
	p.must(err)
	p.turn, err = p.store.Claim(t.Context(), &store.Claim{TurnID: "t", Worker: "far", Lease: time.Hour, Now: now.Add(time.Hour)})
	p.must(err)
	return p
}

func (p *pushTest) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

// happen adds events to the turn; the last may end it.
func (p *pushTest) happen(events ...event.Data) {
	p.Helper()
	commit := &store.Commit{TurnID: "t", Fence: p.turn.Turn.Fence, Now: time.Now()}
	for _, data := range events {
		p.turn.Turn.Seq++
		r, err := event.NewRecord(event.Event{Seq: p.turn.Turn.Seq, Time: time.Now(), TurnID: "t", SessionID: "s", Data: data})
		p.must(err)
		commit.Events = append(commit.Events, r)
		if r.Terminal() {
			commit.Finish = &store.Finish{Status: store.Succeeded, Result: json.RawMessage(`{}`)}
		}
	}
	p.must(p.store.Commit(p.Context(), commit))
}

// over is a request that came over a version of the protocol.
func (h *handler) over(v version, caller service.Caller) *call {
	return &call{handler: h, agent: "helper", caller: caller, spoken: v}
}

func (p *pushTest) create(v version, config *a2a.PushConfig) (*a2a.PushConfig, error) {
	return p.handler.over(v, pushCaller).createPush(p.Context(), a2a.TaskInfo{TaskID: "t"}, config, false)
}

// until waits for a webhook to be as it should.
func (p *pushTest) until(id string, as func(*store.Webhook) bool) *store.Webhook {
	p.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.After(20 * time.Second); ; {
		h, err := p.store.Webhook(p.Context(), store.Everything, "t", id)
		p.must(err)
		if as(h) {
			return h
		}
		select {
		case <-tick.C:
		case <-late:
			p.Fatalf("the webhook stays %+v", h)
		}
	}
}

// receiver is a server that takes notifications.
type receiver struct {
	*httptest.Server
	mu  sync.Mutex
	got []received
	// answer writes the response; nil writes 200.
	answer func(w http.ResponseWriter, n int)
}

type received struct {
	header http.Header
	body   []byte
	uri    string
}

func newReceiver(t *testing.T, tls bool) *receiver {
	t.Helper()
	r := new(receiver)
	r.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.got = append(r.got, received{req.Header.Clone(), body, req.RequestURI})
		n, answer := len(r.got), r.answer
		r.mu.Unlock()
		if answer != nil {
			answer(w, n)
		}
	}))
	if tls {
		r.StartTLS()
	} else {
		r.Start()
	}
	t.Cleanup(r.Close)
	return r
}

func (r *receiver) all() []received {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.got)
}

// trusted are the settings with which a receiver of a test is reached.
func (r *receiver) trusted() PushSettings {
	s := PushSettings{AllowPrivate: []string{"127.0.0.1"}}
	if r.Certificate() != nil {
		s.RootCAs = x509.NewCertPool()
		s.RootCAs.AddCert(r.Certificate())
	}
	return s
}

func done(h *store.Webhook) bool { return h.State == store.WebhookDone }

var (
	begun    = &event.RunStart{AgentID: "helper"}
	asks     = &event.InteractionRequest{Request: interaction.Request{ID: "q", CallID: "c", Tool: "pay", Message: "may I?", Mode: "replay_tool_call"}}
	resumed  = &event.RunStart{AgentID: "helper", Resumed: true}
	chatter  = &event.TextDelta{Delta: "hello"}
	ended    = &event.RunFinish{Status: event.StatusSucceeded, Termination: event.Termination{Type: event.NaturalEnd}}
	allOfIt  = []event.Data{begun, chatter, asks, resumed, chatter, ended}
	statesOf = []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateWorking, a2a.TaskStateCompleted}
)

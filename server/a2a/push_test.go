package a2aserver

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/dispatch/local"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
)

var pushCaller = runtime.Caller{Tenant: "acme", Subject: "ann"}

// pushStore is a store whose turns are run elsewhere: who comes new takes none.
type pushStore struct{ store.Store }

func (pushStore) Recover(context.Context, time.Time) (int, error) { return 0, nil }

// pushTest is a service that sends notifications to receivers of the test.
type pushTest struct {
	*testing.T
	store   store.Store
	service *runtime.Service
	configs *pushConfigs
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
	p.service = runtime.NewService(runtime.ServiceSettings{
		Store: p.store, Dispatcher: local.New(local.Settings{Concurrency: 1}), Webhooks: map[string]runtime.WebhookSender{PushSurface: sender},
	})
	t.Cleanup(func() { p.service.Close(); sender.Close() })
	p.must(p.service.Start(t.Context()))
	p.configs = newPushConfigs(p.service, false)
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

// over is the context of a request that came over a version of the protocol.
func over(ctx context.Context, v version) context.Context {
	return withEnvelope(ctx, &envelope{agent: "helper", spoken: v, asked: v})
}

func (p *pushTest) create(v version, config *a2a.PushConfig) (*a2a.PushConfig, error) {
	return p.configs.create(over(p.Context(), v), pushCaller, "t", config)
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
	asks     = &event.InteractionRequest{ID: "q", CallID: "c", Tool: "pay", Message: "may I?", Mode: "replay_tool_call"}
	resumed  = &event.RunStart{AgentID: "helper", Resumed: true}
	chatter  = &event.TextDelta{Delta: "hello"}
	ended    = &event.RunFinish{Status: event.StatusSucceeded, Termination: event.Termination{Type: event.NaturalEnd}}
	allOfIt  = []event.Data{begun, chatter, asks, resumed, chatter, ended}
	statesOf = []a2a.TaskState{a2a.TaskStateWorking, a2a.TaskStateInputRequired, a2a.TaskStateWorking, a2a.TaskStateCompleted}
)

func TestAReceiverIsToldOfEachStatusAndShownItsCredentials(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, true)
	p := newPushTest(t, r.trusted())
	_, err := p.create(v10, &a2a.PushConfig{
		TaskID: "t", ID: "h", URL: r.URL + "/hook?x=1", Token: "tok", Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "s3cret"},
	})
	p.must(err)
	p.happen(allOfIt...)
	p.until("h", done)
	got := r.all()
	if len(got) != len(statesOf) {
		t.Fatalf("%d notifications arrived, want %d", len(got), len(statesOf))
	}
	ids := make(map[string]bool)
	for i, n := range got {
		for name, want := range map[string]string{
			"Authorization": "Bearer s3cret", "X-A2A-Notification-Token": "tok", "Content-Type": "application/a2a+json", "A2A-Version": "1.0",
		} {
			if value := n.header.Get(name); value != want {
				t.Errorf("notification %d: %s is %q, want %q", i, name, value, want)
			}
		}
		ids[n.header.Get("X-A2A-Notification-Id")] = true
		if n.uri != "/hook?x=1" {
			t.Errorf("notification %d went to %s", i, n.uri)
		}
		var told a2a.StreamResponse
		p.must(json.Unmarshal(n.body, &told))
		update, ok := told.Event.(*a2a.TaskStatusUpdateEvent)
		if !ok || update.TaskID != "t" || update.ContextID != "s" || update.Status.State != statesOf[i] {
			t.Errorf("notification %d is %s", i, n.body)
		}
	}
	if len(ids) != len(got) || ids[""] {
		t.Errorf("the ids of the notifications are %v", ids)
	}
	if !bytes.Contains(got[1].body, []byte("may I?")) {
		t.Errorf("the question is missing in %s", got[1].body)
	}
}

func TestAReceiverOfVersion03GetsTheTask(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, true)
	p := newPushTest(t, r.trusted())
	_, err := p.create(v03, &a2a.PushConfig{TaskID: "t", URL: r.URL, Token: "tok"})
	p.must(err)
	p.happen(allOfIt...)
	p.until("t", done) // the id of the task is that of the configuration
	got := r.all()
	if len(got) != len(statesOf) {
		t.Fatalf("%d notifications arrived, want %d", len(got), len(statesOf))
	}
	for i, want := range []string{"working", "input-required", "working", "completed"} {
		var task struct {
			Kind, ID, ContextID string
			Status              struct{ State string }
		}
		p.must(json.Unmarshal(got[i].body, &task))
		if task.Kind != "task" || task.ID != "t" || task.ContextID != "s" || task.Status.State != want {
			t.Errorf("notification %d is %s", i, got[i].body)
		}
		if kind := got[i].header.Get("Content-Type"); kind != "application/json" {
			t.Errorf("notification %d has the content type %s", i, kind)
		}
	}
}

func TestAReceiverThatIsBusyIsAskedAgain(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, false)
	r.answer = func(w http.ResponseWriter, n int) {
		if n == 1 {
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}
	p := newPushTest(t, r.trusted())
	_, err := p.create(v10, &a2a.PushConfig{TaskID: "t", ID: "h", URL: r.URL + "/?key=hidden"})
	p.must(err)
	p.happen(ended)
	h := p.until("h", func(h *store.Webhook) bool { return h.Attempts == 1 })
	if h.LastError != "the receiver answered with the status 503" {
		t.Errorf("the error is %q", h.LastError)
	}
	p.until("h", done)
	if got := r.all(); len(got) != 2 || got[0].header.Get(headerPushID) != got[1].header.Get(headerPushID) {
		t.Errorf("%d notifications arrived", len(got))
	}
}

func TestARedirectIsNotFollowed(t *testing.T) {
	t.Parallel()
	target := newReceiver(t, false)
	r := newReceiver(t, false)
	r.answer = func(w http.ResponseWriter, n int) {
		if n == 1 {
			w.Header().Set("Location", target.URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}
	}
	p := newPushTest(t, r.trusted())
	_, err := p.create(v10, &a2a.PushConfig{TaskID: "t", ID: "h", URL: r.URL, Token: "tok"})
	p.must(err)
	p.happen(ended)
	p.until("h", done)
	if n := len(target.all()); n != 0 {
		t.Errorf("%d requests followed the redirect", n)
	}
}

func TestAReceiverThatIsGoneIsGivenUp(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, false)
	r.answer = func(w http.ResponseWriter, _ int) { w.WriteHeader(http.StatusGone) }
	p := newPushTest(t, r.trusted())
	_, err := p.create(v10, &a2a.PushConfig{TaskID: "t", ID: "h", URL: r.URL})
	p.must(err)
	p.happen(ended)
	p.until("h", func(h *store.Webhook) bool { return h.State == store.WebhookDead })
	if n := len(r.all()); n != 1 {
		t.Errorf("it was asked %d times", n)
	}
}

// TestAnEndlessAnswerHurtsNobody holds for its length and for its time.
func TestAnEndlessAnswerHurtsNobody(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, false)
	r.answer = func(w http.ResponseWriter, _ int) {
		for range 1 << 12 {
			if _, err := w.Write(make([]byte, 1<<16)); err != nil {
				return
			}
		}
		t.Error("256 MiB were read")
	}
	p := newPushTest(t, r.trusted())
	_, err := p.create(v10, &a2a.PushConfig{TaskID: "t", ID: "h", URL: r.URL})
	p.must(err)
	p.happen(ended)
	p.until("h", done)
}

func TestAReceiverThatHangsIsLeftAfterAWhile(t *testing.T) {
	t.Parallel()
	r, quick := newReceiver(t, false), newReceiver(t, false)
	leave := make(chan struct{})
	r.answer = func(http.ResponseWriter, int) { <-leave }
	t.Cleanup(func() { close(leave) })
	p := newPushTest(t, r.trusted())
	for id, to := range map[string]string{"hangs": r.URL, "h": quick.URL} {
		_, err := p.create(v10, &a2a.PushConfig{TaskID: "t", ID: id, URL: to})
		p.must(err)
	}
	began := time.Now()
	p.happen(begun, ended)
	p.until("h", done)
	if took := time.Since(began); took > 1900*time.Millisecond {
		t.Errorf("the other receiver was told after %v", took)
	}
	h := p.until("hangs", func(h *store.Webhook) bool { return h.Attempts > 0 })
	if h.State != store.WebhookActive || !strings.Contains(h.LastError, "deadline") {
		t.Errorf("the one that hangs is %s: %s", h.State, h.LastError)
	}
}

func TestAConfigurationIsCheckedWhenItIsMade(t *testing.T) {
	t.Parallel()
	p := newPushTest(t, PushSettings{AllowPrivate: []string{"hooks.internal", "10.1.0.0/16", "192.168.1.5:8443"}})
	for _, good := range []string{
		"https://hooks.example.com/a?b=c", "https://hooks.internal", "http://hooks.internal:8080/x", "https://10.1.2.3", "http://10.1.2.3:81",
		"https://192.168.1.5:8443", "https://8.8.8.8", "https://[2001:4860:4860::8888]/x",
	} {
		if err := p.configs.check(&a2a.PushConfig{URL: good}); err != nil {
			t.Errorf("%s: %v", good, err)
		}
	}
	for _, bad := range []string{
		"", "hooks.example.com", "//hooks.example.com", "http://hooks.example.com", "http://8.8.8.8", "ftp://hooks.internal", "file:///etc/passwd",
		"https://", "https://u:p@hooks.example.com", "https://hooks.example.com/#x", "https://127.0.0.1", "https://localhost", "https://LOCALHOST.",
		"https://a.localhost/", "https://[::1]", "https://[::ffff:127.0.0.1]/", "https://169.254.169.254/latest/meta-data", "https://10.2.0.1",
		"https://100.64.0.1", "https://[64:ff9b::a00:1]", "https://0.0.0.0", "https://192.168.1.5", "https://192.168.1.5:444", "http://192.168.1.5:8080",
		"https://hooks.example.com:99999", "https://hooks.example.com/" + strings.Repeat("x", maxPushURL), "javascript:alert(1)", "https://h\x00.example",
	} {
		err := p.configs.check(&a2a.PushConfig{URL: bad})
		if !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%q: the error is %v", bad, err)
		}
	}
	for name, bad := range map[string]*a2a.PushConfig{
		"a token with a line break":     {Token: "a\r\nX: y"},
		"a scheme with a blank":         {Auth: &a2a.PushAuthInfo{Scheme: "Bearer x"}},
		"no scheme":                     {Auth: &a2a.PushAuthInfo{Credentials: "x"}},
		"credentials with a line break": {Auth: &a2a.PushAuthInfo{Scheme: "Bearer", Credentials: "a\nb"}},
		"a long token":                  {Token: strings.Repeat("x", maxPushCredential+1)},
		"a long id":                     {ID: strings.Repeat("x", 256)},
	} {
		bad.URL = "https://hooks.example.com"
		if err := p.configs.check(bad); !errors.Is(err, a2a.ErrInvalidParams) {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// TestAPrivateAddressIsNotDialled holds for what was private all the time, and
// for a name that leads there only when it is looked up.
func TestAPrivateAddressIsNotDialled(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, true)
	settings := r.trusted()
	settings.AllowPrivate = nil
	p := newPushTest(t, settings)
	for id, to := range map[string]string{"literal": r.URL, "name": "https://localhost:" + netip.MustParseAddrPort(r.Listener.Addr().String()).String()[len("127.0.0.1:"):]} {
		data, err := p.configs.sender.seal("t", id, &pushTarget{URL: to, Version: v10, Agent: "helper"})
		p.must(err)
		_, err = p.service.SaveWebhook(t.Context(), pushCaller, runtime.SaveWebhook{TurnID: "t", ID: id, Surface: PushSurface, Data: data})
		p.must(err)
		if err := p.configs.check(&a2a.PushConfig{URL: to}); err == nil {
			t.Errorf("%s may be saved", to)
		}
	}
	p.happen(ended)
	for _, id := range []string{"literal", "name"} {
		p.until(id, func(h *store.Webhook) bool { return h.State == store.WebhookDead })
	}
	// What checkURL cannot know, the dialer does.
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL, nil)
	p.must(err)
	resp, err := p.configs.sender.client.Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	var final *runtime.DeliveryError
	if blocked := new(netguard.BlockedError); !errors.As(err, &blocked) || !errors.As(unreachable(err), &final) || !final.Final {
		t.Errorf("the error of the client is %v", err)
	}
	if n := len(r.all()); n != 0 {
		t.Errorf("%d requests arrived", n)
	}
}

func TestAProxyOfTheEnvironmentIsNotUsed(t *testing.T) {
	sender, err := NewPushSender(PushSettings{})
	if err != nil {
		t.Fatal(err)
	}
	if transport, ok := sender.client.Transport.(*http.Transport); !ok || transport.Proxy != nil {
		t.Error("the transport takes a proxy")
	}
}

func TestAConfigurationIsReadListedAndDeleted(t *testing.T) {
	t.Parallel()
	p := newPushTest(t, PushSettings{Key: bytes.Repeat([]byte{7}, 32)})
	ctx := over(t.Context(), v10)
	list, err := p.configs.list(ctx, pushCaller, "t", 0, "")
	if err != nil || list.Configs == nil || len(list.Configs) != 0 {
		t.Fatalf("the empty list is %v, %v", list, err)
	}
	for i := range 3 {
		made, err := p.create(v10, &a2a.PushConfig{
			TaskID: "t", ID: fmt.Sprint("h", i), URL: "https://hooks.example.com", Token: "tok", Auth: &a2a.PushAuthInfo{Scheme: "Basic", Credentials: "s3cret"},
		})
		p.must(err)
		got, err := p.configs.get(ctx, pushCaller, "t", made.ID)
		p.must(err)
		for _, c := range []*a2a.PushConfig{made, got} {
			if c.TaskID != "t" || c.ID != fmt.Sprint("h", i) || c.URL != "https://hooks.example.com" || c.Auth.Scheme != "Basic" {
				t.Errorf("the configuration is %+v", c)
			}
			if c.Token != "" || c.Auth.Credentials != "" {
				t.Error("its secrets are shown")
			}
		}
	}
	first, err := p.configs.list(ctx, pushCaller, "t", 2, "")
	p.must(err)
	second, err := p.configs.list(ctx, pushCaller, "t", 2, first.NextPageToken)
	p.must(err)
	if len(first.Configs) != 2 || len(second.Configs) != 1 || second.NextPageToken != "" {
		t.Errorf("the pages have %d and %d", len(first.Configs), len(second.Configs))
	}
	eve := runtime.Caller{Tenant: "acme", Subject: "eve"}
	for name, err := range map[string]error{
		"an unknown one":     func() error { _, err := p.configs.get(ctx, pushCaller, "t", "none"); return err }(),
		"that of another":    func() error { _, err := p.configs.get(ctx, eve, "t", "h0"); return err }(),
		"one without an id":  func() error { _, err := p.configs.get(ctx, pushCaller, "t", ""); return err }(),
		"that of no surface": func() error { _, err := p.configs.get(ctx, pushCaller, "none", "h0"); return err }(),
	} {
		if !errors.Is(err, a2a.ErrTaskNotFound) {
			t.Errorf("the error of %s is %v", name, err)
		}
	}
	p.must(p.configs.delete(ctx, eve, "t", "h0")) // changes nothing
	for range 2 {
		p.must(p.configs.delete(ctx, pushCaller, "t", "h1"))
	}
	list, err = p.configs.list(ctx, pushCaller, "t", 0, "")
	p.must(err)
	if len(list.Configs) != 2 || list.Configs[0].ID != "h2" || list.Configs[1].ID != "h0" {
		t.Errorf("%d are left", len(list.Configs))
	}
	for i := range runtime.MaxWebhooks {
		_, err = p.create(v10, &a2a.PushConfig{TaskID: "t", ID: fmt.Sprint("more-", i), URL: "https://hooks.example.com"})
	}
	if !errors.Is(err, a2a.ErrInvalidParams) {
		t.Errorf("the error of too many is %v", err)
	}
}

func TestWithoutASenderThereIsNoPush(t *testing.T) {
	t.Parallel()
	s := runtime.NewService(runtime.ServiceSettings{Store: memory.New(store.Settings{})})
	t.Cleanup(s.Close)
	p := newPushConfigs(s, false)
	ctx := over(t.Context(), v10)
	_, created := p.create(ctx, pushCaller, "t", &a2a.PushConfig{URL: "https://hooks.example.com"})
	_, got := p.get(ctx, pushCaller, "t", "h")
	_, listed := p.list(ctx, pushCaller, "t", 0, "")
	for _, err := range []error{created, got, listed, p.delete(ctx, pushCaller, "t", "h")} {
		if !errors.Is(err, a2a.ErrPushNotificationNotSupported) {
			t.Errorf("the error is %v", err)
		}
	}
}

func TestSecretsAreSealedWhenThereIsAKey(t *testing.T) {
	t.Parallel()
	sender := func(key string) *PushSender {
		s, err := NewPushSender(PushSettings{Key: []byte(key)})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	sealed, plain := sender(strings.Repeat("k", 32)), sender("")
	target := &pushTarget{URL: "https://hooks.example.com", Token: "tok", Scheme: "Bearer", Credentials: "s3cret", Version: v10, Agent: "helper"}
	data, err := sealed.seal("t", "h", target)
	if err != nil {
		t.Fatal(err)
	}
	for _, secret := range []string{"tok", "s3cret", "hooks", base64.StdEncoding.EncodeToString([]byte("s3cret"))} {
		if bytes.Contains(data, []byte(secret)) {
			t.Errorf("%q can be read in %s", secret, data)
		}
	}
	again, err := sealed.seal("t", "h", target)
	if err != nil || bytes.Equal(again, data) {
		t.Error("it is the same text twice")
	}
	if got, err := sealed.open(&store.Webhook{TurnID: "t", ID: "h", Data: data}); err != nil || *got != *target {
		t.Errorf("it is read as %v, %v", got, err)
	}
	open, err := plain.seal("t", "h", target)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sealed.open(&store.Webhook{TurnID: "t", ID: "h", Data: open}); err != nil || *got != *target {
		t.Errorf("what was kept without a key is read as %v, %v", got, err)
	}
	flipped := bytes.Replace(data, []byte(`"sealed":"`), []byte(`"sealed":"AAAA`), 1)
	for name, c := range map[string]struct {
		by   *PushSender
		hook store.Webhook
	}{
		"another key":     {sender(strings.Repeat("x", 32)), store.Webhook{TurnID: "t", ID: "h", Data: data}},
		"no key":          {plain, store.Webhook{TurnID: "t", ID: "h", Data: data}},
		"another webhook": {sealed, store.Webhook{TurnID: "t", ID: "other", Data: data}},
		"another turn":    {sealed, store.Webhook{TurnID: "u", ID: "h", Data: data}},
		"other bytes":     {sealed, store.Webhook{TurnID: "t", ID: "h", Data: flipped}},
		"few bytes":       {sealed, store.Webhook{TurnID: "t", ID: "h", Data: json.RawMessage(`{"sealed":"AA=="}`)}},
		"no JSON":         {sealed, store.Webhook{TurnID: "t", ID: "h", Data: json.RawMessage(`x`)}},
	} {
		if got, err := c.by.open(&c.hook); !errors.Is(err, errPushSealed) {
			t.Errorf("with %s it is read as %v, %v", name, got, err)
		}
	}
	if _, err := NewPushSender(PushSettings{Key: []byte("short")}); err == nil {
		t.Error("a short key is taken")
	}
	if _, err := NewPushSender(PushSettings{AllowPrivate: []string{"*.internal"}}); err == nil {
		t.Error("a wildcard is taken")
	}
}

func TestTheErrorOfAReceiverHasNoSecrets(t *testing.T) {
	t.Parallel()
	err := unreachable(&url.Error{Op: "Post", URL: "https://hooks.example.com/?key=s3cret", Err: errors.New("no route")})
	if strings.Contains(err.Error(), "s3cret") || !strings.Contains(err.Error(), "no route") {
		t.Errorf("the error is %v", err)
	}
}

func TestRetryAfterIsSecondsOrATime(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for text, want := range map[string]time.Duration{
		"": 0, "7": 7 * time.Second, "-1": 0, "soon": 0, "99999999999999999999": 0,
		"Fri, 02 Jan 2026 03:05:05 GMT": time.Minute, "Fri, 02 Jan 2026 03:00:00 GMT": 0,
	} {
		if got := retryAfter(text, now); got != want {
			t.Errorf("%q is %v, want %v", text, got, want)
		}
	}
}

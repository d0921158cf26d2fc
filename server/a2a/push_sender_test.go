package a2a

import (
	"bytes"
	"encoding/json"
	"errors"
	"net/http"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"

	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/service/webhook"
	"github.com/agentruntime/agentruntime/store"
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

// TestAReceiverThatHangsIsLeftAfterAWhile has one receiver answer only once the
// other one hangs.
func TestAReceiverThatHangsIsLeftAfterAWhile(t *testing.T) {
	t.Parallel()
	r, quick := newReceiver(t, false), newReceiver(t, false)
	hangs, leave := make(chan struct{}), make(chan struct{})
	r.answer = func(_ http.ResponseWriter, n int) {
		if n == 1 {
			close(hangs)
		}
		<-leave
	}
	quick.answer = func(http.ResponseWriter, int) { <-hangs }
	t.Cleanup(func() { close(leave) })
	p := newPushTest(t, r.trusted())
	for id, to := range map[string]string{"hangs": r.URL, "h": quick.URL} {
		_, err := p.create(v10, &a2a.PushConfig{TaskID: "t", ID: id, URL: to})
		p.must(err)
	}
	p.happen(begun, ended)
	p.until("h", done)
	if h := p.until("hangs", func(*store.Webhook) bool { return true }); h.Attempts > 0 {
		t.Errorf("the other receiver was told after the first one was left: %s", h.LastError)
	}
	h := p.until("hangs", func(h *store.Webhook) bool { return h.Attempts > 0 })
	if h.State != store.WebhookActive || !strings.Contains(h.LastError, "deadline") {
		t.Errorf("the one that hangs is %s: %s", h.State, h.LastError)
	}
}

// TestAPrivateAddressIsNotDialed covers private addresses and names that resolve to one.
func TestAPrivateAddressIsNotDialed(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, true)
	settings := r.trusted()
	settings.AllowPrivate = nil
	p := newPushTest(t, settings)
	for id, to := range map[string]string{"literal": r.URL, "name": "https://localhost:" + netip.MustParseAddrPort(r.Listener.Addr().String()).String()[len("127.0.0.1:"):]} {
		data, err := p.handler.sender.sealTarget("t", id, &pushTarget{URL: to, Version: v10, Agent: "helper"})
		p.must(err)
		_, err = p.service.SaveWebhook(t.Context(), pushCaller, service.SaveWebhook{TurnID: "t", ID: id, Surface: PushSurface, Data: data})
		p.must(err)
		if err := p.handler.over(v10, pushCaller).checkPush(&a2a.PushConfig{URL: to}); err == nil {
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
	resp, err := p.handler.sender.client.Do(req)
	if err == nil {
		_ = resp.Body.Close()
	}
	var final *webhook.DeliveryError
	if blocked := new(netguard.BlockedError); !errors.As(err, &blocked) || !errors.As(errorForTransport(err), &final) || !final.Final {
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

func TestTheErrorOfAReceiverHasNoSecrets(t *testing.T) {
	t.Parallel()
	err := errorForTransport(&url.Error{Op: "Post", URL: "https://hooks.example.com/?key=s3cret", Err: errors.New("no route")})
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

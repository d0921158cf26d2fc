package console_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/browser"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/chromedp"
)

// says reports whether the page shows a text.
func says(text string) string {
	return `document.querySelector('main').innerText.includes(` + quote(text) + `)`
}

func TestAnApprovalIsGivenInTheInbox(t *testing.T) {
	s := openShop(t, "")
	b := browser.Open(t, 1280, 800)
	s.page(b, "inbox")
	b.Await(says("Agent clerk wants to call tool refund."))
	b.Await(says("A-17"))
	b.Do(chromedp.Click(`button[type=submit]`, chromedp.ByQuery))
	s.await(s.waiting, "succeeded")
	b.Await(says("Nothing waits for you."))
	s.page(b, "turns/"+s.waiting)
	b.Await(says("answered"))
	s.page(b, "turns/"+s.waiting+"?tab=conversation")
	b.Await(`[...document.querySelectorAll('.call')].some((c) => c.innerText.includes('refund') && c.innerText.includes('succeeded'))`)
}

func TestSeveralRequestsAreRejectedAtOnce(t *testing.T) {
	s := openShop(t, "")
	second, _ := s.begin("clerk", "Please refund order A-18.")
	s.await(second, "waiting", "succeeded")
	b := browser.Open(t, 1280, 800)
	s.page(b, "inbox")
	b.Await(`document.querySelector('.cards input') !== null`)
	b.Do(chromedp.KeyEvent("x"))
	b.Await(says("1 request selected"))
	b.Do(chromedp.Click(`//button[.='Reject all']`))
	s.await(s.waiting, "succeeded")
	var turn struct {
		Status string
	}
	s.do(http.MethodGet, "/runtime/v1/turns/"+s.waiting, nil, &turn)
	s.page(b, "turns/"+s.waiting)
	b.Await(`[...document.querySelectorAll('.row.tool')].some((r) => r.innerText.includes('refund') && r.innerText.includes('failed'))`)
}

func TestThePlaygroundStreamsAndAsksInPlace(t *testing.T) {
	s := openShop(t, "")
	b := browser.Open(t, 1280, 800)
	s.page(b, "play?agent=manager")
	b.Do(chromedp.SendKeys("#message", "Hello"), input.DispatchKeyEvent(input.KeyDown).WithKey("Enter").WithWindowsVirtualKeyCode(13))
	b.Await(says("Done. The order was refunded."))
	b.Await(says("succeeded"))
	b.Await(`location.hash.includes('session=')`)
}

func TestAModelCallShowsWhatIsKnownOfItsRequest(t *testing.T) {
	s := openSite(t, config+withKeys, replies)
	s.key = "ark_operator-operator"
	turn, _ := s.begin("orders", "Look up A-17, please.")
	s.await(turn, "succeeded")
	b := browser.Open(t, 1280, 800)
	open := func(key string) {
		s.enter(b, key)
		s.visit(b, "turns/"+turn)
		b.Await(`document.querySelectorAll('.row.model').length === 2`)
		b.Do(chromedp.Evaluate(`[...document.querySelectorAll('.row.model')].at(-1).click()`, nil))
		b.Await(`document.querySelector('.detail summary') !== null`)
		b.Do(chromedp.Click(`//summary[.='Request']`))
		b.Await(says("The server stored no request for this call"))
		b.Await(`['Look up A-17, please.', 'A-17 costs 12 EUR', 'demo-small'].every((text) => document.querySelector('.detail').innerText.includes(text))`)
	}
	open(s.key)
	b.Await(`[...document.querySelectorAll('.detail pre')].some((p) => p.innerText === 'Look up.') && document.querySelector('.detail .chip').innerText === 'lookup'`)
	var made struct{ Cases string }
	s.do(http.MethodGet, "/runtime/v1/turns/"+turn+"/eval-case", nil, &made)
	var copied string
	b.Do(chromedp.Evaluate(`navigator.clipboard.writeText = async (text) => { window.copied = text; }; 0`, nil), chromedp.Click(`//button[.='Export eval case']`))
	b.Await(says("evals/recordings/turn-" + turn + ".tools.jsonl"))
	b.Do(chromedp.Click(`//section[@aria-label='Eval case']//button[.='Copy']`), chromedp.Evaluate(`window.copied`, &copied))
	if copied == "" || copied != made.Cases {
		t.Errorf("copied %q, not %q", copied, made.Cases)
	}
	b.Do(chromedp.Click(`//button[.='Forget the key']`))
	open("ark_reader-reader-reader")
	b.Await(says("The system prompt and tools are shown to keys with the scope config:read."))
}

func TestAModelCallShowsTheStoredRequest(t *testing.T) {
	s := openSite(t, strings.Replace(config+withKeys, "store: {driver: memory}", "store: {driver: memory}\nturns: {keep_requests: true}", 1), replies)
	s.key = "ark_operator-operator"
	turn, _ := s.begin("orders", "Look up A-17, please.")
	s.await(turn, "succeeded")
	b := browser.Open(t, 1280, 800)
	s.enter(b, s.key)
	s.visit(b, "turns/"+turn)
	b.Await(`document.querySelectorAll('.row.model').length === 2`)
	b.Do(chromedp.Evaluate(`[...document.querySelectorAll('.row.model')].at(-1).click()`, nil))
	b.Await(`document.querySelector('.detail summary') !== null`)
	b.Do(chromedp.Click(`//summary[.='Request']`))
	b.Await(`['Look up A-17, please.', 'lookup', 'Look up.', 'tool', 'Tools (1)'].every((text) => document.querySelector('.detail').innerText.includes(text))`)
	b.Await(`!document.querySelector('.detail').innerText.includes('stored no request')`)
}

// slowReplies answer word by word.
const slowReplies = `replies:
  - {text: "one two three four five six seven eight nine ten", chunks: 10, chunk_delay: 300ms}
`

func TestTextAppearsWithinHalfASecond(t *testing.T) {
	s := openSite(t, config, slowReplies)
	b := browser.Open(t, 1280, 800)
	s.page(b, "fleet")
	turn, _ := s.begin("manager", "Count.")
	s.visit(b, "turns/"+turn+"?tab=conversation")
	// Each event has the time when it happened: the page compares it with its own clock.
	b.Do(chromedp.Evaluate(`window.shown = []; {
		const look = () => {
			const text = document.querySelector('.bubble.assistant')?.innerText.trim() ?? '';
			if (text !== window.shown.at(-1)?.text) window.shown.push({ text, at: Date.now() });
		};
		look();
		new MutationObserver(look).observe(document.body, {subtree: true, childList: true, characterData: true});
	} 0`, nil))
	b.Await(says("nine ten"))
	var shown []struct {
		Text string
		At   int64
	}
	b.Do(chromedp.Evaluate(`window.shown`, &shown))
	var log struct {
		Events []struct {
			Type  string `json:"event_type"`
			Time  time.Time
			Delta string
		}
	}
	s.do(http.MethodGet, "/runtime/v1/turns/"+turn+"/events", nil, &log)
	var lags []int64
	text := ""
	for _, e := range log.Events {
		if e.Type != "text_delta" {
			continue
		}
		text += e.Delta
		seen := slices.IndexFunc(shown, func(at struct {
			Text string
			At   int64
		}) bool {
			return strings.Contains(at.Text, strings.TrimSpace(text))
		})
		if seen > 0 { // not when the page was opened
			lags = append(lags, shown[seen].At-e.Time.UnixMilli())
		}
	}
	if len(lags) < 3 {
		t.Fatalf("the text appeared at once: %v", shown)
	}
	slices.Sort(lags)
	t.Logf("the words appeared after %d ms", lags)
	if median := lags[len(lags)/2]; median > 500 {
		t.Errorf("half of the words appeared after %d ms or more", median)
	}
}

func TestThePageRecoversWhenTheServerIsBack(t *testing.T) {
	s := openShop(t, "")
	b := browser.Open(t, 1280, 800)
	b.AllowFailedRequests()
	// A second listener stands for the server, so that it can go away and return.
	front := newFront(t, s.url)
	at := &site{t: t, url: front.url}
	at.page(b, "turns")
	front.stop()
	b.Await(`document.querySelector('.gone') !== null`)
	added, _ := s.begin("manager", "Hello")
	s.await(added, "succeeded")
	front.start()
	b.Await(`document.querySelector('.gone') === null`)
	b.Await(says(added[len(added)-8:]))
}

// TestAPageThatCouldNotBeLoadedIsLoadedLater opens a page, whose files were not needed before, while
// the server is gone.
func TestAPageThatCouldNotBeLoadedIsLoadedLater(t *testing.T) {
	s := openSite(t, config, replies)
	b := browser.Open(t, 1280, 800)
	b.AllowFailedRequests()
	front := newFront(t, s.url)
	(&site{t: t, url: front.url}).page(b, "fleet")
	front.stop()
	b.Do(chromedp.Evaluate(`location.hash = '#/graph'`, nil))
	b.Await(`document.querySelector('.gone') !== null`)
	front.start()
	b.Await(`document.querySelector('.gone') === null && document.querySelectorAll('.node').length === 3`)
}

func TestThePageAsksAFailingServerOnceASecond(t *testing.T) {
	s := openSite(t, config, replies)
	var failing atomic.Bool
	asked := make(chan time.Time, 100)
	proxy := proxyTo(t, s.url)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !failing.Load():
		case r.URL.Path == "/readyz":
			asked <- time.Now()
		default:
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	b := browser.Open(t, 1280, 800)
	b.AllowFailedRequests()
	(&site{t: t, url: front.URL}).page(b, "turns")
	failing.Store(true)
	first := <-asked
	for range 5 {
		<-asked
	}
	if took := time.Since(first); took < 4*time.Second {
		t.Errorf("it asked 5 times more within %s", took)
	}
	failing.Store(false)
	b.Await(`document.querySelector('.gone') === null`)
}

// TestThePageWaitsForAServerThatIsNotReady opens the page, and follows a turn, while reads are
// answered with 503.
func TestThePageWaitsForAServerThatIsNotReady(t *testing.T) {
	s := openSite(t, config, slowReplies)
	var failing atomic.Bool
	failing.Store(true)
	proxy := proxyTo(t, s.url)
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if failing.Load() && !strings.HasPrefix(r.URL.Path, "/console") {
			http.Error(w, "not ready", http.StatusServiceUnavailable)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	defer front.Close()
	b := browser.Open(t, 1280, 800)
	b.AllowFailedRequests()
	turn, _ := s.begin("manager", "Count.")
	b.Do(chromedp.Navigate(front.URL + "/console/#/turns/" + turn + "?tab=conversation"))
	b.Await(`document.querySelector('.gone') !== null`)
	failing.Store(false)
	b.Await(says("nine ten"))
}

// front forwards requests to a server.
type front struct {
	t            *testing.T
	url, address string
	to           string
	server       *httptest.Server
}

func newFront(t *testing.T, to string) *front {
	t.Helper()
	f := &front{t: t, to: to, address: "127.0.0.1:0"}
	f.start()
	f.address, f.url = f.server.Listener.Addr().String(), f.server.URL
	t.Cleanup(f.stop)
	return f
}

func (f *front) start() {
	f.t.Helper()
	var config net.ListenConfig
	l, err := config.Listen(context.WithoutCancel(f.t.Context()), "tcp", f.address)
	if err != nil {
		f.t.Fatal(err)
	}
	f.server = &httptest.Server{Listener: l, Config: &http.Server{Handler: proxyTo(f.t, f.to), ReadHeaderTimeout: time.Minute}}
	f.server.Start()
}

func (f *front) stop() {
	f.server.CloseClientConnections()
	f.server.Close()
}

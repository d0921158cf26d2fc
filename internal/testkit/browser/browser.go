// Package browser opens pages in headless Chromium, to test their appearance and behavior.
package browser

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/internal/testkit/needs"
	"github.com/chromedp/cdproto"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

const (
	// timeout limits a test's work in the browser.
	timeout = 5 * time.Minute
	// startAttempts is the maximum number of attempts to start the browser: with little memory or
	// processor time it sometimes crashes immediately.
	startAttempts = 3
	// awaitTimeout limits one wait of a test.
	awaitTimeout = 15 * time.Second
	pollInterval = 10 * time.Millisecond
	// lostContext is the error code of scripts whose page no longer exists.
	lostContext = -32000
)

// Browser is a page in Chromium. When the test ends, it fails if the page reported an error: an
// exception, a blocked request, or a violation of a content security policy.
type Browser struct {
	t   testing.TB
	ctx context.Context //nolint:containedctx // chromedp keeps the browser in its context

	mu     sync.Mutex
	errors []string
	// failing is set while requests may fail.
	failing bool
}

// Open starts the browser with an empty page of a size in pixels. Without Chromium the test is
// skipped, or fails in CI. Short tests are skipped.
func Open(t testing.TB, width, height int) *Browser {
	t.Helper()
	if testing.Short() {
		t.Skip("a browser takes a while")
	}
	program, err := exec.LookPath("chromium")
	if err != nil {
		needs.Missing(t, fmt.Errorf("no Chromium: %w", err))
	}
	b := &Browser{t: t}
	t.Cleanup(func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, text := range b.errors {
			t.Errorf("the page reports: %s", text)
		}
	})
	for attempt := 1; ; attempt++ {
		options := append(chromedp.DefaultExecAllocatorOptions[:len(chromedp.DefaultExecAllocatorOptions):len(chromedp.DefaultExecAllocatorOptions)],
			chromedp.ExecPath(program), chromedp.NoSandbox, chromedp.WindowSize(width, height), chromedp.UserDataDir(t.TempDir()),
			chromedp.WSURLReadTimeout(timeout))
		stop, err := b.start(options)
		if err == nil {
			t.Cleanup(stop)
			return b
		}
		stop()
		if attempt == startAttempts {
			t.Fatal(err)
		}
		t.Logf("starting Chromium again: %v", err)
	}
}

// start starts the browser. Call stop to end it, even after an error.
func (b *Browser) start(options []chromedp.ExecAllocatorOption) (stop func(), err error) {
	ctx, cancel := context.WithTimeout(context.Background(), timeout)
	ctx, end := chromedp.NewExecAllocator(ctx, options...)
	ctx, closePage := chromedp.NewContext(ctx)
	b.ctx = ctx
	chromedp.ListenTarget(ctx, b.note)
	stop = func() {
		if ctx.Err() == nil {
			_ = chromedp.Cancel(ctx) // waits for the process to end
		}
		closePage()
		end()
		cancel()
	}
	return stop, chromedp.Run(ctx, log.Enable())
}

// note records the page's reports.
func (b *Browser) note(ev any) {
	var text string
	switch ev := ev.(type) {
	case *runtime.EventExceptionThrown:
		text = ev.ExceptionDetails.Error()
	case *log.EventEntryAdded:
		allowed := ev.Entry.Source == log.SourceNetwork && b.requestsMayFail()
		if ev.Entry.Level == log.LevelError && !allowed {
			text = ev.Entry.Text + " " + ev.Entry.URL
		}
	case *runtime.EventConsoleAPICalled:
		if ev.Type == runtime.APITypeError {
			text = fmt.Sprint("console.error: ", len(ev.Args), " values")
		}
	}
	if text != "" {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.errors = append(b.errors, text)
	}
}

// AllowFailedRequests accepts failed requests of the page from now on.
func (b *Browser) AllowFailedRequests() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failing = true
}

func (b *Browser) requestsMayFail() bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.failing
}

// Listen calls a function for each event of the page.
func (b *Browser) Listen(call func(ev any)) { chromedp.ListenTarget(b.ctx, call) }

// Do runs actions and fails the test if one fails.
func (b *Browser) Do(actions ...chromedp.Action) {
	b.t.Helper()
	if err := chromedp.Run(b.ctx, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// AwaitPromise makes chromedp.Evaluate wait for a promise.
func AwaitPromise(p *runtime.EvaluateParams) *runtime.EvaluateParams { return p.WithAwaitPromise(true) }

// Text waits for the first element that matches a CSS selector and returns its text.
func (b *Browser) Text(selector string) (text string) {
	b.t.Helper()
	b.Do(chromedp.Text(selector, &text, chromedp.ByQuery))
	return text
}

// Await waits until a JavaScript expression is true. An expression that throws counts as false.
func (b *Browser) Await(expression string) {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, awaitTimeout)
	defer cancel()
	for {
		err := chromedp.Run(ctx, chromedp.Poll("(() => { try { return "+expression+"; } catch { return false; } })()", nil, chromedp.WithPollingInterval(pollInterval), chromedp.WithPollingTimeout(0)))
		if lost, ok := errors.AsType[*cdproto.Error](err); ok && lost.Code == lostContext && ctx.Err() == nil {
			continue // navigated away meanwhile
		}
		if err != nil {
			b.t.Fatalf("never true: %s: %v", expression, err)
		}
		return
	}
}

// Screenshot returns the whole page as PNG.
func (b *Browser) Screenshot() (png []byte) {
	b.t.Helper()
	b.Do(chromedp.FullScreenshot(&png, 100))
	return png
}

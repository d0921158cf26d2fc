package console_test

import (
	"net/http"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// listsTurns reports whether the page lists only these turns.
func listsTurns(turns ...string) string {
	ids := "["
	for _, id := range turns {
		ids += quote(id) + ","
	}
	return `JSON.stringify([...document.querySelectorAll('tbody tr .main a')].map((a) => a.title).sort()) === JSON.stringify(` + ids + `].sort())`
}

func TestTurnsAreFilteredByTheServer(t *testing.T) {
	s := openShop(t, "")
	var made struct{ ID string }
	s.do(http.MethodPost, "/runtime/v1/sessions", map[string]any{"agent_id": "manager", "labels": map[string]string{"team": "blue"}}, &made)
	input := []any{map[string]any{"role": "user", "parts": []any{map[string]any{"type": "text", "text": "Hello."}}}}
	s.do(http.MethodPost, "/runtime/v1/turns", map[string]any{"session_id": made.ID, "agent_id": "manager", "input": input, "metadata": map[string]any{"ticket": "T-9"}}, &made)
	labeled := made.ID
	s.await(labeled, "succeeded")
	b := browser.Open(t, 1280, 800)
	for address, want := range map[string][]string{
		"turns":                        {s.done, s.waiting, labeled},
		"turns?label=team%3Dblue":      {labeled},
		"turns?q=12%20eur":             {s.done},
		"turns?q=t-9":                  {labeled},
		"turns?q=wants%20to%20call":    {s.waiting},
		"turns?cost=0.000001":          {labeled},
		"turns?tenant=nobody":          {},
		"turns?agent=clerk&q=A-17":     {s.waiting},
		"turns?slow=600000":            {},
		"turns?status=waiting&cost=99": {},
	} {
		s.page(b, address)
		b.Await(listsTurns(want...))
	}
	s.page(b, "turns")
	b.Do(chromedp.SendKeys(`input[type=search]`, "t-9"+kb.Enter, chromedp.ByQuery))
	b.Await(listsTurns(labeled))
	b.Do(chromedp.Click(`details.options summary`, chromedp.ByQuery), chromedp.SendKeys(`input[type=number]`, "5"+kb.Enter, chromedp.ByQuery))
	b.Await(`location.hash === '#/turns?q=t-9&cost=5' && ` + says("No turn matches."))
}

func TestTheInboxIsReadInOneRequest(t *testing.T) {
	s := openShop(t, "")
	for _, text := range []string{"Please refund order A-18.", "Please refund order A-19."} {
		turn, _ := s.begin("clerk", text)
		s.await(turn, "waiting")
	}
	b := browser.Open(t, 1280, 800)
	s.page(b, "inbox")
	b.Await(says("3 requests wait"))
	var requests []string
	b.Do(chromedp.Evaluate(`[...new Set(performance.getEntriesByType('resource').map((r) => r.name).filter((n) => /runtime\/v1\/(turns|interactions)/.test(n)))]`, &requests))
	if len(requests) != 1 {
		t.Errorf("the page asked for %q", requests)
	}
	b.Do(chromedp.Click(`//button[.='Select all 3 approvals']`))
	b.Await(says("3 requests selected"))
	b.Do(chromedp.Click(`//button[.='Approve all']`))
	b.Await(says("Nothing waits for you."))
	s.await(s.waiting, "succeeded")
}

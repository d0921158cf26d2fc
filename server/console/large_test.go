package console_test

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/browser"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// since returns how many milliseconds after the beginning of its navigation a page fulfilled
// a condition, watching each frame.
func since(t *testing.T, b *browser.Browser, address, condition string) (ms float64) {
	t.Helper()
	b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(address),
		chromedp.Evaluate(`new Promise((resolve) => { const look = () => { try { if (`+condition+`) return resolve(window.shownAt = performance.now()); } catch {} requestAnimationFrame(look); }; look(); })`, &ms, browser.AwaitPromise))
	return ms
}

// median opens a page several times. It returns the median time until the condition holds, and the
// requests of the page until then.
func median(t *testing.T, b *browser.Browser, address, condition string) (ms float64, work pageWork) {
	t.Helper()
	const tries = 5
	var all []float64
	for range tries {
		if strings.HasSuffix(address, "fleet") && len(all) > 0 { // the findings of the page before keep the server busy
			b.Await(`performance.getEntriesByType('resource').some((r) => r.name.endsWith('diagnostics'))`)
		}
		all = append(all, since(t, b, address, condition))
		b.Do(chromedp.Evaluate(requested, &work))
	}
	slices.Sort(all)
	return all[tries/2], work
}

// pageWork is what a page requested from the API before it was shown.
type pageWork struct{ Requests, Bytes int }

// requested returns the work of the page up to the last look of since.
const requested = `(() => {
	const of = performance.getEntriesByType('resource').filter((r) => r.name.includes('/runtime/') && r.responseEnd > 0 && r.responseEnd <= window.shownAt);
	return { requests: of.length, bytes: of.reduce((sum, r) => sum + r.decodedBodySize, 0) };
})()`

func TestAFleetOfTenThousandAgentsIsShownAtOnce(t *testing.T) {
	var agents strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&agents, "  agent-%05d: {model_id: default, description: Is number %d., system_prompt: Help., allowed_tools: [lookup]}\n", i, i)
	}
	s := openSite(t, strings.Replace(config, "workflows:\n", agents.String()+"workflows:\n", 1), replies)
	b := browser.Open(t, 1280, 800)
	empty, _ := median(t, b, s.url+"/console/#/nowhere", says("There is no such page.")) // how busy the machine is
	ms, work := median(t, b, s.url+"/console/#/fleet", `document.querySelectorAll('tbody tr').length === 50`)
	t.Logf("the first page of 10,003 agents is shown after %.0f ms, %d requests and %d bytes; an empty page takes %.0f ms", ms, work.Requests, work.Bytes, empty)
	if most := max(300, 5*empty); ms > most {
		t.Errorf("that is more than %.0f ms", most)
	}
	if work.Requests > 3 || work.Bytes > 10<<10 {
		t.Errorf("at most 3 requests and 10 KiB are allowed")
	}
	b.Await(says("10,003 agents"))
	b.Do(chromedp.SendKeys("input[type=search]", "09999"))
	b.Await(says("1 agent"))
	b.Await(says("agent-09999"))
}

func TestATurnOfFiftyThousandEventsOpensAtOnce(t *testing.T) {
	const steps, calls = 660, 20 // of a tool that does not exist: only the events matter
	var script strings.Builder
	script.WriteString("replies:\n")
	for i := range steps {
		fmt.Fprintf(&script, "  - {text: \"Step %d.\", tool_calls: [", i)
		for j := range calls {
			fmt.Fprintf(&script, "{id: c%d_%d, name: none, arguments: {order: A-%d}}, ", i, j, i*calls+j)
		}
		script.WriteString("]}\n")
	}
	config := strings.Replace(config, `allowed_tools: [refund, lookup], excluded_tool_patterns: ["legacy_*"]`, "allowed_tools: [lookup], max_rounds: 0", 1)
	s := openSite(t, strings.Replace(config, "store: {driver: memory}", "store: {driver: sqlite, dsn: "+filepath.Join(t.TempDir(), "turns.db")+"}", 1), script.String())
	turn, _ := s.begin("manager", "Work.")
	s.await(turn, "succeeded", "failed")
	var log struct{ Events int }
	s.do("GET", "/runtime/v1/turns/"+turn, nil, &log)
	b := browser.Open(t, 1280, 800)
	empty, _ := median(t, b, s.url+"/console/#/nowhere", says("There is no such page.")) // how busy the machine is
	ms, _ := median(t, b, s.url+"/console/#/turns/"+turn, `document.querySelectorAll('.row').length > 10`)
	all, _ := median(t, b, s.url+"/console/#/turns/"+turn, fmt.Sprintf(`document.querySelectorAll('.row').length > 10 && document.querySelector('input[type=range]').max === '%d'`, log.Events))
	var shown int
	b.Do(chromedp.Evaluate(`document.querySelectorAll('.slot').length`, &shown))
	t.Logf("a turn of %d events is shown after %.0f ms, and complete after %.0f ms, with %d rows in the page; an empty page takes %.0f ms", log.Events, ms, all, shown, empty)
	if most := max(1000, 20*empty); ms > most/2 || all > most || shown > 100 {
		t.Errorf("at most %.0f ms and 100 rows are allowed", most)
	}
	b.Do(chromedp.Focus(".virtual"), chromedp.KeyEvent(kb.End))
	b.Await(`[...document.querySelectorAll('.row')].some((r) => r.innerText.includes('Finished'))`)
	s.page(b, "turns/"+turn+"?tab=conversation")
	b.Await(says(fmt.Sprintf("Step %d.", steps-1)))
	b.Do(chromedp.Evaluate(`document.querySelectorAll('.chat > *').length`, &shown))
	if shown > 210 {
		t.Errorf("the conversation has %d elements", shown)
	}
	b.Do(chromedp.Click(`//button[contains(., 'Show earlier parts')]`))
	b.Await(`document.querySelectorAll('.chat > *').length > 300`)
	s.page(b, "turns/"+turn)
	b.Await(fmt.Sprintf(`document.querySelector('input[type=range]').max === '%d'`, log.Events))
	b.Await(`(document.querySelector('.virtual').scrollTop = 1e9, document.querySelector('.row.end') !== null)`)
	b.Do(chromedp.Evaluate(`[...document.querySelectorAll('.row.model')].at(-1)?.click()`, nil))
	b.Await(`document.querySelector('.detail summary') !== null`)
	b.Do(chromedp.Evaluate(`document.querySelector('.detail summary').click()`, nil))
	b.Await(says("earlier answers and calls are left out"))
	s.page(b, "turns/"+turn+"?tab=events")
	b.Await(`document.querySelectorAll('.raw .row').length > 10 && document.querySelectorAll('.raw .row').length < 100`)
}

package console_test

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/browser"
	"github.com/agentruntime/agentruntime/internal/testkit/nodeenv"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// page opens a page of the console and waits until it has loaded.
func (s *site) page(b *browser.Browser, address string) {
	s.t.Helper()
	b.Do(chromedp.Navigate("about:blank"), chromedp.Navigate(s.url+"/console/#/"+address))
	b.Await(loaded)
}

// loaded is true once a page shows what it has read.
const loaded = `!!document.querySelector('main h1') && ![...document.querySelectorAll('[role=status]')].some((e) => /…$/.test(e.textContent))`

// shop is a site with turns in several states.
type shop struct {
	*site
	waiting, done, session string
}

func openShop(t testing.TB, extra string) *shop {
	s := &shop{site: openSite(t, config+extra, strings.Replace(replies, "replies:", "replies:"+refundReplies, 1))}
	s.done, s.session = s.begin("orders", "Look up A-17, please.")
	s.await(s.done, "succeeded")
	s.waiting, _ = s.begin("clerk", "Please refund order A-17.")
	s.await(s.waiting, "waiting")
	return s
}

// pages are all pages by name, as they are with the turns of a shop.
func (s *shop) pages() map[string]string {
	var list struct{ Revisions []struct{ Hash string } }
	s.do("GET", "/runtime/v1/revisions", nil, &list)
	var log struct {
		Events []struct {
			Seq  int
			Type string `json:"event_type"`
		}
	}
	s.do("GET", "/runtime/v1/turns/"+s.done+"/events", nil, &log)
	call := 0
	for _, e := range log.Events {
		if e.Type == "inference_complete" {
			call = e.Seq
		}
	}
	return map[string]string{
		"model-call": fmt.Sprintf("turns/%s?event=%d", s.done, call),
		"fleet":      "fleet", "agent": "fleet/clerk", "graph": "graph", "turns": "turns", "turn": "turns/" + s.waiting, "turn-detail": "turns/" + s.done + "?event=3",
		"conversation": "turns/" + s.done + "?tab=conversation", "events": "turns/" + s.done + "?tab=events", "sessions": "sessions", "session": "sessions/" + s.session, "inbox": "inbox",
		"playground": "play?agent=clerk", "compare": "play?agent=clerk&compare=on&agent2=orders", "turn-filters": "turns?cost=1&label=a%3Db", "workflows": "workflows", "revisions": "revisions", "revision": "revisions/" + list.Revisions[0].Hash, "tenants": "tenants", "diagnostics": "diagnostics",
		"usage": "usage", "usage-empty": "usage?agent=nobody", "missing": "nowhere",
	}
}

// openDetails unfolds everything on the page.
func (s *shop) openDetails(b *browser.Browser) {
	s.t.Helper()
	b.Do(chromedp.Evaluate(`document.querySelectorAll('details').forEach((d) => { d.open = true; })`, nil))
	b.Await(loaded)
}

// shown are the pages whose pictures are in the documentation.
var shown = map[string]bool{"fleet": true, "agent": true, "turn": true, "inbox": true, "usage": true}

func TestEveryPageIsAccessibleInBothThemes(t *testing.T) {
	axe := string(nodeenv.Install(t, packages).ReadFile(t, "axe-core/axe.min.js"))
	s := openShop(t, "")
	b := browser.Open(t, 1280, 800)
	for name, address := range s.pages() {
		s.page(b, address)
		if *update && shown[name] {
			saveShot(t, b, name)
		}
		s.openDetails(b)
		b.Do(chromedp.Evaluate(axe+";0", nil))
		for _, theme := range []string{"light", "dark"} {
			var found []struct {
				ID, Impact string
				Nodes      []struct{ HTML, FailureSummary string }
			}
			b.Do(chromedp.Evaluate(fmt.Sprintf("document.documentElement.dataset.theme = %q", theme), nil),
				chromedp.Evaluate("axe.run(document, {resultTypes: ['violations']}).then((r) => r.violations)", &found, browser.AwaitPromise))
			for _, v := range found {
				if v.Impact == "serious" || v.Impact == "critical" {
					t.Errorf("%s, %s: %s: %+v", name, theme, v.ID, v.Nodes)
				}
			}
		}
	}
}

// wider returns elements that are wider than a screen of 320 pixels.
const wider = `document.documentElement.scrollWidth <= 320 ? [] : [...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > 321).slice(0, 3).map((e) => e.outerHTML.slice(0, 120))`

func TestEveryPageFitsANarrowScreen(t *testing.T) {
	s := openShop(t, "")
	b := browser.Open(t, 320, 640)
	b.Do(emulation.SetDeviceMetricsOverride(320, 640, 1, true))
	for name, address := range s.pages() {
		s.page(b, address)
		s.openDetails(b)
		var wide []string
		b.Do(chromedp.Evaluate(wider, &wide))
		if len(wide) > 0 {
			t.Errorf("%s is wider than the screen: %q", name, wide)
		}
	}
}

func TestPagesCanBeUsedWithTheKeyboard(t *testing.T) {
	s := openShop(t, "")
	b := browser.Open(t, 1280, 800)
	s.page(b, "fleet")
	b.Do(chromedp.KeyEvent("\t"), chromedp.KeyEvent("\t")) // the search, and then the first agent
	b.Await(`document.activeElement.closest('[role=region]') !== null || document.activeElement.matches('a, input')`)
	s.page(b, "turns/"+s.done)
	b.Do(chromedp.Focus(".virtual"), chromedp.KeyEvent("j"), chromedp.KeyEvent("j"))
	b.Await(`document.querySelector('.detail h3').textContent === 'Step 1'`)
	s.page(b, "fleet/clerk")
	b.Do(chromedp.Focus("#call-tool"), chromedp.KeyEvent("refund"+kb.Enter))
	b.Await(`document.querySelector('form [role=status]').innerText.includes('waits for approval')`)
	s.page(b, "inbox")
	b.Await(`document.querySelector('.cards input') !== null`)
	b.Do(chromedp.KeyEvent("a"))
	s.await(s.waiting, "succeeded")
	b.Await(`document.querySelector('.empty') !== null`)
}

func TestAddressesLeadToWhatTheyName(t *testing.T) {
	s := openShop(t, "")
	b := browser.Open(t, 1280, 800)
	for address, want := range map[string]string{
		"fleet?q=manager":                "manager",
		"fleet/clerk?tool=lookup":        "Removed by excluded_tools[0] “lookup”.",
		"turns?status=waiting":           s.waiting[len(s.waiting)-8:],
		"turns/" + s.done + "?event=3":   "Event",
		"diagnostics?agent=manager":      "legacy_*",
		"usage?agent=orders&span=week":   "small",
		"usage?agent=nobody":             "No turn has ended in this time.",
		"nowhere/at/all":                 "There is no such page.",
		"turns/" + url.PathEscape("a/b"): "turn",
	} {
		if strings.Contains(address, "a%2Fb") {
			b.AllowFailedRequests()
		}
		s.page(b, address)
		b.Await(`document.querySelector('main').innerText.includes(` + quote(want) + `)`)
	}
}

func quote(text string) string {
	data, _ := json.Marshal(text) // a text
	return string(data)
}

// fillField replaces the text of a field.
func fillField(selector, text string) chromedp.Action {
	return chromedp.Evaluate(`(() => { const e = document.querySelector(`+quote(selector)+`); e.value = `+quote(text)+`; e.dispatchEvent(new Event('input', {bubbles: true})); })()`, nil)
}

func TestTheAgentPageTellsWhetherACallIsMade(t *testing.T) {
	s := openSite(t, config, replies)
	b := browser.Open(t, 1280, 800)
	s.page(b, "fleet/clerk?call=refund")
	check := func(tool, arguments, want string) {
		t.Helper()
		b.Do(fillField("#call-tool", tool), fillField("#call-arguments", arguments), chromedp.Click(`//button[.='Check']`))
		b.Await(`document.querySelector('form [role=status]').innerText.includes(` + quote(want) + `)`)
	}
	check("refund", `{"order":"A-17","amount":12}`, "waits for approval")
	check("refund", `{"amount":12}`, `"order" is required`)
	check("lookup", `{}`, "does not have this tool. Rule")
	check("<img src=x onerror=window.pwned=1>", `{}`, "does not have this tool.")
	b.Await(`window.pwned === undefined`)
}

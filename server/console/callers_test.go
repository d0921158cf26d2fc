package console_test

import (
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/browser"
	"github.com/chromedp/chromedp"
)

func proxyTo(t *testing.T, to string) http.Handler {
	t.Helper()
	target, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, FlushInterval: -1}
}

// withKeys adds the keys of an operator, of a reader of the same tenant and subject, and of
// another tenant.
const withKeys = `revisions: {source: store}
server:
  console: true
  keys:
    - {id: operator, key: ark_operator-operator, tenant: acme, subject: ann, scopes: [models:read, runs:read, runs:write, sessions:read, sessions:write, config:read, config:write]}
    - {id: reader, key: ark_reader-reader-reader, tenant: acme, subject: ann, scopes: [models:read, runs:read, sessions:read]}
    - {id: other, key: ark_other-other-other-oth, tenant: globex, subject: bob, scopes: [models:read, runs:read, sessions:read, runs:write]}
`

// enter opens the console with a key, as a person does.
func (s *site) enter(b *browser.Browser, key string) {
	s.t.Helper()
	b.Do(chromedp.Navigate(s.url+"/console/"), chromedp.WaitVisible("#key"), chromedp.SendKeys("#key", key), chromedp.Click("button[type=submit]"))
	b.Await(loaded)
}

// visit goes to a page in place, which keeps the key of the tab.
func (s *site) visit(b *browser.Browser, address string) {
	s.t.Helper()
	b.Do(chromedp.Evaluate(`location.hash = '#/nowhere'`, nil))
	b.Await(says("There is no such page."))
	b.Do(chromedp.Evaluate(`location.hash = `+quote("#/"+address), nil))
	b.Await(`!document.querySelector('main').innerText.includes('There is no such page.')`)
	b.Await(loaded)
}

func TestAReaderSeesNoButtonsAndOthersNothing(t *testing.T) {
	s := &shop{site: openSite(t, config+withKeys, strings.Replace(replies, "replies:", "replies:"+refundReplies, 1))}
	s.key = "ark_operator-operator"
	s.waiting, s.session = s.begin("clerk", "Please refund order A-17.")
	s.await(s.waiting, "waiting")
	b := browser.Open(t, 1280, 800)
	s.enter(b, "ark_wrong-wrong-wrong-wrong")
	b.Await(`document.querySelector('[role=alert]').innerText.includes('does not accept')`)

	s.enter(b, "ark_reader-reader-reader")
	for _, address := range []string{"fleet", "turns", "turns/" + s.waiting, "inbox", "sessions/" + s.session} {
		s.visit(b, address)
		var buttons []string
		b.Do(chromedp.Evaluate(`[...document.querySelectorAll('main button:not(.row), main a.button')].map((e) => e.innerText).filter((text) => /approve|reject|answer|cancel the turn|run again|chat|continue|roll back|send/i.test(text))`, &buttons))
		if len(buttons) > 0 {
			t.Errorf("%s offers a reader %q", address, buttons)
		}
	}
	var nav string
	b.Do(chromedp.Evaluate(`document.querySelector('nav').innerText`, &nav))
	for _, absent := range []string{"Playground", "Revisions", "Diagnostics", "Tenants", "Graph", "Cost and health"} {
		if strings.Contains(nav, absent) {
			t.Errorf("the navigation of a reader has %s", absent)
		}
	}
	s.visit(b, "revisions")
	b.Await(says("It needs the scope"))
	b.Do(chromedp.Click(`//button[.='Forget the key']`))

	b.AllowFailedRequests() // what belongs to others is answered with 404
	s.enter(b, "ark_other-other-other-oth")
	s.visit(b, "turns/"+s.waiting)
	b.Await(says("Not found."))
	s.visit(b, "inbox")
	b.Await(says("Nothing waits for you."))
	var kept string
	b.Do(chromedp.Evaluate(`JSON.stringify(localStorage) + document.cookie`, &kept))
	if strings.Contains(kept, "ark_") {
		t.Errorf("the key outlives the tab: %s", kept)
	}
}

func TestAnAgentIsFoundAmongManyWithItsName(t *testing.T) {
	var agents strings.Builder
	for i := range 250 { // more than a page has, all before the clerk
		fmt.Fprintf(&agents, "  a%03d-clerk: {model_id: default, description: Is number %d., system_prompt: Help.}\n", i, i)
	}
	s := openSite(t, strings.Replace(config, "agents:\n", "agents:\n"+agents.String(), 1)+withKeys, replies)
	b := browser.Open(t, 1280, 800)
	s.enter(b, "ark_reader-reader-reader")
	s.visit(b, "fleet/clerk")
	b.Await(says("Answers customers and refunds orders."))
	b.Do(chromedp.Click(`//button[.='Forget the key']`))
	s.enter(b, "ark_operator-operator")
	s.visit(b, "graph?agent=clerk")
	b.Await(`document.querySelectorAll('.node').length === 3 && document.querySelectorAll('.edge').length === 2`)
}

func TestARevisionIsRolledBackAfterItsChangesAreConfirmed(t *testing.T) {
	s := openSite(t, config+withKeys, replies)
	s.key = "ark_operator-operator"
	var list struct {
		Revisions []struct {
			Number uint64
			Hash   string
		}
	}
	s.do(http.MethodGet, "/runtime/v1/revisions", nil, &list)
	first := list.Revisions[0]
	s.ifMatch = first.Hash
	s.do(http.MethodPut, "/runtime/v1/agents/manager", map[string]any{"value": map[string]any{"model_id": "small", "description": "Is new."}, "note": "change the manager"}, nil)
	b := browser.Open(t, 1280, 800)
	s.enter(b, s.key)
	s.visit(b, "play?agent=manager&compare=on&agent2=manager&revision2="+first.Hash)
	b.Await(`document.querySelectorAll('.toolbar select')[1]?.selectedOptions[0].innerText.startsWith('1')`)
	b.Do(fillField("#message", "Hello"), chromedp.Click(`button[type=submit]`, chromedp.ByQuery))
	for n, want := range []uint64{2, 1} {
		var turn string
		b.Await(fmt.Sprintf(`document.querySelectorAll('.lanes > section')[%d]?.innerText.includes('succeeded')`, n))
		b.Do(chromedp.Evaluate(fmt.Sprintf(`document.querySelectorAll('.lanes > section')[%d].querySelector('a[href^="#/turns/"]').hash.split('/')[2]`, n), &turn))
		var ended struct{ Outcome struct{ Revision uint64 } }
		s.do(http.MethodGet, "/runtime/v1/turns/"+turn, nil, &ended)
		if got := ended.Outcome.Revision; got != want {
			t.Errorf("lane %d ran in revision %d, want %d", n+1, got, want)
		}
	}
	s.visit(b, "revisions/"+first.Hash)
	b.Do(chromedp.Click(`//button[.='Roll back to this']`))
	b.Await(`document.querySelector('dialog[open]')?.innerText.includes('manager') && document.querySelector('dialog').innerText.includes('Is new.')`)
	b.Do(chromedp.Click(`//dialog//button[.='Roll back']`))
	b.Await(says("rollback to 1"))
	s.do(http.MethodGet, "/runtime/v1/revisions", nil, &list)
	if latest := list.Revisions[0]; latest.Number != 3 || latest.Hash != first.Hash {
		t.Errorf("the latest revision is %+v", latest)
	}
}

func TestARollbackAfterAnotherChangeIsConfirmedAgain(t *testing.T) {
	s := openSite(t, config+withKeys, replies)
	s.key = "ark_operator-operator"
	var list struct{ Revisions []struct{ Hash string } }
	publish := func(description string) {
		s.do(http.MethodGet, "/runtime/v1/revisions", nil, &list)
		s.ifMatch = list.Revisions[0].Hash
		s.do(http.MethodPut, "/runtime/v1/agents/manager", map[string]any{"value": map[string]any{"model_id": "small", "description": description}}, nil)
	}
	publish("Is second.")
	first := list.Revisions[0].Hash
	b := browser.Open(t, 1280, 800)
	b.AllowFailedRequests() // the rollback conflicts
	s.enter(b, s.key)
	s.visit(b, "revisions/"+first)
	dialogSays := func(text string) {
		t.Helper()
		b.Await(`document.querySelector('dialog[open]').innerText.includes(` + quote(text) + `)`)
	}
	b.Do(chromedp.Click(`//button[.='Roll back to this']`))
	dialogSays("Is second.")
	publish("Is third.")
	b.Do(chromedp.Click(`//dialog//button[.='Roll back']`))
	dialogSays("That did not work.")
	dialogSays("Is third.")
	dialogSays("replaces revision 3")
	b.Do(chromedp.Click(`//dialog//button[.='Roll back']`))
	b.Await(says("rollback to 1"))
}

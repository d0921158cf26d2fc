package console_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/browser"
	"github.com/chromedp/chromedp"
)

// showAll shows a request for each combination of arguments that have a form of their own, and
// returns the combinations of which a value is missing.
const showAll = `(async () => {
	const { html, render } = await import('./html.js');
	const { InteractionCard } = await import('./pages/interaction.js');
	const all = { path: 'the-path', old: 'the-old', new: 'the-new', content: 'the-content', program: 'the-program', args: ['the-word'], command: 'the-command', url: 'https://the-url', method: 'the-method', other: 'the-rest' };
	const odd = { path: 71, old: [72], new: { a: 73 }, content: null, program: 74, args: 'the-75', command: { b: 76 }, url: 77, method: 78 };
	const names = Object.keys(all);
	const missing = [];
	for (const values of [all, { ...all, ...odd }]) for (let n = 1; n < 1 << names.length; n++) {
		const args = Object.fromEntries(names.filter((_, i) => n & 1 << i).map((name) => [name, values[name]]));
		const into = document.createElement('div');
		render(html` + "`<${InteractionCard} compact item=${{ id: 'i', turn_id: 't', state: 'pending', created_at: '2026-01-01T00:00:00Z', ticket: { tool: 'x', arguments: args } }} />`" + `, into);
		const text = into.querySelector('.effect').textContent;
		const lost = Object.values(args).some((value) => !text.includes(String(value === null ? null : typeof value === 'object' ? Object.values(value)[0] : value)));
		if (lost) missing.push(JSON.stringify(args));
	}
	return missing.slice(0, 5);
})()`

func TestNoArgumentOfACallIsHidden(t *testing.T) {
	s := openSite(t, config, replies)
	b := browser.Open(t, 1280, 800)
	s.page(b, "inbox")
	var missing []string
	b.Do(chromedp.Evaluate(showAll, &missing, browser.AwaitPromise))
	if len(missing) > 0 {
		t.Errorf("arguments are hidden: %q", missing)
	}
}

func TestAKeyAnswersTheRequestThatIsShown(t *testing.T) {
	s := openShop(t, "")
	second, _ := s.begin("clerk", "Please refund order A-18.")
	s.await(second, "waiting")
	b := browser.Open(t, 1280, 800)
	s.page(b, "inbox")
	b.Await(`document.querySelectorAll('.cards input').length === 2 && document.querySelector('.cards .current a, .inbox a').hash.endsWith(` + quote(s.waiting) + `)`)
	var list struct{ Interactions []struct{ ID string } }
	s.do(http.MethodGet, "/runtime/v1/turns/"+s.waiting+"/interactions", nil, &list)
	s.do(http.MethodPost, "/runtime/v1/turns/"+s.waiting+"/interactions/"+list.Interactions[0].ID, map[string]any{"result": map[string]any{"approved": false}}, nil)
	b.Await(says("This request does not wait any more."))
	b.Do(chromedp.KeyEvent("a"), chromedp.KeyEvent("r"), chromedp.KeyEvent("x"))
	s.await(s.waiting, "succeeded")
	s.await(second, "waiting")
	b.Do(chromedp.KeyEvent("j"))
	b.Await(`document.querySelector('.inbox a').hash.endsWith(` + quote(second) + `)`)
	b.Do(chromedp.KeyEvent("a"))
	s.await(second, "succeeded")
	b.Await(says("Nothing waits for you."))
}

func TestArgumentsThatAreNotJSONAreNotSent(t *testing.T) {
	s := openShop(t, "")
	b := browser.Open(t, 1280, 800)
	s.page(b, "inbox")
	b.Await(`document.querySelector('.interaction') !== null`)
	b.Do(chromedp.Click(`//button[.='Edit the arguments']`), fillField("textarea.mono", `{"order": "B-2"`), chromedp.Click(`button[type=submit]`, chromedp.ByQuery))
	b.Await(says("Not valid JSON"))
	b.Do(chromedp.Evaluate(`document.activeElement.blur()`, nil), chromedp.KeyEvent("a"))
	s.await(s.waiting, "waiting")
	b.Do(fillField("textarea.mono", `{"order": "B-2"}`), chromedp.Evaluate(`document.activeElement.blur()`, nil), chromedp.KeyEvent("a"))
	s.await(s.waiting, "succeeded")
	var list struct {
		Interactions []struct{ Resolution json.RawMessage }
	}
	s.do(http.MethodGet, "/runtime/v1/turns/"+s.waiting+"/interactions", nil, &list)
	if text := string(list.Interactions[0].Resolution); !strings.Contains(text, "B-2") {
		t.Errorf("the answer is %s", text)
	}
	s.page(b, "play?agent=manager&prompt=Hello")
	b.Do(chromedp.Click(`//summary[.='Variables']`), fillField("#variables", `{`), chromedp.Click(`button[type=submit]`, chromedp.ByQuery))
	b.Await(says("The variables are not valid JSON."))
	b.Await(`!location.hash.includes('session=')`)
}

package console_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/browser"
	"github.com/chromedp/chromedp"
)

// watchFocus numbers the controls of a page. It records which of them get the focus, and which do
// not show it.
const watchFocus = `(() => {
	document.activeElement?.blur();
	getSelection().removeAllRanges();
	document.querySelector('.skip').focus();
	const controls = () => [...document.querySelectorAll('a[href], button, input, select, textarea, summary, [tabindex="0"]')].filter((e) => e.tabIndex >= 0 && !e.disabled && e.checkVisibility() && e.getClientRects().length);
	window.reached = new Set([document.activeElement]);
	window.unseen = [];
	window.left = () => controls().filter((e) => !window.reached.has(e)).map((e) => e.outerHTML.slice(0, 150));
	if (!window.watching) document.addEventListener('focusin', ({ target }) => {
		window.reached.add(target);
		const shows = [target, target.closest('label')].some((e) => e && getComputedStyle(e).outlineStyle !== 'none' && parseFloat(getComputedStyle(e).outlineWidth) > 0);
		const { right, bottom } = target.getBoundingClientRect();
		if (!shows || right <= 0 || bottom <= 0) window.unseen.push(target.outerHTML.slice(0, 150));
	});
	window.watching = true;
	return controls().length;
})()`

func TestTheTabKeyReachesEveryControl(t *testing.T) {
	s := openShop(t, "")
	b := browser.Open(t, 1280, 800)
	for name, address := range s.pages() {
		s.page(b, address)
		var controls, left int
		b.Do(chromedp.Evaluate(watchFocus, &controls))
		for range controls + 10 {
			if b.Do(chromedp.KeyEvent("\t"), chromedp.Evaluate(`window.left().length`, &left)); left == 0 {
				break
			}
		}
		var missed, unseen []string
		b.Do(chromedp.Evaluate(`window.left()`, &missed), chromedp.Evaluate(`window.unseen`, &unseen))
		if len(missed) > 0 || len(unseen) > 0 {
			t.Errorf("%s: of %d controls the Tab key does not reach %q, and these do not show the focus: %q", name, controls, missed, unseen)
		}
	}
}

func TestADialogGivesTheFocusBack(t *testing.T) {
	s := openShop(t, "")
	b := browser.Open(t, 1280, 800)
	s.page(b, "turns/"+s.waiting)
	const opener = `[...document.querySelectorAll('main button')].find((e) => e.innerText.startsWith('Cancel'))`
	for _, close := range []chromedp.Action{chromedp.KeyEvent("\x1b"), chromedp.Click(`//dialog//button[.='Cancel']`)} {
		b.Do(chromedp.Evaluate(opener+`.focus()`, nil), chromedp.KeyEvent("\r"))
		b.Await(`document.querySelector('dialog[open]')?.contains(document.activeElement)`)
		b.Do(chromedp.KeyEvent("\t\t\t\t"))
		b.Await(`document.activeElement === document.body || document.querySelector('dialog').contains(document.activeElement)`)
		b.Do(close)
		b.Await(`!document.querySelector('dialog') && document.activeElement === ` + opener)
	}
}

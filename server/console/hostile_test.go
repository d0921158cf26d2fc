package console_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/testkit/browser"
	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"
)

// hostile are texts that run code, load pictures, lead elsewhere or change the screen where a
// page or terminal does not treat them as text.
var hostile = []string{
	`<img src=x onerror="window.pwned=1">`, `<script>window.pwned=1</script>`, `"><svg onload=window.pwned=1>`, `'"onmouseover='window.pwned=1`,
	`[click](javascript:window.pwned=1)`, `[x](JaVaScRiPt:window.pwned=1)`, `[d](data:text/html,<script>window.pwned=1</script>)`, `[v](vbscript:x)`, `![p](https://evil.example/p.png)`, `![s](//evil.example/p.svg)`,
	`<a href="javascript:window.pwned=1">a</a>`, "```html\n<script>window.pwned=1</script>\n```", `{{constructor.constructor("window.pwned=1")()}}`, `${window.pwned=1}`,
	"\x1b[31mred\x1b[0m", "\x1b]8;;https://evil.example\x07link\x1b]8;;\x07", "\x1b]0;title\x07", "\x9b31mred", "\x1b[2J\x1b[H", "user\u202egpj.exe", "a\u2066b\u2069", "zero\u200bwidth", "back\bspace",
	strings.Repeat("deep [", 200) + "x", strings.Repeat("*", 2000), strings.Repeat("`", 999), "| a |\n|--|\n| <b onclick=window.pwned=1>x</b> |",
}

// findEvil returns what the page shows of the hostile texts as anything but text.
const findEvil = `(() => {
	const found = [];
	if (window.pwned) found.push('code ran');
	for (const e of document.querySelectorAll('*')) {
		for (const a of e.attributes) {
			if (/^on/i.test(a.name)) found.push(e.outerHTML.slice(0, 200));
			if (['href', 'src', 'action', 'xlink:href', 'formaction', 'srcdoc'].includes(a.name) && !/^(#|\.\/|https?:|blob:|data:image\/(png|jpeg|gif|webp);base64,|data:,$|[\w/]+\.(js|css)$)/.test(a.value)) found.push(a.name + '=' + a.value.slice(0, 200));
			if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069]/.test(a.value) && a.name !== 'value') found.push(a.name + ' has a control character: ' + JSON.stringify(a.value).slice(0, 200));
		}
		if (e.tagName === 'IMG' && !e.src.startsWith('data:image/')) found.push('picture ' + e.src);
		if (e.tagName === 'A' && /evil/.test(e.host) && e.rel.split(' ').indexOf('noopener') < 0) found.push('link ' + e.href);
	}
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	for (let n = walker.nextNode(); n; n = walker.nextNode()) {
		if (n.parentElement.closest('textarea')) continue;
		if (/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069]/.test(n.data)) found.push('a control character: ' + JSON.stringify(n.data).slice(0, 200));
	}
	return [...new Set(found)];
})()`

// newHostilePeer returns a peer whose card, states, answers and errors are a hostile text.
func newHostilePeer(t *testing.T, all string) *peertest.Script {
	t.Helper()
	peer := peertest.NewScript(t, map[string][]peertest.Reply{peertest.MethodStream: {
		peertest.StreamOf(peertest.Task(a2a.TaskStateSubmitted, all), peertest.Turned(a2a.TaskStateWorking, all), peertest.Turned(a2a.TaskStateCompleted, all)),
		peertest.Fault(-32603, all),
	}})
	card := peertest.CardOf(peer.URL)
	card.Name, card.Description, card.Skills[0].Name, card.Skills[0].Description = hostile[0], all, hostile[0], all
	peer.Answer(func(w http.ResponseWriter, _ *http.Request) { peertest.WriteJSON(w, card) }, nil)
	return peer
}

// hostileConfig has a hostile text in each field that a page shows.
func hostileConfig(t *testing.T, all, peer string) (config, replies string) {
	t.Helper()
	quoted := func(v any) string {
		data, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	q := strings.ReplaceAll(quoted(all), "$", "$$") // references to variables
	config = `version: 1
providers: {demo: {type: scripted, script: ./replies.yaml}}
models: {default: {provider_id: demo, upstream_model: ` + quoted(hostile[0]) + `}}
tools:
  say: {type: command, description: ` + q + `, command: [printf, "%s", "{{text}}"], effect: read, parameters: {type: object, properties: {text: {type: string}}, required: [text]}}
  question: {type: ask, description: ` + q + `}
agents:
  clerk: {model_id: default, description: ` + q + `, system_prompt: ` + q + `, delegates: [other], excluded_tool_patterns: [` + quoted(`<img src=x onerror="window.pwned=1">*`) + `]}
  other: {model_id: default, description: ` + q + `, system_prompt: ` + q + `}
  far: {description: ` + q + `, endpoint: {base_url: ` + peer + `}}
workflows:
  digest: {description: ` + q + `, schedules: [{cron: "0 6 * * *"}], steps: [{id: ask, agent: {agent: other, prompt: ` + q + `}}]}
store: {driver: memory}
`
	calls := []map[string]any{
		{"id": "c1", "name": "say", "arguments": map[string]any{"text": all}}, {"id": "c2", "name": "agent_run_other", "arguments": map[string]any{"prompt": all}},
		{"id": "c3", "name": "question", "arguments": map[string]any{"question": all, "message": all}}, {"id": "c4", "name": "<img src=x onerror='window.pwned=1'>", "arguments": map[string]any{hostile[0]: all}},
	}
	replies = "replies:\n  - {match: begin, text: " + q + ", tool_calls: " + quoted(calls) + "}\nfallback: {text: " + q + "}\n"
	return config, replies
}

func TestForeignTextStaysText(t *testing.T) {
	all := strings.Join(hostile, "\n\n")
	config, replies := hostileConfig(t, all, newHostilePeer(t, all).URL)
	s := openSite(t, config, replies)
	var made struct{ ID string }
	s.do(http.MethodPost, "/runtime/v1/sessions", map[string]any{"agent_id": "clerk", "labels": map[string]string{"note": hostile[0]}, "metadata": map[string]any{"note": all}}, &made)
	session := made.ID
	parts := []any{
		map[string]any{"type": "text", "text": "begin " + all},
		map[string]any{"type": "image", "blob": map[string]any{"media_type": "image/svg+xml", "data": []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="window.pwned=1"/>`), "name": hostile[0]}},
		map[string]any{"type": "file", "blob": map[string]any{"media_type": "text/html", "data": []byte(hostile[1]), "name": hostile[0]}},
	}
	s.do(http.MethodPost, "/runtime/v1/turns", map[string]any{"session_id": session, "input": []any{map[string]any{"role": "user", "parts": parts}}, "metadata": map[string]any{"note": all}}, &made)
	turn := made.ID
	s.await(turn, "waiting", "succeeded", "failed")
	plain, _ := s.begin("other", all)
	s.await(plain, "succeeded")
	remote, _ := s.begin("far", all)
	s.await(remote, "succeeded", "failed")
	refused, _ := s.begin("far", "again")
	s.await(refused, "failed")
	s.do(http.MethodPost, "/runtime/v1/turns/"+turn+"/cancel", map[string]any{"reason": all[:4000]}, nil)
	second, _ := s.begin("clerk", all)
	s.await(second, "waiting", "succeeded", "failed")

	b := browser.Open(t, 1280, 2000)
	var mu sync.Mutex
	var dialogs []string
	b.Listen(func(ev any) {
		if d, ok := ev.(*page.EventJavascriptDialogOpening); ok {
			mu.Lock()
			defer mu.Unlock()
			dialogs = append(dialogs, d.Message)
		}
	})
	var events struct{ Events []struct{ Seq int } }
	s.do(http.MethodGet, "/runtime/v1/turns/"+turn+"/events?delegates=true", nil, &events)
	addresses := []string{
		"fleet", "fleet?q=" + strings.ReplaceAll(hostile[0], " ", "%20"), "fleet/clerk", "fleet/clerk?tool=%3Cimg%20src%3Dx%3E", "graph", "turns", "turns/" + turn, "turns/" + turn + "?tab=conversation", "turns/" + turn + "?tab=events",
		"turns/" + plain + "?tab=conversation", "turns/" + remote, "turns/" + remote + "?tab=conversation", "turns/" + remote + "?tab=events", "turns/" + refused, "fleet/far", "health", "sessions", "sessions/" + session, "inbox", "play?agent=clerk&prompt=%3Cimg%20src%3Dx%3E",
		"play?agent=clerk&compare=on&agent2=%3Cimg%20src%3Dx%3E&model2=%3Cimg%20src%3Dx%3E", "fleet/clerk?call=%3Cimg%20src%3Dx%3E", "turns?q=%3Cimg%20src%3Dx%3E&label=%3Cimg%20src%3Dx%3E%3D1&cost=0", "workflows", "revisions", "diagnostics", "tenants",
	}
	for _, row := range []string{"text", "tool", "wait", "end", "run", "model"} {
		addresses = append(addresses, "turns/"+turn+"?event="+row)
	}
	for _, address := range addresses {
		if at, row, ok := strings.Cut(address, "?event="); ok {
			s.page(b, at)
			b.Do(chromedp.Evaluate(`document.querySelectorAll('.row.`+row+`').forEach((r) => r.click())`, nil))
		} else {
			s.page(b, address)
		}
		if strings.Contains(address, plain) { // the other turn was canceled, and does not become a case
			b.Do(chromedp.Click(`//button[.='Export eval case']`))
		}
		b.Do(chromedp.Evaluate(`document.querySelectorAll('details').forEach((d) => { d.open = true; })`, nil))
		b.Await(loaded)
		var found []string
		b.Do(chromedp.Evaluate(findEvil, &found))
		if len(found) > 0 {
			t.Errorf("%s: %q", address, found)
		}
	}
	if len(dialogs) > 0 {
		t.Errorf("dialogs opened: %q", dialogs)
	}
}

package console_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/browser"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// TestLongTextsFitANarrowScreen shows names and texts without a blank on every page, as phones do.
func TestLongTextsFitANarrowScreen(t *testing.T) {
	text, agent, tool := strings.Repeat("W", 3000), "agent-"+strings.Repeat("x", 55), "tool_"+strings.Repeat("y", 50)
	s := openSite(t, `version: 1
providers: {demo: {type: scripted, script: ./replies.yaml}}
models: {default: {provider_id: demo, upstream_model: `+strings.Repeat("m", 80)+`}}
tools:
  `+tool+`: {type: command, description: `+text+`, command: [printf, "{{text}}"], effect: once, parameters: {type: object, properties: {text: {type: string}, path: {type: string}, content: {type: string}}, required: [text]}}
agents:
  `+agent+`: {model_id: default, description: `+text+`, system_prompt: `+text+`, handoffs: [second], plugin_ids: [permission], sections: {permission: {default_behavior: ask}}}
  second: {model_id: default, description: Is second., system_prompt: Help.}
workflows:
  `+strings.Repeat("w", 60)+`: {description: `+text+`, schedules: [{cron: "0 6 * * *"}], steps: [{id: ask, agent: {agent: second, prompt: Go.}}]}
store: {driver: memory}
`, `replies:
  - {match: fail, error: {class: invalid_request, message: `+text+`}}
  - {match: hand, tool_calls: [{id: h1, name: hand_off_to_second, arguments: {}}]}
  - {match: huge, text: `+strings.Repeat("Z", 20_000)+`}
  - {match: call, tool_calls: [{id: c1, name: `+tool+`, arguments: {text: `+text+`, path: a/`+text+`, content: "`+strings.Repeat(`line\n`, 1000)+`"}}]}
fallback: {text: Done.}
`)
	addresses := []string{"fleet", "fleet/" + agent, "turns", "inbox", "play?agent=" + agent + "&compare=on&agent2=second", "workflows", "usage"}
	for _, prompt := range []string{"fail", "hand", "huge", "call", "call and cancel"} {
		turn, session := s.begin(agent, prompt)
		s.await(turn, "waiting", "succeeded", "failed")
		if prompt == "call and cancel" {
			s.do(http.MethodPost, "/runtime/v1/turns/"+turn+"/cancel", map[string]any{"reason": text}, nil)
		}
		addresses = append(addresses, "turns/"+turn+"?tab="+map[string]string{"huge": "conversation", "hand": "events"}[prompt])
		if prompt == "hand" {
			addresses = append(addresses, "sessions/"+session)
		}
	}
	b := browser.Open(t, 320, 640)
	b.Do(emulation.SetDeviceMetricsOverride(320, 640, 1, true))
	for _, address := range addresses {
		s.page(b, address)
		b.Do(chromedp.Evaluate(`document.querySelectorAll('.row.text, .row.tool, .row.end, .row.wait').forEach((r) => r.click()); document.querySelectorAll('details').forEach((d) => { d.open = true; })`, nil))
		b.Await(loaded)
		var found []string
		b.Do(chromedp.Evaluate(`[...(document.documentElement.scrollWidth <= 320 ? [] : [...document.querySelectorAll('main *')].filter((e) => e.getBoundingClientRect().right > 321)),
			...[...document.querySelectorAll('summary, a, button, input, select, textarea')].filter((e) => e.offsetParent && e.tabIndex < 0 && !e.disabled)].slice(0, 3).map((e) => e.outerHTML.slice(0, 120))`, &found))
		if len(found) > 0 {
			t.Errorf("%.40s is wider than the screen, or not in reach of the keyboard: %q", address, found)
		}
	}
}

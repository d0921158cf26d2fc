package console_test

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/browser"
	"github.com/chromedp/chromedp"
)

// withReaders adds keys that read the usage of two tenants.
const withReaders = `server:
  console: true
  keys:
    - {id: acme, key: ark_acme-acme-acme-acme, tenant: acme, subject: ann, scopes: [models:read, runs:read, runs:write, sessions:read, sessions:write, metrics:read]}
    - {id: globex, key: ark_globex-globex-globex, tenant: globex, subject: bob, scopes: [models:read, runs:read, runs:write, sessions:read, sessions:write, metrics:read]}
`

func TestThePageOfCostShowsTheCallersTenant(t *testing.T) {
	s := openSite(t, config+withReaders, replies)
	s.key = "ark_acme-acme-acme-acme"
	for _, text := range []string{"Look up A-17.", "Look up A-18."} {
		turn, _ := s.begin("orders", text)
		s.await(turn, "succeeded")
	}
	b := browser.Open(t, 1280, 900)
	s.enter(b, s.key)
	s.visit(b, "usage")
	b.Await(`document.querySelector('[aria-label=Agents] tbody tr').innerText.replace(/\s+/g, ' ').startsWith('orders 2 ')`)
	b.Await(`document.querySelector('[aria-label=Models] tbody').innerText.includes('small')`)
	b.Await(`document.querySelector('[aria-label="Slowest tools"] tbody').innerText.includes('lookup')`)
	b.Await(`document.querySelector('[aria-label="Slowest models"] tbody').innerText.includes('demo-small')`)
	b.Await(`document.querySelector('.facts .status').innerText === 'ready'`)
	b.Do(chromedp.Click(`//button[@role='tab'][.='Turns']`))
	b.Await(`document.querySelector('.chart svg').getAttribute('aria-label').startsWith('Turns by hour: at most 2,')`)
	b.Do(chromedp.Click(`//button[.='Forget the key']`))

	s.enter(b, "ark_globex-globex-globex")
	s.visit(b, "usage")
	b.Await(says("No turn has ended in this time."))
}

func TestThePageOfHealthShowsTheQueueServersPeersAndBudgets(t *testing.T) {
	large := strings.NewReplacer("agents:\n", "agents:\n  partner: {endpoint: {backend: a2a, base_url: \"http://127.0.0.1:1\", target: x}}\n",
		"system_prompt: Look up.,", "system_prompt: Look up., budgets: {max_tokens: 10000, max_tool_calls: 5},",
		"tools:\n", "tools:\n  crm: {type: mcp, url: \"http://127.0.0.1:1\"}\n").Replace(config)
	s := &shop{site: openSite(t, large, strings.Replace(replies, "replies:", "replies:"+refundReplies, 1))}
	done, _ := s.begin("orders", "Look up A-17, please.")
	s.await(done, "succeeded")
	waiting, _ := s.begin("clerk", "Please refund order A-17.")
	s.await(waiting, "waiting")
	far, _ := s.begin("partner", "Hello.")
	s.await(far, "failed")
	b := browser.Open(t, 1280, 900)
	s.page(b, "usage")
	row := func(table, name string) string {
		return `[...document.querySelectorAll('[aria-label="` + table + `"] tbody tr')].find((r) => r.innerText.startsWith('` + name + `')).innerText.replace(/\s+/g, ' ')`
	}
	b.Await(row("Budgets", "orders") + `.match(/^orders 10,000 tokens [0-9.]+ %$/)`)
	b.Await(`document.querySelector('[aria-label=Budgets]').innerText.includes('5 tool calls')`)
	b.Await(row("Peers", "partner") + `.startsWith('partner 1 100.0 %')`)
	b.Await(row("MCP servers", "crm") + `.startsWith('crm failed 0 ')`)
	b.Await(`document.querySelector('[aria-label=Providers] tbody tr') !== null`)
	s.page(b, "fleet")
	b.Await(row("Agents", "partner") + `.includes('100.0 % of 1 turn')`)
	b.Await(row("Agents", "orders") + `.includes('0.0 % of 1 turn')`)
	s.page(b, "fleet/partner")
	b.Await(`/Your latest turn[^]*failed[^]*Failed in 7 days\s+100.0 % of 1 turn/.test(document.querySelector('main').innerText)`)
	s.page(b, "usage")
	b.Await(`/Pending turns\s+0\s+Running turns\s+0\s+Waiting turns\s+1/.test(document.querySelector('main').innerText)`)
}

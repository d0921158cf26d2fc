package console_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/runtime/telemetry"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a server with the console and an API client for it.
type site struct {
	t   testing.TB
	url string
	// key authenticates what the test itself asks for.
	key string
	// ifMatch is the hash of the revision that requests change.
	ifMatch string
}

// config is the configuration of a small shop. SCRIPT and SERVER are replaced.
const config = `version: 1
providers: {demo: {type: scripted, script: ./replies.yaml}}
models:
  default: {provider_id: demo, upstream_model: demo-large, pricing: {input_per_million: 3, output_per_million: 15, currency: USD}}
  small: {provider_id: demo, upstream_model: demo-small}
tools:
  refund:
    type: command
    description: Refunds an order.
    command: [echo, "refunded {{order}}"]
    effect: once
    parameters: {type: object, properties: {order: {type: string}, amount: {type: number}}, required: [order]}
  lookup:
    type: command
    description: Looks up an order.
    command: [echo, "{{order}} costs 12 EUR"]
    effect: read
    parameters: {type: object, properties: {order: {type: string}}, required: [order]}
  ask_person: {type: ask, description: Asks a person.}
agents:
  clerk:
    model_id: default
    description: Answers customers and refunds orders.
    system_prompt: Help.
    delegates: [orders]
    handoffs: [manager]
    plugin_ids: [permission]
    excluded_tools: [lookup]
    sections: {permission: {default_behavior: allow, rules: [{tool: refund, behavior: ask}]}}
  orders: {model_id: small, description: Looks up orders for other agents., system_prompt: Look up., allowed_tools: [lookup]}
  manager: {model_id: default, description: Decides on complaints., system_prompt: Decide., allowed_tools: [refund, lookup], excluded_tool_patterns: ["legacy_*"]}
workflows:
  digest:
    description: Summarizes the day.
    schedules: [{cron: "0 6 * * *"}]
    steps: [{id: ask, agent: {agent: orders, prompt: "Summarize the day."}}]
store: {driver: memory}
`

const replies = `replies:
  - {match: Look, tool_calls: [{id: c0, name: lookup, arguments: {order: A-17}}]}
  - {match: costs, text: "Order A-17 costs **12 EUR**."}
fallback: {text: "Done. The order was refunded."}
`

// refundReplies makes the clerk ask its delegate, and then refund.
const refundReplies = `
  - match: refund
    text: "I look up the order and then **refund** it."
    tool_calls: [{id: d1, name: agent_run_orders, arguments: {prompt: "Look up A-17"}}, {id: r1, name: refund, arguments: {order: A-17, amount: 12}}]`

// openSite serves a configuration.
func openSite(t testing.TB, config, replies string) *site {
	t.Helper()
	dir := t.TempDir()
	for name, text := range map[string]string{"config.yaml": config, "replies.yaml": replies} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	own := httptest.NewUnstartedServer(nil)
	url := "http://" + own.Listener.Addr().String()
	options := app.Options{Files: []string{filepath.Join(dir, "config.yaml")}, PublicURL: url, Components: shipped.Components()}
	addMetrics(t, &options)
	a, err := app.Open(t.Context(), options)
	if err != nil {
		own.Close()
		t.Fatal(err)
	}
	own.Config.Handler = a.Handler()
	own.Start()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), 20*time.Second)
		defer cancel()
		own.CloseClientConnections()
		if err := a.Shutdown(ctx); err != nil {
			t.Error(err)
		}
		own.Close()
	})
	return &site{t: t, url: url}
}

// addMetrics makes a server measure turns and serve the metrics, as runtime serve does.
func addMetrics(t testing.TB, o *app.Options) {
	t.Helper()
	registry := prometheus.NewRegistry()
	exporter, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo())
	if err != nil {
		t.Fatal(err)
	}
	meters := sdkmetric.NewMeterProvider(sdkmetric.WithReader(exporter))
	o.MeterProvider, o.Metrics = meters, promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	if o.Telemetry, err = telemetry.New(telemetry.Settings{MeterProvider: meters}); err != nil {
		t.Fatal(err)
	}
}

// do sends a request and decodes the answer.
func (s *site) do(method, path string, body, into any) {
	s.t.Helper()
	var data bytes.Buffer
	if body != nil {
		if err := json.NewEncoder(&data).Encode(body); err != nil {
			s.t.Fatal(err)
		}
	}
	req, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, &data)
	if err != nil {
		s.t.Fatal(err)
	}
	if s.key != "" {
		req.Header.Set("Authorization", "Bearer "+s.key)
	}
	if s.ifMatch != "" {
		req.Header.Set("If-Match", `"`+s.ifMatch+`"`)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= http.StatusBadRequest {
		s.t.Fatalf("%s %s: %d %s %v", method, path, resp.StatusCode, text, err)
	}
	if into != nil {
		if err := json.Unmarshal(text, into); err != nil {
			s.t.Fatal(err)
		}
	}
}

// begin starts a turn of an agent in a new session and returns its id.
func (s *site) begin(agent, prompt string) (turn, session string) {
	s.t.Helper()
	var made struct{ ID string }
	s.do(http.MethodPost, "/runtime/v1/sessions", map[string]any{"agent_id": agent}, &made)
	session = made.ID
	input := []any{map[string]any{"role": "user", "parts": []any{map[string]any{"type": "text", "text": prompt}}}}
	s.do(http.MethodPost, "/runtime/v1/turns", map[string]any{"session_id": session, "agent_id": agent, "input": input}, &made)
	return made.ID, session
}

// await waits until a turn has one of the statuses.
func (s *site) await(turn string, statuses ...string) {
	s.t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	ctx, cancel := context.WithTimeout(s.t.Context(), 3*time.Minute)
	defer cancel()
	for {
		var got struct{ Status string }
		s.do(http.MethodGet, "/runtime/v1/turns/"+turn, nil, &got)
		for _, status := range statuses {
			if got.Status == status {
				return
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			s.t.Fatalf("turn %s is %s, not %s", turn, got.Status, strings.Join(statuses, " or "))
		}
	}
}

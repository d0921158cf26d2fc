package admin_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
)

// BenchmarkListAgents reads pages of 50 of 10,000 agents over HTTP, from the beginning and
// from the middle. It reports the median.
func BenchmarkListAgents(b *testing.B) {
	const agents = 10_000
	b.Setenv("TEST_MODEL", modelSecret)
	var text strings.Builder
	text.WriteString(strings.Replace(configuration, "store: {driver", "  a0: {model_id: m}\nstore: {driver", 1))
	before, after, _ := strings.Cut(text.String(), "  a0: {model_id: m}\n")
	text.Reset()
	text.WriteString(before)
	for i := range agents - 2 {
		fmt.Fprintf(&text, "  a%d: {model_id: m, system_prompt: \"You are agent %d.\"}\n", i, i)
	}
	text.WriteString(after)
	file := filepath.Join(b.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text.String()), 0o600); err != nil {
		b.Fatal(err)
	}
	a, err := app.Open(b.Context(), app.Options{Files: []string{file}, Components: shipped.Components(), PublicURL: "http://site.example"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = a.Shutdown(context.WithoutCancel(b.Context())) })
	site := httptest.NewUnstartedServer(a.Handler())
	site.Start()
	b.Cleanup(site.Close)
	for name, query := range map[string]string{"first": "limit=50", "middle": "limit=50&after=a5000"} {
		b.Run(name, func(b *testing.B) {
			var took []time.Duration
			b.ReportAllocs()
			for b.Loop() {
				begun := time.Now()
				readPage(b, site, "/runtime/v1/agents?"+query)
				took = append(took, time.Since(begun))
			}
			slices.Sort(took)
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		})
	}
}

// readPage reads a page of 50 entries to its end.
func readPage(b *testing.B, site *httptest.Server, path string) {
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, site.URL+path, nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Host = "site.example"
	r.Header.Set("Authorization", "Bearer "+operatorKey)
	resp, err := site.Client().Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK || strings.Count(string(body), `"id"`) != 50 {
		b.Fatalf("%d %v %.300s", resp.StatusCode, err, body)
	}
}

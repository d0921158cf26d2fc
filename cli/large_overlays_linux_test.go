package cli

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// startOverlays starts a server that permits tenant overlays.
func startOverlays(t *testing.T) (base string, pid int) {
	t.Helper()
	var keys strings.Builder
	for i := range 8 {
		fmt.Fprintf(&keys, ", {id: author%d, key: ark_author%d-author-author, tenant: t%d, scopes: [\"config:read:own\"]}", i, i, i)
	}
	config := strings.Replace(bombConfig, "tenant: calm}]", "tenant: calm}"+keys.String()+"]", 1) +
		"revisions: {source: store}\ntenants: {may: {}}\n"
	f := &serverFleet{t: t, dir: t.TempDir()}
	for name, text := range map[string]string{"config.yaml": config, "script.yaml": "fallback: {text: Hello.}\n"} {
		if err := os.WriteFile(filepath.Join(f.dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	v := f.start("127.0.0.1:0")
	return v.url, v.cmd.Process.Pid
}

// Eight tenants concurrently validate overlays with 10,000 agents, which are rejected. The server
// uses little memory, and bursts of eight bodies of 280 KB hardly delay another tenant's runs.
func TestLargeOverlaysHarmNobody(t *testing.T) {
	var agents strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&agents, `,"a%d":{"extends":"clerk"}`, i)
	}
	overlay := `{"document":{"version":1,"agents":{` + agents.String()[1:] + `}}}`
	base, pid := startOverlays(t)
	calm, other := &bystander{base, "ark_desk-desk-desk-desk", "calm"}, &bystander{base, "ark_bomber-bomber-bomber", "acme"}
	tenants := make(chan int, 8)
	for i := range 8 {
		tenants <- i
	}
	validate := func(ctx context.Context) {
		i := <-tenants
		defer func() { tenants <- i }()
		author := &bystander{base, fmt.Sprintf("ark_author%d-author-author", i), ""}
		status, text, err := author.ask(ctx, http.MethodPost, fmt.Sprintf("%s/runtime/v1/tenants/t%d/validate", base, i), overlay)
		if err == nil && (status != http.StatusOK || !strings.Contains(text, "more than 100 agents")) {
			t.Errorf("%d %.300s", status, text)
		}
	}
	begun := time.Now()
	validate(t.Context())
	t.Logf("an overlay of %d bytes is rejected in %v", len(overlay), time.Since(begun))
	compareLoads(t, calm, 10, func(ctx context.Context) {
		for range 2 {
			_, _, _ = other.run(ctx, `{"systemPrompt":"Answer.","prompt":"hello"}`)
		}
	}, validate)
	peak := peakMemory(t, pid)
	t.Logf("the server took %d MB", peak>>20)
	if peak > 200<<20 {
		t.Errorf("the server took %d MB", peak>>20)
	}
}

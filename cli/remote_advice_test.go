package cli

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/cli/internal/command"
)

// TestRemoteCommandsShowServer checks the usage line of every command with the flag --server.
func TestRemoteCommandsShowServer(t *testing.T) {
	t.Parallel()
	n := 0
	for _, cmd := range shownCommands(newRoot(silentProgram())) {
		takes := cmd.LocalNonPersistentFlags().Lookup("server") != nil
		if !takes && (cmd.Flag("server") == nil || cmd.HasSubCommands()) {
			continue // a group of commands
		}
		n++
		if !strings.Contains(cmd.Use, "--server URL") {
			t.Errorf("usage of %q does not show --server URL: %s", cmd.CommandPath(), cmd.Use)
		}
	}
	if n < 30 {
		t.Errorf("%d commands with --server", n)
	}
}

// TestAdviceForUnknownRoutes shows the likely mistake for a 404 of each remote command.
func TestAdviceForUnknownRoutes(t *testing.T) {
	t.Parallel()
	const disabled, stranger = "its configuration may disable this API", "is the URL right?"
	answer := map[string]http.HandlerFunc{
		"runtime": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusNotFound)
			_, _ = w.Write([]byte(`{"error":{"code":"not_found","message":"no such route"}}`))
		},
		"proxy": http.NotFound,
	}
	for _, line := range [][]string{
		{"turns"},
		{"sessions"},
		{"events", "t1"},
		{"run", "clerk", "Hello"},
		{"revisions", "list"},
		{"tenants", "list"},
		{"workflows", "runs", "list"},
		{"workflows", "schedules", "list"},
	} {
		for kind, handler := range answer {
			for path, want := range map[string]string{"": disabled, "/": disabled, "/v1": `--server has the path "/v1"; try --server http://127.0.0.1:`} {
				if kind == "proxy" && want == disabled {
					want = stranger
				}
				server := httptest.NewServer(handler)
				code, _, errs := runOwn(t, nil, append(line, "--server", server.URL+path)...)
				server.Close()
				if code != command.Failed || !strings.Contains(errs, want) {
					t.Errorf("%s at %s%s: exit code %d, %q without %q", strings.Join(line, " "), kind, path, code, errs, want)
				}
			}
		}
	}
}

// TestEmptyPagesShowHowToContinue lists pages that are empty but not the last.
func TestEmptyPagesShowHowToContinue(t *testing.T) {
	t.Parallel()
	for _, line := range [][]string{
		{"turns"},
		{"sessions"},
		{"revisions", "list"},
		{"tenants", "list"},
		{"workflows", "runs", "list"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte(`{"next":"c7","next_cursor":"c7","items":[]}`))
		}))
		code, _, errs := runOwn(t, nil, append(line, "--server", server.URL)...)
		server.Close()
		if code != command.OK || !strings.Contains(errs, "! there are more: --after c7") {
			t.Errorf("%s: exit code %d, %q", strings.Join(line, " "), code, errs)
		}
	}
}

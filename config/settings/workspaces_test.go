package settings_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config/settings"
	"github.com/agentruntime/agentruntime/diag"
)

func TestWorkspacesAreChecked(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`: "",
		`{"git":{"allowed_repositories":["github.com/acme/*","git.example.com:8443/a/{b,c}"]}}`:            "",
		`{"git":{"allowed_repositories":["/srv/git/*"],"protocols":["file"]},"prepared_roots":["/srv/w"]}`: "",
		`{"git":{"allowed_repositories":["/srv/git/*"]}}`:                                                  "no-effect git.allowed_repositories[0]",
		`{"git":{"allowed_repositories":["https://github.com/acme/*"]}}`:                                   "invalid-pattern git.allowed_repositories[0]",
		`{"git":{"allowed_repositories":["acme"]}}`:                                                        "invalid-pattern git.allowed_repositories[0]",
		`{"git":{"allowed_repositories":["github.com/["]}}`:                                                "invalid-pattern git.allowed_repositories[0]",
		`{"git":{"allowed_repositories":["h/*"],"protocols":["ext"]}}`:                                     "invalid-value git.protocols[0]",
		`{"git":{"allowed_repositories":["h/*"],"env":{"A=B":"c"}}}`:                                       "invalid-value git.env[\"A=B\"]",
		`{"git":{"allowed_repositories":["h/*"]},"max_bytes":5}`:                                           "invalid-value max_bytes",
		`{"git":{"allowed_repositories":["h/*"]},"prepare_timeout":"0s"}`:                                  "invalid-value prepare_timeout",
		`{"prepared_roots":["srv"]}`:                                                                       "invalid-value prepared_roots[0]",
	} {
		var w settings.Workspaces
		if err := json.Unmarshal([]byte(text), &w); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, d := range w.Validate() {
			got = append(got, string(d.Code)+" "+d.Path)
			if d.Code == diag.InvalidPattern && d.Hint == "" {
				t.Errorf("%s has no hint", text)
			}
		}
		if strings.Join(got, "; ") != want {
			t.Errorf("%s: %s, want %s", text, strings.Join(got, "; "), want)
		}
	}
}

func TestWorkspacesShowNoSecrets(t *testing.T) {
	t.Parallel()
	w := settings.Workspaces{Git: settings.WorkspaceGit{Env: map[string]string{"GIT_CONFIG_VALUE_0": "s3cret"}}}
	if text, err := json.Marshal(&w); err != nil || strings.Contains(string(text), "s3cret") {
		t.Errorf("%s, %v", text, err)
	}
}

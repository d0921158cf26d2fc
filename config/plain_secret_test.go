package config_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/diag"
)

// plainKeys are vendor credentials. They are assembled here so that repository scanners do not
// report them.
func plainKeys() []string {
	digits := strings.Repeat("a1B2c3D4e5", 5)
	return []string{
		"sk-" + digits, "sk-" + "ant-api03-" + digits, "sk-" + "proj-" + digits, "AIza" + digits[:35], "ghp" + "_" + digits[:36],
		"github" + "_pat_" + digits[:30], "gl" + "pat-" + digits[:20], "xoxb" + "-12345-" + digits[:20], "AKIA" + "IOSFODNN7EXAMPLE",
		"sk" + "_live_" + digits[:24], "hf" + "_" + digits[:34], "Bearer " + digits, "eyJ" + "hbGciOi1.eyJ" + "zdWIiOiIx.c2ln",
	}
}

// A vendor's key is found in any text of a file and never shown.
func TestPlainKeysAreFoundInEveryText(t *testing.T) {
	t.Parallel()
	places := map[string]string{
		"providers.p.api_key":              "version: 1\nproviders: {p: {type: vendor, api_key: %q}}\n",
		"providers.p.headers.X-Trace":      "version: 1\nproviders: {p: {type: vendor, api_key: \"${K:-x}\", headers: {X-Trace: %q}}}\n",
		"agents.a.system_prompt":           "version: 1\nagents: {a: {model_id: m, system_prompt: %q}}\n",
		"agents.a.sections.x.deep[0].note": "version: 1\nagents: {a: {model_id: m, sections: {x: {deep: [{note: %q}]}}}}\n",
		"tools.t.command[1]":               "version: 1\ntools: {t: {type: command, command: [x, %q]}}\n",
	}
	for path, file := range places {
		for _, key := range plainKeys() {
			f, list := parseDocument(t, fmt.Sprintf(file+"# %s\n", "use "+key, key))
			found := ofCode(list, diag.PlainSecret)
			if len(found) != 1 || found[0].Path != path || found[0].Severity != diag.Warning || found[0].Line == 0 {
				t.Errorf("%s: %.10s…: %v", path, key, list)
			}
			showsNothing(t, f, list, key)
		}
	}
}

// In a secret field every text is a literal of the file, whatever its form.
func TestLiteralsInSecretFieldsAreFound(t *testing.T) {
	t.Parallel()
	provider := "version: 1\nproviders: {p: {type: vendor, %s}}\n"
	for fields, want := range map[string]int{
		`api_key: correct-horse`:           1,
		`api_key: "${KEY}"`:                0,
		`api_key: "${KEY:-correct-horse}"`: 1,
		`api_key: "${KEY:-none}"`:          0,
		`api_key: "${KEY:-}"`:              0,
		`api_key: "$${KEY}"`:               1,
		`api_key: "${KEY}", headers: {Authorization: "Bearer ${TOKEN}"}`:           0,
		`api_key: "${KEY}", headers: {Authorization: correct-horse}`:               1,
		`api_key: "${KEY}", headers: {X-Api-Key: correct-horse}`:                   1,
		`api_key: "${KEY}", headers: {Accept: application/json, X-Tenant: acme-1}`: 0,
		`api_key: "${KEY}", base_url: "https://me:correct-horse@x.example"`:        1,
		`api_key: "${KEY}", base_url: "https://me:${PASSWORD}@x.example"`:          0,
	} {
		f, list := parseDocument(t, fmt.Sprintf(provider, fields))
		if found := ofCode(list, diag.PlainSecret); len(found) != want {
			t.Errorf("%s: %v, want %d", fields, list, want)
		}
		if want > 0 && !strings.Contains(fields, "$${") {
			showsNothing(t, f, list, "correct-horse")
		}
	}
	for dsn, want := range map[string]int{
		"host=db user=me password=correct-horse": 1, "host=db user=me password=${PASSWORD}": 0,
		"postgres://me:correct-horse@db/x": 1, "postgres://me:${PASSWORD}@db/x": 0, "${DATABASE}": 0,
	} {
		f, list := parseDocument(t, fmt.Sprintf("version: 1\nstore: {driver: postgres, dsn: %q}\n", dsn))
		if found := ofCode(list, diag.PlainSecret); len(found) != want {
			t.Errorf("%s: %v, want %d", dsn, list, want)
		}
		showsNothing(t, f, list, "correct-horse")
	}
}

// Words that begin like a key are not secrets.
func TestWordsAreNoKeys(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"sk-learn-pipelines-explained", "risk-1234567890123456", "bearer of good news", "The max_token_count is 4096.",
		"https://user@host.example/a:b@c", "eyJhbGciOi", "-----BEGIN CERTIFICATE-----", "tool_token",
	} {
		if _, list := parseDocument(t, fmt.Sprintf("version: 1\nagents: {a: {model_id: m, system_prompt: %q}}\n", text)); len(list) > 0 {
			t.Errorf("%q: %v", text, list)
		}
	}
}

// A variable in another system's spelling is an error if it would be sent, and a warning if it is
// the whole value.
func TestForeignSpellingsOfVariables(t *testing.T) {
	t.Parallel()
	secret := "version: 1\nproviders: {p: {type: vendor, api_key: %q}}\n"
	header := "version: 1\nproviders: {p: {type: vendor, api_key: \"${K:-x}\", headers: {X-Team: %q}}}\n"
	address := "version: 1\nproviders: {p: {type: vendor, api_key: \"${K:-x}\", base_url: %q}}\n"
	prompt := "version: 1\nagents: {a: {model_id: m, system_prompt: %q}}\n"
	for _, tt := range []struct{ file, text, want string }{
		{secret, "$OPENAI_API_KEY", "invalid-value write ${OPENAI_API_KEY}; a plain $ is written $$"},
		{secret, "$openai_key", "invalid-value write ${NAME}; a plain $ is written $$"},
		{secret, "%OPENAI_API_KEY%", "invalid-value write ${OPENAI_API_KEY}"},
		{secret, "$(OPENAI_API_KEY)", "invalid-value write ${OPENAI_API_KEY}; a plain $ is written $$"},
		{secret, "{{ env.OPENAI_API_KEY }}", "invalid-value write ${OPENAI_API_KEY}"},
		{secret, "{{ .Env.OPENAI_API_KEY }}", "invalid-value write ${OPENAI_API_KEY}"},
		{secret, "os.environ/OPENAI_API_KEY", "invalid-value write ${OPENAI_API_KEY}"},
		{secret, "${env:OPENAI_API_KEY}", "invalid-value write ${OPENAI_API_KEY}"},
		{secret, "${{ secrets.OPENAI_API_KEY }}", "invalid-value write ${OPENAI_API_KEY}; a plain $ is written $$"},
		{secret, "$$OPENAI_API_KEY", "plain-secret write ${NAME} and set the variable, or ${file:path}"},
		{secret, "pa$$w0rd$", "plain-secret write ${NAME} and set the variable, or ${file:path}"},
		{header, "team $TEAM_ID", "invalid-value write ${TEAM_ID}; a plain $ is written $$"},
		{header, "costs $5", ""},
		{address, "https://$API_HOST/v1", "invalid-value write ${API_HOST}; a plain $ is written $$"},
		{address, "https://x.example/v1?$top=5&q=%2FA%20", ""},
		{prompt, "$PROMPT", "no-effect write ${PROMPT}; a plain $ is written $$"},
		{prompt, "%PROMPT%", "no-effect write ${PROMPT}"},
		{prompt, "{{ env.PROMPT }}", "no-effect write ${PROMPT}"},
		{prompt, "Explain what $PATH and {{ env.HOME }} mean; pay $USD.", ""},
		{prompt, "$variable", ""},
	} {
		_, list := parseDocument(t, fmt.Sprintf(tt.file, tt.text))
		got := make([]string, 0, 1)
		for _, d := range list {
			got = append(got, string(d.Code)+" "+d.Hint)
		}
		if strings.Join(got, "\n") != tt.want {
			t.Errorf("%s: %q, want %q", tt.text, got, tt.want)
		}
	}
}

func ofCode(list diag.List, code diag.Code) diag.List {
	var found diag.List
	for _, d := range list {
		if d.Code == code {
			found = append(found, d)
		}
	}
	return found
}

// showsNothing fails if a secret is in a diagnostic, in the displayed text of the file, or is not
// removed by Redact.
func showsNothing(t *testing.T, f *config.File, list diag.List, secret string) {
	t.Helper()
	secret = strings.TrimPrefix(secret, "Bearer ")
	if text := fmt.Sprint(list); strings.Contains(text, secret) {
		t.Errorf("a diagnostic shows the secret: %s", text)
	}
	if text := string(f.Source("config.yaml")); strings.Contains(text, secret) {
		t.Errorf("the file is shown with its secret:\n%s", text)
	}
}

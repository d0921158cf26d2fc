package config_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/google/go-cmp/cmp"
)

const editable = `{"version":1,"providers":{"p":{"type":"vendor","api_key":"${KEY}"}},"models":{"m":{"provider_id":"p","upstream_model":"u"},"n":{"provider_id":"p","upstream_model":"u"}},` +
	`"agents":{"a":{"model_id":"m","system_prompt":"Hello ${WHO}."},"b":{"extends":"a","max_rounds":3},"c":{"model_id":"n"}}}`

// An edit contains the differences as Parse reads them, including agents that inherit from changed
// ones; uncertain cases are left to Parse.
func TestEditOfADocument(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, old, new string
		ok             bool
		agents, models []string
	}{
		{"nothing", "", "", true, nil, nil},
		{"an agent", `"model_id":"n"}`, `"model_id":"m"}`, true, []string{"c"}, nil},
		{"an agent that others extend", "Hello ${WHO}.", "Bye ${WHO}.", true, []string{"a", "b"}, nil},
		{"an agent that extends", `"max_rounds":3`, `"max_rounds":4`, true, []string{"b"}, nil},
		{"a new agent between others", `"b":{"extends"`, `"d":{"model_id":"n"},"b":{"extends"`, false, nil, nil},
		{"a new agent at the end", `"model_id":"n"}}`, `"model_id":"n"},"d":{"extends":"b"}}`, true, []string{"d"}, nil},
		{"an agent less", `,"c":{"model_id":"n"}`, ``, true, nil, nil},
		{"an agent less that another extends", `"a":{"model_id":"m","system_prompt":"Hello ${WHO}."},`, ``, false, nil, nil},
		{"agents in another order", `"b":{"extends":"a","max_rounds":3},"c":{"model_id":"n"}`, `"c":{"model_id":"n"},"b":{"extends":"a","max_rounds":3}`, false, nil, nil},
		{"an agent twice", `"c":{"model_id":"n"}`, `"c":{"model_id":"n"},"c":{"model_id":"m"}`, false, nil, nil},
		{"a model", `"n":{"provider_id":"p","upstream_model":"u"}`, `"n":{"provider_id":"p","upstream_model":"v"}`, true, nil, []string{"n"}},
		{"a provider", `"api_key":"${KEY}"`, `"api_key":"${OTHER}"`, false, nil, nil},
		{"a new section", `,"agents"`, `,"model_pools":{"q":{"members":[{"model_id":"m"}]}},"agents"`, false, nil, nil},
		{"something wrong", `"max_rounds":3`, `"max_round":3`, false, nil, nil},
		{"no object", `{"model_id":"n"}`, `3`, false, nil, nil},
		{"a secret", `"max_rounds":3`, `"sections":{"x":{"api_key":"sk-ant-api03-0123456789abcdef0123456789abcdef"}}`, false, nil, nil},
		{"spaces", `"max_rounds":3`, `"max_rounds": 3`, false, nil, nil},
		{"no JSON", `"max_rounds":3`, `"max_rounds":3]`, false, nil, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			opts := options(map[string]string{"KEY": "the-key-of-the-vendor", "WHO": "somebody-special"})
			file, found := config.Parse([]config.Source{{Name: "d", Data: []byte(editable)}}, opts)
			if found.HasErrors() || documentOf(t, file) != editable {
				t.Fatal(found, documentOf(t, file))
			}
			text := strings.Replace(editable, tt.old, tt.new, 1)
			edit, ok := file.Edit([]byte(text))
			if ok != tt.ok {
				t.Fatalf("ok is %v for %s", ok, text)
			}
			if !ok {
				return
			}
			whole, _ := config.Parse([]config.Source{{Name: "d", Data: []byte(text)}}, opts)
			if got := documentOf(t, edit.File); got != text || documentOf(t, whole) != text {
				t.Errorf("the document is %s", got)
			}
			var agents, models []string
			for _, a := range edit.Agents {
				agents = append(agents, a.ID)
				at := slices.IndexFunc(whole.Agents, func(other *spec.Agent) bool { return other.ID == a.ID })
				if diff := cmp.Diff(whole.Agents[at], a); diff != "" {
					t.Errorf("agent %s (-whole +edit):\n%s", a.ID, diff)
				}
			}
			for i := range edit.Models {
				models = append(models, edit.Models[i].ID)
			}
			if !slices.Equal(agents, tt.agents) || !slices.Equal(models, tt.models) {
				t.Errorf("agents %v and models %v differ", agents, models)
			}
			if text := edit.File.Redact("for somebody-special with the-key-of-the-vendor"); text != "for ${WHO} with ${KEY}" {
				t.Errorf("shown is %q", text)
			}
			if again, ok := edit.File.Edit([]byte(editable)); !ok || documentOf(t, again.File) != editable {
				t.Error("the edit is not taken back")
			}
		})
	}
}

// The content of variables and files counts: a document is reread if any content has changed.
func TestEditNoticesOtherValues(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	write := func(text string) {
		if err := os.WriteFile(key, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("first-key-of-the-vendor")
	values := map[string]string{"WHO": "me"}
	text := strings.Replace(editable, "${KEY}", "${file:key}", 1)
	file, found := config.Parse([]config.Source{{Name: filepath.Join(dir, "d"), Data: []byte(text)}}, options(values))
	if found.HasErrors() {
		t.Fatal(found)
	}
	expect := func(want bool) {
		t.Helper()
		if _, ok := file.Edit([]byte(text)); ok != want {
			t.Errorf("ok is %v", ok)
		}
	}
	expect(true)
	write("second-key-of-the-vendor")
	expect(false)
	write("first-key-of-the-vendor")
	expect(true)
	values["WHO"] = "you"
	expect(false)
	delete(values, "WHO")
	expect(false)
}

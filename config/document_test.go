package config_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/config"
	"github.com/google/go-cmp/cmp"
)

// writeFiles writes files below a new directory.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func documentOf(t *testing.T, f *config.File) string {
	t.Helper()
	document, err := f.Document()
	if err != nil {
		t.Fatal(err)
	}
	return string(document)
}

// A document has the declarations of all files, including non-secret content of other files, and
// references to everything else.
func TestADocumentKeepsReferences(t *testing.T) {
	t.Setenv("MODEL", "m-1")
	t.Setenv("KEY", "the-secret-of-the-vendor")
	dir := writeFiles(t, map[string]string{
		"base.yaml": `version: 1
providers: {p: {type: vendor, api_key: "${KEY}"}}
models: {m: {provider_id: p, upstream_model: "${MODEL}"}}
agents:
  a: {model_id: m, system_prompt: "Pay $$5. ${file:rules.md}", variables: {type: object, properties: {name: {type: string}}}}
  b: {extends: a, system_prompt: {file: sub/prompt.md}}
server: {listen: "none"}
`,
		"sub/over.yaml": "version: 1\npatches: {agents: {a: {max_rounds: 3}}}\ndefaults: {max_rounds: 0x10}\n",
		"rules.md":      "Cost: $1\n",
		"sub/prompt.md": "Hello ${turn.name}, $9",
	})
	paths := []string{filepath.Join(dir, "base.yaml"), filepath.Join(dir, "sub/over.yaml")}
	f, found, err := config.Load(paths, config.Options{Kinds: testKinds()})
	if err != nil || found.HasErrors() {
		t.Fatal(err, found)
	}
	got := documentOf(t, f)
	want := `{"version":1,"providers":{"p":{"type":"vendor","api_key":"${KEY}"}},"models":{"m":{"provider_id":"p","upstream_model":"${MODEL}"}},` +
		`"agents":{"a":{"model_id":"m","system_prompt":"Pay $$5. Cost: $$1","variables":{"type":"object","properties":{"name":{"type":"string"}}},"max_rounds":3},` +
		`"b":{"extends":"a","system_prompt":"Hello ${turn.name}, $$9"}},"defaults":{"max_rounds":16}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	again, found := config.Parse([]config.Source{{Name: filepath.Join(dir, "document"), Data: []byte(got)}}, config.Options{Kinds: testKinds()})
	if found.HasErrors() {
		t.Fatal(found)
	}
	if diff := cmp.Diff(got, documentOf(t, again)); diff != "" {
		t.Error("the document of the document differs", diff)
	}
	if diff := cmp.Diff(f.Agents, again.Agents); diff != "" {
		t.Error("the document declares other agents", diff)
	}
}

func TestADocumentContainsNoSecret(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"c.yaml": "version: 1\nproviders: {p: {type: vendor, api_key: \"${file:sub/key}\"}, q: {type: vendor, api_key: plain-secret-1}}\n", "sub/key": "from-a-file",
	})
	f, _, err := config.Load([]string{filepath.Join(dir, "c.yaml")}, config.Options{Kinds: testKinds()})
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Document()
	var plain *config.PlainSecretError
	if !errors.As(err, &plain) || !cmp.Equal(plain.Paths, []string{"providers.q.api_key"}) || strings.Contains(err.Error(), "plain-secret") {
		t.Errorf("the error is %v", err)
	}
}

// A component from a file in another directory keeps that directory when it is read from the
// document, and variable paths are relative to it.
func TestADocumentKeepsTheDirectoriesOfComponents(t *testing.T) {
	t.Setenv("MOUNT", "from-variable")
	dir := writeFiles(t, map[string]string{
		"base.yaml": "version: 1\nproviders: {p: {type: echo}}\nmodels: {m: {provider_id: p, upstream_model: up}}\nagents: {a: {model_id: m}}\n",
		"sub/tools.yaml": "version: 1\ntools: {t: {type: command, command: [x], mounts: [{from: data}, {from: \"${MOUNT}\"}, {from: /abs}]}}\n" +
			"plugins: {l: {type: log}}\npatches: {providers: {p: {delay: 1}}}\n",
	})
	paths := []string{filepath.Join(dir, "base.yaml"), filepath.Join(dir, "sub/tools.yaml")}
	f, found, err := config.Load(paths, config.Options{Kinds: testKinds()})
	if err != nil || found.HasErrors() {
		t.Fatal(err, found)
	}
	document := documentOf(t, f)
	if want := `"tools":{"t":{"$dir":"sub","type":"command","command":["x"],"mounts":[{"from":"data"},{"from":"${MOUNT}"},{"from":"/abs"}]}}`; !strings.Contains(document, want) {
		t.Errorf("%s\ndoes not contain\n%s", document, want)
	}
	if strings.Contains(document, dir) {
		t.Error("the document names a directory of this machine:", document)
	}
	again, found := config.Parse([]config.Source{{Name: filepath.Join(dir, "document"), Data: []byte(document)}}, config.Options{Kinds: testKinds()})
	if found.HasErrors() {
		t.Fatal(found)
	}
	if diff := cmp.Diff(document, documentOf(t, again)); diff != "" {
		t.Error("the document of the document differs", diff)
	}
	one, other := f.Tools[0], again.Tools[0]
	if one.Dir != other.Dir || one.Dir != filepath.Join(dir, "sub") {
		t.Errorf("the tool's directory is %s, and %s from the document", one.Dir, other.Dir)
	}
	if diff := cmp.Diff(one.Config, other.Config); diff != "" {
		t.Error("the tool differs", diff)
	}
	if f.Plugins[0].Dir != again.Plugins[0].Dir || f.Providers[0].Dir != again.Providers[0].Dir {
		t.Errorf("plugin in %s and %s, provider in %s and %s", f.Plugins[0].Dir, again.Plugins[0].Dir, f.Providers[0].Dir, again.Providers[0].Dir)
	}
}

// A directory that is not a text is an unknown field.
func TestADirectoryMustBeAText(t *testing.T) {
	_, found := parseDocument(t, "version: 1\nplugins: {l: {type: log, $dir: 3}}\n")
	if !found.HasErrors() || !strings.Contains(shows(found), "$dir") {
		t.Fatal(shows(found))
	}
}

// The patches of a single file stay patches, and the entries stay unpatched.
func TestADocumentKeepsThePatchesOfOneFile(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"c.yaml": `version: 1
providers: {p: {type: vendor, api_key: "${KEY}"}}
models: {m: {provider_id: p, upstream_model: up}}
agents:
  a: {model_id: m, system_prompt: {file: old.md}}
  b: {extends: a}
patches:
  agents: {a: {system_prompt: {file: new.md}, max_rounds: 3, allow_widening: true}}
  models: {m: {upstream_model: "${file:up.md}"}}
  tools: {}
  x-note: {why: rehearsal}
`, "old.md": "Old, $1.", "new.md": "New, $2.", "up.md": "upper",
	})
	f, found, err := config.Load([]string{filepath.Join(dir, "c.yaml")}, config.Options{Kinds: testKinds()})
	if err != nil || found.HasErrors() {
		t.Fatal(err, found)
	}
	got := documentOf(t, f)
	want := `{"version":1,"providers":{"p":{"type":"vendor","api_key":"${KEY}"}},"models":{"m":{"provider_id":"p","upstream_model":"up"}},` +
		`"agents":{"a":{"model_id":"m","system_prompt":"Old, $$1."},"b":{"extends":"a"}},` +
		`"patches":{"agents":{"a":{"system_prompt":"New, $$2.","max_rounds":3,"allow_widening":true}},"models":{"m":{"upstream_model":"upper"}}}}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatal(diff)
	}
	again, found := config.Parse([]config.Source{{Name: filepath.Join(dir, "document"), Data: []byte(got)}}, config.Options{Kinds: testKinds()})
	if found.HasErrors() {
		t.Fatal(found)
	}
	if diff := cmp.Diff(got, documentOf(t, again)); diff != "" {
		t.Error("the document of the document differs", diff)
	}
	if diff := cmp.Diff(f.Agents, again.Agents); diff != "" {
		t.Error("the document declares other agents", diff)
	}
	if at := again.DecidedPath("agents.b.max_rounds"); at != "patches.agents.a.max_rounds" {
		t.Errorf("an inherited field is decided at %s", at)
	}
	if at := again.DecidedPath("agents.a.model_id"); at != "agents.a.model_id" {
		t.Errorf("a field without a patch is decided at %s", at)
	}
	without, had, err := config.WithPatch([]byte(got), "agents", "a", nil)
	if err != nil || !had || strings.Contains(string(without), "max_rounds") {
		t.Errorf("without a patch: %v %v %s", had, err, without)
	}
}

// A value replaced by a patch is part of the document, so it must not be a secret either.
func TestASecretBelowAPatchIsNotStored(t *testing.T) {
	f, _ := parseDocument(t, "version: 1\nproviders: {p: {type: vendor, api_key: plain-secret-1}}\npatches: {providers: {p: {api_key: \"${KEY}\"}}}\n")
	_, err := f.Document()
	var plain *config.PlainSecretError
	if !errors.As(err, &plain) || !cmp.Equal(plain.Paths, []string{"providers.p.api_key"}) {
		t.Errorf("the error is %v", err)
	}
}

// An entry that is invalid without its patch is written in patched form.
func TestADocumentHasNoEntryThatIsWrongByItself(t *testing.T) {
	f, found := parseDocument(t, "version: 1\nproviders: {p: {type: vendor, api_key: x, api_kee: y}}\npatches: {providers: {p: {api_key: \"${KEY}\", api_kee: null}}}\n")
	if found.HasErrors() {
		t.Fatal(shows(found))
	}
	if got := documentOf(t, f); got != `{"version":1,"providers":{"p":{"type":"vendor","api_key":"${KEY}"}}}` {
		t.Errorf("the document is %s", got)
	}
}

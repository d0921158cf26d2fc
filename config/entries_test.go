package config_test

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/config"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func TestEntriesOfADocument(t *testing.T) {
	const document = `{"version":1,"models":{"m":{"provider_id":"p"}},"agents":{"b":{"model_id":"m"},"a":{"model_id":"${M}"}}}`
	list, err := config.DocumentEntries(json.RawMessage(document), "agents")
	if err != nil || len(list) != 2 || list[0].ID != "b" || string(list[1].Value) != `{"model_id":"${M}"}` {
		t.Errorf("the agents are %s: %v", list, err)
	}
	if none, err := config.DocumentEntries(json.RawMessage(document), "tools"); err != nil || none != nil {
		t.Errorf("the tools are %s: %v", none, err)
	}
	for _, c := range []struct {
		registry, id, value string
		had                 bool
		want                string
	}{
		{"agents", "b", `{"model_id":"n"}`, true, `{"version":1,"models":{"m":{"provider_id":"p"}},"agents":{"b":{"model_id":"n"},"a":{"model_id":"${M}"}}}`},
		{"agents", "b", "", true, `{"version":1,"models":{"m":{"provider_id":"p"}},"agents":{"a":{"model_id":"${M}"}}}`},
		{"tools", "t", `{"type":"ask"}`, false, document[:len(document)-1] + `,"tools":{"t":{"type":"ask"}}}`},
		{"agents", "c", "", false, document},
	} {
		var value json.RawMessage
		if c.value != "" {
			value = json.RawMessage(c.value)
		}
		got, had, err := config.WithEntry(json.RawMessage(document), c.registry, c.id, value)
		if err != nil || had != c.had || string(got) != c.want {
			t.Errorf("%s %s becomes %s (%t): %v", c.registry, c.id, got, had, err)
		}
	}
}

// Entries of a document written by Document are found and changed without decoding it, with the
// same result as decoding.
func TestPropertyEntriesAreFoundInTheText(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(rt *rapid.T) {
		value := rapid.Custom(func(t *rapid.T) string {
			return rapid.SampledFrom([]string{
				`{"model_id":"m"}`, `{ "system_prompt" : "a\\\"}{, \\\\" }`, `{"a":[{"b":[1.5e3,null,true]},"]"]}`, `{}`, `[]`, `null`, `"\u00fc\\"`, `-3`,
				`{"sections":{"a":{"b":"<c>"}}}`,
			}).Draw(t, "value")
		})
		id := rapid.SampledFrom([]string{"a", "b", "c", "agents", `q"\`, "ü"})
		document := json.RawMessage(`{"version":1}`)
		for range rapid.IntRange(0, 6).Draw(rt, "entries") {
			registry := rapid.SampledFrom([]string{"models", "agents"}).Draw(rt, "registry")
			document, _, _ = config.WithEntry(document, registry, id.Draw(rt, "id"), json.RawMessage(value.Draw(rt, "its value")))
		}
		spaced := append(json.RawMessage(" "), document...) // which is decoded
		for _, registry := range []string{"models", "agents", "tools"} {
			want, wantErr := config.DocumentEntries(spaced, registry)
			got, err := config.DocumentEntries(document, registry)
			if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" || err != nil || wantErr != nil {
				rt.Fatalf("%s of %s: %v, %v\n%s", registry, document, err, wantErr, diff)
			}
			put := json.RawMessage(value.Draw(rt, "put"))
			if rapid.IntRange(0, 3).Draw(rt, "removed") == 0 {
				put = nil
			}
			at := id.Draw(rt, "where")
			wanted, wantHad, wantErr := config.WithEntry(spaced, registry, at, put)
			changed, had, err := config.WithEntry(document, registry, at, put)
			if string(changed) != string(wanted) || had != wantHad || err != nil || wantErr != nil {
				rt.Fatalf("%s with %s %s = %s: %v\nand should be %s: %v", document, registry, at, changed, err, wanted, wantErr)
			}
		}
	})
}

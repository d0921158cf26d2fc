package config_test

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/config"
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

package service_test

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/service"
)

func TestSecretsInMetadataAreNotShown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"a":1,"_secrets":{"b":2}}`: `{"a":1}`,
		`{"_secrets":"x"}`:           ``,
		`{"a": 1}`:                   `{"a": 1}`,
		`{"a":{"_secrets":1}}`:       `{"a":{"_secrets":1}}`,
		`{}`:                         `{}`,
		`[1]`:                        `[1]`,
		``:                           ``,
	} {
		if got := service.PublicMetadata(json.RawMessage(text)); string(got) != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
}

func TestAnExportHasNoSecrets(t *testing.T) {
	s := idle(t, turntest.Build(t, turntest.WithAgents(turntest.Scripts(nil))))
	made, err := s.CreateSession(t.Context(), alice, service.CreateSession{Metadata: json.RawMessage(`{"a":1,"_secrets":{"b":2}}`)})
	if err != nil {
		t.Fatal(err)
	}
	export, err := s.ExportSession(t.Context(), alice, made.ID)
	if err != nil || string(export.Session.Metadata) != `{"a":1}` {
		t.Errorf("it is %s, %v", export.Session.Metadata, err)
	}
}

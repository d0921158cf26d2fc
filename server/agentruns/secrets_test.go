package agentruns

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
)

const (
	header  = "Bearer s3cret"
	withKey = `{"systemPrompt":"Obey.","tools":[{"kind":"local","name":"mine","parameters":{"type":"object"}},` +
		`{"kind":"a2a","name":"peer","agentCardUrl":"https://a.example","hEaders":{"Authorization":"` + header + `"}}]}`
)

// peers records the headers with which remote agents are called.
func peers(said chan<- string) func(*setup) {
	return func(s *setup) {
		s.service.TurnTools = NewTurnTools(TurnToolsSettings{CallPeer: func(_ context.Context, call PeerCall) (string, error) {
			said <- call.Headers["Authorization"]
			return "well", nil
		}})
	}
}

func sealing(kept store.Store, key byte) func(*setup) {
	return func(s *setup) {
		s.service.Store = kept
		if key > 0 {
			s.settings.EncryptionKey = bytes.Repeat([]byte{key}, 32)
			s.service.EncryptionKey = s.settings.EncryptionKey
		}
	}
}

func TestHeadersOfASessionAreKeptApartAndUsed(t *testing.T) {
	for name, tt := range map[string]struct {
		made, used byte
		status     int
	}{
		"a key": {1, 1, http.StatusAccepted}, "no key": {0, 0, http.StatusAccepted}, "a key since": {0, 1, http.StatusAccepted},
		"another key": {1, 2, http.StatusInternalServerError}, "no key any more": {1, 0, http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			said := make(chan string, 1)
			kept := memory.New(store.Settings{})
			t.Cleanup(func() { _ = kept.Close() })
			w := serving(t, peers(said), sealing(kept, tt.made))
			made := w.must(http.StatusCreated, http.MethodPost, "/agent-sessions", withKey)
			id, _ := made["sessionId"].(string)
			stored, err := kept.Session(t.Context(), store.Everything, id)
			if err != nil || bytes.Contains(stored.Metadata, []byte("s3cret")) == (tt.made > 0) || bytes.Contains(service.PublicMetadata(stored.Metadata), []byte("s3cret")) {
				t.Fatalf("the store has %s, %v", stored.Metadata, err)
			}
			w = serving(t, peers(said), sealing(kept, tt.used))
			read := w.must(http.StatusOK, http.MethodGet, "/agent-sessions/"+id, "")
			if text, _ := json.Marshal(read); strings.Contains(string(text), "s3cret") || !strings.Contains(string(text), `"hEaders":{"Authorization":"***"}`) {
				t.Errorf("the session reads %s", text)
			}
			status, answer := w.do(http.MethodPost, "/agent-sessions/"+id+"/messages", `{"prompt":"call 2"}`)
			if status != tt.status || strings.Contains(strings.ToLower(toText(answer)), "encrypt") {
				t.Fatalf("a message is answered with %d %v", status, answer)
			}
			if status != http.StatusAccepted {
				return
			}
			run, _ := answer["runId"].(string)
			w.answered(run, func(map[string]any) string { return `,"result":"x"` })
			if got := <-said; got != header {
				t.Errorf("the agent is sent %q", got)
			}
			for _, read := range []string{toText(w.must(http.StatusOK, http.MethodGet, "/agent-runs/"+run, "")), dump(t, kept, run, tt.used > 0)} {
				if strings.Contains(read, "s3cret") {
					t.Errorf("the secret is in %s", read)
				}
			}
		})
	}
}

func toText(value any) string {
	text, _ := json.Marshal(value)
	return string(text)
}

// dump returns what the store has of a turn: all of it, or what can be read back.
func dump(t *testing.T, kept store.Store, id string, all bool) string {
	t.Helper()
	turn, err := kept.Turn(t.Context(), store.Everything, id)
	if err != nil {
		t.Fatal(err)
	}
	if !all {
		turn.Request = nil
	}
	return string(turn.Request) + string(turn.Metadata)
}

func TestASessionFromBeforeHeadersWereKeptApartGoesOn(t *testing.T) {
	said := make(chan string, 1)
	w := serving(t, peers(said))
	metadata, err := json.Marshal(map[string]any{ownKey: map[string]any{"spec": json.RawMessage(withKey)}})
	if err != nil {
		t.Fatal(err)
	}
	made, err := w.service.CreateSession(t.Context(), service.Caller{Tenant: "alices", Subject: "alice"},
		service.CreateSession{Labels: map[string]string{ownKey: labelSession}, Metadata: metadata})
	if err != nil {
		t.Fatal(err)
	}
	if read := toText(w.must(http.StatusOK, http.MethodGet, "/agent-sessions/"+made.ID, "")); strings.Contains(read, "s3cret") {
		t.Errorf("the session reads %s", read)
	}
	run, _ := w.must(http.StatusAccepted, http.MethodPost, "/agent-sessions/"+made.ID+"/messages", `{"prompt":"call 2"}`)["runId"].(string)
	w.answered(run, func(map[string]any) string { return `,"result":"x"` })
	if got := <-said; got != header {
		t.Errorf("the agent is sent %q", got)
	}
}

func TestASessionThatWasImportedSaysWhatItLacks(t *testing.T) {
	w := serving(t)
	alice := service.Caller{Tenant: "alices", Subject: "alice"}
	id, _ := w.must(http.StatusCreated, http.MethodPost, "/agent-sessions", withKey)["sessionId"].(string)
	export, err := w.service.ExportSession(t.Context(), alice, id)
	if err != nil || strings.Contains(string(export.Session.Metadata), "s3cret") {
		t.Fatalf("the export has %s, %v", export.Session.Metadata, err)
	}
	made, err := w.service.ImportSession(t.Context(), alice, service.CreateSession{}, export)
	if err != nil {
		t.Fatal(err)
	}
	at := "/agent-sessions/" + made.ID + "/messages"
	if status, answer := w.do(http.MethodPost, at, `{"prompt":"say x"}`); status != http.StatusBadRequest || answer["code"] != codeInvalidRequest || !strings.Contains(toText(answer), "give tools") {
		t.Errorf("it is told %d %v", status, answer)
	}
	w.must(http.StatusAccepted, http.MethodPost, at, `{"prompt":"say x","tools":[]}`)
}

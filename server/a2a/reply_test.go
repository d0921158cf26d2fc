package a2a_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/agentruntime/agentruntime/tools/ask"
	"github.com/google/go-cmp/cmp"
)

// withMessages makes the clerk answer with messages.
func withMessages(s *setup) { s.agents[0].A2A = &spec.AgentA2A{Reply: spec.ReplyMessage} }

// keeping is a tool that keeps an artifact.
func keeping(kept tools.Artifact) tools.Tool {
	return toolFunc(func(_ context.Context, call *tools.Call) (tools.Result, error) {
		if _, err := call.Session.KeepArtifact(kept); err != nil {
			return tools.Result{}, err
		}
		return tools.TextResult("kept"), nil
	})
}

func TestAnAgentAnswersWithAMessage(t *testing.T) {
	question := withQuestion(t, "choose", ask.Config{})
	w := open(t, withMessages, question, func(s *setup) {
		s.tools["keep"] = keeping(tools.Artifact{Name: "a.txt", MediaType: "text/plain", Data: []byte("x")})
	})
	w.model.teach("say", says("hello ", "you"))
	w.model.teach("ask", calls("choose", `{"question":"Which?"}`), says("done"))
	w.model.teach("keep", calls("keep", `{}`), says("done"))
	w.model.teach("fail", reply{err: context.DeadlineExceeded})
	for _, over := range transports {
		c := w.client("alice", "clerk", over)
		for _, tt := range []struct {
			input   string
			message bool
		}{{"say", true}, {"ask", false}, {"keep", false}, {"fail", false}} {
			res, err := c.SendMessage(t.Context(), request(user(tt.input)))
			if err != nil {
				t.Fatalf("%s: %s: %v", over, tt.input, err)
			}
			m, isMessage := res.(*a2a.Message)
			if isMessage != tt.message {
				t.Errorf("%s: %s is answered with a %T", over, tt.input, res)
			}
			list, err := events(c.SendStreamingMessage(t.Context(), request(user(tt.input))))
			if err != nil {
				t.Fatalf("%s: %s: %v", over, tt.input, err)
			}
			streamed, first := list[0].(*a2a.Message)
			if first != tt.message || tt.message && len(list) != 1 {
				t.Errorf("%s: %s is streamed as %d events, a %T first", over, tt.input, len(list), list[0])
			}
			if !tt.message || !isMessage || !first {
				continue
			}
			for _, m := range []*a2a.Message{m, streamed} {
				report, err := a2awire.ReportOf(m.Metadata)
				if textOf(m) != "hello you" || m.Role != a2a.MessageRoleAgent || m.ContextID == "" || m.TaskID != "" || err != nil || report == nil {
					t.Errorf("%s: the message is %+v, %v", over, m, err)
				}
			}
			again := user("say")
			again.ContextID = m.ContextID
			if res, err := c.SendMessage(t.Context(), request(again)); err != nil || res.(*a2a.Message).ContextID != m.ContextID {
				t.Errorf("%s: the conversation does not go on: %v, %v", over, res, err)
			}
		}
		if res, err := c.SendMessage(t.Context(), atOnce(user("say"))); err != nil {
			t.Error(err)
		} else if _, ok := res.(*a2a.Task); !ok {
			t.Errorf("%s: who does not wait gets a %T", over, res)
		}
	}
}

func TestAMessageInTheOldVersion(t *testing.T) {
	w := open(t, withMessages, func(s *setup) { s.settings.V03 = true })
	w.model.teach("say", says("hello"))
	body := `{"jsonrpc":"2.0","id":1,"method":"METHOD","params":{"message":{"kind":"message","messageId":"ID","role":"user","parts":[{"kind":"text","text":"say"}]}}}`
	for method, id := range map[string]string{"message/send": "m1", "message/stream": "m2"} {
		_, got := w.do("POST", "/a2a/clerk/v0.3", strings.NewReplacer("METHOD", method, "ID", id).Replace(body), "Content-Type", "application/json")
		if !strings.Contains(got, `"kind":"message"`) || !strings.Contains(got, `"hello"`) {
			t.Errorf("%s: the answer is %s", method, got)
		}
	}
}

func TestAFormedAnswerIsData(t *testing.T) {
	form := &spec.OutputSchema{Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`), OnMismatch: spec.MismatchAccepted}
	for name, option := range map[string]option{"task": func(*setup) {}, "message": withMessages} {
		w := open(t, option, func(s *setup) { s.agents[0].OutputSchema = form })
		for _, tt := range []struct {
			answer string
			data   bool
		}{
			{`{"n": 7}`, true}, {"```json\n{\"n\": 7}\n```", true}, {`{"n": 9007199254740993}`, false}, {"seven", false}, {`{"n":"x"}`, false},
		} {
			w.model.teach(tt.answer, says(tt.answer[:2], tt.answer[2:]))
			for _, over := range transports {
				c := w.client("alice", "clerk", over)
				res, err := c.SendMessage(t.Context(), request(user(tt.answer)))
				if err != nil {
					t.Fatal(err)
				}
				list, err := events(c.SendStreamingMessage(t.Context(), request(user(tt.answer))))
				if err != nil {
					t.Fatal(err)
				}
				for _, parts := range [][]*a2a.Part{responseParts([]a2a.Event{res.(a2a.Event)}), responseParts(list)} {
					data, _ := json.Marshal(parts[0].Data())
					if isData := string(data) == `{"n":7}` && parts[0].MediaType == "application/json"; isData != tt.data || tt.data && len(parts) != 1 {
						t.Errorf("%s over %s: %q is %d parts, the first %+v", name, over, tt.answer, len(parts), parts[0])
					}
				}
			}
		}
	}
}

// responseParts returns the parts of the answer among events.
func responseParts(list []a2a.Event) []*a2a.Part {
	var parts []*a2a.Part
	for _, ev := range list {
		switch ev := ev.(type) {
		case *a2a.Message:
			parts = append(parts, ev.Parts...)
		case *a2a.Task:
			for _, a := range ev.Artifacts {
				parts = append(parts, a.Parts...)
			}
		case *a2a.TaskArtifactUpdateEvent:
			parts = append(parts, ev.Artifact.Parts...)
		}
	}
	return parts
}

func TestWhatATurnKeepsIsSentAsAFile(t *testing.T) {
	for _, tt := range []struct {
		kept tools.Artifact
		url  string
		// media is the media type of what is at the URL.
		media string
	}{
		{tools.Artifact{Name: "notes.md", MediaType: "text/markdown", Data: []byte("# Notes\n")}, "", ""},
		{tools.Artifact{Name: "x.bin", MediaType: "application/octet-stream", Data: []byte{0, 0xff}}, "", ""},
		{tools.Artifact{Name: "far", MediaType: "text/uri-list", Data: []byte("# where\r\nhttps://files.example/x.pdf\r\n")}, "https://files.example/x.pdf", ""},
		{
			tools.Artifact{Name: "typed", MediaType: `text/uri-list; type="application/pdf"`, Data: []byte("https://files.example/x\r\n")},
			"https://files.example/x", "application/pdf",
		},
		{tools.Artifact{Name: "two", MediaType: "text/uri-list", Data: []byte("https://a.example\r\nhttps://b.example\r\n")}, "", ""},
		{tools.Artifact{Name: "js", MediaType: "text/uri-list", Data: []byte("javascript:alert(1)")}, "", ""},
	} {
		w := open(t, func(s *setup) { s.tools["keep"] = keeping(tt.kept) })
		w.model.teach("keep", calls("keep", `{}`), says("done"))
		for _, over := range transports {
			c := w.client("alice", "clerk", over)
			task := send(t, c, request(user("keep")))
			list, err := events(c.SendStreamingMessage(t.Context(), request(user("keep"))))
			if err != nil {
				t.Fatal(err)
			}
			for _, list := range [][]a2a.Event{{task}, list} {
				found := false
				for _, p := range responseParts(list) {
					if p.Filename == "" {
						continue
					}
					found = true
					if tt.url != "" && (string(p.URL()) != tt.url || p.MediaType != tt.media) || tt.url == "" && (string(p.Raw()) != string(tt.kept.Data) || p.MediaType != tt.kept.MediaType) || p.Filename != tt.kept.Name {
						t.Errorf("%s: %s is sent as %+v", over, tt.kept.Name, p)
					}
				}
				if !found {
					t.Errorf("%s: %s is not sent", over, tt.kept.Name)
				}
			}
		}
	}
}

func TestACardHasTheSkillsOfTheConfiguration(t *testing.T) {
	w := open(t, func(s *setup) {
		s.agents[0].A2A = &spec.AgentA2A{DocumentationURL: "https://docs.example/clerk", Skills: []spec.AgentSkill{
			{ID: "find", Description: "Finds.", Tags: []string{"search"}, Examples: []string{"Find x."}},
		}}
	})
	_, body := w.do("GET", "/a2a/clerk/.well-known/agent-card.json", "", "Authorization", "")
	var card a2a.AgentCard
	if err := json.Unmarshal([]byte(body), &card); err != nil {
		t.Fatal(err)
	}
	want := []a2a.AgentSkill{{ID: "find", Name: "find", Description: "Finds.", Tags: []string{"search"}, Examples: []string{"Find x."}}}
	if diff := cmp.Diff(want, card.Skills); diff != "" || card.DocumentationURL != "https://docs.example/clerk" {
		t.Errorf("skills (-want +got):\n%s, documented at %q", diff, card.DocumentationURL)
	}
}

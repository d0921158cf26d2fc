package runsclient_test

import (
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/internal/testkit/runsclient"
)

func TestASessionRemembers(t *testing.T) {
	t.Parallel()
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		ctx := t.Context()
		spec := ask("remember", "")
		spec.Metadata = map[string]string{"customer": "c-1", "colour": "red"}
		s, err := c.CreateSession(ctx, spec)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := s.Send(ctx, runsclient.Spec{Prompt: "one", Metadata: map[string]string{"colour": "blue"}}); err != nil || r.Text != "echo: one" {
			t.Fatal(err, shown(r))
		} else if run, err := c.Snapshot(ctx, r.RunID); err != nil || *run.SessionID != s.ID || !cmp.Equal(run.Metadata, map[string]string{"customer": "c-1", "colour": "blue"}) {
			t.Errorf("the snapshot is %+v, %v", run, err)
		}
		if _, err := s.Send(ctx, runsclient.Spec{Prompt: "fail"}); err == nil {
			t.Fatal("a failing message succeeds")
		}
		if r, err := s.Send(ctx, runsclient.Spec{Prompt: "two"}); err != nil || r.Text != "echo: two" {
			t.Fatal(err, shown(r))
		}
		info, err := s.Info(ctx)
		if err != nil {
			t.Fatal(err)
		}
		want := []runsclient.Message{{Role: "user", Content: "one"}, {Role: "assistant", Content: "echo: one"}, {Role: "user", Content: "two"}, {Role: "assistant", Content: "echo: two"}}
		if diff := cmp.Diff(want, info.Messages); diff != "" {
			t.Errorf("the messages differ (-want +got):\n%s", diff)
		}
		if info.ID != s.ID || info.Name != "ephemeral" || info.Status != "active" || info.EndedAt != nil || info.CreatedAt == "" || info.LastUsedAt == "" || info.AgentSpec["systemPrompt"] != "You help." ||
			!cmp.Equal(info.Metadata, spec.Metadata) {
			t.Errorf("the session is %+v", info)
		}
		ends(t, s)
	})
}

// ends ends a session, which stays readable.
func ends(t *testing.T, s *runsclient.Session) {
	t.Helper()
	for range 2 {
		if err := s.End(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if info, err := s.Info(t.Context()); err != nil || info.Status != "ended" || info.EndedAt == nil {
		t.Errorf("the session is %+v, %v", info, err)
	}
	_, err := s.Post(t.Context(), runsclient.Spec{Prompt: "three"})
	refused(t, err, 409, "session_ended")
}

func TestTheToolsOfASessionAreReplacedByThoseOfAMessage(t *testing.T) {
	t.Parallel()
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		ctx := t.Context()
		s, err := c.CreateSession(ctx, ask("local_tool", "", weather("sunny", nil)))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 {
			if r, err := s.Send(ctx, runsclient.Spec{Prompt: "Go."}); err != nil || r.Text != "It is sunny." {
				t.Fatal(err, shown(r))
			}
		}
		r, err := s.Send(ctx, runsclient.Spec{Prompt: "Go.", Tools: []runsclient.Tool{}})
		if err != nil {
			t.Fatal(err)
		}
		expect(t, r.Events, "local_tool_call")
		resumed, err := c.ResumeSession(ctx, s.ID, []runsclient.Tool{weather("no such place", nil)})
		if err != nil {
			t.Fatal(err)
		}
		if r, err := resumed.Send(ctx, runsclient.Spec{Prompt: "Go."}); err != nil || r.Text != "There is no such place." {
			t.Error(err, shown(r))
		}
	})
}

func TestMessagesOfASessionWaitForEachOther(t *testing.T) {
	t.Parallel()
	c := serve(t).client(runsclient.Go)
	s, err := c.CreateSession(t.Context(), ask("remember", ""))
	if err != nil {
		t.Fatal(err)
	}
	var want []runsclient.Message
	var following sync.WaitGroup
	for i, prompt := range []string{"slowly", "one", "slowly", "two"} {
		made, err := s.Post(t.Context(), runsclient.Spec{Prompt: prompt})
		if err != nil {
			t.Fatal(err)
		}
		answer := "echo: " + prompt
		if prompt == "slowly" {
			answer = "slow answer"
		}
		want = append(want, runsclient.Message{Role: "user", Content: prompt}, runsclient.Message{Role: "assistant", Content: answer})
		following.Go(func() {
			if r, err := c.Drive(t.Context(), made.RunID, nil, 0, nil); err != nil || r.Text != answer {
				t.Error(i, err, shown(r))
			}
		})
	}
	following.Wait()
	if info, err := s.Info(t.Context()); err != nil || fmt.Sprint(info.Messages) != fmt.Sprint(want) {
		t.Errorf("the messages are %v, %v", info.Messages, err)
	}
}

func TestTheEndOfASessionCancelsItsRun(t *testing.T) {
	t.Parallel()
	c := serve(t).client(runsclient.Go)
	s, err := c.CreateSession(t.Context(), ask("slow", ""))
	if err != nil {
		t.Fatal(err)
	}
	made, err := s.Post(t.Context(), runsclient.Spec{Prompt: "Go."})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Drive(t.Context(), made.RunID, nil, 0, func(e runsclient.Event) {
		if e.Type == "assistant_delta" {
			ends(t, s)
		}
	})
	if !wasCanceled(err) {
		t.Errorf("the run ends with %v", err)
	}
}

package runsclient_test

import (
	"context"
	"errors"
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/runsclient"
)

// canceled checks that a run that is followed ends as canceled.
func canceled(t *testing.T, c *runsclient.Client, runID string, tools []runsclient.Tool, when string) []runsclient.Event {
	t.Helper()
	r, err := c.Drive(t.Context(), runID, tools, 0, func(e runsclient.Event) {
		if e.Type == when {
			if err := c.Cancel(t.Context(), runID); err != nil {
				t.Error(err)
			}
		}
	})
	if !wasCanceled(err) {
		t.Fatalf("the run ends with %v, after %s", err, shown(r))
	}
	s, err := c.Snapshot(t.Context(), runID)
	if err != nil || s.Status != "cancelled" || s.EndedAt == nil {
		t.Errorf("the snapshot is %+v, %v", s, err)
	}
	if err := c.Cancel(t.Context(), runID); err != nil {
		t.Errorf("a second cancel: %v", err)
	}
	return r.Events
}

func wasCanceled(err error) bool {
	failed, ok := errors.AsType[*runsclient.RunError](err)
	return ok && failed.Subtype == "cancelled"
}

func TestARunIsCanceledWhileItWorks(t *testing.T) {
	t.Parallel()
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		made, err := c.Create(t.Context(), ask("slow", "Go."))
		if err != nil {
			t.Fatal(err)
		}
		events := canceled(t, c, made.RunID, nil, "assistant_delta")
		has(t, events[len(events)-1], object{"reason": "user"})
	})
}

func TestARunIsCanceledWhileItWaits(t *testing.T) {
	t.Parallel()
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		never := runsclient.Local("weather", nil, func(ctx context.Context, _ object) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		})
		made, err := c.Create(t.Context(), ask("local_tool", "Go.", never))
		if err != nil {
			t.Fatal(err)
		}
		canceled(t, c, made.RunID, []runsclient.Tool{never}, "local_tool_call")
		// A late result for the waiting call is accepted and discarded.
		if err := c.Answer(t.Context(), made.RunID, "call_a", object{"result": "sunny"}); err != nil {
			t.Errorf("a result after the cancel: %v", err)
		}
		refused(t, c.Answer(t.Context(), made.RunID, "call_z", object{"result": "sunny"}), 409, "run_terminal")
	})
}

func TestARunIsCanceledBeforeItBegins(t *testing.T) {
	t.Parallel()
	forEachSDK(t, func(t *testing.T, c *runsclient.Client) {
		s, err := c.CreateSession(t.Context(), ask("slow", ""))
		if err != nil {
			t.Fatal(err)
		}
		first, err := s.Post(t.Context(), runsclient.Spec{Prompt: "Go."})
		if err != nil {
			t.Fatal(err)
		}
		second, err := s.Post(t.Context(), runsclient.Spec{Prompt: "And on."})
		if err != nil {
			t.Fatal(err)
		}
		if snapshot, err := c.Snapshot(t.Context(), second.RunID); err != nil || snapshot.Status != "queued" {
			t.Errorf("the second run is %+v, %v", snapshot, err)
		}
		if err := c.Cancel(t.Context(), second.RunID); err != nil {
			t.Fatal(err)
		}
		events := canceled(t, c, second.RunID, nil, "")
		expect(t, events, "assistant_message")
		canceled(t, c, first.RunID, nil, "assistant_delta")
		if info, err := s.Info(t.Context()); err != nil || len(info.Messages) > 0 {
			t.Errorf("the session holds %+v, %v", info, err)
		}
	})
}

func TestTheCancelOfAFinishedRunChangesNothing(t *testing.T) {
	t.Parallel()
	c := serve(t).client(runsclient.Go)
	r, err := c.Run(t.Context(), ask("hello", "Hi."))
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Cancel(t.Context(), r.RunID); err != nil {
		t.Error(err)
	}
	again, err := c.Drive(t.Context(), r.RunID, nil, 0, nil)
	if err != nil || len(again.Events) != len(r.Events) {
		t.Errorf("the run ends with %v, after %s", err, shown(again))
	}
}

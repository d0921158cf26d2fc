package evals_test

import (
	"context"
	"iter"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/app/evals"
	"github.com/agentruntime/agentruntime/model"
)

// streaming is a provider that gives its answers in order, in chunks of two bytes. A text with an
// order becomes the arguments of a call to lookup. outage is an answer that fails.
type streaming struct{ answers []string }

const outage = "overloaded"

func (s *streaming) Stream(context.Context, *model.Request) iter.Seq2[model.Event, error] {
	text := s.answers[0]
	s.answers = s.answers[1:]
	return func(yield func(model.Event, error) bool) {
		if text == outage {
			yield(model.Event{}, &model.Error{Class: model.Overloaded, Message: outage})
			return
		}
		piece, reason := model.EventText, model.FinishStop
		if strings.HasPrefix(text, `{"order"`) {
			piece, reason = model.EventToolCallDelta, model.FinishToolCalls
			yield(model.Event{Type: model.EventToolCallStart, ID: "c1", Name: "lookup"}, nil)
		}
		for ; text != ""; text = text[min(2, len(text)):] {
			yield(model.Event{Type: piece, Delta: text[:min(2, len(text))]}, nil)
		}
		if reason == model.FinishToolCalls {
			yield(model.Event{Type: model.EventToolCallEnd}, nil)
		}
		yield(model.Event{Type: model.EventFinish, Reason: reason}, nil)
	}
}

// TestACaseWithSecretsIsReplayed streams a secret in pieces of arguments and text, and returns
// another secret from a tool.
func TestACaseWithSecretsIsReplayed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const secret, result = "s3cr3t-value", "order 7: 20 EUR"
	hide := strings.NewReplacer(secret, "***", result, "${RESULT}").Replace
	const cases = "c: {agent: clerk, turns: [{prompt: " + secret + ", expect: {calls: {calls: [{rule: lookup}]}, text: {contains: [Done]}}}]}"
	provider := &streaming{answers: []string{`{"order": "` + secret + `"}`, "Done with " + secret + "."}}
	for _, runner := range []*evals.Runner{
		{Runtime: newShop(t, provider).runtime, Mode: evals.ModeRecord},
		{Runtime: newShop(t, unasked{t}).runtime},
	} {
		runner.Suite, runner.Redact = loadCasesIn(t, dir, cases), hide
		if r, failures := only(t, runner); r.Status != evals.Passed {
			t.Errorf("%s: %s: %q", runner.Mode, r.Status, failures)
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "recordings", "c.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(data), "Done with ***.") || !strings.Contains(string(data), `"delta":"{\"order\":\"***\"}"`) || strings.Contains(string(data), result) {
		t.Errorf("the recording is\n%s", data)
	}
}

// TestAnOutageKeepsTheRecording records a case again during a provider outage.
func TestAnOutageKeepsTheRecording(t *testing.T) {
	t.Parallel()
	const grade = `{"scores":[{"score":5,"comment":"good"}]}`
	const suite = "c: {agent: clerk, turns: [{prompt: hi}, {prompt: more, expect: {judges: [{type: model, model_id: judge, rubric: kind}]}}]}"
	for _, c := range []struct {
		name    string
		answers []string
		status  evals.Status
	}{
		{"none", []string{"new", "new", grade}, evals.Passed},
		{"in the first turn", []string{outage, outage, outage, outage, outage}, evals.Errored},
		{"in the second turn", []string{"new", outage, outage, outage, outage}, evals.Errored},
		{"of the judge", []string{"new", "new", outage, outage, outage, outage}, evals.Errored},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			provider := &streaming{answers: []string{"old", "old", grade}}
			s := newShop(t, provider)
			files := func() string {
				var all string
				for _, name := range []string{"c.jsonl", "c.judges.jsonl"} {
					data, err := os.ReadFile(filepath.Join(dir, "recordings", name))
					if err != nil {
						t.Fatal(err)
					}
					all += string(data)
				}
				return all
			}
			runner := &evals.Runner{Runtime: s.runtime, Suite: loadCasesIn(t, dir, suite), Mode: evals.ModeRecord}
			if r, failures := only(t, runner); r.Status != evals.Passed {
				t.Fatalf("%s: %q", r.Status, failures)
			}
			before := files()
			provider.answers = c.answers
			r, failures := only(t, runner)
			if r.Status != c.status || r.Status == evals.Errored && !strings.Contains(failures[0], outage) {
				t.Errorf("%s: %q", r.Status, failures)
			}
			if kept := files() == before; kept != (c.status == evals.Errored) {
				t.Errorf("kept is %v", kept)
			}
		})
	}
}

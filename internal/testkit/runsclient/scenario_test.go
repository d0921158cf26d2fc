package runsclient_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/internal/testkit/runsclient"
)

// object is a JSON object.
type object = map[string]any

// ask is a run spec for a scripted model.
func ask(model, prompt string, tools ...runsclient.Tool) runsclient.Spec {
	return runsclient.Spec{ModelID: model + "-1", SystemPrompt: "You help.", Prompt: prompt, Tools: tools}
}

// weather is a client tool that answers with one word.
func weather(answer string, err error) runsclient.Tool {
	parameters := object{"type": "object", "properties": object{"city": object{"type": "string"}}, "required": []string{"city"}}
	return runsclient.Local("weather", parameters, func(context.Context, object) (string, error) { return answer, err })
}

// types returns the types of events, with repetitions collapsed.
func types(events []runsclient.Event) string {
	var all []string
	for _, e := range events {
		all = append(all, e.Type)
	}
	return strings.Join(slices.Compact(all), " ")
}

// expect checks that the events of a type have these payloads in order; only the given fields are
// compared.
func expect(t *testing.T, events []runsclient.Event, kind string, want ...object) {
	t.Helper()
	var got []object
	for _, e := range events {
		if e.Type != kind {
			continue
		}
		part := e.Payload
		if len(got) < len(want) {
			part = object{}
			for name := range want[len(got)] {
				part[name] = e.Payload[name]
			}
		}
		got = append(got, part)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the events %s differ (-want +got):\n%s", kind, diff)
	}
}

// succeeds runs a spec, and returns its events.
func succeeds(t *testing.T, c *runsclient.Client, spec runsclient.Spec, text string) []runsclient.Event {
	t.Helper()
	r, err := c.Run(t.Context(), spec)
	if err != nil {
		t.Fatalf("%v, after %s", err, shown(r))
	}
	if r.Text != text {
		t.Errorf("the answer is %q, want %q", r.Text, text)
	}
	return r.Events
}

// fails runs a spec that must fail and returns its error.
func fails(t *testing.T, c *runsclient.Client, spec runsclient.Spec, subtype string) *runsclient.RunError {
	t.Helper()
	r, err := c.Run(t.Context(), spec)
	failed := new(runsclient.RunError)
	if !errors.As(err, &failed) || failed.Subtype != subtype {
		t.Fatalf("the run ends with %v, want %s, after %s", err, subtype, shown(r))
	}
	return failed
}

func shown(r *runsclient.Result) string {
	if r == nil {
		return "nothing"
	}
	var b strings.Builder
	for _, e := range r.Events {
		fmt.Fprintf(&b, "\n%d %s %v", e.Seq, e.Type, e.Payload)
	}
	return b.String()
}

// has checks fields of an event.
func has(t *testing.T, e runsclient.Event, want object) {
	t.Helper()
	expect(t, []runsclient.Event{e}, e.Type, want)
}

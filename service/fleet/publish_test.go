package fleet_test

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/agentruntime/agentruntime/service/fleet"
	"github.com/agentruntime/agentruntime/store"
	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"
)

// change publishes a configuration that replaces the current revision.
func (p *process) change(text string) (*fleet.Published, error) {
	return p.fleet.Publish(p.t.Context(), &fleet.Change{Document: []byte(text), Expected: p.fleet.Running().Hash, Author: "ann", Note: "a change"})
}

// promptOf returns an agent's current prompt.
func (p *process) promptOf(agent string) string {
	a, ok := p.runtime.Revision().Set().Agents.Get(agent)
	if !ok {
		return "none"
	}
	return string(a.SystemPrompt)
}

func TestWhatIsPublishedCountsFromThenOn(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, risky: true, exec: asksOnce()}
	one := p.start(t, oldConfig)
	id := one.wait("clerk")
	out, err := one.change(newConfig)
	if err != nil || out.Number != 2 || out.Unchanged || out.Diff.Same {
		t.Fatalf("%+v: %v", out, err)
	}
	if one.promptOf("clerk") != "new" || one.fleet.Running().Number != 2 {
		t.Errorf("it runs %+v", one.fleet.Running())
	}
	if turn := one.approve(id); turn.Status != store.Succeeded || one.prompts() != "old, old" {
		t.Errorf("the turn is %s with the prompts %s", turn.Status, one.prompts())
	}
	again, err := one.change(newConfig)
	if err != nil || !again.Unchanged || again.Number != 2 {
		t.Errorf("published again: %+v: %v", again, err)
	}
	one.stop()
	// From then on the store is authoritative, whatever the files contain.
	if next := p.start(t, oldConfig); next.promptOf("clerk") != "new" || next.fleet.Running().Number != 2 {
		t.Errorf("after a restart the prompt is %s", next.promptOf("clerk"))
	}
}

// A process whose files differ from the store logs that they are ignored.
func TestIgnoredFilesAreLogged(t *testing.T) {
	core, logs := observer.New(zap.InfoLevel)
	p := program{store: newStore(t), fromStore: true, risky: true, exec: asksOnce(), logger: zap.New(core)}
	one := p.start(t, oldConfig)
	p.start(t, oldConfig)
	if n := logs.FilterMessageSnippet("ignored").Len(); n != 0 || one.fleet.ReportIgnored(one.file) {
		t.Errorf("the same declarations are ignored: %d entries", n)
	}
	if _, err := one.change(newConfig); err != nil {
		t.Fatal(err)
	}
	p.start(t, oldConfig)
	entries := logs.FilterMessageSnippet("agents of the files ignored").All()
	if len(entries) != 1 || entries[0].ContextMap()["number"] != uint64(2) || !one.fleet.ReportIgnored(one.file) {
		t.Errorf("the log has %v", entries)
	}
}

func TestEveryAttemptIsRecorded(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, risky: true, exec: asksOnce()}
	one := p.start(t, newConfig)
	expected := one.fleet.Running().Hash
	refused := map[string]func(error) bool{
		"agents: {clerk: {model_id: none}}\n": func(err error) bool { return errors.As(err, new(*fleet.InvalidError)) },
		"agents: [":                           func(err error) bool { return errors.As(err, new(*fleet.InvalidError)) },
	}
	for text, is := range refused {
		if _, err := one.change("version: 1\n" + text); !is(err) {
			t.Errorf("%s: %v", text, err)
		}
	}
	_, err := one.fleet.Publish(t.Context(), &fleet.Change{Document: []byte(oldConfig), Expected: "another"})
	conflict, ok := errors.AsType[*store.RevisionConflictError](err)
	if !ok || conflict.Current.Hash != expected {
		t.Errorf("with another expected: %v", err)
	}
	_, err = one.fleet.Publish(t.Context(), &fleet.Change{Document: []byte(moreConfig), Expected: expected, FailOn: fleet.FailOnWidened})
	widened, ok := errors.AsType[*fleet.EffectError](err)
	if !ok || widened.Effect != fleet.FailOnWidened || !strings.Contains(err.Error(), "other") || !widened.Diff.Widened {
		t.Errorf("a new agent: %v", err)
	}
	dry, err := one.fleet.Publish(t.Context(), &fleet.Change{Document: []byte(moreConfig), Expected: expected, DryRun: true})
	if err != nil || dry.Number != 0 || !dry.Diff.Widened {
		t.Errorf("a dry run: %+v: %v", dry, err)
	}
	if _, err := one.change(moreConfig); err != nil {
		t.Error(err)
	}
	page, err := p.store.RevisionAttempts(t.Context(), store.RevisionQuery{})
	if err != nil {
		t.Fatal(err)
	}
	got := map[store.RevisionOutcome]int{}
	for _, a := range page.Attempts {
		got[a.Outcome]++
	}
	if got[store.RevisionPublished] != 1 || got[store.RevisionConflicted] != 1 || got[store.RevisionRefused] != 3 || len(page.Attempts) != 5 {
		t.Errorf("the attempts are %v", got)
	}
}

func TestFilesCannotBePublishedOver(t *testing.T) {
	p := program{store: newStore(t), risky: true, exec: asksOnce()}
	one := p.start(t, oldConfig)
	if _, err := one.change(newConfig); !errors.Is(err, fleet.ErrFromFiles) {
		t.Errorf("the error is %v", err)
	}
	if one.promptOf("clerk") != "old" {
		t.Error("it was published")
	}
}

func TestOneOfTwoPublishersHasAConflict(t *testing.T) {
	kept := newStore(t)
	p := program{store: kept, fromStore: true, risky: true, exec: asksOnce()}
	one, other := p.start(t, oldConfig), p.start(t, oldConfig)
	var published, conflicts atomic.Int32
	var both sync.WaitGroup
	for i, from := range []*process{one, other} {
		text := []string{newConfig, strings.Replace(newConfig, "new", "newer", 1)}[i]
		both.Go(func() {
			_, err := from.change(text)
			var conflict *store.RevisionConflictError
			switch {
			case err == nil:
				published.Add(1)
			case errors.As(err, &conflict) && conflict.Current.Number == 2 && conflict.Current.Author == "ann":
				conflicts.Add(1)
			default:
				t.Error(err)
			}
		})
	}
	both.Wait()
	if published.Load() != 1 || conflicts.Load() != 1 {
		t.Errorf("%d were published, %d had a conflict", published.Load(), conflicts.Load())
	}
}

// Replicas follow notifications or, without them, the store.
func TestReplicasFollow(t *testing.T) {
	for name, hears := range map[string]bool{"by notification": true, "by asking": false} {
		t.Run(name, func(t *testing.T) {
			p := program{store: newStore(t), fromStore: true, risky: true, exec: asksOnce()}
			other := p.start(t, oldConfig)
			other.follow()
			if hears {
				p.notify = func() { other.fleet.Heard([]string{fleet.NotifyID}) }
			}
			one := p.start(t, oldConfig)
			if _, err := one.change(newConfig); err != nil {
				t.Fatal(err)
			}
			other.until("the replica follows", func() bool { return other.fleet.Running().Number == 2 })
			if other.promptOf("clerk") != "new" {
				t.Errorf("the prompt is %s", other.promptOf("clerk"))
			}
		})
	}
}

// A replica that cannot build the current revision continues with its own and reports this.
func TestAReplicaThatCannotFollowSaysSo(t *testing.T) {
	p := program{store: newStore(t), fromStore: true, risky: true, exec: asksOnce()}
	other := p.start(t, oldConfig)
	other.follow()
	p.env = map[string]string{"PROMPT": "new"}
	one := p.start(t, oldConfig)
	out, err := one.change(strings.Replace(newConfig, "new", "${PROMPT}", 1))
	if err != nil {
		t.Fatal(err)
	}
	other.until("the replica says so", func() bool { return other.fleet.Running().Wanted != "" })
	r := other.fleet.Running()
	if r.Number != 1 || r.Wanted != out.Hash || !strings.Contains(r.Problem, "PROMPT") || other.promptOf("clerk") != "old" {
		t.Errorf("it runs %+v with the prompt %s", r, other.promptOf("clerk"))
	}
	if one.promptOf("clerk") != "new" {
		t.Errorf("the prompt is %s", one.promptOf("clerk"))
	}
}

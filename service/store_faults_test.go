package service_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/internal/testkit/turntest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/agentruntime/agentruntime/store/postgres/river"
	"github.com/agentruntime/agentruntime/store/sqlite"
	"github.com/agentruntime/agentruntime/tools"
)

// full is a store whose disk may be full, or that refuses the text of a commit.
type full struct {
	store.Store
	full, text atomic.Bool
	// refused counts the commits that did not fit, and claims the turns that were
	// claimed.
	refused, claims atomic.Int32
}

func (f *full) Commit(ctx context.Context, c *store.Commit) error {
	switch {
	case f.full.Load():
		f.refused.Add(1)
		return fmt.Errorf("commit: %w: no room", store.ErrNotWritable)
	case f.text.Load():
		return fmt.Errorf("commit: %w", store.ErrText)
	}
	return f.Store.Commit(ctx, c)
}

func (f *full) Claim(ctx context.Context, c *store.Claim) (*store.Claimed, error) {
	if f.full.Load() {
		return nil, store.ErrNotWritable
	}
	f.claims.Add(1)
	return f.Store.Claim(ctx, c)
}

func (f *full) Heartbeat(ctx context.Context, worker string, lease time.Duration, held []store.Held) ([]string, error) {
	if f.full.Load() {
		return nil, store.ErrNotWritable
	}
	return f.Store.Heartbeat(ctx, worker, lease, held)
}

func (f *full) Reap(ctx context.Context, now time.Time) (int, error) {
	if f.full.Load() {
		return 0, store.ErrNotWritable
	}
	return f.Store.Reap(ctx, now)
}

// halting is a runtime of one agent with a tool that calls halt.
func halting(t *testing.T, halt func()) *runtime.AgentRuntime {
	t.Helper()
	exec := turntest.Scripts(map[string][]turntest.Answer{"a": {turntest.Calls("c", "halt", `{}`), {Text: "done"}}})
	b := turntest.WithAgents(exec, spec.Agent{ID: "a"})
	return turntest.Build(t, b.WithTool("halt", turntest.ToolFunc(func(context.Context, *tools.Call) (tools.Result, error) {
		halt()
		return tools.TextResult("halted"), nil
	})))
}

// corrupt is a store whose states are of no turn.
type corrupt struct {
	store.Store
	state string
}

func (c corrupt) Claim(ctx context.Context, claim *store.Claim) (*store.Claimed, error) {
	claimed, err := c.Store.Claim(ctx, claim)
	if err == nil {
		claimed.State = []byte(c.state)
	}
	return claimed, err
}

func TestATurnWithAStateOfNoTurnFails(t *testing.T) {
	t.Parallel()
	for _, state := range []string{
		`{`, `{"version":99,"agent":"a"}`, `{"version":1,"agent":"a","remote":{"id":"x","outcome":"suspended","tickets":[null]}}`,
	} {
		s := serve(t, halting(t, func() { t.Error("the turn goes on") }), on(corrupt{newMemory(t), state}))
		end := ended(t, s, create(t, s, says(session(t, s, "a"), "go")).ID)
		if end.Status != store.Failed || end.Outcome == nil || end.Outcome.Termination.Code != backend.CodeInternal {
			t.Errorf("%s: the turn is %s: %+v", state, end.Status, end.Outcome)
		}
	}
}

func TestATurnGoesOnWhereTheStoreTakesWritesAgain(t *testing.T) {
	t.Parallel()
	disk := &full{Store: newMemory(t)}
	var ran atomic.Int32
	s := serve(t, halting(t, func() { ran.Add(1); disk.full.Store(true) }), on(disk), func(v *service.Settings) { v.Lease, v.Strikes = 200*time.Millisecond, 1 })
	turn := create(t, s, says(session(t, s, "a"), "go"))
	eventually(t, func() string {
		if n := disk.refused.Load(); n < 4 { // longer than the lease
			return fmt.Sprintf("%d commits are refused", n)
		}
		return ""
	})
	if kept, err := s.GetTurn(t.Context(), alice, turn.ID); err != nil || kept.Status != store.Running {
		t.Fatalf("while the disk is full the turn is %v, %v", kept, err)
	}
	disk.full.Store(false)
	end := ended(t, s, turn.ID)
	if end.Status != store.Succeeded || ran.Load() != 1 || disk.claims.Load() != 1 || end.Strikes != 0 {
		t.Errorf("the turn is %s after %d calls, %d claims and %d strikes: %+v", end.Status, ran.Load(), disk.claims.Load(), end.Strikes, end.Outcome)
	}
	log(t, s, turn.ID)
}

func TestAWorkerThatIsStoppedDoesNotWaitForTheStore(t *testing.T) {
	t.Parallel()
	disk := &full{Store: newMemory(t)}
	s := serve(t, halting(t, func() { disk.full.Store(true) }), on(disk))
	create(t, s, says(session(t, s, "a"), "go"))
	eventually(t, func() string {
		if disk.refused.Load() == 0 {
			return "no commit is refused"
		}
		return ""
	})
	began := time.Now()
	s.Close()
	if took := time.Since(began); took > 10*time.Second {
		t.Errorf("it stops after %s", took)
	}
}

func TestATextThatCannotBeStoredEndsTheTurnAtOnce(t *testing.T) {
	t.Parallel()
	disk := &full{Store: newMemory(t)}
	s := serve(t, halting(t, func() { disk.text.Store(true) }), on(disk))
	turn := create(t, s, says(session(t, s, "a"), "go"))
	end := ended(t, s, turn.ID)
	if end.Status != store.Failed || end.Outcome.Termination.Code != service.CodeInvalidText || disk.claims.Load() != 1 {
		t.Errorf("the turn is %s after %d claims: %+v", end.Status, disk.claims.Load(), end.Outcome)
	}
	log(t, s, turn.ID)
}

// babbler is a model that answers with given events, and ends with "done".
type babbler struct{ says []model.Event }

func (b *babbler) Stream(_ context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		said := b.says
		if last := req.Messages[len(req.Messages)-1]; last.Role != model.RoleUser || last.Text() != "go" {
			said = []model.Event{{Type: model.EventText, Delta: "done"}, {Type: model.EventFinish, Reason: model.FinishStop}}
		}
		for _, ev := range said {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// babble draws what a model may send: any bytes wherever there is text.
func babble(t *rapid.T) []model.Event {
	text := rapid.OneOf(
		rapid.SampledFrom([]string{"", "look", "plain", "\x00", "a\x00b", "\xff\xfe", "\xed\xa0\x80", `{"v":`, `{}`, `null`, `{"v":"\u0000"}`, `{"a":1,"a":1e999}`, strings.Repeat("[", 2000)}),
		rapid.String(), rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 64), func(b []byte) string { return string(b) }),
	)
	said := []model.Event{
		{Type: model.EventReasoning, Delta: text.Draw(t, "reasoning")},
		{Type: model.EventReasoningEncrypted, Delta: text.Draw(t, "encrypted"), ID: text.Draw(t, "item")},
		{Type: model.EventText, Delta: "." + text.Draw(t, "text")}, // an empty answer is an error
	}
	for i := range rapid.IntRange(0, 3).Draw(t, "calls") {
		said = append(said,
			model.Event{Type: model.EventToolCallStart, Index: i, ID: text.Draw(t, "id"), Name: text.Draw(t, "name")},
			model.Event{Type: model.EventToolCallDelta, Index: i, Delta: text.Draw(t, "arguments")},
			model.Event{Type: model.EventToolCallEnd, Index: i, Delta: text.Draw(t, "more")})
	}
	return append(said, model.Event{Type: model.EventFinish, Reason: model.FinishReason(text.Draw(t, "reason"))})
}

// onEachStore returns a service on a store of each driver.
func onEachStore(t *testing.T, rt *runtime.AgentRuntime) map[string]*service.Service {
	t.Helper()
	settings := store.Settings{DSN: pgtest.Start(t).Database(t)}
	file, err := sqlite.Open(t.Context(), store.Settings{DSN: filepath.Join(t.TempDir(), "runtime.db")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := postgres.Migrate(t.Context(), settings); err != nil {
		t.Fatal(err)
	}
	database, err := postgres.Open(t.Context(), settings)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = file.Close(), database.Close() })
	if _, err := river.Migrate(t.Context(), database.Pool()); err != nil {
		t.Fatal(err)
	}
	queue, err := river.New(database.Pool(), river.Settings{Concurrency: 4})
	if err != nil {
		t.Fatal(err)
	}
	return map[string]*service.Service{
		"memory": serve(t, rt), "sqlite": serve(t, rt, on(file)),
		"postgres": serve(t, rt, on(database), func(v *service.Settings) { v.Dispatcher = queue }),
	}
}

func TestAnyBytesOfAModelGiveTheSameTurnInEachStore(t *testing.T) {
	exec := new(babbler)
	var kept []byte
	rt := turntest.Build(t, turntest.WithAgents(exec, spec.Agent{ID: "a", ToolExecution: spec.Sequential}).WithTool("look", turntest.ToolFunc(func(_ context.Context, c *tools.Call) (tools.Result, error) {
		_, err := c.Session.KeepArtifact(tools.Artifact{Name: string(c.Arguments) + string(kept), MediaType: "a\x00\xff", Data: []byte{0}})
		return tools.TextResult(string(c.Arguments) + string(kept)), err
	})))
	services := onEachStore(t, rt)
	rapid.Check(t, func(r *rapid.T) {
		exec.says, kept = babble(r), rapid.SliceOfN(rapid.Byte(), 0, 16).Draw(r, "kept")
		turns := make(map[string]string)
		for name, s := range services {
			turn := create(t, s, says(session(t, s, "a"), "go"))
			end := ended(t, s, turn.ID)
			turns[name] = string(end.Status) + " " + end.Outcome.Response + "\n" + story(t, s, turn.ID)
		}
		if turns["sqlite"] != turns["memory"] || turns["postgres"] != turns["memory"] {
			r.Fatalf("the turns differ:\n%q\n%q\n%q", turns["memory"], turns["sqlite"], turns["postgres"])
		}
		if !strings.HasPrefix(turns["memory"], string(store.Succeeded)) {
			r.Fatalf("the turn is %q", turns["memory"])
		}
	})
}

// story returns the events of a turn without what differs from turn to turn. Deltas
// are joined, since how they are cut is a matter of time.
func story(t testing.TB, s *service.Service, id string) string {
	t.Helper()
	var b strings.Builder
	texts := make(map[event.Type]string)
	for _, r := range log(t, s, id) {
		var fields map[string]any
		decoder := json.NewDecoder(bytes.NewReader(r.Data))
		decoder.UseNumber() // a model may write numbers that no float64 holds
		if err := decoder.Decode(&fields); err != nil {
			t.Fatalf("the event %s cannot be read: %v", r.Data, err)
		}
		if delta, ok := fields["delta"].(string); ok {
			texts[r.Type] += delta
			continue
		}
		if r.Type == event.TypeToolCallDelta {
			continue
		}
		for _, name := range []string{"duration_ms", "message_id", "artifact", "revision"} {
			delete(fields, name)
		}
		if r.Type == event.TypeArtifact {
			delete(fields, "id")
		}
		fmt.Fprintf(&b, "%s %v\n", r.Type, fields)
	}
	fmt.Fprintf(&b, "%q", texts)
	return b.String()
}

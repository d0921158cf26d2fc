package agents_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/agents"
	"github.com/agentruntime/agentruntime/agents/wire"
	"github.com/agentruntime/agentruntime/builder"
	"github.com/agentruntime/agentruntime/internal/testkit/killtest"
	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/postgres"
	"github.com/agentruntime/agentruntime/store/postgres/river"
	"github.com/agentruntime/agentruntime/store/sqlite"
	"github.com/agentruntime/agentruntime/tools"
	"pgregory.net/rapid"
)

// plenty is a strike limit that turns whose workers are killed never reach.
const plenty = 1 << 20

// scene is the setting of a story. It is passed to processes as JSON.
type scene struct {
	Driver, DSN, Dir string
	Lease            time.Duration
	Story            story
	// Death is how the process ends; the zero value means it ends with the story.
	Death death
}

// story is a client's sequence of steps.
type story struct {
	Name   string
	Steps  []step
	Deaths []death
}

// step is a turn of a session.
type step struct {
	Session string
	// Text is the input: the tool that the model calls, a mark, and the turn's fate.
	Text string
	// Aborted is set if the turn waits in its code to be aborted, which happens after this many
	// chunks.
	Aborted bool
	Chunks  int
	// Overlaps is set if the next step does not wait for this one.
	Overlaps bool
}

// fails reports whether the code of the step returns an error.
func (s *step) fails() bool { return strings.HasSuffix(s.Text, "to fail") }

// death is a point at which a process dies: the Count-th point of a kind.
type death struct {
	Kind  string
	Count int
}

// The kinds of points: before and after a store operation, in the middle of a model response,
// before and after a tool's action, and in the agent's code.
var kindsOfDeath = map[string]int{"store": 40, "model": 10, "tool": 6, "code": 5}

// stories draws a story.
var stories = rapid.Custom(func(t *rapid.T) story {
	var out story
	places := []string{"before", "between", "after"}
	for i := range rapid.IntRange(3, 6).Draw(t, "steps") {
		tool := rapid.SampledFrom([]string{"hello", "work", "pay", "ask"}).Draw(t, "tool")
		s := step{Session: rapid.SampledFrom([]string{"one", "one", "two"}).Draw(t, "session"), Text: fmt.Sprintf("%s m%d", tool, i)}
		switch rapid.SampledFrom([]string{"run", "run", "fail", "abort"}).Draw(t, "fate") {
		case "fail":
			s.Text += " to fail"
		case "abort":
			place := rapid.SampledFrom(places).Draw(t, "place")
			s.Text, s.Aborted, s.Chunks = s.Text+" stop at "+place, true, rapid.IntRange(0, 3).Draw(t, "chunks")
			if place == "before" {
				s.Chunks = min(s.Chunks, 1)
			}
		}
		s.Overlaps = !s.Aborted && tool != "ask" && rapid.Bool().Draw(t, "overlaps")
		out.Steps = append(out.Steps, s)
	}
	for _, session := range []string{"one", "two"} {
		out.Steps = append(out.Steps, step{Session: session, Text: "hello last"})
	}
	kinds := []string{"store", "store", "model", "tool", "code"}
	for range rapid.IntRange(1, 4).Draw(t, "deaths") {
		kind := rapid.SampledFrom(kinds).Draw(t, "kind")
		out.Deaths = append(out.Deaths, death{kind, rapid.IntRange(1, kindsOfDeath[kind]).Draw(t, "count")})
	}
	return out
})

// mortal kills its process at a point.
type mortal struct {
	kind  string
	point *killtest.Point
}

// pass counts a point of a kind. The process may die there.
func (m *mortal) pass(kind string) {
	if kind == m.kind {
		m.point.Pass()
	}
}

// mortalStore is a store whose process dies before or after an operation.
type mortalStore struct {
	store.Store
	*mortal
}

// around calls an operation between two points.
func around[T any](m *mortal, do func() (T, error)) (T, error) {
	m.pass("store")
	defer m.pass("store")
	return do()
}

func (m *mortalStore) CreateSession(ctx context.Context, n *store.NewSession) (*store.Session, error) {
	return around(m.mortal, func() (*store.Session, error) { return m.Store.CreateSession(ctx, n) })
}

func (m *mortalStore) CreateTurn(ctx context.Context, n *store.NewTurn) (*store.Turn, error) {
	return around(m.mortal, func() (*store.Turn, error) { return m.Store.CreateTurn(ctx, n) })
}

func (m *mortalStore) Claim(ctx context.Context, c *store.Claim) (*store.Claimed, error) {
	return around(m.mortal, func() (*store.Claimed, error) { return m.Store.Claim(ctx, c) })
}

func (m *mortalStore) AnswerInteraction(ctx context.Context, r *store.Answer) (*store.Interaction, error) {
	return around(m.mortal, func() (*store.Interaction, error) { return m.Store.AnswerInteraction(ctx, r) })
}

func (m *mortalStore) EndTurn(ctx context.Context, e *store.EndTurn) (*store.Turn, error) {
	return around(m.mortal, func() (*store.Turn, error) { return m.Store.EndTurn(ctx, e) })
}

func (m *mortalStore) Commit(ctx context.Context, c *store.Commit) error {
	_, err := around(m.mortal, func() (any, error) { return nil, m.Store.Commit(ctx, c) })
	return err
}

// mortalClerk is a clerk whose process dies in the middle of an answer.
type mortalClerk struct {
	clerk
	*mortal
}

func (m mortalClerk) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		for ev, err := range m.clerk.Stream(ctx, req) {
			m.pass("model")
			if !yield(ev, err) {
				return
			}
		}
	}
}

// mortalAct is a tool that records its calls and whose process dies before or after its action.
type mortalAct struct {
	*mortal
	path   string
	effect tools.Effect
	result string
}

func (a mortalAct) Descriptor() tools.Descriptor {
	return tools.Descriptor{Effect: a.effect, Serial: true}
}

func (a mortalAct) Call(_ context.Context, call *tools.Call) (tools.Result, error) {
	a.pass("tool")
	if err := appendLine(a.path, call.IdempotencyKey+" "+string(a.effect)); err != nil {
		return tools.Result{}, err
	}
	err := agents.UpdateState(call.Session, func(l *ledger) error { return l.enter("tool") })
	a.pass("tool")
	return tools.TextResult(a.result), err
}

// appendLine adds a line to a file.
func appendLine(path, line string) error {
	f, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(line + "\n")
	return errors.Join(err, f.Close())
}

// readLines returns the lines of a file, or nil if the file does not exist.
func readLines(path string) ([]string, error) {
	data, err := os.ReadFile(path)
	if errors.Is(err, os.ErrNotExist) || len(data) == 0 {
		return nil, nil
	}
	return strings.Split(strings.TrimSuffix(string(data), "\n"), "\n"), err
}

// actor is a process in a scene.
type actor struct {
	scene *scene
	agent *agents.Agent[ledger]
	stop  []func() error // in this order
}

// calls is the file of tool calls, and begun the file of the steps' snapshots.
func (s *scene) calls() string { return filepath.Join(s.Dir, "calls") }
func (s *scene) begun() string { return filepath.Join(s.Dir, s.Story.Name+".begun") }

// enterScene starts a service that dies at the point of the scene, unless the actor only observes.
func enterScene(ctx context.Context, s *scene, works bool) (a *actor, err error) {
	a = &actor{scene: s}
	defer func() {
		if err != nil {
			err = errors.Join(err, a.leave())
		}
	}()
	m := &mortal{s.Death.Kind, killtest.NewPoint(s.Death.Count)}
	settings := service.Settings{Lease: s.Lease, Strikes: plenty}
	if err := s.open(ctx, works, &settings); err != nil {
		return a, err
	}
	a.stop = append(a.stop, settings.Store.Close)
	settings.Store = &mortalStore{settings.Store, m}
	a.agent, err = agents.Coded("book", func(ctx context.Context, t *agents.Turn[ledger]) (*agents.Result, error) {
		return keepBook(ctx, t, func(place string) error {
			m.pass("code")
			if !strings.HasSuffix(t.Input()[0].Text(), "stop at "+place) {
				return nil
			}
			<-ctx.Done()
			return context.Cause(ctx)
		})
	}, agents.Options[ledger]{})
	if err != nil {
		return a, err
	}
	b := builder.New().WithProvider("main", mortalClerk{mortal: m}).WithModel(spec.Model{ID: "m", ProviderID: "main", UpstreamModel: "m"}).
		WithTool("work", mortalAct{m, s.calls(), tools.Idempotent, "worked"}).WithTool("pay", mortalAct{m, s.calls(), tools.Once, "paid"}).
		WithTool("ask", act{asks: true}).WithAgentSpec(spec.Agent{ID: "book", ModelID: "m", SystemPrompt: "You keep the book."})
	if err := agents.Install(b, a.agent); err != nil {
		return a, err
	}
	if settings.Runtime, err = b.Build(); err != nil {
		return a, err
	}
	served := service.New(settings)
	a.stop = slices.Insert(a.stop, 0, func() error { served.Close(); return settings.Runtime.Close() })
	if works {
		if err := served.Start(ctx); err != nil {
			return a, err
		}
	}
	_, err = agents.NewSet(agents.Settings{Service: served, Agents: []agents.Definition{a.agent}})
	return a, err
}

// leave ends the service.
func (a *actor) leave() (err error) {
	for _, stop := range a.stop {
		err = errors.Join(err, stop())
	}
	return err
}

// open opens the scene's store and, for a worker, its queue.
func (s *scene) open(ctx context.Context, works bool, settings *service.Settings) error {
	if s.Driver == "sqlite" {
		kept, err := sqlite.Open(ctx, store.Settings{DSN: s.DSN})
		settings.Store = kept
		if works {
			settings.Dispatcher = newQueue()
		}
		return err
	}
	kept, err := postgres.Open(ctx, store.Settings{DSN: s.DSN})
	if err != nil {
		return err
	}
	settings.Store, settings.Notifier = kept, kept.Notifier()
	if !works {
		return nil
	}
	settings.Dispatcher, err = river.New(kept.Pool(), river.Settings{})
	return err
}

// runMortal is a process that continues a story until it dies.
func runMortal(s *scene) error {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	a, err := enterScene(ctx, s, true)
	if err != nil {
		return err
	}
	return errors.Join(a.play(ctx), a.leave())
}

// play works through the story.
func (a *actor) play(ctx context.Context) error {
	begun, err := readLines(a.scene.begun())
	if err != nil {
		return err
	}
	for i := range a.scene.Story.Steps {
		s := &a.scene.Story.Steps[i]
		if i >= len(begun) {
			id, err := a.begin(ctx, s, begun)
			if err != nil {
				return fmt.Errorf("step %d: %w", i, err)
			}
			if err := appendLine(a.scene.begun(), id); err != nil {
				return err
			}
			begun = append(begun, id)
		}
		if s.Overlaps {
			continue
		}
		for j := range i + 1 {
			if err := a.settle(ctx, &a.scene.Story.Steps[j], begun[j]); err != nil {
				return fmt.Errorf("step %d: %w", j, err)
			}
		}
	}
	return nil
}

// source returns the conversation of a step.
func (a *actor) source(s *step) agents.Source {
	return agents.FromSession(a.scene.Story.Name + " " + s.Session)
}

// begin begins the turn of a step. If a process began it but died before recording that, the
// session's latest turn is used.
func (a *actor) begin(ctx context.Context, s *step, begun []string) (string, error) {
	latest, err := a.agent.LatestSnapshot(ctx, a.scene.Story.Name+" "+s.Session)
	if problem, ok := errors.AsType[*wire.Error](err); err != nil && (!ok || problem.Status != wire.StatusNotFound) {
		return "", err
	}
	if err == nil && !slices.Contains(begun, latest.SnapshotID) {
		return latest.SnapshotID, nil
	}
	out, err := a.agent.Detach(ctx, a.source(s), agents.Text(s.Text), agents.DetachOptions{})
	switch {
	case err != nil:
		return "", err
	case out.FinishReason != wire.FinishDetached:
		return "", fmt.Errorf("the turn is not detached: %s, %w", out.FinishReason, out.Error)
	}
	return out.SnapshotID, nil
}

// settle runs a step's turn to its end: it answers the turn's questions and aborts the turn if the
// step says so.
func (a *actor) settle(ctx context.Context, s *step, id string) error {
	if s.Aborted {
		if err := a.awaitChunks(ctx, id, s.Chunks); err != nil {
			return err
		}
		_, err := a.agent.Abort(ctx, id)
		return err
	}
	for {
		kept, err := a.agent.WaitForSnapshot(ctx, id)
		if err != nil || kept.FinishReason != wire.FinishInterrupted {
			return err
		}
		answers, err := answersTo(kept)
		if err != nil {
			return err
		}
		out, err := a.agent.Detach(ctx, a.source(s), agents.Respond(answers...), agents.DetachOptions{})
		if err == nil && out.Error != nil {
			err = out.Error
		}
		if err != nil {
			return err
		}
	}
}

// awaitChunks waits until a turn has produced n chunks or has stopped.
func (a *actor) awaitChunks(ctx context.Context, id string, n int) error {
	seen := 0
	for _, err := range a.agent.Follow(ctx, id) {
		if err != nil {
			return err
		}
		if seen++; seen >= n {
			return nil
		}
	}
	return nil
}

// countStories returns the number of stories per database and the first seed, from AGENTS_STORIES
// and AGENTS_SEED, or few and a random seed.
func countStories(t *testing.T, few int) (n, seed int) {
	t.Helper()
	n, seed = few, rand.IntN(1<<30)
	for name, value := range map[string]*int{"AGENTS_STORIES": &n, "AGENTS_SEED": &seed} {
		if text := os.Getenv(name); text != "" {
			var err error
			if *value, err = strconv.Atoi(text); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
	}
	t.Logf("AGENTS_SEED=%d", seed)
	return n, seed
}

// tellStories kills processes in the middle of random stories, lets others continue, and checks the
// result.
func tellStories(t *testing.T, s *scene, few int) {
	t.Helper()
	n, seed := countStories(t, few)
	kills := make(map[string]int)
	for i := range n {
		s.Story = stories.Example(seed + i)
		s.Story.Name = fmt.Sprintf("story %d", seed+i)
		for _, d := range append(s.Story.Deaths, death{}) {
			if s.Death = d; !killtest.Start(t, s) {
				break
			}
			kills[d.Kind]++
		}
		s.Death = death{}
		checkStory(t, s)
		if t.Failed() {
			t.Fatalf("AGENTS_STORIES=1 AGENTS_SEED=%d: %+v", seed+i, s.Story)
		}
	}
	checkCalls(t, s)
	t.Logf("%d stories, killed: %v", n, kills)
}

// TestPropertyKilledProcessesLoseNothingOfASession kills the process that works on SQLite at random
// points of random stories: before and after it stores something, during model responses, in tools
// and in code. Sessions contain exactly the results of successful turns.
func TestPropertyKilledProcessesLoseNothingOfASession(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := &scene{Driver: "sqlite", DSN: filepath.Join(dir, "turns.db"), Dir: dir}
	if _, err := sqlite.Migrate(t.Context(), store.Settings{DSN: s.DSN}); err != nil {
		t.Fatal(err)
	}
	tellStories(t, s, 10)
}

// TestPropertyAKilledReplicaLosesNothingOfASession does the same on PostgreSQL, while
// another replica works.
func TestPropertyAKilledReplicaLosesNothingOfASession(t *testing.T) {
	t.Parallel()
	s := &scene{Driver: "postgres", DSN: pgtest.Start(t).Database(t), Dir: t.TempDir(), Lease: 600 * time.Millisecond}
	if _, err := postgres.Migrate(t.Context(), store.Settings{DSN: s.DSN}); err != nil {
		t.Fatal(err)
	}
	kept, err := postgres.Open(t.Context(), store.Settings{DSN: s.DSN})
	if err != nil {
		t.Fatal(err)
	}
	_, err = river.Migrate(t.Context(), kept.Pool())
	if err := errors.Join(err, kept.Close()); err != nil {
		t.Fatal(err)
	}
	replica, err := enterScene(t.Context(), s, true)
	if err != nil {
		t.Fatal(err)
	}
	tellStories(t, s, 3)
	if err := replica.leave(); err != nil {
		t.Error(err)
	}
}

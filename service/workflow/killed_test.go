package workflow_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/app"
	"github.com/agentruntime/agentruntime/app/shipped"
	"github.com/agentruntime/agentruntime/internal/testkit/killtest"
	"github.com/agentruntime/agentruntime/internal/testkit/pgtest"
	engine "github.com/agentruntime/agentruntime/service/workflow"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/driver"
)

// death is where a process dies: before or after one of the operations by which the engine
// keeps what a run comes to. What happens in between, such as reading templates and
// conditions, lies between the end of one of them and the beginning of the next.
type death struct {
	Config, Workflow string
	// Point counts the places from 1; 0 stands for no place.
	Point int
}

// points is how many workflows there are to be killed at one point each.
const points = 60

// mortalSteps is a workflow that reads templates and conditions, skips a step, asks a model
// and makes calls that must not be repeated.
const mortalSteps = `  %[1]s:
    events: [{type: %[1]s}]
    steps:
      - {id: first, tool: {name: act, input: {mark: "%[1]s ${{ signal.id }}"}}}
      - {id: ask, inputs: {who: "${{ input.n }}"}, agent: {agent: clerk, prompt: {template: "Judge ${{ inputs.who }}."}}}
      - {id: never, when: {value: "${{ steps.ask.outputs.text }}", equals: "no"}, tool: {name: act, input: {mark: "%[1]s never"}}}
      - {id: last, when: {value: "${{ steps.ask.outputs.text }}", equals: "yes"}, tool: {name: act, input: {mark: "%[1]s ${{ steps.ask.outputs.text }}"}}}
`

// mortalStore is a store whose process dies at a point.
type mortalStore struct {
	store.Store
	workflow string
	point    *killtest.Point
}

// pass counts a place of a workflow, at which the process may die.
func (m *mortalStore) pass(workflow string) {
	if workflow == m.workflow {
		m.point.Pass()
	}
}

func (m *mortalStore) CreateRuns(ctx context.Context, runs []*store.WorkflowRun, cursors []store.ScheduleCursor) ([]string, error) {
	created, err := m.Store.CreateRuns(ctx, runs, cursors)
	for _, r := range runs {
		m.pass(r.WorkflowID)
	}
	return created, err
}

func (m *mortalStore) ClaimRuns(ctx context.Context, c *store.ClaimRuns) ([]*store.WorkflowRun, error) {
	runs, err := m.Store.ClaimRuns(ctx, c)
	for _, r := range runs {
		m.pass(r.WorkflowID)
	}
	return runs, err
}

func (m *mortalStore) SaveRun(ctx context.Context, r *store.WorkflowRun) error {
	m.pass(r.WorkflowID)
	err := m.Store.SaveRun(ctx, r)
	m.pass(r.WorkflowID)
	return err
}

func (m *mortalStore) CreateSession(ctx context.Context, n *store.NewSession) (*store.Session, error) {
	s, err := m.Store.CreateSession(ctx, n)
	m.pass(n.Session.Labels["workflow"])
	return s, err
}

func (m *mortalStore) CreateTurn(ctx context.Context, n *store.NewTurn) (*store.Turn, error) {
	t, err := m.Store.CreateTurn(ctx, n)
	var about struct{ Workflow struct{ ID string } }
	if json.Unmarshal(n.Turn.Metadata, &about) == nil {
		m.pass(about.Workflow.ID)
	}
	return t, err
}

// runMortal is a process that publishes an event and ends when its run has ended, unless
// it dies before. Without a point it waits for all runs.
func runMortal(d *death) error {
	components := shipped.Components()
	for i := range components.Stores {
		open := components.Stores[i].Open
		components.Stores[i].Open = func(ctx context.Context, s store.Settings) (*driver.Engine, error) {
			e, err := open(ctx, s)
			if err == nil {
				e.Store = &mortalStore{e.Store, d.Workflow, killtest.NewPoint(d.Point)}
			}
			return e, err
		}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	a, err := app.Open(ctx, app.Options{Files: []string{d.Config}, Components: components})
	if err != nil {
		return err
	}
	if d.Point > 0 {
		if _, _, err := a.Workflows().Publish(ctx, team, []engine.Event{{ID: "e", Type: d.Workflow, Data: json.RawMessage(`{"n":"it"}`)}}); err != nil {
			return err
		}
	}
	if err := awaitEnds(ctx, a.Workflows(), d.Workflow); err != nil {
		return err
	}
	return a.Shutdown(ctx)
}

// awaitEnds waits until no run of a workflow is live; of all workflows if it is empty.
func awaitEnds(ctx context.Context, e *engine.Engine, workflow string) error {
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for {
		live := 0
		for _, status := range []store.RunStatus{store.RunPending, store.RunRunning, store.RunWaiting} {
			list, _, err := e.ListRuns(ctx, team, engine.RunQuery{WorkflowID: workflow, Status: string(status)})
			if err != nil {
				return err
			}
			live += len(list)
		}
		if live == 0 {
			return nil
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// TestARunGoesOnWhereverItsProcessDied kills a process at each point of a run: before and
// after it is kept that the run began, that a step began and what it came to, after the
// run was claimed, and after the session and the turn of a step were made. Others go on.
func TestARunGoesOnWhereverItsProcessDied(t *testing.T) {
	t.Parallel()
	for name, kept := range map[string]func(t *testing.T, dir string) string{
		"sqlite": func(_ *testing.T, dir string) string {
			return fmt.Sprintf("store: {driver: sqlite, data_dir: %s/data}\nturns: {strikes: %d}\n", dir, points)
		},
		"postgres": func(t *testing.T, _ string) string {
			return fmt.Sprintf("store: {driver: postgres, dsn: %q}\nturns: {lease: 1s, strikes: %d}\n", pgtest.Start(t).Database(t), points)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			file := writeMortal(t, dir, kept(t, dir))
			died := 0
			for point := 1; point <= points && killtest.Start(t, &death{Config: file, Workflow: fmt.Sprint("w", point), Point: point}); point++ {
				died = point
			}
			if died < 20 || died == points {
				t.Errorf("a run has %d points", died)
			}
			killtest.Start(t, &death{Config: file})
			checkMortal(t, dir, file, died)
		})
	}
}

// writeMortal writes the configuration of the processes. A process that dies at its point
// may hold turns of earlier runs, too, so none of them fails because too many died.
func writeMortal(t *testing.T, dir, kept string) (file string) {
	t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, `version: 1
providers: {demo: {type: scripted, script: %[1]s/replies.yaml}}
models: {m: {provider_id: demo, upstream_model: x}}
tools: {act: {type: command, description: Acts., command: [tee, -a, %[1]s/act.log], effect: once, parameters: {type: object, properties: {mark: {type: string}}}}}
agents: {clerk: {model_id: m, allowed_tools: []}}
server: {public_url: "https://example.com/agents", keys: [{id: k, hash: "sha256:5e884898da28047151d0e56f8dc6292773603d0d6aabbd62a11ef721d1542d80"}]}
%[2]sworkflows:
`, dir, kept)
	for i := range points {
		fmt.Fprintf(&text, mortalSteps, fmt.Sprint("w", i+1))
	}
	file = filepath.Join(dir, "config.yaml")
	for name, data := range map[string]string{file: text.String(), filepath.Join(dir, "replies.yaml"): "fallback: {text: \"yes\"}\n"} {
		if err := os.WriteFile(name, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return file
}

// checkMortal wants all runs to have ended, with what they had to do done once.
func checkMortal(t *testing.T, dir, file string, died int) {
	t.Helper()
	a, err := app.Open(t.Context(), app.Options{Files: []string{file}, Components: shipped.Components()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := a.Shutdown(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	}()
	list, _, err := a.Workflows().ListRuns(t.Context(), team, engine.RunQuery{Limit: store.MaxPage})
	if err != nil || len(list) != died+1 {
		t.Fatalf("there are %d runs (%v), want %d", len(list), err, died+1)
	}
	w := &world{TB: t, dir: dir}
	marks := make(map[string]int)
	for _, line := range w.lines("act") {
		marks[line]++
	}
	inDoubt := 0
	for _, r := range list {
		first, last := marks[fmt.Sprintf(`{"mark":"%s e"}`, r.WorkflowID)], marks[fmt.Sprintf(`{"mark":"%s yes"}`, r.WorkflowID)]
		switch {
		case r.Status == store.RunSucceeded && (first != 1 || last != 1):
			t.Errorf("%s succeeded with %d first and %d last calls", r.WorkflowID, first, last)
		case r.Status != store.RunSucceeded && !strings.Contains(r.Message, "may or may not have taken effect"):
			t.Errorf("%s is %s: %s", r.WorkflowID, r.Status, r.Message)
		case r.Status != store.RunSucceeded:
			inDoubt++
		}
	}
	for mark, n := range marks {
		if n > 1 || strings.Contains(mark, "never") {
			t.Errorf("the tool was given %s %d times", mark, n)
		}
	}
	t.Logf("%d points, %d runs ended in doubt", died, inDoubt)
}

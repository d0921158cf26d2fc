package workflow

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/agentruntime/agentruntime/store"
	"github.com/agentruntime/agentruntime/store/memory"
	"pgregory.net/rapid"
)

// declared is a Source of workflows that are given.
type declared []*workflow.Workflow

func (d declared) Workflows(context.Context, string) (list []Declared, err error) {
	for _, w := range d {
		list = append(list, Declared{Workflow: w})
	}
	return list, nil
}

func (d declared) Begin(_ context.Context, _, id string) (*workflow.Workflow, string, error) {
	for _, w := range d {
		if w.ID == id {
			return w, "rev", nil
		}
	}
	return nil, "rev", nil
}

func (declared) Check(context.Context, string, *workflow.Workflow) error { return nil }

func (declared) CheckCall(context.Context, string, string) error { return nil }

// process is an engine whose clock is set, and what it knows of schedules. It works on no
// runs.
type process struct {
	*Engine
	t     testing.TB
	store store.Store
	at    time.Time
}

func newProcess(t testing.TB, s store.Store, clock string, flows ...*workflow.Workflow) *process {
	t.Helper()
	p := &process{t: t, store: s}
	p.set(clock)
	e, err := New(Settings{Store: s, Source: declared(flows), Clock: func() time.Time { return p.at }})
	if err != nil {
		t.Fatal(err)
	}
	p.Engine = e
	return p
}

func newStore(t testing.TB) store.Store {
	t.Helper()
	return memory.New(store.Settings{})
}

// set sets the clock: to a time of the first of June, or to one with its day.
func (p *process) set(clock string) {
	p.t.Helper()
	if !strings.Contains(clock, " ") {
		clock = "2026-06-01 " + clock
	}
	at, err := time.Parse("2006-01-02 15:04", clock)
	if err != nil {
		p.t.Fatal(err)
	}
	p.at = at
}

// look sets the clock, makes the runs that are due, and returns how long nothing else is.
func (p *process) look(clock string) time.Duration {
	p.t.Helper()
	p.set(clock)
	return p.fireDue(context.Background())
}

// wantRuns wants runs to have been made for these times, in any order.
func (p *process) wantRuns(about string, want ...string) {
	p.t.Helper()
	page, err := p.store.ListRuns(context.Background(), store.RunQuery{Scope: store.RunScope{All: true}, Page: store.Page{Limit: store.MaxPage}})
	if err != nil {
		p.t.Fatal(err)
	}
	var got []string
	for _, r := range page.Runs {
		_, at, _ := strings.Cut(strings.TrimPrefix(r.ID, "schedule:"), ":")
		got = append(got, strings.TrimSuffix(strings.TrimPrefix(at, "2026-06-01T"), ":00Z"))
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		p.t.Errorf("%s: the runs are %q, want %q", about, got, want)
	}
}

// hourly is a workflow that is due every hour.
func hourly(missed workflow.Missed) *workflow.Workflow {
	return &workflow.Workflow{ID: "w", Schedules: []workflow.Schedule{{Cron: "0 * * * *", Missed: missed}}}
}

func TestAClockThatJumps(t *testing.T) {
	t.Parallel()
	p := newProcess(t, newStore(t), "10:30", hourly(workflow.MissedSkip))
	if wait := p.look("10:30"); wait != tick {
		t.Errorf("a new schedule is looked at again after %s", wait)
	}
	p.wantRuns("a schedule is due from its beginning on")
	p.look("11:00")
	p.look("11:00")
	p.wantRuns("in time", "11:00")
	p.look("08:59") // back
	p.look("09:00")
	p.look("10:00")
	p.look("11:00")
	p.wantRuns("nothing runs again when the clock was put back", "11:00")
	p.look("12:00")
	p.wantRuns("it goes on where it was", "11:00", "12:00")
	p.look("2026-06-01 15:10") // forward
	p.wantRuns("what was passed over is missed", "11:00", "12:00")
	p.look("16:00")
	p.wantRuns("it goes on", "11:00", "12:00", "16:00")
}

func TestTimesThatNoProcessSaw(t *testing.T) {
	t.Parallel()
	for missed, want := range map[workflow.Missed][]string{
		workflow.MissedSkip:   {"11:00", "16:00"},
		workflow.MissedLatest: {"11:00", "15:00", "16:00"},
		workflow.MissedAll:    {"11:00", "12:00", "13:00", "14:00", "15:00", "16:00"},
	} {
		s := newStore(t)
		before := newProcess(t, s, "10:30", hourly(missed))
		before.look("10:30")
		before.look("11:00")
		after := newProcess(t, s, "15:30", hourly(missed))
		after.look("15:30")
		after.look("15:31")
		after.look("16:00")
		after.wantRuns(string(missed), want...)
	}
}

func TestAScheduleThatIsPausedMakesUpForNothing(t *testing.T) {
	t.Parallel()
	p := newProcess(t, newStore(t), "10:30", hourly(workflow.MissedAll))
	p.look("10:30")
	by := service.Caller{Tenant: "default", Subject: "ann"}
	if _, err := p.Pause(t.Context(), by, true, "w", true); err != nil {
		t.Fatal(err)
	}
	p.look("11:00")
	p.look("13:10")
	if s, err := p.GetStart(t.Context(), by, true, "w"); err != nil || !s.Paused || !s.NextRunAt.IsZero() {
		t.Errorf("the schedule is %+v (%v)", s, err)
	}
	if _, err := p.Pause(t.Context(), by, true, "w", false); err != nil {
		t.Fatal(err)
	}
	p.look("13:20")
	p.wantRuns("nothing while it was paused")
	p.look("14:00")
	p.wantRuns("when it is resumed it goes on", "14:00")
}

func TestClocksOfReplicasDiffer(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	ahead, late := newProcess(t, s, "10:30", hourly(workflow.MissedAll)), newProcess(t, s, "10:30", hourly(workflow.MissedAll))
	ahead.look("10:30")
	late.look("10:28")
	ahead.look("11:00")
	late.look("10:58")
	late.look("11:00")
	late.look("11:02")
	ahead.look("12:00")
	late.look("13:00")
	ahead.look("13:01")
	ahead.wantRuns("each time runs once", "11:00", "12:00", "13:00")
}

func TestDaylightSaving(t *testing.T) {
	t.Parallel()
	nightly := &workflow.Workflow{ID: "w", Schedules: []workflow.Schedule{{Cron: "30 2 * * *", TimeZone: "Europe/Berlin", Missed: workflow.MissedAll}}}
	for _, tt := range []struct {
		first, last string
		want        []string
	}{
		{"2026-03-28 00:00", "2026-03-30 12:00", []string{"2026-03-28T01:30", "2026-03-29T01:00", "2026-03-30T00:30"}},
		{"2026-10-24 00:00", "2026-10-26 12:00", []string{"2026-10-24T00:30", "2026-10-25T00:30", "2026-10-26T01:30"}},
	} {
		p := newProcess(t, newStore(t), tt.first, nightly)
		p.look(tt.first)
		last, _ := time.Parse("2006-01-02 15:04", tt.last)
		for at := p.at; !at.After(last); at = at.Add(10 * time.Minute) {
			p.look(at.Format("2006-01-02 15:04"))
		}
		p.wantRuns("from "+tt.first, tt.want...)
	}
}

// Events that come twice, out of order, or again after a restart begin one run each.
func TestPropertyEachEventBeginsOneRun(t *testing.T) {
	t.Parallel()
	flow := &workflow.Workflow{ID: "w", Events: []workflow.EventTrigger{{Type: "x"}, {ID: "only-a", Type: "x", Source: "a"}}}
	by := service.Caller{Tenant: "default", Subject: "ann"}
	rapid.Check(t, func(rt *rapid.T) {
		s := newStore(t)
		replicas := []*process{newProcess(t, s, "10:00", flow), newProcess(t, s, "10:05", flow)}
		want, begun := make(map[string]bool), 0
		for i := range rapid.IntRange(1, 40).Draw(rt, "events") {
			p := replicas[rapid.IntRange(0, 1).Draw(rt, "replica")]
			if rapid.IntRange(0, 9).Draw(rt, "restart") == 0 {
				*p = *newProcess(t, s, "09:00", flow)
			}
			var batch []Event
			for range rapid.IntRange(1, 3).Draw(rt, "batch") {
				ev := Event{
					ID: fmt.Sprint(rapid.IntRange(1, 8).Draw(rt, "id")), Source: rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "source"),
					Type: rapid.SampledFrom([]string{"x", "x", "y"}).Draw(rt, "type"), Data: []byte(fmt.Sprint(i)),
				}
				if ev.Type == "x" {
					want[ev.Source+"/"+ev.ID] = true
					if ev.Source == "a" {
						want["only "+ev.ID] = true
					}
				}
				batch = append(batch, ev)
			}
			_, created, err := p.Publish(context.Background(), by, batch)
			if err != nil {
				rt.Fatal(err)
			}
			if begun += created; begun != len(want) {
				rt.Fatalf("%d runs began, want %d", begun, len(want))
			}
		}
	})
}

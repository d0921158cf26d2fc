package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/server/workflows"
	"github.com/agentruntime/agentruntime/service/workflow"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
)

func newRuns(f *flows) *cobra.Command {
	return newGroup("runs", "Show, cancel and answer the runs of workflows", "",
		newRunsList(f), newRunsShow(f), newRunsCancel(f), newRunsAnswer(f))
}

// runStatuses are the states of runs.
var runStatuses = []string{
	string(store.RunPending), string(store.RunRunning), string(store.RunWaiting),
	string(store.RunSucceeded), string(store.RunFailed), string(store.RunCanceled),
}

func newRunsList(f *flows) *cobra.Command {
	var page store.Page
	workflowID, status := "", command.Choice{Allowed: runStatuses}
	cmd := f.newReport("list", "List visible runs, newest first", command.Arguments(0, 0), func(ctx context.Context, out *command.Output, c *workflows.Client, _ []string) error {
		found, err := c.ListRuns(ctx, workflow.RunQuery{WorkflowID: workflowID, Status: status.Value, After: page.After, Limit: page.Limit})
		if err != nil {
			return err
		}
		return (&command.Listing[*workflows.RunView]{
			Record: found, Items: found.Items, Next: found.Next, None: "no runs",
			Header: []string{"RUN", "WORKFLOW", "STATUS", "TRIGGER", "STARTED", "CREATED"},
			Row: func(r *workflows.RunView) []string {
				return []string{r.ID, r.WorkflowID, r.Status, triggerText(&r.Trigger), timeText(r.StartedAt), command.Age(time.Now(), r.CreatedAt)}
			},
		}).Show(out)
	})
	cmd.Flags().StringVar(&workflowID, "workflow", "", "only runs of the workflow with this id")
	cmd.Flags().Var(&status, "status", "only runs in this state: "+strings.Join(runStatuses, ", "))
	command.AddPageFlags(cmd, &page)
	return cmd
}

// triggerText returns a run's trigger for lists.
func triggerText(t *workflows.Trigger) string {
	if id := cmp.Or(t.ScheduleID, t.TriggerID); id != "" {
		return t.Kind + ":" + id
	}
	return t.Kind
}

func newRunsShow(f *flows) *cobra.Command {
	cmd := f.newReport("show RUN", "Show a run step by step", command.Arguments(1, 1), func(ctx context.Context, out *command.Output, c *workflows.Client, args []string) error {
		r, err := c.GetRun(ctx, args[0])
		if err != nil {
			return err
		}
		return showRun(ctx, out, c, r)
	})
	cmd.Long = `show shows a run: what started it, and for each step its input, result, turn, tokens and
cost.`
	return cmd
}

// showRun shows a run and its open interactions.
func showRun(ctx context.Context, out *command.Output, c *workflows.Client, r *workflows.RunView) error {
	if out.Format == "json" {
		return out.ShowJSON(r, nil)
	}
	text := &runText{redact: out.Redact}
	text.addRun(r)
	if r.Status == string(store.RunWaiting) {
		open, err := c.ListInteractions(ctx, r.ID)
		if err != nil {
			return err
		}
		for i := range open {
			text.addLine("")
			text.addLine("waits for %s: %s", open[i].ID, open[i].Message)
		}
	}
	return out.Printf("%s", text)
}

// runText is a run as text, for a person.
type runText struct {
	strings.Builder
	redact func(string) string
}

// addLine adds a line whose values may contain any text.
func (t *runText) addLine(format string, args ...any) {
	t.WriteString(strings.TrimRight(terminal.OneLine(t.redact(fmt.Sprintf(format, args...))), " ") + "\n")
}

// addRow adds a name and a value unless the value is empty.
func (t *runText) addRow(indent, name, value string) {
	if value != "" {
		t.addLine("%s%-9s %s", indent, name, value)
	}
}

// addRun adds a run with its steps.
func (t *runText) addRun(r *workflows.RunView) {
	t.addLine("run %s", r.ID)
	t.addRow("  ", "workflow", r.WorkflowID)
	t.addRow("  ", "status", r.Status)
	t.addRow("  ", "message", r.StatusMessage)
	t.addRow("  ", "trigger", triggerText(&r.Trigger))
	if !r.Trigger.ScheduledFor.IsZero() {
		t.addRow("  ", "due", timeText(r.Trigger.ScheduledFor))
	}
	if ev := r.Trigger.Event; ev != nil {
		t.addRow("  ", "event", strings.Join(strings.Fields(ev.Type+" "+ev.Source+" "+ev.Subject), " ")+" "+ev.ID)
		t.addRow("  ", "data", string(ev.Data))
	}
	t.addRow("  ", "runs as", r.CreatedBy)
	t.addRow("  ", "created", timeText(r.CreatedAt))
	t.addRow("  ", "took", tookText(r.StartedAt, r.CompletedAt))
	var total event.Usage
	cost := make(costs)
	for i := range r.Steps {
		t.addStep(i+1, &r.Steps[i])
		if u := r.Steps[i].Usage; u != nil {
			total.Input, total.Output = total.Input+u.Input, total.Output+u.Output
		}
		cost.add(r.Steps[i].Cost)
	}
	if text := usageText(&total, cost); text != "" {
		t.addLine("")
		t.addLine("in total %s", text)
	}
}

// addStep adds a step.
func (t *runText) addStep(n int, s *workflows.StepView) {
	line := fmt.Sprintf("%d. %s: %s", n, s.ID, s.Status)
	if took := tookText(s.StartedAt, s.FinishedAt); took != "" {
		line += " in " + took
	}
	if s.Attempt > 1 {
		line += fmt.Sprintf(", attempt %d", s.Attempt)
	}
	t.addLine("")
	t.addLine("%s", line)
	t.addRow("   ", "input", compactJSON(s.Input))
	t.addRow("   ", "output", compactJSON(s.Output))
	t.addRow("   ", "reason", s.Error)
	t.addRow("   ", "turn", s.TurnID)
	cost := make(costs)
	cost.add(s.Cost)
	if s.Usage != nil || s.Cost != nil {
		t.addRow("   ", "usage", usageText(cmp.Or(s.Usage, new(event.Usage)), cost))
	}
}

// compactJSON returns JSON in one line.
func compactJSON(raw json.RawMessage) string {
	if len(raw) == 0 {
		return ""
	}
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return string(raw)
	}
	data, err := json.Marshal(v)
	if err != nil {
		return string(raw)
	}
	return string(data)
}

// tookText returns a duration; empty if it has not ended.
func tookText(from, to time.Time) string {
	if from.IsZero() || to.IsZero() {
		return ""
	}
	return to.Sub(from).Round(time.Millisecond).String()
}

// costs are amounts by their currency.
type costs map[string]float64

func (c costs) add(one *event.Cost) {
	if one != nil {
		c[one.Currency] += one.Amount
	}
}

// usageText describes tokens and cost in words; empty if there was no usage.
func usageText(u *event.Usage, cost costs) string {
	var parts []string
	if n := u.Input + u.Output; n > 0 {
		parts = append(parts, fmt.Sprintf("%s (%d in, %d out)", terminal.Count(n, "token", "tokens"), u.Input, u.Output))
	}
	for _, currency := range slices.Sorted(maps.Keys(cost)) {
		parts = append(parts, (&event.Cost{Amount: cost[currency], Currency: currency}).String())
	}
	return strings.Join(parts, ", ")
}

func newRunsCancel(f *flows) *cobra.Command {
	reason := ""
	cmd := f.newCommand("cancel RUN", "Cancel a run that has not ended", command.Arguments(1, 1), func(ctx context.Context, out *command.Output, c *workflows.Client, args []string) error {
		r, err := c.CancelRun(ctx, args[0], reason)
		if err != nil {
			return err
		}
		return out.Printf("Workflow run %s will be canceled.\n", terminal.OneLine(r.ID))
	})
	cmd.Flags().StringVar(&reason, "reason", "", "reason to show with the run")
	command.AllowEmpty(cmd, "reason")
	return cmd
}

func newRunsAnswer(f *flows) *cobra.Command {
	var o AnswerFlags
	cmd := f.newCommand("answer RUN INTERACTION", "Answer an interaction of a run", command.Arguments(2, 2), func(ctx context.Context, out *command.Output, c *workflows.Client, args []string) error {
		return answerRun(ctx, out, c, args[0], args[1], &o)
	})
	cmd.Long = `answer answers an interaction, whose ID "` + f.Command() + ` workflows runs show" shows. The run continues.`
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error { return o.Check(cmd) }
	o.AddFlags(cmd)
	return cmd
}

// answerRun answers an interaction of a run.
func answerRun(ctx context.Context, out *command.Output, c *workflows.Client, id, target string, flags *AnswerFlags) error {
	open, err := c.ListInteractions(ctx, id)
	if err != nil {
		return err
	}
	for i := range open {
		if open[i].ID != target && open[i].CallID != target {
			continue
		}
		answer, err := flags.Answer(&open[i])
		if err != nil {
			return err
		}
		r, err := c.AnswerInteraction(ctx, id, open[i].ID, workflows.AnswerOf(answer))
		if err != nil {
			return err
		}
		return out.Printf("answered; the run is %s\n", r.Status)
	}
	return fmt.Errorf("run %s does not wait for %s", id, target)
}

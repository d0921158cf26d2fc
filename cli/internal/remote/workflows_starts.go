package remote

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/server/workflows"
	flow "github.com/agentruntime/agentruntime/spec/workflow"
	"github.com/spf13/cobra"
)

// startWords are the words for a kind of start.
type startWords struct {
	kind workflows.Kind
	// command is the command's name, noun the singular, and short the help.
	command, noun, short string
}

var (
	scheduleWords = startWords{workflows.Schedules, "schedules", "schedule", "Show and change the schedules of workflows"}
	triggerWords  = startWords{workflows.EventTriggers, "triggers", "trigger", "Show and change the event triggers of workflows"}
)

func newStarts(f *flows, w startWords) *cobra.Command {
	return newGroup(w.command, w.short, "",
		newStartsList(f, w), newStartsShow(f, w), newStartsCreate(f, w), newStartsUpdate(f, w), newStartsDelete(f, w), newStartsPause(f, w, true), newStartsPause(f, w, false))
}

func newStartsList(f *flows, w startWords) *cobra.Command {
	return f.newReport("list", "List the "+w.command+" visible to the key", command.Arguments(0, 0), func(ctx context.Context, out *command.Output, c *workflows.Client, _ []string) error {
		found, err := c.ListStarts(ctx, w.kind)
		if err != nil {
			return err
		}
		return w.show(out, found.Items, found)
	})
}

// show shows schedules or triggers.
func (w *startWords) show(out *command.Output, starts []*workflows.Start, record any) error {
	l := command.Listing[*workflows.Start]{
		Record: record, Items: starts, None: "no " + w.command,
		Header: []string{"ID", "WORKFLOW", "TARGET", "TYPE", "SOURCE", "SUBJECT", "PAUSED", "CREATED"},
	}
	if w.kind == workflows.Schedules {
		l.Header = []string{"ID", "WORKFLOW", "TARGET", "CRON", "ZONE", "PAUSED", "NEXT RUN", "CREATED"}
	}
	l.Row = func(s *workflows.Start) []string {
		row, created := []string{s.ID, s.WorkflowID, targetText(&s.Target)}, "declared"
		if !s.Declared {
			created = command.Age(time.Now(), s.CreatedAt)
		}
		if m := s.Match; m != nil {
			row = append(row, out.Redact(m.Type), cmp.Or(out.Redact(m.Source), "-"), cmp.Or(out.Redact(m.Subject), "-"), yesNo(s.Paused))
		} else {
			row = append(row, s.Cron, cmp.Or(s.TimeZone, "UTC"), yesNo(s.Paused), timeText(s.NextRunAt))
		}
		return append(row, created)
	}
	return l.Show(out)
}

// showChanged shows a schedule or trigger that was changed.
func (w *startWords) showChanged(out *command.Output, s *workflows.Start, err error) error {
	if err != nil {
		return err
	}
	return w.show(out, []*workflows.Start{s}, s)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// timeText returns a time, or a dash if it is zero.
func timeText(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}

// targetText returns a target's action in a word.
func targetText(t *workflows.Target) string {
	switch {
	case len(t.Steps) != 1:
		return terminal.Count(len(t.Steps), "step", "steps")
	case t.Steps[0].Agent != nil:
		return "agent " + t.Steps[0].Agent.Agent
	case t.Steps[0].Tool != nil:
		return "tool " + t.Steps[0].Tool.Name
	default:
		return "-"
	}
}

func newStartsShow(f *flows, w startWords) *cobra.Command {
	return f.newCommand("show ID", "Show a "+w.noun+" with its target, as JSON", command.Arguments(1, 1), func(ctx context.Context, out *command.Output, c *workflows.Client, args []string) error {
		return out.ShowJSON(c.GetStart(ctx, w.kind, args[0]))
	})
}

func newStartsDelete(f *flows, w startWords) *cobra.Command {
	return f.newCommand("delete ID", "Delete a "+w.noun+" created on the server", command.Arguments(1, 1), func(ctx context.Context, out *command.Output, c *workflows.Client, args []string) error {
		if err := c.DeleteStart(ctx, w.kind, args[0]); err != nil {
			return err
		}
		return out.Printf("Workflow %s %s deleted.\n", w.noun, terminal.OneLine(args[0]))
	})
}

func newStartsPause(f *flows, w startWords, paused bool) *cobra.Command {
	name, short := "resume", "Let a paused "+w.noun+" begin runs again"
	if paused {
		name, short = "pause", "Let a "+w.noun+" begin no runs until it is resumed"
	}
	return f.newCommand(name+" ID", short, command.Arguments(1, 1), func(ctx context.Context, out *command.Output, c *workflows.Client, args []string) error {
		s, err := c.PauseStart(ctx, w.kind, args[0], paused)
		return w.showChanged(out, s, err)
	})
}

func newStartsCreate(f *flows, w startWords) *cobra.Command {
	var o startOptions
	var req workflows.StartRequest
	cmd := f.newCommand("create", "Create a "+w.noun, command.Arguments(0, 0), func(ctx context.Context, out *command.Output, c *workflows.Client, _ []string) error {
		s, err := c.CreateStart(ctx, w.kind, req)
		return w.showChanged(out, s, err)
	})
	cmd.Long = `create creates a ` + w.noun + `. Its runs execute the steps in the file of --target-file (an object with
"steps"), one call of --tool with --param, or one turn of --agent with --prompt. Texts
may contain references such as ${{ input.x }}.`
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		req.ID = o.id
		if err := o.apply(cmd, f.In, &req); err != nil {
			return err
		}
		if w.kind == workflows.EventTriggers && req.Match == nil {
			return command.Usagef(cmd, "--type is required")
		}
		return nil
	}
	cmd.Flags().StringVar(&o.id, "id", "", "ID of the "+w.noun+"; default: a new one")
	o.startFlags(cmd, w.kind)
	return cmd
}

func newStartsUpdate(f *flows, w startWords) *cobra.Command {
	var o startOptions
	cmd := f.newCommand("update ID", "Change parts of a "+w.noun+" created on the server", command.Arguments(1, 1), func(ctx context.Context, out *command.Output, c *workflows.Client, args []string) error {
		known, err := c.GetStart(ctx, w.kind, args[0])
		if err != nil {
			return err
		}
		req := known.ToRequest()
		if err := o.apply(out.Cmd, out.In, &req); err != nil {
			return err
		}
		s, err := c.ReplaceStart(ctx, w.kind, args[0], req)
		return w.showChanged(out, s, err)
	})
	cmd.Long = `update changes the fields of a ` + w.noun + ` that flags name. An empty flag clears an optional field.
--param and --prompt alone change a target with one step; to replace a target with several
steps, use --target-file.`
	o.startFlags(cmd, w.kind)
	if w.kind == workflows.Schedules {
		cmd.Flags().BoolVar(&o.clearInput, "clear-input", false, "remove the input")
	}
	cmd.Flags().BoolVar(&o.target.clearArguments, "clear-params", false, "remove the arguments of the tool")
	cmd.Flags().BoolVar(&o.unpaused, "no-paused", false, "let it start runs")
	command.ExcludeFlags(cmd, "paused", "no-paused")
	return cmd
}

// startOptions are the flags for creating and changing schedules and triggers.
type startOptions struct {
	id, cron, zone, missed, inputFile string
	input                             map[string]json.RawMessage
	match                             workflows.Match
	target                            targetOptions
	onWait                            command.Choice
	paused, unpaused, clearInput      bool
}

// startFlags adds the flags of a kind.
func (o *startOptions) startFlags(cmd *cobra.Command, k workflows.Kind) {
	flags := cmd.Flags()
	if k == workflows.Schedules {
		flags.StringVar(&o.cron, "cron", "", "cron expression with five fields, or @daily, @every 10m and so on")
		flags.StringVar(&o.zone, "timezone", "", "the IANA name of the time zone of --cron; UTC when absent")
		flags.StringVar(&o.missed, "missed", "", "what to do about missed times: skip, latest, all")
		flags.Var(&command.Assignments[json.RawMessage]{To: &o.input, Form: command.JSONForm}, "input", "set a field of the runs' input: NAME=TEXT or NAME:=JSON; can be repeated")
		flags.StringVar(&o.inputFile, "input-file", "", "read the input as JSON from this `path`, or - for standard input")
	} else {
		flags.StringVar(&o.match.Type, "type", "", "the type of the events, exactly")
		flags.StringVar(&o.match.Source, "source", "", "exact source of the events; default: any")
		flags.StringVar(&o.match.Subject, "subject", "", "exact subject of the events; default: any")
	}
	o.onWait.Allowed = []string{"wait", "fail"}
	flags.Var(&o.onWait, "on-wait", "what to do with a run that has to wait for a person: wait, fail")
	flags.BoolVar(&o.paused, "paused", false, "start no runs until it is resumed")
	o.target.targetFlags(cmd)
}

// apply applies the set flags to a request.
func (o *startOptions) apply(cmd *cobra.Command, in io.Reader, req *workflows.StartRequest) error {
	changed := cmd.Flags().Changed
	match := cmp.Or(req.Match, new(workflows.Match))
	for name, to := range map[string]struct {
		field *string
		value string
	}{
		"cron": {&req.Cron, o.cron}, "timezone": {&req.TimeZone, o.zone}, "missed": {&req.Missed, o.missed}, "on-wait": {&req.OnWait, o.onWait.Value},
		"type": {&match.Type, o.match.Type}, "source": {&match.Source, o.match.Source}, "subject": {&match.Subject, o.match.Subject},
	} {
		if changed(name) {
			*to.field = to.value
		}
	}
	if changed("type") || changed("source") || changed("subject") {
		req.Match = match
	}
	if changed("paused") || o.unpaused {
		req.Paused = o.paused && !o.unpaused
	}
	input, err := readObject(cmd, in, o.input, "input-file", o.inputFile)
	if err != nil {
		return err
	}
	if input != nil || o.clearInput {
		req.Input = input
	}
	return o.target.apply(cmd, in, &req.Target)
}

// targetOptions are the flags that name a target.
type targetOptions struct {
	file, tool, agent, prompt string
	arguments                 map[string]json.RawMessage
	clearArguments            bool
}

// targetFlags adds the flags.
func (o *targetOptions) targetFlags(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&o.file, "target-file", "", "read the whole target as JSON from this `path`, or - for standard input")
	flags.StringVar(&o.tool, "tool", "", "tool to call instead of steps")
	flags.VarP(&command.Assignments[json.RawMessage]{To: &o.arguments, Form: command.JSONForm}, "param", "p", "set an argument of the tool: NAME=TEXT or NAME:=JSON; can be repeated")
	flags.StringVar(&o.agent, "agent", "", "run one turn of this agent instead of steps")
	flags.StringVar(&o.prompt, "prompt", "", "prompt for the agent")
	command.ExcludeFlags(cmd, "target-file", "tool", "agent")
	command.ExcludeFlags(cmd, "target-file", "param")
	command.ExcludeFlags(cmd, "target-file", "prompt")
	command.ExcludeFlags(cmd, "param", "prompt")
}

// errManySteps rejects flags that change a part of a target.
var errManySteps = errors.New("--param needs a target with a single call, and --prompt one with a single turn; --target-file replaces any target")

// apply applies the flags to a target.
func (o *targetOptions) apply(cmd *cobra.Command, in io.Reader, t *workflows.Target) error {
	changed := cmd.Flags().Changed
	if o.file != "" {
		data, err := readJSON(in, "--target-file", o.file)
		if err != nil {
			return err
		}
		if *t, err = workflows.ReadTarget(data); err != nil {
			return fmt.Errorf("--target-file: %w", err)
		}
		return nil
	}
	switch {
	case changed("tool"):
		*t = workflows.Target{Tool: &flow.ToolCall{Name: o.tool}}
	case changed("agent"):
		*t = workflows.Target{Agent: &workflows.Agent{Agent: o.agent}}
	}
	call, turn := soleStep(t)
	if changed("param") || o.clearArguments {
		if call == nil {
			return errManySteps
		}
		call.Input = o.arguments
	}
	if !changed("prompt") {
		return nil
	}
	if turn == nil {
		return errManySteps
	}
	text, err := json.Marshal(o.prompt)
	turn.Prompt = text
	return err
}

// soleStep returns the single call or turn of a target.
func soleStep(t *workflows.Target) (*flow.ToolCall, *workflows.Agent) {
	if len(t.Steps) == 1 {
		return t.Steps[0].Tool, t.Steps[0].Agent
	}
	return t.Tool, t.Agent
}

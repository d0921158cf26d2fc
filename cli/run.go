package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/agentruntime/agentruntime/cli/internal/chat"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/question"
	"github.com/agentruntime/agentruntime/cli/internal/remote"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/cli/internal/turnview"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/sessionstart"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/service"
	"github.com/spf13/cobra"
)

// runOptions are the flags of run.
type runOptions struct {
	logFlags

	format    *command.Choice
	approve   *command.Choice
	files     *fileArguments
	variables map[string]json.RawMessage
	tenant    map[string]string
	quiet     bool
	// session is empty if the run's session is not kept; otherwise owner owns it.
	session   string
	owner     service.Caller
	delegates *bool
}

func newRun(p *program) *cobra.Command {
	var at remote.Flags
	o := runOptions{approve: &command.Choice{Value: question.ApproveAuto, Allowed: []string{question.ApproveAuto, question.ApproveAsk, question.ApproveYes, question.ApproveNo}}}
	cmd := &cobra.Command{
		Use:   "run (FILE | -f FILE… | --server URL) [AGENT] [PROMPT]",
		Short: "Run one turn of an agent",
		Long: `run sends a prompt to an agent. It writes the agent's text to standard output and its
progress to standard error. If PROMPT is "-" or missing, it is read from standard input;
on a terminal, a conversation starts instead, as with chat. AGENT is optional if there is
only one agent and no PROMPT. To use several files, set -f for each of them.

A delegate is one line with its tool calls, tokens and cost; --delegates also shows what
each delegate does, prefixed with the names of the agents that led to it.

Only the variables that the agent needs have to be set, including those of its
delegates, models, tools and plugins.

On a terminal, run asks about calls that need approval; see --approve. If nobody can
answer, the run fails. If OpenTelemetry's environment variables are set, the run is
traced as part of the trace in TRACEPARENT.

With --session ID the turn continues a stored session and is stored there. If a server
uses the same SQLite file, use --server.

With --server URL instead of FILE, run uses an agent of a running server, which stores
the turn. A broken connection is resumed. Canceling the command cancels the turn. A turn
that nobody answers is left waiting. The key is read from --api-key-file or the variable
RUNTIME_API_KEY.

Exit codes: 0 done, 1 the run failed, 2 usage or a file cannot be read, 130 canceled.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if done, err := at.Check(cmd, args, min(max(len(args), 1), 2), append(slices.Clone(ownerFlagNames), "tenant-variable", "verbose", "file")); done {
				return err
			}
			for _, name := range ownerFlagNames {
				if cmd.Flags().Changed(name) && o.session == "" {
					return command.Usagef(cmd, "--%s needs --session", name)
				}
			}
			return o.files.arguments(0, 2, 1)(cmd, args)
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.opensChat(args, at.Server != "") {
				if options := (&chatOptions{files: o.files, logFlags: o.logFlags, variables: o.variables, owner: o.owner, delegates: o.delegates}); chat.NewScreen(p.Streams) != nil {
					if at.Server != "" {
						return p.onScreen(options).chatAt(withCaller(cmd.Context()), &at, args[0], options)
					}
					return p.onScreen(options).chatHere(cmd.Context(), args, options)
				}
			}
			if at.Server != "" {
				return p.runAt(withCaller(cmd.Context()), &at, args, &o)
			}
			return runAgent(cmd.Context(), p, args, &o)
		},
	}
	at.AddFlags(cmd.Flags())
	o.files = filesFlag(cmd)
	o.format = command.AddFormatFlag(cmd, "text", "json", "events")
	cmd.Flags().Var(o.approve, "approve", "how to answer questions: auto (ask if standard input is a terminal), ask, yes, no")
	cmd.Flags().StringVar(&o.session, "session", "", "run in the stored session with this `id`, which is created if it does not exist")
	cmd.Flags().Var(&command.Assignments[json.RawMessage]{To: &o.variables, Form: command.JSONForm, Variable: true}, "var", "set a variable of the turn: `NAME=TEXT`, or NAME:=JSON for other types; can be repeated")
	cmd.Flags().Var(&command.Assignments[string]{To: &o.tenant, Form: command.TextForm, Variable: true}, "tenant-variable", "set a variable of the turn's tenant: `NAME=VALUE`; can be repeated")
	command.ExcludeFlags(cmd, "tenant-variable", "session")
	ownerFlags(cmd, &o.owner)
	cmd.Flags().BoolVarP(&o.quiet, "quiet", "q", false, "show only the answer, questions and warnings, as text")
	o.delegates = delegatesFlag(cmd.Flags())
	command.ExcludeFlags(cmd, "delegates", "quiet")
	o.addFlags(cmd)
	return cmd
}

// opensChat reports whether the command opens a conversation: on a terminal, without a prompt, and
// without a flag for single turns only.
func (o *runOptions) opensChat(args []string, remote bool) bool {
	names := args
	if !remote {
		_, names = o.files.split(args, 1)
	}
	return len(names) <= 1 && o.session == "" && !o.quiet && o.format.Value == "text" && (o.approve.Value == question.ApproveAuto || o.approve.Value == question.ApproveAsk)
}

// runAgent runs one turn of the agent that args name.
func runAgent(ctx context.Context, p *program, args []string, o *runOptions) error {
	out := turnview.NewPrinter(p.Streams, o.format.Value, o.quiet)
	p = p.with(out.Streams)
	names, args := o.files.split(args, 1)
	l, err := p.open(names, &o.logFlags, newCommandLogger)
	if err != nil {
		return err
	}
	defer l.close()
	out.Redact = l.file.Redact
	if len(args) == 0 {
		id, err := onlyAgent(l)
		if err != nil {
			return p.misuse(err)
		}
		args = []string{id}
	}
	l.agent = args[0]
	if o.session != "" {
		l.parts = []string{"store", "turns"}
		if driver := p.StoreDriver(l.file); driver.OpenReadOnly == nil {
			return p.complain(ctx, l, errForgets)
		}
	}
	prompt := promptAmong(args[1:], p.In)
	if prompt.variables, err = encodeVariables(o.variables); err != nil {
		return err
	}
	prompt.tenant = o.tenant
	if err := l.listToolsFor(o.tenant); err != nil {
		return err
	}
	a, err := question.NewAnswerer(p.Streams, o.approve.Value, prompt.read, l.file.Redact)
	if err != nil {
		return err
	}
	if err := prompt.load(ctx, p.In); err != nil {
		return err
	}
	ctx = withCaller(ctx)
	return p.withRuntime(ctx, l, "tracing is off", func(rt *runtime.AgentRuntime, _ *observed) error {
		return runTurn(ctx, p, l, rt, prompt, out, a, o)
	})
}

// runTurn runs a turn; a nil answerer answers nothing.
func runTurn(ctx context.Context, p *program, l *loaded, rt *runtime.AgentRuntime, q *prompt, out *turnview.Printer, a *question.Answerer, o *runOptions) error {
	l.startProviders(ctx, rt.Revision(), l.agent)
	if a != nil {
		a.Context = func(ctx context.Context, asked *question.Consent, q *interaction.Request) *question.Call {
			return l.callContext(ctx, rt.Revision(), asked, q)
		}
	}
	if o.session != "" {
		return p.withSession(ctx, l, rt, o.owner, func(where *place) error {
			return p.runStored(ctx, where, storedRun{id: newTurnID(), agent: l.agent, session: o.session, busy: service.RejectBusy, variables: q.variables, delegates: *o.delegates}, q, out, a)
		})
	}
	if err := q.ask(ctx, a); err != nil {
		return ignoreNoPrompt(err)
	}
	asked := runtime.Prompt(l.agent, q.text)
	asked.Variables, asked.TenantVariables, asked.DelegateEvents = q.variables, q.tenant, *o.delegates
	var err error
	if asked.History, err = startConversation(ctx, rt, l.agent); err != nil {
		return p.complain(ctx, l, err)
	}
	result, err := await(ctx, rt, asked, out, a)
	if result == nil && ctx.Err() == nil {
		if found := diag.FromError(err); len(found) > 0 {
			return l.refuse(l.file.Complete(found, nil), p.Err, command.Failed)
		}
	}
	return p.conclude(out, result, err)
}

// runAt runs one turn of an agent of a server.
func (p *program) runAt(ctx context.Context, at *remote.Flags, args []string, o *runOptions) error {
	out := turnview.NewPrinter(p.Streams, o.format.Value, o.quiet)
	p = p.with(out.Streams)
	return p.reach(ctx, at, func(where *place) error {
		out.Redact = where.redact
		prompt := promptAmong(args[1:], p.In)
		a, err := question.NewAnswerer(p.Streams, o.approve.Value, prompt.read, where.redact)
		if err != nil {
			return p.misuse(err)
		}
		if err := prompt.load(ctx, p.In); err != nil {
			return p.misuse(err)
		}
		if prompt.variables, err = encodeVariables(o.variables); err != nil {
			return p.misuse(err)
		}
		return p.runStored(ctx, where, storedRun{id: newTurnID(), agent: args[0], session: o.session, variables: prompt.variables, delegates: *o.delegates}, prompt, out, a)
	})
}

// abortTime limits ending the tasks at peers of a turn that will not be resumed.
const abortTime = 10 * time.Second

// await runs a turn to its end and answers its interactions, if there is an answerer. A turn left
// waiting leaves nothing running at peers.
func await(ctx context.Context, rt *runtime.AgentRuntime, req runtime.Request, out *turnview.Printer, a *question.Answerer) (*runtime.Result, error) {
	if a == nil {
		result, err := rt.Run(ctx, req, out)
		if result != nil && result.State != nil { // nobody can resume it
			aborting, cancel := context.WithTimeout(context.WithoutCancel(ctx), abortTime)
			defer cancel()
			if wrong := rt.Abandon(aborting, result.State); wrong != nil {
				fmt.Fprintf(out.Err, "! a peer's task may still run: %s\n", terminal.OneLine(out.Redact(wrong.Error())))
			}
		}
		return result, err
	}
	a.Screen = out.Screen
	turn, err := rt.Start(ctx, req, event.SinkFunc(func(ev event.Event) {
		out.Emit(ev)
		a.Emit(ev)
	}))
	if err != nil {
		return nil, err
	}
	a.Run(ctx, ownTurn{turn})
	return turn.Wait(context.WithoutCancel(ctx))
}

// startConversation runs an agent's session start for a single-turn conversation, and returns the
// messages to show before the turn.
func startConversation(ctx context.Context, rt *runtime.AgentRuntime, agent string) ([]model.Message, error) {
	kept, err := sessionstart.Run(ctx, service.HooksOf(rt.Revision(), agent), "")
	if err != nil {
		return nil, err
	}
	if before, ok := sessionstart.ContextOf(kept); ok {
		return []model.Message{before}, nil
	}
	return nil, nil
}

// ownTurn is a turn that this process runs.
type ownTurn struct{ *runtime.Turn }

// Open returns the turn's open interactions.
func (t ownTurn) Open(context.Context) ([]*interaction.Request, error) { return t.Interactions(), nil }

// Answer answers it.
func (t ownTurn) Answer(_ context.Context, r interaction.Answer) error { return t.Turn.Answer(r) }

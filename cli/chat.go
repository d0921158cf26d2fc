package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/chat"
	"github.com/agentruntime/agentruntime/cli/internal/command"
	"github.com/agentruntime/agentruntime/cli/internal/question"
	"github.com/agentruntime/agentruntime/cli/internal/remote"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/cli/internal/turnview"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
)

// chatOptions are the flags of chat.
type chatOptions struct {
	logFlags

	files *fileArguments
	// resume is the session to continue: its id, latestSession, or empty for a new one.
	resume string
	owner  service.Caller
	// model replaces the agent's model unless empty.
	model     string
	variables map[string]json.RawMessage
	// systems and messages open the first turn. tools limits the tools of all turns; nil allows
	// all of the agent's tools.
	systems, messages, tools []string

	plain, mouse bool
	delegates    *bool
	// screen shows the conversation full-screen; nil shows it as lines.
	screen *chat.Screen
}

// latestSession is the value of --resume for the session with the latest activity.
const latestSession = "latest"

func newChat(p *program) *cobra.Command {
	var at remote.Flags
	var o chatOptions
	cmd := &cobra.Command{
		Use:   "chat (FILE | -f FILE… | --server URL) [AGENT]",
		Short: "Chat with an agent",
		Long: `chat holds a conversation with an agent. Each line is a prompt, and the agent's text
and actions are shown as they happen. A line that ends in a backslash continues on the
next line. /help lists the commands. AGENT is optional if there is only one agent.

chat asks about calls that need approval, and shows the agent's questions. Ctrl-C
cancels the running turn, or ends the conversation if no turn is running. Ctrl-D ends
the conversation.

On a terminal the conversation uses the full screen, unless --plain is set or the
input or output is redirected. The terminal keeps the mouse for selecting text; with
--mouse the wheel scrolls instead.

A delegate is one line; --delegates also shows what each delegate does, prefixed with
the names of the agents that led to it.

With --message the first turn starts immediately with that text. With --system the
first turn starts with that instruction. Both can be repeated.

The store keeps the session. --resume=ID resumes it, and --resume resumes the most
recently active session. If a server uses the same SQLite file, use --server. The
memory store forgets the session when the command ends.

With --server URL instead of FILE, chat uses an agent of a running server. The key is
read from --api-key-file or the variable RUNTIME_API_KEY.

Exit codes: 0 done, 1 the session cannot be used, 2 usage or a file cannot be read,
130 canceled.`,
		Args: func(cmd *cobra.Command, args []string) error {
			if at.Server == "" {
				return o.files.arguments(0, 1, 1)(cmd, args)
			}
			_, err := at.Check(cmd, args, min(len(args), 1), append(slices.Clone(ownerFlagNames), "verbose", "file"))
			if err == nil && len(args) == 0 && o.resume == "" {
				err = command.Usagef(cmd, "with --server, AGENT or --resume is required")
			}
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			p := p.onScreen(&o)
			if at.Server != "" {
				return p.chatAt(withCaller(cmd.Context()), &at, strings.Join(args, ""), &o)
			}
			return p.chatHere(cmd.Context(), args, &o)
		},
	}
	at.AddFlags(cmd.Flags())
	o.files = filesFlag(cmd)
	cmd.Flags().StringVar(&o.resume, "resume", "", "resume the session with this `ID`; without an ID, the most recently active one")
	cmd.Flags().Lookup("resume").NoOptDefVal = latestSession
	cmd.Flags().StringVar(&o.model, "model", "", "use the model or pool with this `ID` instead of the agent's")
	cmd.Flags().StringArrayVar(&o.systems, "system", nil, "start the first turn with this system message: `TEXT`; can be repeated")
	cmd.Flags().StringArrayVar(&o.messages, "message", nil, "send this message in the first turn: `TEXT`; can be repeated")
	cmd.Flags().StringArrayVar(&o.tools, "tool", nil, "allow only the agent's tool with this `ID`; can be repeated")
	cmd.Flags().Var(&command.Assignments[json.RawMessage]{To: &o.variables, Form: command.JSONForm, Variable: true}, "var", "set a variable of each turn: `NAME=TEXT`, or NAME:=JSON for other types; can be repeated")
	ownerFlags(cmd, &o.owner)
	o.delegates = delegatesFlag(cmd.Flags())
	cmd.Flags().BoolVar(&o.plain, "plain", false, "write lines of text even on a terminal")
	cmd.Flags().BoolVar(&o.mouse, "mouse", false, "scroll with the mouse wheel; hold Shift to select text in most terminals")
	o.addFlags(cmd)
	return cmd
}

// onScreen returns the program with the whole terminal as its output, if there is one.
func (p *program) onScreen(o *chatOptions) *program {
	if !o.plain {
		o.screen = chat.NewScreen(p.Streams)
	}
	if o.screen == nil {
		return p
	}
	o.screen.Mouse = o.mouse
	return p.with(terminal.Streams{In: p.In, Out: o.screen, Err: o.screen})
}

// chatAt chats with a server's agent.
func (p *program) chatAt(ctx context.Context, at *remote.Flags, agent string, o *chatOptions) error {
	return p.reach(ctx, at, func(where *place) error { return p.converse(ctx, where, agent, o, nil) })
}

// chatHere chats with an agent of a configuration in this process.
func (p *program) chatHere(ctx context.Context, args []string, o *chatOptions) error {
	names, args := o.files.split(args, 1)
	l, err := p.open(names, &o.logFlags, newCommandLogger)
	if err != nil {
		return err
	}
	defer l.close()
	if l.agent = strings.Join(args, ""); l.agent == "" && o.resume == "" {
		if l.agent, err = onlyAgent(l); err != nil {
			return p.misuse(err)
		}
	}
	if l.agent != "" {
		l.parts = []string{"store", "turns"}
	}
	ctx = withCaller(ctx)
	return p.withRuntime(ctx, l, "tracing is off", func(rt *runtime.AgentRuntime, _ *observed) error {
		l.startProviders(ctx, rt.Revision(), l.agent)
		explain := func(ctx context.Context, asked *question.Consent, q *interaction.Request) *question.Call {
			return l.callContext(ctx, rt.Revision(), asked, q)
		}
		return p.withSession(ctx, l, rt, o.owner, func(where *place) error {
			return p.converse(ctx, where, l.agent, o, explain)
		})
	})
}

// converse holds a conversation with an agent.
func (p *program) converse(ctx context.Context, where *place, agent string, o *chatOptions, explain question.ExplainCall) error {
	variables, err := encodeVariables(o.variables)
	if err != nil {
		return p.misuse(err)
	}
	s, err := chooseSession(ctx, where, agent, o.resume)
	if err != nil {
		return err
	}
	answers, err := question.NewAnswerer(p.Streams, question.ApproveAsk, false, where.redact)
	if err != nil {
		return err
	}
	answers.Session, answers.Context = "which is kept, also for later turns", explain
	begin := func(ctx context.Context, r *chat.TurnRequest) (chat.Turn, error) {
		return beginTurn(ctx, where, &storedRun{
			id: newTurnID(), agent: r.Agent, takes: true, session: s.ID, busy: service.RejectBusy, model: r.Model, tools: o.tools,
			input: r.Input, variables: variables, delegates: *o.delegates,
		}, &turnview.Printer{Streams: p.Streams, Redact: where.redact})
	}
	err = chat.Run(ctx, chat.Settings{
		Streams: p.Streams, Session: s, Agent: cmp.Or(agent, s.CurrentAgent()), Model: o.model, Models: where.models, Systems: o.systems, Messages: o.messages,
		Answers: answers, Screen: o.screen, Redact: where.redact, GetSession: where.GetSession, BeginTurn: begin,
	})
	if err == nil && where.keeps {
		fmt.Fprintf(p.Err, "Resume with: %s chat %s --resume=%s\n", p.Command(), where.name, terminal.OneLine(s.ID))
	}
	return err
}

// onlyAgent returns the only agent of a configuration.
func onlyAgent(l *loaded) (string, error) {
	var ids []string
	for _, a := range l.file.Agents {
		ids = append(ids, a.ID)
	}
	if len(ids) == 1 {
		return ids[0], nil
	}
	return "", fmt.Errorf("AGENT is required: the configuration has %s", cmp.Or(strings.Join(ids, ", "), "no agent"))
}

// errNoSession is returned by --resume without a matching session.
var errNoSession = errors.New("no active agent sessions found: run without --resume to start one")

// chooseSession returns the session that the conversation continues, or a new one.
func chooseSession(ctx context.Context, where *place, agent, resume string) (*native.Session, error) {
	switch resume {
	case "":
		return where.CreateSession(ctx, native.CreateSession{AgentID: agent})
	case latestSession:
		page, err := where.ListSessions(ctx, native.SessionQuery{State: store.SessionActive, AgentID: agent, Page: store.Page{Limit: 1}})
		if err == nil && len(page.Sessions) == 0 {
			err = errNoSession
		}
		if err != nil {
			return nil, err
		}
		return &page.Sessions[0], nil
	default:
		return where.GetSession(ctx, resume)
	}
}

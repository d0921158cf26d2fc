package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/agentruntime/agentruntime/store"
	"github.com/spf13/cobra"
	"go.uber.org/zap"
)

// chatOptions are the flags of chat.
type chatOptions struct {
	files     *fileArguments
	verbose   bool
	logFormat *choice
	// resume is the session to go on with: its id, latestSession, or empty for a new one.
	resume string
	owner  session
	// model takes the place of the agent's, unless it is empty.
	model     string
	variables variableFlags
	// systems and messages are what the first turn begins with, and tools all that the
	// turns may call, as far as the agent has them; nil if they may call all of those.
	systems, messages, tools []string

	plain, mouse bool
	delegates    *bool
	// screen shows the conversation on a terminal; nil shows it as lines.
	screen *screenFront
}

// latestSession is the value of --resume for the session with the latest activity.
const latestSession = "latest"

func newChat(p *program) *cobra.Command {
	var at serverFlags
	var o chatOptions
	cmd := &cobra.Command{
		Use:   "chat (FILE | -f FILE…) [AGENT]",
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
			if at.server == "" {
				return o.files.arguments(0, 1, 1)(cmd, args)
			}
			_, err := at.check(cmd, args, min(len(args), 1), append(slices.Clone(ownerFlagNames), "verbose", "file"))
			if err == nil && len(args) == 0 && o.resume == "" {
				err = usagef(cmd, "with --server, AGENT or --resume is required")
			}
			return err
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			p := p.onScreen(&o)
			if at.server != "" {
				return p.chatAt(withCaller(cmd.Context()), &at, strings.Join(args, ""), &o)
			}
			return p.chatHere(cmd.Context(), args, &o)
		},
	}
	at.flags(cmd.Flags())
	o.files = filesFlag(cmd)
	cmd.Flags().StringVar(&o.resume, "resume", "", "resume the session with this `ID`; without an ID, the most recently active one")
	cmd.Flags().Lookup("resume").NoOptDefVal = latestSession
	cmd.Flags().StringVar(&o.model, "model", "", "use the model or pool with this `ID` instead of the agent's")
	cmd.Flags().StringArrayVar(&o.systems, "system", nil, "start the first turn with this system message: `TEXT`; can be repeated")
	cmd.Flags().StringArrayVar(&o.messages, "message", nil, "send this message in the first turn: `TEXT`; can be repeated")
	cmd.Flags().StringArrayVar(&o.tools, "tool", nil, "allow only the agent's tool with this `ID`; can be repeated")
	cmd.Flags().Var(&o.variables, "var", "set a variable of each turn: `NAME=TEXT`, or NAME:=JSON for other types; can be repeated")
	ownerFlags(cmd, &o.owner.tenant, &o.owner.subject)
	o.delegates = delegatesFlag(cmd.Flags())
	cmd.Flags().BoolVar(&o.plain, "plain", false, "write lines of text even on a terminal")
	cmd.Flags().BoolVar(&o.mouse, "mouse", false, "scroll with the mouse wheel; hold Shift to select text in most terminals")
	cmd.Flags().BoolVarP(&o.verbose, "verbose", "v", false, "show the runtime's log on standard error")
	o.logFormat = logFormatFlag(cmd)
	return cmd
}

// onScreen returns the program with the whole of the terminal as its output, if it has
// one.
func (p *program) onScreen(o *chatOptions) *program {
	if !o.plain {
		o.screen = newScreenFront(p.streams)
	}
	if o.screen == nil {
		return p
	}
	o.screen.mouse = o.mouse
	return p.with(streams{in: p.in, out: o.screen, err: o.screen})
}

// chatAt talks with an agent of a server.
func (p *program) chatAt(ctx context.Context, at *serverFlags, agent string, o *chatOptions) error {
	return p.reach(ctx, at, func(where *place) error { return p.converse(ctx, where, agent, o, nil) })
}

// chatHere talks with an agent of a configuration, in this process.
func (p *program) chatHere(ctx context.Context, args []string, o *chatOptions) error {
	log := newLogOutput(p.err, o.logFormat)
	logger := newCommandLogger(log, o.verbose)
	defer logger.Sync() //nolint:errcheck // a terminal cannot be synced
	names, args := o.files.split(args, 1)
	l, err := p.load(names, true, logger)
	if err != nil {
		return err
	}
	defer l.close()
	log.redact = l.file.Redact
	if l.agent = strings.Join(args, ""); l.agent == "" && o.resume == "" {
		if l.agent, err = onlyAgent(l); err != nil {
			return p.misuse(err)
		}
	}
	if l.agent != "" {
		l.parts = []string{"store", "turns"}
	}
	seen, err := observe(ctx, logger, l.file.Redact, false, p.version())
	if err != nil {
		p.printErrorf("the conversation is not traced: %v", err)
	}
	l.builder.WithTelemetry(seen.telemetry)
	err = p.chatWith(withCaller(ctx), l, o, logger)
	if lost := seen.shutdown(ctx); lost != nil {
		p.printErrorf("%s", l.file.Redact(lost.Error()))
	}
	return err
}

// chatWith builds the runtime of a configuration and talks with an agent of it.
func (p *program) chatWith(ctx context.Context, l *loaded, o *chatOptions, logger *zap.Logger) error {
	rt, err := l.build(ctx, p)
	if err != nil {
		return err
	}
	defer func() { _ = rt.Close() }()
	l.startProviders(ctx, rt.Revision(), l.agent)
	explain := func(ctx context.Context, asked *consent, q *interaction.Request) *callContext {
		return l.callContext(ctx, rt.Revision(), asked, q)
	}
	return p.withSession(ctx, l, rt, &o.owner, logger, func(where *place) error {
		return p.converse(ctx, where, l.agent, o, explain)
	})
}

// onlyAgent returns the agent of a configuration that has one.
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

// errNoSession is the answer to --resume where there is nothing to go on with.
var errNoSession = errors.New("no active agent sessions found: run without --resume to start one")

// chooseSession returns the session that a conversation goes on with, or a new one.
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

// turnView shows the turns of a conversation.
type turnView interface {
	event.Sink
	// begin is called before the events of a turn, and close after them. It returns the
	// first error of showing them.
	begin()
	close() error
}

// conversation is a session at a terminal.
type conversation struct {
	*program
	where   *place
	session *native.Session
	// agent has the conversation in the next turn.
	agent string
	// model takes the place of the agent's in the next turn, unless it is empty.
	model     string
	variables []byte
	// systems are instructions that the next turn begins with, messages what the first one
	// is asked before there is a prompt, and tools all that turns may call; nil for all.
	systems, messages []string
	tools             spec.Names
	answers           *answerer
	shown             turnView
	// delegates also shows the events of delegates.
	delegates bool
	// screen is nil where lines are written.
	screen *screenFront
	// interrupts has a value for each Ctrl-C.
	interrupts chan os.Signal
}

// converse reads prompts and runs a turn for each, until there are no more.
func (p *program) converse(ctx context.Context, where *place, agent string, o *chatOptions, explain explainCall) error {
	variables, err := o.variables.encode()
	if err != nil {
		return p.misuse(err)
	}
	s, err := chooseSession(ctx, where, agent, o.resume)
	if err != nil {
		return err
	}
	answers, err := newAnswerer(p.streams, approveAsk, false, where.redact)
	if err != nil {
		return err
	}
	answers.session, answers.context = "which is kept, also for later turns", explain
	c := &conversation{
		program: p, where: where, session: s, agent: cmp.Or(agent, s.CurrentAgent()), variables: variables, answers: answers,
		systems: o.systems, messages: o.messages, tools: o.tools,
		model: o.model, delegates: *o.delegates, shown: newTranscript(p.out, where.redact), interrupts: make(chan os.Signal, 1), screen: o.screen,
	}
	if problem := c.checkModel(c.model); problem != "" {
		return errors.New(problem)
	}
	signal.Reset(os.Interrupt) // which would end the command, and not the turn alone
	signal.Notify(c.interrupts, os.Interrupt)
	defer signal.Stop(c.interrupts)
	fmt.Fprintf(p.err, "Session %s [%s]\n/help lists the commands, Ctrl-D ends the conversation\n", oneLine(s.ID), oneLine(joinNames(" / ", orDash(c.agent), c.currentModel())))
	if c.screen != nil {
		c.shown = c.screen
		err = c.screen.run(ctx, c, c.readPrompts)
	} else {
		err = c.readPrompts(ctx)
	}
	if err != nil {
		return err
	}
	if where.keeps {
		fmt.Fprintf(p.err, "Resume with: %s chat %s --resume=%s\n", p.command(), where.name, oneLine(s.ID))
	}
	return nil
}

// readPrompts runs a turn for each prompt that is typed.
func (c *conversation) readPrompts(ctx context.Context) error {
	if len(c.messages) > 0 {
		c.showPrompts(c.messages)
		if err := c.runTurn(ctx, c.messages...); err != nil {
			return err
		}
	}
	for {
		text, more := c.readPrompt(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case !more:
			return nil
		case strings.TrimSpace(text) == "":
		case strings.HasPrefix(text, "/"):
			c.runCommand(text)
		default:
			if err := c.runTurn(ctx, text); err != nil {
				return err
			}
		}
	}
}

// showPrompts shows prompts that nobody typed.
func (c *conversation) showPrompts(texts []string) {
	if c.screen == nil {
		for _, text := range texts {
			fmt.Fprintf(c.err, "you> %s\n", oneLine(text))
		}
		return
	}
	c.screen.change(func(m *chatModel) {
		for _, text := range texts {
			m.add(&chatBlock{kind: blockPrompt, text: text})
		}
		m.turning = true
	})
}

// readPrompt reads a prompt: a line, and the next one as long as it ends in a
// backslash. It returns false at the end of the input and after Ctrl-C.
func (c *conversation) readPrompt(ctx context.Context) (text string, more bool) {
	reading, stop := context.WithCancel(ctx)
	defer stop()
	done := make(chan struct{})
	defer func() { <-done }()
	defer stop()
	go func() {
		defer close(done)
		select {
		case <-c.interrupts:
			stop()
		case <-reading.Done():
		}
	}()
	ask := "you> "
	for {
		if c.screen == nil && terminal(c.in) {
			fmt.Fprint(c.err, ask)
		}
		line, ok := c.answers.input.next(reading, nil)
		if err := c.answers.input.failed; err != nil {
			fmt.Fprintf(c.err, "error> %v\n", err)
		}
		if !ok || c.answers.input.ended {
			if c.screen == nil && terminal(c.in) {
				fmt.Fprintln(c.err)
			}
			return text, ok && text != ""
		}
		if !terminal(c.in) { // which would show what is typed
			fmt.Fprintln(c.err, ask+oneLine(line))
		}
		begun, goesOn := strings.CutSuffix(line, `\`)
		text += begun
		if !goesOn {
			return text, true
		}
		text += "\n"
		ask = "...> "
	}
}

// chatHelp lists the commands of a conversation.
const chatHelp = `/help     lists these commands
/session  shows the session
/model    shows which model answers; /model ID chooses that of later turns
A line that ends in \ goes on in the next. Ctrl-C cancels a turn, Ctrl-D ends the conversation.
`

// chatKeys are the keys of the full screen.
const chatKeys = `Ctrl-J begins a new line, Ctrl-O shows all that calls take and return, or a line of
it, PgUp and PgDn scroll, Up and Down bring back what was typed, Ctrl-L draws the
screen again. A prompt that is typed while a turn runs waits for its end.
`

// runCommand runs a line that begins with a slash.
func (c *conversation) runCommand(line string) {
	name, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch {
	case name == "/help" && rest == "":
		fmt.Fprint(c.err, chatHelp)
		if c.screen != nil {
			fmt.Fprint(c.err, chatKeys)
		}
	case name == "/session" && rest == "":
		fmt.Fprintf(c.err, "system> session %s of agent %s\n", c.session.ID, orDash(c.agent))
	case name == "/model" && rest == "":
		fmt.Fprintf(c.err, "system> %s\n", c.describeModel())
	case name == "/model":
		c.chooseModel(strings.TrimSpace(rest))
	default:
		fmt.Fprintf(c.err, "error> there is no command %s; /help lists them\n", oneLine(name))
	}
}

// currentModel returns the model that answers next; empty if the server alone knows it.
func (c *conversation) currentModel() string {
	if c.model != "" || c.where.models == nil {
		return c.model
	}
	_, own := c.where.models(c.agent)
	return own
}

// describeModel returns which model answers, and which may.
func (c *conversation) describeModel() string {
	current := "that of agent " + orDash(c.agent)
	if name := c.currentModel(); name != "" {
		current = name
	}
	text := "the model is " + current
	if c.where.models == nil {
		return text
	}
	if all, _ := c.where.models(c.agent); len(all) > 0 {
		text += "; there are " + strings.Join(all, ", ")
	}
	return text
}

// chooseModel makes a model answer later turns. That of a server is checked with the next
// turn.
func (c *conversation) chooseModel(name string) {
	if problem := c.checkModel(name); problem != "" {
		fmt.Fprintf(c.err, "error> %s\n", problem)
		return
	}
	c.model = name
	fmt.Fprintf(c.err, "system> later turns are answered by %s\n", oneLine(name))
}

// checkModel returns why a model cannot answer, as far as that is known here, or "".
func (c *conversation) checkModel(name string) string {
	if name == "" || c.where.models == nil {
		return ""
	}
	all, own := c.where.models(c.agent)
	switch {
	case own == "":
		return fmt.Sprintf("agent %s runs elsewhere, which alone decides about its model", orDash(c.agent))
	case len(all) > 0 && !slices.Contains(all, name):
		return fmt.Sprintf("there is no model %s: there are %s", oneLine(name), strings.Join(all, ", "))
	default:
		return ""
	}
}

// joinNames joins the names that are not empty.
func joinNames(separator string, names ...string) string {
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == "" }), separator)
}

// inputOf returns what a turn begins with.
func (c *conversation) inputOf(texts []string) []model.Message {
	input := make([]model.Message, 0, len(c.systems)+len(texts))
	for _, text := range c.systems {
		input = append(input, model.System(text))
	}
	for _, text := range texts {
		input = append(input, model.User(text))
	}
	return input
}

// errInterrupted is why a turn is canceled that somebody at the terminal ends.
var errInterrupted = errors.New("operator interrupted")

// runTurn runs a turn with messages of the user to its end. An error ends the
// conversation; a turn that fails does not.
func (c *conversation) runTurn(ctx context.Context, texts ...string) error {
	turning, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	watching := make(chan struct{})
	go func() {
		defer close(watching)
		select {
		case <-c.interrupts:
			cancel(errInterrupted)
		case <-turning.Done():
		}
	}()
	defer func() { <-watching }()
	defer cancel(nil)
	c.shown.begin()
	turn, err := beginTurn(turning, c.where, &storedRun{
		id: newTurnID(), agent: c.namedAgent(), takes: true, session: c.session.ID, busy: service.RejectBusy, model: c.model, tools: c.tools,
		input: c.inputOf(texts), variables: c.variables, delegates: c.delegates,
	}, &show{streams: c.streams, redact: c.where.redact})
	var result *runtime.Result
	if err == nil {
		c.systems = nil
		result, err = turn.run(turning, c.shown, c.answers)
	}
	if failed := c.shown.close(); failed != nil {
		return failed
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !errors.Is(context.Cause(turning), errInterrupted):
		fmt.Fprintf(c.err, "error> %s\n", oneLine(c.where.redact(err.Error())))
	case result != nil && result.Status == event.StatusSucceeded && result.Agent != "":
		return c.noteAgent(ctx, result.Agent)
	}
	return nil
}

// namedAgent returns the agent that the next turn names: none if the session gives it to
// that agent anyway.
func (c *conversation) namedAgent() string {
	if c.agent == c.session.CurrentAgent() {
		return ""
	}
	return c.agent
}

// noteAgent notes which agent has the conversation after a turn.
func (c *conversation) noteAgent(ctx context.Context, agent string) error {
	session, err := c.where.GetSession(ctx, c.session.ID)
	if err != nil {
		return err
	}
	c.agent, c.session = agent, session
	if c.screen != nil {
		c.screen.change(func(m *chatModel) { m.title = c.title() })
	}
	return nil
}

// title is what the screen shows above the conversation.
func (c *conversation) title() string { return orDash(c.agent) + " · " + c.session.ID }

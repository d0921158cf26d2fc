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

	"github.com/agentruntime/agentruntime/cli/internal/question"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/cli/internal/turnview"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server/native"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
)

// turnView shows the turns of a conversation.
type turnView interface {
	event.Sink
	// Begin is called before a turn's events, and Close after them. Close returns the first display
	// error.
	Begin()
	Close() error
}

// conversation is a session at a terminal.
type conversation struct {
	*program
	where   *place
	session *native.Session
	// agent has the conversation in the next turn.
	agent string
	// model replaces the agent's model in the next turn unless empty.
	model     string
	variables []byte
	// systems are instructions for the next turn, messages the prompts to send before reading any,
	// and tools limits the tools of all turns; nil allows all.
	systems, messages []string
	tools             spec.Names
	answers           *question.Answerer
	shown             turnView
	// delegates also shows the events of delegates.
	delegates bool
	// screen is nil in line mode.
	screen *screenFront
	// interrupts receives a value for each Ctrl-C.
	interrupts chan os.Signal
}

// converse reads prompts and runs a turn for each, until there are no more.
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
	c := &conversation{
		program: p, where: where, session: s, agent: cmp.Or(agent, s.CurrentAgent()), variables: variables, answers: answers,
		systems: o.systems, messages: o.messages, tools: o.tools,
		model: o.model, delegates: *o.delegates, shown: turnview.NewTranscript(p.Out, where.redact), interrupts: make(chan os.Signal, 1), screen: o.screen,
	}
	if problem := c.checkModel(c.model); problem != "" {
		return errors.New(problem)
	}
	signal.Reset(os.Interrupt) // which would end the command, not only the turn
	signal.Notify(c.interrupts, os.Interrupt)
	defer signal.Stop(c.interrupts)
	fmt.Fprintf(p.Err, "Session %s [%s]\n/help lists the commands, Ctrl-D ends the conversation\n", terminal.OneLine(s.ID), terminal.OneLine(joinNames(" / ", terminal.OrDash(c.agent), c.currentModel())))
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
		fmt.Fprintf(p.Err, "Resume with: %s chat %s --resume=%s\n", p.Command(), where.name, terminal.OneLine(s.ID))
	}
	return nil
}

// readPrompts runs a turn for each typed prompt.
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

// showPrompts shows prompts that were not typed.
func (c *conversation) showPrompts(texts []string) {
	if c.screen == nil {
		for _, text := range texts {
			fmt.Fprintf(c.Err, "you> %s\n", terminal.OneLine(text))
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

// readPrompt reads a prompt: a line, plus the next one while it ends in a backslash. It returns
// false at the end of the input and after Ctrl-C.
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
		if c.screen == nil && terminal.IsTerminal(c.In) {
			fmt.Fprint(c.Err, ask)
		}
		line, ok := c.answers.Input.Next(reading, nil)
		if err := c.answers.Input.Failed; err != nil {
			fmt.Fprintf(c.Err, "error> %v\n", err)
		}
		if !ok || c.answers.Input.Ended {
			if c.screen == nil && terminal.IsTerminal(c.In) {
				fmt.Fprintln(c.Err)
			}
			return text, ok && text != ""
		}
		if !terminal.IsTerminal(c.In) { // a terminal would echo the input
			fmt.Fprintln(c.Err, ask+terminal.OneLine(line))
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
A line that ends in \ continues in the next. Ctrl-C cancels a turn, Ctrl-D ends the conversation.
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
		fmt.Fprint(c.Err, chatHelp)
		if c.screen != nil {
			fmt.Fprint(c.Err, chatKeys)
		}
	case name == "/session" && rest == "":
		fmt.Fprintf(c.Err, "system> session %s of agent %s\n", c.session.ID, terminal.OrDash(c.agent))
	case name == "/model" && rest == "":
		fmt.Fprintf(c.Err, "system> %s\n", c.describeModel())
	case name == "/model":
		c.chooseModel(strings.TrimSpace(rest))
	default:
		fmt.Fprintf(c.Err, "error> unknown command %s; /help lists the commands\n", terminal.OneLine(name))
	}
}

// currentModel returns the model that answers next; empty if only the server knows it.
func (c *conversation) currentModel() string {
	if c.model != "" || c.where.models == nil {
		return c.model
	}
	_, own := c.where.models(c.agent)
	return own
}

// describeModel describes the current model and the alternatives.
func (c *conversation) describeModel() string {
	current := "the default of agent " + terminal.OrDash(c.agent)
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

// chooseModel sets the model of later turns. A server checks it with the next turn.
func (c *conversation) chooseModel(name string) {
	if problem := c.checkModel(name); problem != "" {
		fmt.Fprintf(c.Err, "error> %s\n", problem)
		return
	}
	c.model = name
	fmt.Fprintf(c.Err, "system> later turns are answered by %s\n", terminal.OneLine(name))
}

// checkModel returns why a model cannot answer, or "" if no reason is known here.
func (c *conversation) checkModel(name string) string {
	if name == "" || c.where.models == nil {
		return ""
	}
	all, own := c.where.models(c.agent)
	switch {
	case own == "":
		return fmt.Sprintf("agent %s runs elsewhere; its model cannot be chosen here", terminal.OrDash(c.agent))
	case len(all) > 0 && !slices.Contains(all, name):
		return fmt.Sprintf("unknown model %s: choose one of %s", terminal.OneLine(name), strings.Join(all, ", "))
	default:
		return ""
	}
}

// inputOf returns the input of a turn.
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

// errInterrupted is the cause when a person at the terminal cancels a turn.
var errInterrupted = errors.New("operator interrupted")

// runTurn runs a turn with user messages to its end. An error ends the conversation; a failed turn
// does not.
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
	c.shown.Begin()
	turn, err := beginTurn(turning, c.where, &storedRun{
		id: newTurnID(), agent: c.namedAgent(), takes: true, session: c.session.ID, busy: service.RejectBusy, model: c.model, tools: c.tools,
		input: c.inputOf(texts), variables: c.variables, delegates: c.delegates,
	}, &turnview.Printer{Streams: c.Streams, Redact: c.where.redact})
	var result *runtime.Result
	if err == nil {
		c.systems = nil
		result, err = turn.run(turning, c.shown, c.answers)
	}
	if failed := c.shown.Close(); failed != nil {
		return failed
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !errors.Is(context.Cause(turning), errInterrupted):
		fmt.Fprintf(c.Err, "error> %s\n", terminal.OneLine(c.where.redact(err.Error())))
	case result != nil && result.Status == event.StatusSucceeded && result.Agent != "":
		return c.noteAgent(ctx, result.Agent)
	}
	return nil
}

// namedAgent returns the agent to name in the next turn: empty if the session selects it anyway.
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

// title is shown above the conversation.
func (c *conversation) title() string { return terminal.OrDash(c.agent) + " · " + c.session.ID }

// joinNames joins the nonempty names.
func joinNames(separator string, names ...string) string {
	return strings.Join(slices.DeleteFunc(names, func(name string) bool { return name == "" }), separator)
}

// Package chat holds a conversation with an agent at a terminal, full-screen or as lines.
package chat

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"sync"

	"github.com/agentruntime/agentruntime/cli/internal/question"
	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/cli/internal/turnview"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/runtime"
	"github.com/agentruntime/agentruntime/server/native"
)

// turnView shows the turns of a conversation.
type turnView interface {
	event.Sink
	// Begin is called before a turn's events, and Close after them. Close returns the first display
	// error.
	Begin()
	Close() error
}

// Settings configure a conversation. All fields are required unless noted.
type Settings struct {
	terminal.Streams
	// Session is the session to continue, and Agent has the conversation in the next turn.
	Session *native.Session
	Agent   string
	// Model replaces the agent's model unless empty.
	Model string
	// Models returns the models and pools that a turn may use, and the agent's own model; nil if
	// only the server knows them.
	Models func(agent string) (all []string, own string)
	// Systems are instructions for the first turn, and Messages the prompts to send before reading
	// any. Both may be empty.
	Systems, Messages []string
	Answers           *question.Answerer
	// Screen shows the conversation full-screen; nil shows it as lines.
	Screen *Screen
	// Redact hides secrets.
	Redact func(string) string
	// GetSession returns the current state of a session, and BeginTurn creates a turn in Session.
	GetSession func(ctx context.Context, id string) (*native.Session, error)
	BeginTurn  func(ctx context.Context, r *TurnRequest) (Turn, error)
}

// TurnRequest is the request for a turn of the conversation. Agent is empty if the session selects
// it, and Model if the agent does.
type TurnRequest struct {
	Agent, Model string
	Input        []model.Message
}

// Turn is a turn that has begun.
type Turn interface {
	// Run shows the turn's events and answers its questions until it ends. If ctx ends, it ends the
	// turn.
	Run(ctx context.Context, out event.Sink, answers *question.Answerer) (*runtime.Result, error)
}

// conversation is a session at a terminal.
type conversation struct {
	settings Settings
	shown    turnView
	// interrupts receives a value for each Ctrl-C.
	interrupts chan os.Signal
}

// Run reads prompts and runs a turn for each, until there are no more.
func Run(ctx context.Context, s Settings) error {
	c := &conversation{settings: s, shown: turnview.NewTranscript(s.Out, s.Redact), interrupts: make(chan os.Signal, 1)}
	if problem := c.checkModel(c.settings.Model); problem != "" {
		return errors.New(problem)
	}
	signal.Reset(os.Interrupt) // which would end the command, not only the turn
	signal.Notify(c.interrupts, os.Interrupt)
	defer signal.Stop(c.interrupts)
	with := cmp.Or(c.settings.Agent, "-")
	if name := c.currentModel(); name != "" {
		with += " / " + name
	}
	fmt.Fprintf(c.settings.Err, "Session %s [%s]\n/help lists the commands, Ctrl-D ends the conversation\n", terminal.OneLine(c.settings.Session.ID), terminal.OneLine(with))
	if c.settings.Screen == nil {
		return c.readPrompts(ctx)
	}
	return c.runOnScreen(ctx)
}

// runOnScreen is readPrompts for a full screen.
func (c *conversation) runOnScreen(ctx context.Context) error {
	screen, lines := c.settings.Screen, make(chan string, 16) // never full, so that the screen never blocks
	c.shown, screen.redact, c.settings.Answers.Input = screen, c.settings.Redact, screen.readLines(lines)
	m := &screenModel{screen: screen, lines: lines, interrupts: c.interrupts, title: c.title(), pane: pane{follow: true}}
	return screen.run(ctx, m, c.readPrompts)
}

// watchInterrupts calls do at Ctrl-C, until ctx ends. The returned function waits for that.
func (c *conversation) watchInterrupts(ctx context.Context, do func()) (wait func()) {
	var watching sync.WaitGroup
	watching.Go(func() {
		select {
		case <-c.interrupts:
			do()
		case <-ctx.Done():
		}
	})
	return watching.Wait
}

// readPrompts runs a turn for each typed prompt.
func (c *conversation) readPrompts(ctx context.Context) error {
	if len(c.settings.Messages) > 0 {
		c.showPrompts(c.settings.Messages)
		if err := c.runTurn(ctx, c.settings.Messages...); err != nil {
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
	if c.settings.Screen == nil {
		for _, text := range texts {
			fmt.Fprintf(c.settings.Err, "you> %s\n", terminal.OneLine(text))
		}
		return
	}
	c.settings.Screen.change(func(m *screenModel) {
		for _, text := range texts {
			m.add(&block{kind: blockPrompt, text: text})
		}
		m.turning = true
	})
}

// readPrompt reads a prompt: a line, plus the next one while it ends in a backslash. It returns
// false at the end of the input and after Ctrl-C.
func (c *conversation) readPrompt(ctx context.Context) (text string, more bool) {
	reading, stop := context.WithCancel(ctx)
	defer c.watchInterrupts(reading, stop)()
	defer stop()
	ask := "you> "
	for {
		if c.settings.Screen == nil && terminal.IsTerminal(c.settings.In) {
			fmt.Fprint(c.settings.Err, ask)
		}
		line, ok := c.settings.Answers.Input.Next(reading, nil)
		if err := c.settings.Answers.Input.Failed; err != nil {
			fmt.Fprintf(c.settings.Err, "error> %v\n", err)
		}
		if !ok || c.settings.Answers.Input.Ended {
			if c.settings.Screen == nil && terminal.IsTerminal(c.settings.In) {
				fmt.Fprintln(c.settings.Err)
			}
			return text, ok && text != ""
		}
		if !terminal.IsTerminal(c.settings.In) { // a terminal would echo the input
			fmt.Fprintln(c.settings.Err, ask+terminal.OneLine(line))
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
		fmt.Fprint(c.settings.Err, chatHelp)
		if c.settings.Screen != nil {
			fmt.Fprint(c.settings.Err, chatKeys)
		}
	case name == "/session" && rest == "":
		fmt.Fprintf(c.settings.Err, "system> session %s of agent %s\n", c.settings.Session.ID, cmp.Or(c.settings.Agent, "-"))
	case name == "/model" && rest == "":
		fmt.Fprintf(c.settings.Err, "system> %s\n", c.describeModel())
	case name == "/model":
		c.chooseModel(strings.TrimSpace(rest))
	default:
		fmt.Fprintf(c.settings.Err, "error> unknown command %s; /help lists the commands\n", terminal.OneLine(name))
	}
}

// currentModel returns the model that answers next; empty if only the server knows it.
func (c *conversation) currentModel() string {
	if c.settings.Model != "" || c.settings.Models == nil {
		return c.settings.Model
	}
	_, own := c.settings.Models(c.settings.Agent)
	return own
}

// describeModel describes the current model and the alternatives.
func (c *conversation) describeModel() string {
	current := "the default of agent " + cmp.Or(c.settings.Agent, "-")
	if name := c.currentModel(); name != "" {
		current = name
	}
	text := "the model is " + current
	if c.settings.Models == nil {
		return text
	}
	if all, _ := c.settings.Models(c.settings.Agent); len(all) > 0 {
		text += "; there are " + strings.Join(all, ", ")
	}
	return text
}

// chooseModel sets the model of later turns. A server checks it with the next turn.
func (c *conversation) chooseModel(name string) {
	if problem := c.checkModel(name); problem != "" {
		fmt.Fprintf(c.settings.Err, "error> %s\n", problem)
		return
	}
	c.settings.Model = name
	fmt.Fprintf(c.settings.Err, "system> later turns are answered by %s\n", terminal.OneLine(name))
}

// checkModel returns why a model cannot answer, or "" if no reason is known here.
func (c *conversation) checkModel(name string) string {
	if name == "" || c.settings.Models == nil {
		return ""
	}
	all, own := c.settings.Models(c.settings.Agent)
	switch {
	case own == "":
		return fmt.Sprintf("agent %s runs elsewhere; its model cannot be chosen here", cmp.Or(c.settings.Agent, "-"))
	case len(all) > 0 && !slices.Contains(all, name):
		return fmt.Sprintf("unknown model %s: choose one of %s", terminal.OneLine(name), strings.Join(all, ", "))
	default:
		return ""
	}
}

// inputOf returns the input of a turn.
func (c *conversation) inputOf(texts []string) []model.Message {
	input := make([]model.Message, 0, len(c.settings.Systems)+len(texts))
	for _, text := range c.settings.Systems {
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
	defer c.watchInterrupts(turning, func() { cancel(errInterrupted) })()
	defer cancel(nil)
	c.shown.Begin()
	turn, err := c.settings.BeginTurn(turning, &TurnRequest{Agent: c.namedAgent(), Model: c.settings.Model, Input: c.inputOf(texts)})
	var result *runtime.Result
	if err == nil {
		c.settings.Systems = nil
		result, err = turn.Run(turning, c.shown, c.settings.Answers)
	}
	if failed := c.shown.Close(); failed != nil {
		return failed
	}
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && !errors.Is(context.Cause(turning), errInterrupted):
		fmt.Fprintf(c.settings.Err, "error> %s\n", terminal.OneLine(c.settings.Redact(err.Error())))
	case result != nil && result.Status == event.StatusSucceeded && result.Agent != "":
		return c.noteAgent(ctx, result.Agent)
	}
	return nil
}

// namedAgent returns the agent to name in the next turn: empty if the session selects it anyway.
func (c *conversation) namedAgent() string {
	if c.settings.Agent == c.settings.Session.CurrentAgent() {
		return ""
	}
	return c.settings.Agent
}

// noteAgent notes which agent has the conversation after a turn.
func (c *conversation) noteAgent(ctx context.Context, agent string) error {
	session, err := c.settings.GetSession(ctx, c.settings.Session.ID)
	if err != nil {
		return err
	}
	c.settings.Agent, c.settings.Session = agent, session
	if c.settings.Screen != nil {
		c.settings.Screen.change(func(m *screenModel) { m.title = c.title() })
	}
	return nil
}

// title is shown above the conversation.
func (c *conversation) title() string {
	return cmp.Or(c.settings.Agent, "-") + " · " + c.settings.Session.ID
}

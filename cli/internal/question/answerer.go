// Package question asks a person the questions of a turn.
package question

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/cli/internal/turnview"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
)

// The values of --approve.
const (
	ApproveAsk = "ask"
	ApproveYes = "yes"
	ApproveNo  = "no"
	// ApproveAuto asks if standard input is a terminal; otherwise the turn ends waiting.
	ApproveAuto = "auto"
)

// Answerer answers the interactions of a turn, either by asking on standard input or always the
// same way.
type Answerer struct {
	terminal.Streams
	approve string
	redact  func(string) string
	// Input has the typed lines.
	Input *terminal.LineReader
	// Context looks up the tool and rule behind a call; nil shows no context.
	Context ExplainCall
	// Session describes how long a permission for the session lasts.
	Session string
	// Screen shows progress on the same terminal; nil without progress.
	Screen *turnview.Screen
	// asked is signaled when the turn opens an interaction.
	asked chan struct{}
}

// NewAnswerer returns the answerer for a value of --approve; nil if nothing answers. Asking needs
// standard input, so it is an error if the prompt was read from it.
func NewAnswerer(s terminal.Streams, approve string, promptRead bool, redact func(string) string) (*Answerer, error) {
	switch {
	case approve == ApproveAsk && promptRead:
		return nil, errors.New("--approve ask reads the answers from standard input: give the prompt as the last argument")
	case approve == ApproveAuto && (promptRead || !terminal.IsTerminal(s.In)):
		return nil, nil //nolint:nilnil // nobody answers
	}
	return &Answerer{
		Streams: s, approve: approve, redact: redact, Input: &terminal.LineReader{In: s.In}, asked: make(chan struct{}, 1),
		Session: "which ends with this command",
	}, nil
}

// Emit notes a question.
func (a *Answerer) Emit(ev event.Event) {
	if _, ok := ev.Data.(*event.InteractionRequest); ok {
		select {
		case a.asked <- struct{}{}:
		default:
		}
	}
}

// Turn is a turn that may ask questions.
type Turn interface {
	// Done returns a channel that is closed when the turn ends.
	Done() <-chan struct{}
	// Open returns the turn's open interactions.
	Open(ctx context.Context) ([]*interaction.Request, error)
	// Answer answers it.
	Answer(ctx context.Context, r interaction.Answer) error
	// Cancel ends the turn.
	Cancel(reason error)
}

// Run answers questions until the turn ends.
func (a *Answerer) Run(ctx context.Context, turn Turn) {
	for {
		select {
		case <-turn.Done():
			return
		case <-a.asked:
		}
		for more := true; more && ctx.Err() == nil; {
			var err error
			more, err = a.next(ctx, turn)
			if err == nil || ctx.Err() != nil {
				continue
			}
			a.PrintErrorf("%s", a.redact(err.Error()))
			if !more || a.Input.Ended || a.approve == ApproveYes || a.approve == ApproveNo {
				turn.Cancel(err) // asking again would not help
				return
			}
		}
	}
}

// next answers one question. It reports whether there was one and it was answered; with an error
// this is unknown.
func (a *Answerer) next(ctx context.Context, turn Turn) (more bool, err error) {
	open, err := turn.Open(ctx)
	if err != nil || len(open) == 0 {
		return false, err
	}
	r, ok := a.answer(ctx, turn.Done(), open[0])
	if !ok {
		return false, nil
	}
	return true, turn.Answer(ctx, r)
}

// answer returns the answer to a question; ok is false if the turn ended first.
func (a *Answerer) answer(ctx context.Context, over <-chan struct{}, q *interaction.Request) (r interaction.Answer, ok bool) {
	asked := PermissionOf(q.Action, q.Parameters, q.ResponseSchema)
	a.Prompt("? " + terminal.OneLine(a.redact(questionText(q))) + "\n")
	switch {
	case a.approve == ApproveYes || a.approve == ApproveNo:
		return a.answerAlike(q, asked), true
	case asked != nil:
		return a.askConsent(ctx, over, q, asked)
	}
	return a.askForm(ctx, over, q, formOf(q))
}

// askForm asks until it has an answer in the right form. ok is false if the turn ended first.
func (a *Answerer) askForm(ctx context.Context, over <-chan struct{}, q *interaction.Request, form answerForm) (r interaction.Answer, ok bool) {
	for {
		a.Prompt(form.ask(a.redact))
		line, ok := a.line(ctx, over, form.secret)
		switch {
		case !ok:
			return r, false
		case a.Input.Ended:
			return interaction.Answer{Target: q.ID, Action: interaction.Cancel, Reason: "nobody answered"}, true
		case form.preset != nil && strings.TrimSpace(line) == "":
			return interaction.Answer{Target: q.ID, Action: interaction.Resume, Result: form.preset}, true
		case form.lacks(line):
			fmt.Fprintln(a.Err, "  an answer is required")
		default:
			return interaction.Answer{Target: q.ID, Action: interaction.Resume, Result: readLine(ctx, q, line)}, true
		}
	}
}

// answerAlike returns the answer of --approve yes or no to a question. asked is nil unless it is a
// permission question.
func (a *Answerer) answerAlike(q *interaction.Request, asked *Consent) interaction.Answer {
	if a.approve == ApproveYes && asked != nil {
		fmt.Fprintln(a.Err, "  yes")
		return asked.Answer(q, true, ScopeOnce)
	}
	fmt.Fprintln(a.Err, "  no")
	if asked != nil && q.Action != permissionAction { // to cancel would end the peer's task
		return asked.Answer(q, false, ScopeOnce)
	}
	return interaction.Answer{Target: q.ID, Action: interaction.Cancel, Reason: "--approve " + a.approve + " was given"}
}

// askConsent asks a person for a permission and explains it whenever requested. ok is false if the
// turn ended first.
func (a *Answerer) askConsent(ctx context.Context, over <-chan struct{}, q *interaction.Request, asked *Consent) (r interaction.Answer, ok bool) {
	choices := "  [y] once, [?] explains, anything else refuses: "
	if asked.forSession() {
		choices = "  [y] once, [s] for the session, [?] explains, anything else refuses: "
	}
	for {
		a.Prompt(choices)
		line, ok := a.line(ctx, over, false)
		if !ok {
			return r, false
		}
		switch strings.ToLower(strings.TrimSpace(line)) {
		case "?":
			fmt.Fprint(a.Err, a.explain(ctx, q, asked))
		case "y", "yes":
			return asked.Answer(q, true, ScopeOnce), true
		case "s", ScopeSession:
			return asked.Answer(q, true, ScopeSession), true
		default:
			return asked.Answer(q, false, ScopeOnce), true
		}
	}
}

// explain describes a permission question: its agent, its reason, the call's effect and the
// meaning of each answer.
func (a *Answerer) explain(ctx context.Context, q *interaction.Request, asked *Consent) string {
	var b strings.Builder
	about := &asked.About
	rule := "no rule speaks of the call, and the default is to ask"
	if about.Rule != "" {
		rule = fmt.Sprintf("the rule %q of agent %s", about.Rule, about.Agent)
	}
	var known *Call
	if a.Context != nil && len(asked.interactions) == 0 {
		known = a.Context(ctx, asked, q)
	}
	if known == nil {
		terminal.WriteRow(&b, "asks", rule, "", "")
		terminal.WriteRow(&b, "", "its location is known to the operator of the agent", "", "")
	} else {
		terminal.WriteRow(&b, "asks", rule, known.GatePath, known.GatePlace)
		for _, condition := range known.Conditions {
			terminal.WriteRow(&b, "because", condition, "", "")
		}
		tool := q.Tool
		if known.Tool != "" {
			tool += " (" + known.Tool + ")"
		}
		terminal.WriteRow(&b, "tool", strings.TrimSpace(tool), known.ToolPath, known.ToolPlace)
		terminal.WriteRow(&b, "does", known.Action, "", "")
	}
	terminal.WriteRow(&b, "with", strings.Join(indented(q.Arguments), "\n           "), "", "")
	terminal.WriteRow(&b, "y", "makes this call; the next one is asked about again", "", "")
	if asked.forSession() {
		terminal.WriteRow(&b, "s", "makes this call, and remembers that for later ones of "+q.Tool+" that the same rule asks about,", "", "")
		terminal.WriteRow(&b, "", "for the rest of the session, "+a.Session, "", "")
	}
	terminal.WriteRow(&b, "else", "rejects the call; the model is told, continues and may ask again", "", "")
	return terminal.EscapeLines(a.redact(b.String()))
}

func questionText(q *interaction.Request) string {
	asked := cmp.Or(q.Message, q.Action)
	if q.Tool == "" { // the question is not about a call
		return asked
	}
	return fmt.Sprintf("%s (%s %s)", asked, q.Tool, q.Arguments)
}

// AsJSON returns a line unchanged if it is JSON, or else as a JSON string.
func AsJSON(line string) json.RawMessage {
	if json.Valid([]byte(line)) {
		return json.RawMessage(line)
	}
	data, _ := json.Marshal(line) // a text
	return data
}

// readLine reads a line as the answer to a question: as JSON if that fits the schema, otherwise
// as the plain text of a field.
func readLine(ctx context.Context, q *interaction.Request, line string) json.RawMessage {
	plain := AsJSON(line)
	if interaction.Check(ctx, q, &interaction.Answer{Target: q.ID, Action: interaction.Resume, Result: plain}) == nil {
		return plain
	}
	if read, err := interaction.ReadAnswer(ctx, q, line); err == nil {
		return read
	}
	return plain // whose error is shown
}

// line reads a typed line without echo if it is secret. At end of input it returns "", which
// rejects.
func (a *Answerer) line(ctx context.Context, over <-chan struct{}, secret bool) (string, bool) {
	if f, ok := a.In.(*os.File); ok && secret && a.Input.Hide == nil && terminal.IsTerminal(f) {
		restore := terminal.HideTyping(f)
		defer fmt.Fprintln(a.Err) // the terminal did not echo it
		defer restore()
	}
	if a.Input.Hide != nil {
		a.Input.Hide(secret)
	}
	echoed := terminal.IsTerminal(a.In) && !secret && a.Input.Hide == nil
	a.Screen.SetPrompted(echoed)
	line, ok := a.Input.Next(ctx, over)
	switch {
	case ok && !a.Input.Ended:
		a.Screen.SetPrompted(false) // the person pressed Enter
	case echoed && a.Screen == nil:
		fmt.Fprintln(a.Err)
	}
	if !terminal.IsTerminal(a.In) { // a terminal would echo the input
		shown := terminal.OneLine(line)
		if secret {
			shown = HiddenText
		}
		fmt.Fprintln(a.Err, shown)
	}
	return line, ok
}

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/cli/internal/terminal"
	"github.com/agentruntime/agentruntime/cli/internal/turnview"
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/event/interaction"
)

// The values of --approve.
const (
	approveAsk = "ask"
	approveYes = "yes"
	approveNo  = "no"
	// approveAuto asks if standard input is a terminal; otherwise the turn ends waiting.
	approveAuto = "auto"
)

// answerer answers the interactions of a turn, either by asking on standard input or always the
// same way.
type answerer struct {
	terminal.Streams
	approve string
	redact  func(string) string
	input   *terminal.LineReader
	// context looks up the tool and rule behind a call; nil shows no context.
	context explainCall
	// session describes how long a permission for the session lasts.
	session string
	// screen shows progress on the same terminal; nil without progress.
	screen *turnview.Screen
	// asked is signaled when the turn opens an interaction.
	asked chan struct{}
}

// explainCall describes a call using the configuration.
type explainCall func(ctx context.Context, asked *consent, q *interaction.Request) *callContext

// newAnswerer returns the answerer for a value of --approve; nil if nothing answers. Asking needs
// standard input, so it is an error if the prompt was read from it.
func newAnswerer(s terminal.Streams, approve string, promptRead bool, redact func(string) string) (*answerer, error) {
	switch {
	case approve == approveAsk && promptRead:
		return nil, errors.New("--approve ask reads the answers from standard input: give the prompt as the last argument")
	case approve == approveAuto && (promptRead || !terminal.IsTerminal(s.In)):
		return nil, nil //nolint:nilnil // nobody answers
	}
	return &answerer{
		Streams: s, approve: approve, redact: redact, input: &terminal.LineReader{In: s.In}, asked: make(chan struct{}, 1),
		session: "which ends with this command",
	}, nil
}

// Emit notes a question.
func (a *answerer) Emit(ev event.Event) {
	if _, ok := ev.Data.(*event.InteractionRequest); ok {
		select {
		case a.asked <- struct{}{}:
		default:
		}
	}
}

// asking is a turn that may ask questions.
type asking interface {
	// Done returns a channel that is closed when the turn ends.
	Done() <-chan struct{}
	// Open returns the turn's open interactions.
	Open(ctx context.Context) ([]*interaction.Request, error)
	// Answer answers it.
	Answer(ctx context.Context, r interaction.Answer) error
	// Cancel ends the turn.
	Cancel(reason error)
}

// run answers questions until the turn ends.
func (a *answerer) run(ctx context.Context, turn asking) {
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
			if !more || a.input.Ended || a.approve == approveYes || a.approve == approveNo {
				turn.Cancel(err) // asking again would not help
				return
			}
		}
	}
}

// next answers one question. It reports whether there was one and it was answered; with an error
// this is unknown.
func (a *answerer) next(ctx context.Context, turn asking) (more bool, err error) {
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
func (a *answerer) answer(ctx context.Context, over <-chan struct{}, q *interaction.Request) (r interaction.Answer, ok bool) {
	asked := permissionOf(q.Action, q.Parameters, q.ResponseSchema)
	a.Prompt("? " + terminal.OneLine(a.redact(question(q))) + "\n")
	switch {
	case a.approve == approveYes || a.approve == approveNo:
		return a.answerAlike(q, asked), true
	case asked != nil:
		return a.askConsent(ctx, over, q, asked)
	}
	return a.askForm(ctx, over, q, formOf(q))
}

// askForm asks until it has an answer in the right form. ok is false if the turn ended first.
func (a *answerer) askForm(ctx context.Context, over <-chan struct{}, q *interaction.Request, form answerForm) (r interaction.Answer, ok bool) {
	for {
		a.Prompt(form.ask(a.redact))
		line, ok := a.line(ctx, over, form.secret)
		switch {
		case !ok:
			return r, false
		case a.input.Ended:
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
func (a *answerer) answerAlike(q *interaction.Request, asked *consent) interaction.Answer {
	if a.approve == approveYes && asked != nil {
		fmt.Fprintln(a.Err, "  yes")
		return asked.answer(q, true, scopeOnce)
	}
	fmt.Fprintln(a.Err, "  no")
	if asked != nil && q.Action != permissionAction { // to cancel would end the peer's task
		return asked.answer(q, false, scopeOnce)
	}
	return interaction.Answer{Target: q.ID, Action: interaction.Cancel, Reason: "--approve " + a.approve + " was given"}
}

// askConsent asks a person for a permission and explains it whenever requested. ok is false if the
// turn ended first.
func (a *answerer) askConsent(ctx context.Context, over <-chan struct{}, q *interaction.Request, asked *consent) (r interaction.Answer, ok bool) {
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
			return asked.answer(q, true, scopeOnce), true
		case "s", scopeSession:
			return asked.answer(q, true, scopeSession), true
		default:
			return asked.answer(q, false, scopeOnce), true
		}
	}
}

// consent is a permission question for a tool call, by a local agent or by a peer that runs the
// same program.
type consent struct {
	schema json.RawMessage
	// about describes the call, if the question does.
	about struct {
		Agent string `json:"agent"`
		Tool  string `json:"tool"`
		Rule  string `json:"rule"`
	}
	// interactions are the peers' ids of the question, nearest peer first; empty for a local agent.
	interactions []string
}

// maxPeers bounds through how many peers a question is followed.
const maxPeers = 8

// permissionOf returns the permission that a question requests; nil for any other question. A peer
// forwards its agent's question as data.
func permissionOf(action string, parameters, schema json.RawMessage) *consent {
	p := &consent{schema: schema}
	for action == inputAction && len(p.interactions) < maxPeers {
		var at struct {
			Data struct {
				Interaction string          `json:"interaction_id"`
				Action      string          `json:"action"`
				Parameters  json.RawMessage `json:"parameters"`
				Schema      json.RawMessage `json:"response_schema"`
			} `json:"data"`
		}
		if json.Unmarshal(parameters, &at) != nil || at.Data.Interaction == "" {
			return nil
		}
		p.interactions = append(p.interactions, at.Data.Interaction)
		action, parameters, p.schema = at.Data.Action, at.Data.Parameters, at.Data.Schema
	}
	if action != permissionAction {
		return nil
	}
	_ = json.Unmarshal(parameters, &p.about) // missing fields are not shown
	return p
}

// forSession reports whether the permission may be granted for the session.
func (p *consent) forSession() bool {
	var form struct {
		Properties struct {
			Scope struct {
				Enum []string `json:"enum"`
			} `json:"scope"`
		} `json:"properties"`
	}
	return json.Unmarshal(p.schema, &form) == nil && slices.Contains(form.Properties.Scope.Enum, scopeSession)
}

// answer grants or denies the permission in the form that each peer on the way expects.
func (p *consent) answer(q *interaction.Request, approved bool, scope string) interaction.Answer {
	result := map[string]any{"approved": approved}
	if approved {
		result["scope"] = scope
	}
	for _, id := range slices.Backward(p.interactions) {
		result = map[string]any{"data": map[string]any{"interaction_id": id, "response": result}}
	}
	data, _ := json.Marshal(result) // a bool and texts
	return interaction.Answer{Target: q.ID, Action: interaction.Resume, Result: data}
}

// The scopes of a permission.
const (
	scopeOnce    = "once"
	scopeSession = "session"
)

// permissionAction is the action of the permission plugin's questions.
const permissionAction = "tool:PermissionConfirm"

// inputAction is the action of a question from an A2A peer.
const inputAction = "a2a:input_required"

func question(q *interaction.Request) string {
	asked := cmp.Or(q.Message, q.Action)
	if q.Tool == "" { // the question is not about a call
		return asked
	}
	return fmt.Sprintf("%s (%s %s)", asked, q.Tool, q.Arguments)
}

// asJSON returns a line unchanged if it is JSON, or else as a JSON string.
func asJSON(line string) json.RawMessage {
	if json.Valid([]byte(line)) {
		return json.RawMessage(line)
	}
	data, _ := json.Marshal(line) // a text
	return data
}

// readLine reads a line as the answer to a question: as JSON if that fits the schema, otherwise
// as the plain text of a field.
func readLine(ctx context.Context, q *interaction.Request, line string) json.RawMessage {
	plain := asJSON(line)
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
func (a *answerer) line(ctx context.Context, over <-chan struct{}, secret bool) (string, bool) {
	if f, ok := a.In.(*os.File); ok && secret && a.input.Hide == nil && terminal.IsTerminal(f) {
		restore := terminal.HideTyping(f)
		defer fmt.Fprintln(a.Err) // the terminal did not echo it
		defer restore()
	}
	if a.input.Hide != nil {
		a.input.Hide(secret)
	}
	echoed := terminal.IsTerminal(a.In) && !secret && a.input.Hide == nil
	a.screen.SetPrompted(echoed)
	line, ok := a.input.Next(ctx, over)
	switch {
	case ok && !a.input.Ended:
		a.screen.SetPrompted(false) // the person pressed Enter
	case echoed && a.screen == nil:
		fmt.Fprintln(a.Err)
	}
	if !terminal.IsTerminal(a.In) { // a terminal would echo the input
		shown := terminal.OneLine(line)
		if secret {
			shown = hiddenText
		}
		fmt.Fprintln(a.Err, shown)
	}
	return line, ok
}

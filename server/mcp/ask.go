package mcp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/tools"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/zap"
)

// maxAsked limits how often a question is repeated if its answers do not fit.
const maxAsked = 3

// questions asks the client while its call is followed. The goroutine that follows the call uses
// it; each question has its own goroutine.
type questions struct {
	call *call
	ctx  context.Context
	// open cancels the questions being asked.
	open    map[string]context.CancelFunc
	running sync.WaitGroup
}

func newQuestions(ctx context.Context, c *call) *questions {
	return &questions{call: c, ctx: ctx, open: map[string]context.CancelFunc{}}
}

// ask asks the turn's open questions. It returns a result for clients without sessions, which
// answer with another call.
func (q *questions) ask() (*mcp.CallToolResult, error) {
	c := q.call
	pending, err := c.settings.Service.ListInteractions(q.ctx, c.view.caller, service.InteractionQuery{TurnID: c.turn.ID, State: service.InteractionPending})
	if err != nil || len(pending) == 0 {
		return nil, err
	}
	required := mcp.InputRequestMap{}
	for _, p := range pending {
		asked, problem := c.elicitation(p)
		switch {
		case problem != "":
			if err := c.answer(q.ctx, interaction.Answer{Target: p.ID, Action: interaction.Cancel, Reason: problem}); err != nil {
				return nil, err
			}
		case c.isStateless():
			required[p.ID] = asked
		case q.open[p.ID] == nil:
			ctx, cancel := context.WithCancel(q.ctx)
			q.open[p.ID] = cancel
			q.running.Go(func() { q.elicit(ctx, p, asked) })
		}
	}
	if len(required) == 0 {
		return nil, nil //nolint:nilnil // the turn continues
	}
	return c.addMeta(&mcp.CallToolResult{InputRequests: required, RequestState: c.turn.ID}), nil
}

// elicit asks a question until the answer fits or ctx ends.
func (q *questions) elicit(ctx context.Context, p *service.Interaction, asked *mcp.ElicitParams) {
	c := q.call
	if c.isTask {
		asked.Meta = mcp.Meta{relatedMeta: map[string]string{"taskId": c.turn.ID}}
	}
	refusal := "the client's answer does not fit the question"
	for range maxAsked {
		result, err := c.req.Session.Elicit(ctx, asked)
		if ctx.Err() != nil {
			return // answered elsewhere, or the call has ended
		}
		if err != nil {
			refusal = "the client could not ask: " + err.Error()
			continue
		}
		a, err := readElicited(ctx, p, result)
		if err == nil {
			err = c.answer(ctx, a)
		}
		if err == nil || ctx.Err() != nil {
			return
		}
		if !errors.As(err, new(*interaction.AnswerError)) {
			c.settings.Logger.Error("answering an interaction failed", zap.String("turn_id", p.TurnID), zap.Error(err))
			return
		}
	}
	if err := c.answer(ctx, interaction.Answer{Target: p.ID, Action: interaction.Cancel, Reason: refusal}); err != nil {
		c.settings.Logger.Error("rejecting an interaction failed", zap.String("turn_id", p.TurnID), zap.Error(err))
	}
}

// drop ends an answered question.
func (q *questions) drop(id string) {
	if cancel := q.open[id]; cancel != nil {
		cancel()
	}
}

// close ends all questions and waits for them.
func (q *questions) close() {
	for _, cancel := range q.open {
		cancel()
	}
	q.running.Wait()
}

// readResponses passes the call's answers to the turn. Missing or invalid answers are requested
// again.
func (c *call) readResponses(ctx context.Context) error {
	pending, err := c.settings.Service.ListInteractions(ctx, c.view.caller, service.InteractionQuery{TurnID: c.turn.ID, State: service.InteractionPending})
	if err != nil {
		return err
	}
	for _, p := range pending {
		result, ok := c.req.Params.InputResponses[p.ID].(*mcp.ElicitResult)
		if !ok || result == nil {
			continue
		}
		a, err := readElicited(ctx, p, result)
		if err == nil {
			err = c.answer(ctx, a)
		}
		if err != nil && !errors.As(err, new(*interaction.AnswerError)) {
			return err
		}
	}
	c.turn, err = c.settings.Service.GetTurn(ctx, c.view.caller, c.turn.ID)
	return err
}

// answer answers an interaction unless it already has an answer.
func (c *call) answer(ctx context.Context, a interaction.Answer) error {
	_, err := c.settings.Service.AnswerInteraction(ctx, c.view.caller, c.turn.ID, a)
	if errors.As(err, new(*service.ConflictError)) || errors.As(err, new(*service.StateError)) {
		return nil
	}
	return err
}

// isStateless reports whether the client uses a protocol version without server requests.
func (c *call) isStateless() bool { return c.req.ProtocolVersion() >= firstStateless }

// elicitation returns a question in the client's form, or the reason it cannot be asked.
func (c *call) elicitation(p *service.Interaction) (*mcp.ElicitParams, string) {
	const none = "nobody can be asked: this MCP client does not support elicitation. Use an agent that needs no approval, or another client"
	can := c.req.ClientCapabilities()
	if can == nil || can.Elicitation == nil {
		return nil, none
	}
	text := cmp.Or(p.Request.Message, p.Request.Action)
	if p.Request.Tool != "" && p.Request.Action != tools.ActionAsk {
		text = fmt.Sprintf("%s\n\n%s %s", text, p.Request.Tool, p.Request.Arguments)
	}
	if p.Request.Action == tools.ActionAuthorize {
		address := authorizeURL(p.Request.Parameters)
		if address != "" && can.Elicitation.URL != nil {
			asked := &mcp.ElicitParams{Mode: "url", Message: text, URL: address}
			if !c.isStateless() {
				asked.ElicitationID = p.ID
			}
			return asked, ""
		}
		if address != "" {
			text += "\n\n" + address
		}
	}
	if can.Elicitation.Form == nil && can.Elicitation.URL != nil {
		return nil, none
	}
	form := flatForm(p.Request.ResponseSchema)
	if form == nil {
		form = textForm
	}
	return &mcp.ElicitParams{Mode: "form", Message: text, RequestedSchema: form}, ""
}

// authorizeURL returns the address for authorizing an agent; empty if unknown.
func authorizeURL(parameters json.RawMessage) string {
	var p struct {
		URL string `json:"url"`
	}
	if json.Unmarshal(parameters, &p) != nil {
		return ""
	}
	if u, err := url.Parse(p.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" {
		return ""
	}
	return p.URL
}

// textForm asks for a text answer if the answer schema is not a form.
var textForm = json.RawMessage(`{"type":"object","properties":{"answer":{"type":"string","title":"Answer"}},"required":["answer"]}`)

// property is a field of a form.
type property struct {
	Type        string   `json:"type"`
	Title       string   `json:"title,omitempty"`
	Description string   `json:"description,omitempty"`
	Enum        []string `json:"enum,omitempty"`
	Default     any      `json:"default,omitempty"`
	Format      string   `json:"format,omitempty"`
	MinLength   *int     `json:"minLength,omitempty"`
	MaxLength   *int     `json:"maxLength,omitempty"`
	Minimum     *float64 `json:"minimum,omitempty"`
	Maximum     *float64 `json:"maximum,omitempty"`
}

// flatForm returns a schema as a form; nil if its fields are not simple.
func flatForm(schema json.RawMessage) json.RawMessage {
	var form struct {
		Type       string              `json:"type"`
		Properties map[string]property `json:"properties"`
		Required   []string            `json:"required,omitempty"`
	}
	if json.Unmarshal(schema, &form) != nil || form.Type != "object" || len(form.Properties) == 0 {
		return nil
	}
	formats := []string{"", "email", "uri", "date", "date-time"}
	for name, p := range form.Properties {
		if p.Type == "" && len(p.Enum) > 0 {
			p.Type = "string"
		}
		if !slices.Contains([]string{"string", "number", "integer", "boolean"}, p.Type) {
			return nil
		}
		if !slices.Contains(formats, p.Format) {
			p.Format = ""
		}
		form.Properties[name] = p
	}
	made, err := json.Marshal(form)
	if err != nil {
		return nil
	}
	return made
}

// readElicited returns the answer to a question. The error is an
// *interaction.AnswerError if it does not fit.
func readElicited(ctx context.Context, p *service.Interaction, r *mcp.ElicitResult) (interaction.Answer, error) {
	a := interaction.Answer{Target: p.ID, Action: interaction.Resume}
	switch {
	case r.Action == "decline":
		a.Action, a.Reason = interaction.Cancel, "the user declined"
		return a, nil
	case r.Action != "accept":
		a.Action, a.Reason = interaction.Cancel, "the user dismissed the question"
		return a, nil
	}
	var err error
	if flatForm(p.Request.ResponseSchema) != nil {
		a.Result, err = json.Marshal(r.Content)
		return a, err
	}
	text, _ := r.Content["answer"].(string)
	if p.Request.Action == tools.ActionAuthorize && r.Content == nil {
		text = "yes" // the user agreed to open the address
	}
	a.Result, err = interaction.ReadAnswer(ctx, &p.Request, text)
	if err != nil && !errors.As(err, new(*interaction.AnswerError)) {
		err = &interaction.AnswerError{Target: p.ID, Problem: err.Error()}
	}
	return a, err
}

package mcp

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
	"github.com/agentruntime/agentruntime/spec"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// own is the surface's member in the metadata of turns.
const own surfacekit.Own = "mcp"

// record is stored with a turn for the surface.
type record struct {
	// Digest identifies the call that began the turn.
	Digest string `json:"digest"`
	// Task is set if the client requested a task.
	Task bool `json:"task,omitempty"`
}

type calledKey struct{}

// called is the agent that a call is for.
type called struct {
	view *view
	id   string
	// task is the call if it becomes a task.
	task *call
}

// arguments are the arguments of a tool.
type arguments struct {
	Message   string          `json:"message"`
	SessionID string          `json:"session_id"`
	Variables json.RawMessage `json:"variables"`
}

// call is a tool call and its turn.
type call struct {
	*Surface
	*called
	req   *mcp.CallToolRequest
	agent *spec.Agent
	in    arguments
	turn  *service.Turn
	// isTask is set for a request about a task.
	isTask bool
	// questions asks the client while the turn is followed.
	questions *questions
	reported  time.Time
}

// callAgent runs a turn. Errors that the client's model may correct are returned as results.
func (s *Surface) callAgent(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	to, ok := ctx.Value(calledKey{}).(*called)
	if !ok {
		return nil, errInternal
	}
	c := &call{Surface: s, called: to, req: req}
	agent, ok := to.view.set.Agent(to.id)
	if !ok {
		return nil, errInternal
	}
	c.agent, _ = to.view.set.Defaults.Apply(agent)
	if s.settings.Draining() && req.Params.RequestState == "" {
		return failedResult("the server is shutting down: call again in a moment"), nil
	}
	begin := c.beginTurn
	if req.Params.RequestState != "" {
		begin = c.resumeTurn
	}
	if err := begin(ctx); err != nil {
		return c.describeError(ctx, err)
	}
	if wantsTask(req) {
		to.task = c
		return &mcp.CallToolResult{}, nil
	}
	following, cancel := ctx, context.CancelFunc(func() {})
	if canBecomeTask(req) {
		following, cancel = context.WithTimeout(ctx, s.taskAfter)
	}
	defer cancel()
	result, err := c.followTurn(following)
	if err != nil && following.Err() != nil && ctx.Err() == nil {
		to.task = c
		return &mcp.CallToolResult{}, nil
	}
	if err != nil {
		c.cancelAbandoned(ctx)
		return c.describeError(ctx, err)
	}
	return result, nil
}

func failedResult(text string) *mcp.CallToolResult {
	return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: true}
}

// describeError returns an error in the client's form. Internal causes are only logged.
func (c *call) describeError(ctx context.Context, err error) (*mcp.CallToolResult, error) {
	if refused, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return nil, refused
	}
	f := server.Report(ctx, c.settings.Logger, err)
	return c.addMeta(failedResult(f.Message)), nil
}

// addMeta adds the session and the turn to a result.
func (c *call) addMeta(r *mcp.CallToolResult) *mcp.CallToolResult {
	if c.turn != nil {
		r.Meta = mcp.Meta{sessionMeta: c.turn.SessionID, turnMeta: c.turn.ID}
	}
	return r
}

// beginTurn creates the turn, in the session that the call names or in a new one.
func (c *call) beginTurn(ctx context.Context) error {
	if data := c.req.Params.Arguments; len(data) > 0 {
		if err := server.DecodeJSON(data, &c.in, true); err != nil {
			return err
		}
	}
	if c.in.Message == "" {
		return &service.InvalidError{Field: "message", Problem: "is required: what to ask the agent"}
	}
	metadata, err := own.Encode(record{c.digest(), wantsTask(c.req)})
	if err != nil {
		return err
	}
	session, err := c.metaText(sessionMeta)
	if err != nil {
		return err
	}
	turn := &service.CreateTurn{
		ID: "mcp_" + c.settings.Service.NewID(), SessionID: cmp.Or(c.in.SessionID, session), AgentID: c.id, Addressed: !hasForm(c.agent),
		Input: []model.Message{model.User(c.in.Message)}, Variables: c.in.Variables, Metadata: metadata,
	}
	if err := c.setKey(turn); err != nil {
		return err
	}
	if turn.SessionID != "" {
		c.turn, err = c.settings.Service.CreateTurn(ctx, c.view.caller, *turn)
		return err
	}
	c.turn, err = surfacekit.BeginAlone(ctx, c.settings.Service, c.view.caller, turn, service.CreateSession{
		AgentID: c.id, Labels: map[string]string{string(own): "tool"}, IdempotencyKey: turn.IdempotencyKey, IdempotencyBody: turn.IdempotencyBody,
	})
	return err
}

// setKey makes a call with an idempotency key repeatable.
func (c *call) setKey(turn *service.CreateTurn) error {
	key, err := c.metaText(keyMeta)
	if err != nil || key == "" {
		return err
	}
	turn.IdempotencyKey, turn.IdempotencyBody = surfacekit.HashKey(string(own), c.id+"\x00"+key), json.RawMessage(`"`+c.digest()+`"`)
	return nil
}

// metaText returns a member of the _meta of the call; empty without it.
func (c *call) metaText(name string) (string, error) {
	value, given := c.req.Params.Meta[name]
	text, ok := value.(string)
	if given && (!ok || text == "" || len(text) > surfacekit.MaxIdempotencyKey) {
		return "", &service.InvalidError{Field: "_meta." + name, Problem: fmt.Sprintf("must be a string of 1 to %d bytes", surfacekit.MaxIdempotencyKey)}
	}
	return text, nil
}

// digest identifies the agent and the arguments.
func (c *call) digest() string {
	sum := sha256.Sum256(append([]byte(c.id+"\x00"), c.req.Params.Arguments...))
	return hex.EncodeToString(sum[:])
}

// resumeTurn continues the turn whose questions the call answers. The state of a request is
// the id of its turn.
func (c *call) resumeTurn(ctx context.Context) error {
	invalid := &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "requestState is not valid for this call"}
	turn, err := c.settings.Service.GetTurn(ctx, c.view.caller, c.req.Params.RequestState)
	if errors.Is(err, service.ErrNotFound) {
		return invalid
	}
	if err != nil {
		return err
	}
	var r record
	if !own.Decode(turn.Metadata, &r) || r.Digest != c.digest() {
		return invalid
	}
	c.turn = turn
	return c.readResponses(ctx)
}

// followTurn waits for the end of the turn, reports its progress and asks its questions.
func (c *call) followTurn(ctx context.Context) (*mcp.CallToolResult, error) {
	c.questions = newQuestions(ctx, c)
	defer c.questions.close()
	for records, err := range c.settings.Service.Follower(c.view.caller, c.turn, 0, c.settings.KeepAlive).Batches(ctx) {
		if err != nil {
			return nil, err
		}
		if u := userOf(c.req.Extra); len(records) == 0 && u != nil {
			u.out.keepAlive()
		}
		required, err := c.apply(records)
		if required != nil || err != nil {
			return required, err
		}
		c.report(ctx, records)
	}
	turn, err := c.settings.Service.GetTurn(ctx, c.view.caller, c.turn.ID)
	if err != nil {
		return nil, err
	}
	if turn.Outcome == nil {
		return nil, fmt.Errorf("turn %s has ended without an outcome", turn.ID)
	}
	return c.addMeta(c.convertOutcome(turn.Outcome)), nil
}

// apply reads new events. It returns a result if the client has to answer first.
func (c *call) apply(records []event.Record) (*mcp.CallToolResult, error) {
	waits := false
	for i := range records {
		switch records[i].Type {
		case event.TypeRunWaiting:
			waits = true
		case event.TypeToolCallResumed:
			ev, err := records[i].Event()
			if err != nil {
				return nil, err
			}
			if d, ok := ev.Data.(*event.ToolCallResumed); ok {
				c.questions.drop(d.TargetID)
			}
		}
	}
	if !waits {
		return nil, nil //nolint:nilnil // the turn continues
	}
	return c.questions.ask()
}

// convertOutcome returns the result of a turn that has ended.
func (c *call) convertOutcome(o *event.Outcome) *mcp.CallToolResult {
	if o.Termination.Status() != event.StatusSucceeded {
		return failedResult(surfacekit.StatusMessage(&o.Termination, c.agent.OutputSchema != nil))
	}
	result := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: o.Response}}}
	if !hasForm(c.agent) {
		return result
	}
	data := json.RawMessage(o.Response)
	if !json.Valid(data) {
		return failedResult("the agent ended without an answer of its form: " + o.Response)
	}
	if isObjectSchema(c.agent.OutputSchema.Schema) {
		result.StructuredContent = data
	} else {
		result.StructuredContent = map[string]json.RawMessage{"result": data}
	}
	return result
}

// cancelTime is the timeout for canceling an abandoned turn.
const cancelTime = 10 * time.Second

// cancelAbandoned cancels the turn of a call that its client canceled. If the server is shutting
// down, the turn is left to the next one.
func (c *call) cancelAbandoned(ctx context.Context) {
	if ctx.Err() == nil || c.isClosed() || c.settings.Draining() || errors.Is(context.Cause(ctx), server.ErrDraining) {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	_, _ = c.settings.Service.CancelTurn(ctx, c.view.caller, c.turn.ID, "the client canceled the call") // otherwise it ends by itself
}

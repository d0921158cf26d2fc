package openai

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// chatCompletion is an answer in one piece.
type chatCompletion struct {
	ID      string       `json:"id"`
	Object  string       `json:"object"`
	Created int64        `json:"created"`
	Model   string       `json:"model"`
	Choices []chatChoice `json:"choices"`
	Usage   chatUsage    `json:"usage"`
}

type chatChoice struct {
	Index        int             `json:"index"`
	Message      chatAnswer      `json:"message"`
	FinishReason string          `json:"finish_reason"`
	Logprobs     json.RawMessage `json:"logprobs"`
}

type chatAnswer struct {
	Role      string     `json:"role"`
	Content   *string    `json:"content"`
	Refusal   *string    `json:"refusal"`
	Reasoning string     `json:"reasoning_content,omitempty"`
	ToolCalls []chatCall `json:"tool_calls,omitempty"`
}

type chatUsage struct {
	Prompt        int `json:"prompt_tokens"`
	Completion    int `json:"completion_tokens"`
	Total         int `json:"total_tokens"`
	PromptDetails struct {
		Cached int `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
	CompletionDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"completion_tokens_details"`
}

func chatUsageOf(u event.Usage) chatUsage {
	v := chatUsage{Prompt: u.Input, Completion: u.Output, Total: u.Total()}
	v.PromptDetails.Cached, v.CompletionDetails.Reasoning = u.CacheRead, u.Reasoning
	return v
}

// null is a field without a value.
var null = json.RawMessage("null")

// createChat begins a run, or continues the one that waits for the functions whose results
// the messages end with.
func (c *call) createChat() error {
	var r chatRequest
	body, err := c.readBody(&r, chatParameters)
	if err != nil {
		return err
	}
	if err := r.check(); err != nil {
		return err
	}
	asked, err := r.toTurn()
	if err != nil {
		return err
	}
	a, err := c.continueChat(&r)
	if a == nil && err == nil {
		a, err = c.beginAlone(asked, chatPrefix, body)
	}
	if err != nil {
		return err
	}
	a.abandons = true
	if r.streams() {
		a.stream(c, newChatStream(a, r.StreamOptions != nil && r.StreamOptions.IncludeUsage))
		return nil
	}
	e, err := a.wait(c.r.Context())
	if err != nil {
		return c.afterBegin(err)
	}
	return a.writeChat(c, e)
}

// beginAlone begins a turn in a session of its own.
func (c *call) beginAlone(asked *turnRequest, prefix string, body []byte) (*answer, error) {
	turn, err := c.composeTurn(asked, "")
	if err != nil {
		return nil, err
	}
	key, err := surfacekit.ReadKey(c.r, ownLabel, c.r.URL.Path)
	if err != nil {
		return nil, badField("", "%s", err)
	}
	in := service.CreateSession{AgentID: asked.agent, Labels: map[string]string{ownLabel: strings.Trim(prefix, "-_")}}
	if key != "" {
		turn.IdempotencyKey, turn.IdempotencyBody = key, body
		in.IdempotencyKey, in.IdempotencyBody = key, body
	}
	turn.ID = prefix + c.settings.Service.NewID()
	made, err := surfacekit.BeginAlone(c.r.Context(), c.settings.Service, c.caller, turn, in)
	if err != nil {
		return nil, err
	}
	return c.newAnswer(made, asked.record, 0), nil
}

// continueChat continues the run that waits for the functions whose results the messages
// end with; nil without one.
func (c *call) continueChat(r *chatRequest) (*answer, error) {
	outputs, said, err := r.results()
	if err != nil || len(outputs) == 0 {
		return nil, err
	}
	a, err := c.resume(chatPrefix, r.Model, outputs, said)
	if errors.As(err, new(*service.StateError)) {
		return nil, nil //nolint:nilnil // it does not wait any more, and another one begins with the history
	}
	return a, err
}

// writeChat writes the completion.
func (a *answer) writeChat(c *call, e *ending) error {
	reason, failed := e.chatFinish()
	if failed != nil {
		return failed
	}
	message := chatAnswer{Role: "assistant"}
	var texts, thoughts []string
	for _, i := range e.items {
		switch {
		case i.kind == itemFunction:
			message.ToolCalls = append(message.ToolCalls, chatCall{i.callID, "function", chatFunction{i.name, i.arguments}})
		case i.kind == itemThought:
			thoughts = append(thoughts, string(i.text))
		case i.status == stateCompleted || e.finish != nil && i == e.items[len(e.items)-1]:
			texts = append(texts, string(i.text))
		}
	}
	message.Reasoning = strings.Join(thoughts, "\n\n")
	if text := strings.Join(texts, "\n\n"); text != "" || len(message.ToolCalls) == 0 {
		message.Content = &text
	}
	return server.WriteJSON(c.w, http.StatusOK, chatCompletion{
		ID: answerID(a.turn.ID, a.want), Object: "chat.completion", Created: a.turn.CreatedAt.Unix(), Model: a.label,
		Choices: []chatChoice{{Message: message, FinishReason: reason, Logprobs: null}}, Usage: chatUsageOf(e.usage),
	})
}

// chatFinish returns why the answer ended, or the error of a run that failed.
func (e *ending) chatFinish() (string, *requestError) {
	if e.finish == nil {
		return "tool_calls", nil
	}
	why := &e.finish.Termination
	switch {
	case why.Code == string(model.Truncated):
		return "length", nil
	case why.Code == string(model.ContentFiltered), e.finish.FinishReason == model.FinishContentFilter && why.Status() == event.StatusSucceeded:
		return "content_filter", nil
	case why.Status() != event.StatusSucceeded:
		return "", runError(why)
	case e.finish.FinishReason == model.FinishMaxTokens, why.CutShort():
		return "length", nil
	default:
		return "stop", nil
	}
}

// runError returns the error of a run that did not succeed. A repeated request would begin
// another run.
func runError(why *event.Termination) *requestError {
	failed := &requestError{status: http.StatusInternalServerError, code: why.Code, message: surfacekit.StatusMessage(why, false), final: true}
	switch why.Code {
	case string(model.RateLimited), string(model.Overloaded):
		failed.status = http.StatusTooManyRequests
	case string(model.InvalidRequest), string(model.ContextOverflow), string(model.InvalidOutput):
		failed.status = http.StatusBadRequest
	}
	return failed
}

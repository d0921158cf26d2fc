package openai

import (
	"encoding/json"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/service"
)

// response is an answer of the Responses API.
type response struct {
	ID          string             `json:"id"`
	Object      string             `json:"object"`
	CreatedAt   int64              `json:"created_at"`
	CompletedAt *int64             `json:"completed_at"`
	Status      string             `json:"status"`
	Error       *responseError     `json:"error"`
	Incomplete  *incompleteDetails `json:"incomplete_details"`
	Model       string             `json:"model"`
	Output      []json.RawMessage  `json:"output"`
	Usage       *responseUsage     `json:"usage"`
	echo
}

// echo is what a response repeats of its request.
type echo struct {
	Background         bool              `json:"background"`
	Store              bool              `json:"store"`
	Instructions       *string           `json:"instructions"`
	MaxOutputTokens    *int              `json:"max_output_tokens"`
	MaxToolCalls       *int              `json:"max_tool_calls"`
	ParallelToolCalls  bool              `json:"parallel_tool_calls"`
	PreviousResponseID *string           `json:"previous_response_id"`
	Conversation       *conversationRef  `json:"conversation"`
	Reasoning          reasoningOptions  `json:"reasoning"`
	ServiceTier        string            `json:"service_tier"`
	Temperature        *float64          `json:"temperature"`
	TopP               *float64          `json:"top_p"`
	Text               textOptions       `json:"text"`
	ToolChoice         json.RawMessage   `json:"tool_choice"`
	Tools              []responseTool    `json:"tools"`
	Truncation         string            `json:"truncation"`
	User               *string           `json:"user"`
	Metadata           map[string]string `json:"metadata"`
}

type conversationRef struct {
	ID string `json:"id"`
}

type reasoningOptions struct {
	Effort  *string `json:"effort"`
	Summary *string `json:"summary"`
}

type textOptions struct {
	Format    responseFormat `json:"format"`
	Verbosity *string        `json:"verbosity,omitempty"`
}

type responseFormat struct {
	Type   string          `json:"type"`
	Name   string          `json:"name,omitempty"`
	Schema json.RawMessage `json:"schema,omitempty"`
	Strict *bool           `json:"strict,omitempty"`
}

type responseTool struct {
	Type string `json:"type"`
	function
}

type responseError struct {
	Code    string  `json:"code"`
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"`
}

type incompleteDetails struct {
	Reason string `json:"reason"`
}

type responseUsage struct {
	Input        int `json:"input_tokens"`
	InputDetails struct {
		Cached  int `json:"cached_tokens"`
		Written int `json:"cache_write_tokens"`
	} `json:"input_tokens_details"`
	Output        int `json:"output_tokens"`
	OutputDetails struct {
		Reasoning int `json:"reasoning_tokens"`
	} `json:"output_tokens_details"`
	Total int `json:"total_tokens"`
}

func responseUsageOf(u event.Usage) *responseUsage {
	v := &responseUsage{Input: u.Input, Output: u.Output, Total: u.Total()}
	v.InputDetails.Cached, v.InputDetails.Written, v.OutputDetails.Reasoning = u.CacheRead, u.CacheWrite, u.Reasoning
	return v
}

// response returns the segment as it is now.
func (a *answer) response() (*response, error) {
	r := a.begunResponse()
	e, items := a.over(), a.items
	switch {
	case e != nil:
		items = e.items
		r.setEnd(e)
	case a.turn.Status == service.Pending && a.turn.StartedAt.IsZero():
		r.Status = stateQueued
	case a.segment != a.want:
		items = nil
	}
	for _, i := range items {
		data, err := json.Marshal(i)
		if err != nil {
			return nil, err
		}
		r.Output = append(r.Output, data)
	}
	return r, nil
}

// begunResponse returns the segment as it begins.
func (a *answer) begunResponse() *response {
	r := &response{
		ID: answerID(a.turn.ID, a.want), Object: "response", CreatedAt: a.turn.CreatedAt.Unix(), Status: stateRunning, Model: a.label,
		Output: []json.RawMessage{},
	}
	if a.Echo != nil {
		r.echo = *a.Echo
	}
	if a.want > 0 {
		previous := answerID(a.turn.ID, a.want-1)
		r.PreviousResponseID = &previous
	}
	return r
}

// setEnd sets the fields of a response that has ended.
func (r *response) setEnd(e *ending) {
	r.Usage = responseUsageOf(e.usage)
	r.Status = stateCompleted
	if !e.at.IsZero() {
		at := e.at.Unix()
		r.CompletedAt = &at
	}
	if e.finish == nil {
		return
	}
	why := &e.finish.Termination
	switch status := why.Status(); {
	case status == event.StatusCanceled:
		r.Status = stateCanceled
	case why.Code == string(model.ContentFiltered), status == event.StatusSucceeded && e.finish.FinishReason == model.FinishContentFilter:
		r.Status, r.Incomplete = stateIncomplete, &incompleteDetails{"content_filter"}
	case why.Code == string(model.Truncated):
		r.Status, r.Incomplete = stateIncomplete, &incompleteDetails{"max_output_tokens"}
	case status != event.StatusSucceeded:
		r.Status, r.Error = stateFailed, responseErrorOf(why)
	case e.finish.FinishReason == model.FinishMaxTokens:
		r.Status, r.Incomplete = stateIncomplete, &incompleteDetails{"max_output_tokens"}
	}
	if r.Status != stateCompleted && r.Status != stateIncomplete {
		r.CompletedAt = nil
	}
}

// responseErrorOf returns why a response failed. The codes are those of the vendor.
func responseErrorOf(why *event.Termination) *responseError {
	e := &responseError{Code: "server_error", Type: typeServer, Message: surfacekit.StatusMessage(why, false)}
	switch why.Code {
	case string(model.RateLimited), string(model.Overloaded):
		e.Code, e.Type = "rate_limit_exceeded", typeRate
	case string(model.InvalidRequest), string(model.ContextOverflow):
		e.Code, e.Type = "invalid_prompt", typeInvalid
	}
	return e
}

package interaction

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/agentruntime/agentruntime/internal/schema"
)

// AnswerAction decides whether a waiting call continues.
type AnswerAction string

// The actions of an answer.
const (
	// Resume continues the call with the answer.
	Resume AnswerAction = "resume"
	// Cancel rejects the call; the model reads that it was rejected, and why.
	Cancel AnswerAction = "cancel"
)

// Answer is the answer to a request.
type Answer struct {
	// Target is the id of the request, or of the waiting call.
	Target string `json:"target"`
	// ID identifies the answer, which makes giving it idempotent; it may be empty.
	ID     string       `json:"id,omitempty"`
	Action AnswerAction `json:"action"`
	// Result is the answer's value; it satisfies the request's response schema.
	Result json.RawMessage `json:"result,omitempty"`
	// Arguments, if set, replace the arguments of the call, which is then judged and validated
	// again.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Reason explains the answer to the model.
	Reason string `json:"reason,omitempty"`
	// Message, if set, is a user message as JSON of a model.Message. It follows the results of the
	// calls, and the model reads both. Only agents whose loop runs here read it.
	Message json.RawMessage `json:"message,omitempty"`
}

// Same reports whether two answers have the same content.
func (a *Answer) Same(b *Answer) bool {
	return a.Action == b.Action && a.Reason == b.Reason && sameJSON(a.Result, b.Result) && sameJSON(a.Arguments, b.Arguments) && sameJSON(a.Message, b.Message)
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	if len(a) == 0 || len(b) == 0 || json.Compact(&x, a) != nil || json.Compact(&y, b) != nil {
		return bytes.Equal(a, b)
	}
	return bytes.Equal(x.Bytes(), y.Bytes())
}

// UnknownError reports an answer to something that the turn does not wait for.
type UnknownError struct {
	// Target is the request or call named by the answer.
	Target string
	// Open are the waiting requests.
	Open []string
}

// Error names the target and the answerable requests.
func (e *UnknownError) Error() string {
	if len(e.Open) == 0 {
		return fmt.Sprintf("unknown interaction %q: the turn is not waiting for anything", e.Target)
	}
	return fmt.Sprintf("unknown interaction %q: the turn is waiting for %q", e.Target, e.Open)
}

// AnswerError reports that an answer does not fit its request.
type AnswerError struct {
	// Target is the request.
	Target string
	// Conflict is set if the request already has another answer.
	Conflict bool
	Problem  string
}

// Error names the request and the problem.
func (e *AnswerError) Error() string {
	return fmt.Sprintf("the answer to interaction %q cannot be used: %s", e.Target, e.Problem)
}

// Check returns an *AnswerError if an answer does not fit a request.
func Check(ctx context.Context, request *Request, answer *Answer) error {
	if problem := findProblem(ctx, request, answer); problem != "" {
		return &AnswerError{Target: request.ID, Problem: problem}
	}
	return nil
}

// findProblem returns the problem of an answer, or "".
func findProblem(ctx context.Context, request *Request, answer *Answer) string {
	switch answer.Action {
	case Cancel:
		if len(answer.Result) > 0 || len(answer.Arguments) > 0 {
			return "an answer with the action cancel has neither result nor arguments"
		}
		return ""
	case Resume:
	default:
		return fmt.Sprintf("its action is %q; allowed are resume and cancel", answer.Action)
	}
	if len(answer.Result) > 0 && !json.Valid(answer.Result) {
		return "its result is not JSON"
	}
	if len(answer.Arguments) > 0 && !isObject(answer.Arguments) {
		return "its arguments are not a JSON object"
	}
	if len(request.ResponseSchema) == 0 {
		return ""
	}
	form, err := schema.Compile(request.ResponseSchema)
	if err != nil {
		return fmt.Sprintf("the response schema of the request is invalid: %v", err)
	}
	value := answer.Result
	if len(value) == 0 {
		value = json.RawMessage("null")
	}
	found, err := form.ValidateJSON(ctx, value)
	if err != nil {
		return err.Error()
	}
	if len(found) > 0 {
		return found[0].Error()
	}
	return ""
}

func isObject(raw json.RawMessage) bool {
	var fields map[string]json.RawMessage
	return json.Unmarshal(raw, &fields) == nil && fields != nil
}

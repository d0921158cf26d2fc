package agentruns

import (
	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/service"
)

// The classes of errors that clients know.
const (
	classTruncation       = "truncation"
	classLocalTimeout     = "local_timeout"
	classUpstreamDeadline = "upstream_deadline"
	classUnknown          = "unknown"
)

// classes maps termination codes to error classes.
var classes = map[string]string{
	"rate_limited": "rate_limit", "overloaded": "overloaded", "provider": "server", "stream_interrupted": "server", "empty_answer": "server",
	"all_models_unavailable": "server", "context_overflow": "context_window", "truncation": classTruncation,
	"invalid_request": "invalid_request", "model_not_found": "invalid_request", "invalid_output": "invalid_request",
	"content_filtered": "invalid_request", "unauthorized": "auth", "timeout": "timeout",
	service.CodeInteractionTimeout: classLocalTimeout,
}

var retryable = map[string]bool{"rate_limit": true, "overloaded": true, "server": true, "timeout": true, classUpstreamDeadline: true}

// errorClass returns the class of the error that ended a turn.
func errorClass(why event.Termination) string {
	if why.Type == event.BudgetExceeded && why.Code == "duration" {
		return classUpstreamDeadline
	}
	if class, ok := classes[why.Code]; ok {
		return class
	}
	return classUnknown
}

// errorText describes a failure. Internal causes are hidden from clients.
func errorText(class string, why *event.Termination) string {
	switch {
	case class == classUnknown && why.Type == event.BudgetExceeded:
		return "The run needed more than its budget of " + why.Code
	case class == classUnknown, why.Detail == "":
		return "The run failed"
	default:
		return why.Detail
	}
}

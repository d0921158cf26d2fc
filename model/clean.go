package model

import "github.com/agentruntime/agentruntime/internal/clip"

// cleanEvent makes an event of a vendor's stream safe to store, show and send back: it replaces NUL
// and invalid UTF-8 in its texts. Arguments stay unchanged, since they are judged as a whole once
// complete. An id that would have to change is dropped, and Answer generates one.
func cleanEvent(ev *Event) {
	switch ev.Type {
	case EventText, EventReasoning, EventReasoningEncrypted, EventReset, EventToolCallCancel:
		ev.Delta = clip.Clean(ev.Delta)
	default:
	}
	if ev.ID != "" && !clip.IsClean(ev.ID) {
		ev.ID = ""
	}
	if ev.Name != "" {
		ev.Name = clip.Clean(ev.Name)
	}
	if ev.Reason != "" {
		ev.Reason = FinishReason(clip.Clean(string(ev.Reason)))
	}
}

// cleanError returns an error with a cleaned message.
func cleanError(err error) error {
	e := AsError(err)
	if clip.IsClean(e.Message) {
		return err
	}
	cleaned := *e
	cleaned.Message = clip.Clean(e.Message)
	return &cleaned
}

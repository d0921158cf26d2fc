package model

import "github.com/agentruntime/agentruntime/internal/clip"

// cleanEvent makes an event of a vendor's stream safe to store, show and send back: no
// text of it holds a NUL or is not UTF-8. Arguments stay as they are, since they are
// judged as a whole once they are complete. An id that would have to be changed is
// dropped, and Answer makes one.
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

// cleanError returns an error whose message is text.
func cleanError(err error) error {
	e := AsError(err)
	if clip.IsClean(e.Message) {
		return err
	}
	cleaned := *e
	cleaned.Message = clip.Clean(e.Message)
	return &cleaned
}

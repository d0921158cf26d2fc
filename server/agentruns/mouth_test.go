package agentruns

import (
	"context"
	"fmt"
	"iter"
	"strings"

	"github.com/agentruntime/agentruntime/model"
)

// echoModel is a model that does what it is told last:
//
//	say TEXT      says it, word by word
//	think TEXT    thinks first
//	call N        calls the first N tools that it is offered, and repeats the results
//	use A B       calls these tools, one after the other, and repeats the last result
//	again         calls the first tool for as long as it may
//	cut TEXT      is cut off by the output limit
//	fail CLASS    fails
//	hang          says something, and waits
//	recall        says all that it was told
//
// Once it may not call tools any more, it says so.
type echoModel struct{}

func (echoModel) Vendor() string { return "openai" }

func (echoModel) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		last := &req.Messages[len(req.Messages)-1]
		order := lastOrder(req.Messages)
		verb, rest, _ := strings.Cut(order, " ")
		var events []model.Event
		reason := model.FinishStop
		switch {
		case req.ToolChoice.Mode == model.ToolsNone:
			events = words("in the end")
		case verb == "again" && len(req.Tools) > 0 || verb == "call" && last.Role != model.RoleTool:
			reason = model.FinishToolCalls
			n := 1
			_, _ = fmt.Sscan(rest, &n)
			for i, offered := range req.Tools[:min(n, len(req.Tools))] {
				events = append(events,
					model.Event{Type: model.EventToolCallStart, Index: i, ID: fmt.Sprintf("call%d_%d", len(req.Messages), i), Name: offered.Name},
					model.Event{Type: model.EventToolCallEnd, Index: i, Delta: `{"message":"x"}`})
			}
		case verb == "use" && made(req.Messages) < len(strings.Fields(rest)):
			reason = model.FinishToolCalls
			events = []model.Event{
				{Type: model.EventToolCallStart, ID: fmt.Sprintf("call%d", len(req.Messages)), Name: strings.Fields(rest)[made(req.Messages)]},
				{Type: model.EventToolCallEnd, Delta: `{}`},
			}
		case verb == "call", verb == "use":
			events = append(events, words(resultsOf(last))...)
		case verb == "recall":
			var texts []string
			for i := range req.Messages {
				texts = append(texts, string(req.Messages[i].Role)+": "+req.Messages[i].Text())
			}
			events = append(events, words(strings.Join(texts, " | "))...)
		case verb == "think":
			events = append(append(events, model.Event{Type: model.EventReasoning, Delta: "hm"}), words(rest)...)
		case verb == "cut":
			reason, events = model.FinishMaxTokens, words(rest)
		case verb == "fail":
			yield(model.Event{}, &model.Error{Class: model.ErrorClass(rest), Message: "it went wrong"})
			return
		case verb == "hang":
			if yield(model.Event{Type: model.EventText, Delta: "well"}, nil) {
				<-ctx.Done()
				yield(model.Event{}, ctx.Err())
			}
			return
		default:
			events = words(rest)
		}
		for _, ev := range append(events, model.Event{Type: model.EventFinish, Reason: reason, Usage: &model.Usage{Input: 10, CacheRead: 4, Output: 5, Reasoning: 2}}) {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

// lastOrder returns the latest message of the user that orders something, which
// those of the runtime do not.
func lastOrder(messages []model.Message) string {
	last := ""
	for i := range messages {
		if verb, _, _ := strings.Cut(messages[i].Text(), " "); messages[i].Role == model.RoleUser && verbs[verb] {
			last = messages[i].Text()
		}
	}
	return last
}

// made returns how many answers with calls there are.
func made(messages []model.Message) int {
	n := 0
	for i := range messages {
		if messages[i].HasToolCalls() {
			n++
		}
	}
	return n
}

var verbs = map[string]bool{"use": true, "say": true, "think": true, "call": true, "again": true, "cut": true, "fail": true, "hang": true, "recall": true}

func resultsOf(m *model.Message) string {
	var texts []string
	for i := range m.Parts {
		text := model.PartsText(m.Parts[i].ToolResult.Content)
		for _, part := range m.Parts[i].ToolResult.Content {
			if part.Blob != nil {
				text += fmt.Sprintf(" [%s %s %s]", part.Blob.Name, part.Blob.MediaType, part.Blob.Data)
			}
		}
		texts = append(texts, text)
	}
	return strings.Join(texts, ", ")
}

func words(text string) []model.Event {
	var events []model.Event
	for _, word := range strings.SplitAfter(text, " ") {
		if word != "" {
			events = append(events, model.Event{Type: model.EventText, Delta: word})
		}
	}
	return events
}

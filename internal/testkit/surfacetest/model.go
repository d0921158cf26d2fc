// Package surfacetest serves surfaces of chat protocols to tests.
package surfacetest

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/model"
)

// mouth is a model whose answer depends on the user's last message.
type mouth struct{}

// Stream answers.
func (mouth) Stream(ctx context.Context, req *model.Request) iter.Seq2[model.Event, error] {
	return func(yield func(model.Event, error) bool) {
		events, reason := answer(req)
		for _, ev := range events {
			if ev.Type == hang {
				<-ctx.Done()
				yield(model.Event{}, ctx.Err())
				return
			}
			if ev.Type == broken {
				yield(model.Event{}, &model.Error{Class: model.InvalidRequest, Message: "the model does not like it"})
				return
			}
			if !yield(ev, nil) {
				return
			}
		}
		usage := &model.Usage{Input: 10, Output: 5, CacheRead: 4, Reasoning: 2}
		yield(model.Event{Type: model.EventFinish, Reason: reason, Usage: usage}, nil)
	}
}

// The endings of answers that fail.
const (
	hang   model.EventType = 100
	broken model.EventType = 101
)

func answer(req *model.Request) ([]model.Event, model.FinishReason) {
	results, prompt, last := 0, "", &req.Messages[len(req.Messages)-1]
	for i := range req.Messages {
		switch m := &req.Messages[i]; m.Role {
		case model.RoleTool:
			results++
		case model.RoleUser:
			results, prompt = 0, m.Text()
		}
	}
	text := func(text ...string) []model.Event { // in one piece that no clock can split
		return []model.Event{{Type: model.EventText, Delta: strings.Join(text, "")}}
	}
	calls := func(names ...string) (list []model.Event) {
		for i, name := range names {
			list = append(list,
				model.Event{Type: model.EventToolCallStart, Index: i, ID: fmt.Sprintf("c%d_%d", results, i), Name: name},
				model.Event{Type: model.EventToolCallEnd, Index: i, Delta: `{"city":"Bern"}`})
		}
		return list
	}
	rounds := map[string]int{"weather": 1, "weather twice": 1, "weather again": 2, "look": 1, "mixed": 1, "pay": 1, "ask": 1, "note": 1, "delegate": 1, "pay and weather": 1}[prompt]
	if results >= rounds && rounds > 0 {
		var said []string
		for _, p := range last.Parts {
			if p.Type == model.PartToolResult {
				said = append(said, p.ToolResult.Text())
			} else {
				said = append(said, p.Text)
			}
		}
		return text("It is ", strings.Join(said, " and "), "."), model.FinishStop
	}
	switch prompt {
	case "weather", "weather again":
		return calls("get_weather"), model.FinishToolCalls
	case "weather twice":
		return calls("get_weather", "get_weather"), model.FinishToolCalls
	case "look":
		return append(text("Let me look."), calls("look")...), model.FinishToolCalls
	case "mixed":
		return calls("look", "get_weather"), model.FinishToolCalls
	case "pay", "note":
		return calls(prompt), model.FinishToolCalls
	case "pay and weather":
		return calls("pay", "get_weather"), model.FinishToolCalls
	case "delegate":
		return []model.Event{
			{Type: model.EventToolCallStart, ID: "d", Name: "agent_run_plain"}, {Type: model.EventToolCallEnd, ID: "d", Delta: `{"prompt":"hi"}`},
		}, model.FinishToolCalls
	case "ask":
		return []model.Event{
			{Type: model.EventToolCallStart, ID: "q", Name: "ask"}, {Type: model.EventToolCallEnd, ID: "q", Delta: `{"question":"Which city?"}`},
		}, model.FinishToolCalls
	case "think":
		return append([]model.Event{{Type: model.EventReasoning, Delta: "Hm, yes."}}, text("Yes.")...), model.FinishStop
	case "json":
		return text(`{"name":"Ada",`, `"age":36}`), model.FinishStop
	case "long":
		return text("It never"), model.FinishMaxTokens
	case "hang":
		return append(text("well"), model.Event{Type: hang}), ""
	case "break":
		return append(text("well"), model.Event{Type: broken}), ""
	case "choice":
		offered := make([]string, len(req.Tools))
		for i := range req.Tools {
			offered[i] = req.Tools[i].Name
		}
		slices.Sort(offered)
		return text(fmt.Sprintf("%s %s of %v", req.ToolChoice.Mode, req.ToolChoice.Name, offered)), model.FinishStop
	case "who are you":
		return text("I was told: " + req.Messages[0].Text()), model.FinishStop
	case "history":
		var all []string
		for i := range req.Messages {
			all = append(all, string(req.Messages[i].Role)+":"+req.Messages[i].Text())
		}
		return text(strings.Join(all, "|")), model.FinishStop
	default:
		return text("You said " + prompt), model.FinishStop
	}
}

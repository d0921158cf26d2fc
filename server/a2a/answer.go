package a2a

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/interaction"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/service"
)

// The keys of the data part with which a question is asked, and of one that
// answers a certain question.
const (
	keyInteraction = "interaction_id"
	keyTruncated   = "truncated"
	keyResponse    = "response"
)

// answerFor returns the answer that a message gives: to the interaction that it
// names, or else to the oldest that is open, which is the one that was asked. It
// has the id of the message, by which it is known when it is given again.
func answerFor(ctx context.Context, open []*service.Interaction, message *a2a.Message) (*interaction.Answer, error) {
	target, said := open[0], contentOf(message)
	if id, response, ok := parseAddressedAnswer(said.data); ok {
		at := slices.IndexFunc(open, func(i *service.Interaction) bool { return i.ID == id })
		if at < 0 {
			return nil, newInvalidParams("the task does not ask %q", clip.Text(id))
		}
		target, said.data, said.text = open[at], response, ""
	}
	var problem error
	for _, result := range said.answerForms(target.Request.ResponseSchema) {
		answer := &interaction.Answer{Target: target.ID, ID: message.ID, Action: interaction.Resume, Result: result}
		err := interaction.Check(ctx, &target.Request, answer)
		if err == nil {
			return answer, nil
		}
		if problem == nil {
			problem = err
		}
	}
	text := "the message has no text and no data"
	if problem != nil {
		text = problem.Error()
	}
	if len(target.Request.ResponseSchema) > 0 {
		return nil, newInvalidParams("the answer does not fit: %s. Asked is: %s. The answer has the form %s", text, questionText(target), target.Request.ResponseSchema)
	}
	return nil, newInvalidParams("the answer does not fit: %s. Asked is: %s", text, questionText(target))
}

// messageContent is what a message says.
type messageContent struct {
	text string
	// data is the first part with structured data; nil if the answer has none.
	data json.RawMessage
}

func contentOf(message *a2a.Message) messageContent {
	s := messageContent{text: strings.TrimSpace(a2awire.Lines(message.Parts))}
	for _, p := range message.Parts {
		if p == nil || s.data != nil {
			continue
		}
		if content, ok := p.Content.(a2a.Data); ok {
			s.data, _ = json.Marshal(content.Value) // what was decoded from JSON is JSON
		}
	}
	return s
}

// parseAddressedAnswer returns which interaction structured data answers, and the answer.
func parseAddressedAnswer(data json.RawMessage) (id string, response json.RawMessage, ok bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || fields[keyResponse] == nil || json.Unmarshal(fields[keyInteraction], &id) != nil {
		return "", nil, false
	}
	return id, fields[keyResponse], id != ""
}

// answerForms returns what the message may mean, in the order in which that is tried:
// its data, or what its text may stand for.
func (s messageContent) answerForms(schema json.RawMessage) []json.RawMessage {
	if s.data != nil {
		return []json.RawMessage{s.data}
	}
	return interaction.AnswerForms(s.text, schema)
}

// questionText returns what a person is asked.
func questionText(i *service.Interaction) string {
	return cmp.Or(i.Request.Message, "an answer is needed to go on with "+i.Request.Tool)
}

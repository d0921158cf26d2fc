package a2a

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/event/interaction"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/service"
)

// Keys of the data part of a question, and of an answer that names its question.
const (
	keyInteraction = "interaction_id"
	keyTruncated   = "truncated"
	keyResponse    = "response"
)

// answerFor returns a message's answer: to the interaction that it names, or else to the oldest
// open one, which is the one shown. The answer has the message's id, which identifies
// repetitions.
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

// messageContent is the content of a message.
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
			s.data, _ = json.Marshal(content.Value) // decoded JSON can be encoded
		}
	}
	return s
}

// parseAddressedAnswer returns the interaction that structured data answers, and the answer.
func parseAddressedAnswer(data json.RawMessage) (id string, response json.RawMessage, ok bool) {
	var fields map[string]json.RawMessage
	if json.Unmarshal(data, &fields) != nil || fields[keyResponse] == nil || json.Unmarshal(fields[keyInteraction], &id) != nil {
		return "", nil, false
	}
	return id, fields[keyResponse], id != ""
}

// answerForms returns possible meanings of the message, in the order to try them: its data, or
// values that its text may mean.
func (s messageContent) answerForms(schema json.RawMessage) []json.RawMessage {
	if s.data != nil {
		return []json.RawMessage{s.data}
	}
	return interaction.AnswerForms(s.text, schema)
}

// questionText returns the text of a question to a person.
func questionText(i *service.Interaction) string {
	return cmp.Or(i.Request.Message, "an answer is required to continue with "+i.Request.Tool)
}

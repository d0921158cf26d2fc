package openai

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/service"
)

// responseRequest is the body of a request for a response, as far as it is honored.
type responseRequest struct {
	Model              string          `json:"model"`
	Input              json.RawMessage `json:"input,omitempty"`
	Instructions       *string         `json:"instructions,omitempty"`
	Stream             *bool           `json:"stream,omitempty"`
	Background         *bool           `json:"background,omitempty"`
	Store              *bool           `json:"store,omitempty"`
	PreviousResponseID *string         `json:"previous_response_id,omitempty"`
	Conversation       json.RawMessage `json:"conversation,omitempty"`
	Tools              []responseTool  `json:"tools,omitempty"`
	ToolChoice         json.RawMessage `json:"tool_choice,omitempty"`
	MaxOutputTokens    *int            `json:"max_output_tokens,omitempty"`
	Reasoning          *struct {
		Effort  *string `json:"effort,omitempty"`
		Summary *string `json:"summary,omitempty"`
	} `json:"reasoning,omitempty"`
	Text *struct {
		Format    *responseFormat `json:"format,omitempty"`
		Verbosity *string         `json:"verbosity,omitempty"`
	} `json:"text,omitempty"`
	Truncation *string `json:"truncation,omitempty"`
	samplingFields
}

func (r *responseRequest) hasConversation() bool {
	return len(r.Conversation) > 0 && string(r.Conversation) != "null"
}

// conversationID returns the conversation that the request names; empty for none.
func (r *responseRequest) conversationID() (string, error) {
	var ref conversationRef
	if !r.hasConversation() {
		return "", nil
	}
	if json.Unmarshal(r.Conversation, &ref.ID) != nil && json.Unmarshal(r.Conversation, &ref) != nil || ref.ID == "" {
		return "", badField("conversation", "conversation must be an id, or an object with an id")
	}
	return ref.ID, nil
}

// toTurn returns the turn that the request asks for, without its messages.
func (r *responseRequest) toTurn() (*turnRequest, error) {
	switch {
	case r.Model == "":
		return nil, missingField("model")
	case isSet(r.Background) && r.Store != nil && !*r.Store:
		return nil, badField("background", "background responses must be stored: store cannot be false")
	case r.PreviousResponseID != nil && r.hasConversation():
		return nil, badField("previous_response_id", "previous_response_id and conversation exclude each other")
	}
	shown := &echo{
		Background: isSet(r.Background), Store: r.Store == nil || *r.Store, Instructions: r.Instructions, MaxOutputTokens: r.MaxOutputTokens,
		ParallelToolCalls: r.Parallel == nil || *r.Parallel, PreviousResponseID: r.PreviousResponseID, ServiceTier: "default", Temperature: r.Temperature, TopP: r.TopP,
		Text: textOptions{Format: responseFormat{Type: "text"}}, ToolChoice: r.ToolChoice, Tools: r.Tools, Truncation: "disabled", User: r.User, Metadata: r.Metadata,
	}
	if len(r.ToolChoice) == 0 || string(r.ToolChoice) == "null" {
		shown.ToolChoice = json.RawMessage(`"auto"`)
	}
	if shown.Tools == nil {
		shown.Tools = []responseTool{}
	}
	if shown.Metadata == nil {
		shown.Metadata = map[string]string{}
	}
	if r.Truncation != nil {
		shown.Truncation = *r.Truncation
	}
	t := &turnRequest{agent: r.Model, field: "input", record: turnRecord{Echo: shown, Unstored: !shown.Store}}
	if r.Instructions != nil {
		t.instructions = *r.Instructions
	}
	return t, cmp.Or(r.apply(t), t.setLimit("max_output_tokens", r.MaxOutputTokens), r.applyOptions(t), t.setFunctions(r.Tools, "", r.ToolChoice))
}

// applyOptions reads the options of reasoning and text.
func (r *responseRequest) applyOptions(t *turnRequest) error {
	shown := t.record.Echo
	if o := r.Reasoning; o != nil {
		shown.Reasoning = reasoningOptions{o.Effort, o.Summary}
		t.record.Thoughts = o.Summary != nil
		if o.Summary != nil && !slices.Contains([]string{"auto", "concise", "detailed"}, *o.Summary) {
			return badField("reasoning.summary", "reasoning.summary must be auto, concise or detailed")
		}
		if err := t.setEffort("reasoning.effort", o.Effort); err != nil {
			return err
		}
	}
	if r.Text == nil {
		return nil
	}
	shown.Text.Verbosity = r.Text.Verbosity
	if err := t.setVerbosity("text.verbosity", r.Text.Verbosity); err != nil {
		return err
	}
	if r.Text.Format == nil {
		return nil
	}
	shown.Text.Format = *r.Text.Format
	return t.setForm("text.format", r.Text.Format)
}

// readInput reads the input, with the items that it refers to.
func (c *responseCall) readInput(raw json.RawMessage) (in input, err error) {
	var text string
	if len(raw) == 0 || string(raw) == "null" {
		return in, nil
	}
	if json.Unmarshal(raw, &text) == nil {
		in.addMessage("", model.User(text))
		return in, nil
	}
	var items []inputItem
	if err := json.Unmarshal(raw, &items); err != nil {
		return in, badField("input", "input must be a string or a list of items")
	}
	known, references := map[string]*answer{}, 0
	for i := range items {
		path := fmt.Sprintf("input[%d]", i)
		if items[i].Type == "item_reference" {
			if references++; references > maxReferences {
				return in, badField(path, "input has more than %d references to items", maxReferences)
			}
			err = c.addReference(&in, known, items[i].ID, path)
		} else {
			err = in.addItem(&items[i], path)
		}
		if err != nil {
			return in, err
		}
	}
	return in, in.checkCalls()
}

// maxReferences limits the references to items in a request.
const maxReferences = 2000

// addReference adds the messages of an item of a response. known are the responses that were read
// before; nil for unknown ones.
func (c *responseCall) addReference(in *input, known map[string]*answer, id, path string) error {
	core, _ := splitItemID(id)
	a, ok := known[core]
	if !ok {
		turn, record, err := c.findTurn(responsePrefix + core)
		if err == nil {
			a, err = c.readAnswer(turn, record, 0)
		}
		if err != nil && !errors.Is(err, service.ErrNotFound) {
			return err
		}
		known[core] = a
	}
	var found []model.Message
	if a != nil {
		var err error
		if found, err = messagesOf(a, id); err != nil && !errors.Is(err, service.ErrNotFound) {
			return err
		}
	}
	if found == nil {
		return badField(path, "Item with id '%s' not found.", clip.Text(id))
	}
	in.noteCall(core, true)
	for _, m := range found {
		in.addMessage(core, m)
	}
	return nil
}

// messagesOf returns the messages of an item of the turn for the model; nil for an unknown one.
func messagesOf(a *answer, id string) ([]model.Message, error) {
	_, number := splitItemID(id)
	if number, ok := strings.CutPrefix(number, inputMark); ok {
		list, err := a.call.Service.TurnInput(a.call.Context(), a.call.Caller, a.turn.ID)
		if n, bad := strconv.Atoi(number); err == nil && bad == nil && n >= 0 && n < len(list) {
			return list[n : n+1], nil
		}
		return nil, err
	}
	for _, e := range a.ended {
		if at := slices.IndexFunc(e.items, func(i *item) bool { return i.ID == id }); at >= 0 {
			return e.items[at].toModel(), nil
		}
	}
	return nil, nil
}

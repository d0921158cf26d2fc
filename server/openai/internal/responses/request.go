package responses

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
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
	"github.com/agentruntime/agentruntime/server/openai/internal/run"
	"github.com/agentruntime/agentruntime/service"
)

// Request has the honored fields of a request for a response.
type Request struct {
	Model              string          `json:"model"`
	Input              json.RawMessage `json:"input,omitempty"`
	Instructions       *string         `json:"instructions,omitempty"`
	Stream             *bool           `json:"stream,omitempty"`
	Background         *bool           `json:"background,omitempty"`
	Store              *bool           `json:"store,omitempty"`
	PreviousResponseID *string         `json:"previous_response_id,omitempty"`
	Conversation       json.RawMessage `json:"conversation,omitempty"`
	Tools              []run.Tool      `json:"tools,omitempty"`
	ToolChoice         json.RawMessage `json:"tool_choice,omitempty"`
	MaxOutputTokens    *int            `json:"max_output_tokens,omitempty"`
	Reasoning          *struct {
		Effort  *string `json:"effort,omitempty"`
		Summary *string `json:"summary,omitempty"`
	} `json:"reasoning,omitempty"`
	Text *struct {
		Format    *run.Format `json:"format,omitempty"`
		Verbosity *string     `json:"verbosity,omitempty"`
	} `json:"text,omitempty"`
	Truncation *string `json:"truncation,omitempty"`
	run.Sampling
}

func (r *Request) hasConversation() bool {
	return len(r.Conversation) > 0 && string(r.Conversation) != "null"
}

// conversationID returns the conversation that the request names; empty if it names none.
func (r *Request) conversationID() (string, error) {
	var ref run.ConversationRef
	if !r.hasConversation() {
		return "", nil
	}
	if json.Unmarshal(r.Conversation, &ref.ID) != nil && json.Unmarshal(r.Conversation, &ref) != nil || ref.ID == "" {
		return "", run.BadField("conversation", "conversation must be an id, or an object with an id")
	}
	return ref.ID, nil
}

// ToTurn returns the requested turn, without its messages.
func (r *Request) ToTurn() (*run.Request, error) {
	switch {
	case r.Model == "":
		return nil, run.MissingField("model")
	case run.IsSet(r.Background) && r.Store != nil && !*r.Store:
		return nil, run.BadField("background", "background responses must be stored: store cannot be false")
	case r.PreviousResponseID != nil && r.hasConversation():
		return nil, run.BadField("previous_response_id", "previous_response_id and conversation exclude each other")
	}
	shown := &run.Echo{
		Background: run.IsSet(r.Background), Store: r.Store == nil || *r.Store, Instructions: r.Instructions, MaxOutputTokens: r.MaxOutputTokens,
		ParallelToolCalls: r.Parallel == nil || *r.Parallel, PreviousResponseID: r.PreviousResponseID, ServiceTier: "default", Temperature: r.Temperature, TopP: r.TopP,
		Text: run.TextOptions{Format: run.Format{Type: "text"}}, ToolChoice: r.ToolChoice, Tools: r.Tools, Truncation: "disabled", User: r.User, Metadata: r.Metadata,
	}
	if len(r.ToolChoice) == 0 || string(r.ToolChoice) == "null" {
		shown.ToolChoice = json.RawMessage(`"auto"`)
	}
	if shown.Tools == nil {
		shown.Tools = []run.Tool{}
	}
	if shown.Metadata == nil {
		shown.Metadata = map[string]string{}
	}
	if r.Truncation != nil {
		shown.Truncation = *r.Truncation
	}
	t := &run.Request{Agent: r.Model, Field: "input", Record: run.Record{Echo: shown, Unstored: !shown.Store}}
	if r.Instructions != nil {
		t.Instructions = *r.Instructions
	}
	return t, cmp.Or(r.Apply(t), t.SetLimit("max_output_tokens", r.MaxOutputTokens), r.applyOptions(t), t.SetFunctions(r.Tools, "", r.ToolChoice))
}

// applyOptions reads the options of reasoning and text.
func (r *Request) applyOptions(t *run.Request) error {
	shown := t.Record.Echo
	if o := r.Reasoning; o != nil {
		shown.Reasoning = run.ReasoningOptions{Effort: o.Effort, Summary: o.Summary}
		t.Record.Thoughts = o.Summary != nil
		if o.Summary != nil && !slices.Contains([]string{"auto", "concise", "detailed"}, *o.Summary) {
			return run.BadField("reasoning.summary", "reasoning.summary must be auto, concise or detailed")
		}
		if err := t.SetEffort("reasoning.effort", o.Effort); err != nil {
			return err
		}
	}
	if r.Text == nil {
		return nil
	}
	shown.Text.Verbosity = r.Text.Verbosity
	if err := t.SetVerbosity("text.verbosity", r.Text.Verbosity); err != nil {
		return err
	}
	if r.Text.Format == nil {
		return nil
	}
	shown.Text.Format = *r.Text.Format
	return t.SetForm("text.format", r.Text.Format)
}

// ReadInput reads the input and the items that it refers to.
func ReadInput(c *run.Call, raw json.RawMessage) (in run.Input, err error) {
	var text string
	if len(raw) == 0 || string(raw) == "null" {
		return in, nil
	}
	if json.Unmarshal(raw, &text) == nil {
		in.AddMessage("", model.User(text))
		return in, nil
	}
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return in, run.BadField("input", "input must be a string or a list of items")
	}
	known, references := map[string]*run.Answer{}, 0
	for i := range list {
		var item run.InputItem
		path := fmt.Sprintf("input[%d]", i)
		if err := surfacekit.DecodeAt(list[i], &item, path); err != nil {
			return in, err
		}
		if item.Type == "item_reference" {
			if references++; references > MaxReferences {
				return in, run.BadField(path, "input has more than %d references to items", MaxReferences)
			}
			err = addReference(c, &in, known, item.ID, path)
		} else {
			err = in.AddItem(&item, path)
		}
		if err != nil {
			return in, err
		}
	}
	return in, in.CheckCalls()
}

// MaxReferences limits the references to items in a request.
const MaxReferences = 2000

// addReference adds the messages of a response item. known are the responses already read; nil for
// unknown ones.
func addReference(c *run.Call, in *run.Input, known map[string]*run.Answer, id, path string) error {
	core, _ := run.SplitItemID(id)
	a, ok := known[core]
	if !ok {
		turn, record, err := c.FindTurn(run.ResponsePrefix + core)
		if err == nil {
			a, err = c.ReadAnswer(turn, record, 0)
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
		return run.BadField(path, "Item with id '%s' not found.", clip.Text(id))
	}
	in.NoteCall(core, true)
	for _, m := range found {
		in.AddMessage(core, m)
	}
	return nil
}

// messagesOf returns the messages of a turn's item for the model; nil if it is unknown.
func messagesOf(a *run.Answer, id string) ([]model.Message, error) {
	_, number := run.SplitItemID(id)
	if number, ok := strings.CutPrefix(number, inputMark); ok {
		list, err := a.Call.Service.TurnInput(a.Call.Context(), a.Call.Caller, a.Turn.ID)
		if n, bad := strconv.Atoi(number); err == nil && bad == nil && n >= 0 && n < len(list) {
			return list[n : n+1], nil
		}
		return nil, err
	}
	for _, e := range a.Endings {
		if at := slices.IndexFunc(e.Items, func(i *run.Item) bool { return i.ID == id }); at >= 0 {
			return e.Items[at].ToModel(), nil
		}
	}
	return nil, nil
}

package openai

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
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

func isSet(b *bool) bool { return b != nil && *b }

// check reports required fields that are missing, and options that exclude each other.
func (r *responseRequest) check() error {
	switch {
	case r.Model == "":
		return missingField("model")
	case isSet(r.Background) && r.Store != nil && !*r.Store:
		return badField("background", "background responses must be stored: store cannot be false")
	case r.PreviousResponseID != nil && r.hasConversation():
		return badField("previous_response_id", "previous_response_id and conversation exclude each other")
	default:
		return nil
	}
}

func (r *responseRequest) hasConversation() bool {
	return len(r.Conversation) > 0 && string(r.Conversation) != "null"
}

// conversationID returns the conversation that the request names; empty for none.
func (r *responseRequest) conversationID() (string, error) {
	if !r.hasConversation() {
		return "", nil
	}
	var ref conversationRef
	if json.Unmarshal(r.Conversation, &ref.ID) != nil && json.Unmarshal(r.Conversation, &ref) != nil || ref.ID == "" {
		return "", badField("conversation", "conversation must be an id, or an object with an id")
	}
	return ref.ID, nil
}

// toTurn returns the turn that the request asks for, without its messages.
func (r *responseRequest) toTurn() (t *turnRequest, err error) {
	shown := &echo{
		Background: isSet(r.Background), Store: r.Store == nil || *r.Store, Instructions: r.Instructions, MaxOutputTokens: r.MaxOutputTokens,
		ParallelToolCalls: r.Parallel == nil || *r.Parallel, PreviousResponseID: r.PreviousResponseID, ServiceTier: "default", Temperature: r.Temperature, TopP: r.TopP,
		Text: textOptions{Format: responseFormat{Type: "text"}}, ToolChoice: r.ToolChoice, Tools: r.Tools, Truncation: "disabled", User: r.User, Metadata: r.Metadata,
	}
	t = &turnRequest{agent: r.Model, record: turnRecord{Echo: shown, Unstored: !shown.Store}}
	if err = r.apply(t); err != nil {
		return nil, err
	}
	if len(r.ToolChoice) == 0 {
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
	if r.Instructions != nil {
		t.instructions = *r.Instructions
	}
	if t.params.MaxOutputTokens, err = readLimit("max_output_tokens", r.MaxOutputTokens); err != nil {
		return nil, err
	}
	if err = r.readOptions(t, shown); err != nil {
		return nil, err
	}
	list, err := r.readFunctions()
	if err == nil {
		err = t.chooseFunctions(list, r.ToolChoice)
	}
	return t, err
}

// readOptions reads the options of reasoning and text.
func (r *responseRequest) readOptions(t *turnRequest, shown *echo) (err error) {
	if o := r.Reasoning; o != nil {
		shown.Reasoning = reasoningOptions{o.Effort, o.Summary}
		t.record.Thoughts = o.Summary != nil
		if o.Summary != nil && !slices.Contains([]string{"auto", "concise", "detailed"}, *o.Summary) {
			return badField("reasoning.summary", "reasoning.summary must be auto, concise or detailed")
		}
		if t.params.ReasoningEffort, err = readEffort("reasoning.effort", o.Effort); err != nil {
			return err
		}
	}
	if r.Text == nil {
		return nil
	}
	if r.Text.Verbosity != nil {
		t.params.Verbosity = *r.Text.Verbosity
		shown.Text.Verbosity = r.Text.Verbosity
	}
	if form := r.Text.Format; form != nil {
		shown.Text.Format = *form
		t.output, err = readForm("text.format", form.Type, &formSchema{form.Name, form.Schema})
		t.record.Form = t.output != nil
	}
	return err
}

func (r *responseRequest) readFunctions() ([]function, error) {
	path := func(i int) string { return fmt.Sprintf("tools[%d]", i) }
	list := make([]function, 0, len(r.Tools))
	for i := range r.Tools {
		if r.Tools[i].Type != "function" {
			return nil, badField(path(i)+".type", "%s.type %q must be function: the agent has the tools of the server", path(i), clip.Text(r.Tools[i].Type))
		}
		list = append(list, r.Tools[i].function)
	}
	return list, checkFunctions(list, path)
}

// inputItem is an item of the input, of any type.
type inputItem struct {
	Type      string          `json:"type"`
	ID        string          `json:"id"`
	Role      string          `json:"role"`
	Content   json.RawMessage `json:"content"`
	CallID    string          `json:"call_id"`
	Name      string          `json:"name"`
	Arguments string          `json:"arguments"`
	Output    json.RawMessage `json:"output"`
	RequestID string          `json:"approval_request_id"`
	Approve   *bool           `json:"approve"`
	Reason    string          `json:"reason"`
}

// input is what the items of a request say.
type input struct {
	messages []model.Message
	// outputs are the outputs of functions and the approvals after the last message of the
	// assistant, and said is what the user says after them, or without any.
	outputs []functionOutput
	said    []model.Part
}

// readInput reads the input, with the items that it refers to.
func (c *call) readInput(raw json.RawMessage) (*input, error) {
	in := new(input)
	var text string
	if len(raw) == 0 || string(raw) == "null" {
		return in, nil
	}
	if json.Unmarshal(raw, &text) == nil {
		in.addMessage(model.User(text))
		return in, nil
	}
	var items []inputItem
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, badField("input", "input must be a string or a list of items")
	}
	return in, c.addItems(in, items, "input")
}

// addItems adds items to the input.
func (c *call) addItems(in *input, items []inputItem, field string) error {
	known := newItemReader(c)
	for i := range items {
		path := fmt.Sprintf("%s[%d]", field, i)
		if items[i].Type == "item_reference" {
			found, err := known.find(items[i].ID)
			if err != nil {
				return err
			}
			if found == nil {
				return badField(path, "Item with id '%s' not found.", clip.Text(items[i].ID))
			}
			for _, m := range found {
				in.addMessage(m)
			}
			continue
		}
		if err := in.addItem(&items[i], path); err != nil {
			return err
		}
	}
	return nil
}

func (in *input) addMessage(m model.Message) {
	switch m.Role {
	case model.RoleAssistant:
		in.outputs, in.said = nil, nil
	case model.RoleUser:
		in.said = append(in.said, m.Parts...)
	}
	in.messages = append(in.messages, m)
}

// add adds a text that the model reads in place of an item.
func (in *input) add(role model.Role, parts ...model.Part) {
	in.messages = append(in.messages, model.Message{Role: role, Parts: parts})
}

func (in *input) addItem(i *inputItem, path string) error {
	switch i.Type {
	case "", itemMessage:
		role, ok := surfacekit.Role(i.Role)
		if !ok || i.Role == surfacekit.RoleTool {
			return badField(path+".role", "%s.role %q must be user, assistant, system or developer", path, clip.Text(i.Role))
		}
		parts, err := readContent(i.Content, path+".content")
		if err != nil {
			return err
		}
		if len(parts) == 0 {
			parts = []model.Part{model.Text("")}
		}
		in.addMessage(model.Message{Role: role, Parts: parts})
	case itemFunction:
		in.add(model.RoleAssistant, surfacekit.CallText(i.CallID, i.Name, i.Arguments))
	case "function_call_output":
		parts, err := readContent(i.Output, path+".output")
		if err != nil {
			return err
		}
		output := model.PartsText(parts)
		in.outputs, in.said = append(in.outputs, functionOutput{callID: i.CallID, output: output}), nil
		in.add(model.RoleUser, surfacekit.ResultText(i.CallID, 0, output))
	case "mcp_approval_response":
		if i.Approve == nil {
			return missingField(path + ".approve")
		}
		in.outputs, in.said = append(in.outputs, functionOutput{callID: i.RequestID, approve: i.Approve, reason: i.Reason}), nil
		in.add(model.RoleUser, model.Text(fmt.Sprintf("[approval of %s: %t]", clip.Text(i.RequestID), *i.Approve)))
	case itemTool:
		parts, err := readContent(i.Output, path+".output")
		if err != nil {
			return err
		}
		in.add(model.RoleAssistant, surfacekit.CallText(i.ID, i.Name, i.Arguments), surfacekit.ResultText(i.ID, 0, model.PartsText(parts)))
	case itemThought, itemApproval, "mcp_list_tools":
	default:
		return badField(path, "%s: items of type %q are not supported", path, clip.Text(i.Type))
	}
	return nil
}

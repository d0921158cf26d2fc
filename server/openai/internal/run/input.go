package run

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/server/internal/surfacekit"
)

// Input is the messages of a request.
type Input struct {
	Messages []model.Message
	// cores are the cores of the items or calls that the messages repeat.
	cores []string
	// Outputs are the function outputs and approvals after the assistant's last message, and Said
	// are the user's messages after them.
	Outputs []Output
	Said    []model.Part
	// calls has the calls and approval requests among the items, and the cores of referenced items,
	// with whether each is settled.
	calls map[string]bool
}

// Output is the output of a client function, or the decision on an approval.
type Output struct {
	CallID, Output string
	// approve is set for the answer to an approval request.
	approve *bool
	reason  string
}

// NoteCall notes a call among the items, or its output.
func (in *Input) NoteCall(id string, settled bool) {
	if in.calls == nil {
		in.calls = map[string]bool{}
	}
	in.calls[id] = settled
}

// CheckCalls returns an error for a call among the items without an output.
func (in *Input) CheckCalls() error {
	for _, id := range slices.Sorted(maps.Keys(in.calls)) {
		if !in.calls[id] {
			return BadField("input", "No tool output found for function call '%s'.", clip.Text(id))
		}
	}
	return nil
}

// checkOutputs returns an error for an output whose call is neither among the items nor in a
// response that they refer to.
func (in *Input) checkOutputs() error {
	for _, o := range in.Outputs {
		core, _ := SplitItemID(o.CallID)
		_, called := in.calls[o.CallID]
		if _, referred := in.calls[core]; !called && !referred {
			return unknownCall(o.CallID)
		}
	}
	return nil
}

func unknownCall(id string) error {
	return BadField("input", "No tool call found for function call output with call_id '%s'.", clip.Text(id))
}

// AppendMessage appends a message. Without parts its text is empty.
func (in *Input) AppendMessage(core string, role model.Role, parts ...model.Part) {
	if len(parts) == 0 {
		parts = []model.Part{model.Text("")}
	}
	in.Messages, in.cores = append(in.Messages, model.Message{Role: role, Parts: parts}), append(in.cores, core)
}

// AddMessage adds a user or assistant message.
func (in *Input) AddMessage(core string, m model.Message) {
	switch m.Role {
	case model.RoleAssistant:
		in.Outputs, in.Said = nil, nil
	case model.RoleUser:
		in.Said = append(in.Said, m.Parts...)
	}
	in.AppendMessage(core, m.Role, m.Parts...)
	in.Messages[len(in.Messages)-1].ID = m.ID
}

// hashMessages identifies messages.
func hashMessages(list []model.Message) string {
	data, err := json.Marshal(list)
	if err != nil {
		return "" // not reached: messages are texts and data
	}
	return surfacekit.HashKey(Label, string(data))
}

// isEdited reports whether the messages before a turn's items differ from those that began the
// turn.
func (in *Input) isEdited(core string, record *Record) bool {
	n := slices.Index(in.cores, core)
	return n > 0 && record.Asked != "" && record.Asked != hashMessages(in.Messages[:n])
}

// InputItem is an item of the input, of any type.
type InputItem struct {
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

// AddItem adds an item at a path of the request.
func (in *Input) AddItem(i *InputItem, path string) error {
	core, _ := SplitItemID(cmp.Or(i.CallID, i.ID))
	var parts []model.Part
	var err error
	switch i.Type {
	case "", ItemMessage:
		parts, err = ReadContent(i.Content, path+".content")
	case ItemOutput, ItemTool:
		parts, err = ReadContent(i.Output, path+".output")
	}
	if err != nil {
		return err
	}
	output := surfacekit.OutputText(parts)
	switch i.Type {
	case "", ItemMessage:
		role, ok := surfacekit.Role(i.Role)
		if !ok || i.Role == surfacekit.RoleTool {
			return BadField(path+".role", "%s.role %q must be user, assistant, system or developer", path, clip.Text(i.Role))
		}
		in.AddMessage(core, model.Message{Role: role, Parts: parts})
	case ItemFunction:
		in.NoteCall(i.CallID, false)
		in.AppendMessage(core, model.RoleAssistant, surfacekit.CallText(i.CallID, i.Name, i.Arguments))
	case ItemOutput:
		if _, ok := in.calls[i.CallID]; ok {
			in.NoteCall(i.CallID, true)
		}
		in.Outputs, in.Said = append(in.Outputs, Output{CallID: i.CallID, Output: output}), nil
		in.AppendMessage(core, model.RoleUser, surfacekit.ResultText(i.CallID, 0, output))
	case ItemDecision:
		if i.Approve == nil {
			return MissingField(path + ".approve")
		}
		in.Outputs, in.Said = append(in.Outputs, Output{CallID: i.RequestID, approve: i.Approve, reason: i.Reason}), nil
		in.AppendMessage(core, model.RoleUser, model.Text(fmt.Sprintf("[approval of %s: %t]", clip.Text(i.RequestID), *i.Approve)))
	case ItemTool:
		in.AppendMessage(core, model.RoleAssistant, surfacekit.CallText(i.ID, i.Name, i.Arguments), surfacekit.ResultText(i.ID, 0, output))
	case ItemApproval:
		in.NoteCall(i.ID, true)
	case ItemThought, "mcp_list_tools":
	default:
		return BadField(path, "%s: items of type %q are not supported", path, clip.Text(i.Type))
	}
	return nil
}

// contentPart is a part of a message in either protocol. Its fields depend on its type.
type contentPart struct {
	Type string `json:"type"`
	Text string `json:"text,omitempty"`
	// Refusal is the text of a refusal.
	Refusal string `json:"refusal,omitempty"`
	// ImageURL is an object in chat completions and a text in responses.
	ImageURL   json.RawMessage `json:"image_url,omitempty"`
	InputAudio *struct {
		Data   string `json:"data"`
		Format string `json:"format"`
	} `json:"input_audio,omitempty"`
	// File has the file's fields in chat completions.
	File *filePart `json:"file,omitempty"`
	filePart
	FileURL string `json:"file_url,omitempty"`
}

type filePart struct {
	FileID   string `json:"file_id,omitempty"`
	FileData string `json:"file_data,omitempty"`
	Filename string `json:"filename,omitempty"`
}

// ReadContent returns the parts of a message, whose content is a text or a list.
func ReadContent(raw json.RawMessage, path string) ([]model.Part, error) {
	return surfacekit.ReadContent(raw, path, BadField(path, "%s must be a string or a list of content parts", path), (*contentPart).toModel)
}

func (p *contentPart) toModel(path string) (model.Part, error) {
	switch p.Type {
	case "text", "input_text", "output_text":
		return model.Text(p.Text), nil
	case "refusal":
		return model.Text(p.Refusal), nil
	case "image_url", "input_image":
		address := p.imageAddress()
		if address == "" {
			return model.Part{}, BadField(path, "%s needs image_url; uploaded files are not supported", path)
		}
		return blobPart(model.PartImage, address, "", path)
	case "input_audio":
		if p.InputAudio == nil {
			return model.Part{}, BadField(path, "%s needs input_audio", path)
		}
		return blobPart(model.PartFile, "data:audio/"+p.InputAudio.Format+";base64,"+p.InputAudio.Data, "", path)
	case "file", "input_file":
		f := p.filePart
		if p.File != nil {
			f = *p.File
		}
		switch {
		case p.FileURL != "":
			return blobPart(model.PartFile, p.FileURL, f.Filename, path)
		case f.FileData == "":
			return model.Part{}, BadField(path, "%s needs file_data or file_url; uploaded files are not supported", path)
		case !strings.HasPrefix(f.FileData, "data:"):
			f.FileData = "data:;base64," + f.FileData
		}
		return blobPart(model.PartFile, f.FileData, f.Filename, path)
	default:
		return model.Part{}, BadField(path, "%s: content parts of type %q are not supported", path, clip.Text(p.Type))
	}
}

func (p *contentPart) imageAddress() string {
	var address string
	if json.Unmarshal(p.ImageURL, &address) == nil {
		return address
	}
	var image struct {
		URL string `json:"url"`
	}
	_ = json.Unmarshal(p.ImageURL, &image) // the address is then empty
	return image.URL
}

// blobPart returns an image or a file with a data URL or a web address.
func blobPart(kind model.PartType, address, name, path string) (model.Part, error) {
	part, err := surfacekit.BlobPart(kind, model.Blob{URI: address, Name: name}, path)
	return part, asBadField(err)
}

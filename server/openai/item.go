package openai

import (
	"encoding/json"
)

// The types of items.
const (
	itemMessage  = "message"
	itemThought  = "reasoning"
	itemFunction = "function_call"
	itemTool     = "mcp_call"
	itemApproval = "mcp_approval_request"
)

// The states of items and responses.
const (
	stateQueued     = "queued"
	stateRunning    = "in_progress"
	stateCompleted  = "completed"
	stateIncomplete = "incomplete"
	stateFailed     = "failed"
	stateCanceled   = "cancelled"
)

// The phases of messages.
const (
	phaseInterim = "commentary"
	phaseFinal   = "final_answer"
)

// item is an item of the output.
type item struct {
	kind, id string
	// index is the place of the item in its segment.
	index  int
	status string
	// text is that of a message or a thought, and the output of a tool.
	text  []byte
	phase string
	// callID, name and arguments are those of a call, and label names who runs it.
	callID, name, label string
	arguments           string
	// failed is set for a tool that failed, and approval is the request that was approved.
	failed   bool
	approval string
}

// textPart is the content of a message.
type textPart struct {
	Type        string   `json:"type"`
	Text        string   `json:"text"`
	Annotations []string `json:"annotations"`
	Logprobs    []string `json:"logprobs"`
}

func outputText(text string) textPart {
	return textPart{Type: "output_text", Text: text, Annotations: []string{}, Logprobs: []string{}}
}

// summaryPart is a part of a thought.
type summaryPart struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

func summaryText(text string) summaryPart { return summaryPart{"summary_text", text} }

// MarshalJSON writes the item as clients know it.
func (i *item) MarshalJSON() ([]byte, error) { return json.Marshal(i.view(true)) }

// view returns the item as it is shown; without its content when it has just begun.
func (i *item) view(whole bool) any {
	switch i.kind {
	case itemMessage:
		content := []textPart{}
		if whole {
			content = append(content, outputText(string(i.text)))
		}
		return struct {
			Type    string     `json:"type"`
			ID      string     `json:"id"`
			Role    string     `json:"role"`
			Status  string     `json:"status"`
			Phase   string     `json:"phase,omitempty"`
			Content []textPart `json:"content"`
		}{i.kind, i.id, "assistant", i.status, i.phase, content}
	case itemThought:
		summary := []summaryPart{}
		if whole {
			summary = append(summary, summaryText(string(i.text)))
		}
		return struct {
			Type    string        `json:"type"`
			ID      string        `json:"id"`
			Status  string        `json:"status"`
			Summary []summaryPart `json:"summary"`
		}{i.kind, i.id, i.status, summary}
	case itemFunction:
		return struct {
			Type      string `json:"type"`
			ID        string `json:"id"`
			CallID    string `json:"call_id"`
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
			Status    string `json:"status"`
		}{i.kind, i.id, i.callID, i.name, i.argumentsIf(whole), i.status}
	case itemApproval:
		return struct {
			Type      string `json:"type"`
			ID        string `json:"id"`
			Label     string `json:"server_label"`
			Name      string `json:"name"`
			Arguments string `json:"arguments"`
		}{i.kind, i.id, i.label, i.name, i.arguments}
	default:
		return i.toolView(whole)
	}
}

func (i *item) argumentsIf(whole bool) string {
	if !whole {
		return ""
	}
	return i.arguments
}

// toolView shows a call that was made here.
func (i *item) toolView(whole bool) any {
	v := struct {
		Type      string  `json:"type"`
		ID        string  `json:"id"`
		Label     string  `json:"server_label"`
		Name      string  `json:"name"`
		Arguments string  `json:"arguments"`
		Output    *string `json:"output"`
		Error     *string `json:"error"`
		Status    string  `json:"status"`
		Approval  *string `json:"approval_request_id,omitempty"`
	}{Type: i.kind, ID: i.id, Label: i.label, Name: i.name, Arguments: i.argumentsIf(whole), Status: i.status}
	text := string(i.text)
	switch {
	case whole && i.failed:
		v.Error = &text
	case whole:
		v.Output = &text
	}
	if i.approval != "" {
		v.Approval = &i.approval
	}
	return v
}

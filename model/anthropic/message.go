package anthropic

import (
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// wholeMessage is an answer that a server sent whole instead of as a stream.
type wholeMessage struct {
	Content    messageContent            `json:"content"`
	StopReason vendorhttp.Text           `json:"stop_reason"`
	Usage      vendorhttp.Detail[*usage] `json:"usage"`
}

// messageContent is a list of blocks. Some servers send a text.
type messageContent []blockContent

// UnmarshalJSON reads the content.
func (c *messageContent) UnmarshalJSON(data []byte) error {
	if data[0] == '"' {
		*c = messageContent{{Type: "text"}}
		return (*c)[0].Text.UnmarshalJSON(data)
	}
	return vendorhttp.DecodeEvent(data, (*[]blockContent)(c))
}

// readMessage reads an answer that was not streamed.
func (a *answer) readMessage(data []byte) (done bool, err error) {
	var m wholeMessage
	if err := vendorhttp.DecodeEvent(data, &m); err != nil {
		return false, err
	}
	if m.StopReason == "" && len(m.Content) == 0 {
		return false, nil // it is no answer
	}
	a.reason = string(m.StopReason)
	a.countUsage(m.Usage.Value)
	for i := range m.Content {
		index := vendorhttp.Number(i)
		if err := a.openBlock(index, &m.Content[i]); err != nil {
			return false, err
		}
		a.closeBlock(index)
	}
	if finishReason(a.reason) == model.FinishStop {
		a.endCall()
	}
	return a.finishAnswer()
}

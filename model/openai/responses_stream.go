package openai

import (
	"slices"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// responsesStream translates the stream of the Responses API. It decodes only the events and fields
// it needs: the SDK's types cost a multiple, and the first events repeat the whole request.
type responsesStream struct {
	calls calls
	// byOutput maps positions in the vendor's list of output items to calls.
	byOutput map[vendorhttp.Number]*call
	delta    responsesDelta
	piece    responsesPiece
	usage    model.Usage

	text, reasoning place
	// withoutPieces is set once a complete text came before any piece.
	withoutPieces bool
	// streamed is the text of the item at the position text.
	streamed textDigest
	// byItem maps item IDs to calls.
	byItem map[vendorhttp.Text]*call
}

func newResponsesStream(req *model.Request) *responsesStream {
	return &responsesStream{calls: newCalls(req), byOutput: map[vendorhttp.Number]*call{}, byItem: map[vendorhttp.Text]*call{}}
}

func (s *responsesStream) addText(data []byte, out *vendorhttp.Batch) error {
	s.delta = responsesDelta{}
	if err := vendorhttp.DecodeEvent(data, &s.delta); err != nil || s.delta.Delta == "" {
		return err
	}
	// Two messages of one answer are two paragraphs; the parts of one message
	// are one text.
	s.emitText(s.delta.OutputIndex, string(s.delta.Delta), out)
	return nil
}

// endText adds a complete text of a server that streams no pieces.
func (s *responsesStream) endText(data []byte, out *vendorhttp.Batch) error {
	if s.text.seen && !s.withoutPieces {
		return nil
	}
	s.withoutPieces = true
	var ev responsesDone
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil {
		return err
	}
	item := outputItem{Content: append(ev.Part, ev.outputText)}
	s.addMessage(ev.OutputIndex, &item, !s.text.seen || ev.OutputIndex > s.text.output, out)
	return nil
}

// addMessage adds the text of a complete message, or its missing rest if the beginning was
// streamed. isNew is set if nothing was streamed at its position.
func (s *responsesStream) addMessage(at vendorhttp.Number, item *outputItem, isNew bool, out *vendorhttp.Batch) {
	var whole strings.Builder
	for _, part := range item.Content {
		whole.WriteString(string(part.Text + part.Refusal))
	}
	text := whole.String()
	switch {
	case s.streamed.isBeginningOf(text):
		if text = text[s.streamed.length:]; text != "" {
			s.emitText(s.text.output, text, out)
		}
	case isNew && text != "":
		s.emitText(at, text, out)
	}
}

// emitText adds text of the item at a position.
func (s *responsesStream) emitText(at vendorhttp.Number, text string, out *vendorhttp.Batch) {
	if s.text.output != at {
		s.streamed.reset()
	}
	s.text.moveTo(model.EventText, at, 0, out)
	s.streamed.add(text)
	out.AddDelta(model.EventText, text)
}

func (s *responsesStream) addReasoning(data []byte, out *vendorhttp.Batch) error {
	s.delta = responsesDelta{}
	if err := vendorhttp.DecodeEvent(data, &s.delta); err != nil || s.delta.Delta == "" {
		return err
	}
	// A piece belongs to a summary or to the content, so one of the two is 0.
	s.reasoning.moveTo(model.EventReasoning, s.delta.OutputIndex, s.delta.SummaryIndex+s.delta.ContentIndex, out)
	out.AddDelta(model.EventReasoning, string(s.delta.Delta))
	return nil
}

// place is the position of a piece of text in the vendor's output.
type place struct {
	seen          bool
	output, piece vendorhttp.Number
}

// moveTo separates texts at different positions by a paragraph.
func (p *place) moveTo(t model.EventType, output, piece vendorhttp.Number, out *vendorhttp.Batch) {
	if p.seen && (p.output != output || p.piece != piece) {
		out.AddDelta(t, paragraph)
	}
	*p = place{seen: true, output: output, piece: piece}
}

func (s *responsesStream) noteID(data []byte) error {
	var created struct {
		Response struct {
			ID vendorhttp.Text `json:"id"`
		} `json:"response"`
	}
	if err := vendorhttp.DecodeEvent(data, &created); err != nil {
		return err
	}
	s.calls.seed = string(created.Response.ID) + "\x00" + s.calls.seed
	return nil
}

func (s *responsesStream) addItem(data []byte, out *vendorhttp.Batch) error {
	var ev responsesItem
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil || ev.Item.itemType() != "function_call" {
		return err
	}
	k := s.byOutput[ev.OutputIndex]
	if k == nil || k.name != "" {
		k = s.calls.openCall()
		s.byOutput[ev.OutputIndex] = k
	}
	if ev.Item.ID != "" {
		s.byItem[ev.Item.ID] = k
	}
	k.initial = string(ev.Item.Arguments)
	s.calls.describeCall(k, string(ev.Item.CallID), string(ev.Item.Name), out)
	return nil
}

// callAt returns the call with the ID of an item or at its position in the output. Some servers
// number positions differently, so it then tries the only open call. Otherwise it opens a new call.
func (s *responsesStream) callAt(output vendorhttp.Number, item, callID vendorhttp.Text) *call {
	if k := s.byItem[item]; k != nil && !k.ended {
		return k
	}
	if k := s.byOutput[output]; k != nil {
		return k
	}
	isOpen := func(k *call) bool { return !k.ended && !k.arguments.IsWhole() }
	if k := vendorhttp.OnlyCall(slices.Values(s.calls.list), isOpen); k != nil && k.name != "" && (callID == "" || k.vendorID == string(callID)) {
		return k
	}
	k := s.calls.openCall()
	s.byOutput[output] = k
	return k
}

func (s *responsesStream) addArguments(data []byte, out *vendorhttp.Batch) error {
	s.piece = responsesPiece{}
	if err := vendorhttp.DecodeEvent(data, &s.piece); err != nil {
		return err
	}
	s.calls.addArguments(s.callAt(s.piece.OutputIndex, s.piece.ItemID, ""), string(s.piece.Delta), out)
	return nil
}

func (s *responsesStream) endArguments(data []byte, out *vendorhttp.Batch) error {
	var ev responsesArguments
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil {
		return err
	}
	k := s.callAt(ev.OutputIndex, ev.ItemID, "")
	s.calls.describeCall(k, "", string(ev.Name), out)
	if k.name == "" {
		// The item's end will have the name.
		if len(k.held) == 0 {
			k.held = []byte(ev.Arguments)
		}
		return nil
	}
	return s.calls.endCall(k, string(ev.Arguments), out)
}

func (s *responsesStream) endItem(data []byte, out *vendorhttp.Batch) error {
	var ev responsesItem
	if err := vendorhttp.DecodeEvent(data, &ev); err != nil {
		return err
	}
	switch item := &ev.Item; item.itemType() {
	case "message":
		s.addMessage(ev.OutputIndex, item, !s.text.seen || s.text.output != ev.OutputIndex, out)
	case "reasoning":
		addEncrypted(item, out)
	case "function_call":
		return s.endFunctionCall(ev.OutputIndex, item, out)
	}
	return nil
}

// addEncrypted adds the encrypted form of reasoning, if any.
func addEncrypted(item *outputItem, out *vendorhttp.Batch) {
	if item.EncryptedContent != "" {
		out.Add(model.Event{Type: model.EventReasoningEncrypted, ID: string(item.ID), Delta: string(item.EncryptedContent)})
	}
}

func (s *responsesStream) endFunctionCall(output vendorhttp.Number, item *outputItem, out *vendorhttp.Batch) error {
	k := s.callAt(output, item.ID, item.CallID)
	if k.ended && k.vendorID != "" && item.CallID != "" && k.vendorID != string(item.CallID) {
		// Another call at a taken position: the server does not number its items.
		k = s.calls.openCall()
		s.byOutput[output] = k
	}
	s.calls.describeCall(k, string(item.CallID), string(item.Name), out)
	return s.calls.endCall(k, string(item.Arguments), out)
}

// endKnownCall ends the call with the ID of an item. It starts a new call if none has that ID.
func (s *responsesStream) endKnownCall(item *outputItem, out *vendorhttp.Batch) error {
	var k *call
	if at := slices.IndexFunc(s.calls.list, func(k *call) bool { return k.vendorID == string(item.CallID) }); at >= 0 {
		k = s.calls.list[at]
	} else {
		k = s.calls.openCall()
	}
	s.calls.describeCall(k, string(item.CallID), string(item.Name), out)
	return s.calls.endCall(k, string(item.Arguments), out)
}

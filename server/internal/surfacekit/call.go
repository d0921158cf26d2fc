package surfacekit

import (
	"strconv"

	"github.com/agentruntime/agentruntime/event"
	"github.com/agentruntime/agentruntime/internal/rawjson"
)

// Call is a tool call.
type Call struct {
	// ID joins the ids of the turn and the call. Message is the message with the call.
	ID, Name, Message string
	// Arguments is a JSON object once the call has ended.
	Arguments string
	// Dropped is set if the model repeats the call.
	Dropped bool
	ended   bool
	// told has the arguments sent so far.
	told []byte
}

// beginCall begins a call. If its id was used before, a number is added to the id.
func (n *Narrator) beginCall(id, name string) *Call {
	n.closeText(BeforeCall)
	if n.message == "" {
		n.nextMessage("")
	}
	public := n.turn + "/" + id
	if n.ids[public]++; n.ids[public] > 1 {
		public += "~" + strconv.Itoa(n.ids[public])
	}
	c := &Call{ID: public, Name: name, Message: n.message}
	n.calls[id] = c
	n.pending = append(n.pending, c)
	n.tell(func(t Teller) { t.BeginCall(c) })
	return c
}

// endCall ends a call with its arguments. If they differ from those already sent, the call is sent
// again.
func (n *Narrator) endCall(d *event.ToolCallReady) {
	c := n.calls[d.ID]
	arguments := string(rawjson.Object(d.Arguments))
	if c != nil && !c.ended && len(c.told) > 0 && string(c.told) != arguments {
		n.dropCall(c)
	}
	if c == nil || c.ended {
		c = n.beginCall(d.ID, d.Name)
	}
	if len(c.told) == 0 {
		n.tell(func(t Teller) { t.CallArguments(c, arguments) })
	}
	c.Arguments, c.told, c.ended = arguments, nil, true
	n.order = append(n.order, d.ID)
	n.tell(func(t Teller) { t.EndCall(c) })
}

func (n *Narrator) dropCall(c *Call) {
	if c == nil || c.Dropped {
		return
	}
	if c.Dropped = true; !c.ended {
		c.ended = true
		n.tell(func(t Teller) { t.EndCall(c) })
	}
	n.tell(func(t Teller) { t.DropCall(c) })
}

func (n *Narrator) addResult(d *event.ToolCallDone) {
	if d.Outcome == event.CallSuspended {
		return
	}
	n.closeText(Complete)
	c := n.calls[d.ID]
	if c == nil {
		n.endCall(&event.ToolCallReady{ID: d.ID, Name: d.Name})
		c = n.calls[d.ID]
	}
	n.tell(func(t Teller) { t.CallResult(c, d) })
}

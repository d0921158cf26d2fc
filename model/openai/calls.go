package openai

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"strconv"
	"strings"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// calls tracks the tool calls of one answer. It numbers them consecutively, and supplies what some
// servers omit: an id, the pieces of the arguments, the end.
type calls struct {
	list    []*call
	started []*call
	// tools are the tools that the model may call.
	tools []model.Tool
	// seed makes the ids generated for calls without one the same for the same answer, and
	// different for different answers of a conversation.
	seed string
	// provider is the ID of the provider to which the fields of calls are returned.
	provider string
}

// newCalls returns the calls of the answer to a request.
func newCalls(req *model.Request) calls {
	return calls{seed: strconv.Itoa(len(req.Messages)), tools: req.Tools}
}

// call is one tool call. For the consumer, it starts once enough is known.
type call struct {
	index    int // meaningful once started
	started  bool
	ended    bool
	id, name string
	// vendorID is the first id from the server; id differs from it if vendorID was missing or
	// taken.
	vendorID string
	// initial are arguments sent with the announcement. Whether the pieces that follow continue or
	// repeat them is known only at the end, so such a call delivers its arguments then.
	initial string
	// arguments follows the pieces of the arguments.
	arguments vendorhttp.Nesting
	// received detects repeated arguments.
	received textDigest
	// fields are opaque and returned with the call.
	fields callFields
	// held are pieces that cannot be delivered yet.
	held []byte
	// delivered is set once a piece of the arguments was emitted.
	delivered bool
}

// openCall adds a call about which nothing is known yet.
func (c *calls) openCall() *call {
	k := &call{}
	c.list = append(c.list, k)
	return k
}

// describeCall adds new information about a call. It does not replace known information.
func (c *calls) describeCall(k *call, id, name string, out *vendorhttp.Batch) {
	if k.started {
		return
	}
	if k.id == "" {
		k.id, k.vendorID = id, id
	}
	switch {
	case k.name == "":
		k.name = name
	case name == k.name:
	case c.continuesName(k, name):
		k.name += name
	case c.repeatsName(k, name):
		k.name = name
	}
	c.startIfReady(k, out)
}

// continuesName reports whether a piece continues the name of a call whose arguments have not
// begun, so that together they begin a tool's name.
func (c *calls) continuesName(k *call, piece string) bool {
	return piece != "" && !k.started && len(k.held) == 0 && k.initial == "" && c.beginsTool(k.name+piece, 0)
}

// repeatsName reports whether a piece repeats the call's name so far and extends it, before the
// arguments have started.
func (c *calls) repeatsName(k *call, piece string) bool {
	return !k.started && len(k.held) == 0 && k.initial == "" && len(piece) > len(k.name) &&
		strings.HasPrefix(piece, k.name) && !c.isTool(k.name) && c.beginsTool(piece, 0)
}

func (c *calls) isTool(name string) bool {
	return slices.ContainsFunc(c.tools, func(t model.Tool) bool { return t.Name == name })
}

// beginsTool reports whether a tool's name begins with text and is longer by at least the given
// number of bytes.
func (c *calls) beginsTool(text string, more int) bool {
	return slices.ContainsFunc(c.tools, func(t model.Tool) bool {
		return strings.HasPrefix(t.Name, text) && len(t.Name) >= len(text)+more
	})
}

// addArguments adds a piece of a call's arguments.
func (c *calls) addArguments(k *call, piece string, out *vendorhttp.Batch) {
	k.arguments.Read(piece)
	switch {
	case piece == "" || k.ended:
	case k.started && k.initial == "":
		c.deliverPiece(k, piece, out)
	default:
		k.held = append(k.held, piece...)
		c.startIfReady(k, out)
	}
}

// startIfReady starts a call whose name is known. A name may come before the id or in pieces, so a
// call may have to wait until its arguments begin.
func (c *calls) startIfReady(k *call, out *vendorhttp.Batch) {
	if k.started || k.name == "" {
		return
	}
	if len(k.held) > 0 || k.id != "" && !c.beginsTool(k.name, 1) {
		c.startCall(k, out)
	}
}

func (c *calls) startCall(k *call, out *vendorhttp.Batch) {
	k.index, k.started = len(c.started), true
	if k.id == "" || c.isTaken(k.id) {
		k.id = c.newID(k.index)
	}
	c.started = append(c.started, k)
	out.Add(model.Event{Type: model.EventToolCallStart, Index: k.index, ID: k.id, Name: k.name})
	if k.initial == "" && len(k.held) > 0 {
		c.deliverPiece(k, string(k.held), out)
		k.held = nil
	}
}

// isTaken reports whether a started call has the id. Some servers use a function's name as the id.
func (c *calls) isTaken(id string) bool {
	return slices.ContainsFunc(c.started, func(k *call) bool { return k.id == id })
}

// idLength keeps ids within the 40 characters that Chat Completions allows.
const idLength = 24

func (c *calls) newID(index int) string {
	sum := sha256.Sum256([]byte(c.seed + "\x00" + strconv.Itoa(index)))
	return "call_" + hex.EncodeToString(sum[:])[:idLength]
}

func (c *calls) deliverPiece(k *call, piece string, out *vendorhttp.Batch) {
	k.delivered = true
	out.Add(model.Event{Type: model.EventToolCallDelta, Index: k.index, Delta: piece})
}

// endCall ends a call. whole are its arguments as repeated by the server at the end, if it did;
// they count only if no piece was delivered before.
func (c *calls) endCall(k *call, whole string, out *vendorhttp.Batch) error {
	if k.ended {
		return nil
	}
	if !k.started {
		if k.name == "" {
			return vendorhttp.Malformed("a tool call has no name", nil)
		}
		c.startCall(k, out)
	}
	if !k.delivered {
		if whole == "" {
			whole = k.joinedArguments()
		}
		if whole != "" {
			c.deliverPiece(k, whole, out)
		}
	}
	k.ended, k.held = true, nil
	if extra := k.fields.encode(c.provider); extra != "" {
		out.Add(model.Event{Type: model.EventToolCallExtra, Index: k.index, Delta: extra})
	}
	out.Add(model.Event{Type: model.EventToolCallEnd, Index: k.index})
	return nil
}

// joinedArguments returns the arguments of a call whose announcement had some.
func (k *call) joinedArguments() string {
	if len(k.held) >= len(k.initial) && string(k.held[:len(k.initial)]) == k.initial {
		return string(k.held)
	}
	return k.initial + string(k.held)
}

// endAll ends the calls that are still open, when their answer is complete.
func (c *calls) endAll(out *vendorhttp.Batch) error {
	for _, k := range c.list {
		if k.name == "" && len(k.held) == 0 && k.initial == "" {
			continue // an ID alone
		}
		if err := c.endCall(k, "", out); err != nil {
			return err
		}
	}
	return nil
}

// anyStarted reports whether a call started.
func (c *calls) anyStarted() bool { return len(c.started) > 0 }

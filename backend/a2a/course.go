package a2a

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/agentruntime/agentruntime/backend/a2a/internal/exchange"
)

// courseVersion is the version of the JSON form of a course and of a memory.
const courseVersion = 1

// course is the progress of a turn at a peer: the data for continuing it, even in another process.
// It is stored as Resume in the turn's state.
type course struct {
	Version int `json:"version"`
	// Peer is the task's peer: no other peer gets its ids.
	Peer string `json:"peer"`
	exchange.Position
	// Step counts the sent messages. Open is set until the step of the last message ends.
	Step int  `json:"step"`
	Open bool `json:"open,omitempty"`
	// Deadline is when the turn must have ended. While the turn waits for a person, Deadline is
	// zero and Left is the remaining time.
	Deadline time.Time     `json:"deadline,omitzero"`
	Left     time.Duration `json:"left,omitempty"`
	// Questions counts the questions.
	Questions int `json:"tickets,omitempty"`
}

// decodeCourse reads the course in a state. An unreadable course must not be treated as a turn that
// has not begun.
func decodeCourse(data json.RawMessage) (*course, error) {
	c := new(course)
	err := json.Unmarshal(data, c)
	switch {
	case err != nil:
	case c.Version != courseVersion:
		err = fmt.Errorf("it has version %d; this runtime knows version %d", c.Version, courseVersion)
	case c.MessageID == "" || c.Step < 1:
		err = errors.New("it names no message")
	case c.Deadline.IsZero() && c.Left <= 0:
		err = errors.New("it has no deadline")
	}
	if err != nil {
		return nil, fmt.Errorf("read how far the turn at the peer has come: %w", err)
	}
	return c, nil
}

// memory is the part of a session that belongs to a peer: the conversation there. It excludes the
// task, because each turn creates a new one.
type memory struct {
	Version   int    `json:"version"`
	Peer      string `json:"peer"`
	ContextID string `json:"context_id"`
}

// memoryKey is the session state key of an agent's memory.
func memoryKey(agentID string) string { return "a2a:" + agentID }

// recallContext returns a session's context id for an agent at a peer; empty if absent or the agent
// has moved to another peer.
func recallContext(session map[string]json.RawMessage, agentID, peer string) (string, error) {
	data, ok := session[memoryKey(agentID)]
	if !ok {
		return "", nil
	}
	var m memory
	err := json.Unmarshal(data, &m)
	if err == nil && (m.Version != courseVersion || m.ContextID == "") {
		err = fmt.Errorf("it has version %d and context id %q", m.Version, m.ContextID)
	}
	if err != nil {
		return "", fmt.Errorf("read the session's record of agent %s at its peer: %w", agentID, err)
	}
	if m.Peer != peer {
		return "", nil
	}
	return m.ContextID, nil
}

// rememberContext returns a session's state with the context id of an agent at a peer.
func rememberContext(session map[string]json.RawMessage, agentID, peer, contextID string) map[string]json.RawMessage {
	kept := make(map[string]json.RawMessage, len(session)+1)
	maps.Copy(kept, session)
	if contextID != "" {
		kept[memoryKey(agentID)] = encodeRecord(&memory{Version: courseVersion, Peer: peer, ContextID: contextID})
	}
	return kept
}

// encodeRecord returns the JSON of one of this package's records, which can always be encoded.
func encodeRecord(record any) json.RawMessage {
	data, err := json.Marshal(record)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

// errOtherPeer reports that a task is not at the agent's current peer.
var errOtherPeer = errors.New("the agent's endpoint is another peer now")

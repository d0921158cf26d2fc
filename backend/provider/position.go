package provider

import (
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// positionVersion is the version of the JSON form of a position, and of a session's memory of a
// provider.
const positionVersion = 1

// position is the position of a turn at a provider, needed to continue it. It is stored before
// the turn is created there, and after each step.
type position struct {
	Version   int    `json:"version"`
	Provider  string `json:"provider"`
	SessionID string `json:"session_id"`
	// TurnID is the provider's turn; empty before the first one. Number counts the provider's
	// turns: an answer in the wrong form is requested again in another turn.
	TurnID string `json:"turn_id,omitempty"`
	Number int    `json:"number"`
	// Messages is the number of messages in the conversation when the turn was created.
	Messages int `json:"messages,omitempty"`
	// Seq is the last event that was read.
	Seq int64 `json:"seq"`
	// Live is set from before the turn is created until it has ended.
	Live bool `json:"live,omitempty"`
	// Grant is the hash of the provider's grant for the turn.
	Grant string `json:"grant,omitempty"`
	// Left is the turn's remaining time.
	Left time.Duration `json:"left"`
}

// errOtherProvider reports that a turn is not at the agent's current provider.
var errOtherProvider = errors.New("the agent's endpoint is another provider now")

// decodePosition decodes the position in a state. It fails for an unreadable position, which must
// not be confused with a turn that has not started.
func decodePosition(data json.RawMessage) (*position, error) {
	at := new(position)
	err := json.Unmarshal(data, at)
	switch {
	case err != nil:
	case at.Version != positionVersion:
		err = fmt.Errorf("it has version %d; this runtime knows version %d", at.Version, positionVersion)
	case at.SessionID == "" || at.Live && at.TurnID == "":
		err = errors.New("it names no turn")
	}
	if err != nil {
		return nil, fmt.Errorf("read how far the turn at the provider has come: %w", err)
	}
	return at, nil
}

// providerIDs is the UUID namespace for session and turn ids at providers.
var providerIDs = uuid.MustParse("6c1f1f0c-6f0e-5a57-9c0a-2f2d6f9b3f0e")

// sessionIDFor returns the id of an agent's session at its provider.
func sessionIDFor(sessionID, agentID string) string {
	return uuid.NewSHA1(providerIDs, []byte("session\x00"+sessionID+"\x00"+agentID)).String()
}

// turnIDFor returns the id of a turn at its provider.
func turnIDFor(turnID string, number int) string {
	return uuid.NewSHA1(providerIDs, []byte("turn\x00"+turnID+"\x00"+strconv.Itoa(number))).String()
}

// encodeRecord returns the JSON of one of this package's records, which can always be encoded.
func encodeRecord(record any) json.RawMessage {
	data, err := json.Marshal(record)
	if err != nil {
		return json.RawMessage("null")
	}
	return data
}

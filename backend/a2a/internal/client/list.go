package client

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"net/url"
	"strings"

	"github.com/agentruntime/agentruntime/spec"
)

// wellKnownList is the path of a server's list of agent cards, below its URL.
const wellKnownList = "/.well-known/agents.json"

const (
	// MaxList is the maximum size of a list of cards, in bytes.
	MaxList = 4 << 20
	// maxListed is the maximum number of cards in a list.
	maxListed = 256
)

// ErrNoList reports that a server has no list of cards.
var ErrNoList = errors.New("there is no list of agent cards")

// ParseList returns the cards of a list: an object with the field agents, or an
// array. The error is errNoList for JSON that is neither, and a *CardError for a
// list that must not be used.
func ParseList(data []byte) ([]json.RawMessage, error) {
	var cards []json.RawMessage
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '[' {
		var fields struct {
			Agents json.RawMessage `json:"agents"`
		}
		if json.Unmarshal(data, &fields) != nil || !isSet(fields.Agents) {
			return nil, ErrNoList
		}
		data = fields.Agents
	}
	if json.Unmarshal(data, &cards) != nil {
		return nil, ErrNoList
	}
	if len(cards) > maxListed {
		return nil, badCard("the list has %d cards; allowed are %d", len(cards), maxListed)
	}
	return cards, nil
}

// entry is an agent's entry in a list, without its card. With a CardURL it refers to the card
// instead of containing it, as in /api/a2a/WORKSPACE/discovery.
type entry struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	CardURL     string `json:"agentCardUrl"`
}

// ListedName returns the agent ID of a list entry: its name if that is a valid ID, or an ID derived
// from the name. It returns "" if the name yields no ID.
func ListedName(data json.RawMessage) string {
	var e entry
	if json.Unmarshal(data, &e) != nil {
		return ""
	}
	name := cmp.Or(e.Name, e.ID)
	if spec.CheckID("", "agent", name) == nil {
		return name
	}
	return idSlug(name)
}

// findListed returns an agent's card in a list. Two cards with one name are an error, since it
// would be unclear which one a credential is for.
func findListed(list []byte, agent string) (json.RawMessage, error) {
	cards, err := ParseList(list)
	if err != nil {
		return nil, &CardError{Problem: "the list of cards cannot be read", Err: err}
	}
	var found json.RawMessage
	for _, card := range cards {
		if ListedName(card) != agent {
			continue
		}
		if found != nil {
			return nil, badCard("the list has two agents %q", agent)
		}
		found = card
	}
	if found == nil {
		return nil, badCard("the list has no agent %q", agent)
	}
	return found, nil
}

// ListLocation returns the location of a server's list.
func ListLocation(e *spec.Endpoint, o *Options) (*url.URL, error) {
	base, err := url.Parse(e.BaseURL)
	if err != nil {
		return nil, errors.New("base_url does not parse as a URL")
	}
	if o.Card.List != "" {
		return base.Parse(o.Card.List)
	}
	return base.JoinPath(wellKnownList), nil
}

// quoteJSON returns a text as JSON.
func quoteJSON(text string) json.RawMessage {
	data, err := json.Marshal(text)
	if err != nil {
		return nil // a text has a form
	}
	return data
}

// idSlug returns the id made from a text, possibly empty: its letters and digits in lower case,
// with one hyphen for everything between them.
func idSlug(name string) string {
	var id strings.Builder
	gap := false
	for _, r := range strings.ToLower(name) {
		if (r < 'a' || r > 'z') && (r < '0' || r > '9') {
			gap = id.Len() > 0
			continue
		}
		if gap {
			id.WriteByte('-')
			gap = false
		}
		id.WriteRune(r)
		if id.Len() >= MaxName {
			break
		}
	}
	return id.String()
}

package a2abackend

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"

	"go.uber.org/zap"

	"github.com/agentruntime/agentruntime/spec"
)

// wellKnownList is where a server lists the cards of its agents, below its URL.
const wellKnownList = "/.well-known/agents.json"

const (
	// maxList is how large a list of cards may be, in bytes.
	maxList = 4 << 20
	// maxListed is how many cards a list may have.
	maxListed = 256
)

// errNoList says that a server has no list of cards.
var errNoList = errors.New("there is no list of agent cards")

// parseList returns the cards of a list: an object with the field agents, or an
// array. The error is errNoList for JSON that is neither, and a *CardError for a
// list that must not be used.
func parseList(data []byte) ([]json.RawMessage, error) {
	var cards []json.RawMessage
	if data = bytes.TrimSpace(data); len(data) == 0 || data[0] != '[' {
		var fields struct {
			Agents json.RawMessage `json:"agents"`
		}
		if json.Unmarshal(data, &fields) != nil || !isSet(fields.Agents) {
			return nil, errNoList
		}
		data = fields.Agents
	}
	if json.Unmarshal(data, &cards) != nil {
		return nil, errNoList
	}
	if len(cards) > maxListed {
		return nil, badCard("the list has %d cards; allowed are %d", len(cards), maxListed)
	}
	return cards, nil
}

// entry is what a list says of an agent besides its card. One with a CardURL
// points to the card and is none itself, as those of /api/a2a/WORKSPACE/discovery.
type entry struct {
	ID          string `json:"id"`
	Name        string `json:"name"`
	Description string `json:"description"`
	CardURL     string `json:"agentCardUrl"`
}

// listedName returns the id of the agent that an entry of a list describes: its
// name where that is an id, or else what the name gives; empty when it gives
// none.
func listedName(data json.RawMessage) string {
	var e entry
	if json.Unmarshal(data, &e) != nil {
		return ""
	}
	name := cmp.Or(e.Name, e.ID)
	if spec.CheckID("", "agent", name) == nil {
		return name
	}
	return slug(name)
}

// findListed returns the card of an agent in a list. Two cards of one name are an
// error: nobody could tell which of them a credential is meant for.
func findListed(list []byte, agent string) (json.RawMessage, error) {
	cards, err := parseList(list)
	if err != nil {
		return nil, &CardError{Problem: "the list of cards cannot be read", Err: err}
	}
	var found json.RawMessage
	for _, card := range cards {
		if listedName(card) != agent {
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

// listLocation returns where the list of a server is.
func listLocation(e *spec.Endpoint, o *options) (*url.URL, error) {
	base, err := url.Parse(e.BaseURL)
	if err != nil {
		return nil, errors.New("base_url does not parse as a URL")
	}
	if o.cardList != "" {
		return base.Parse(o.cardList)
	}
	return base.JoinPath(wellKnownList), nil
}

// discoverList returns the agents of a source that lists their cards. Each is
// reached as its own card says, within what the source allows. The error is
// errNoList when the source has no list.
//
// A card that cannot be used is left out and logged. A list in which no card can
// be used, or two have one name, fails.
func (f *Factory) discoverList(ctx context.Context, e *spec.Endpoint, o *options) ([]*spec.Agent, error) {
	location, err := listLocation(e, o)
	if err != nil {
		return nil, err
	}
	p, err := newPeer(e, f.logger)
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.close() }()
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	got, err := p.fetchDocument(ctx, location, "", "the list of agent cards", maxList)
	if lacksList(err) {
		return nil, errNoList
	}
	if err != nil {
		return nil, fmt.Errorf("fetch the list of agent cards: %w", err)
	}
	cards, err := parseList(got.card)
	if err != nil {
		return nil, err
	}
	return f.listed(p, location, cards)
}

// lacksList reports whether a failed request for a list says that there is none.
// A server that is busy or broken does not say so.
func lacksList(err error) bool {
	if refused, ok := errors.AsType[*HTTPError](err); ok {
		switch refused.Status {
		case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusTooEarly:
			return false
		}
		return refused.Status < http.StatusInternalServerError || refused.Status == http.StatusNotImplemented
	}
	return errors.As(err, new(*ContentTypeError))
}

// listed returns the agents of a list of cards.
func (f *Factory) listed(p *peer, location *url.URL, cards []json.RawMessage) ([]*spec.Agent, error) {
	var agents []*spec.Agent
	var refused []error
	seen := make(map[string]bool, len(cards))
	for i, data := range cards {
		id := listedName(data)
		if id != "" && seen[id] {
			return nil, badCard("the list has two agents %q", id)
		}
		seen[id] = true
		agent, err := p.listedAgent(location, id, data)
		if err != nil {
			err = fmt.Errorf("card %d (%q): %w", i, id, err)
			refused = append(refused, err)
			f.logger.Warn("listed agent left out", zap.String("list", location.Redacted()), zap.String("agent", id), zap.Error(err))
			continue
		}
		agents = append(agents, agent)
	}
	if len(agents) == 0 {
		return nil, &CardError{Problem: "the list has no card that can be used", Err: errors.Join(refused[:min(len(refused), maxShownCards)]...)}
	}
	return agents, nil
}

// maxShownCards is how many cards that cannot be used an error names.
const maxShownCards = 5

// listedAgent returns the agent of a card, which is checked like one that a peer
// serves alone.
func (p *peer) listedAgent(location *url.URL, id string, data json.RawMessage) (*spec.Agent, error) {
	if id == "" {
		return nil, badCard("its name gives no id")
	}
	if len(data) > maxCard {
		return nil, badCard("it has more than %d bytes", maxCard)
	}
	var at entry
	if json.Unmarshal(data, &at) == nil && at.CardURL != "" {
		return p.pointedAgent(location, id, &at)
	}
	card, err := parseCard(data)
	if err != nil {
		return nil, err
	}
	if err := checkSignatures(data, card.Signatures, p.options.signatures, &p.options.signatureKeys); err != nil {
		return nil, err
	}
	if _, err := choose(card, &p.options, p.http.trust); err != nil {
		return nil, err
	}
	return p.found(id, card.Description, "card_list", location.String()), nil
}

// pointedAgent returns the agent of an entry that points to its card. The card is
// fetched, and checked, when the agent is called. It must be at an origin that the
// source names: the source's credential goes there.
func (p *peer) pointedAgent(location *url.URL, id string, at *entry) (*spec.Agent, error) {
	u, err := location.Parse(at.CardURL)
	if err != nil || setLocation(new(string), encode(u.String())) != nil {
		return nil, badCard("the URL of its card is none that can be used")
	}
	if !p.http.trust.has(u) {
		return nil, badCard("its card is at %s, which is not the origin of base_url; add it to allow_origins if it is right", shownOrigin(u))
	}
	return p.found(id, at.Description, "card_url", u.String()), nil
}

// found returns an agent that a list has; the option says where its card is.
func (p *peer) found(id, description, option, place string) *spec.Agent {
	e := *p.endpoint
	e.Target = id
	e.Options = maps.Clone(p.endpoint.Options)
	if e.Options == nil {
		e.Options = make(map[string]json.RawMessage, 1)
	}
	delete(e.Options, "card_list")
	e.Options[option] = encode(place)
	return &spec.Agent{ID: id, Description: p.shown(description, maxDescription), Endpoint: &e}
}

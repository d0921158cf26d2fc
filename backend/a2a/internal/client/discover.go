package client

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"path"
	"time"

	"go.uber.org/zap"

	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
)

// MaxDescription is the maximum length of an agent's description from a card, in bytes: models read
// it.
const MaxDescription = 4 << 10

// discoveryTimeout limits how long fetching a peer's card may take.
const discoveryTimeout = 30 * time.Second

// Discover returns the agents of a source, from its list of cards or else its single card.
func Discover(ctx context.Context, e *spec.Endpoint, logger *zap.Logger) ([]*spec.Agent, error) {
	o, list := readOptions(e.Options)
	if list.HasErrors() {
		return nil, list.Err()
	}
	if o.Card.URL == "" {
		agents, err := withPeer(ctx, e, logger, func(ctx context.Context, p *Peer) ([]*spec.Agent, error) { return p.discoverList(ctx) })
		if !errors.Is(err, ErrNoList) || o.Card.List != "" {
			return agents, err
		}
	}
	return withPeer(ctx, e, logger, func(ctx context.Context, p *Peer) ([]*spec.Agent, error) {
		conn, err := p.Connect(ctx)
		if err != nil {
			return nil, err
		}
		agent := &spec.Agent{ID: agentID(conn.Card.Name, e.BaseURL), Description: p.Shown(conn.Card.Description, MaxDescription), Endpoint: e}
		return []*spec.Agent{agent}, nil
	})
}

// Probe fetches and checks the card of an endpoint's peer.
func Probe(ctx context.Context, e *spec.Endpoint, logger *zap.Logger) error {
	_, err := withPeer(ctx, e, logger, func(ctx context.Context, p *Peer) (*Connection, error) { return p.Connect(ctx) })
	return err
}

// withPeer uses a peer once, for a limited time.
func withPeer[T any](ctx context.Context, e *spec.Endpoint, logger *zap.Logger, use func(context.Context, *Peer) (T, error)) (none T, _ error) {
	p, err := New(e, logger)
	if err != nil {
		return none, err
	}
	defer func() { _ = p.Close() }()
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	return use(ctx, p)
}

// agentID returns an agent's id, derived from its name or else from the end of its peer's URL.
func agentID(name, baseURL string) string {
	last := ""
	if u, err := url.Parse(baseURL); err == nil {
		last = path.Base(u.Path)
	}
	return cmp.Or(idSlug(name), idSlug(last), "agent")
}

// discoverList returns the agents of a source that lists their cards. Each is called as its card
// says, within the source's limits. The error is errNoList if the source has no list.
//
// Unusable cards are logged and skipped. A list without usable cards, or with a duplicate name,
// fails.
func (p *Peer) discoverList(ctx context.Context) ([]*spec.Agent, error) {
	location, err := ListLocation(p.Endpoint, &p.Options)
	if err != nil {
		return nil, err
	}
	got, err := p.FetchDocument(ctx, location, "", "the list of agent cards", MaxList)
	if lacksList(err) {
		return nil, ErrNoList
	}
	if err != nil {
		return nil, fmt.Errorf("fetch the list of agent cards: %w", err)
	}
	cards, err := ParseList(got.Card)
	if err != nil {
		return nil, err
	}
	return p.listedAgents(location, cards)
}

// lacksList reports whether a failed request means that the list does not exist, unlike errors of a
// busy or broken server.
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

// listedAgents returns the agents of a list of cards.
func (p *Peer) listedAgents(location *url.URL, cards []json.RawMessage) ([]*spec.Agent, error) {
	var agents []*spec.Agent
	var refused []error
	seen := make(map[string]bool, len(cards))
	for i, data := range cards {
		id := ListedName(data)
		if id != "" && seen[id] {
			return nil, badCard("the list has two agents %q", id)
		}
		seen[id] = true
		agent, err := p.listedAgent(location, id, data)
		if err != nil {
			err = fmt.Errorf("card %d (%q): %w", i, id, err)
			refused = append(refused, err)
			p.logger.Warn("listed agent left out", zap.String("list", redact.URL(location.String())), zap.String("agent", id), zap.Error(err))
			continue
		}
		agents = append(agents, agent)
	}
	if len(agents) == 0 {
		return nil, &CardError{Problem: "the list has no card that can be used", Err: errors.Join(refused[:min(len(refused), maxShownCards)]...)}
	}
	return agents, nil
}

// maxShownCards is the maximum number of unusable cards that an error names.
const maxShownCards = 5

// listedAgent returns the agent of a listed card, which is checked like a single card.
func (p *Peer) listedAgent(location *url.URL, id string, data json.RawMessage) (*spec.Agent, error) {
	if id == "" {
		return nil, badCard("its name gives no id")
	}
	if len(data) > MaxCard {
		return nil, badCard("it has more than %d bytes", MaxCard)
	}
	var at entry
	if json.Unmarshal(data, &at) == nil && at.CardURL != "" {
		return p.pointedAgent(location, id, &at)
	}
	card, err := ParseCard(data)
	if err != nil {
		return nil, err
	}
	if err := p.CheckSignatures(data, card); err != nil {
		return nil, err
	}
	if _, err := p.Choose(card); err != nil {
		return nil, err
	}
	return p.newListedAgent(id, card.Description, "card_list", location.String()), nil
}

// pointedAgent returns the agent of an entry that points to its card. The card is fetched and
// checked when the agent is called. It must be at an origin named by the source, because it
// receives the source's credential.
func (p *Peer) pointedAgent(location *url.URL, id string, at *entry) (*spec.Agent, error) {
	u, err := location.Parse(at.CardURL)
	if err != nil || setLocation(new(string), quoteJSON(u.String())) != nil {
		return nil, badCard("the URL of its card is invalid")
	}
	if !p.http.trust.has(u) {
		return nil, badCard("its card is at %s, which is not the origin of base_url; add it to allow_origins if it is right", ShownOrigin(u))
	}
	return p.newListedAgent(id, at.Description, "card_url", u.String()), nil
}

// newListedAgent returns an agent of a list; option is set to the location of its card.
func (p *Peer) newListedAgent(id, description, option, place string) *spec.Agent {
	e := *p.Endpoint
	e.Target = id
	e.Options = maps.Clone(p.Endpoint.Options)
	if e.Options == nil {
		e.Options = make(map[string]json.RawMessage, 1)
	}
	delete(e.Options, "card_list")
	e.Options[option] = quoteJSON(place)
	return &spec.Agent{ID: id, Description: p.Shown(description, MaxDescription), Endpoint: &e}
}

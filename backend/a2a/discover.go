package a2abackend

import (
	"cmp"
	"context"
	"errors"
	"net/url"
	"path"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/spec"
)

// maxDescription is how much of the description of a card an agent has, in
// bytes: models read it.
const maxDescription = 4 << 10

// discoveryTimeout is how long asking a peer for its card may take.
const discoveryTimeout = 30 * time.Second

// Discover returns the agents of a source: those of its list of cards, if it has
// one, or else that of its one card. Ids are made of the names of the cards, and
// the agents are reached as the source says, not where a card would have it. It
// ends with ctx, which is given a limit when it has none.
func (f *Factory) Discover(ctx context.Context, source *spec.RemoteSource) ([]*spec.Agent, error) {
	e := source.Endpoint()
	if list := f.Validate(e); list.HasErrors() {
		return nil, list.Err()
	}
	o, list := readOptions(e.Options)
	if list.HasErrors() {
		return nil, list.Err()
	}
	if o.cardURL == "" {
		agents, err := f.discoverList(ctx, e, &o)
		if !errors.Is(err, errNoList) || o.cardList != "" {
			return agents, err
		}
	}
	var agent *spec.Agent
	err := f.meet(ctx, e, func(p *peer, conn *connection) {
		agent = &spec.Agent{ID: agentID(conn.card.Name, e.BaseURL), Description: p.shown(conn.card.Description, maxDescription), Endpoint: e}
	})
	if err != nil {
		return nil, err
	}
	return []*spec.Agent{agent}, nil
}

// Probe fetches and checks the card of an endpoint's peer.
func (f *Factory) Probe(ctx context.Context, e *spec.Endpoint) error {
	return f.meet(ctx, e, func(*peer, *connection) {})
}

// meet fetches the card of a peer that is not met again.
func (f *Factory) meet(ctx context.Context, e *spec.Endpoint, use func(*peer, *connection)) error {
	p, err := newPeer(e, f.logger)
	if err != nil {
		return err
	}
	defer func() { _ = p.close() }()
	ctx, cancel := context.WithTimeout(ctx, discoveryTimeout)
	defer cancel()
	conn, err := p.connect(ctx)
	if err != nil {
		return err
	}
	use(p, conn)
	return nil
}

// agentID returns the id of an agent: what its name gives, or else the end of its
// peer's URL.
func agentID(name, baseURL string) string {
	last := ""
	if u, err := url.Parse(baseURL); err == nil {
		last = path.Base(u.Path)
	}
	return cmp.Or(slug(name), slug(last), "agent")
}

// slug returns the id that a text gives, which may be empty: its letters and digits in lower case,
// and one hyphen for whatever stands between them.
func slug(name string) string {
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
		if id.Len() >= maxName {
			break
		}
	}
	return id.String()
}

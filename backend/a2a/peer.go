package a2abackend

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2aclient"
	"go.uber.org/zap"

	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/credential"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/spec"
)

// peer is an agent that runs elsewhere, as one endpoint describes it. It is
// safe for concurrent use.
type peer struct {
	endpoint *spec.Endpoint
	options  options
	logger   *zap.Logger

	base *http.Transport
	http *transport
	grpc *grpcConnections
	// cardURL is where the card is, or the list that has it.
	cardURL *url.URL
	cards   cardCache
	// slots has a place for each turn that may run at the peer at once.
	slots chan struct{}
}

// connection is how a peer is spoken to, as its card says. It is never changed:
// a card that changed gives a new one.
type connection struct {
	client *a2aclient.Client
	card   *a2a.AgentCard
	// iface is the interface that was chosen.
	iface *a2a.AgentInterface
	// streaming tells that the peer streams and that the configuration wants it
	// to.
	streaming bool
	// extension tells that the peer knows the delegation extension.
	extension bool
}

// newPeer returns the peer of an endpoint that Validate found right. It reaches
// nothing.
func newPeer(e *spec.Endpoint, logger *zap.Logger) (*peer, error) {
	o, list := readOptions(e.Options)
	if list.HasErrors() {
		return nil, list.Err()
	}
	if keyOutsideHeader(e.Auth) {
		o.transports = slices.DeleteFunc(o.transports, func(t a2a.TransportProtocol) bool { return t == a2a.TransportProtocolGRPC })
	}
	guard, err := newGuard(e, &o)
	if err != nil {
		return nil, err
	}
	location, err := cardLocation(e, &o)
	if err != nil {
		return nil, err
	}
	base := netguard.Transport(guard)
	p := &peer{
		endpoint: e, options: o, logger: logger, base: base, cardURL: location,
		slots: make(chan struct{}, o.concurrency),
	}
	p.http = &transport{
		base: base, auth: newCredential(e.Auth, base), trust: trust(e, &o), secrets: secrets(e.Auth),
		limits: limits{idle: o.idleTimeout, event: int64(o.maxEventBytes), answer: int64(o.maxEventBytes) + int64(o.maxOutputBytes)},
	}
	p.grpc = newGRPCConnections(guard, p.http)
	p.cards = cardCache{fetch: p.fetchCard, open: p.open, ttl: o.cardTTL}
	return p, nil
}

// newCredential returns what requests to a peer carry. What it asks goes through
// base.
func newCredential(a *spec.Auth, base http.RoundTripper) credential.Credential {
	switch {
	case a == nil:
		return credential.None()
	case a.Type == spec.AuthBearer:
		return credential.Bearer(a.Token)
	case a.Type == spec.AuthAPIKey:
		place, name := credential.Place(a.In), a.Name
		if place == "" {
			place = credential.Header
		}
		if name == "" {
			name = spec.DefaultKeyName
		}
		return credential.APIKey(place, name, a.Key)
	}
	return credential.ClientCredentials(credential.Client{ID: a.ClientID, Secret: a.ClientSecret, TokenURL: a.TokenURL, Scopes: a.Scopes}, base)
}

// wellKnown is where cards are, below the URL of their agents.
const wellKnown = "/.well-known/agent-card.json"

// cardLocation returns where the card of an endpoint is.
func cardLocation(e *spec.Endpoint, o *options) (*url.URL, error) {
	base, err := url.Parse(e.BaseURL)
	if err != nil {
		return nil, errors.New("base_url does not parse as a URL")
	}
	if o.cardList != "" {
		return listLocation(e, o)
	}
	if o.cardURL == "" {
		if e.Target != "" {
			base = base.JoinPath(url.PathEscape(e.Target))
		}
		return base.JoinPath(wellKnown), nil
	}
	return base.Parse(o.cardURL)
}

// connect returns how the peer is spoken to, for one call or a few: the card it
// comes from is fetched when there is none that is still valid.
func (p *peer) connect(ctx context.Context) (*connection, error) { return p.cards.get(ctx) }

// refuse is told of the error of a call. One that suggests that the card is not
// true any more has it fetched anew by the next connect.
func (p *peer) refuse(err error) {
	if errors.Is(err, a2a.ErrVersionNotSupported) || errors.Is(err, a2a.ErrMethodNotFound) {
		p.cards.refuse()
		return
	}
	if refused, ok := errors.AsType[*HTTPError](err); ok && refused.Err == nil {
		switch refused.Status {
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusMisdirectedRequest,
			http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
			p.cards.refuse()
		}
	}
}

// enter waits until one more turn may run at the peer, and returns what ends
// it. The error is the end of ctx.
func (p *peer) enter(ctx context.Context) (leave func(), err error) {
	select {
	case p.slots <- struct{}{}:
		return func() { <-p.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// close closes the connections that are not in use.
func (p *peer) close() error {
	p.base.CloseIdleConnections()
	return p.grpc.close()
}

// shown returns what the peer says as it may be shown and logged: cleaned, cut to
// limit bytes, and without the endpoint's secrets.
func (p *peer) shown(text string, limit int) string {
	return cleanText(redact(text, p.http.secrets), limit)
}

// fetchCard asks the peer for its card, or for the list that has it.
func (p *peer) fetchCard(ctx context.Context, tag string) (*fetched, error) {
	if p.options.cardList == "" {
		return p.fetchDocument(ctx, p.cardURL, tag, "the agent card", maxCard)
	}
	got, err := p.fetchDocument(ctx, p.cardURL, tag, "the list of agent cards", maxList)
	if err != nil || got.card == nil {
		return got, err
	}
	got.card, err = findListed(got.card, p.endpoint.Target)
	return got, err
}

// fetchDocument asks for a document of at most limit bytes, unless it still is
// the one with the tag.
func (p *peer) fetchDocument(ctx context.Context, from *url.URL, tag, what string, limit int64) (*fetched, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return nil, err
	}
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	resp, err := p.http.send(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	got := &fetched{tag: resp.Header.Get("ETag"), maxAge: maxAge(resp.Header)}
	if resp.StatusCode == http.StatusNotModified && tag != "" {
		return got, nil
	}
	if resp.StatusCode != http.StatusOK {
		return nil, p.http.httpError(resp)
	}
	if kind := mediaType(resp); !isJSON(kind) && kind != "" && kind != typePlain && kind != "application/octet-stream" {
		return nil, &ContentTypeError{ContentType: cleanText(resp.Header.Get("Content-Type"), maxShown)}
	}
	got.card, err = readAll(resp.Body, what, limit)
	return got, err
}

// open checks a card, and what of it cannot be told from its look: the
// signatures. Then it makes the client that speaks to the peer as the card says.
func (p *peer) open(ctx context.Context, data []byte) (*connection, error) {
	card, err := parseCard(data)
	if err != nil {
		return nil, err
	}
	if err := checkSignatures(data, card.Signatures, p.options.signatures, &p.options.signatureKeys); err != nil {
		return nil, err
	}
	to, err := choose(card, &p.options, p.http.trust)
	if err != nil {
		return nil, err
	}
	// The SDK sees the chosen interface alone: it must not choose again.
	card.SupportedInterfaces = []*a2a.AgentInterface{to.iface}
	extension := a2awire.Declared(card)
	client, err := newSDKClient(ctx, p, card, to, extension)
	if err != nil {
		return nil, &CardError{Problem: "the peer cannot be spoken to", Err: err}
	}
	p.logger.Info("a2a peer connected", zap.String("card", p.cardURL.Redacted()), zap.String("name", cleanText(card.Name, maxName)),
		zap.String("url", cleanText(to.iface.URL, maxShown)), zap.String("transport", string(to.iface.ProtocolBinding)),
		zap.String("version", cleanText(string(to.declared), maxName)), zap.Bool("downgraded", to.iface.ProtocolVersion != version1))
	return &connection{
		client: client, card: card, iface: to.iface,
		streaming: card.Capabilities.Streaming && p.options.stream, extension: extension,
	}, nil
}

// secrets returns what of a credential must not be shown.
func secrets(a *spec.Auth) []string {
	if a == nil {
		return nil
	}
	return a.Secrets()
}

// redact returns a text without secrets.
func redact(text string, secrets []string) string {
	for _, secret := range secrets {
		text = strings.ReplaceAll(text, secret, "***")
	}
	return text
}

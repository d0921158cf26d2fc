package client

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/internal/credential"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/internal/redact"
	"github.com/agentruntime/agentruntime/spec"
)

// Peer is a remote agent, as described by one endpoint. It is safe for concurrent use.
type Peer struct {
	Endpoint *spec.Endpoint
	Options  Options
	logger   *zap.Logger

	http *transport
	grpc *grpcConnections
	// CardURL is the location of the card, or of the list with it.
	CardURL *url.URL
	cards   cardCache
	// slots has one slot for each turn that may run at the peer concurrently.
	slots chan struct{}
}

// New returns the peer of a validated endpoint without connecting to it.
func New(e *spec.Endpoint, logger *zap.Logger) (*Peer, error) {
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
	secrets := querySecrets(location)
	if e.Auth != nil {
		secrets = append(secrets, e.Auth.Secrets()...)
	}
	base := netguard.Transport(guard)
	p := &Peer{Endpoint: e, Options: o, logger: logger, CardURL: location, http: &transport{
		base: base, auth: newCredential(e.Auth, base), trust: trustedOrigins(e, &o), secrets: secrets,
		limits: limits{idle: o.idleTimeout, event: int64(o.maxEventBytes), answer: int64(o.maxEventBytes) + int64(o.MaxOutputBytes)},
	}}
	p.prepare(guard)
	return p, nil
}

// prepare sets the fields that follow from the others.
func (p *Peer) prepare(guard *netguard.Guard) {
	p.slots = make(chan struct{}, p.Options.concurrency)
	p.grpc = &grpcConnections{guard: guard, http: p.http, open: map[string]*grpc.ClientConn{}}
	p.cards = cardCache{fetch: p.fetchCard, open: p.openCard, ttl: p.Options.Card.ttl}
}

// newCredential returns the credential for requests to a peer. Its token requests go through
// base.
func newCredential(a *spec.Auth, base http.RoundTripper) credential.Credential {
	switch {
	case a == nil:
		return credential.None()
	case a.Type == spec.AuthBearer:
		return credential.Bearer(a.Token)
	case a.Type == spec.AuthAPIKey:
		return credential.APIKey(cmp.Or(credential.Place(a.In), credential.Header), cmp.Or(a.Name, spec.DefaultKeyName), a.Key)
	}
	return credential.ClientCredentials(credential.Client{ID: a.ClientID, Secret: a.ClientSecret, TokenURL: a.TokenURL, Scopes: a.Scopes}, base)
}

// WellKnown is the path of agent cards, below the agents' URL.
const WellKnown = "/.well-known/agent-card.json"

// cardLocation returns the location of an endpoint's card.
func cardLocation(e *spec.Endpoint, o *Options) (*url.URL, error) {
	base, err := url.Parse(e.BaseURL)
	if err != nil {
		return nil, errors.New("base_url does not parse as a URL")
	}
	if o.Card.List != "" {
		return ListLocation(e, o)
	}
	if o.Card.URL == "" {
		if e.Target != "" {
			base = base.JoinPath(url.PathEscape(e.Target))
		}
		return base.JoinPath(WellKnown), nil
	}
	return base.Parse(o.Card.URL)
}

// Connect returns the connection to the peer, for one call or a few. The card is
// fetched unless a valid one is cached.
func (p *Peer) Connect(ctx context.Context) (*Connection, error) { return p.cards.get(ctx) }

// NoteError records the error of a call. If it suggests that the card is outdated,
// the next Connect fetches it again.
func (p *Peer) NoteError(err error) {
	if errors.Is(err, a2a.ErrVersionNotSupported) || errors.Is(err, a2a.ErrMethodNotFound) {
		p.cards.invalidateCard()
		return
	}
	if refused, ok := errors.AsType[*HTTPError](err); ok && refused.Err == nil {
		switch refused.Status {
		case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusGone, http.StatusMisdirectedRequest,
			http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
			p.cards.invalidateCard()
		}
	}
}

// Enter waits until another turn may run at the peer, and returns a function that ends it. The
// error is ctx's cause.
func (p *Peer) Enter(ctx context.Context) (leave func(), err error) {
	select {
	case p.slots <- struct{}{}:
		return func() { <-p.slots }, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Target names the agent at the peer.
func (p *Peer) Target() string {
	if p.Endpoint.Target == "" {
		return p.Endpoint.BaseURL
	}
	return p.Endpoint.BaseURL + " " + p.Endpoint.Target
}

// Close closes idle connections.
func (p *Peer) Close() error {
	(&http.Client{Transport: p.http.base}).CloseIdleConnections()
	return p.grpc.close()
}

// CloseUnused closes a peer's connections once nothing refers to the peer.
func CloseUnused(p *Peer) {
	runtime.AddCleanup(p, func(g *grpcConnections) { _ = g.close() }, p.grpc)
}

// Shown returns a peer's text for display and logs: cleaned, cut to limit bytes, and without the
// endpoint's secrets.
func (p *Peer) Shown(text string, limit int) string {
	return CleanText(redactSecrets(text, p.http.secrets), limit)
}

// Trusts reports whether a URL's origin is configured.
func (p *Peer) Trusts(u *url.URL) bool { return p.http.trust.has(u) }

// Send sends a request to the peer and returns any response. The caller must close its body.
func (p *Peer) Send(req *http.Request) (*http.Response, error) { return p.http.sendRequest(req) }

// Authorize sends a header instead of the credential, and hides its values. Call it before the
// first request.
func (p *Peer) Authorize(header http.Header) {
	h := fixedHeader(header)
	p.http.auth = h
	p.http.secrets = append(p.http.secrets, h.headerSecrets()...)
}

// SetIdleTimeout limits how long the peer may be silent. Call it before the first request.
func (p *Peer) SetIdleTimeout(d time.Duration) { p.http.limits.idle = d }

// GRPCConnection returns the gRPC connection to a URL's host.
func (p *Peer) GRPCConnection(to *url.URL) (*grpc.ClientConn, error) { return p.grpc.connectionTo(to) }

// Choose returns the interface of a card to use for the peer.
func (p *Peer) Choose(card *a2a.AgentCard) (*Chosen, error) {
	return chooseInterface(card, &p.Options, p.http.trust)
}

// CheckAnyVersion checks an interface of a card and permits version 0.3 whatever the configuration
// says. The error begins with a verb.
func (p *Peer) CheckAnyVersion(iface *a2a.AgentInterface) (*Chosen, error) {
	tolerant := p.Options
	tolerant.allowV03 = true
	return checkInterface(iface, &tolerant, p.http.trust)
}

// CheckSignatures checks a card's signatures as configured.
func (p *Peer) CheckSignatures(data []byte, card *a2a.AgentCard) error {
	return checkSignatures(data, card.Signatures, p.Options.Card.Signatures, &p.Options.Card.Keys)
}

// fetchCard fetches the peer's card, or the list that contains it.
func (p *Peer) fetchCard(ctx context.Context, tag string) (*fetched, error) {
	if p.Options.Card.List == "" {
		return p.FetchDocument(ctx, p.CardURL, tag, "the agent card", MaxCard)
	}
	got, err := p.FetchDocument(ctx, p.CardURL, tag, "the list of agent cards", MaxList)
	if err != nil || got.Card == nil {
		return got, err
	}
	got.Card, err = findListed(got.Card, p.Endpoint.Target)
	return got, err
}

// FetchDocument fetches a document of at most limit bytes, unless it still has the tag.
func (p *Peer) FetchDocument(ctx context.Context, from *url.URL, tag, what string, limit int64) (*fetched, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, from.String(), nil)
	if err != nil {
		return nil, err
	}
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	resp, err := p.http.sendRequest(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	got := &fetched{Tag: resp.Header.Get("ETag"), maxAge: MaxAge(resp.Header)}
	if resp.StatusCode == http.StatusNotModified && tag != "" {
		return got, nil
	}
	if resp.StatusCode != http.StatusOK {
		return nil, hiddenError(resp, p.http.secrets)
	}
	if kind := MediaType(resp); !IsJSON(kind) && kind != "" && kind != TypePlain && kind != "application/octet-stream" {
		return nil, &ContentTypeError{ContentType: CleanText(resp.Header.Get("Content-Type"), MaxShown)}
	}
	got.Card, err = ReadAll(resp.Body, what, limit)
	return got, err
}

// openCard checks a card and its signatures. It then creates the client for the peer as the card
// says.
func (p *Peer) openCard(ctx context.Context, data []byte) (*Connection, error) {
	card, err := ParseCard(data)
	if err != nil {
		return nil, err
	}
	if err := p.CheckSignatures(data, card); err != nil {
		return nil, err
	}
	to, err := p.Choose(card)
	if err != nil {
		return nil, err
	}
	// The SDK gets only the chosen interface: it must not choose again.
	card.SupportedInterfaces = []*a2a.AgentInterface{to.Iface}
	extension := a2awire.Declared(card)
	client, err := newSDKClient(ctx, p.http, p.grpc, card, to, extension)
	if err != nil {
		return nil, &CardError{Problem: "the peer cannot be spoken to", Err: err}
	}
	p.logger.Info("a2a peer connected", zap.String("card", redact.URL(p.CardURL.String())), zap.String("name", CleanText(card.Name, MaxName)),
		zap.String("url", CleanText(to.Iface.URL, MaxShown)), zap.String("transport", string(to.Iface.ProtocolBinding)),
		zap.String("version", CleanText(string(to.Declared), MaxName)), zap.Bool("downgraded", to.Iface.ProtocolVersion != Version1))
	return &Connection{
		Client: client, Card: card, Iface: to.Iface,
		Streaming: card.Capabilities.Streaming && p.Options.Stream, Extension: extension,
	}, nil
}

// Pace returns the spacing of attempts at a peer.
func (p *Peer) Pace() *Pace { return &Pace{p.Options.Poll.Next, p.Options.Poll.Most} }

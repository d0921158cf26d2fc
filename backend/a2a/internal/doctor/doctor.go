package doctor

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/zap"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
	"github.com/agentruntime/agentruntime/spec"
)

// examinationTimeout is how long a peer may take to answer one request of an
// examination.
const examinationTimeout = 10 * time.Second

// Examine looks at the peer of an endpoint: its card, and how each of its
// interfaces answers calls about tasks that there are not.
func Examine(ctx context.Context, e *spec.Endpoint, header map[string][]string) (*backend.Examination, error) {
	if list := append(e.Validate(), client.Validate(e)...); list.HasErrors() {
		return nil, list.Err()
	}
	p, err := client.New(e, zap.NewNop())
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.Close() }()
	p.SetIdleTimeout(examinationTimeout)
	if len(header) > 0 {
		p.Authorize(header)
	}
	x := &examiner{peer: p, cardURL: p.CardURL, credential: len(header) > 0 || e.Auth != nil, found: &backend.Examination{Peer: e.BaseURL}}
	x.all(ctx)
	return x.found, ctx.Err()
}

// all makes all checks, as far as the peer lets it come.
func (x *examiner) all(ctx context.Context) {
	x.address()
	if x.list(ctx, func(one *examiner, card []byte) { one.card(ctx, card) }) {
		return
	}
	got := x.fetch(ctx)
	if got == nil {
		return
	}
	x.caching(ctx, got)
	x.card(ctx, got.body)
}

// card looks at a card, and at the peer that it describes.
func (x *examiner) card(ctx context.Context, data []byte) {
	card := x.shape(data)
	if card == nil {
		return
	}
	if x.agent == "" {
		x.found.Name = client.CleanText(card.Name, client.MaxName)
	}
	x.fields(card)
	x.signatures(card, data)
	interfaces := x.interfaces(card)
	x.choice(card)
	for _, i := range interfaces {
		x.calls(ctx, card, i)
	}
}

// address looks at how the peer is reached.
func (x *examiner) address() {
	base, err := url.Parse(x.peer.Endpoint.BaseURL)
	switch {
	case err != nil: // Validate has parsed it
	case base.Scheme == "https":
		x.ok("address", "https")
	case client.NamesMachine(base.Hostname()):
		x.ok("address", "http, to an address that is written as one")
	default:
		x.warn("address", "https", "http: whoever stands in between can read the requests and their credentials")
	}
}

// fetch looks at where the card is and how it is served. It returns nil when
// there is none.
func (x *examiner) fetch(ctx context.Context) *seen {
	const name = "card location"
	want := "an agent card at " + x.cardURL.String()
	got, err := x.get(ctx, x.cardURL, "")
	if large, ok := errors.AsType[*client.TooLargeError](err); ok {
		x.fail("card size", fmt.Sprintf("at most %d bytes", large.Limit), "more than %d bytes", large.Limit)
		return nil
	}
	switch {
	case err != nil:
		x.fail(name, "a peer that answers", "%v", err)
		return nil
	case got.status == http.StatusUnauthorized || got.status == http.StatusForbidden:
		x.fail(name, "a card that may be seen by whoever asks, or a credential (--header)", "status %d; WWW-Authenticate: %q", got.status, got.header.Get("WWW-Authenticate"))
		return nil
	case got.status/100 == 3:
		x.fail(name, want+"; redirects are not followed", "status %d, a redirect to %q", got.status, got.header.Get("Location"))
		return nil
	case got.status != http.StatusOK:
		return x.elsewhere(ctx, got.status)
	}
	x.ok(name, "%s", x.cardURL)
	x.contentType(got)
	return got
}

// elsewhere looks for the card at the places where peers have it by mistake.
func (x *examiner) elsewhere(ctx context.Context, status int) *seen {
	want := "an agent card at " + x.cardURL.String()
	for _, place := range []string{client.WellKnown, "/.well-known/agent.json"} {
		other, err := x.cardURL.Parse(place)
		if err != nil || other.String() == x.cardURL.String() {
			continue
		}
		got, err := x.get(ctx, other, "")
		if err == nil && got.status == http.StatusOK && client.IsJSON(got.kind) {
			x.fail("card location", want+", or the option card_url", "status %d; there is a card at %s", status, other)
			x.contentType(got)
			x.cardURL = other
			return got
		}
	}
	x.fail("card location", want, "status %d", status)
	return nil
}

// contentType looks at the type of the card's content.
func (x *examiner) contentType(got *seen) {
	switch {
	case client.IsJSON(got.kind):
		x.ok("card content type", "%s", got.kind)
	case got.kind == "" || got.kind == client.TypePlain || got.kind == "application/octet-stream":
		x.warn("card content type", client.TypeJSON, "%q", got.kind)
	default:
		x.fail("card content type", client.TypeJSON, "%q", got.kind)
	}
}

// caching looks at whether the card can be kept, and asked for only when it has
// changed.
func (x *examiner) caching(ctx context.Context, got *seen) {
	const name, want = "card caching", "an ETag, an answer of 304 to If-None-Match, and Cache-Control: max-age"
	tag, age := got.header.Get("ETag"), client.MaxAge(got.header)
	if tag == "" {
		x.warn(name, want, "no ETag, Cache-Control: %q", got.header.Get("Cache-Control"))
		return
	}
	again, err := x.get(ctx, x.cardURL, tag)
	switch {
	case err != nil:
		x.warn(name, want, "asked again with its ETag: %v", err)
	case again.status != http.StatusNotModified:
		x.warn(name, want, "asked again with its ETag: status %d", again.status)
	case age < 0:
		x.warn(name, want, "an ETag, but no max-age")
	default:
		x.ok(name, "an ETag, and valid for %s", age)
	}
}

// choice looks at what the runtime would do with the card.
func (x *examiner) choice(card *a2a.AgentCard) {
	to, err := x.peer.Choose(card)
	if err != nil {
		x.fail("choice", "an interface of version 1 by JSONRPC, HTTP+JSON or GRPC, at the origin of the card", "%s", problem(err))
		return
	}
	x.ok("choice", "the runtime speaks %s of version %s at %s", to.Iface.ProtocolBinding, to.Declared, to.Iface.URL)
}

// problem returns what is wrong with a card, without what was said of its
// interfaces.
func problem(err error) string {
	if bad, ok := errors.AsType[*client.CardError](err); ok {
		return bad.Problem
	}
	return err.Error()
}

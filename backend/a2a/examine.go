package a2abackend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"go.uber.org/zap"

	"github.com/agentruntime/agentruntime/backend"
	"github.com/agentruntime/agentruntime/spec"
)

// examinationTimeout is how long a peer may take to answer one request of an
// examination.
const examinationTimeout = 10 * time.Second

// Examine looks at the peer of an endpoint: its card, and how each of its
// interfaces answers calls about tasks that there are not.
func (f *Factory) Examine(ctx context.Context, e *spec.Endpoint, header http.Header) (*backend.Examination, error) {
	if list := append(e.Validate(), f.Validate(e)...); list.HasErrors() {
		return nil, list.Err()
	}
	p, err := newPeer(e, zap.NewNop())
	if err != nil {
		return nil, err
	}
	defer func() { _ = p.close() }()
	p.http.limits.idle = examinationTimeout
	if len(header) > 0 {
		p.http.auth = fixedHeader(header)
		p.http.secrets = append(p.http.secrets, fixedHeader(header).secrets()...)
	}
	x := &examiner{peer: p, credential: len(header) > 0 || e.Auth != nil, found: &backend.Examination{Peer: e.BaseURL}}
	x.all(ctx)
	return x.found, ctx.Err()
}

// examiner looks at one peer.
type examiner struct {
	peer *peer
	// credential tells that requests show who asks.
	credential bool
	// agent is the one that is looked at, of a list; empty for a card of its own.
	agent string
	found *backend.Examination
}

// all makes all checks, as far as the peer lets it come.
func (x *examiner) all(ctx context.Context) {
	x.address()
	if x.list(ctx) {
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
		x.found.Name = cleanText(card.Name, maxName)
	}
	x.fields(card)
	x.signatures(card, data)
	interfaces := x.interfaces(card)
	x.choice(card)
	for _, i := range interfaces {
		x.calls(ctx, card, i)
	}
}

func (x *examiner) ok(name, format string, args ...any) {
	x.add(name, backend.OutcomeOK, "", format, args...)
}

func (x *examiner) warn(name, want, format string, args ...any) {
	x.add(name, backend.OutcomeWarning, want, format, args...)
}

func (x *examiner) fail(name, want, format string, args ...any) {
	x.add(name, backend.OutcomeError, want, format, args...)
}

func (x *examiner) add(name string, o backend.Outcome, want, format string, args ...any) {
	if x.agent != "" {
		name = x.agent + ": " + name
	}
	x.found.Checks = append(x.found.Checks, backend.Check{
		Name: name, Outcome: o, Seen: x.peer.shown(fmt.Sprintf(format, args...), maxShown), Want: want,
	})
}

// address looks at how the peer is reached.
func (x *examiner) address() {
	base, err := url.Parse(x.peer.endpoint.BaseURL)
	switch {
	case err != nil: // Validate has parsed it
	case base.Scheme == "https":
		x.ok("address", "https")
	case meant(base.Hostname()):
		x.ok("address", "http, to an address that is written as one")
	default:
		x.warn("address", "https", "http: whoever stands in between can read the requests and their credentials")
	}
}

// seen is what a peer answered.
type seen struct {
	status int
	header http.Header
	// kind is the type of the content.
	kind string
	body []byte
	// err is the error of the protocol that the body holds, and message its text.
	err     error
	message string
}

// do makes a request, and returns the answer with the first maxCard bytes of its
// body, or of a stream its first event.
func (x *examiner) do(req *http.Request) (*seen, error) {
	resp, err := x.peer.http.send(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	got := &seen{status: resp.StatusCode, header: resp.Header, kind: mediaType(resp)}
	if got.kind == typeEvents {
		got.body, err = firstEvent(resp.Body)
	} else {
		got.body, err = readAll(resp.Body, "the answer", maxCard)
	}
	got.message, got.err = decodeError(got.body)
	return got, err
}

// fetch looks at where the card is and how it is served. It returns nil when
// there is none.
func (x *examiner) fetch(ctx context.Context) *seen {
	const name = "card location"
	want := "an agent card at " + x.peer.cardURL.String()
	got, err := x.get(ctx, x.peer.cardURL, "")
	if large, ok := errors.AsType[*TooLargeError](err); ok {
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
	x.ok(name, "%s", x.peer.cardURL)
	x.contentType(got)
	return got
}

// elsewhere looks for the card at the places where peers have it by mistake.
func (x *examiner) elsewhere(ctx context.Context, status int) *seen {
	want := "an agent card at " + x.peer.cardURL.String()
	for _, place := range []string{wellKnown, "/.well-known/agent.json"} {
		other, err := x.peer.cardURL.Parse(place)
		if err != nil || other.String() == x.peer.cardURL.String() {
			continue
		}
		got, err := x.get(ctx, other, "")
		if err == nil && got.status == http.StatusOK && isJSON(got.kind) {
			x.fail("card location", want+", or the option card_url", "status %d; there is a card at %s", status, other)
			x.contentType(got)
			x.peer.cardURL = other
			return got
		}
	}
	x.fail("card location", want, "status %d", status)
	return nil
}

func (x *examiner) get(ctx context.Context, u *url.URL, tag string) (*seen, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, err
	}
	if tag != "" {
		req.Header.Set("If-None-Match", tag)
	}
	return x.do(req)
}

// contentType looks at the type of the card's content.
func (x *examiner) contentType(got *seen) {
	switch {
	case isJSON(got.kind):
		x.ok("card content type", "%s", got.kind)
	case got.kind == "" || got.kind == typePlain || got.kind == "application/octet-stream":
		x.warn("card content type", typeJSON, "%q", got.kind)
	default:
		x.fail("card content type", typeJSON, "%q", got.kind)
	}
}

// caching looks at whether the card can be kept, and asked for only when it has
// changed.
func (x *examiner) caching(ctx context.Context, got *seen) {
	const name, want = "card caching", "an ETag, an answer of 304 to If-None-Match, and Cache-Control: max-age"
	tag, age := got.header.Get("ETag"), maxAge(got.header)
	if tag == "" {
		x.warn(name, want, "no ETag, Cache-Control: %q", got.header.Get("Cache-Control"))
		return
	}
	again, err := x.get(ctx, x.peer.cardURL, tag)
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
	to, err := choose(card, &x.peer.options, x.peer.http.trust)
	if err != nil {
		x.fail("choice", "an interface of version 1 by JSONRPC, HTTP+JSON or GRPC, at the origin of the card", "%s", problem(err))
		return
	}
	x.ok("choice", "the runtime speaks %s of version %s at %s", to.iface.ProtocolBinding, to.declared, to.iface.URL)
}

// problem returns what is wrong with a card, without what was said of its
// interfaces.
func problem(err error) string {
	if bad, ok := errors.AsType[*CardError](err); ok {
		return bad.Problem
	}
	return err.Error()
}

// fixedHeader is a credential that the caller made.
type fixedHeader http.Header

// shortestSecret is the length, in bytes, from which on the value of a header is
// hidden. Shorter ones would be found in any text.
const shortestSecret = 6

// secrets returns what of the header must not be shown: a peer may repeat it.
func (h fixedHeader) secrets() []string {
	var found []string
	for _, values := range h {
		for _, value := range values {
			// A peer may repeat it without the scheme ahead of it: "Bearer …".
			for _, secret := range []string{value, value[strings.LastIndexByte(value, ' ')+1:]} {
				if len(secret) >= shortestSecret {
					found = append(found, secret)
				}
			}
		}
	}
	return found
}

// Set puts the header on a request.
func (h fixedHeader) Set(req *http.Request) (string, error) {
	for name, values := range h {
		req.Header[http.CanonicalHeaderKey(name)] = values
	}
	return "", nil
}

// Renew has nothing new.
func (fixedHeader) Renew(context.Context, string) bool { return false }

package a2abackend

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/go-jose/go-jose/v4"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/netguard"
	"github.com/agentruntime/agentruntime/spec"
)

// options are the settings of an endpoint, with their defaults.
type options struct {
	// pollInterval and maxPollInterval are how long to wait between two looks at
	// a task: the first time, and at most.
	pollInterval, maxPollInterval time.Duration
	// historyLength is how many messages of a task's history to ask for; nil
	// leaves it to the peer.
	historyLength *int
	// stream has events streamed where the peer can.
	stream bool
	// transports are those that may be used, the preferred one first.
	transports []a2a.TransportProtocol
	// allowV03 permits peers that speak version 0.3 alone.
	allowV03 bool

	// cardURL is where the card is, an URL or a path; empty for the usual place.
	cardURL string
	// cardList is where the list of cards is that has the endpoint's, an URL or a
	// path; empty when the card stands alone.
	cardList string
	// cardTTL is how long a card is taken for true.
	cardTTL       time.Duration
	signatures    signatureMode
	signatureKeys jose.JSONWebKeySet

	// allowPrivate are the hosts with private addresses that may be reached, and
	// allowOrigins the origins, besides that of the base URL, that interfaces may
	// have and credentials go to.
	allowPrivate, allowOrigins []string
	// anyOrigin lets interfaces have other origins, too, to which no credentials
	// go. No configuration can say so.
	anyOrigin bool

	// idleTimeout is how long the peer may send nothing.
	idleTimeout time.Duration
	// maxEventBytes and maxOutputBytes bound an event, and what a turn comes to.
	maxEventBytes, maxOutputBytes int
	// concurrency is how many turns may run at the peer at once.
	concurrency int
}

// The bounds of options.
const (
	minPollInterval = 100 * time.Millisecond
	maxInterval     = time.Hour
	maxCardTTL      = 24 * time.Hour
	maxHistory      = 10_000
	minBytes        = 1 << 10
	// maxEvent is what the SDK reads of an event at most.
	maxEvent       = 10 << 20
	maxOutput      = 256 << 20
	maxConcurrency = 100_000
)

func defaultOptions() options {
	return options{
		pollInterval: 2 * time.Second, maxPollInterval: 30 * time.Second, stream: true,
		transports: []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON, a2a.TransportProtocolGRPC},
		cardTTL:    5 * time.Minute, signatures: signaturesOff,
		idleTimeout: time.Minute, maxEventBytes: maxEvent, maxOutputBytes: 16 << 20, concurrency: 64,
	}
}

// setting reads one option.
type setting func(o *options, raw json.RawMessage) error

// settings are all options that there are, by name.
var settings = map[string]setting{
	"poll_interval":     durationOf(func(o *options) *time.Duration { return &o.pollInterval }, minPollInterval, maxInterval),
	"max_poll_interval": durationOf(func(o *options) *time.Duration { return &o.maxPollInterval }, minPollInterval, maxInterval),
	"history_length": func(o *options, raw json.RawMessage) error {
		o.historyLength = new(int)
		return number(raw, o.historyLength, 0, maxHistory)
	},
	"stream":           boolean(func(o *options) *bool { return &o.stream }),
	"transports":       setTransports,
	"allow_v0_3":       boolean(func(o *options) *bool { return &o.allowV03 }),
	"card_url":         location(func(o *options) *string { return &o.cardURL }),
	"card_list":        location(func(o *options) *string { return &o.cardList }),
	"card_ttl":         durationOf(func(o *options) *time.Duration { return &o.cardTTL }, minCardAge, maxCardTTL),
	"signatures":       setSignatures,
	"signature_keys":   setSignatureKeys,
	"allow_private":    setAllowPrivate,
	"allow_origins":    setAllowOrigins,
	"idle_timeout":     durationOf(func(o *options) *time.Duration { return &o.idleTimeout }, time.Second, maxInterval),
	"max_event_bytes":  integer(func(o *options) *int { return &o.maxEventBytes }, minBytes, maxEvent),
	"max_output_bytes": integer(func(o *options) *int { return &o.maxOutputBytes }, minBytes, maxOutput),
	"concurrency":      integer(func(o *options) *int { return &o.concurrency }, 1, maxConcurrency),
}

// readOptions returns the options of an endpoint, and what is wrong with them.
// Paths are relative to the endpoint.
func readOptions(raw map[string]json.RawMessage) (options, diag.List) {
	o := defaultOptions()
	var list diag.List
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		path := diag.Key("options", name)
		set, known := settings[name]
		if !known {
			list = append(list, unknownOption(path, name))
			continue
		}
		if string(bytes.TrimSpace(raw[name])) == "null" {
			continue // as if it were absent
		}
		if err := set(&o, raw[name]); err != nil {
			list = append(list, diag.New(diag.InvalidValue, path, "%s %v", name, err))
		}
	}
	if list != nil {
		return o, list
	}
	return o, o.check()
}

// check checks what one option says about another.
func (o *options) check() diag.List {
	var list diag.List
	if o.maxPollInterval < o.pollInterval {
		list = append(list, diag.New(diag.InvalidValue, "options.max_poll_interval",
			"max_poll_interval is %s; it must not be less than the poll_interval of %s", o.maxPollInterval, o.pollInterval))
	}
	if o.cardURL != "" && o.cardList != "" {
		list = append(list, diag.New(diag.InvalidValue, "options.card_list", "card_list and card_url are both set; a card is in one place"))
	}
	if o.signatures != signaturesOff && len(o.signatureKeys.Keys) == 0 {
		list = append(list, diag.New(diag.MissingField, "options.signature_keys", "signature_keys is missing; signatures are %s", o.signatures))
	}
	return list
}

func unknownOption(path, name string) diag.Diagnostic {
	names := slices.Sorted(maps.Keys(settings))
	return diag.New(diag.UnknownField, path, "backend %s has no option %q", Kind, clip.Text(name)).AtKey().
		WithHint("known: %s", strings.Join(names, ", ")).WithNearest(name, names)
}

func boolean(field func(*options) *bool) setting {
	return func(o *options, raw json.RawMessage) error {
		if json.Unmarshal(raw, field(o)) != nil {
			return errors.New("is neither true nor false")
		}
		return nil
	}
}

func integer(field func(*options) *int, least, most int) setting {
	return func(o *options, raw json.RawMessage) error { return number(raw, field(o), least, most) }
}

func number(raw json.RawMessage, to *int, least, most int) error {
	if json.Unmarshal(raw, to) != nil {
		return errors.New("is no whole number")
	}
	if *to < least || *to > most {
		return fmt.Errorf("is %d; allowed are %d to %d", *to, least, most)
	}
	return nil
}

func durationOf(field func(*options) *time.Duration, least, most time.Duration) setting {
	return func(o *options, raw json.RawMessage) error {
		var d spec.Duration
		if json.Unmarshal(raw, &d) != nil {
			return errors.New("is no duration such as 10s or 1m30s")
		}
		if d.Std() < least || d.Std() > most {
			return fmt.Errorf("is %s; allowed are %s to %s", d, least, most)
		}
		*field(o) = d.Std()
		return nil
	}
}

func texts(raw json.RawMessage, to *[]string) error {
	if json.Unmarshal(raw, to) != nil {
		return errors.New("is no list of texts")
	}
	return nil
}

// bindings are the transports, by the names that the option has for them.
var bindings = map[string]a2a.TransportProtocol{
	"jsonrpc": a2a.TransportProtocolJSONRPC, "rest": a2a.TransportProtocolHTTPJSON, "grpc": a2a.TransportProtocolGRPC,
}

func setTransports(o *options, raw json.RawMessage) error {
	var names []string
	if err := texts(raw, &names); err != nil {
		return err
	}
	if len(names) == 0 {
		return errors.New("is empty; without a transport no peer can be reached")
	}
	o.transports = nil
	for _, name := range names {
		binding, ok := bindings[name]
		if !ok {
			return fmt.Errorf("has %q; allowed are jsonrpc, rest, grpc", clip.Text(name))
		}
		o.transports = append(o.transports, binding)
	}
	return nil
}

// location reads where a document is: a URL, or a path that begins with /.
func location(field func(*options) *string) setting {
	return func(o *options, raw json.RawMessage) error { return setLocation(field(o), raw) }
}

func setLocation(to *string, raw json.RawMessage) error {
	if json.Unmarshal(raw, to) != nil || *to == "" {
		return errors.New("is no URL and no path")
	}
	u, err := url.Parse(*to)
	switch {
	case err != nil:
		return errors.New("does not parse as a URL")
	case u.User != nil:
		return errors.New("must not contain a user or password")
	case u.Fragment != "":
		return errors.New("must not have a fragment")
	case !u.IsAbs() && !strings.HasPrefix(*to, "/"), strings.HasPrefix(*to, "//"):
		return errors.New("is neither a URL nor a path that begins with /")
	case u.IsAbs() && (u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == ""):
		return errors.New("must start with http:// or https:// and name a host")
	}
	return nil
}

func setAllowPrivate(o *options, raw json.RawMessage) error {
	if err := texts(raw, &o.allowPrivate); err != nil {
		return err
	}
	if _, err := netguard.New(o.allowPrivate...); err != nil {
		return fmt.Errorf("is not right: %w", err)
	}
	return nil
}

func setAllowOrigins(o *options, raw json.RawMessage) error {
	if err := texts(raw, &o.allowOrigins); err != nil {
		return err
	}
	for _, text := range o.allowOrigins {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
			return fmt.Errorf("has %q, which is no origin such as https://agents.example:8443", clip.Text(text))
		}
	}
	return nil
}

func setSignatures(o *options, raw json.RawMessage) error {
	var mode signatureMode
	if json.Unmarshal(raw, &mode) != nil || !slices.Contains([]signatureMode{signaturesOff, signaturesIfPresent, signaturesRequired}, mode) {
		return fmt.Errorf("is %s; allowed are %s, %s, %s", clip.Text(string(raw)), signaturesOff, signaturesIfPresent, signaturesRequired)
	}
	o.signatures = mode
	return nil
}

// setSignatureKeys reads a JWK set, or a text that holds one, as a reference to
// a file gives it. What is wrong with a key is not repeated.
func setSignatureKeys(o *options, raw json.RawMessage) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	if json.Unmarshal(raw, &o.signatureKeys) != nil || len(o.signatureKeys.Keys) == 0 {
		return errors.New("is no JWK set: an object whose field keys is a list of keys")
	}
	for i, key := range o.signatureKeys.Keys {
		if !key.IsPublic() || !key.Valid() {
			return fmt.Errorf("has no valid public key at position %d", i)
		}
	}
	return nil
}

package client

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
	"github.com/agentruntime/agentruntime/internal/hostlist"
	"github.com/agentruntime/agentruntime/spec"
)

// Options are the settings of an endpoint, with their defaults.
type Options struct {
	// Poll spaces the polls of a task.
	Poll Pace
	// HistoryLength is the number of history messages to request for a task; nil leaves it to the
	// peer.
	HistoryLength *int
	// Stream requests streaming from peers that support it.
	Stream bool
	// transports are the allowed transports in order of preference.
	transports []a2a.TransportProtocol
	// allowV03 permits peers that speak only version 0.3.
	allowV03 bool

	Card cardOptions

	// allowPrivate are the reachable hosts with private addresses. allowOrigins are the origins,
	// besides the base URL's, that interfaces may have and that receive credentials.
	allowPrivate, allowOrigins []string
	// anyOrigin also allows interfaces of other origins, which get no credentials.
	// It cannot be configured.
	anyOrigin bool

	// idleTimeout is how long the peer may be silent.
	idleTimeout time.Duration
	// maxEventBytes limits an event, and MaxOutputBytes a turn's output.
	maxEventBytes, MaxOutputBytes int
	// concurrency is the number of turns that may run at the peer concurrently.
	concurrency int
}

// cardOptions configures where an endpoint's card is and when it is trusted.
type cardOptions struct {
	// URL is the card's location, a URL or a path; empty means the usual path.
	URL string
	// List is the location of the list with the endpoint's card, a URL or path; empty means a
	// separate card.
	List string
	// ttl is how long a card stays valid.
	ttl        time.Duration
	Signatures signatureMode
	Keys       jose.JSONWebKeySet
}

// The bounds of options.
const (
	minPollInterval = 100 * time.Millisecond
	maxInterval     = time.Hour
	maxCardTTL      = 24 * time.Hour
	maxHistory      = 10_000
	minBytes        = 1 << 10
	// maxEvent is the SDK's limit for an event.
	maxEvent       = 10 << 20
	maxOutput      = 256 << 20
	maxConcurrency = 100_000
)

func defaultOptions() Options {
	return Options{
		Poll: Pace{2 * time.Second, 30 * time.Second}, Stream: true,
		transports:  []a2a.TransportProtocol{a2a.TransportProtocolJSONRPC, a2a.TransportProtocolHTTPJSON, a2a.TransportProtocolGRPC},
		Card:        cardOptions{ttl: 5 * time.Minute, Signatures: SignaturesOff},
		idleTimeout: time.Minute, maxEventBytes: maxEvent, MaxOutputBytes: 16 << 20, concurrency: 64,
	}
}

// setting reads one option.
type setting func(o *Options, raw json.RawMessage) error

// settings are all known options, by name.
var settings = map[string]setting{
	"poll_interval":     durationOf(func(o *Options) *time.Duration { return &o.Poll.Next }, minPollInterval, maxInterval),
	"max_poll_interval": durationOf(func(o *Options) *time.Duration { return &o.Poll.Most }, minPollInterval, maxInterval),
	"history_length": func(o *Options, raw json.RawMessage) error {
		o.HistoryLength = new(int)
		return decodeInt(raw, o.HistoryLength, 0, maxHistory)
	},
	"stream":           boolSetting(func(o *Options) *bool { return &o.Stream }),
	"transports":       setTransports,
	"allow_v0_3":       boolSetting(func(o *Options) *bool { return &o.allowV03 }),
	"card_url":         locationSetting(func(o *Options) *string { return &o.Card.URL }),
	"card_list":        locationSetting(func(o *Options) *string { return &o.Card.List }),
	"card_ttl":         durationOf(func(o *Options) *time.Duration { return &o.Card.ttl }, minCardAge, maxCardTTL),
	"signatures":       setSignatures,
	"signature_keys":   setSignatureKeys,
	"allow_private":    setAllowPrivate,
	"allow_origins":    setAllowOrigins,
	"idle_timeout":     durationOf(func(o *Options) *time.Duration { return &o.idleTimeout }, time.Second, maxInterval),
	"max_event_bytes":  intSetting(func(o *Options) *int { return &o.maxEventBytes }, minBytes, maxEvent),
	"max_output_bytes": intSetting(func(o *Options) *int { return &o.MaxOutputBytes }, minBytes, maxOutput),
	"concurrency":      intSetting(func(o *Options) *int { return &o.concurrency }, 1, maxConcurrency),
}

// readOptions returns the options of an endpoint and their problems. Paths are relative to the
// endpoint.
func readOptions(raw map[string]json.RawMessage) (Options, diag.List) {
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
	return o, o.checkConflicts()
}

// Validate checks the target and options of an endpoint.
func Validate(e *spec.Endpoint) diag.List {
	o, list := readOptions(e.Options)
	if e.Target == "." || e.Target == ".." {
		list = append(list, diag.New(diag.InvalidEndpoint, "target", "target %q is not a valid agent name", e.Target))
	}
	if keyOutsideHeader(e.Auth) && !slices.ContainsFunc(o.transports, func(t a2a.TransportProtocol) bool { return t != a2a.TransportProtocolGRPC }) {
		list = append(list, diag.New(diag.InvalidEndpoint, "auth.in", "a key in a %s cannot be sent over gRPC", e.Auth.In))
	}
	return list
}

// checkConflicts checks for options that conflict with each other.
func (o *Options) checkConflicts() diag.List {
	var list diag.List
	if o.Poll.Most < o.Poll.Next {
		list = append(list, diag.New(diag.InvalidValue, "options.max_poll_interval",
			"max_poll_interval is %s; it must not be less than the poll_interval of %s", o.Poll.Most, o.Poll.Next))
	}
	if o.Card.URL != "" && o.Card.List != "" {
		list = append(list, diag.New(diag.InvalidValue, "options.card_list", "card_list and card_url are both set; a card is in one place"))
	}
	if o.Card.Signatures != SignaturesOff && len(o.Card.Keys.Keys) == 0 {
		list = append(list, diag.New(diag.MissingField, "options.signature_keys", "signature_keys is required when signatures are %s", o.Card.Signatures))
	}
	return list
}

func unknownOption(path, name string) diag.Diagnostic {
	names := slices.Sorted(maps.Keys(settings))
	return diag.New(diag.UnknownField, path, "backend a2a has no option %q", clip.Text(name)).AtKey().
		WithHint("known: %s", strings.Join(names, ", ")).WithNearest(name, names)
}

func boolSetting(field func(*Options) *bool) setting {
	return func(o *Options, raw json.RawMessage) error {
		if json.Unmarshal(raw, field(o)) != nil {
			return errors.New("is neither true nor false")
		}
		return nil
	}
}

func intSetting(field func(*Options) *int, least, most int) setting {
	return func(o *Options, raw json.RawMessage) error { return decodeInt(raw, field(o), least, most) }
}

func decodeInt(raw json.RawMessage, to *int, least, most int) error {
	if json.Unmarshal(raw, to) != nil {
		return errors.New("is not a whole number")
	}
	if *to < least || *to > most {
		return fmt.Errorf("is %d; allowed are %d to %d", *to, least, most)
	}
	return nil
}

func durationOf(field func(*Options) *time.Duration, least, most time.Duration) setting {
	return func(o *Options, raw json.RawMessage) error {
		var d spec.Duration
		if json.Unmarshal(raw, &d) != nil {
			return errors.New("is not a duration such as 10s or 1m30s")
		}
		if d.Std() < least || d.Std() > most {
			return fmt.Errorf("is %s; allowed are %s to %s", d, least, most)
		}
		*field(o) = d.Std()
		return nil
	}
}

func decodeTexts(raw json.RawMessage, to *[]string) error {
	if json.Unmarshal(raw, to) != nil {
		return errors.New("is not a list of texts")
	}
	return nil
}

// bindings are the transports by their option values.
var bindings = map[string]a2a.TransportProtocol{
	"jsonrpc": a2a.TransportProtocolJSONRPC, "rest": a2a.TransportProtocolHTTPJSON, "grpc": a2a.TransportProtocolGRPC,
}

func setTransports(o *Options, raw json.RawMessage) error {
	var names []string
	if err := decodeTexts(raw, &names); err != nil {
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

// locationSetting reads a document's location: a URL, or a path that begins with /.
func locationSetting(field func(*Options) *string) setting {
	return func(o *Options, raw json.RawMessage) error { return setLocation(field(o), raw) }
}

func setLocation(to *string, raw json.RawMessage) error {
	if json.Unmarshal(raw, to) != nil || *to == "" {
		return errors.New("is neither a URL nor a path")
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

func setAllowPrivate(o *Options, raw json.RawMessage) error {
	if err := decodeTexts(raw, &o.allowPrivate); err != nil {
		return err
	}
	if _, err := hostlist.Parse(o.allowPrivate...); err != nil {
		return fmt.Errorf("is not right: %w", err)
	}
	return nil
}

func setAllowOrigins(o *Options, raw json.RawMessage) error {
	if err := decodeTexts(raw, &o.allowOrigins); err != nil {
		return err
	}
	for _, text := range o.allowOrigins {
		u, err := url.Parse(text)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.Fragment != "" || strings.Trim(u.Path, "/") != "" {
			return fmt.Errorf("has %q, which is not an origin such as https://agents.example:8443", clip.Text(text))
		}
	}
	return nil
}

func setSignatures(o *Options, raw json.RawMessage) error {
	var mode signatureMode
	if json.Unmarshal(raw, &mode) != nil || !slices.Contains([]signatureMode{SignaturesOff, signaturesIfPresent, signaturesRequired}, mode) {
		return fmt.Errorf("is %s; allowed are %s, %s, %s", clip.Text(string(raw)), SignaturesOff, signaturesIfPresent, signaturesRequired)
	}
	o.Card.Signatures = mode
	return nil
}

// setSignatureKeys reads a JWK set, or a text with one, as from a file reference. Errors do not
// repeat the keys.
func setSignatureKeys(o *Options, raw json.RawMessage) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		raw = json.RawMessage(text)
	}
	if json.Unmarshal(raw, &o.Card.Keys) != nil || len(o.Card.Keys.Keys) == 0 {
		return errors.New("is not a JWK set: an object with a list of keys in the field keys")
	}
	for i, key := range o.Card.Keys.Keys {
		if !key.IsPublic() || !key.Valid() {
			return fmt.Errorf("has no valid public key at position %d", i)
		}
	}
	return nil
}

// keyOutsideHeader reports whether a credential is a key outside of a header, which gRPC cannot
// send.
func keyOutsideHeader(a *spec.Auth) bool {
	return a != nil && a.Type == spec.AuthAPIKey && a.In != "" && a.In != spec.InHeader
}

package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"

	"github.com/agentruntime/agentruntime/internal/a2awire"
)

// CardError reports an agent card that cannot be used.
type CardError struct {
	Problem string
	Err     error
}

// Error describes the problem.
func (e *CardError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("the agent card cannot be used: %s: %v", e.Problem, e.Err)
	}
	return "the agent card cannot be used: " + e.Problem
}

// Unwrap returns the cause; nil if the card itself is the cause.
func (e *CardError) Unwrap() error { return e.Err }

func badCard(format string, args ...any) error {
	return &CardError{Problem: CleanText(fmt.Sprintf(format, args...), MaxShown)}
}

// ParseCard reads an agent card of version 1 or 0.3. The decoder's errors quote the
// peer's text, and are cut.
func ParseCard(data []byte) (*a2a.AgentCard, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return nil, badCard("not a JSON object")
	}
	if !isSet(fields["supportedInterfaces"]) && (isSet(fields["url"]) || isSet(fields["additionalInterfaces"])) {
		return parseOldCard(data, fields)
	}
	card, err := parseFields(fields)
	if err != nil { // in fields that the runtime ignores, errors must not make a card unusable
		for _, name := range []string{"securitySchemes", "securityRequirements", "skills", "provider"} {
			delete(fields, name)
		}
		if card, err = parseFields(fields); err != nil {
			return nil, badCard("%v", err)
		}
	}
	return card, nil
}

// ParseStrictly parses a version 1 card and fails on the first field it cannot read.
func ParseStrictly(data []byte) (*a2a.AgentCard, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	return parseFields(fields)
}

// parseFields reads the fields of a card of version 1.
func parseFields(fields map[string]json.RawMessage) (*a2a.AgentCard, error) {
	if err := listScopes(fields); err != nil {
		return nil, err
	}
	plain, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	card := new(a2a.AgentCard)
	return card, json.Unmarshal(plain, card)
}

// isSet reports whether a field has a value other than null.
func isSet(raw json.RawMessage) bool {
	return len(raw) > 0 && !bytes.Equal(bytes.TrimSpace(raw), []byte("null"))
}

// parseOldCard reads a card of version 0.3, which has one URL and optional further interfaces. An
// unnamed transport is JSON-RPC.
func parseOldCard(data []byte, fields map[string]json.RawMessage) (*a2a.AgentCard, error) {
	if !isSet(fields["preferredTransport"]) {
		fields["preferredTransport"] = json.RawMessage(strconv.Quote(string(a2a.TransportProtocolJSONRPC)))
		whole, err := json.Marshal(fields)
		if err != nil {
			return nil, badCard("%v", err)
		}
		data = whole
	}
	card, err := a2av0.NewAgentCardParser()(data)
	if err != nil {
		return nil, badCard("%v", err)
	}
	return card, nil
}

// The protocol versions that the runtime speaks.
const (
	Version1  = a2a.Version
	Version03 = a2av0.Version
)

// Chosen is the interface of a card to use for a peer.
type Chosen struct {
	// Iface is the interface, with the SDK's spelling of its binding and version.
	Iface *a2a.AgentInterface
	// Declared is the interface's version in the card.
	Declared a2a.ProtocolVersion
	URL      *url.URL
}

// chooseInterface checks a card and returns the interface to use: by newest version, then by an
// origin that receives credentials, then by the configured order of transports, then by the order
// of the card.
func chooseInterface(card *a2a.AgentCard, o *Options, trust trusted) (*Chosen, error) {
	if strings.TrimSpace(card.Name) == "" {
		return nil, badCard("it has no name")
	}
	if len(card.SupportedInterfaces) == 0 {
		return nil, badCard("it has no interface")
	}
	for _, x := range card.Capabilities.Extensions {
		if x.Required && x.URI != a2awire.Extension {
			return nil, badCard("the peer requires the extension %q, which this runtime does not know", x.URI)
		}
	}
	var usable []*Chosen
	var refused []error
	for i, iface := range card.SupportedInterfaces {
		c, err := checkInterface(iface, o, trust)
		if err != nil {
			refused = append(refused, fmt.Errorf("interface %d %w", i, err))
			continue
		}
		usable = append(usable, c)
	}
	if len(usable) == 0 {
		return nil, &CardError{Problem: "no interface of it can be used", Err: errors.Join(refused...)}
	}
	return slices.MinFunc(usable, func(a, b *Chosen) int {
		if a.Iface.ProtocolVersion != b.Iface.ProtocolVersion {
			return strings.Compare(string(b.Iface.ProtocolVersion), string(a.Iface.ProtocolVersion))
		}
		if known := trust.has(a.URL); known != trust.has(b.URL) {
			return map[bool]int{true: -1, false: 1}[known]
		}
		return slices.Index(o.transports, a.Iface.ProtocolBinding) - slices.Index(o.transports, b.Iface.ProtocolBinding)
	}), nil
}

// checkInterface checks an interface of a card and returns it in usable form. The error begins with
// a verb.
func checkInterface(iface *a2a.AgentInterface, o *Options, trust trusted) (*Chosen, error) {
	if iface == nil {
		return nil, errors.New("is null")
	}
	binding, ok := bindingOf(iface.ProtocolBinding)
	if !ok || !slices.Contains(o.transports, binding) {
		return nil, fmt.Errorf("has the transport %q, which is not among those that may be used", CleanText(string(iface.ProtocolBinding), MaxName))
	}
	version, err := versionOf(iface.ProtocolVersion, o)
	if err != nil {
		return nil, err
	}
	if binding == a2a.TransportProtocolGRPC && version != Version1 {
		return nil, errors.New("is gRPC of version 0.3, which this runtime does not speak")
	}
	u, err := interfaceURL(iface.URL, binding)
	if err != nil {
		return nil, err
	}
	if !o.anyOrigin && !trust.has(u) {
		return nil, fmt.Errorf("is at %s, which is not the origin of base_url; add it to allow_origins if it is right", CleanText(ShownOrigin(u), MaxShown))
	}
	usable := *iface
	usable.ProtocolBinding, usable.ProtocolVersion = binding, version
	return &Chosen{Iface: &usable, Declared: iface.ProtocolVersion, URL: u}, nil
}

// bindingOf returns the SDK's name of a transport. Cards may use any case.
func bindingOf(name a2a.TransportProtocol) (a2a.TransportProtocol, bool) {
	for _, known := range bindings {
		if strings.EqualFold(string(known), strings.TrimSpace(string(name))) {
			return known, true
		}
	}
	return "", false
}

// versionOf returns the supported version that a card's version means. Minor versions of 1 are
// compatible; earlier ones are not.
func versionOf(declared a2a.ProtocolVersion, o *Options) (a2a.ProtocolVersion, error) {
	text := strings.TrimPrefix(strings.TrimSpace(string(declared)), "v")
	major, rest, _ := strings.Cut(text, ".")
	minor, _, _ := strings.Cut(rest, ".")
	switch {
	case text == "":
		return "", errors.New("names no version of the protocol")
	case major == "1":
		return Version1, nil
	case major == "0" && minor == "3" && o.allowV03:
		return Version03, nil
	case major == "0" && minor == "3":
		return "", errors.New("speaks version 0.3 of the protocol, which allow_v0_3 permits")
	}
	return "", fmt.Errorf("speaks version %q of the protocol, which this runtime does not", CleanText(string(declared), MaxName))
}

// interfaceURL parses the URL of an interface. For gRPC it may be host:port, which uses TLS
// unless it names this machine.
func interfaceURL(raw string, binding a2a.TransportProtocol) (*url.URL, error) {
	if binding == a2a.TransportProtocolGRPC && !strings.Contains(raw, "://") {
		host, _, _ := strings.Cut(raw, "/")
		u := &url.URL{Scheme: "https", Host: host}
		if NamesMachine(u.Hostname()) {
			u.Scheme = "http"
		}
		raw = u.String()
	}
	u, err := url.Parse(raw)
	switch {
	case raw == "":
		return nil, errors.New("has no URL")
	case err != nil:
		return nil, errors.New("has a URL that does not parse")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("has a URL of scheme %q, not http or https", CleanText(u.Scheme, MaxName))
	case u.Hostname() == "":
		return nil, errors.New("has a URL without a host")
	case u.User != nil:
		return nil, errors.New("has a URL with a user or password")
	case u.Fragment != "":
		return nil, errors.New("has a URL with a fragment")
	case binding == a2a.TransportProtocolGRPC && u.Scheme == "http" && !NamesMachine(u.Hostname()):
		return nil, errors.New("is gRPC without TLS")
	}
	return u, nil
}

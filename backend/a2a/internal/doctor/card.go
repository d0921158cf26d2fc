package doctor

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/go-jose/go-jose/v4"

	"github.com/agentruntime/agentruntime/backend/a2a/internal/client"
)

// checkShape checks that the card is JSON of the right form. It returns nil if the card cannot be
// read.
func (x *examiner) checkShape(data []byte) *a2a.AgentCard {
	const name = "card JSON"
	card, err := client.ParseCard(data)
	if err != nil {
		x.addFailure(name, "an object of the form that the protocol has for agent cards", "%v", err)
		return nil
	}
	if _, strict := client.ParseStrictly(data); strict != nil && len(card.SupportedInterfaces) > 0 && card.SupportedInterfaces[0] != nil && !strings.HasPrefix(string(card.SupportedInterfaces[0].ProtocolVersion), "0.") {
		x.addWarning(name, "every part of the form that the protocol has for it", "a part cannot be read: %v", strict)
	} else {
		x.addPass(name, "%d bytes", len(data))
	}
	var value any
	if json.Unmarshal(data, &value) != nil {
		return card
	}
	if nulls := nullEntries(value, ""); len(nulls) > 0 {
		x.addWarning("card null entries", "lists without null", "null in %s", strings.Join(nulls, ", "))
	}
	if bare := bareScopes(data); len(bare) > 0 {
		x.addWarning("card security", `scopes as an object: {"list": []}`, "the scopes of %s in securityRequirements are an array, which not all clients read", strings.Join(bare, ", "))
	}
	return card
}

// bareScopes returns the names of schemes whose scopes are an array in a card of version 1. The
// Go SDK writes an empty array, which all SDKs read; only the Go SDK reads one with scopes.
func bareScopes(data []byte) []string {
	var card struct {
		Requirements []struct {
			Schemes map[string]json.RawMessage `json:"schemes"`
		} `json:"securityRequirements"`
	}
	if json.Unmarshal(data, &card) != nil {
		return nil
	}
	var names []string
	for _, r := range card.Requirements {
		for name, scopes := range r.Schemes {
			var list []string
			if json.Unmarshal(scopes, &list) == nil && len(list) > 0 {
				names = append(names, client.CleanText(name, client.MaxShown))
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// maxNulls is the maximum number of reported places of a fault.
const maxNulls = 5

// nullEntries returns the lists of a JSON value that contain null.
func nullEntries(value any, path string) []string {
	var found []string
	switch v := value.(type) {
	case []any:
		if slices.Contains(v, nil) {
			found = append(found, path)
		}
		for i, e := range v {
			found = append(found, nullEntries(e, fmt.Sprintf("%s[%d]", path, i))...)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			found = append(found, nullEntries(v[name], strings.TrimPrefix(path+"."+name, "."))...)
		}
	}
	return found[:min(len(found), maxNulls)]
}

// checkFields checks the required fields of a card.
func (x *examiner) checkFields(card *a2a.AgentCard) {
	const name = "card fields"
	var missing []string
	for _, f := range []struct {
		name  string
		empty bool
	}{
		{"description", card.Description == ""}, {"version", card.Version == ""},
		{"defaultInputModes", len(card.DefaultInputModes) == 0}, {"defaultOutputModes", len(card.DefaultOutputModes) == 0},
		{"skills", len(card.Skills) == 0},
	} {
		if f.empty {
			missing = append(missing, f.name)
		}
	}
	switch {
	case strings.TrimSpace(card.Name) == "":
		x.addFailure(name, "a name", "the card has no name")
	case len(missing) > 0:
		x.addWarning(name, "all fields that the protocol requires", "missing: %s", strings.Join(missing, ", "))
	default:
		x.addPass(name, "all that are required")
	}
}

// checkSignatures checks how the card is signed, and whether by a known key if the endpoint names
// any.
func (x *examiner) checkSignatures(card *a2a.AgentCard, data []byte) {
	const name = "signature"
	if err := x.peer.CheckSignatures(data, card); err != nil {
		x.addFailure(name, "a signature of a known key over the canonical form of the card", "%v", err)
		return
	}
	switch {
	case len(card.Signatures) == 0:
		x.addPass(name, "the card is not signed")
		return
	case x.peer.Options.Card.Signatures != client.SignaturesOff:
		x.addPass(name, "the card is signed by a known key")
		return
	}
	for i, s := range card.Signatures[:min(len(card.Signatures), client.MaxSignatures)] {
		var header struct {
			Alg string `json:"alg"`
			Kid string `json:"kid"`
		}
		raw, err := base64.RawURLEncoding.DecodeString(s.Protected)
		if err != nil || json.Unmarshal(raw, &header) != nil {
			x.addFailure(name, "a protected header that is base64url of a JSON object", "the protected header of signature %d cannot be read", i)
			continue
		}
		if !slices.Contains(client.SignatureAlgorithms, jose.SignatureAlgorithm(header.Alg)) {
			x.addWarning(name, "ES256, EdDSA or RS256", "signature %d is of algorithm %q", i, header.Alg)
			continue
		}
		x.addPass(name, "signature %d: %s, key %q; not verified without a key", i, header.Alg, header.Kid)
	}
}

// checkInterfaces checks each interface and returns those that can be called.
func (x *examiner) checkInterfaces(card *a2a.AgentCard) []*called {
	if len(card.SupportedInterfaces) == 0 {
		x.addFailure("interfaces", "at least one entry in supportedInterfaces", "the card has none")
	}
	// An unusable interface is skipped if there is another.
	report := x.addFailure
	if slices.ContainsFunc(card.SupportedInterfaces, func(iface *a2a.AgentInterface) bool {
		_, err := x.peer.CheckAnyVersion(iface)
		return err == nil
	}) {
		report = x.addWarning
	}
	var usable []*called
	for i, iface := range card.SupportedInterfaces {
		name := fmt.Sprintf("interface %d", i)
		to, err := x.peer.CheckAnyVersion(iface)
		if err != nil {
			report(name, x.wantOf(iface), "it %v", err)
			continue
		}
		usable = append(usable, &called{Chosen: to, name: name})
		x.checkAdvertised(name, iface, to)
	}
	return usable
}

// wantOf describes how to fix an unusable interface.
func (x *examiner) wantOf(iface *a2a.AgentInterface) string {
	base, err := url.Parse(x.peer.Endpoint.BaseURL)
	if iface == nil || err != nil {
		return "an object with url, protocolBinding and protocolVersion"
	}
	u, err := url.Parse(iface.URL)
	if err == nil && u.Host != "" && !x.peer.Trusts(u) {
		if client.NamesMachine(u.Hostname()) && !client.NamesMachine(base.Hostname()) {
			return "the public URL of the peer; it names itself as its own machine sees it"
		}
		return "a URL at " + client.ShownOrigin(base)
	}
	return "a URL at " + client.ShownOrigin(base) + ", one of JSONRPC, HTTP+JSON, GRPC, and version 1.0"
}

// checkAdvertised reports possible improvements of a usable interface.
func (x *examiner) checkAdvertised(name string, iface *a2a.AgentInterface, to *client.Chosen) {
	switch {
	case iface.ProtocolBinding != to.Iface.ProtocolBinding:
		x.addWarning(name, string(to.Iface.ProtocolBinding), "the transport is written %q", iface.ProtocolBinding)
	case to.Iface.ProtocolVersion != client.Version1:
		x.addWarning(name, "version 1.0; the option allow_v0_3 permits the older one", "%s of version %s", iface.ProtocolBinding, iface.ProtocolVersion)
	case to.URL.Scheme == "http" && !client.NamesMachine(to.URL.Hostname()):
		x.addWarning(name, "https", "%s", iface.URL)
	default:
		x.addPass(name, "%s of version %s at %s", iface.ProtocolBinding, iface.ProtocolVersion, iface.URL)
	}
}

package a2a

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/a2aproject/a2a-go/v2/a2acompat/a2av0"
	"github.com/a2aproject/a2a-go/v2/a2asrv"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/registry"
	"github.com/agentruntime/agentruntime/spec"
	"go.uber.org/zap"
)

// inputModes and outputModes are the media types that agents accept and return.
var (
	inputModes  = []string{"text/plain", "application/json", "image/*", "application/pdf"}
	outputModes = []string{"text/plain"}
	jsonModes   = []string{"application/json", "text/plain"}
)

// publicCard returns the public card of an agent.
func (s *Server) publicCard(id string, a *spec.Agent) *a2a.AgentCard {
	modes := outputModes
	if a.OutputSchema != nil {
		modes = jsonModes
	}
	card := &a2a.AgentCard{
		Name: id, Description: a.DisplayDescription(), Version: versionOf(a),
		SupportedInterfaces: s.cardInterfaces(id),
		Capabilities: a2a.AgentCapabilities{
			Streaming: true, PushNotifications: s.handler.sender != nil, ExtendedAgentCard: true,
			Extensions: []a2a.AgentExtension{a2awire.Declaration()},
		},
		DefaultInputModes: inputModes, DefaultOutputModes: modes,
		Skills: []a2a.AgentSkill{{ID: id, Name: id, Description: a.DisplayDescription(), Tags: []string{"agent"}}},
	}
	if a.A2A != nil {
		card.DocumentationURL = a.A2A.DocumentationURL
		if len(a.A2A.Skills) > 0 {
			card.Skills = skillsOf(a.A2A.Skills)
		}
	}
	if s.settings.Organization != "" {
		card.Provider = &a2a.AgentProvider{Org: s.settings.Organization, URL: s.settings.OrganizationURL}
	}
	s.addSecurity(card)
	return card
}

// skillsOf returns the skills declared in an agent's configuration.
func skillsOf(declared []spec.AgentSkill) []a2a.AgentSkill {
	skills := make([]a2a.AgentSkill, len(declared))
	for i, d := range declared {
		skills[i] = a2a.AgentSkill{ID: d.ID, Name: cmp.Or(d.Name, d.ID), Description: d.Description, Tags: d.Tags, Examples: d.Examples}
	}
	return skills
}

// versionOf returns a version for an agent's declaration. It changes with the declaration and
// reveals nothing about it.
func versionOf(a *spec.Agent) string {
	data, err := json.Marshal(a)
	if err != nil {
		return "0"
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:6])
}

// cardInterfaces returns the interfaces of an agent, the preferred one first.
func (s *Server) cardInterfaces(agent string) []*a2a.AgentInterface {
	at := s.agentURL(agent)
	list := []*a2a.AgentInterface{
		{URL: at, ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: v10},
		{URL: at, ProtocolBinding: a2a.TransportProtocolHTTPJSON, ProtocolVersion: v10},
	}
	if s.settings.GRPC != "" {
		list = append(list, &a2a.AgentInterface{URL: s.grpcURL(), ProtocolBinding: a2a.TransportProtocolGRPC, ProtocolVersion: v10, Tenant: agent})
	}
	if s.settings.V03 {
		list = append(list,
			&a2a.AgentInterface{URL: at + "/v0.3", ProtocolBinding: a2a.TransportProtocolJSONRPC, ProtocolVersion: v03},
			&a2a.AgentInterface{URL: at + "/v0.3", ProtocolBinding: a2a.TransportProtocolHTTPJSON, ProtocolVersion: v03})
		if s.settings.GRPC != "" && agent == s.defaultAgent() { // that version names no agent
			list = append(list, &a2a.AgentInterface{URL: s.grpcURL(), ProtocolBinding: a2a.TransportProtocolGRPC, ProtocolVersion: v03})
		}
	}
	return list
}

// grpcURL is the address of the gRPC transport in the cards.
func (s *Server) grpcURL() string {
	if s.settings.GRPCURL != "" {
		return s.settings.GRPCURL
	}
	_, port, err := net.SplitHostPort(s.settings.GRPC)
	u, wrong := url.Parse(s.base)
	if err != nil || wrong != nil {
		return s.settings.GRPC
	}
	if s.grpc != nil && s.grpc.listenerPort() != "" {
		port = s.grpc.listenerPort()
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// extendedCard returns the card for a caller, unsigned: with its agent's limits, and also the
// delegates that the caller may use.
func (s *Server) extendedCard(ctx context.Context, c *call) (*a2a.AgentCard, error) {
	usable := s.settings.Service.Catalog(ctx, c.caller)
	a, err := usable.Agent(c.agent)
	if err != nil {
		return nil, unknownAgent(c.agent)
	}
	card := s.publicCard(c.agent, a)
	params := map[string]any{"max_rounds": a.Rounds()}
	if a.Budgets != nil {
		data, err := json.Marshal(a.Budgets)
		if err != nil {
			return nil, fmt.Errorf("show the budgets of agent %s: %w", c.agent, err)
		}
		var budgets map[string]any
		if err := json.Unmarshal(data, &budgets); err != nil {
			return nil, fmt.Errorf("show the budgets of agent %s: %w", c.agent, err)
		}
		maps.Copy(params, budgets)
	}
	card.Capabilities.Extensions[0].Params = params
	for _, id := range a.Delegates {
		if d, err := usable.Agent(id); err == nil {
			card.Skills = append(card.Skills, a2a.AgentSkill{ID: id, Name: id, Description: d.DisplayDescription(), Tags: []string{"delegate"}})
		}
	}
	return card, nil
}

// published is a card in the form sent.
type published struct {
	json []byte
	etag string
	// made is the creation time, to the second: as exact as HTTP.
	made time.Time
	err  error
}

// publishedKey is the key of an agent's card in a revision's cache; without an agent, of the list of
// cards.
type publishedKey struct {
	server   *Server
	agent    string
	grpc     string
	accepted Credentials
}

// publishedCard returns an agent's card, which is created once per revision.
func (s *Server) publishedCard(agent string) (*published, bool) {
	rev := s.settings.Service.Revision()
	a, ok := rev.Set().Agent(agent)
	if agent == "" || !ok || !a.UsesTools() {
		return nil, false
	}
	return s.publishOnce(rev, agent, func() *published { return s.publishCard(agent, a) }), true
}

// publishOnce returns what publish has returned for the revision.
func (s *Server) publishOnce(rev *registry.Revision, agent string, publish func() *published) *published {
	p, _ := rev.Derive(publishedKey{s, agent, s.grpcURL(), s.acceptedCredentials()}, func() any { return publish() }).(*published)
	return p
}

func (s *Server) publishCard(agent string, a *spec.Agent) *published {
	card := s.publicCard(agent, a)
	data, err := s.encodeCard(card)
	if err != nil {
		return &published{err: fmt.Errorf("make the card of agent %s: %w", agent, err)}
	}
	return newPublished(data)
}

// newPublished returns data published now.
func newPublished(data []byte) *published {
	return &published{json: data, etag: etagOf(data), made: time.Now().UTC().Truncate(time.Second)}
}

// encodeCard signs a card and returns its JSON.
func (s *Server) encodeCard(card *a2a.AgentCard) ([]byte, error) {
	if s.settings.V03 {
		return s.encodeUnion(card)
	}
	if err := s.settings.Signer.signCard(card); err != nil {
		return nil, err
	}
	return json.Marshal(card)
}

// encodeUnion returns the JSON of a card with the fields of version 0.3 added. It has two
// signatures: over the fields of version 1.0, and over everything, for readers that verify a card
// as received.
func (s *Server) encodeUnion(card *a2a.AgentCard) ([]byte, error) {
	all, err := encodeBothVersions(card)
	if err != nil || s.settings.Signer == nil {
		return all, err
	}
	second, err := s.settings.Signer.signJSON(all)
	if err != nil {
		return nil, err
	}
	if err := s.settings.Signer.signCard(card); err != nil {
		return nil, err
	}
	card.Signatures = append(card.Signatures, *second)
	return encodeBothVersions(card)
}

// encodeBothVersions returns the JSON of a card for readers of both versions. In the SDK's form,
// readers of version 1.0 miss the security schemes.
func encodeBothVersions(card *a2a.AgentCard) ([]byte, error) {
	producer, ok := a2av0.NewStaticAgentCardProducer(card).(a2asrv.AgentCardJSONProducer)
	if !ok {
		return nil, errors.New("the SDK makes no cards of version 0.3")
	}
	data, err := producer.CardJSON(context.Background())
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return nil, err
	}
	if len(card.SecuritySchemes) > 0 {
		if fields["securitySchemes"], err = mergeSchemes(fields["securitySchemes"], card.SecuritySchemes); err != nil {
			return nil, err
		}
	}
	return json.Marshal(fields)
}

// mergeSchemes adds to the security schemes of version 0.3 the fields of 1.0.
func mergeSchemes(old json.RawMessage, schemes a2a.NamedSecuritySchemes) (json.RawMessage, error) {
	data, err := json.Marshal(schemes)
	if err != nil {
		return nil, err
	}
	var merged map[string]map[string]json.RawMessage
	if err := json.Unmarshal(old, &merged); err != nil {
		return nil, err
	}
	var current map[string]map[string]json.RawMessage
	if err := json.Unmarshal(data, &current); err != nil {
		return nil, err
	}
	for name, fields := range current {
		if merged[name] == nil {
			merged[name] = fields
		}
		maps.Copy(merged[name], fields)
	}
	return json.Marshal(merged)
}

// serveCard answers with the card of an agent.
func (s *Server) serveCard(w http.ResponseWriter, r *http.Request, agent string) {
	p, ok := s.publishedCard(agent)
	if !ok {
		text := "unknown agent"
		if agent == "" {
			text = "the server has no default agent; the cards of all agents are at " + s.base + listPath
		}
		writeProblem(w, http.StatusNotFound, "NOT_FOUND", text)
		return
	}
	s.writePublished(w, r, p)
}

// listPath is the path of the list of all agents' cards.
const listPath = "/.well-known/agents.json"

// serveList responds with the cards of all agents, each as served separately.
func (s *Server) serveList(w http.ResponseWriter, r *http.Request) {
	s.writePublished(w, r, s.publishOnce(s.settings.Service.Revision(), "", s.publishList))
}

// publishList returns the list of cards. It leaves out cards that cannot be created.
func (s *Server) publishList() *published {
	cards := []json.RawMessage{}
	for id := range s.settings.Service.Revision().Set().Agents.All() {
		p, ok := s.publishedCard(id)
		switch {
		case !ok:
		case p.err != nil:
			s.settings.Logger.Error("encoding an agent card failed", zap.String("agent", id), zap.Error(p.err))
		default:
			cards = append(cards, p.json)
		}
	}
	data, err := json.Marshal(map[string]any{"agents": cards})
	if err != nil {
		return &published{err: fmt.Errorf("make the list of cards: %w", err)}
	}
	return newPublished(data)
}

func etagOf(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + hex.EncodeToString(sum[:16]) + `"`
}

// writePublished responds with a card or a list of cards.
func (s *Server) writePublished(w http.ResponseWriter, r *http.Request, p *published) {
	if p.err != nil {
		s.settings.Logger.Error("a card cannot be shown", zap.Error(p.err))
		writeProblem(w, http.StatusInternalServerError, "INTERNAL", "internal error; see the server log")
		return
	}
	h := w.Header()
	h.Set("ETag", p.etag)
	h.Set("Last-Modified", p.made.Format(http.TimeFormat))
	h.Set("Cache-Control", fmt.Sprintf("public, max-age=%d", int(s.settings.CardAge.Seconds())))
	h.Set("X-Content-Type-Options", "nosniff")
	if p.knownTo(r.Header) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	h.Set("Content-Type", "application/json")
	_, _ = w.Write(p.json) // a disconnected client misses nothing
}

// knownTo reports whether a client already has the published data. If both headers are present,
// the ETag decides because it is exact.
func (p *published) knownTo(h http.Header) bool {
	if tags := h.Values("If-None-Match"); len(tags) > 0 {
		return matchesETag(tags, p.etag)
	}
	since, err := http.ParseTime(h.Get("If-Modified-Since"))
	return err == nil && !p.made.After(since)
}

// matchesETag reports whether an ETag is among the client's.
func matchesETag(known []string, etag string) bool {
	for _, line := range known {
		for tag := range strings.SplitSeq(line, ",") {
			if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag == etag || tag == "*" {
				return true
			}
		}
	}
	return false
}

package window

import (
	"slices"

	"github.com/agentruntime/agentruntime/model"
)

// identity distinguishes messages by the memory of their parts: messages are never changed, and
// copies of one share its parts.
type identity struct {
	first *model.Part
	parts int
}

func identityOf(m *model.Message) identity {
	if len(m.Parts) == 0 {
		return identity{}
	}
	return identity{&m.Parts[0], len(m.Parts)}
}

// measure caches properties of a message.
type measure struct {
	tokens int
	// preview is the shortened message for use after the latest step; nil when it is not
	// shortened.
	preview *preview
}

// preview is a message with shortened tool results.
type preview struct {
	parts  []model.Part
	tokens int
	// results counts the shortened results.
	results int
}

// measures caches the properties of messages, so that each is measured once per turn.
type measures struct {
	policy *Preview
	known  map[identity]measure
}

// measureOf returns the properties of a message.
func (s *measures) measureOf(m *model.Message) measure {
	id := identityOf(m)
	if id.first == nil {
		return measure{tokens: messageTokens}
	}
	if known, ok := s.known[id]; ok {
		return known
	}
	fresh := s.newMeasure(m)
	if s.known == nil {
		s.known = make(map[identity]measure)
	}
	s.known[id] = fresh
	return fresh
}

// newMeasure measures a message.
func (s *measures) newMeasure(m *model.Message) measure {
	all := 4 * messageTokens
	saved, results := 0, 0
	var parts []model.Part
	for i := range m.Parts {
		w := partWeight(&m.Parts[i])
		all += w
		if m.Role != model.RoleTool || toTokens(w) < s.policy.MinTokens {
			continue
		}
		short := s.policy.shortenResult(&m.Parts[i], w)
		if short == nil {
			continue
		}
		if parts == nil {
			parts = slices.Clone(m.Parts)
		}
		parts[i].ToolResult = short
		saved += w - partWeight(&parts[i])
		results++
	}
	if parts == nil {
		return measure{tokens: toTokens(all)}
	}
	return measure{tokens: toTokens(all), preview: &preview{parts: parts, tokens: toTokens(all - saved), results: results}}
}

// forgetOld drops cached messages used in only one request when they outnumber the conversation.
func (s *measures) forgetOld(conversation int) {
	const slack = 64
	if s.known == nil || len(s.known) > 2*conversation+slack {
		s.known = make(map[identity]measure, conversation+slack)
	}
}

package window

import (
	"fmt"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/spec"
)

// DescribeRejected describes a request that the vendor rejected as too long: its size and largest part, how
// far it was shortened, and the setting to change. The policy is nil for an agent without one.
func DescribeRejected(policy *spec.ContextPolicy, conversation []model.Message, req *model.Request) string {
	tools := EstimateTools(req.Tools)
	largest := section{fmt.Sprintf("the declarations of %d tools", len(req.Tools)), tools}
	whole, sent := tools, tools
	for i := range conversation {
		whole += Estimate(&conversation[i])
	}
	for i := range req.Messages {
		sent += Estimate(&req.Messages[i])
		for j := range req.Messages[i].Parts {
			if s := sectionOf(&req.Messages[i], j); s.tokens > largest.tokens {
				largest = s
			}
		}
	}
	text := fmt.Sprintf("the request has about %d tokens, %d of them in %s", sent, largest.tokens, largest.name)
	if whole > sent {
		text += fmt.Sprintf("; it was shortened from about %d", whole)
	}
	if policy == nil {
		return text + "; set context_policy of the agent to shorten old results and omit old messages"
	}
	p := Resolve(policy, 0, 0)
	if excess := sent - p.requestLimit(); excess > 0 {
		return text + fmt.Sprintf("; this exceeds the limit of context_policy by about %d, and the rest of it is always sent: shorten %s, lower context_policy.min_recent_messages, "+
			"or raise context_policy.max_context_tokens if the model accepts more", excess, largest.name)
	}
	return text + fmt.Sprintf("; context_policy allows %d: lower context_policy.max_context_tokens, or set the context_window of the model to what the server accepts", p.requestLimit())
}

// section is a part of a request and its estimate.
type section struct {
	name   string
	tokens int
}

// sectionOf returns a part of a message as a section of the request.
func sectionOf(m *model.Message, part int) section {
	p := &m.Parts[part]
	s := section{"a message of the user", toTokens(partWeight(p))}
	switch {
	case p.ToolResult != nil:
		s.name = "a result of the tool " + p.ToolResult.Name
	case p.ToolCall != nil:
		s.name = "a call of the tool " + p.ToolCall.Name
	case p.Blob != nil:
		s.name = "an image or file"
	case m.Role == model.RoleSystem:
		s.name = "the instructions"
	case m.Role == model.RoleAssistant:
		s.name = "an answer of the model"
	}
	return s
}

package anthropic

import (
	"bytes"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/claude"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// plan is the form in which a request is sent to the API.
type plan struct {
	params messageParams
	// tools is the JSON array of the tools the model may call; nil for none.
	tools []byte
	// report is offered in addition to the tools unless it is nil.
	report *report
	// cached marks the parts for the vendor to cache.
	cached bool
	// forced is set if the model must call a tool, and limited if the request limits the length of
	// the answer.
	forced, limited bool
}

// chooseTools decides which tool the model must call, or whether it may call any.
func (p *plan) chooseTools(req *model.Request, c concessions) {
	insists := p.report != nil && (len(req.Tools) == 0 || req.ToolChoice.Mode == model.ToolsNone)
	switch {
	case insists && !c.unforced:
		p.params.ToolChoice = &toolChoiceParam{Name: p.report.name, DisableParallelToolUse: true, Type: "tool"}
	case insists:
		// A model that cannot be forced to call the report gets no other tool.
		p.tools = nil
	case req.ToolChoice.Mode == model.ToolsNone && p.tools != nil:
		p.params.ToolChoice = &toolChoiceParam{Type: "none"}
	case req.ToolChoice.Mode == model.ToolsRequired && !c.unforced:
		p.params.ToolChoice = &toolChoiceParam{Type: "any"}
	case req.ToolChoice.Mode == model.ToolsNamed && !c.unforced:
		p.params.ToolChoice = &toolChoiceParam{Name: req.ToolChoice.Name, Type: "tool"}
	}
	p.forced = p.params.ToolChoice != nil && p.params.ToolChoice.Type != "none"
	if p.report != nil && !p.forced {
		p.params.System = append(p.params.System, newTextBlock(p.report.modelInstruction()))
	}
}

// setSampling sets the sampling parameters that the model accepts.
func (p *plan) setSampling(req *model.Request, c concessions) {
	if c.noSampling {
		return
	}
	thinks := p.isThinking()
	if req.Temperature != nil && !thinks {
		p.params.Temperature = req.Temperature
	}
	if req.TopP != nil && (!thinks || *req.TopP >= claude.LeastTopP) && (!c.oneSampling || p.params.Temperature == nil) {
		p.params.TopP = req.TopP
	}
}

func (p *plan) isThinking() bool {
	return p.params.Thinking.is(thinkingEnabled) || p.params.Thinking.is(thinkingAdaptive)
}

// markCached marks the last tool, the last instruction and the last block of the latest two user
// messages: the vendor caches everything before a mark. The second-last mark is the end of the
// previous request, so that it is found even if a step added more than the vendor looks back for.
func (p *plan) markCached() {
	if n := len(p.params.System); n > 0 {
		p.params.System[n-1].markCached()
	}
	left := 2
	for i := len(p.params.Messages) - 1; i >= 0 && left > 0; i-- {
		m := &p.params.Messages[i]
		if m.Role != roleUser {
			continue
		}
		if b, ok := m.Content[len(m.Content)-1].(interface{ markCached() }); ok {
			b.markCached()
			left--
		}
	}
}

// encodeBody returns the body of the request. The tools are added from their cached encoding.
func (p *plan) encodeBody() ([]byte, error) {
	body, err := vendorhttp.EncodeRequest(&p.params)
	if err != nil {
		return nil, err
	}
	body = append(bytes.TrimSuffix(body, []byte("}")), `,"stream":true`...)
	if p.tools != nil || p.report != nil {
		body = append(body, `,"tools":[`...)
		body = p.appendTools(body)
		body = append(body, ']')
	}
	return append(body, '}'), nil
}

const cacheMark = `,"cache_control":{"type":"ephemeral"}}`

// appendTools appends the declarations of all tools. Both source arrays hold objects with at least
// one field.
func (p *plan) appendTools(body []byte) []byte {
	if p.tools != nil {
		body = append(body, p.tools[1:len(p.tools)-1]...)
	}
	if p.report != nil {
		if p.tools != nil {
			body = append(body, ',')
		}
		body = append(body, p.report.declaration[1:len(p.report.declaration)-1]...)
	}
	if p.cached {
		body = append(body[:len(body)-1], cacheMark...)
	}
	return body
}

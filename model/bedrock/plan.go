package bedrock

import (
	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/claude"
	"github.com/agentruntime/agentruntime/model/internal/toolschema"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// plan is the form in which a request is sent to the API.
type plan struct {
	body converseParam
	// tools is the JSON array of the tools the model may call; nil for none.
	tools []byte
	// choice determines which tool the model calls.
	choice choiceParam
	// cached marks the parts for the vendor to cache; toolsCached also marks the tools.
	cached, toolsCached bool
	features            features
}

// features are the parts of a plan that a model may reject.
type features uint8

const (
	thinks features = 1 << iota
	asksEffort
	sendsReasoning
	chooses
)

func (p *plan) has(one features) bool { return p.features&one != 0 }

// chooseTools decides which tool the model must call.
func (p *plan) chooseTools(choice model.ToolChoice, c concessions) {
	switch {
	case c.has(freeChoice):
	case choice.Mode == model.ToolsRequired:
		p.choice.Any = &struct{}{}
	case choice.Mode == model.ToolsNamed:
		p.choice.Tool = &namedChoice{Name: choice.Name}
	}
	if p.choice != (choiceParam{}) {
		p.features |= chooses
	}
}

func (p *plan) setSampling(req *model.Request, c concessions) {
	p.body.InferenceConfig.Stop = req.Stop
	if c.has(noSampling) {
		return
	}
	i := &p.body.InferenceConfig
	if !p.has(thinks) {
		i.Temperature = req.Temperature
	}
	if req.TopP != nil && (!p.has(thinks) || *req.TopP >= claude.LeastTopP) && (!c.has(oneSampling) || i.Temperature == nil) {
		i.TopP = req.TopP
	}
}

// askForm requests the form of the answer. A request that forces a tool call does not yet get an
// answer.
func (p *plan) askForm(req *model.Request, family family, c concessions) {
	if req.Output == nil || p.has(chooses) {
		return
	}
	schema, fits := req.Output.Schema, true
	if family == familyClaude {
		schema, fits = claude.OutputSchema(schema)
	}
	if fits && !c.has(formAsText) {
		p.body.OutputConfig.TextFormat = &textFormatParam{
			Type: "json_schema", Structure: structureParam{schemaParam{Schema: string(schema), Name: req.Output.DisplayName()}},
		}
		return
	}
	p.body.System = append(p.body.System, blockParam{
		Text: "Your final answer must be a JSON value of this JSON Schema, without any other text:\n" + string(req.Output.Schema),
	})
}

// markCached marks the end of the instructions and of the latest two user messages. A mark must not
// follow reasoning, which only the assistant's messages have.
func (p *plan) markCached() {
	if len(p.body.System) > 0 {
		p.body.System = append(p.body.System, cachePoint())
	}
	left := 2
	for i := len(p.body.Messages) - 1; i >= 0 && left > 0; i-- {
		if m := p.body.Messages[i]; m.Role == roleUser {
			m.Content = append(m.Content, cachePoint())
			left--
		}
	}
}

// encodeBody returns the body of the request. The tools are added from their cached encoding.
func (p *plan) encodeBody() ([]byte, error) {
	body, err := vendorhttp.EncodeRequest(&p.body)
	if err != nil || p.tools == nil {
		return body, err
	}
	body = append(body[:len(body)-1], `,"toolConfig":{"tools":`...)
	body = append(body, p.tools...)
	if p.toolsCached {
		body = append(body[:len(body)-1], `,{"cachePoint":{"type":"default"}}]`...)
	}
	if p.has(chooses) {
		choice, err := vendorhttp.EncodeRequest(p.choice)
		if err != nil {
			return nil, err
		}
		body = append(append(body, `,"toolChoice":`...), choice...)
	}
	return append(body, "}}"...), nil
}

// encodeTools returns a set of tools as a JSON array.
func encodeTools(schemas *toolschema.Dialect, tools []model.Tool) ([]byte, error) {
	list := make([]toolParam, len(tools))
	for i := range tools {
		t := &tools[i]
		schema, err := schemas.Map(t.Parameters)
		if err != nil {
			return nil, vendorhttp.InvalidRequest("the parameters of tool "+t.Name+" are not a JSON object", err)
		}
		list[i] = toolParam{specParam{Name: t.Name, Description: schema.Describe(t.Description), InputSchema: inputSchemaRef{schema.Schema}}}
	}
	return vendorhttp.EncodeRequest(list)
}

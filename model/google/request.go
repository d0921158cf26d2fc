package google

import (
	"math"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendorhttp"
)

// body is a request on the wire, without its tools.
type body struct {
	Contents          []*contentParam  `json:"contents"`
	SystemInstruction *contentParam    `json:"systemInstruction,omitempty"`
	ToolConfig        *toolParam       `json:"toolConfig,omitempty"`
	GenerationConfig  *generationParam `json:"generationConfig,omitempty"`
}

// bodyFields has all fields that requests may have.
type bodyFields struct {
	body

	Tools []struct {
		Declarations []declarationParam `json:"functionDeclarations"`
	} `json:"tools"`
}

// encodeRequest returns the whole body of a request. The tools are added from their cached
// encoding, because a conversation sends the same tools many times.
func (e *Executor) encodeRequest(req *model.Request, f form, thinking thinkingSupport) ([]byte, error) {
	g := generationOf(req.Model)
	w := contentWriter{modern: g.hasLevels(), contents: make([]*contentParam, 0, len(req.Messages))}
	for i := range req.Messages {
		w.writeMessage(&req.Messages[i])
	}
	if f.function != "" {
		w.system = append(w.system, &partParam{Text: f.modelInstruction()})
	}
	b := body{Contents: w.contents, GenerationConfig: generationConfig(req, g, f, thinking)}
	if len(w.system) > 0 {
		b.SystemInstruction = &contentParam{Parts: w.system}
	}
	tools := req.Tools
	if f.withoutTools {
		tools = nil
	}
	if len(tools) > 0 {
		b.ToolConfig = toolConfig(req.ToolChoice)
	}
	encoded, err := vendorhttp.EncodeRequest(b)
	if err != nil {
		return nil, err
	}
	return e.appendTools(encoded, tools, req, f)
}

// appendTools adds the declarations of the tools to an encoded body.
func (e *Executor) appendTools(encoded []byte, tools []model.Tool, req *model.Request, f form) ([]byte, error) {
	declarations, err := e.tools.Encoded(tools)
	if err != nil || declarations == nil {
		return encoded, err
	}
	encoded = append(encoded[:len(encoded)-1], `,"tools":[{"functionDeclarations":`...)
	encoded = append(encoded, declarations...)
	if f.function != "" {
		own, err := f.declareFunction(req.Output)
		if err != nil {
			return nil, err
		}
		encoded = append(encoded[:len(encoded)-1], ',')
		encoded = append(encoded, own...)
		encoded = append(encoded, ']')
	}
	return append(encoded, `}]}`...), nil
}

// generationConfig returns the settings of a request, or nil if none.
func generationConfig(req *model.Request, g generation, f form, thinking thinkingSupport) *generationParam {
	c := generationParam{
		MaxOutputTokens: int32(min(max(req.MaxOutputTokens, 0), math.MaxInt32)),
		Temperature:     toFloat32(req.Temperature),
		TopP:            toFloat32(req.TopP),
		ThinkingConfig:  g.thinkingConfig(req.ReasoningEffort, thinking),
		Seed:            req.Seed,
		StopSequences:   req.Stop,
	}
	if f.native {
		c.ResponseMIMEType, c.ResponseJSONSchema = "application/json", req.Output.Schema
	}
	if c.MaxOutputTokens == 0 && c.Temperature == nil && c.TopP == nil && c.ThinkingConfig == nil && c.Seed == nil && len(c.StopSequences) == 0 && !f.native {
		return nil
	}
	return &c
}

func toFloat32(v *float64) *float32 {
	if v == nil {
		return nil
	}
	return new(float32(*v))
}

// toolConfig returns which tools may or must be called; nil leaves it to the model.
func toolConfig(choice model.ToolChoice) *toolParam {
	var c callingParam
	switch choice.Mode {
	case model.ToolsNone:
		c.Mode = callingNone
	case model.ToolsRequired:
		c.Mode = callingAny
	case model.ToolsNamed:
		c.Mode = callingAny
		c.AllowedFunctionNames = []string{choice.Name}
	default:
		return nil
	}
	return &toolParam{FunctionCallingConfig: &c}
}

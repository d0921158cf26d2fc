package spec

import (
	"github.com/agentruntime/agentruntime/diag"
)

// ModelOptions control how a model answers. An agent's settings override its model's.
type ModelOptions struct {
	Temperature *float64      `json:"temperature,omitempty" min:"0" max:"2" doc:"Randomness of the model's answers, from 0 to 2." remote:"ignored" hosted:"ignored"`
	TopP        *float64      `json:"top_p,omitempty" min:"0" max:"1" doc:"The share of likely tokens the model samples from, from 0 to 1." remote:"ignored" hosted:"ignored"`
	Seed        *int          `json:"seed,omitempty" doc:"Makes answers as repeatable as the vendor allows." remote:"ignored" hosted:"ignored"`
	Stop        []string      `json:"stop,omitempty" doc:"Texts before which an answer ends." remote:"ignored" hosted:"ignored"`
	ServiceTier string        `json:"service_tier,omitempty" doc:"The vendor's service tier, such as flex or priority." remote:"ignored" hosted:"ignored"`
	Verbosity   string        `json:"verbosity,omitempty" enum:"low|medium|high" doc:"How long answers are." remote:"ignored" hosted:"ignored"`
	Request     *RequestEdits `json:"request,omitempty" doc:"Fields to set or omit in the JSON body of requests. The provider's apply first, then the model's and the agent's." remote:"ignored" hosted:"ignored"`
}

// HasOptions reports whether anything is set.
func (s *ModelOptions) HasOptions() bool {
	return s.Temperature != nil || s.TopP != nil || s.Seed != nil || len(s.Stop) > 0 || s.ServiceTier != "" || s.Verbosity != "" || s.Request != nil
}

func (s *ModelOptions) validateOptions() diag.List {
	var list diag.List
	within := func(path string, v *float64, limit float64) {
		if v != nil && (!(*v >= 0) || *v > limit) {
			list = append(list, diag.New(diag.InvalidValue, path, "%s is %v; it must lie between 0 and %v", path, *v, limit))
		}
	}
	within("temperature", s.Temperature, 2)
	within("top_p", s.TopP, 1)
	for i, text := range s.Stop {
		if text == "" {
			list = append(list, diag.New(diag.InvalidValue, diag.Index("stop", i), "a text of stop is empty"))
		}
	}
	list = append(list, checkChoice("verbosity", s.Verbosity, "low", "medium", "high")...)
	return append(list, checkPart("request", s.Request)...)
}

package openai

import (
	"github.com/agentruntime/agentruntime/model"
)

// concessions are the features that requests avoid because the model rejected them. No
// machine-readable list exists and deployment names reveal nothing, so each feature is tried once
// per model, at the cost of a rejected request.
type concessions struct {
	// plainReasoning does not request encrypted reasoning, which models that do not reason reject.
	plainReasoning bool
	// noSummary does not request a summary of the reasoning.
	noSummary bool
	// refusedEfforts are the reasoning efforts unknown to the model. If no other level is close
	// to the requested one, the vendor decides.
	refusedEfforts effortSet
	// freeChoice leaves the choice of tools to the model. If it must not call tools, it is offered
	// none.
	freeChoice bool
	// noOutputForm does not request an output format.
	noOutputForm bool
	// looseSchema disables strict mode. Like the next field, it concerns the request and not the
	// model: a schema assumed to be supported was rejected.
	looseSchema bool
	// noStrict omits the field strict of the output format.
	noStrict bool
	// shortDescriptions truncates tool descriptions to 1024 characters, which some models require.
	shortDescriptions bool
	// shortIDs and mistralIDs adapt call IDs to the limits of the vendor, or of Mistral, whose
	// models other servers also serve.
	shortIDs, mistralIDs bool
	// needsText sends an empty text instead of null as the content of an answer that only calls tools.
	needsText bool
	// noTemperature and noTopP omit settings that reasoning models reject.
	noTemperature, noTopP bool
	// outputLimit is the model's maximum number of output tokens; 0 if unknown.
	outputLimit int
	// outputRoom is the number of tokens that the conversation leaves for the answer; 0 if unknown.
	outputRoom int
	// forgetReasoning omits the reasoning of earlier answers, because reasoning encrypted for
	// another organization is unreadable.
	forgetReasoning bool
}

// ofModel returns the concessions that are a matter of the model.
func (c concessions) ofModel() concessions {
	c.forgetReasoning, c.looseSchema, c.outputRoom = false, false, 0
	return c
}

// maxOutput returns the output limit of a request; 0 for none.
func (c concessions) maxOutput(req *model.Request) int {
	limit := max(req.MaxOutputTokens, 0)
	for _, most := range []int{c.outputLimit, c.outputRoom} {
		if most > 0 {
			limit = min(limit, most)
		}
	}
	return limit
}

// acceptedSampling returns the temperature and top_p of a request, nil where the server rejected them.
func (c concessions) acceptedSampling(req *model.Request) (temperature, topP *float64) {
	temperature, topP = req.Temperature, req.TopP
	if c.noTemperature {
		temperature = nil
	}
	if c.noTopP {
		topP = nil
	}
	return temperature, topP
}

// reasoningEffort returns the vendor's level of reasoning effort, empty to leave it to
// the vendor.
func (c concessions) reasoningEffort(req *model.Request) effortLevel {
	if req.ReasoningEffort == nil {
		return ""
	}
	for _, level := range levelsOf(req.ReasoningEffort) {
		if c.refusedEfforts&setOf(level) == 0 {
			return level
		}
	}
	return ""
}

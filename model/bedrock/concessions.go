package bedrock

// concessions are features that a request omits or expresses differently, because the model
// rejected them. Names of inference profiles reveal nothing about the model, so each is tried at
// most once per model, at the price of a rejected request.
type concessions uint16

const (
	// noCache disables all cache marks, noToolCache those for tools.
	noCache concessions = 1 << iota
	noToolCache
	// adaptive requests thinking by effort level, because newer models reject a budget.
	adaptive
	// noEffort does not request reasoning.
	noEffort
	// noSampling sends neither temperature nor top_p, oneSampling at most one of them.
	noSampling
	oneSampling
	// freeChoice leaves the choice of tools to the model.
	freeChoice
	// formAsText requests the form of the answer in the instructions.
	formAsText
	// whole disables streaming, which the model does not support.
	whole
	// forgetReasoning omits the reasoning of earlier answers. It depends on the conversation, not
	// on the model.
	forgetReasoning
)

func (c concessions) has(one concessions) bool { return c&one != 0 }

// ofModel returns the concessions that are a matter of the model.
func (c concessions) ofModel() concessions { return c &^ forgetReasoning }

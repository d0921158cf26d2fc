package anthropic

// concessions are features that a request omits or expresses differently, because the model
// rejected them. Models differ in every generation and names behind a gateway reveal nothing, so
// each is tried at most once per model, at the price of a rejected request.
type concessions struct {
	// adaptive requests thinking by effort level, because newer models reject a budget.
	adaptive bool
	// effortSteps is the number of levels below the highest to use for an agent that wants the
	// highest effort; noEffort names no level.
	effortSteps int
	noEffort    bool
	// neverThinks requests no thinking, which the model does not support.
	neverThinks bool
	// alwaysThinks does not disable thinking if the model cannot stop, thinksUnasked does so where
	// it must not think.
	alwaysThinks, thinksUnasked bool
	// unforced does not force the model to call a tool.
	unforced bool
	// oneSampling sends at most one of temperature and top_p, noSampling neither.
	oneSampling, noSampling bool
	// noForm asks for the report instead of the form of the text.
	noForm bool
	// outputLimit is the model's maximum number of output tokens; 0 if unknown.
	outputLimit int
	// outputRoom is the number of tokens that the conversation leaves for the answer; 0 if unknown.
	// Like the fields below, it depends on the conversation.
	outputRoom int

	// forgetReasoning omits the reasoning of earlier answers, and pauseThinking requests none. They
	// depend on the conversation, not on the model: its reasoning is unreadable here, or other
	// models took part in it.
	forgetReasoning, pauseThinking bool
}

// ofModel returns the concessions that depend on the model.
func (c concessions) ofModel() concessions {
	c.forgetReasoning, c.pauseThinking, c.outputRoom = false, false, 0
	return c
}

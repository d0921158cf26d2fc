package vendorhttp

// overflowPhrases are the messages of servers that have no error code for a request that exceeds
// the model's window.
var overflowPhrases = []string{
	"maximum context length", "context window", "available context size", "context length exceeded",
	"context size has been exceeded", "maximum prompt length", "prompt is too long",
	"exceeds the context", "exceed context limit", "greater than the context length",
	"`inputs` tokens + ", "`inputs` must have less than",
	"context length of only",            // LM Studio
	"exceeded model token limit",        // Kimi
	"range of input length",             // Alibaba
	"prompt exceeds max length",         // Zhipu
	"prompt token count of",             // GitHub
	"the model's context length",        // SGLang and Together
	"max context length",                // Ollama
	"too many tokens: size limit",       // Cohere
	"total tokens limit",                // watsonx
	"reduce the length of the messages", // Cerebras
	"contextwindowexceeded",             // LiteLLM
}

// SaysContextOverflow reports whether a message rejects a request for exceeding the model's window.
func SaysContextOverflow(message string) bool {
	return Mentions(message, overflowPhrases...)
}

package openai

// echo is what a response repeats of its request.
type echo struct{}

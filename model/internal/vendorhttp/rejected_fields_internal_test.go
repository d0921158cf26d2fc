package vendorhttp

import (
	"testing"

	"github.com/agentruntime/agentruntime/model"
)

// TestOnlyUnknownFieldsAreBlamed has servers' errors about fields: some do not know the field, and
// others know it and require it or another value.
func TestOnlyUnknownFieldsAreBlamed(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"Extra inputs are not permitted: stream_options":                          true,
		"Unsupported parameter: 'stream_options'":                                 true,
		"stream_options: value is not allowed here":                               true,
		"Argument not supported on this model: streamOptions":                     true,
		"Unknown field StreamOptions of ChatRequest":                              true,
		"streamOptionsLimit is not supported":                                     false,
		"stream_options is missing":                                               false,
		"stream_options is required when thinking is enabled":                     false,
		"stream_options is too large: at most 4096 is supported":                  false,
		"stream_options must be less than or equal to 8192":                       false,
		"thinking is enabled but stream_options is missing in message at index 1": false,
		"Unknown parameter stream_options; messages is required":                  true,
	} {
		failure := &model.Error{Class: model.InvalidRequest, Message: text}
		if got := findOptional("stream_options").isBlamed(failure); got != want {
			t.Errorf("%s: blamed is %v", text, got)
		}
	}
}

package spec_test

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/spec"
)

func TestOutputSchemaValidate(t *testing.T) {
	t.Parallel()
	// sized returns a schema of n bytes.
	sized := func(n int) []byte {
		const empty = `{"title":""}`
		return []byte(`{"title":"` + strings.Repeat("x", n-len(empty)) + `"}`)
	}
	for name, tt := range map[string]struct {
		output spec.OutputSchema
		want   []string
	}{
		"the least":   {spec.OutputSchema{Schema: []byte(`{}`)}, nil},
		"a name":      {spec.OutputSchema{Name: "mood-of_Day1", Schema: []byte(`{"type":"object"}`)}, nil},
		"as large":    {spec.OutputSchema{Schema: sized(32 << 10)}, nil},
		"white space": {spec.OutputSchema{Schema: []byte("{" + strings.Repeat(" ", 64<<10) + "}")}, nil},
		"no schema":   {spec.OutputSchema{}, []string{"missing-field schema: schema is required"}},
		"names": {spec.OutputSchema{Name: "my form", Schema: []byte(`{}`)}, []string{
			`invalid-value name: name is "my form"; it must be 1 to 64 letters, digits, '_' or '-'`,
		}},
		"a long name": {spec.OutputSchema{Name: strings.Repeat("x", 65), Schema: []byte(`{}`)}, []string{
			`invalid-value name: name is "` + strings.Repeat("x", 65) + `"; it must be 1 to 64 letters, digits, '_' or '-'`,
		}},
		"a mismatch": {spec.OutputSchema{Schema: []byte(`{}`), OnMismatch: spec.MismatchAccepted}, nil},
		"no such mismatch": {spec.OutputSchema{Schema: []byte(`{}`), OnMismatch: "ignore"}, []string{
			`invalid-value on_mismatch: on_mismatch is "ignore"; allowed are fail and accept`,
		}},
		"a list":    {spec.OutputSchema{Schema: []byte(`[1]`)}, []string{"invalid-schema schema: schema must be a JSON Schema written as an object"}},
		"nothing":   {spec.OutputSchema{Schema: []byte(`null`)}, []string{"invalid-schema schema: schema must be a JSON Schema written as an object"}},
		"no JSON":   {spec.OutputSchema{Schema: []byte(`{`)}, []string{"invalid-schema schema: schema must be a JSON Schema written as an object"}},
		"a truth":   {spec.OutputSchema{Schema: []byte(`true`)}, []string{"invalid-schema schema: schema must be a JSON Schema written as an object"}},
		"too large": {spec.OutputSchema{Schema: sized(32<<10 + 1)}, []string{"invalid-schema schema: schema has 32769 bytes as JSON; at most 32768 are allowed"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			expect(t, tt.output.Validate(), tt.want...)
		})
	}
}

func TestAFormWithoutNameIsCalledOutput(t *testing.T) {
	t.Parallel()
	if a, b := (&spec.OutputSchema{}).DisplayName(), (&spec.OutputSchema{Name: "mood"}).DisplayName(); a != "output" || b != "mood" {
		t.Errorf("%s and %s", a, b)
	}
}

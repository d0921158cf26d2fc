package vendorhttp

import (
	"testing"

	"github.com/agentruntime/agentruntime/model"
)

type blaming string

func (b blaming) Error() string         { return "refused" }
func (b blaming) RejectedField() string { return string(b) }

func TestRefusalsNameTheirTools(t *testing.T) {
	tools := []model.Tool{{Name: "a"}, {Name: "b"}, {Name: "t_2fa"}, {Name: "d"}, {Name: "e"}, {Name: "f"}, {Name: "g"}}
	names := &wireNames{ids: map[string]string{"t_2fa": "2fa"}}
	for _, tt := range []struct{ message, field, want string }{
		{"bad schema", "", "bad schema"},
		{"bad schema", "tools[1].function.parameters", `bad schema (tool "b")`},
		{"tools.2.custom.input_schema: no anyOf", "", `tools.2.custom.input_schema: no anyOf (tool "2fa")`},
		{"The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be object", "",
			`The value at toolConfig.tools.0.toolSpec.inputSchema.json.type must be object (tool "a")`},
		{"Unknown name at 'tools[0].function_declarations[3].parameters', 'tools[0].functionDeclarations[1]'", "",
			`Unknown name at 'tools[0].function_declarations[3].parameters', 'tools[0].functionDeclarations[1]' (tools "d", "b")`},
		{"body.tools.1.function.name: too long; body.tools.1.function: bad", "", `body.tools.1.function.name: too long; body.tools.1.function: bad (tool "b")`},
		{"tools[7] tools[99999999999999999999]", "", "tools[7] tools[99999999999999999999]"},
		{"tools.0 tools.1 tools.2 tools.3 tools.4 tools.5 tools.6", "", `tools.0 tools.1 tools.2 tools.3 tools.4 tools.5 tools.6 (tools "a", "b", "2fa", "d", "e" and 2 more)`},
	} {
		failure := &model.Error{Message: tt.message, Err: blaming(tt.field)}
		if names.nameTools(failure, tools); failure.Message != tt.want {
			t.Errorf("%s %s: the message is %s", tt.message, tt.field, failure.Message)
		}
	}
	failure := &model.Error{Message: "tools[0]: bad"}
	if (*wireNames)(nil).nameTools(failure, tools); failure.Message != `tools[0]: bad (tool "a")` {
		t.Error(failure.Message)
	}
}

func TestMistakesAreShown(t *testing.T) {
	for detail, want := range map[string]string{
		`[{"loc":["body","tools",0,"strict"],"msg":"Extra inputs are not permitted","type":"extra_forbidden"},{"msg":"bad"}]`: "body.tools.0.strict: Extra inputs are not permitted; bad",
		`"Not Found"`: "Not Found", `7`: "", `{}`: "", ``: "",
	} {
		if got := ErrorText([]byte(detail)); got != want {
			t.Errorf("%s is shown as %q", detail, got)
		}
	}
}

func TestErrorsAreReadInAnyForm(t *testing.T) {
	for body, want := range map[string]string{
		`{"errors":[{"message":"bad"},{"message":"worse","field":"seed"}]}`:         "bad; seed: worse",
		`{"errors":[{"message":"unknown","params":{"additionalProperty":"seed"}}]}`: "seed: unknown",
		`{"errors":[{"instancePath":"/seed","message":"unknown","params":{}}]}`:     "/seed: unknown",
		`{"errors":[{"path":"/seed","errorCode":"unknown_property"}]}`:              "/seed: errorCode: unknown_property",
		`{"errors":["bad","bad","worse"]}`:                                          "bad; worse",
		`{"errors":{"temperature":["is invalid"],"seed":"unknown"}}`:                "seed: unknown; temperature: is invalid",
		`{"error":{"message":{"detail":[{"loc":["body","x"],"msg":"extra"}]}}}`:     "body.x: extra",
		`{"msg":"bad","code":7}`:                                           "bad",
		`{"detail":{"message":"bad"}}`:                                     "bad",
		`{"title":"Bad Request","status":400,"detail":"no model"}`:         "no model",
		`{"error":"invalid","error_description":"no token"}`:               "invalid",
		`{"type":"x","code":"y","status":400}`:                             "",
		`[{"error":{"message":"bad"}}]`:                                    "bad",
		`{"error":null}`:                                                   "",
		`upstream connect error`:                                           "",
		`{"a":{"b":{"c":{"d":{"e":{"f":{"g":{"message":"too deep"}}}}}}}}`: "",
	} {
		if got := ErrorText([]byte(body)); got != want {
			t.Errorf("%s says %q, want %q", body, got, want)
		}
	}
	for body, want := range map[string]string{
		"upstream connect\n error\n": "upstream connect error", "<html>no</html>": "", `{"a":1`: "", "\xff": "", "a\x00b": "",
	} {
		if got := PlainError([]byte(body)); got != want {
			t.Errorf("%q says %q, want %q", body, got, want)
		}
	}
}

package permission_test

import (
	"encoding/json"
	"testing"

	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/permission"
	"github.com/google/go-cmp/cmp"
)

const closedRefund = `{
  "type": "object", "additionalProperties": false,
  "properties": {
    "amount": {"type": "number"},
    "currency": {"enum": ["EUR", "USD"]},
    "reference": {"type": "string"},
    "urgent": {"type": ["boolean", "null"]},
    "lines": {"type": "array", "items": {"$ref": "#/$defs/line"}},
    "to": {"anyOf": [{"type": "string"}, {"type": "object"}]},
    "meta": {"type": "object"},
    "labels": {"type": "object", "additionalProperties": {"type": "string"}},
    "open": {"type": "object", "properties": {"name": {"type": "string"}}}
  },
  "$defs": {"line": {"type": "object", "additionalProperties": false, "properties": {"price": {"type": "number"}}}}
}`

// TestConditionsAreHeldToTheSchema checks conditions on the arguments of a tool:
// what cannot be right is an error, what hardly is a warning, and what cannot be
// decided is neither.
func TestConditionsAreHeldToTheSchema(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ rule, schema, want string }{
		{`refund(amount > 1000)`, closedRefund, ""},
		{`refund(amout > 1000)`, closedRefund, `error the condition on amout looks at "amout", which tool "refund" does not have | did you mean "amount"?`},
		{`ref*(amout > 1000)`, closedRefund, `error the condition on amout looks at "amout", which tool "refund" does not have | did you mean "amount"?`},
		{`refund(amout > 1000)`, `{"type":"object","properties":{"amount":{}}}`, `warning the condition on amout looks at "amout", which tool "refund" does not have | did you mean "amount"?`},
		{`refund(amout > 1000)`, `{"type":"object","properties":{"amount":{}},"additionalProperties":true}`, `warning the condition on amout looks at "amout", which tool "refund" does not have | did you mean "amount"?`},
		{`refund(amout > 1000)`, `{"type":"object","properties":{"amount":{}},"unevaluatedProperties":false}`, `error the condition on amout looks at "amout", which tool "refund" does not have | did you mean "amount"?`},
		{`refund(amout > 1000)`, `{"type":"object"}`, ""},
		{`refund(amout > 1000)`, `{}`, ""},
		{`refund(amout > 1000)`, `{"type":"object","properties":{}, "additionalProperties":false}`, `error the condition on amout looks at "amout", which tool "refund" does not have | `},
		{`refund(x > 1)`, `{"properties":{"a":{}},"patternProperties":{"^x":{}},"additionalProperties":false}`, ""},
		{`refund(amout > 1)`, `{"properties":{"amount":{}},"additionalProperties":false,"allOf":[{"properties":{"amout":{}}}]}`, ""},
		{`refund(amout > 1)`, `{"$ref":"#/$defs/a","$defs":{"a":{"properties":{"amount":{}},"additionalProperties":false}}}`, ""},
		{`refund(lines[*].price > 5)`, closedRefund, ""},
		{`refund(lines[0].prize > 5)`, closedRefund, `error the condition on lines[0].prize looks at "lines[0].prize", which tool "refund" does not have | did you mean "lines[0].price"?`},
		{`refund(lines.price > 5)`, closedRefund, `error the condition on lines.price looks at "lines.price", which tool "refund" does not have | `},
		{`refund(amount[0] > 5)`, closedRefund, `error the condition on amount[0] looks at "amount[0]", which tool "refund" does not have | `},
		{`refund(amount.value > 5)`, closedRefund, `error the condition on amount.value looks at "amount.value", which tool "refund" does not have | `},
		{`refund(to.name == "x")`, closedRefund, ""},
		{`refund(meta.x == "x")`, closedRefund, ""},
		{`refund(labels.x == "x")`, closedRefund, ""},
		{`refund(labels.x > 5)`, closedRefund, `error the condition labels.x > 5 compares with a number, but labels.x of tool "refund" is a string | `},
		{`refund(open.nam == "x")`, closedRefund, `warning the condition on open.nam looks at "open.nam", which tool "refund" does not have | did you mean "open.name"?`},
		{`refund(* ~ "x")`, closedRefund, ""},
		{`refund(reference > 1000)`, closedRefund, `error the condition reference > 1000 compares with a number, but reference of tool "refund" is a string | `},
		{`refund(amount == "1000")`, closedRefund, `error the condition amount == "1000" compares with a string, but amount of tool "refund" is a number | `},
		{`refund(amount = "1000")`, closedRefund, ""},
		{`refund(amount = "many")`, closedRefund, `error the condition amount = "many" compares with a string, but amount of tool "refund" is a number | `},
		{`refund(urgent == 1)`, closedRefund, `error the condition urgent == 1 compares with a number, but urgent of tool "refund" is a boolean or null | `},
		{`refund(urgent == true)`, closedRefund, ""},
		{`refund(urgent == null)`, closedRefund, ""},
		{`refund(currency in ["EUR", 5])`, closedRefund, `error the condition currency in ["EUR", 5] compares with a number, but currency of tool "refund" is a string | `},
		{`refund(currency == "EURO")`, closedRefund, `error the condition currency == "EURO" compares with "EURO", which currency of tool "refund" never is | did you mean "EUR"?`},
		{`refund(currency in ["EUR", "GBP"])`, closedRefund, `error the condition currency in ["EUR", "GBP"] compares with "GBP", which currency of tool "refund" never is | it is one of "EUR", "USD"`},
		{`refund(amount ~ path:"x")`, closedRefund, `error the condition amount ~ path:"x" compares with a string, but amount of tool "refund" is a number | `},
		{`refund(amount ~ "5*")`, closedRefund, ""},
		{`refund(command:rm *)`, closedRefund, `warning tool "refund" takes several arguments, so that command: fits each of them, or none | name the intended one: refund(amount ~ command:"rm *")`},
		{`other(amout > 1000)`, closedRefund, ""},
		{`refund(amout > 1)`, `{`, ""},
	} {
		gate := gateOf(t, `{"rules":[`+ruleJSON(t, "x", permission.Deny)+`,`+ruleJSON(t, tt.rule, permission.Deny)+`]}`)
		found := gate.(plugins.SchemaGate).CheckSchemas([]plugins.ToolSchema{{ID: "refund", Parameters: json.RawMessage(tt.schema)}})
		got := ""
		for _, d := range found {
			got += string(d.Severity) + " " + d.Message + " | " + d.Hint
			if d.Code != "invalid-condition" || d.Path != "sections.permission.rules[1].tool" {
				t.Errorf("%s: %+v", tt.rule, d)
			}
		}
		want := tt.want
		if want != "" && got != "" && want[len(want)-2:] == "| " {
			got = got[:min(len(got), len(want))]
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.rule, diff)
		}
	}
}

// TestARuleForSeveralToolsMayFitSome proves that a pattern is reported only when
// its conditions fit none of the tools that it names.
func TestARuleForSeveralToolsMayFitSome(t *testing.T) {
	t.Parallel()
	gate := gateOf(t, `{"rules":[`+ruleJSON(t, "pay_*(amount > 5)", permission.Deny)+`]}`).(plugins.SchemaGate)
	other := plugins.ToolSchema{ID: "pay_x", Parameters: json.RawMessage(`{"properties":{"sum":{}},"additionalProperties":false}`)}
	fits := plugins.ToolSchema{ID: "pay_y", Parameters: json.RawMessage(`{"properties":{"amount":{}},"additionalProperties":false}`)}
	if found := gate.CheckSchemas([]plugins.ToolSchema{other, fits}); found != nil {
		t.Errorf("got %v", found)
	}
	if found := gate.CheckSchemas([]plugins.ToolSchema{other}); len(found) != 1 {
		t.Errorf("got %v", found)
	}
}

// FuzzCheckSchemas proves that no schema makes the check panic or run for long.
func FuzzCheckSchemas(f *testing.F) {
	f.Add(closedRefund, `t(lines[*].price > 5)`)
	f.Add(`{"$ref":"#"}`, `t(a.b == "x")`)
	f.Add(`{"properties":{"a":{"$ref":"#/properties/a"}}}`, `t(a.b == "x")`)
	f.Fuzz(func(t *testing.T, schema, rule string) {
		if _, err := permission.ParseRule(rule); err != nil {
			return
		}
		gate := gateOf(t, `{"rules":[`+ruleJSON(t, rule, permission.Deny)+`]}`)
		gate.(plugins.SchemaGate).CheckSchemas([]plugins.ToolSchema{{ID: "t", Parameters: json.RawMessage(schema)}})
	})
}

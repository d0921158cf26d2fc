package decode_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/agentruntime/agentruntime/config/internal/decode"
	"github.com/agentruntime/agentruntime/spec"
)

type values struct {
	Text   string            `json:"text"`
	Color  string            `json:"color" enum:"red|green"`
	Code   string            `json:"code" pattern:"^[a-z]+$"`
	Name   string            `json:"name" required:"true"`
	On     bool              `json:"on"`
	Wait   spec.Duration     `json:"wait" alias:"wait_ms:ms,wait_secs:s"`
	List   []string          `json:"list" max:"2"`
	Names  spec.Names        `json:"names"`
	Map    map[string]string `json:"map"`
	Raw    json.RawMessage   `json:"raw"`
	Prompt spec.Prompt       `json:"prompt"`
	Effort *spec.Effort      `json:"effort"`
	Part   *part             `json:"part"`
	Token  string            `json:"token" secret:"true"`
}

type part struct {
	Type   string `json:"type" enum:"a|b"`
	OnlyA  string `json:"only_a" of:"a"`
	Always string `json:"always"`
}

func TestValuesOfEachShape(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]values{
		"{text: 'a ${A}', color: green, code: abc}": {Text: "a value of a", Color: "green", Code: "abc"},
		"{on: TRUE, wait: 1m30s}":                   {On: true, Wait: spec.Duration(90 * time.Second)},
		"{wait_ms: 1500}":                           {Wait: spec.Duration(1500 * time.Millisecond)},
		"{wait_secs: 0.5}":                          {Wait: spec.Duration(500 * time.Millisecond)},
		"{list: [a, b], map: {x: '1'}}":             {List: []string{"a", "b"}, Map: map[string]string{"x": "1"}},
		"{list: null, map: null, part: null}":       {},
		"{names: null}":                             {Names: spec.Names{}},
		"{raw: {b: [1.50, x, null], a: yes}}":       {Raw: json.RawMessage(`{"b":[1.50,"x",null],"a":"yes"}`)},
		"{raw: '${A}'}":                             {Raw: json.RawMessage(`"value of a"`)},
		"{prompt: 'Be brief. $$5'}":                 {Prompt: "Be brief. $5"},
		"{effort: high}":                            {Effort: &spec.Effort{Level: "high"}},
		"{effort: '${tenant.LEVEL}'}":               {Effort: &spec.Effort{Variable: "LEVEL"}},
		"{effort: 40}":                              {Effort: &spec.Effort{Percent: 40}},
		"{effort: {budget: 100}}":                   {Effort: &spec.Effort{Budget: 100}},
		"{part: {type: a, only_a: x}}":              {Part: &part{Type: "a", OnlyA: "x"}},
		"{x-note: ignored}":                         {},
	} {
		want.Name = "n"
		got, found := decodeText[values](t, "name: n\n<<: "+text)
		if diff := cmp.Diff(want, got); diff != "" || found != nil {
			t.Errorf("%s gives %q (-want +got):\n%s", text, found, diff)
		}
	}
}

func TestInvalidValues(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{text: 5}":                    `invalid-value text: text must be a text, not the number 5 (write it in quotes: "5")`,
		"{text: [a]}":                  "invalid-value text: text must be a text, not a list",
		"{text: '${B}'}":               "unset-variable text: the variable B is not set (set it, or write ${B:-default})",
		"{text: '${B'}":                `invalid-value text: text: the reference "${B" lacks its closing }`,
		"{text: $BASE}":                "no-effect text: text contains a variable in another system's syntax; it is not expanded (write ${BASE}; a plain $ is written $$)",
		"{color: gren}":                `invalid-value color: color cannot be "gren"; allowed are red or green (did you mean "green"?)`,
		"{code: A1}":                   `invalid-value code: code cannot be "A1"; it must match ^[a-z]+$`,
		"{on: 'yes'}":                  `invalid-value on: on must be true or false, not the text "yes" (write true)`,
		"{wait: 5}":                    "invalid-value wait: wait must be a time span with its unit, not the number 5 (write 5s for seconds, or 5ms for milliseconds)",
		"{wait: 2 days}":               `invalid-value wait: wait must be a time span such as 10s or 1m30s, not the text "2 days" (write 48h)`,
		"{wait_ms: -1}":                "invalid-value wait_ms: wait_ms is -1; it must be 0 or more",
		"{wait_secs: 1e300}":           "invalid-value wait_secs: wait_secs is 1e300, which is too large",
		"{wait_ms: soon}":              `invalid-value wait_ms: wait_ms must be a number of milliseconds, not the text "soon"`,
		"{wait: 1s, wait_ms: 1}":       "invalid-value wait_ms: wait_ms means the same as wait; only one of them can be given",
		"{list: a}":                    `invalid-value list: list must be a list, not the text "a" (write [a])`,
		"{list: [a, b, c]}":            "invalid-value list: list has 3 elements; it can have at most 2",
		"{list: [a, 5]}":               `invalid-value list[1]: list[1] must be a text, not the number 5 (write it in quotes: "5")`,
		"{map: [a]}":                   "invalid-value map: map must be a mapping, not a list",
		"{map: {a b: 1}}":              `invalid-value map["a b"]: a b must be a text, not the number 1 (write it in quotes: "1")`,
		"{raw: 010}":                   "invalid-value raw: raw: the number 010 starts with 0, which may mean octal: remove the 0, or write 0o… or quotes",
		"{prompt: [a]}":                "invalid-value prompt: prompt must be a text or {file: path}, not a list",
		"{prompt: {file: nowhere}}":    "invalid-value prompt.file: the file nowhere cannot be read: it does not exist",
		"{effort: 101}":                "invalid-value effort: effort is 101; as a number it must be a whole one from 0 to 100",
		"{effort: hgh}":                `invalid-value effort: effort cannot be "hgh"; allowed are off, none, low, medium, high or max (did you mean "high"?)`,
		"{part: x}":                    `invalid-value part: part must be a mapping, not the text "x"`,
		"{part: {type: b, only_a: x}}": "unknown-field part.only_a: only_a does not belong to the type b, only to a (allowed are type or always)",
		"{part: {alwys: x}}":           `unknown-field part.alwys: unknown field "alwys" (did you mean "always"?)`,
		"{token: [s]}":                 "invalid-value token: token must be a text, not a list",
		"{token: '${QUOTED}'}":         "invalid-value token: the variable in token has quotes around its value, which are sent with it (remove the quotes from the environment)",
		"{token: secret-12345}":        "plain-secret token: token contains a secret in plain text (write ${NAME} and set the variable, or ${file:path})",
		"{token: $KEY}":                "invalid-value token: token contains a variable in another system's syntax; it would be used literally (write ${KEY}; a plain $ is written $$)",
	} {
		if _, found := decodeText[values](t, "name: n\n<<: "+text); len(found) != 1 || found[0] != want {
			t.Errorf("%s gives %q, want %q", text, found, want)
		}
	}
}

func TestRequiredFields(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"{text: x}":         {"missing-field name: name is required"},
		"{name: }":          {"missing-field name: name has no value"},
		"{name: ''}":        {"missing-field name: name is empty"},
		"{name: '${B:-}'}":  nil, // the file names it
		"{nme: x}":          {`unknown-field nme: unknown field "nme" (did you mean "name"?)`},
		"{name: x, nme: y}": {`unknown-field nme: unknown field "nme" (did you mean "name"?)`},
	} {
		if _, found := decodeText[values](t, text); cmp.Diff(want, found) != "" {
			t.Errorf("%s gives %q, want %q", text, found, want)
		}
	}
}

// Secrets of invalid and unknown fields do not appear where the file is shown.
func TestSecretsAreHiddenInTheFile(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{name: n, token: abcdef}":                   "{name: n, token: ******}",
		"{name: n, token: 123456}":                   "{name: n, token: ******}",
		"{name: n, api_key: abcdef}":                 "{name: n, api_key: ******}",
		"{name: n, extra: {password: abcdef, b: c}}": "{name: n, extra: {password: ******, b: c}}",
		"{name: n, text: 'https://u:pw123456@h/x'}":  "{name: n, text: 'https://u:********@h/x'}",
		"{name: n, token: '${A}'}":                   "{name: n, token: '${A}'}",
	} {
		d := decoderOf(t, text)
		decode.DecodeRecord[values](d, "", d.Tree.Root, nil)
		if got := string(d.Tree.Documents[0].RedactedText()); got != want {
			t.Errorf("%s is shown as %s, want %s", text, got, want)
		}
	}
}

func TestAsWrittenKeepsReferences(t *testing.T) {
	t.Parallel()
	d := decoderOf(t, "{b: ['${A}', 0x10, True], a: {c: null}}")
	if got, want := string(d.EncodeAsWritten(d.Tree.Root)), `{"b":["${A}",16,true],"a":{"c":null}}`; got != want {
		t.Errorf("it is %s, want %s", got, want)
	}
}

package docs_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// playedBy has the cases of each class of deviations, which is the beginning of a row of the table. A case is
// a file, or a file and what it calls the case.
var playedBy = map[string][]string{
	"No text, call or refusal":                      {"cli/testdata/vendors/empty-answer-after-tool.txtar", "model/openai/odd_test.go: choices that are null alone"},
	"An empty answer of a pool's member":            {"model/pool_test.go: TestAPoolMovesOnAfterAnAnswerOfReasoningAlone", "model/pool_test.go: TestWhenAPoolMovesOn"},
	"A JSON document instead":                       {"cli/testdata/vendors/plain-json-answer.txtar", "cli/testdata/vendors/error-as-plain-json-in-stream-type.txtar"},
	"Comments, pings and empty frames":              {"cli/testdata/vendors/comments-do-not-keep-alive.txtar", "cli/testdata/vendors/empty-data-frame.txtar"},
	"Nothing for minutes":                           {"model/watched_test.go: TestTheFirstTokenHasALimitOfItsOwn"},
	"A byte order mark":                             {"model/openai/testdata/chat/byte_order_mark.sse", "model/internal/vendorhttp/sse_test.go: a byte order mark in data"},
	"The mark of the end, `[DONE]`":                 {"model/openai/testdata/chat/unfinished.sse", "model/openai/testdata/chat/calls_no_reason.sse"},
	"Halves of a character":                         {"model/openai/testdata/chat/split_character.sse", "model/internal/vendorhttp/sse_test.go: split character"},
	"Single line ends":                              {"model/openai/odd_test.go: single line ends", "model/google/odd_test.go: carriage returns", "model/anthropic/odd_test.go: lines of JSON"},
	"Events in a field of another object":           {"model/internal/vendortest/recording.go: events in response", "model/google/odd_test.go: TestWrappedEventsAreRead"},
	"Several events in one":                         {"model/internal/vendorhttp/sse_test.go: joined events", "model/internal/vendorhttp/sse_test.go: JSON over several lines"},
	"Server-sent events or JSON lines instead of":   {"model/bedrock/odd_test.go: events with their name", "model/bedrock/odd_test.go: lines of JSON"},
	"Data that is not JSON":                         {"model/openai/odd_test.go: signs of life that are not JSON", "model/anthropic/odd_test.go: a ping that is not JSON"},
	"`null`, `[]`, `{}` or one object":              {"model/openai/odd_test.go: calls that are null", "model/google/odd_test.go: candidates that are null"},
	"Events, objects and lists encoded twice":       {"model/anthropic/odd_test.go: events that are encoded twice", "model/google/odd_test.go: an event in a list"},
	"An index, an ID or a reason of another type":   {"model/openai/testdata/chat/odd_types.sse", "model/bedrock/odd_test.go: an ID that is a number"},
	"A text or call of a type that cannot be read":  {"model/openai/odd_test.go: choices that are text", "model/google/odd_test.go: parts that are text"},
	"Numbers as texts, floats or null":              {"model/openai/testdata/chat/usage_loose.sse", "model/openai/testdata/chat/usage_text.sse"},
	"`message` instead of `delta`":                  {"cli/testdata/vendors/legacy-function-call.txtar", "model/openai/testdata/chat/message_deltas.sse"},
	"Names in camel case":                           {"model/openai/odd_test.go: camel"},
	"Reasoning in tags":                             {"model/openai/odd_test.go: CheckThoughts", "model/bedrock/odd_test.go: CheckThoughts"},
	"Names of tools with marks":                     {"model/internal/vendorhttp/called_tool_internal_test.go: TestNamesOfCalledToolsAreReadWithoutMarks"},
	"The name of a function in pieces":              {"cli/testdata/vendors/function-name-in-pieces.txtar"},
	"A tail of arguments at an unknown index":       {"model/openai/testdata/chat/calls_tail.sse"},
	"Arguments encoded twice, repeated, cumulative": {"cli/testdata/vendors/arguments-encoded-twice.txtar", "model/openai/testdata/chat/calls_repeated.sse", "model/openai/testdata/chat/calls_cumulative.sse"},
	"Only `response.completed`":                     {"cli/testdata/vendors/responses-only-completed.txtar"},
	"An event named only in `data`":                 {"model/anthropic/testdata/nameless.sse"},
	"A whole message instead of events":             {"model/anthropic/testdata/document.sse"},
	"`reasoning_content` and `extra_content`":       {"cli/testdata/vendors/reasoning-not-sent-back.txtar", "cli/testdata/vendors/signature-of-call-not-sent-back.txtar"},
	"`reasoning_details`":                           {"model/openai/odd_test.go: TestFieldsOfAMessageGoBackToTheirProvider"},
	"A limit on the IDs of calls":                   {"model/openai/odd_test.go: TestIDsOfCallsFitTheServer"},
	"Blocks without an end, or with two":            {"model/anthropic/odd_test.go: a block that ends twice", "model/bedrock/odd_test.go: a block that does not end"},
	"An error in another form":                      {"model/internal/vendorhttp/mistakes_test.go: TestErrorsAreReadInAnyForm"},
	"An error in an unknown form":                   {"model/openai/odd_test.go: a status in an unknown form", "model/google/odd_test.go: an error in the name of a field"},
	"Other events or lines, and no answer":          {"model/openai/odd_test.go: an unknown document", "model/anthropic/odd_test.go: an unknown event and no answer"},
	"An answer compressed with gzip":                {"model/internal/vendorhttp/encoding_test.go: gzip, unsaid"},
	"Complete texts without pieces":                 {"model/openai/testdata/responses/text_done_only.sse", "model/openai/testdata/responses/completed_only.sse"},
	"Finish reasons of other vendors":               {"model/openai/finish_test.go: TestFinishReasonsOfServers"},
	"A refusal of `strict`":                         {"model/openai/strict_sent_test.go: TestStrictIsLeftOutWhereServersRejectIt"},
	"A refusal of a large output limit":             {"model/openai/output_limit_test.go: TestRejectedOutputLimitsAreLowered"},
	"A requirement that each message has `content`": {"cli/testdata/vendors/assistant-without-content.txtar"},
	"A refusal of a field":                          {"cli/testdata/vendors/strict-server-unknown-fields.txtar", "model/openai/dialects_test.go: TestRejectedFieldsAreLeftOut"},
	"A refusal that names a tool by its number":     {"model/internal/vendorhttp/mistakes_test.go: TestRefusalsNameTheirTools"},
	"A limit on the names of tools":                 {"model/internal/vendortest/names.go: testToolNames"},
	"A subset of JSON Schema":                       {"model/internal/toolschema/dialect_test.go: nullable and $schema", "model/internal/toolschema/dialect_test.go: a recursive reference"},
	"A refusal of alternatives at the root":         {"cli/testdata/vendors/anthropic-top-level-oneof.txtar"},
	"A refusal of a request as too long":            {"cli/testdata/vendors/shortened-request-too-long.txtar", "model/internal/vendorhttp/called_tool_internal_test.go: TestRefusalsOfLongRequestsAreRecognized"},
	"Content that the API does not read":            {"model/anthropic/request_test.go: TestContentOfResults"},
	"Texts and images of a result":                  {"model/anthropic/request_test.go: TestRequestBody", "model/openai/request_test.go: TestResultsWithImages"},
	"A turn that exceeds the context window":        {"cli/testdata/vendors/task-trimmed-away.txtar", "plugins/window/property_test.go: TestEveryRequestIsSound"},
}

var handledBy = regexp.MustCompile("\\[`(\\w+)`\\]\\(\\.\\./\\.\\./((?:model|plugins)/[^)]*\\.go)\\)")

// TestTheTableOfDeviationsIsComplete checks that each row of the table has a function and a case that
// exist, and that each answer of a vendor that a test plays is in it.
func TestTheTableOfDeviationsIsComplete(t *testing.T) {
	data, err := os.ReadFile("tutorials/writing-a-provider.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(data), "| A server sends |")
	table, _, _ = strings.Cut(table, "\n\n")
	rows := strings.Split(table, "\n")[2:]
	for class, cases := range playedBy {
		found := 0
		for _, row := range rows {
			if strings.HasPrefix(row, "| "+class) {
				found++
			}
		}
		if found != 1 {
			t.Errorf("the class %q has %d rows", class, found)
		}
		for _, played := range cases {
			checkCase(t, played)
		}
	}
	for _, row := range rows {
		checkRow(t, row)
	}
	played, err := filepath.Glob("../cli/testdata/vendors/*.txtar")
	if err != nil || len(played) == 0 {
		t.Fatal(played, err)
	}
	for _, file := range played {
		if !strings.Contains(table, "(../"+filepath.ToSlash(file)+")") {
			t.Errorf("no row is played by %s", file)
		}
	}
}

// checkRow checks that a row has a class with cases, and functions that exist.
func checkRow(t *testing.T, row string) {
	t.Helper()
	cases := 0
	for class, played := range playedBy {
		if strings.HasPrefix(row, "| "+class) {
			cases = len(played)
		}
	}
	if cases == 0 {
		t.Errorf("no case plays the row %.80s", row)
	}
	found := handledBy.FindAllStringSubmatch(row, -1)
	if len(found) == 0 {
		t.Errorf("no function handles the row %.80s", row)
	}
	for _, m := range found {
		source, err := os.ReadFile(filepath.Join("..", m[2]))
		if err != nil || !regexp.MustCompile(`(?m)^func (\([^)]*\) )?`+m[1]+`\(`).Match(source) {
			t.Errorf("%s has no function %s: %v", m[2], m[1], err)
		}
	}
}

// checkCase checks that a case exists: a file, or a name in a file.
func checkCase(t *testing.T, played string) {
	t.Helper()
	file, name, _ := strings.Cut(played, ": ")
	data, err := os.ReadFile(filepath.Join("..", file))
	if err != nil || !strings.Contains(string(data), name) {
		t.Errorf("there is no case %s: %v", played, err)
	}
}

//go:build !race

package bedrock

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/model/internal/vendortest"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/document"
	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime/types"
	"github.com/google/go-cmp/cmp"
)

// newSDK returns the vendor's client over a test transport.
func newSDK(answer vendortest.RoundTrip) *bedrockruntime.Client {
	return bedrockruntime.New(bedrockruntime.Options{
		Region: "us-east-1", HTTPClient: &http.Client{Transport: answer}, RetryMaxAttempts: 1,
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "AKIDEXAMPLE", SecretAccessKey: "hush"}, nil
		}),
	})
}

// checkMessages decodes and encodes messages with the SDK's types and compares: unknown fields
// would be lost.
func checkMessages(t testing.TB, messages []json.RawMessage) {
	t.Helper()
	for _, message := range messages {
		var wrote []byte
		client := newSDK(func(r *http.Request) (*http.Response, error) {
			wrote, _ = io.ReadAll(r.Body)
			res := vendortest.StreamResponse(r, strings.NewReader(`{"output":{"message":`+string(message)+`},"stopReason":"end_turn"}`))
			res.Header.Set("Content-Type", "application/json")
			return res, nil
		})
		input := &bedrockruntime.ConverseInput{ModelId: aws.String("m"), Messages: []types.Message{{Role: "user", Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "x"}}}}}
		read, err := client.Converse(context.Background(), input)
		if err != nil {
			t.Errorf("the SDK does not read %s: %v", message, err)
			return
		}
		input.Messages = []types.Message{read.Output.(*types.ConverseOutputMemberMessage).Value}
		if _, err := client.Converse(context.Background(), input); err != nil {
			t.Errorf("the SDK does not write %s: %v", message, err)
			return
		}
		var again struct{ Messages []any }
		var want any
		if json.Unmarshal(wrote, &again) != nil || json.Unmarshal(message, &want) != nil || len(again.Messages) != 1 {
			t.Fatalf("the SDK writes %s", wrote)
		}
		if diff := cmp.Diff(want, again.Messages[0]); diff != "" {
			t.Errorf("the SDK reads another message (-want +got):\n%s", diff)
		}
	}
}

// TestRequestIsTheOneOfTheSDK compares a request with the vendor client's request for the same
// conversation.
func TestRequestIsTheOneOfTheSDK(t *testing.T) {
	text := func(s string) types.ContentBlock { return &types.ContentBlockMemberText{Value: s} }
	use := func(id string, input any) types.ContentBlock {
		return &types.ContentBlockMemberToolUse{Value: types.ToolUseBlock{ToolUseId: &id, Name: aws.String("look"), Input: document.NewLazyDocument(input)}}
	}
	result := func(id string, status types.ToolResultStatus, content ...types.ToolResultContentBlock) types.ContentBlock {
		return &types.ContentBlockMemberToolResult{Value: types.ToolResultBlock{ToolUseId: &id, Status: status, Content: content}}
	}
	resultText := func(s string) types.ToolResultContentBlock { return &types.ToolResultContentBlockMemberText{Value: s} }
	image := types.ImageBlock{Format: types.ImageFormatPng, Source: &types.ImageSourceMemberBytes{Value: vendortest.PNG}}
	file := func(format types.DocumentFormat, name, content string) types.ContentBlock {
		return &types.ContentBlockMemberDocument{Value: types.DocumentBlock{Format: format, Name: &name, Source: &types.DocumentSourceMemberBytes{Value: []byte(content)}}}
	}
	mark := types.CachePointBlock{Type: types.CachePointTypeDefault}
	var wrote []byte
	var path string
	client := newSDK(func(r *http.Request) (*http.Response, error) {
		wrote, _ = io.ReadAll(r.Body)
		path = r.URL.EscapedPath()
		return vendortest.StreamResponse(r, bytes.NewReader(vendor.Recorded(t, "text"))), nil
	})
	schema := map[string]any{"type": "object", "properties": map[string]any{"x": map[string]any{"type": "integer"}}, "required": []string{"x"}}
	stream, err := client.ConverseStream(t.Context(), &bedrockruntime.ConverseStreamInput{
		ModelId: aws.String(testModel),
		System:  []types.SystemContentBlock{&types.SystemContentBlockMemberText{Value: "Be <brief> & kind."}, &types.SystemContentBlockMemberCachePoint{Value: mark}},
		Messages: []types.Message{
			{Role: "user", Content: []types.ContentBlock{text("What is this?"), &types.ContentBlockMemberImage{Value: image}, file("pdf", "document", "%PDF-1.7"), file("csv", "table csv", "a,b")}},
			{Role: "assistant", Content: []types.ContentBlock{
				&types.ContentBlockMemberReasoningContent{Value: &types.ReasoningContentBlockMemberReasoningText{Value: types.ReasoningTextBlock{Text: aws.String("Think."), Signature: aws.String("sig")}}},
				&types.ContentBlockMemberReasoningContent{Value: &types.ReasoningContentBlockMemberRedactedContent{Value: []byte("secret")}},
				text("Let me "), text("see."), use("call_1", map[string]any{"x": 1}), use("call_2", map[string]any{}), use("call_3", map[string]any{"malformed": `{"broken`}),
			}},
			{Role: "user", Content: []types.ContentBlock{
				result("call_1", "", resultText("A "), resultText("cat."), &types.ToolResultContentBlockMemberImage{Value: image}),
				result("call_2", "error", resultText("no such file")), result("call_3", "error", resultText("the call failed")),
				text("Go on."), text("<system>\nMind the time.\n</system>"), &types.ContentBlockMemberCachePoint{Value: mark},
			}},
		},
		InferenceConfig: &types.InferenceConfiguration{MaxTokens: aws.Int32(2048)},
		ToolConfig: &types.ToolConfiguration{Tools: []types.Tool{
			&types.ToolMemberToolSpec{Value: types.ToolSpecification{Name: aws.String("look"), Description: aws.String("Looks <at> it"), InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(schema)}}},
			&types.ToolMemberToolSpec{Value: types.ToolSpecification{Name: aws.String("now"), InputSchema: &types.ToolInputSchemaMemberJson{Value: document.NewLazyDocument(map[string]any{"type": "object"})}}},
			&types.ToolMemberCachePoint{Value: mark},
		}},
		OutputConfig: &types.OutputConfig{TextFormat: &types.OutputFormat{Type: types.OutputFormatTypeJsonSchema, Structure: &types.OutputFormatStructureMemberJsonSchema{
			Value: types.JsonSchemaDefinition{Schema: aws.String(`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`), Name: aws.String("answer")},
		}}},
		AdditionalModelRequestFields: document.NewLazyDocument(map[string]any{"thinking": map[string]any{"type": "enabled", "budget_tokens": 1024}}),
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.GetStream().Close(); err != nil {
		t.Error(err)
	}
	req := vendortest.FullConversation(testModel)
	parts := req.Messages[2].Parts
	req.Messages[2].Parts = append([]model.Part{vendortest.Reasoning("Think.", "thinking:sig", ""), vendortest.Reasoning("", "bedrock_redacted:c2VjcmV0", "")}, parts[1:]...)
	req.Output = outputOf(`{"type":"object","properties":{"a":{"type":"string"}}}`)
	req.Output.Name = "answer"
	var want, got any
	if json.Unmarshal(wrote, &want) != nil || json.Unmarshal([]byte(vendor.Sent(t, req)), &got) != nil {
		t.Fatalf("the client sends %s", wrote)
	}
	// The last two user messages are marked; the SDK's are written out for one.
	messages := want.(map[string]any)["messages"].([]any)
	first := messages[0].(map[string]any)
	first["content"] = append(first["content"].([]any), map[string]any{"cachePoint": map[string]any{"type": "default"}})
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the request is another one (-SDK +ours):\n%s", diff)
	}
	if path != testPath {
		t.Errorf("the SDK asks %s", path)
	}
}

// TestTheSDKReadsTheStreams checks that the test streams are valid for the vendor's SDK.
func TestTheSDKReadsTheStreams(t *testing.T) {
	for _, r := range recordings {
		client := newSDK(func(req *http.Request) (*http.Response, error) {
			res := vendortest.StreamResponse(req, bytes.NewReader(vendor.Recorded(t, r.Name)))
			res.Header.Set("Content-Type", "application/vnd.amazon.eventstream")
			return res, nil
		})
		out, err := client.ConverseStream(t.Context(), &bedrockruntime.ConverseStreamInput{
			ModelId: aws.String("m"), Messages: []types.Message{{Role: "user", Content: []types.ContentBlock{&types.ContentBlockMemberText{Value: "x"}}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		text, arguments := "", ""
		for ev := range out.GetStream().Events() {
			d, ok := ev.(*types.ConverseStreamOutputMemberContentBlockDelta)
			if !ok {
				continue
			}
			switch delta := d.Value.Delta.(type) {
			case *types.ContentBlockDeltaMemberText:
				text += delta.Value
			case *types.ContentBlockDeltaMemberToolUse:
				arguments += *delta.Value.Input
			}
		}
		wantText, wantArguments := model.PartsText(r.Parts), ""
		for _, p := range r.Parts {
			if p.ToolCall != nil && p.ToolCall.Name != "now" {
				wantArguments += string(p.ToolCall.Arguments)
			}
		}
		err = out.GetStream().Err()
		_ = out.GetStream().Close() // returns err again
		if text != wantText || arguments != wantArguments || (err != nil) != (r.Class != "" && r.Name != "malformed") {
			t.Errorf("%s: the SDK reads %q and %s, %v", r.Name, text, arguments, err)
		}
	}
}

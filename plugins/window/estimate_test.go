package window_test

import (
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins/window"
)

func TestAnEstimateCountsWhatIsSent(t *testing.T) {
	message := func(parts ...model.Part) model.Message { return model.Message{Parts: parts} }
	blob := func(typ model.PartType, mediaType, data string) model.Part {
		return model.Part{Type: typ, Blob: &model.Blob{MediaType: mediaType, Data: []byte(data)}}
	}
	for name, tt := range map[string]struct {
		message model.Message
		want    int
	}{
		"nothing":        {message(), 4},
		"text":           {model.User(strings.Repeat("a", 400)), 104},
		"several parts":  {message(model.Text("ab"), model.Text("cd")), 5},
		"rounded up":     {model.User("a"), 5},
		"Chinese":        {model.User("你好世界"), 8},
		"Japanese":       {model.User("こんにちは"), 9},
		"Korean":         {model.User("안녕"), 6},
		"first of those": {model.User("\u2e80\u2e80\u2e80\u2e80"), 8},
		"last of others": {model.User("\u2e7f\u2e7f\u2e7f\u2e7f"), 7},
		"emoji":          {model.User("🙂🙂"), 6},
		"Cyrillic":       {model.User("привет"), 7},
		"no UTF-8":       {model.User("\xe2\xe2\xff\xe3"), 6},
		"reasoning":      {message(model.Part{Type: model.PartReasoning, Reasoning: &model.Reasoning{Text: "abcd", Encrypted: strings.Repeat("x", 40)}}), 14},
		"call": {message(model.Part{Type: model.PartToolCall, ToolCall: &model.ToolCall{
			ID: "1", Name: "grep", Arguments: []byte(`{"a":"` + strings.Repeat("x", 400-8) + `"}`),
		}}), 4 + 8 + 1 + 100},
		"result":          {result("1", strings.Repeat("y", 400-1)), 4 + 8 + 100},
		"image":           {message(blob(model.PartImage, "image/png", strings.Repeat("x", 1e6))), 1604},
		"image in result": {message(model.Part{Type: model.PartToolResult, ToolResult: &model.ToolResult{Content: []model.Part{blob(model.PartImage, "", "x")}}}), 1612},
		"PDF":             {message(blob(model.PartFile, "application/pdf", "x")), 2504},
		"text file":       {message(blob(model.PartFile, "text/csv", strings.Repeat("x", 400))), 104},
		"text elsewhere":  {message(blob(model.PartFile, "text/csv", "")), 2504},
		"broken parts": {message(
			model.Part{Type: model.PartToolCall}, model.Part{Type: model.PartToolResult}, model.Part{Type: model.PartImage}, model.Part{},
		), 4},
	} {
		if got := window.Estimate(&tt.message); got != tt.want {
			t.Errorf("%s: %d tokens, want %d", name, got, tt.want)
		}
	}
}

func TestEverythingOfAToolCountsAlike(t *testing.T) {
	tool := func(name, description, parameters int) []model.Tool {
		return []model.Tool{{
			Name: strings.Repeat("n", name), Description: strings.Repeat("d", description), Parameters: []byte(strings.Repeat("p", parameters)),
		}}
	}
	for _, tools := range [][]model.Tool{tool(40, 400, 4000), tool(4000, 40, 400), tool(400, 4000, 40)} {
		if got, want := window.EstimateTools(tools), 8+1110; got != want {
			t.Errorf("%d tokens, want %d", got, want)
		}
	}
	if got := window.EstimateTools(nil); got != 0 {
		t.Errorf("no tools cost %d tokens", got)
	}
}

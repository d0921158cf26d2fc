package a2awire_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/a2aproject/a2a-go/v2/a2a"
	"github.com/agentruntime/agentruntime/internal/a2awire"
	"github.com/agentruntime/agentruntime/model"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func blob(kind model.PartType, b model.Blob) model.Part { return model.Part{Type: kind, Blob: &b} }

func TestAPeerIsShownTextsImagesAndFilesAlone(t *testing.T) {
	parts := a2awire.Parts([]model.Part{
		{Type: model.PartReasoning, Reasoning: &model.Reasoning{Text: "secret thought"}},
		model.Text("hello"),
		model.Text(""),
		blob(model.PartImage, model.Blob{MediaType: "image/png", Data: []byte{1, 2}, Name: "a.png"}),
		blob(model.PartFile, model.Blob{MediaType: "application/pdf", URI: "https://example.com/a.pdf"}),
		blob(model.PartFile, model.Blob{MediaType: "text/plain", Name: "empty.txt"}),
		{Type: model.PartFile},
		{Type: model.PartToolCall, ToolCall: &model.ToolCall{ID: "c", Name: "secret_tool"}},
		{Type: model.PartToolResult, ToolResult: &model.ToolResult{CallID: "c", Content: []model.Part{model.Text("secret result")}}},
	})
	data, err := json.Marshal(parts)
	if err != nil {
		t.Fatal(err)
	}
	want := `[{"text":"hello"},` +
		`{"raw":"AQI=","filename":"a.png","mediaType":"image/png"},` +
		`{"url":"https://example.com/a.pdf","mediaType":"application/pdf"},` +
		`{"raw":"","filename":"empty.txt","mediaType":"text/plain"}]`
	if diff := cmp.Diff(want, string(data)); diff != "" {
		t.Error(diff)
	}
	var back []*a2a.Part
	if err := json.Unmarshal(data, &back); err != nil {
		t.Errorf("the peer cannot read the parts: %v", err)
	}
}

func TestWhatAPeerSendsBecomesPartsOfAMessage(t *testing.T) {
	png := []byte("\x89PNG\r\n\x1a\n")
	for name, tt := range map[string]struct {
		part *a2a.Part
		want []model.Part
	}{
		"a text":                      {a2a.NewTextPart("hi"), []model.Part{model.Text("hi")}},
		"an empty text":               {a2a.NewTextPart(""), nil},
		"nothing":                     {nil, nil},
		"a part without content":      {&a2a.Part{Filename: "x"}, nil},
		"data":                        {a2a.NewDataPart(map[string]any{"b": 1, "a": []any{true}}), []model.Part{model.Text(`{"a":[true],"b":1}`)}},
		"data that is null":           {a2a.NewDataPart(nil), []model.Part{model.Text("null")}},
		"an image":                    {&a2a.Part{Content: a2a.Raw{1}, MediaType: "IMAGE/png", Filename: "a.png"}, []model.Part{blob(model.PartImage, model.Blob{MediaType: "IMAGE/png", Data: []byte{1}, Name: "a.png"})}},
		"an image without media type": {a2a.NewRawPart(png), []model.Part{blob(model.PartImage, model.Blob{MediaType: "image/png", Data: png})}},
		"a file":                      {&a2a.Part{Content: a2a.Raw{1}, MediaType: "application/pdf"}, []model.Part{blob(model.PartFile, model.Blob{MediaType: "application/pdf", Data: []byte{1}})}},
		"the address of an image":     {a2a.NewFileURLPart("https://example.com/a", "image/gif"), []model.Part{blob(model.PartImage, model.Blob{MediaType: "image/gif", URI: "https://example.com/a"})}},
		"an address without a type":   {a2a.NewFileURLPart("http://example.com/a", ""), []model.Part{blob(model.PartFile, model.Blob{MediaType: "application/octet-stream", URI: "http://example.com/a"})}},
	} {
		got, err := a2awire.ModelParts([]*a2a.Part{tt.part}, 0)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(append([]model.Part{}, tt.want...), got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestAnAddressThatIsNoneOfTheWebIsRefused(t *testing.T) {
	for _, address := range []a2a.URL{"file:///etc/passwd", "gs://bucket/x", "data:text/plain,x", "/etc/passwd", "https:///x", "https:x", "javascript:1", "http://\x00"} {
		_, err := a2awire.ModelParts([]*a2a.Part{a2a.NewTextPart("a"), a2a.NewFileURLPart(address, "text/plain")}, 0)
		var bad *a2awire.PartError
		if !errors.As(err, &bad) || bad.Index != 1 {
			t.Errorf("%q: the error is %v", address, err)
		}
	}
}

func TestDataThatIsNoJSONIsRefused(t *testing.T) {
	_, err := a2awire.ModelParts([]*a2a.Part{a2a.NewDataPart(math.NaN())}, 0)
	var bad *a2awire.PartError
	if !errors.As(err, &bad) {
		t.Errorf("the error is %v", err)
	}
}

func TestAMessageThatIsTooLargeIsRefused(t *testing.T) {
	parts := []*a2a.Part{a2a.NewTextPart("12345"), a2a.NewRawPart([]byte("123")), a2a.NewDataPart("ab")}
	if _, err := a2awire.ModelParts(parts, 12); err != nil {
		t.Errorf("12 of 12 bytes: %v", err)
	}
	var size *a2awire.SizeError
	if _, err := a2awire.ModelParts(parts, 11); !errors.As(err, &size) || size.What != "bytes" || size.Limit != 11 {
		t.Errorf("12 of 11 bytes: %v", err)
	}
	if _, err := a2awire.ModelParts(make([]*a2a.Part, 1001), 0); !errors.As(err, &size) || size.What != "parts" || size.Limit != 1000 {
		t.Errorf("1001 parts: %v", err)
	}
}

func TestALongNameIsCutAtACharacter(t *testing.T) {
	got, err := a2awire.ModelParts([]*a2a.Part{{Content: a2a.Raw{}, Filename: strings.Repeat("ü", 200)}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.Repeat("ü", 127); got[0].Blob.Name != want {
		t.Errorf("the name has %d bytes", len(got[0].Blob.Name))
	}
}

func TestTheTextOfParts(t *testing.T) {
	text, data := a2a.NewTextPart, a2a.NewDataPart
	for want, parts := range map[string][]*a2a.Part{
		"":                     {nil, {}, text(""), a2a.NewRawPart([]byte("x")), a2a.NewFileURLPart("https://example.com", "")},
		"one text in chunks\n": {text("one te"), text("xt in "), text(""), text("chunks"), text("\n")},
		"1 \n\n2":              {text("1 \n"), text("\n2")},
		"a\n{\"b\":1}\nc":      {text("a"), data(map[string]any{"b": 1}), text("c")},
		"d\n7\n":               {text("d\n"), data(7), text("\n")},
		"1\n2":                 {data(1), text(""), data(2)},
		"e":                    {data(math.NaN()), text("e")},
	} {
		if got := a2awire.Text(parts); got != want {
			t.Errorf("the text is %q, want %q", got, want)
		}
	}
}

func TestAQuestionIsForAPersonAndItsDataForAProgram(t *testing.T) {
	text, data := a2a.NewTextPart, a2a.NewDataPart
	for want, parts := range map[string][]*a2a.Part{
		"|<nil>":       {nil, a2a.NewRawPart([]byte("x"))},
		"May I?|<nil>": {text("May "), text("I?")},
		"May I?|[a]":   {data([]any{"a"}), text("May I?"), data("b")},
		"[\"a\"]|[a]":  {data([]any{"a"})},
	} {
		asked, details := a2awire.Question(parts)
		if got := fmt.Sprintf("%s|%v", asked, details); got != want {
			t.Errorf("it asks %s, want %s", got, want)
		}
	}
}

// modelParts draws parts that a peer accepts.
func modelParts(t *rapid.T) []model.Part {
	texts := rapid.StringMatching(`[a-zä ,\n]{1,20}`)
	one := rapid.Custom(func(t *rapid.T) model.Part {
		media := rapid.SampledFrom([]string{"image/png", "image/webp", "application/pdf", "text/csv"}).Draw(t, "media")
		kind := model.PartFile
		if strings.HasPrefix(media, "image/") {
			kind = model.PartImage
		}
		switch rapid.IntRange(0, 2).Draw(t, "kind") {
		case 0:
			return model.Text(texts.Draw(t, "text"))
		case 1:
			data := rapid.SliceOfN(rapid.Byte(), 1, 50).Draw(t, "data")
			return blob(kind, model.Blob{MediaType: media, Data: data, Name: texts.Draw(t, "name")})
		default:
			return blob(kind, model.Blob{MediaType: media, URI: fmt.Sprintf("https://example.com/%d", rapid.Int().Draw(t, "path"))})
		}
	})
	return rapid.SliceOfN(one, 0, 10).Draw(t, "parts")
}

func TestPartsAreTheSameAfterTheWire(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := modelParts(t)
		sent := a2awire.Parts(want)
		data, err := json.Marshal(sent)
		if err != nil {
			t.Fatal(err)
		}
		var received []*a2a.Part
		if err := json.Unmarshal(data, &received); err != nil {
			t.Fatal(err)
		}
		got, err := a2awire.ModelParts(received, 0)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(append([]model.Part{}, want...), got); diff != "" {
			t.Fatal(diff)
		}
		if a2awire.Text(received) != model.PartsText(want) {
			t.Fatalf("the text became %q", a2awire.Text(received))
		}
		size := 0
		for _, p := range received {
			size += a2awire.Size(p)
		}
		if _, err := a2awire.ModelParts(received, size); err != nil {
			t.Fatalf("the limit is just met: %v", err)
		}
		if _, err := a2awire.ModelParts(received, size-1); size > 1 && err == nil {
			t.Fatalf("%d bytes are taken for less", size)
		}
	})
}

// FuzzModelParts reads raw messages of peers.
func FuzzModelParts(f *testing.F) {
	f.Add([]byte(`[{"text":"a"},{"raw":"AQI="},{"url":"https://example.com/a","mediaType":"image/png"},{"data":{"a":[1]}}]`))
	f.Add([]byte(`[null,{"text":""},{"data":null},{"url":"file:///x"}]`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var parts []*a2a.Part
		if json.Unmarshal(data, &parts) != nil {
			t.Skip()
		}
		const limit = 1 << 10
		got, err := a2awire.ModelParts(parts, limit)
		if err != nil {
			return
		}
		size := 0
		for _, p := range got {
			switch {
			case p.Type == model.PartText && p.Text != "" && p.Blob == nil:
				size += len(p.Text)
			case (p.Type == model.PartImage || p.Type == model.PartFile) && p.Blob != nil:
				size += len(p.Blob.Data)
			default:
				t.Errorf("the part is %+v", p)
			}
		}
		if size > limit {
			t.Errorf("%d bytes came in", size)
		}
		if !utf8.ValidString(a2awire.Text(parts)) {
			t.Error("the text is no UTF-8")
		}
	})
}

func TestTextsOfAMessageStandOnLinesOfTheirOwn(t *testing.T) {
	t.Parallel()
	text, data := a2a.NewTextPart, a2a.NewDataPart(map[string]any{"a": 1})
	for want, parts := range map[string][]*a2a.Part{
		"":             {data},
		"one":          {text("one")},
		"one\ntwo":     {text("one"), nil, text("two")},
		"one\n\ntwo\n": {text("one\n"), text(""), data, text("\ntwo\n")},
	} {
		if got := a2awire.Lines(parts); got != want {
			t.Errorf("the lines are %q, want %q", got, want)
		}
	}
}

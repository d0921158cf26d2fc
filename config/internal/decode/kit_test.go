package decode_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/config/internal/decode"
	"github.com/agentruntime/agentruntime/config/internal/expand"
	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// decoderOf returns a decoder of a document in which the variables A and QUOTED are set.
func decoderOf(t *testing.T, text string) *decode.Decoder {
	t.Helper()
	doc := tree.NewSourceFile("f.yaml", []byte(text))
	if found, ok := yamltree.Parse(&doc.Document, 0, keys.NounOf); !ok || len(found) > 0 {
		t.Fatalf("%q cannot be read: %v", text, found)
	}
	variables := map[string]string{"A": "value of a", "QUOTED": `"q"`}
	return &decode.Decoder{
		Tree:     &tree.Tree{Documents: []*tree.SourceFile{doc}, Root: doc.Root, Origins: overlay.NewOrigins()},
		RecordOf: record.Of,
		Expander: expand.Expander{
			Lookup: func(name string) (string, bool) { v, ok := variables[name]; return v, ok },
			Left:   1 << 20, Unread: 1 << 20,
		},
	}
}

// decodeText decodes a document into a record, and returns the diagnostics as texts.
func decodeText[T any](t *testing.T, text string) (T, []string) {
	t.Helper()
	d := decoderOf(t, text)
	value, start := decode.DecodeRecord[T](d, "", d.Tree.Root, nil)
	if start != 0 {
		t.Errorf("%d diagnostics came before", start)
	}
	return value, describe(d.Found)
}

// describe returns diagnostics as "code path: message (hint)".
func describe(list diag.List) []string {
	var texts []string
	for _, d := range list {
		text := string(d.Code) + " " + d.Path + ": " + d.Message
		if d.Hint != "" {
			text += " (" + d.Hint + ")"
		}
		texts = append(texts, text)
	}
	return texts
}

package tree_test

import (
	"testing"

	"github.com/agentruntime/agentruntime/config/internal/keys"
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

// read returns the tree of a file.
func read(t testing.TB, text string) *tree.Tree {
	t.Helper()
	doc := tree.NewSourceFile("dir/f.yaml", []byte(text))
	if found, ok := yamltree.Parse(&doc.Document, 0, keys.NounOf); !ok || len(found) > 0 {
		t.Fatalf("%q cannot be read: %v", text, found)
	}
	return &tree.Tree{Documents: []*tree.SourceFile{doc}, Root: doc.Root, Origins: overlay.NewOrigins()}
}

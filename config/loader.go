package config

import (
	"maps"

	"github.com/agentruntime/agentruntime/config/internal/decode"
	"github.com/agentruntime/agentruntime/config/internal/expand"
	"github.com/agentruntime/agentruntime/config/internal/overlay"
	"github.com/agentruntime/agentruntime/config/internal/tree"
)

// loader reads the documents of a configuration, merges them with their patches, and decodes their
// registries.
type loader struct {
	decode.Decoder

	file  *File
	kinds Kinds
	// patches are the patches of all files; leavesOut selects those to skip.
	patches   []patch
	leavesOut func(*patch) bool
	// overlaid is the number of fields that patches and extended agents may still add.
	overlaid int
}

func newLoader(opts Options, left budget, known map[string]expand.Included) *loader {
	f := &File{tree: tree.Tree{Origins: overlay.NewOrigins()}, options: opts}
	return &loader{Decoder: newDecoder(&f.tree, opts, left, known), file: f, kinds: opts.Kinds, overlaid: left.overlaid}
}

// newDecoder returns a decoder of a tree.
func newDecoder(t *tree.Tree, opts Options, left budget, known map[string]expand.Included) decode.Decoder {
	return decode.Decoder{
		Tree: t, Strict: opts.RequireVariables, RecordOf: opts.Kinds.recordOf, Surfaces: opts.Kinds.Surfaces,
		Expander: expand.Expander{Lookup: opts.lookupFunc(), Left: left.expanded, Unread: left.unread, Files: maps.Clone(known)},
	}
}

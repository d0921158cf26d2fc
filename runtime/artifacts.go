package runtime

import (
	"fmt"
	"slices"
	"sync"

	"github.com/agentruntime/agentruntime/backend"
)

// maxArtifacts bounds what the artifacts of one turn may come to, in bytes.
const maxArtifacts = 64 << 20

// artifacts are those of one turn and its delegates.
type artifacts struct {
	mu   sync.Mutex
	kept []*backend.Artifact
	size int
}

func (s *artifacts) keep(a *backend.Artifact) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.size+len(a.Data) > maxArtifacts {
		return fmt.Errorf("the artifacts of a turn may have %d bytes in all", maxArtifacts)
	}
	s.size += len(a.Data)
	s.kept = append(s.kept, a)
	return nil
}

// all returns what is kept so far.
func (s *artifacts) all() []*backend.Artifact {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.kept)
}

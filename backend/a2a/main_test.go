package a2abackend

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
)

func TestMain(m *testing.M) { peertest.Main(m) }

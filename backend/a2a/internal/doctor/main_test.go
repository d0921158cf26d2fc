package doctor

import (
	"testing"

	"github.com/agentruntime/agentruntime/internal/testkit/peertest"
)

func TestMain(m *testing.M) { peertest.Main(m) }

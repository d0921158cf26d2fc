package window_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/agentruntime/agentruntime/model"
	"github.com/agentruntime/agentruntime/plugins"
	"github.com/agentruntime/agentruntime/plugins/window"
)

// long is a conversation of 2,000 messages and about 400,000 tokens.
func long() []model.Message {
	var all []model.Message
	for i := range 500 {
		id := fmt.Sprint("c", i)
		all = append(all, model.User(words(60)), calling(id), result(id, strings.Repeat("a line of a result\n", 120)), model.Assistant(words(100)))
	}
	return all
}

// BenchmarkTrim2000 measures a request of 2,000 messages of which most do not
// fit: the first one of a turn, and each one after it.
func BenchmarkTrim2000(b *testing.B) {
	conversation := long()
	plugin := fits(100_000, func(p *window.Policy) { p.Preview.MinTokens = 500 })
	b.Run("first", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			b.StopTimer()
			c := begin(b, plugin, nil)
			b.StartTimer()
			c.trim(b, conversation)
		}
	})
	b.Run("next", func(b *testing.B) {
		c := begin(b, plugin, nil)
		c.trim(b, conversation)
		b.ReportAllocs()
		for b.Loop() {
			c.trim(b, conversation)
		}
	})
	b.Run("fits", func(b *testing.B) {
		c := begin(b, fits(1_000_000), nil)
		b.ReportAllocs()
		for b.Loop() {
			c.trim(b, conversation)
		}
	})
}

// trim does what the plugin does for one request.
func (c *conversing) trim(b *testing.B, conversation []model.Message) {
	if err := c.prepare(b.Context(), conversation); err != nil {
		b.Fatal(err)
	}
	if _, err := c.engine.Transform(conversation, nil); err != nil {
		b.Fatal(err)
	}
	if err := c.engine.Run(b.Context(), plugins.AfterInference); err != nil {
		b.Fatal(err)
	}
}

func BenchmarkEstimate2000(b *testing.B) {
	conversation := long()
	b.ReportAllocs()
	for b.Loop() {
		for i := range conversation {
			window.Estimate(&conversation[i])
		}
	}
}

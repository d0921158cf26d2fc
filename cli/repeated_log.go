package cli

import (
	"sync"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"
	"golang.org/x/time/rate"
)

const (
	// repeatBurst equal warnings or errors are logged immediately, then one per repeatPause.
	repeatBurst = 20
	repeatPause = 10 * time.Second
	// maxRepeated limits the number of distinct messages.
	maxRepeated = 1000
)

// repeatedCore limits the warnings and errors of one logger with one message. No loss is silent:
// the field "repeated" counts the omitted lines.
type repeatedCore struct {
	zapcore.Core
	lines *repeatedLines
}

// repeatedLines is shared by a core and the cores that With derives from it.
type repeatedLines struct {
	mu    sync.Mutex
	lines map[repeatedKey]*repeatedLine
}

type repeatedKey struct {
	level           zapcore.Level
	logger, message string
}

// repeatedLine is a message with the latest line that was held back, and its core.
type repeatedLine struct {
	limit  *rate.Limiter
	timer  *time.Timer
	held   int
	core   zapcore.Core
	entry  zapcore.Entry
	fields []zapcore.Field
}

func limitRepeated(core zapcore.Core) zapcore.Core {
	return &repeatedCore{core, &repeatedLines{lines: make(map[repeatedKey]*repeatedLine)}}
}

// With returns the core with fields added.
func (c *repeatedCore) With(fields []zapcore.Field) zapcore.Core {
	return &repeatedCore{c.Core.With(fields), c.lines}
}

// Check adds the core to the entry if the level is enabled.
func (c *repeatedCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if !c.Enabled(entry.Level) {
		return checked
	}
	return checked.AddCore(entry, c)
}

// Write writes an entry, or holds it back.
func (c *repeatedCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	if entry.Level < zapcore.WarnLevel || !c.lines.hold(c.Core, entry, fields) {
		return c.Core.Write(entry, fields)
	}
	return nil
}

// Sync writes the lines held back.
func (c *repeatedCore) Sync() error {
	c.lines.mu.Lock()
	keys := make([]repeatedKey, 0, len(c.lines.lines))
	for key := range c.lines.lines {
		keys = append(keys, key)
	}
	c.lines.mu.Unlock()
	for _, key := range keys {
		c.lines.flush(key)
	}
	return c.Core.Sync()
}

// hold reports whether it holds an entry back.
func (l *repeatedLines) hold(core zapcore.Core, entry zapcore.Entry, fields []zapcore.Field) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	key := repeatedKey{entry.Level, entry.LoggerName, entry.Message}
	line := l.lines[key]
	if line == nil {
		l.makeRoom()
		line = &repeatedLine{limit: rate.NewLimiter(rate.Every(repeatPause), repeatBurst)}
		l.lines[key] = line
	}
	if line.held == 0 && line.limit.Allow() {
		return false
	}
	line.held++
	line.core, line.entry, line.fields = core, entry, append(line.fields[:0], fields...)
	if line.held == 1 {
		line.timer = time.AfterFunc(repeatPause, func() { l.flush(key) })
	}
	return true
}

// makeRoom removes messages with no held lines. The lock is held.
func (l *repeatedLines) makeRoom() {
	if len(l.lines) < maxRepeated {
		return
	}
	for key, line := range l.lines {
		if line.held == 0 {
			delete(l.lines, key)
		}
	}
}

// flush writes the latest held line with the number of held lines.
func (l *repeatedLines) flush(key repeatedKey) {
	l.mu.Lock()
	line := l.lines[key]
	if line == nil || line.held == 0 {
		l.mu.Unlock()
		return
	}
	line.timer.Stop()
	line.fields = append(line.fields, zap.Int("repeated", line.held))
	core, entry, fields := line.core, line.entry, line.fields
	line.held, line.core, line.fields = 0, nil, nil
	line.limit.Allow()
	l.mu.Unlock()
	_ = core.Write(entry, fields) // as for lines written immediately
}

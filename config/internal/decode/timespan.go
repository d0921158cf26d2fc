package decode

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/agentruntime/agentruntime/config/internal/record"
	"github.com/agentruntime/agentruntime/config/internal/tree"
	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/schema"
	"github.com/agentruntime/agentruntime/internal/yamltree"
)

var durationGrammar = regexp.MustCompile(schema.DurationPattern)

func (d *Decoder) decodeDuration(f *record.Field, n *yamltree.Node, v reflect.Value, p *tree.Place) {
	if n.Kind == yamltree.Int || n.Kind == yamltree.Float {
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s must be a time span with its unit, not %s", p.Label(), n.Describe(false)).
			SetHint(fmt.Sprintf("write %ss for seconds, or %sms for milliseconds", clip.Text(n.Text), clip.Text(n.Text)))
		return
	}
	text, known, ok := d.readText(f, n, p)
	if !ok || !known {
		return
	}
	span, err := time.ParseDuration(text)
	if err != nil || !durationGrammar.MatchString(text) {
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s must be a time span such as 10s or 1m30s, not %s", p.Label(), n.Describe(f.Secret)).
			SetHint(timespanHint(text))
		return
	}
	v.SetInt(int64(span))
}

// wordedTimespan matches a time span with a unit that is not in Go syntax.
var wordedTimespan = regexp.MustCompile(`(?i)^\s*([0-9]{1,9})\s*([a-z]+)\.?\s*$`)

// timespanUnits maps commonly written units to the factor and the unit to write.
var timespanUnits = map[string]struct {
	factor int
	unit   string
}{
	"ms": {1, "ms"}, "msec": {1, "ms"}, "msecs": {1, "ms"}, "millis": {1, "ms"}, "millisecond": {1, "ms"}, "milliseconds": {1, "ms"},
	"s": {1, "s"}, "sec": {1, "s"}, "secs": {1, "s"}, "second": {1, "s"}, "seconds": {1, "s"},
	"m": {1, "m"}, "min": {1, "m"}, "mins": {1, "m"}, "minute": {1, "m"}, "minutes": {1, "m"},
	"h": {1, "h"}, "hr": {1, "h"}, "hrs": {1, "h"}, "hour": {1, "h"}, "hours": {1, "h"},
	"d": {24, "h"}, "day": {24, "h"}, "days": {24, "h"}, "w": {168, "h"}, "week": {168, "h"}, "weeks": {168, "h"},
}

// timespanHint returns the correct spelling of a time span, or "" if the text does not look like
// one.
func timespanHint(text string) string {
	m := wordedTimespan.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	unit, known := timespanUnits[strings.ToLower(m[2])]
	n, err := strconv.Atoi(m[1])
	if !known || err != nil {
		return ""
	}
	return fmt.Sprintf("write %d%s", n*unit.factor, unit.unit)
}

// decodeUnits decodes a time span given as a number of some unit.
func (d *Decoder) decodeUnits(s record.Spelling, n *yamltree.Node, v reflect.Value, p *tree.Place) {
	want := "a number of " + s.UnitName()
	if n.Kind != yamltree.Int && n.Kind != yamltree.Float {
		d.notNumber(&record.Field{}, n, p, want)
		return
	}
	number, err := ParseNumber(n.Text)
	switch span := number.asFloat() * float64(s.Unit); {
	case err != nil:
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s: %v", p.Label(), err)
	case span < 0:
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s is %s; it must be 0 or more", p.Label(), clip.Text(n.Text))
	case span >= math.MaxInt64:
		d.AddDiagnostic(diag.InvalidValue, p, n, "%s is %s, which is too large", p.Label(), clip.Text(n.Text))
	default:
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		}
		v.SetInt(int64(math.Round(span)))
	}
}

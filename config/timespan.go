package config

import (
	"fmt"
	"math"
	"reflect"
	"regexp"
	"time"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/schema"
)

var durationGrammar = regexp.MustCompile(schema.DurationPattern)

func (d *decoder) duration(f *field, n *node, v reflect.Value, p *place) {
	if n.kind == intNode || n.kind == floatNode {
		d.report(diag.InvalidValue, p, n, "%s must be a time span with its unit, not %s", p.label(), describe(n, false)).
			hint(fmt.Sprintf("write %ss for seconds, or %sms for milliseconds", clip.Text(n.text), clip.Text(n.text)))
		return
	}
	text, known, ok := d.string(f, n, p)
	if !ok || !known {
		return
	}
	span, err := time.ParseDuration(text)
	if err != nil || !durationGrammar.MatchString(text) {
		d.report(diag.InvalidValue, p, n, "%s must be a time span such as 10s or 1m30s, not %s", p.label(), describe(n, f.secret))
		return
	}
	v.SetInt(int64(span))
}

// units decodes a time span that is written as a number of a unit.
func (d *decoder) units(s spelling, n *node, v reflect.Value, p *place) {
	want := "a number of " + s.unitName()
	if n.kind != intNode && n.kind != floatNode {
		d.notNumber(&field{}, n, p, want)
		return
	}
	number, err := parseNumber(n.text)
	switch span := number.float() * float64(s.unit); {
	case err != nil:
		d.report(diag.InvalidValue, p, n, "%s: %v", p.label(), err)
	case span < 0:
		d.report(diag.InvalidValue, p, n, "%s is %s; it must be 0 or more", p.label(), clip.Text(n.text))
	case span >= math.MaxInt64:
		d.report(diag.InvalidValue, p, n, "%s is %s, which is too large", p.label(), clip.Text(n.text))
	default:
		if v.Kind() == reflect.Pointer {
			v.Set(reflect.New(v.Type().Elem()))
			v = v.Elem()
		}
		v.SetInt(int64(math.Round(span)))
	}
}

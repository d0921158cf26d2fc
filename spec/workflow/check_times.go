package workflow

import (
	"strings"

	"github.com/agentruntime/agentruntime/diag"
	"github.com/agentruntime/agentruntime/internal/clip"
	"github.com/agentruntime/agentruntime/internal/cron"
)

// CheckTimes checks the fields cron and time_zone of a record. A schedule that is never due is
// a warning.
func CheckTimes(expression, timeZone string) diag.List {
	var list diag.List
	if _, err := cron.Parse("@daily", timeZone); err != nil {
		list = append(list, diag.New(diag.InvalidValue, "time_zone", "time_zone cannot be %q; it must be the IANA name of a time zone", clip.Text(timeZone)).
			WithHint("such as Europe/Berlin or UTC"))
	}
	if expression == "" {
		return list
	}
	if strings.Contains(expression, "TZ=") { // the parser accepts it but does not validate it
		return append(list, diag.New(diag.InvalidValue, "cron", "cron names a time zone").WithHint("write time_zone"))
	}
	switch times, err := cron.Parse(expression, ""); {
	case err != nil:
		list = append(list, diag.New(diag.InvalidValue, "cron", "%v", err).
			WithHint("five fields, such as 0 9 * * 1-5 for nine o'clock on workdays, or @hourly, @daily, @every 10m"))
	case times.Never():
		list = append(list, diag.New(diag.NoEffect, "cron", "cron %q is never due: no month that it names has such a day", clip.Text(expression)))
	}
	return list
}

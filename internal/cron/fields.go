package cron

import (
	"fmt"
	"slices"
	"strings"

	"github.com/robfig/cron/v3"
)

// fieldNames are the five fields of an expression, each with its values.
var fieldNames = [...]struct{ name, values string }{
	{"minute", "0 to 59"},
	{"hour", "0 to 23"},
	{"day of the month", "1 to 31"},
	{"month", "1 to 12, or jan to dec"},
	{"day of the week", "0 to 7, where 0 and 7 are Sunday, or sun to sat"},
}

// checkFields returns an error for the first of five fields that is invalid: robfig/cron does
// not name it, limits days of the week to 6, and accepts empty elements of lists.
func checkFields(fields []string) error {
	if len(fields) != len(fieldNames) || strings.HasPrefix(fields[0], "@") {
		return nil
	}
	for i, field := range fields {
		alone := []string{"*", "*", "*", "*", "*"}
		alone[i] = field
		if _, err := cron.ParseStandard(withSunday(strings.Join(alone, " "), alone)); err != nil || slices.Contains(strings.Split(field, ","), "") {
			return fmt.Errorf("the %s %q is invalid: values are %s; ranges ascend, and steps are 1 or more", fieldNames[i].name, field, fieldNames[i].values)
		}
	}
	return nil
}

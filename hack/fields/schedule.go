// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"reflect"
	"strings"

	"github.com/firesteel-dev/firesteel/api/sparkoperator/v1beta2"
)

const scheduleHead = `
## Fields of ScheduledSparkApplication

What they do is in [Schedules](schedules.md). An edit acts at once, on the runs to come.

| Field of ` + "`spec`" + ` | Type | Description |
|---|---|---|
`

// scheduleTable lists the fields of a schedule, whose template has the fields above.
func scheduleTable(comments map[string]string) (string, error) {
	var b strings.Builder
	b.WriteString(scheduleHead)
	err := scheduleRows(&b, reflect.TypeFor[v1beta2.ScheduledSparkApplicationSpec](), "", comments)
	return b.String(), err
}

func scheduleRows(b *strings.Builder, t reflect.Type, prefix string, comments map[string]string) error {
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		below := field.Type
		if below.Kind() == reflect.Pointer {
			below = below.Elem()
		}
		if ours(below) && below != reflect.TypeFor[v1beta2.SparkApplicationSpec]() {
			if err := scheduleRows(b, below, prefix+name+".", comments); err != nil {
				return err
			}
			continue
		}
		comment := comments[t.Name()+"."+field.Name]
		if comment == "" {
			return fmt.Errorf("%s.%s has no comment", t.Name(), field.Name)
		}
		fmt.Fprintf(b, "| `%s` | %s | %s |\n", prefix+name, typeName(field.Type), cell(comment))
	}
	return nil
}
